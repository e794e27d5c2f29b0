"""Functions with operator state: on the harness, batch by batch, in this process and on Spark."""

from __future__ import annotations

from collections import defaultdict

import pytest

import flinkish as fl
from flinkish.api.errors import (
    IllegalArgumentError,
    IncompatibleCheckpointError,
    InvalidProgramError,
    NotSupportedError,
    UserFunctionError,
)
from flinkish.runtime.records.keys import key_group_of
from flinkish.runtime.records.stable_hashes import stable_hash
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches

NUMBERS = fl.ListStateDescriptor("numbers", int)


class Pairs(fl.FlatMapFunction, fl.CheckpointedFunction):
    """Two elements at a time: one that is left over waits in operator state."""

    union = False

    def __init__(self):
        self.waiting = []

    def initializeState(self, context):
        store = context.getOperatorStateStore()
        self.kept = (store.getUnionListState if self.union else store.getListState)(NUMBERS)
        self.restored = context.isRestored()
        self.waiting.extend(self.kept.get())

    def snapshotState(self, context):
        self.kept.update(self.waiting)

    def flatMap(self, value, out):
        self.waiting.append(value)
        if len(self.waiting) == 2:
            out.collect(tuple(self.waiting))
            self.waiting.clear()


class UnionPairs(Pairs):
    union = True


def values(harness):
    return [e.value for e in harness.getOutput() if isinstance(e, fl.StreamRecord)]


@pytest.mark.parametrize("function", [Pairs, UnionPairs])
def test_a_restored_harness_has_what_was_kept(function):
    def build(stream):
        return stream.flatMap(function())

    harness = StreamTestHarness(build)
    for number in (1, 2, 3):
        harness.processElement(number)
    again = StreamTestHarness.restore(build, harness.snapshot())
    again.processElement(4)
    harness.processElement(5)
    assert values(again) == [(3, 4)]
    assert values(harness) == [(1, 2), (3, 5)]


@pytest.mark.parametrize("kept", [False, True], ids=["opened anew", "kept open"])
@pytest.mark.parametrize("keyGroups", [1, 4])
def test_without_keys_all_elements_are_seen_in_one_place(kept, keyGroups):
    job = MicroBatches(lambda s: s.flatMap(Pairs()), keyGroups, keyGroups, keepsTasks=kept)
    batches = [[[(1, None)], [(2, None), (3, None)]], [[(4, None)]], [[(5, None)], [(6, None)]]]
    (results,) = job.run(batches)
    assert [r.value for r in results] == [(1, 2), (3, 4), (5, 6)]
    assert not job.attributeChanges


class Opened(fl.RichMapFunction, fl.CheckpointedFunction):
    """Notes what was called, and keeps nothing."""

    calls: list = []  # noqa: RUF012 - of all instances, in this process

    def initializeState(self, context):
        self.calls.append(("initialize", context.isRestored()))
        context.getOperatorStateStore().getListState(NUMBERS)

    def open(self, openContext):
        self.calls.append("open")
        self.seen = 0

    def snapshotState(self, context):
        self.calls.append(("snapshot", context.getCheckpointId(), context.getCheckpointTimestamp()))

    def map(self, value):
        self.seen += 1
        return self.seen

    def close(self):
        self.calls.append("close")


def test_a_function_that_stays_open_keeps_its_attributes_and_is_initialised_once():
    Opened.calls.clear()
    harness = StreamTestHarness(lambda stream: stream.map(Opened()))
    harness.setProcessingTime(7)
    harness.processElement("a")
    harness.snapshot()
    harness.processElement("b")
    harness.snapshot()
    harness.close()
    assert Opened.calls == [
        ("initialize", False),
        "open",
        ("snapshot", 1, 7),
        ("snapshot", 2, 7),
        "close",
    ]
    assert values(harness) == [1, 2]


def test_it_is_initialised_before_it_is_opened_also_when_restored():
    first = StreamTestHarness(lambda stream: stream.map(Opened()))
    Opened.calls.clear()
    StreamTestHarness.restore(lambda stream: stream.map(Opened()), first.snapshot())
    assert Opened.calls == [("snapshot", 1, 0), ("initialize", True), "open"]


class PerGroup(fl.KeyedProcessFunction, fl.CheckpointedFunction):
    """Counts what its key group had, and for each key how often it came."""

    def initializeState(self, context):
        self.group = context.getOperatorStateStore().getListState(NUMBERS)
        self.of_key = context.getKeyedStateStore().getState(
            fl.ValueStateDescriptor("of key", int, 0)
        )
        self.count = sum(self.group.get())

    def snapshotState(self, context):
        self.group.update([self.count])

    def processElement(self, value, ctx, out):
        self.count += 1
        self.of_key.update(self.of_key.value() + 1)
        out.collect((value, self.count, self.of_key.value()))


