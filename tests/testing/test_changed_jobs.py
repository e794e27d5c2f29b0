"""A snapshot of the harness goes on in a changed job by the rules of a checkpoint."""

from __future__ import annotations

import cloudpickle
import pytest

import flinkish as fl
from flinkish.api.errors import IncompatibleCheckpointError
from flinkish.testing import StreamTestHarness


class Counter(fl.KeyedProcessFunction):
    def open(self, openContext):
        self.kept = self.getRuntimeContext().getState(fl.ValueStateDescriptor("kept", default=0))

    def changed(self, kept, value):
        return kept + 1

    def processElement(self, value, ctx, out):
        self.kept.update(self.changed(self.kept.value(), value))
        out.collect((type(self).__name__, self.kept.value()))


class Sum(Counter):
    def changed(self, kept, value):
        return kept + value


class Sums(Sum):
    """The same under another name."""


def build(*kinds):
    def in_job(stream):
        keyed = stream.keyBy(lambda value: 0)
        return [keyed.process(kind()) for kind in kinds]

    return in_job


def begun(job):
    harness = StreamTestHarness(job)
    harness.processElement(100)
    harness.processElement(200)
    return harness.snapshot()


def going_on(job, snapshot):
    """What each function gives for one more element."""
    harness = StreamTestHarness.restore(job, snapshot)
    harness.processElement(1)
    outputs = len(job(fl.StreamExecutionEnvironment().fromData(1)))
    return dict(harness.getOutput(i)[0].value for i in range(outputs))


def test_swapped_definitions_keep_their_state():
    snapshot = begun(build(Counter, Sum))
    assert going_on(build(Sum, Counter), snapshot) == {"Counter": 3, "Sum": 301}


def test_a_new_operator_before_the_others_begins_empty():
    snapshot = begun(build(Counter, Sum))
    found = going_on(build(Sums, Counter, Sum), snapshot)
    assert found == {"Sums": 1, "Counter": 3, "Sum": 301}


def test_a_renamed_class_is_gone_and_its_uid_is_told():
    snapshot = begun(build(Counter, Sum))
    with pytest.raises(
        IncompatibleCheckpointError,
        match=r"function was .*\.Sum, is gone. If it was renamed, give it uid\('KeyedProcess-\w+'\)",
    ):
        going_on(build(Counter, Sums), snapshot)


class AsMap(fl.KeyedProcessFunction):
    def open(self, openContext):
        self.kept = self.getRuntimeContext().getMapState(fl.MapStateDescriptor("kept"))

    def processElement(self, value, ctx, out):
        self.kept.put(value, value)


class Expiring(Counter):
    def open(self, openContext):
        descriptor = fl.ValueStateDescriptor("kept")
        ttl = fl.StateTtlConfig.newBuilder(fl.Duration.ofSeconds(5)).build()
        descriptor.enableTimeToLive(ttl)
        self.kept = self.getRuntimeContext().getState(descriptor)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (AsMap, "the state 'kept' was a ValueState in the checkpoint and is a MapState now"),
        (Expiring, "was a ValueState in the checkpoint and is a ValueState that expires now"),
    ],
)
def test_a_state_that_became_another_kind_is_refused(kind, message):
    def job(kind):
        return lambda stream: stream.keyBy(lambda value: 0).process(kind()).uid("kept")

    with pytest.raises(IncompatibleCheckpointError, match=message):
        StreamTestHarness.restore(job(kind), begun(job(Counter)))


def test_another_format_is_told():
    snapshot = cloudpickle.dumps({**cloudpickle.loads(begun(build(Counter))), "format": 4})
    with pytest.raises(
        IncompatibleCheckpointError,
        match=r"snapshot is of format 4, .* reads formats 2 to 3\. A newer",
    ):
        StreamTestHarness.restore(build(Counter), snapshot)
