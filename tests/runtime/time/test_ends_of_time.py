"""Timestamps near the ends of 64 bits, as the results of count windows have them: each job has the same results on the
harness and in local execution, or an error says what lies beyond."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flinkish as fl
from flinkish.api.errors import InternalError
from flinkish.cep import CEP, Pattern
from flinkish.compat import atlas, storm, stream_analytics, streaminsight
from flinkish.testing import StreamTestHarness

LARGEST, SMALLEST = 2**63 - 1, -(2**63)
TIMES = [
    SMALLEST + 1,
    SMALLEST + 2,
    SMALLEST + 1000,
    -1,
    0,
    LARGEST - 1000,
    LARGEST - 1,
    LARGEST,
]


class Timers(fl.KeyedProcessFunction):
    def processElement(self, value, ctx, out):
        ctx.timerService().registerEventTimeTimer(ctx.timestamp() + 5)
        out.collect((value, ctx.timestamp()))

    def onTimer(self, timestamp, ctx, out):
        out.collect(("timer", ctx.getCurrentKey(), timestamp))


def first(value):
    return value[0]


def joined(stream):
    keyed = stream.keyBy(first)
    return keyed.intervalJoin(keyed).between(-1, 1).process(lambda a, b, ctx: (a, b))


def points(stream):
    return streaminsight.toPointStreamable(
        stream,
        lambda value: streaminsight.PointEvent(value[1], value[0]),
        streaminsight.AdvanceTimeSettings.increasingStartTime(),
    )


def windowed(assigner, **settings):
    def build(stream):
        windows = stream.keyBy(first).window(assigner)
        for name, value in settings.items():
            windows = getattr(windows, name)(value)
        return windows.reduce(lambda one, two: (one[0], one[1], one[2] + two[2]))

    return build


JOBS = {
    "tumbling": windowed(fl.TumblingEventTimeWindows.of(10)),
    "tumbling late": windowed(fl.TumblingEventTimeWindows.of(10), allowedLateness=100),
    "tumbling always late": windowed(fl.TumblingEventTimeWindows.of(10), allowedLateness=LARGEST),
    "tumbling, largest": windowed(fl.TumblingEventTimeWindows.of(LARGEST)),
    "sliding": windowed(fl.SlidingEventTimeWindows.of(10, 4)),
    "session": windowed(fl.EventTimeSessionWindows.withGap(10)),
    "session, trigger": windowed(
        fl.EventTimeSessionWindows.withGap(10), trigger=fl.ContinuousEventTimeTrigger.of(3)
    ),
    "interval join": joined,
    "window join": lambda s: (
        s.join(s)
        .where(first)
        .equalTo(first)
        .window(fl.TumblingEventTimeWindows.of(10))
        .apply(lambda a, b: (a, b))
    ),
    "timers": lambda s: s.keyBy(first).process(Timers()),
    "sliding of Azure": lambda s: (
        s.keyBy(first)
        .window(stream_analytics.SlidingWindow("ms", 10))
        .apply(lambda k, w, v: len(v))
    ),
    "sliding, largest": windowed(fl.SlidingEventTimeWindows.of(2**62, 2**61)),
    "session, large": windowed(fl.EventTimeSessionWindows.withGap(2**62)),
    "session, large lateness": windowed(
        fl.EventTimeSessionWindows.withGap(10), allowedLateness=2**62
    ),
    "time evictor": windowed(fl.TumblingEventTimeWindows.of(100), evictor=fl.TimeEvictor.of(5)),
    "interval join, large": lambda s: (
        s.keyBy(first)
        .intervalJoin(s.keyBy(first))
        .between(2, 2**62)
        .process(lambda a, b, ctx: (a, b))
    ),
    "windows behind count windows": lambda s: windowed(fl.EventTimeSessionWindows.withGap(10))(
        s.keyBy(first).countWindow(1).reduce(max)
    ),
    "patterns": lambda s: CEP.pattern(
        s.keyBy(first), Pattern.begin("a").followedBy("b").within(fl.Duration.ofMillis(10))
    ).select(lambda match: sorted(match.items())),
    "in the order of Azure": lambda s: stream_analytics.timestampBy(
        s,
        lambda value, _: value[1],
        arrivalTime=lambda value, _: value[1],
        ordering=stream_analytics.EventOrdering(eventsOutOfOrderMaxDelayInSeconds=3),
    ).map(lambda value: value),
    "windows of Atlas": lambda s: (
        atlas.hoppingWindow(
            atlas.source(s, timeField=lambda value, _: value[1]),
            interval=atlas.Interval(10, "ms"),
            hopSize=atlas.Interval(4, "ms"),
            allowedLateness=atlas.Interval(5, "ms"),
            pipeline=lambda windows: windows.apply(lambda w, found: [(w.start, len(list(found)))]),
        ).results
    ),
    "hopping of StreamInsight": lambda s: streaminsight.hoppingWindow(points(s), 10, 5).apply(
        lambda window, events: [len(events)]
    ),
    "counts of StreamInsight": lambda s: streaminsight.countByStartTimeWindow(points(s), 2).apply(
        lambda window, events: [len(events)]
    ),
    "shift of StreamInsight": lambda s: streaminsight.shiftEventTime(
        points(s), fl.Duration.ofMillis(10)
    ),
    "windows of Storm": lambda s: storm.PolicyWindowedStream.of(
        s, fl.Time.milliseconds(10), fl.Time.milliseconds(5)
    ).process(lambda window: [len(window.get())]),
}


def outcome(run):
    """Values and timestamps, or the operator that an error names."""
    try:
        return Counter(map(repr, run()))
    except fl.FlinkishError as raised:
        error = raised
    assert not isinstance(error, InternalError), error
    assert "OverflowError" not in str(error), error
    return str(error).partition(":")[0]


def assigned(stream):
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
        lambda value, _: value[1]
    )
    return stream.assignTimestampsAndWatermarks(strategy)


@pytest.mark.parametrize("times", [TIMES, TIMES[-3:], TIMES[:3]], ids=["all", "last", "first"])
@pytest.mark.parametrize("name", JOBS)
def test_both_ways_give_the_same(name, times):
    compare(name, times)


near = st.integers(0, 12)
anywhere = st.one_of(
    near.map(lambda n: SMALLEST + 1 + n),
    near,
    near.map(lambda n: LARGEST - n),
    st.integers(SMALLEST + 1, LARGEST),
)


@pytest.mark.parametrize("name", JOBS)
@given(times=st.lists(anywhere, min_size=1, max_size=6))
@settings(max_examples=8)
def test_any_times_give_the_same(name, times):
    compare(name, times)


def test_what_is_apart_by_more_than_a_long_can_say():
    compare("patterns", [SMALLEST + 4, SMALLEST + 1, 4])


def test_the_time_of_a_timeout_wraps_as_in_java():
    trigger = fl.ProcessingTimeoutTrigger.of(fl.CountTrigger.of(9), fl.Duration.ofMillis(LARGEST))
    windows = fl.TumblingEventTimeWindows.of(10)
    harness = StreamTestHarness(
        lambda s: s.keyBy(first).window(windows).trigger(trigger).reduce(max)
    )
    harness.setProcessingTime(5)
    harness.processElement(("a", 1), 1)
    harness.setProcessingTime(6)
    assert [r.value for r in harness.getOutput()] == [("a", 1)]


def compare(name, times):
    elements = [(f"k{number % 2}", time, 1) for number, time in enumerate(times)]

    def on_the_harness():
        # Where a difference of two times wraps around, watermarks decide what belongs together
        harness = StreamTestHarness(
            lambda stream: JOBS[name](assigned(stream)), elementsPerBatch=len(elements)
        )
        for element in elements:
            harness.processElement(element)
        harness.endInput()
        return [r.value for r in harness.getOutput() if isinstance(r, fl.StreamRecord)]

    def locally():
        local = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
        return list(JOBS[name](assigned(local.fromCollection(elements))).executeAndCollect())

    expected = outcome(on_the_harness)
    assert outcome(locally) == expected
