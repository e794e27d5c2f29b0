"""Above parallelism 1 the splits of a source are in several key groups, and time is what it is in one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.api.errors import hide_elements
from flinkish.api.plan.operators import SourceWatermarksDescription
from flinkish.runtime.records.frames import SplitMark
from flinkish.runtime.records.keys import key_group_of
from flinkish.runtime.records.stable_hashes import stable_hash
from tests.runtime.micro_batches import MicroBatches
from tests.runtime.properties import part_of_examples
from tests.runtime.test_micro_batches import STRATEGIES
from tests.runtime.time.test_source_watermarks import SeenAt, at, split_of

pytestmark = pytest.mark.slow("each example is two jobs of many key groups")

SPLITS = ["s0", "s1", "s2", "s3", "s4"]
GROUPS = st.sampled_from([2, 3, 4, 8])
LATE = fl.OutputTag("late")


class LowestOfThree(fl.WatermarkGenerator):
    """Emits the lowest of the last three times at a time, and once that is below 10 says that it is idle."""

    def __init__(self):
        self.last = []

    def onEvent(self, event, eventTimestamp, output):
        self.last = [*self.last[-2:], eventTimestamp]

    def onPeriodicEmit(self, output):
        if len(self.last) == 3:
            if min(self.last) < 10:
                output.markIdle()
            else:
                output.emitWatermark(fl.Watermark(min(self.last)))


PERIODIC = {
    "bounded": STRATEGIES["bounded"],
    "idle": fl.WatermarkStrategy.forMonotonousTimestamps().withIdleness(300),
    "own": fl.WatermarkStrategy.forGenerator(lambda context: LowestOfThree()),
    "own, idle": fl.WatermarkStrategy.forGenerator(lambda context: LowestOfThree()).withIdleness(1),
}


def by_split(strategy, split=split_of):
    description = SourceWatermarksDescription(strategy.withTimestampAssigner(at), split)
    return lambda stream: stream._transform(description)


def windows(watermarks):
    """Build windows that count, with a side output of late elements, and a function that sees
    time."""

    def build(stream):
        keyed = watermarks(stream).map(lambda e: e).keyBy(lambda e: e[1] % 3)
        counts = keyed.window(fl.TumblingEventTimeWindows.of(10)).sideOutputLateData(LATE)
        counted = counts.apply(lambda key, window, found: [(key, window.start, sorted(found))])
        return counted, counted.getSideOutput(LATE), keyed.process(SeenAt())

    return build


def run(build, batches, groups, steps=(), ticks=frozenset(), **options):
    """The results of each stream, batch by batch, and the watermark at the end of each batch."""
    job = MicroBatches(build, groups, **options)
    uid = next(v.uid for v in job.graph.stage(2) if v.head.name == "KeyedProcess")
    clock, reached = 0, []
    for number, batch in enumerate(batches):
        clock += steps[number % len(steps)] if steps else 0
        job.process(batch, clock, tick=number in ticks)
        reached.append(job.metrics.watermark(uid))
    job.end(clock)
    reached.append(job.metrics.watermark(uid))
    return [sorted((r.batch, repr(r.value), r.timestamp) for r in s) for s in job.results], reached


def parts(batch, slices):
    """A batch as the partitions of a source, in order."""
    size = len(batch) // slices + 1
    return [[(e, None) for e in batch[i : i + size]] for i in range(0, len(batch), size)]


elements = st.tuples(st.sampled_from(SPLITS), st.integers(0, 9), st.integers(0, 60))
batches = st.lists(st.lists(elements, max_size=10), min_size=1, max_size=7)
steps = st.lists(st.integers(0, 500), max_size=4)
ticks = st.frozensets(st.integers(0, 6))


@pytest.mark.parametrize("strategy", PERIODIC)
@part_of_examples(2)
@given(batches, GROUPS, st.integers(1, 3), steps, ticks, st.booleans())
def test_results_are_those_of_one_key_group(strategy, batches, groups, slices, steps, ticks, keeps):
    """The same windows in the same batches, the same elements late, and each sees the same watermark: where a
    split comes late, falls idle and wakes up behind the others too."""
    build = windows(by_split(PERIODIC[strategy]))
    given_ = [parts(batch, slices) for batch in batches]
    one = run(build, given_, 1, steps, ticks)
    assert run(build, given_, groups, steps, ticks, keepsTasks=keeps) == one


@given(
    st.lists(
        st.tuples(
            st.sampled_from(SPLITS),
            st.lists(st.tuples(st.integers(0, 9), st.integers(0, 60)), max_size=8),
        ),
        min_size=1,
        max_size=10,
    ),
    GROUPS,
)
def test_where_one_split_comes_at_a_time_the_order_decides_what_is_late(runs, groups):
    """A generator that emits between two elements is seen to do so, once all splits have begun: behind one that
    begins late its key group is heard at the end of a batch until it is where it was."""
    build = windows(by_split(STRATEGIES["punctuated"]))
    runs = [(split, [(0, 0)]) for split in SPLITS] + runs
    given_ = [[[((split, *element), None) for element in found]] for split, found in runs]
    assert run(build, given_, groups) == run(build, given_, 1)


@given(batches, GROUPS, st.integers(1, 3))
def test_between_splits_any_order_is_right_and_batches_end_with_one_watermark(
    batches, groups, slices
):
    build = windows(by_split(STRATEGIES["punctuated"]))
    given_ = [parts(batch, slices) for batch in batches]
    (*_, seen), reached = run(build, given_, groups)
    (*_, seen_in_one), reached_in_one = run(build, given_, 1)
    assert reached == reached_in_one
    assert elements_of(seen) == elements_of(seen_in_one)


def elements_of(seen):
    """The elements that a function saw, whatever the watermark."""
    return Counter(
        (batch, value.rpartition(",")[0], timestamp)
        for batch, value, timestamp in seen
        if "timer" not in value
    )


marked = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from(SPLITS),
            st.lists(st.tuples(st.integers(0, 9), st.integers(0, 60)), max_size=5),
            st.booleans(),
        ),
        max_size=4,
    ),
    min_size=1,
    max_size=6,
)


def with_marks(batches, end=True):
    """The parts of batches with the marks of a source; a split that has ended has no more elements."""
    ended = set()
    for batch in batches:
        found = []
        for split, run, ends in batch:
            if split not in ended:
                elements = [((split, *element), None) for element in run]
                last = [SplitMark(split, finished=True)] if ends and end else []
                found.append([SplitMark(split), *elements, *last])
                ended |= {split} if last else set()
        yield found


@pytest.mark.parametrize("strategy", PERIODIC)
@part_of_examples(2)
@given(marked, GROUPS, steps)
def test_splits_that_the_source_marks_begin_without_elements(strategy, batches, groups, steps):
    build = windows(by_split(PERIODIC[strategy], None))
    given_ = list(with_marks(batches, end=False))
    assert run(build, given_, groups, steps) == run(build, given_, 1, steps)


@given(marked, GROUPS)
def test_a_split_that_has_ended_holds_no_other_back(batches, groups):
    """In one key group it does so from its place among the elements of other splits on."""
    build = windows(by_split(PERIODIC["bounded"], None))
    given_ = list(with_marks(batches))
    (*_, seen), reached = run(build, given_, groups)
    (*_, seen_in_one), reached_in_one = run(build, given_, 1)
    assert reached == reached_in_one
    assert elements_of(seen) == elements_of(seen_in_one)


@given(marked, st.integers(1, 4), st.booleans())
def test_a_source_that_marks_its_splits_runs_in_batch(batches, groups, marks):
    build = windows(by_split(PERIODIC["idle"], None if marks else split_of))
    given_ = [[part for batch in with_marks(batches) for part in batch]]
    (counted, late, _), _ = run(build, given_, groups, batch=True)
    expected = [e for part in given_[0] for e in part if not isinstance(e, SplitMark)]
    assert sum(len(eval(value)[2]) for _, value, _ in counted) == len(expected)
    assert late == []


arrivals = st.lists(
    st.lists(
        st.tuples(st.sampled_from(SPLITS), st.integers(0, 60), st.integers(0, 60)), max_size=8
    ),
    min_size=1,
    max_size=6,
)


_BEGINS_BEHIND_ITS_KEY_GROUP = [
    [("s1", 0, 10), ("s2", 0, 0)],
    [("s0", 0, 0), ("s0", 0, 10), ("s2", 0, 10)],
]


@example(
    _BEGINS_BEHIND_ITS_KEY_GROUP,
    2,
    1,
    [],
    frozenset(),
    fl.ArrivalTimeStrategy(
        timestampAssigner=lambda e, timestamp: e[2],
        arrivalTime=lambda e, timestamp: e[1],
        earlyArrivalTolerance=None,
        lateArrivalTolerance=None,
        lateArrivalPolicy=fl.OrderingPolicy.DROP,
        outOfOrderTolerance=0,
        outOfOrderPolicy=fl.OrderingPolicy.DROP,
        inputPartition=split_of,
    ),
)
@given(
    arrivals,
    GROUPS,
    st.integers(1, 3),
    steps,
    ticks,
    st.builds(
        fl.ArrivalTimeStrategy,
        timestampAssigner=st.just(lambda e, timestamp: e[2]),
        arrivalTime=st.just(lambda e, timestamp: e[1]),
        earlyArrivalTolerance=st.sampled_from([None, 20]),
        lateArrivalTolerance=st.sampled_from([None, 10, 40]),
        lateArrivalPolicy=st.sampled_from(fl.OrderingPolicy),
        outOfOrderTolerance=st.sampled_from([0, 7]),
        outOfOrderPolicy=st.sampled_from(fl.OrderingPolicy),
        inputPartition=st.just(split_of),
    ),
)
def test_partitions_of_arrivals_are_as_in_one_key_group(
    batches, groups, slices, steps, ticks, strategy
):
    build = windows(lambda stream: stream.assignTimestampsAndWatermarks(strategy))
    given_ = [parts(batch, slices) for batch in batches]
    (*timed, seen), reached = run(build, given_, groups, steps, ticks)
    (*timed_in_one, seen_in_one), reached_in_one = run(build, given_, 1, steps, ticks)
    assert (timed, reached) == (timed_in_one, reached_in_one)
    assert elements_of(seen) == elements_of(seen_in_one)


@given(batches, GROUPS, steps)
def test_a_job_reports_its_splits_as_one_key_group_does(batches, groups, steps):
    build = windows(by_split(PERIODIC["idle"]))

    def reported(groups):
        job, clock = MicroBatches(build, groups), 0
        uid = job.graph.stage(1)[0].uid
        for number, batch in enumerate(batches):
            clock += steps[number % len(steps)] if steps else 0
            job.process(parts(batch, 2), clock)
        found = job.metrics.inputs.of(uid)
        splits = [(i.name, i.watermark, i.idle) for i in found if i.isSplit]
        return splits, job.metrics.metrics()["Source Watermarks"].numRecordsIn

    if any(batches):
        assert reported(groups) == reported(1)


def test_a_key_group_without_splits_is_not_the_slowest():
    job = MicroBatches(windows(by_split(PERIODIC["bounded"])), 16)
    job.process([[((split, 0, 50), None) for split in SPLITS[:2]]])
    assert job.metrics.watermark(job.graph.stage(1)[0].uid) == 45


def test_a_key_group_whose_splits_are_idle_is_not_the_slowest():
    job = MicroBatches(windows(by_split(PERIODIC["idle"])), 4)
    uid = job.graph.stage(1)[0].uid
    assert key_group_of(stable_hash("s0"), 4) != key_group_of(stable_hash("s1"), 4)
    job.process([[(("s0", 0, 5), None), (("s1", 0, 50), None)]])
    assert job.metrics.watermark(uid) == 4
    for clock in (400, 800):
        job.process([[(("s1", 0, clock), None)]], clock)
    assert job.metrics.watermark(uid) == 799
    assert job.metrics.metrics()["Source Watermarks"].currentWatermark == 799
    job.process([], 1_200, tick=True)
    job.process([], 1_600, tick=True)
    assert job.metrics.watermark(uid) == 799, "all are idle"


def test_splits_whose_names_are_hidden_are_still_told_apart():
    job = MicroBatches(windows(by_split(PERIODIC["idle"])), 4)
    hide_elements(True)
    try:
        job._settings = replace(job._settings, elementsHiddenInErrors=True)
        job.process([[((split, 0, 50), None) for split in SPLITS]])
    finally:
        hide_elements(False)
    names = [i.name for i in job.metrics.inputs.of(job.graph.stage(1)[0].uid) if i.isSplit]
    assert len(set(names)) == len(SPLITS)
    assert all(
        name.startswith("split ") and split not in name for name in names for split in SPLITS
    )


def test_splits_are_divided_over_the_key_groups_by_their_ids():
    job = MicroBatches(windows(by_split(PERIODIC["bounded"])), 4)
    job.process([[((split, 0, 50), None) for split in SPLITS]])
    uid = job.graph.stage(1)[0].uid
    expected = Counter(key_group_of(stable_hash(split), 4) for split in SPLITS)
    assert len(expected) > 1
    assert job.metrics.loads.keyGroups[uid] == dict(expected)


def test_at_parallelism_1_of_the_operator_there_is_one_key_group():
    job = MicroBatches(
        windows(lambda stream: by_split(PERIODIC["bounded"])(stream).setParallelism(1)), 4
    )
    job.process([[((split, 0, 50), None) for split in SPLITS]])
    assert list(job.metrics.loads.keyGroups[job.graph.stage(1)[0].uid].values()) == [5]


class Place:
    """Equal to others of its name, but no hash is the same in every process."""

    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return self.name == other.name

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return f"Place({self.name!r})"


def test_a_split_without_a_stable_hash_is_refused_where_there_are_several_tasks():
    build = windows(by_split(PERIODIC["bounded"], lambda e: Place(e[0])))
    batch = [[(("s0", 0, 50), None)]]
    MicroBatches(build, 1).process(batch)
    with pytest.raises(fl.IllegalArgumentError, match=r"the split Place\('s0'\) of type Place can"):
        MicroBatches(build, 4).process(batch)


class Watched(fl.ProcessFunction):
    """Follows the strategy in its task, and sees the watermark of the splits there."""

    def processElement(self, value, ctx, out):
        out.collect((*value, ctx.timerService().currentWatermark()))


@given(batches, GROUPS)
def test_a_function_behind_the_strategy_sees_no_watermark_above_that_of_its_split(batches, groups):
    def build(stream):
        return by_split(fl.WatermarkStrategy.forMonotonousTimestamps())(stream).process(Watched())

    job = MicroBatches(build, groups)
    highest = dict.fromkeys(SPLITS, fl.Watermark.MAX_WATERMARK.timestamp)
    for number, batch in enumerate([[(split, 1, 0) for split in SPLITS], *batches]):
        job.process(parts(batch, 2))
        seen = [r.value for r in job.results[0] if r.batch == number]
        assert Counter(value[:3] for value in seen) == Counter(batch)
        assert all(watermark < highest[split] for split, _, _, watermark in seen)
        for split, _, time in batch:
            highest[split] = max(highest[split] if number else 0, time)
