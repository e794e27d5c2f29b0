"""A harness with ``elementsPerBatch`` gives what the job with ``setElementsPerBatch`` gives."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish import StreamExecutionEnvironment, Watermark, WatermarkStatus, WatermarkStrategy
from flinkish.testing import StreamTestHarness
from tests.streams import values

LATE = fl.OutputTag("late")


class EveryThird(fl.WatermarkGenerator):
    """A watermark right after each element whose timestamp is divisible by 3."""

    def onEvent(self, event, eventTimestamp, output):
        if eventTimestamp % 3 == 0:
            output.emitWatermark(Watermark(eventTimestamp))

    def onPeriodicEmit(self, output):
        pass


class Lagging(fl.WatermarkGenerator):
    """Behind the last timestamp, not the highest."""

    def __init__(self):
        self.last = -(2**63)

    def onEvent(self, event, eventTimestamp, output):
        self.last = eventTimestamp

    def onPeriodicEmit(self, output):
        output.emitWatermark(Watermark(self.last))


STRATEGIES = {
    "monotonous": WatermarkStrategy.forMonotonousTimestamps(),
    "bounded": WatermarkStrategy.forBoundedOutOfOrderness(fl.Duration.ofMillis(4)),
    "punctuated": WatermarkStrategy.forGenerator(lambda _: EveryThird()),
    "periodic": WatermarkStrategy.forGenerator(lambda _: Lagging()),
}


class Timed(fl.KeyedProcessFunction):
    """Tells the watermark that each element and timer sees."""

    def processElement(self, value, ctx, out):
        ctx.timerService().registerEventTimeTimer(ctx.timestamp() + 3)
        out.collect((value, ctx.timerService().currentWatermark()))

    def onTimer(self, timestamp, ctx, out):
        out.collect((timestamp, ctx.getCurrentKey(), ctx.timerService().currentWatermark()))


class Seen(fl.ProcessFunction):
    def processElement(self, value, ctx, out):
        out.collect((*value, ctx.timestamp(), ctx.timerService().currentWatermark()))


def timed(stream, strategy):
    return stream.assignTimestampsAndWatermarks(strategy.withTimestampAssigner(lambda e, _: e[1]))


def contents(key, context, elements, out):
    out.collect((key, context.window().start, context.currentWatermark(), *map(str, elements)))


class Contents(fl.ProcessWindowFunction):
    def process(self, key, context, elements, out):
        contents(key, context, elements, out)


def by_key(stream):
    return stream.keyBy(lambda element: element[0])


def windows(stream, strategy):
    return windows_of(by_key(timed(stream, strategy).filter(lambda e: e[1] != 5)))


def windows_of(keyed):
    windowed = keyed.window(fl.TumblingEventTimeWindows.of(fl.Duration.ofMillis(5)))
    counts = windowed.sideOutputLateData(LATE).process(Contents())
    return [counts, counts.getSideOutput(LATE)]


def sessions(stream, strategy):
    gaps = by_key(timed(stream, strategy)).window(
        fl.EventTimeSessionWindows.withGap(fl.Duration.ofMillis(3))
    )
    highest = gaps.reduce(max)
    return [
        highest,
        highest.windowAll(
            fl.SlidingEventTimeWindows.of(fl.Duration.ofMillis(10), fl.Duration.ofMillis(5))
        ).reduce(min),
    ]


def timers(stream, strategy):
    return [by_key(timed(stream, strategy)).process(Timed())]


def assigned_again(stream, strategy):
    earlier = timed(stream.process(Seen()), WatermarkStrategy.forMonotonousTimestamps())
    return [by_key(timed(earlier.map(lambda e: (e[0], e[1] + 1)), strategy)).process(Timed())]


JOBS = [windows, sessions, timers, assigned_again]

ELEMENTS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(-20, 20)), max_size=30)


def of_job(build, inputs, size):
    """Return each output of the job. Timers of different keys for one time fire in any order."""
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.getConfig().setElementsPerBatch(size)
    streams = build(*(env.fromCollection(elements) for elements in inputs))
    results = [stream.collectAsync() for stream in streams]
    env.execute()
    return [sorted(result, key=repr) for result in results]


def of_harness(build, inputs, size):
    """The same on the harness, where the inputs are read in turn as in the job."""
    harness = StreamTestHarness(build, elementsPerBatch=size)
    processElement = harness.processElement1, harness.processElement2
    processWatermark = harness.processWatermark1, harness.processWatermark2
    for begin in range(0, max(map(len, inputs)), size):
        for number, elements in enumerate(inputs):
            for element in elements[begin : begin + size]:
                processElement[number](element)
            if begin + size >= len(elements):
                processWatermark[number](Watermark.MAX_WATERMARK)
    harness.endInput()
    env = StreamExecutionEnvironment()
    outputs = len(build(*(env.fromData(1) for _ in inputs)))
    return [sorted(values(harness, index), key=repr) for index in range(outputs)]


@given(st.sampled_from(JOBS), st.sampled_from(list(STRATEGIES)), ELEMENTS, st.integers(1, 8))
def test_the_results_of_the_job(job, strategy, elements, size):
    def build(stream):
        return job(stream, STRATEGIES[strategy])

    assert of_harness(build, [elements], size) == of_job(build, [elements], size)


def joined(first, second, strategy):
    left, right = (timed(stream, strategy) for stream in (first, second))
    pairs = left.join(right).where(lambda e: e[0]).equalTo(lambda e: e[0])
    return [
        pairs.window(fl.TumblingEventTimeWindows.of(fl.Duration.ofMillis(5))).apply(
            lambda a, b: (a, b)
        ),
        by_key(left).intervalJoin(by_key(right)).between(-2, 2).process(Pairs()),
    ]


def united(first, second, strategy):
    return [by_key(timed(first.union(second), strategy).map(lambda e: e)).process(Timed())]


class Pairs(fl.ProcessJoinFunction):
    def processElement(self, left, right, ctx, out):
        out.collect((left, right))


IN_ORDER = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(-20, 20)), unique_by=lambda e: e[1]
).map(lambda elements: sorted(elements, key=lambda e: e[1]))
"""Nothing of it is late, so the results do not depend on which input is read first."""


@given(st.sampled_from(list(STRATEGIES)), IN_ORDER, IN_ORDER, st.integers(1, 8))
def test_the_results_of_a_job_with_two_inputs(strategy, first, second, size):
    def build(left, right):
        return joined(left, right, STRATEGIES[strategy])

    inputs = [first, second]
    assert of_harness(build, inputs, size) == of_job(build, inputs, size)


@given(st.sampled_from(list(STRATEGIES)), ELEMENTS, ELEMENTS, st.integers(1, 8))
def test_the_results_of_a_job_with_one_strategy_after_a_union(strategy, first, second, size):
    def build(left, right):
        return united(left, right, STRATEGIES[strategy])

    inputs = [first, second]
    assert of_harness(build, inputs, size) == of_job(build, inputs, size)


def monotonous(stream):
    return timed(stream, STRATEGIES["monotonous"])


def fed(harness, *times):
    for time in times:
        harness.processElement(("a", time))
    return [element for element in harness.getOutput() if isinstance(element, Watermark)]


def test_a_strategy_emits_after_every_batch_and_at_its_end():
    harness = StreamTestHarness(monotonous, elementsPerBatch=2)
    assert fed(harness, 5) == []
    assert fed(harness, 7) == [Watermark(6)]
    assert fed(harness, 9) == [Watermark(6)]
    harness.setProcessingTime(1)
    assert fed(harness) == [Watermark(6), Watermark(8)]
    assert fed(harness, 11) == [Watermark(6), Watermark(8)]
    harness.endInput()
    assert fed(harness) == [Watermark(6), Watermark(8), Watermark(10), Watermark.MAX_WATERMARK]


def test_a_snapshot_ends_the_batch():
    def build(stream):
        return fl.AsyncDataStream.orderedWait(monotonous(stream), doubled, 1_000)

    harness = StreamTestHarness(build, elementsPerBatch=3)
    assert fed(harness, 5) == []
    assert values(harness) == []
    snapshot = harness.snapshot()
    assert harness.getOutput() == [fl.StreamRecord(("a", 10), 5), Watermark(4)]
    restored = StreamTestHarness.restore(build, snapshot, elementsPerBatch=1)
    assert fed(restored, 4, 6) == [Watermark(5)]


async def doubled(element):
    return [(element[0], 2 * element[1])]


def test_each_of_two_inputs_has_its_own_elements_and_together_they_have_one_batch():
    def build(first, second):
        return [monotonous(first), monotonous(first.union(second))]

    harness = StreamTestHarness(build, elementsPerBatch=2)

    def watermarks():
        return [
            [e.timestamp for e in harness.getOutput(i) if isinstance(e, Watermark)] for i in (0, 1)
        ]

    harness.processElement1(("a", 1))
    harness.processElement2(("a", 9))
    assert watermarks() == [[], []]
    harness.processElement1(("a", 3))
    assert watermarks() == [[2], []]
    harness.processElement2(("a", 4))
    assert watermarks() == [[2], [8]]
    for time in (11, 12, 13):
        harness.processElement1(("a", time))
    assert watermarks() == [[2, 11], [8, 11]]


@pytest.mark.parametrize("size", [0, -1, 1.5, True])
def test_a_batch_without_elements_is_refused(size):
    with pytest.raises(fl.FlinkishError, match="StreamTestHarness: elementsPerBatch"):
        StreamTestHarness(monotonous, elementsPerBatch=size)


@pytest.mark.parametrize(
    ("build", "size", "fix"),
    [
        (monotonous, None, "write StreamTestHarness(build, elementsPerBatch=1) and leave the call"),
        (monotonous, 1, "which emits its own after each batch: leave the call out"),
        (lambda s: timed(s, WatermarkStrategy.noWatermarks()), None, "which emits none"),
        (lambda s: monotonous(s.map(lambda e: e).filter(bool)), None, "elementsPerBatch=1"),
    ],
)
@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda h: h.processWatermark(7), "processWatermark(7) has no effect, as Timestamps/"),
        (lambda h: h.processWatermarkStatus(WatermarkStatus.IDLE), "processWatermarkStatus has no"),
    ],
)
def test_a_watermark_that_the_strategy_ignores_warns_once(build, size, fix, call, said, caplog):
    harness = StreamTestHarness(build, elementsPerBatch=size)
    with caplog.at_level(logging.WARNING, "flinkish"):
        call(harness)
        call(harness)
    (message,) = caplog.messages
    assert said in message
    assert fix in message
    assert "leave assignTimestampsAndWatermarks out of build" in message


def test_a_watermark_that_is_used_or_ends_the_input_does_not_warn(caplog):
    with caplog.at_level(logging.WARNING, "flinkish"):
        harness = StreamTestHarness(lambda stream: stream)
        harness.processWatermark(7)
        harness = StreamTestHarness(lambda stream: monotonous(by_key(stream).process(Timed())))
        harness.processWatermark(7)
        harness = StreamTestHarness(monotonous)
        harness.processWatermark(Watermark.MAX_WATERMARK)
        assert harness.getOutput() == [Watermark.MAX_WATERMARK]
        harness = StreamTestHarness(monotonous, elementsPerBatch=5)
        harness.processElement(("a", 3))
        harness.processWatermark(Watermark.MAX_WATERMARK)
        assert fed(harness) == [Watermark(2), Watermark.MAX_WATERMARK]
    assert caplog.messages == []
