"""Watermark generators that read the clock: when they are asked, and what a restart leaves of them."""

from __future__ import annotations

from typing import Any

import pytest

import flinkish as fl
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches


class BehindTheClock(fl.WatermarkGenerator[Any]):
    """Once an element has come: the clock less 10 ms, and worth a call every 100 ms."""

    def __init__(self, context: fl.WatermarkGeneratorContext) -> None:
        self.clock = context.getInputActivityClock()
        self.began = False

    def onEvent(self, event: Any, eventTimestamp: int, output: fl.WatermarkOutput) -> None:
        self.began = True

    def onPeriodicEmit(self, output: fl.WatermarkOutput) -> None:
        if self.began:
            output.emitWatermark(fl.Watermark(self.clock.relativeTimeMillis() - 10))

    def nextPeriodicEmit(self) -> int | None:
        return self.clock.relativeTimeMillis() + 100 if self.began else None


STRATEGY = fl.WatermarkStrategy.forGenerator(BehindTheClock).withTimestampAssigner(
    lambda element, timestamp: element
)


def build(stream: fl.DataStream[int]) -> fl.DataStream[int]:
    windows = stream.assignTimestampsAndWatermarks(STRATEGY).windowAll(
        fl.TumblingEventTimeWindows.of(100)
    )
    return windows.reduce(lambda a, b: a + b)


def test_on_the_harness_it_is_asked_every_interval_and_keeps_the_clock_over_a_restart() -> None:
    def assigned(stream: fl.DataStream[int]) -> fl.DataStream[int]:
        return stream.assignTimestampsAndWatermarks(STRATEGY)

    harness = StreamTestHarness(assigned)
    harness.setProcessingTime(1000)
    harness.processElement(7)
    harness.setProcessingTime(1500)
    harness = StreamTestHarness.restore(assigned, harness.snapshot())
    harness.setProcessingTime(1600)
    harness.setProcessingTime(1700)
    assert harness.getOutput() == [fl.Watermark(1690)]


def test_in_a_batch_the_elements_come_before_the_clock() -> None:
    job = MicroBatches(build, 2)
    job.process([[(7, None)]], clock=60)
    job.process([[(8, None)]], clock=500, tick=True)
    assert [(r.batch, r.value) for r in job.results[0]] == [(1, 15)]


def test_without_elements_a_tick_moves_it_on() -> None:
    job = MicroBatches(build, 2)
    job.process([[(7, None)]], clock=60)
    assert job.results == [[]]
    job.process([], clock=500, tick=True)
    assert [(r.batch, r.value) for r in job.results[0]] == [(1, 7)]


@pytest.mark.parametrize(("batches", "due"), [([], None), ([[7]], 1100)])
def test_it_says_when_a_tick_is_worth_it(batches: list[list[int]], due: int | None) -> None:
    job = MicroBatches(build, 2)
    job.process([], clock=900, tick=True)
    for batch in batches:
        job.process([[(element, None) for element in batch]], clock=1000)
    assert job.metrics.nextProcessingTime() == due


class AtFixedTimes(fl.WatermarkGenerator[Any]):
    """The clock, once at each of the times."""

    def __init__(self, context: fl.WatermarkGeneratorContext, times: list[int]) -> None:
        self.clock = context.getInputActivityClock()
        self.times = times

    def onEvent(self, event: Any, eventTimestamp: int, output: fl.WatermarkOutput) -> None:
        pass

    def onPeriodicEmit(self, output: fl.WatermarkOutput) -> None:
        now = self.clock.relativeTimeMillis()
        output.emitWatermark(fl.Watermark(now))
        self.times = [time for time in self.times if time > now]

    def nextPeriodicEmit(self) -> int | None:
        return min(self.times, default=None)


def at_fixed_times(*times: int) -> Any:
    strategy = fl.WatermarkStrategy.forGenerator(lambda context: AtFixedTimes(context, [*times]))
    return lambda stream: stream.assignTimestampsAndWatermarks(strategy)


def test_on_the_harness_it_is_asked_at_its_own_times_beside_the_interval() -> None:
    harness = StreamTestHarness(at_fixed_times(1, 70, 230, 1000))
    for now in (0, 1, 50, 70, 199, 200, 229, 230, 231, 399, 400, 500):
        harness.setProcessingTime(now)
    assert harness.getOutput() == [fl.Watermark(time) for time in (1, 70, 200, 230, 400)]


def test_without_an_interval_it_is_not_asked() -> None:
    harness = StreamTestHarness(at_fixed_times(70), autoWatermarkInterval=0)
    harness.setProcessingTime(500)
    assert harness.getOutput() == []


class NeverContent(AtFixedTimes):
    """Asks for a time that is past, whatever the clock says."""

    def nextPeriodicEmit(self) -> int | None:
        return 0


def test_a_time_that_is_past_waits_for_the_interval() -> None:
    strategy = fl.WatermarkStrategy.forGenerator(lambda context: NeverContent(context, []))
    job = MicroBatches(lambda stream: stream.assignTimestampsAndWatermarks(strategy), 2)
    job.process([[(7, None)]], clock=1000)
    assert job.metrics.nextProcessingTime() == 1200


@pytest.mark.parametrize("strategy", [fl.WatermarkStrategy.forMonotonousTimestamps(), None])
def test_what_needs_no_clock_asks_for_no_tick(strategy: Any) -> None:
    def plain(stream: fl.DataStream[int]) -> fl.DataStream[int]:
        timed = stream if strategy is None else stream.assignTimestampsAndWatermarks(strategy)
        return timed.windowAll(fl.TumblingEventTimeWindows.of(100)).reduce(lambda a, b: a + b)

    job = MicroBatches(plain, 2)
    job.process([[(7, 7)]], clock=1000)
    assert job.metrics.nextProcessingTime() is None


def test_of_far_times_only_the_next_asks_for_a_tick() -> None:
    job = MicroBatches(at_fixed_times(50_000, 90_000), 2)
    job.process([[(7, None)]], clock=1000)
    assert job.metrics.nextProcessingTime() == 50_000
    job.process([], clock=50_000, tick=True)
    assert job.metrics.nextProcessingTime() == 90_000
