"""Timestamps near the ends of 64 bits, as the results of count windows have them: each job has the same results on the
harness and in local execution, or an error says what lies beyond."""

from __future__ import annotations

from collections import Counter

import pytest

import flinkish as fl
from flinkish.api.errors import InternalError
from flinkish.compat import storm, stream_analytics
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
    elements = [(f"k{number % 2}", time, 1) for number, time in enumerate(times)]

    def on_the_harness():
        harness = StreamTestHarness(lambda stream: JOBS[name](assigned(stream)))
        for element in elements:
            harness.processElement(element)
        harness.endInput()
        return [r.value for r in harness.getOutput() if isinstance(r, fl.StreamRecord)]

    def locally():
        local = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
        return list(JOBS[name](assigned(local.fromCollection(elements))).executeAndCollect())

    expected = outcome(on_the_harness)
    assert outcome(locally) == expected
