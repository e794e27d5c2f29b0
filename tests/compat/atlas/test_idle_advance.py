"""An idle input whose watermark goes on by the clock."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish import (
    DataStream,
    IllegalArgumentError,
    StreamRecord,
    Time,
    TumblingEventTimeWindows,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStatus,
    WatermarkStrategy,
)
from flinkish.compat.atlas import withIdleAdvance
from flinkish.testing import StreamTestHarness
from tests.compat.atlas.example import IDLENESS, MINUTE, at, step
from tests.runtime.micro_batches import MicroBatches

STRATEGY = withIdleAdvance(
    WatermarkStrategy[int]
    .forMonotonousTimestamps()
    .withTimestampAssigner(lambda event, timestamp: event),
    Time.minutes(1),
    every=Time.minutes(3),
)
Closed = list[tuple[int, list[int]]]
"""Windows that closed: when, in minutes after 12:00, and the events in them."""
CLOSED: Closed = [(5, [0, 2]), (7, [5])]


def assigned(stream: DataStream[int]) -> DataStream[int]:
    return stream.assignTimestampsAndWatermarks(STRATEGY)


def windows(stream: DataStream[int]) -> DataStream[Any]:
    return (
        assigned(stream)
        .windowAll(TumblingEventTimeWindows.of(Time.minutes(3)))
        .apply(lambda window, events: [[(event - at(0)) // MINUTE for event in events]])
    )


class TestTheWorkedExample:
    def test_watermark_by_watermark(self) -> None:
        harness, watermark = StreamTestHarness(assigned), None
        for minute, event, expected in IDLENESS:
            step(harness, minute, event)
            watermark = _last_watermark(harness) or watermark
            assert watermark == at(expected) - 1, minute

    @pytest.mark.parametrize("cut", [None, *range(11)])
    def test_window_by_window_also_over_a_restart(self, cut: int | None) -> None:
        harness = StreamTestHarness(windows)
        closed: Closed = []
        for row, (minute, event, _) in enumerate(IDLENESS):
            if row == cut:
                harness = StreamTestHarness.restore(windows, harness.snapshot())
            before = len(harness.getOutput())
            step(harness, minute, event)
            new = harness.getOutput()[before:]
            closed += [(minute, e.value) for e in new if isinstance(e, StreamRecord)]
        assert closed == CLOSED

    def test_batch_by_batch_with_ticks(self) -> None:
        job = MicroBatches(windows, 4)
        for minute, event, _ in IDLENESS:
            events = [] if event is None else [[(at(event), None)]]
            job.process(events, clock=at(minute), tick=event is None)
        assert [(r.batch, r.value) for r in job.results[0]] == CLOSED

    def test_a_tick_is_asked_for_only_when_a_window_is_due(self) -> None:
        job = MicroBatches(windows, 4)
        wanted = []
        for minute, event, _ in IDLENESS:
            events = [] if event is None else [[(at(event), None)]]
            job.process(events, clock=at(minute), tick=event is None)
            due = job.metrics.nextProcessingTime()
            wanted.append(None if due is None else (due - at(0)) // MINUTE)
        assert wanted == [4, 4, 4, 4, 5, 7, 7, 10, 10, 13]


class Pausing(WatermarkGenerator[int]):
    """Idle from a 0 to the next 1."""

    def onEvent(self, event: int, eventTimestamp: int, output: WatermarkOutput) -> None:
        if event:
            output.markActive()
        else:
            output.markIdle()

    def onPeriodicEmit(self, output: WatermarkOutput) -> None:
        pass


def test_what_the_generator_says_of_idleness_goes_on() -> None:
    strategy = WatermarkStrategy[int].forGenerator(lambda context: Pausing())
    harness = StreamTestHarness(
        lambda s: s.assignTimestampsAndWatermarks(withIdleAdvance(strategy, 70, every=100))
    )
    for event in (0, 1):
        harness.processElement(event, event)
    assert [e for e in harness.getOutput() if not isinstance(e, StreamRecord)] == [
        WatermarkStatus.IDLE,
        WatermarkStatus.ACTIVE,
    ]


def test_before_the_first_element_nothing_moves() -> None:
    harness = StreamTestHarness(assigned)
    harness.setProcessingTime(at(30))
    assert harness.getOutput() == []


def test_the_timeout_counts_from_the_element_and_is_over_to_the_millisecond() -> None:
    harness = StreamTestHarness(assigned)
    harness.setProcessingTime(at(5) + 30_017)
    harness.processElement(at(5))
    harness.setProcessingTime(at(6) + 30_016)
    assert _last_watermark(harness) == at(5) - 1
    harness.setProcessingTime(at(7) - 1)
    assert _last_watermark(harness) == at(5) - 1
    harness.setProcessingTime(at(7))
    assert _last_watermark(harness) == at(6) - 1


def test_it_closes_at_the_first_look_if_the_timeout_is_over_by_then() -> None:
    harness = StreamTestHarness(assigned)
    harness.setProcessingTime(at(5))
    harness.processElement(at(5))
    harness.setProcessingTime(at(30))
    assert _last_watermark(harness) == at(27) - 1


def test_lateness_and_offset_say_where_windows_close() -> None:
    strategy = WatermarkStrategy[int].forBoundedOutOfOrderness(5)
    strategy = withIdleAdvance(strategy, 1_000, every=100, offset=30, allowedLateness=7)
    harness = StreamTestHarness(
        lambda s: s.assignTimestampsAndWatermarks(
            strategy.withTimestampAssigner(lambda event, timestamp: event)
        )
    )
    harness.setProcessingTime(4_800)
    harness.processElement(5_040)
    harness.setProcessingTime(5_000)
    assert harness.getOutput()[1:] == [Watermark(5_034)]
    harness.setProcessingTime(6_050)
    assert harness.getOutput()[2:] == [Watermark(5_036)]
    harness.setProcessingTime(6_300)
    assert harness.getOutput()[3:] == [Watermark(5_236)]


@given(st.lists(st.tuples(st.integers(1, 500), st.none() | st.integers(0, 900)), max_size=30))
def test_the_watermark_never_falls_and_keeps_a_timeout_behind_the_clock(
    steps: list[tuple[int, int | None]],
) -> None:
    strategy = withIdleAdvance(WatermarkStrategy[int].forMonotonousTimestamps(), 70, every=100)
    harness = StreamTestHarness(
        lambda s: s.assignTimestampsAndWatermarks(strategy), autoWatermarkInterval=1
    )
    now = 1_000
    harness.setProcessingTime(now)
    highest, came = -1, None
    for passed, timestamp in steps:
        if timestamp is not None:
            harness.processElement(timestamp, timestamp)
            highest, came = max(highest, timestamp), now
        now += passed
        harness.setProcessingTime(now)
        watermarks = [e.timestamp for e in harness.getOutput() if isinstance(e, Watermark)]
        assert watermarks == sorted(set(watermarks))
        if watermarks:
            last = watermarks[-1]
            assert last == highest - 1 or (last + 1) % 100 == 0
            assert last < max(highest, now - 70)
            if came is not None and now - came >= 70:
                assert last >= (now - 70) // 100 * 100 - 1


def test_idleness_that_stops_the_watermark_cannot_be_had_too() -> None:
    plain = WatermarkStrategy[int].noWatermarks()
    with pytest.raises(IllegalArgumentError, match="use one of the two"):
        withIdleAdvance(plain.withIdleness(5), 5, every=5)
    with pytest.raises(IllegalArgumentError, match="use one of the two"):
        withIdleAdvance(plain, 5, every=5).withIdleness(5)


@pytest.mark.parametrize("lengths", [(0, 1, 0), (1, 0, 0), (1, 1, -1)])
def test_lengths_that_will_not_do(lengths: tuple[int, int, int]) -> None:
    timeout, every, lateness = lengths
    with pytest.raises(IllegalArgumentError, match="the first two must be greater than zero"):
        withIdleAdvance(
            WatermarkStrategy[int].noWatermarks(), timeout, every, allowedLateness=lateness
        )


def _last_watermark(harness: StreamTestHarness) -> int | None:
    watermarks = [e.timestamp for e in harness.getOutput() if isinstance(e, Watermark)]
    return watermarks[-1] if watermarks else None
