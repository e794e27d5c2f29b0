"""A source of several splits has a watermark for each; the lowest of those that are not idle counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.api.connectors.source import CollectionSource
from flinkish.api.plan.operators import SourceWatermarksDescription
from flinkish.api.time.elements import MIN_TIMESTAMP
from flinkish.graph.job_graph import JobGraph
from flinkish.graph.stream_graph import StreamGraph
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches
from tests.runtime.test_micro_batches import STRATEGIES, by_key

SPLITS = ["s0", "s1", "s2"]


def at(element, timestamp):
    return element[2]


def split_of(element):
    return element[0]


def of_splits(strategy):
    """The elements (split, number, time) with the watermarks of a source of splits."""
    description = SourceWatermarksDescription(strategy.withTimestampAssigner(at), split_of)
    return lambda stream: stream._transform(description)


def united(strategy):
    """One input for each split, united."""

    def build(stream):
        inputs = [
            stream.filter(lambda e, s=s: e[0] == s).assignTimestampsAndWatermarks(
                strategy.withTimestampAssigner(at)
            )
            for s in SPLITS
        ]
        return inputs[0].union(*inputs[1:]).map(lambda e: e)

    return build


class SeenAt(fl.KeyedProcessFunction):
    """Every element with the watermark it meets, and a timer at its time."""

    def processElement(self, value, ctx, out):
        ctx.timerService().registerEventTimeTimer(ctx.timestamp())
        out.collect((value[0], value[1], ctx.timerService().currentWatermark()))

    def onTimer(self, timestamp, ctx, out):
        out.collect((ctx.getCurrentKey(), "timer", timestamp))


def seen(watermarks, key=split_of):
    return lambda stream: watermarks(stream).keyBy(key).process(SeenAt())


elements = st.tuples(st.sampled_from(SPLITS), st.integers(0, 9), st.integers(0, 40))
FIRST = [(split, 1, 0) for split in SPLITS]
"""Every split has sent something before the rest comes, so that each holds the watermark back."""


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(batches=st.lists(st.lists(elements, max_size=8), max_size=5))
def test_splits_are_inputs_united(strategy, batches):
    harnesses = [
        StreamTestHarness(seen(watermarks(STRATEGIES[strategy])))
        for watermarks in (of_splits, united)
    ]
    for harness in harnesses:
        for number, batch in enumerate([FIRST, *batches], start=1):
            for element in batch:
                harness.processElement(element)
            harness.setProcessingTime(number * 200)
        harness.endInput()
    assert records(harnesses[0]) == records(harnesses[1])
    # A union also shows the steps on the way, while one input after another rises.
    assert set(watermarks_of(harnesses[0])) <= set(watermarks_of(harnesses[1]))


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(
    batches=st.lists(st.lists(elements, max_size=8), max_size=5),
    groups=st.integers(1, 5),
    slices=st.integers(1, 3),
)
def test_batches_give_what_the_harness_gives(strategy, batches, groups, slices):
    # A generator that emits between elements sees those of all splits in one order in one key group only
    groups = 1 if strategy == "punctuated" else groups
    build = seen(of_splits(STRATEGIES[strategy]))
    batches = [FIRST, *batches]
    harness, job = StreamTestHarness(build), MicroBatches(build, groups)
    for number, batch in enumerate(batches, start=1):
        for element in batch:
            harness.processElement(element)
        harness.setProcessingTime(number * 200)
        size = len(batch) // slices + 1
        parts = [batch[i : i + size] for i in range(0, len(batch), size)]
        job.process([[(e, None) for e in part] for part in parts])
    harness.endInput()
    job.end()
    expected = [(r.value, r.timestamp) for r in records(harness)]
    assert by_key([(r.value, r.timestamp) for r in job.results[0]]) == by_key(expected)


@given(st.permutations([0, 1, 2]))
def test_no_split_of_a_batch_runs_ahead_of_another_that_is_new_in_it(order):
    """However Spark cuts and orders the first batch, nothing in it is late."""
    for strategy in STRATEGIES.values():
        job = MicroBatches(seen(of_splits(strategy), key=lambda e: 0), 2)
        parts = [[((SPLITS[i], n, 3 * n), None) for n in range(10)] for i in order]
        job.process(parts)
        job.process([[((split, 99, 40), None) for split in SPLITS]])
        read = [r.value for r in job.results[0] if r.value[1] != "timer"]
        assert len(read) == 33
        assert all(watermark < 3 * number for _, number, watermark in read if number != 99)
        for split in SPLITS:
            assert [n for s, n, _ in read if s == split] == [*range(10), 99]


def test_a_split_that_lags_behind_holds_the_watermark_back_instead_of_being_late():
    bounded = fl.WatermarkStrategy.forBoundedOutOfOrderness(0)
    job = MicroBatches(seen(of_splits(bounded)), 2)
    job.process([[(("s0", 1, 1000), None), (("s1", 1, 10), None)]])
    job.process([[(("s1", 2, 20), None), (("s0", 2, 2000), None)]])
    job.process([[(("s1", 3, 30), None)]])
    read = [r.value for r in job.results[0] if r.value[1] != "timer"]
    assert read == [
        ("s0", 1, MIN_TIMESTAMP),
        ("s1", 1, MIN_TIMESTAMP),
        ("s1", 2, 9),
        ("s0", 2, 9),
        ("s1", 3, 19),
    ]


def test_a_new_split_begins_without_holding_back_what_was_there():
    bounded = fl.WatermarkStrategy.forBoundedOutOfOrderness(0)
    harness = StreamTestHarness(of_splits(bounded))
    harness.processElement(("s0", 1, 100))
    harness.setProcessingTime(200)
    harness.processElement(("s1", 1, 50))
    harness.processElement(("s0", 2, 300))
    harness.setProcessingTime(400)
    harness.processElement(("s1", 2, 200))
    harness.setProcessingTime(600)
    watermarks = [e.timestamp for e in harness.getOutput() if isinstance(e, fl.Watermark)]
    assert watermarks == [99, 199]


IDLE = fl.WatermarkStrategy.forMonotonousTimestamps().withIdleness(500)


def timeline(harness, until, busy=()):
    """Steps the clock to ``until``; the split ``busy`` has an element at each step."""
    for now in range(harness_now(harness) + 200, until + 1, 200):
        for split in busy:
            harness.processElement((split, 0, now))
        harness.setProcessingTime(now)


def harness_now(harness):
    return harness._clock.getCurrentProcessingTime()


def test_an_idle_split_does_not_hold_the_others_back():
    harness = StreamTestHarness(of_splits(IDLE))
    harness.processElement(("s0", 1, 5))
    timeline(harness, 600, busy=["s1"])
    assert watermarks_of(harness) == [4]
    timeline(harness, 2000, busy=["s1"])
    assert watermarks_of(harness)[-1] == 1999
    harness.processElement(("s0", 2, 10_000))
    timeline(harness, 2200, busy=["s1"])
    assert watermarks_of(harness)[-1] == 2199, "the lower of both counts again"


def test_when_all_splits_are_idle_the_highest_watermark_stays_and_the_stream_is_idle():
    harness = StreamTestHarness(of_splits(IDLE))
    harness.processElement(("s0", 1, 5))
    harness.processElement(("s1", 1, 50))
    timeline(harness, 3000)
    assert [e for e in harness.getOutput() if not isinstance(e, fl.StreamRecord)] == [
        fl.Watermark(4),
        fl.Watermark(49),
        fl.WatermarkStatus.IDLE,
    ]
    harness.processElement(("s1", 2, 60))
    timeline(harness, 3200)
    assert harness.getOutput()[-2:] == [fl.WatermarkStatus.ACTIVE, fl.Watermark(59)]


def test_idle_splits_are_found_by_ticks():
    job = MicroBatches(seen(of_splits(IDLE), key=lambda e: 0), 2)
    job.process([[(("s0", 1, 5), None), (("s1", 1, 5), None)]], clock=0)
    for step in range(1, 8):
        job.process([[(("s1", 1, step * 100), None)]], clock=step * 300, tick=True)
    fired = [(r.batch, r.value[2]) for r in job.results[0] if r.value[1] == "timer"]
    assert [timestamp for _, timestamp in fired] == [5, 100, 200, 300, 400, 500, 600]


@given(batches=st.lists(st.lists(elements, max_size=8), min_size=1, max_size=5), data=st.data())
def test_generators_and_idleness_survive_a_restart(batches, data):
    strategy = data.draw(st.sampled_from([*STRATEGIES.values(), IDLE]))
    cut = data.draw(st.integers(0, len(batches)))
    build = of_splits(strategy)

    def run(harness, part):
        for batch in part:
            for element in batch:
                harness.processElement(element)
            harness.setProcessingTime(harness_now(harness) + 200)
        return harness

    whole = run(StreamTestHarness(build), batches)
    first = run(StreamTestHarness(build), batches[:cut])
    second = run(StreamTestHarness.restore(build, first.snapshot()), batches[cut:])
    assert first.getOutput() + second.getOutput() == whole.getOutput()


def test_a_source_with_a_strategy_has_a_generator_for_each_split():
    env = fl.StreamExecutionEnvironment()
    source = CollectionSource([("s0", 1, 5)]).withSplits(split_of)
    stream = env.fromSource(source, IDLE.withTimestampAssigner(at), "numbers")
    stream.keyBy(split_of).sum(1).print()
    job = JobGraph(StreamGraph.of(env._sinks))
    assert [v.head.name for v in job.stage(1)] == ["Source Watermarks"]
    assert type(job.stage(1)[0].head.content) is SourceWatermarksDescription


def test_splits_without_a_strategy_are_refused():
    source = CollectionSource([("s0", 1, 5)]).withSplits(split_of)
    with pytest.raises(fl.IllegalArgumentError, match="needs a WatermarkStrategy here"):
        fl.StreamExecutionEnvironment().fromSource(source)


def test_splits_that_cannot_be_told_apart_are_refused():
    description = SourceWatermarksDescription(IDLE.withTimestampAssigner(at), lambda e: [e[0]])
    harness = StreamTestHarness(lambda stream: stream._transform(description))
    with pytest.raises(fl.IllegalArgumentError, match="Source Watermarks: splits such as"):
        harness.processElement(("s0", 1, 5))


def test_a_source_of_one_split_is_as_before():
    env = fl.StreamExecutionEnvironment()
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(at)
    env.fromSource(CollectionSource([("s0", 1, 5)]), strategy).keyBy(split_of).sum(1).print()
    job = JobGraph(StreamGraph.of(env._sinks))
    assert [edge.folded for v in job.stage(1) for edge in v.inputs] == [True]


def records(harness):
    return [e for e in harness.getOutput() if isinstance(e, fl.StreamRecord)]


def watermarks_of(harness):
    return [e.timestamp for e in harness.getOutput() if isinstance(e, fl.Watermark)]
