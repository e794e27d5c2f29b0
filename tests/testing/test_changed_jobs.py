"""A snapshot of the harness goes on in a changed job by the rules of a checkpoint."""

from __future__ import annotations

from dataclasses import replace

import cloudpickle
import pytest

import flinkish as fl
from flinkish.api.errors import IncompatibleCheckpointError
from flinkish.testing import StreamTestHarness
from tests.campaign import changed_states as campaign


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
    """Return the output of each function for one more element."""
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

    def changed(self, kept, value):
        return (kept or 0) + 1


def kept_by(kind):
    return lambda stream: stream.keyBy(lambda value: 0).process(kind()).uid("kept")


def test_a_state_that_became_another_kind_is_refused():
    message = "the state 'kept' was a ValueState in the checkpoint and is a MapState now"
    with pytest.raises(IncompatibleCheckpointError, match=message):
        StreamTestHarness.restore(kept_by(AsMap), begun(kept_by(Counter)))


def test_a_time_to_live_is_switched_on_and_off_again():
    """The restore is the last access."""
    harness = StreamTestHarness(kept_by(Counter))
    harness.processElement(1)
    harness.setProcessingTime(100_000)
    for kind, wait, count in (
        (Expiring, 4_999, 2),
        (Counter, 9_000_000, 3),
        (Expiring, 5_000, 0),
    ):
        harness = StreamTestHarness.restore(kept_by(kind), harness.snapshot())
        harness.setProcessingTime(harness._clock.getCurrentProcessingTime() + wait)
        assert harness.numKeyedStateEntries() == (count > 0)
        if count:
            harness.processElement(1)
            assert harness.getOutput()[0].value == (kind.__name__, count)


def windows(assigner, *more, keyType=None, call=lambda windowed: windowed.reduce(max)):
    def job(stream):
        windowed = stream.keyBy(lambda value: 0, keyType).window(assigner)
        for method, argument in more:
            windowed = getattr(windowed, method)(argument)
        return call(windowed).uid("windows")

    return job


TUMBLING, SESSIONS = fl.TumblingEventTimeWindows.of(10), fl.EventTimeSessionWindows.withGap(10)
COUNT, EVICTOR = ("trigger", fl.CountTrigger.of(9)), ("evictor", fl.CountEvictor.of(9))


def mean(windowed):
    return windowed.aggregate(campaign.Mean())


REFUSED = {
    "sessions to tumbling": (windows(SESSIONS), windows(TUMBLING)),
    "trigger removed": (windows(TUMBLING, COUNT), windows(TUMBLING)),
    "trigger of another class": (
        windows(TUMBLING, COUNT),
        windows(TUMBLING, ("trigger", fl.ContinuousEventTimeTrigger.of(3))),
    ),
    "trigger of evicting windows": (
        windows(TUMBLING, EVICTOR),
        windows(
            TUMBLING,
            EVICTOR,
            ("trigger", fl.PurgingTrigger.of(fl.EventTimeTrigger.create())),
        ),
    ),
    "evictor removed": (windows(TUMBLING, EVICTOR), windows(TUMBLING)),
    "reduce to aggregate": (windows(SESSIONS), windows(SESSIONS, call=mean)),
    "another accumulator": (
        windows(SESSIONS, call=mean),
        windows(SESSIONS, call=lambda windowed: windowed.aggregate(campaign.Largest())),
    ),
    "keys of another type": (
        windows(TUMBLING, keyType=fl.Types.LONG()),
        windows(TUMBLING, keyType=fl.Types.STRING()),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_says_what_the_state_was_and_would_be(case):
    before, after = REFUSED[case]
    harness = StreamTestHarness(before)
    harness.processElement(fl.Row(value=1, at=5), 5)
    with pytest.raises(
        IncompatibleCheckpointError,
        match=r"\(windows\) kept its state as WindowOperator .* and would keep it as WindowOperator .*,"
        " which is a state of another kind",
    ):
        StreamTestHarness.restore(after, harness.snapshot())


@pytest.mark.parametrize("case", REFUSED)
def test_where_nothing_is_left_another_kind_begins_at_the_watermark(case):
    before, after = REFUSED[case]
    harness = StreamTestHarness.restore(after, StreamTestHarness(before).snapshot())
    harness.endInput()
    first = StreamTestHarness(before)
    first.processWatermark(100)
    harness = StreamTestHarness.restore(after, first.snapshot())
    harness.processElement(fl.Row(value=1, at=5), 5)
    assert harness.numLateRecordsDropped() == 1
    harness.processElement(fl.Row(value=2, at=200), 200)
    harness.endInput()
    assert harness.getOutput()[0].timestamp == 209


def test_broadcast_state_that_is_not_declared_for_a_while_is_kept():
    rules, others = fl.MapStateDescriptor("rules"), fl.MapStateDescriptor("others")

    class Tells(fl.BroadcastProcessFunction):
        def processElement(self, value, context, out):
            out.collect(context.getBroadcastState(rules).get(value))

        def processBroadcastElement(self, value, context, out):
            context.getBroadcastState(rules).put(value, "known")

    def job(function, *descriptors):
        return lambda one, two: one.connect(two.broadcast(*descriptors)).process(function).uid("r")

    first = StreamTestHarness(job(Tells(), rules))
    first.processElement2(1)
    between = StreamTestHarness.restore(job(Tells(), others), first.snapshot())
    last = StreamTestHarness.restore(job(Tells(), rules), between.snapshot())
    last.processElement1(1)
    assert last.getOutput()[0].value == "known"


def test_a_watermark_strategy_that_was_changed_counts_at_once():
    def job(bound):
        strategy = fl.WatermarkStrategy.forBoundedOutOfOrderness(bound)
        return lambda stream: stream.assignTimestampsAndWatermarks(strategy).uid("times")

    first = StreamTestHarness(job(50))
    first.processElement("a", 100)
    first.setProcessingTime(200)
    assert first.getOutput()[-1].timestamp == 49
    second = StreamTestHarness.restore(job(5), first.snapshot())
    second.processElement("b", 101)
    second.setProcessingTime(400)
    assert second.getOutput()[-1].timestamp == 95


IN_ORDER = fl.ArrivalTimeStrategy(
    arrivalTime=lambda value, at: at, outOfOrderTolerance=50, inOrder=True
)
MONOTONOUS = fl.WatermarkStrategy.forMonotonousTimestamps()


def times(strategy):
    return lambda stream: stream.assignTimestampsAndWatermarks(strategy).uid("times")


def values(harness):
    return [record.value for record in harness.getOutput() if hasattr(record, "value")]


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (times(MONOTONOUS), "ArrivalTime of one watermark, and would keep none"),
        (lambda stream: stream.map(str).uid("times"), "and would keep none"),
        (
            times(replace(IN_ORDER, inputPartition=lambda value: value)),
            "would keep it as ArrivalTime of one watermark for each input partition",
        ),
        (
            times(replace(IN_ORDER, substreamKey=lambda value: value)),
            "would keep it as ArrivalTime of one watermark for each substream",
        ),
    ],
)
def test_elements_that_wait_for_the_watermark_are_not_lost(job, message):
    first = StreamTestHarness(times(IN_ORDER))
    first.processElement("a", 100)
    first.setProcessingTime(200)
    assert values(first) == []
    with pytest.raises(IncompatibleCheckpointError, match=message):
        StreamTestHarness.restore(job, first.snapshot())
    more = StreamTestHarness.restore(
        times(replace(IN_ORDER, outOfOrderTolerance=5)), first.snapshot()
    )
    more.processElement("b", 110)
    assert values(more) == ["a"]


