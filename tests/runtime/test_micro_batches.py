"""A job cut into batches, slices and key groups gives what the harness gives, element for element."""

from __future__ import annotations

import itertools
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches
from tests.runtime.properties import part_of_examples
from tests.streams import records

LATE = fl.OutputTag("late")


class Punctuated(fl.WatermarkGenerator):
    """Every third element is a watermark too."""

    def onEvent(self, event, eventTimestamp, output):
        if event[1] % 3 == 0:
            output.emitWatermark(fl.Watermark(eventTimestamp))

    def onPeriodicEmit(self, output):
        pass


class SumAndCount(fl.AggregateFunction):
    def createAccumulator(self):
        return (0, 0)

    def add(self, value, accumulator):
        return (accumulator[0] + value[1], accumulator[1] + 1)

    def getResult(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return (a[0] + b[0], a[1] + b[1])


class WithKey(fl.ProcessWindowFunction):
    def process(self, key, context, elements, out):
        for total, count in elements:
            out.collect((key, total, count, str(context.window()), context.currentWatermark()))


class Timers(fl.KeyedProcessFunction):
    def open(self, openContext):
        self.seen = self.getRuntimeContext().getListState(fl.ListStateDescriptor("seen"))

    def processElement(self, value, ctx, out):
        self.seen.add(value[1])
        timers = ctx.timerService()
        timers.registerEventTimeTimer(ctx.timestamp() + value[1])
        if value[1] % 4 == 0:
            timers.deleteEventTimeTimer(ctx.timestamp() + value[1] // 2)
        out.collect((value[0], "element", value[1], timers.currentWatermark()))

    def onTimer(self, timestamp, ctx, out):
        now = ctx.timerService().currentWatermark()
        out.collect((ctx.getCurrentKey(), "timer", timestamp, list(self.seen.get()), now))
        if timestamp % 2:
            self.seen.clear()


def key(element):
    return element[0]


def windowed(assigner, lateness):
    def build(stream):
        windows = stream.keyBy(key).window(assigner).allowedLateness(lateness)
        return windows.sideOutputLateData(LATE).aggregate(SumAndCount(), WithKey())

    return build


def counted(stream):
    return stream.keyBy(key).countWindow(3, 2).reduce(lambda a, b: (a[0], a[1] + b[1]))


def twice(stream):
    """Two keyed operators in a row, the second by another key."""
    sums = windowed(fl.TumblingEventTimeWindows.of(10), 0)(stream)
    return (
        sums.map(lambda r: (f"n{r[2] % 2}", r[1]))
        .keyBy(key)
        .window(fl.TumblingEventTimeWindows.of(20))
        .aggregate(SumAndCount(), WithKey())
    )


BUILDS = {
    "tumbling": windowed(fl.TumblingEventTimeWindows.of(10), 0),
    "tumbling, late": windowed(fl.TumblingEventTimeWindows.of(10), 15),
    "sliding": windowed(fl.SlidingEventTimeWindows.of(20, 5), 7),
    "sessions": windowed(fl.EventTimeSessionWindows.withGap(6), 5),
    "count windows": counted,
    "process": lambda stream: stream.keyBy(key).process(Timers()),
    "two stages": twice,
    "rolling": lambda stream: stream.keyBy(key).sum(1),
}

STRATEGIES = {
    "bounded": fl.WatermarkStrategy.forBoundedOutOfOrderness(4),
    "punctuated": fl.WatermarkStrategy.forGenerator(lambda context: Punctuated()),
}

elements = st.tuples(st.sampled_from(["k0", "k1", "k2"]), st.integers(0, 30), st.integers(-5, 60))
batches = st.lists(st.lists(st.lists(elements, max_size=6), max_size=3), max_size=5)


def assigned(build, strategy):
    timed = strategy.withTimestampAssigner(lambda element, timestamp: element[2])
    return lambda stream: build(
        stream.assignTimestampsAndWatermarks(timed).map(lambda element: element[:2])
    )


def on_harness(build, batches):
    """The same sequence; at the end of each batch the generator is asked for a watermark."""
    harness = StreamTestHarness(build)
    for number, batch in enumerate(batches, start=1):
        for element in itertools.chain.from_iterable(batch):
            harness.processElement(element)
        harness.setProcessingTime(number * 200)
    harness.endInput()
    return harness


def in_batches(build, batches, groups, ticks=frozenset(), keeps=False):
    job = MicroBatches(build, groups, keepsTasks=keeps)
    for number, batch in enumerate(batches):
        job.process([[(e, None) for e in part] for part in batch], tick=number in ticks)
    job.end(tick=-1 in ticks)
    return job.results


def by_key(results):
    keyed = defaultdict(list)
    for value, timestamp in results:
        keyed[value[0]].append((value, timestamp))
    return dict(keyed)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", BUILDS)
@part_of_examples(2)
@given(
    batches=batches,
    groups=st.integers(1, 8),
    ticks=st.sets(st.integers(-1, 4)),
    keeps=st.booleans(),
)
def test_results_are_those_of_the_harness(name, strategy, batches, groups, ticks, keeps):
    build = assigned(BUILDS[name], STRATEGIES[strategy])

    def with_late(stream):
        result = build(stream)
        return [result, result.getSideOutput(LATE)]

    harness = on_harness(with_late, batches)
    for index, results in enumerate(in_batches(with_late, batches, groups, ticks, keeps)):
        expected = records(harness, index)
        assert by_key([(r.value, r.timestamp) for r in results]) == by_key(
            [(r.value, r.timestamp) for r in expected]
        )


@given(
    elements=st.lists(elements, max_size=25),
    cuts=st.sets(st.integers(1, 24)),
    keeps=st.booleans(),
)
def test_cuts_change_nothing_where_watermarks_follow_the_elements(elements, cuts, keeps):
    build = assigned(BUILDS["tumbling, late"], STRATEGIES["punctuated"])
    bounds = [0, *sorted(c for c in cuts if c < len(elements)), len(elements)]
    cut = [[elements[a:b]] for a, b in itertools.pairwise(bounds)]
    whole = in_batches(build, [[elements]], 3)[0]
    parts = in_batches(build, cut, 3, keeps=keeps)[0]
    assert by_key([(r.value, r.timestamp) for r in parts]) == by_key(
        [(r.value, r.timestamp) for r in whole]
    )


def test_a_keyed_operator_after_a_keyed_operator_finishes_in_the_same_batch():
    job = MicroBatches(assigned(twice, fl.WatermarkStrategy.forMonotonousTimestamps()), 4)
    job.process([[(("k0", 1, 5), None), (("k0", 2, 25), None)]])
    assert [(r.batch, r.value[:3]) for r in job.results[0]] == [(0, ("n1", 1, 1))]


def test_a_timer_fires_in_the_batch_whose_watermark_passes_it():
    monotonous = fl.WatermarkStrategy.forMonotonousTimestamps()
    job = MicroBatches(assigned(BUILDS["process"], monotonous), 4)
    job.process([[(("k0", 10, 5), None)]])
    job.process([[(("k1", 1, 16), None)]])
    fired = [r for r in job.results[0] if r.value[1] == "timer"]
    assert [(r.batch, r.value[0], r.timestamp) for r in fired] == [(1, "k0", 15)]


def test_an_idle_source_is_found_by_ticks_and_lets_the_other_go_on():
    """Two generators with idleness over one source: one has elements all the time, one falls idle."""
    idle = fl.WatermarkStrategy.forMonotonousTimestamps().withIdleness(1000)
    timed = idle.withTimestampAssigner(lambda element, timestamp: element[2])

    def build(stream):
        one = stream.filter(lambda e: e[0] == "a").assignTimestampsAndWatermarks(timed)
        two = stream.filter(lambda e: e[0] == "b").assignTimestampsAndWatermarks(timed)
        return windowed(fl.TumblingEventTimeWindows.of(10), 0)(one.union(two))

    for quiet, busy in (("a", "b"), ("b", "a")):
        job = MicroBatches(build, 4)
        job.process([[((quiet, 1, 1), None)]], clock=0)
        for step in range(1, 8):
            job.process([[((busy, 1, step * 10), None)]], clock=step * 500, tick=True)
        fired = [r.value[0] for r in job.results[0]]
        assert fired.count(quiet) == 1
        assert fired.count(busy) >= 4


def test_a_chained_union_may_change_behind_a_checkpoint():
    """Its valve finds its channels by name: one that is gone does not hold the watermark back."""

    def build(branches):
        def of(stream):
            sums = windowed(fl.TumblingEventTimeWindows.of(10), 0)(stream)
            parts = [sums.map(lambda r: r).uid(f"part-{i}") for i in range(branches)]
            joined = parts[0].union(*parts[1:]).map(lambda r: r[:2]).uid("joined")
            return windowed(fl.TumblingEventTimeWindows.of(10), 0)(joined)

        return assigned(of, fl.WatermarkStrategy.forMonotonousTimestamps())

    for before, after in ((2, 3), (3, 2)):
        old, new = MicroBatches(build(before), 2), MicroBatches(build(after), 2)
        old.process([[(("k0", 1, 5), None), (("k0", 2, 15), None)]])
        new.stores = old.stores
        new.end()
        assert [r.value[:2] for r in old.results[0] + new.results[0]] == [
            ("k0", 1 * before),
            ("k0", 2 * after),
        ]


class CountsCalls(fl.WatermarkGenerator):
    """The watermark is the number of calls of ``onPeriodicEmit``."""

    def __init__(self):
        self.calls = 0

    def onEvent(self, event, eventTimestamp, output):
        pass

    def onPeriodicEmit(self, output):
        self.calls += 1
        output.emitWatermark(fl.Watermark(self.calls))


@pytest.mark.parametrize("idleness", [None, 60_000])
def test_a_generator_emits_periodically_once_a_batch_whatever_its_slices(idleness):
    counting = fl.WatermarkStrategy.forGenerator(lambda context: CountsCalls())
    if idleness is not None:
        counting = counting.withIdleness(idleness)

    def seen(value, ctx, out):
        out.collect(ctx.timerService().currentWatermark())

    job = MicroBatches(
        lambda stream: stream.assignTimestampsAndWatermarks(counting).keyBy(key).process(seen), 4
    )
    three_slices = [[(("k0", 1), 0)], [(("k1", 1), 1), (("k2", 1), 2)], [(("k0", 1), 3)]]
    job.process(three_slices)
    job.process(three_slices)
    job.process([], tick=True)
    job.process(three_slices)
    none_yet = -(2**63)
    assert [r.value for r in job.results[0]] == [none_yet] * 4 + [1] * 4 + [3] * 4