@pytest.mark.parametrize("kept", [False, True], ids=["opened anew", "kept open"])
def test_on_a_keyed_stream_each_key_group_has_its_own(kept):
    job = MicroBatches(lambda s: s.keyBy(lambda n: n).process(PerGroup()), 4, 2, keepsTasks=kept)
    batches = [[[(n, None) for n in range(8)]] for _ in range(3)]
    (results,) = job.run(batches)
    assert sorted(r.value[2] for r in results) == [1] * 8 + [2] * 8 + [3] * 8
    groups = defaultdict(list)
    for result in results:
        value, count, _ = result.value
        groups[key_group_of(stable_hash(value), 4)].append((result.batch, count))
    assert len(groups) > 1
    for counts in groups.values():
        # They run on from batch to batch
        assert [count for _, count in sorted(counts)] == list(range(1, len(counts) + 1))


def test_one_key_group_counts_all():
    harness = StreamTestHarness(lambda s: s.keyBy(lambda n: n % 2).process(PerGroup()))
    for number in range(4):
        harness.processElement(number)
    assert values(harness) == [(0, 1, 1), (1, 2, 1), (2, 3, 2), (3, 4, 2)]


def initialising(initialize, keyed=False):
    class Broken(fl.RichMapFunction, fl.CheckpointedFunction):
        def initializeState(self, context):
            initialize(context)

        def snapshotState(self, context):
            raise OSError("disk full")

        def map(self, value):
            return value

    def build(stream):
        return (stream.keyBy(lambda value: value) if keyed else stream).map(Broken())

    return build


@pytest.mark.parametrize(
    ("initialize", "error", "said"),
    [
        (lambda c: 1 / 0, UserFunctionError, "ZeroDivisionError: division by zero in initializeSt"),
        (lambda c: c.getOperatorStateStore().getListState("n"), InvalidProgramError, "Descriptor"),
        (
            lambda c: c.getOperatorStateStore().getBroadcastState(NUMBERS),
            NotSupportedError,
            "BroadcastProcessFunction",
        ),
        (lambda c: c.getKeyedStateStore().getState(None), fl.IllegalStateError, "keyBy"),
    ],
)
def test_errors_name_the_fix(initialize, error, said):
    with pytest.raises(error, match=said):
        StreamTestHarness(initialising(initialize))


def test_an_error_of_a_snapshot_names_the_method():
    harness = StreamTestHarness(initialising(lambda context: None))
    with pytest.raises(UserFunctionError, match=r"OSError: disk full in snapshotState\(\)"):
        harness.snapshot()


def test_union_state_needs_a_single_subtask():
    build = initialising(lambda c: c.getOperatorStateStore().getUnionListState(NUMBERS), keyed=True)
    with pytest.raises(NotSupportedError, match=r"setParallelism\(1\)"):
        MicroBatches(build, 4, 2).run([[[(1, None)]]])


def test_a_list_does_not_become_a_union_list():
    harness = StreamTestHarness(lambda stream: stream.flatMap(Pairs()).uid("pairs"))
    with pytest.raises(IncompatibleCheckpointError, match="'numbers' is a list"):
        StreamTestHarness.restore(
            lambda stream: stream.flatMap(UnionPairs()).uid("pairs"), harness.snapshot()
        )


def test_operator_state_does_not_expire():
    def initialize(context):
        descriptor = fl.ListStateDescriptor("n")
        descriptor.enableTimeToLive(fl.StateTtlConfig.newBuilder(fl.Duration.ofHours(1)).build())
        context.getOperatorStateStore().getListState(descriptor)

    with pytest.raises(IllegalArgumentError, match="time to live"):
        StreamTestHarness(initialising(initialize))


def test_in_this_process():
    env = fl.StreamExecutionEnvironment().setLocalExecution().setParallelism(2)
    env.getConfig().setElementsPerBatch(3)
    pairs = env.fromSequence(1, 8).flatMap(Pairs()).executeAndCollect()
    assert list(pairs) == [(1, 2), (3, 4), (5, 6), (7, 8)]


def test_on_spark_what_was_kept_is_there_after_a_failure(env, tmp_path):
    env.enableCheckpointing(str(tmp_path / "checkpoint")).getConfig().setElementsPerBatch(5)
    broken = tmp_path / "broken"
    broken.touch()

    def fail(number):
        if number == 7 and broken.exists():
            raise ValueError("not yet")
        return number

    def run():
        seen = []
        numbers = env.fromCollection(range(1, 10)).uid("numbers").map(fail)
        numbers.flatMap(Pairs()).uid("pairs").forEachBatch(lambda values, _: seen.extend(values))
        env.execute()
        return seen

    with pytest.raises(UserFunctionError, match="not yet"):
        run()
    broken.unlink()
    assert run() == [(5, 6), (7, 8)]