def sessions_by_length(stream):
    return stream.keyBy(len).window(fl.EventTimeSessionWindows.withGap(10)).reduce(max).uid("times")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (times(MONOTONOUS), times(MONOTONOUS.withIdleness(fl.Duration.ofMillis(50)))),
        (times(MONOTONOUS.withIdleness(fl.Duration.ofMillis(50))), times(MONOTONOUS)),
        (lambda stream: stream.map(str).uid("times"), times(MONOTONOUS)),
        (lambda stream: stream.map(str).uid("times"), times(IN_ORDER)),
        (lambda stream: stream.map(str).uid("times"), sessions_by_length),
        (times(MONOTONOUS), sessions_by_length),
        (times(MONOTONOUS), times(IN_ORDER)),
        (sessions_by_length, times(MONOTONOUS)),
        (sessions_by_length, lambda stream: stream.map(str).uid("times")),
    ],
)
def test_a_uid_without_state_may_be_of_another_kind(before, after):
    harness = StreamTestHarness(before)
    harness.processWatermark(10)
    restored = StreamTestHarness.restore(after, harness.snapshot())
    restored.processElement("a", 100)
    restored.endInput()
    assert values(restored) == ["a"]


class Lists(fl.KeyedProcessFunction, fl.CheckpointedFunction):
    """Counts in a list of operator state."""

    def initializeState(self, context):
        self.list = context.getOperatorStateStore().getListState(fl.ListStateDescriptor("seen"))
        self.seen = list(self.list.get())

    def snapshotState(self, context):
        self.list.update(self.seen)

    def processElement(self, value, context, out):
        self.seen.append(value)
        out.collect(("Lists", len(self.seen)))


class Hands(fl.KeyedProcessFunction):
    """Hands elements on."""

    def processElement(self, value, context, out):
        out.collect(("Hands", value))


def lists(kind):
    return lambda stream: stream.keyBy(lambda value: 0).process(kind()).uid("lists")


def test_operator_state_that_is_not_asked_for_for_a_while_is_kept():
    between = StreamTestHarness.restore(lists(Hands), begun(lists(Lists)))
    between.processElement(1)
    assert between.getOutput()[0].value == ("Hands", 1)
    last = StreamTestHarness.restore(lists(Lists), between.snapshot())
    last.processElement(1)
    assert last.getOutput()[0].value == ("Lists", 3)


@pytest.mark.parametrize("before", [build(Counter), lists(Lists)])
def test_an_operator_whose_key_is_gone_is_refused(before):
    snapshot = begun(before)
    uid = next(uid for uid in cloudpickle.loads(snapshot)["nodes"] if uid != "harness-0")
    with pytest.raises(
        IncompatibleCheckpointError, match=rf"'KeyedProcess' \({uid}\) kept .*, and would keep none"
    ):
        StreamTestHarness.restore(lambda stream: stream.map(str).uid(uid), snapshot)


def test_another_format_is_told():
    snapshot = cloudpickle.dumps({**cloudpickle.loads(begun(build(Counter))), "format": 4})
    with pytest.raises(
        IncompatibleCheckpointError,
        match=r"snapshot is of format 4, .* reads format 3\. A newer",
    ):
        StreamTestHarness.restore(build(Counter), snapshot)
