"""A window that fires once, when its allowed lateness is over."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish import (
    DataStream,
    EventTimeSessionWindows,
    EventTimeTrigger,
    IllegalArgumentError,
    InvalidProgramError,
    OutputTag,
    StreamRecord,
    Time,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    Watermark,
    WatermarkStrategy,
)
from flinkish.api.windowing.triggers import Trigger
from flinkish.compat.atlas import AfterAllowedLatenessTrigger
from flinkish.testing import StreamTestHarness
from tests.compat.atlas.example import LATENESS, MINUTE, at
from tests.runtime.micro_batches import MicroBatches
from tests.streams import values

LATE = OutputTag[int]("late")


def windows(trigger: Trigger[Any, Any] | None, stream: DataStream[int]) -> DataStream[Any]:
    windowed = (
        stream.windowAll(TumblingEventTimeWindows.of(Time.minutes(5)))
        .allowedLateness(Time.minutes(2))
        .sideOutputLateData(LATE)
    )
    if trigger is not None:
        windowed = windowed.trigger(trigger)
    return windowed.apply(lambda window, events: [[(e - at(0)) // MINUTE for e in events]])


def closing(stream: DataStream[int]) -> DataStream[Any]:
    return windows(AfterAllowedLatenessTrigger.of(Time.minutes(2)), stream)


def fired(harness: StreamTestHarness) -> list[tuple[int, list[int]]]:
    """Return the windows that fired, with the row of the table after which they did."""
    found = []
    for row, (event, watermark, _) in enumerate(LATENESS):
        before = len(harness.getOutput())
        harness.processElement(at(event), at(event))
        harness.processWatermark(at(watermark) - 1)
        new = harness.getOutput()[before:]
        found += [(row, e.value) for e in new if isinstance(e, StreamRecord)]
    return found


class TestTheWorkedExample:
    def test_the_single_close_is_delayed(self) -> None:
        assert fired(StreamTestHarness(closing)) == [(9, [0, 1, 3, 2, 4, 1, 4])]

    def test_flinks_own_trigger_fires_at_the_end_and_for_each_late_element(self) -> None:
        harness = StreamTestHarness(lambda stream: windows(None, stream))
        assert fired(harness) == [(6, [0, 1, 3, 2, 4, 1]), (8, [0, 1, 3, 2, 4, 1, 4])]

    def test_what_comes_after_the_close_is_late(self) -> None:
        harness = StreamTestHarness(closing)
        fired(harness)
        harness.processElement(at(4), at(4))
        assert harness.getSideOutput(LATE) == [StreamRecord(at(4), at(4))]

    @pytest.mark.parametrize("size", [1, 3, 10])
    def test_the_same_in_batches(self, size: int) -> None:
        strategy = WatermarkStrategy[int].forMonotonousTimestamps()

        def build(stream: DataStream[int]) -> DataStream[Any]:
            return closing(stream.assignTimestampsAndWatermarks(strategy))

        job = MicroBatches(build, 4)
        for start in range(0, 10, size):
            job.process([[(at(e), at(e)) for e, _, _ in LATENESS[start : start + size]]])
        job.end()
        assert [(r.value, r.timestamp) for r in job.results[0]] == [
            ([0, 1, 3, 2, 4, 1, 4], at(5) - 1),
            ([5, 6, 7], at(10) - 1),
        ]


def test_a_window_that_waits_for_ever_fires_at_the_end() -> None:
    forever = 2**63 - 1
    harness = StreamTestHarness(
        lambda s: (
            s.windowAll(TumblingEventTimeWindows.of(10))
            .allowedLateness(forever)
            .trigger(AfterAllowedLatenessTrigger.of(forever))
            .reduce(lambda a, b: a + b)
        )
    )
    harness.processElement(3, 3)
    harness.processWatermark(10**15)
    harness.processElement(4, 4)
    assert harness.getOutput() == [Watermark(10**15)]
    harness.endInput()
    assert harness.getOutput()[1] == StreamRecord(7, 9)


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=25),
    st.integers(0, 20),
    st.booleans(),
)
def test_every_window_fires_once_with_all_that_flink_would_give_in_the_end(
    steps: list[tuple[int, int]], lateness: int, sessions: bool
) -> None:
    """Flink's last firing of a window has the same elements, but for sessions that late elements
    join after each had fired."""

    def build(trigger: Trigger[Any, Any]) -> StreamTestHarness:
        assigner: Any = (
            EventTimeSessionWindows.withGap(7) if sessions else TumblingEventTimeWindows.of(10)
        )
        return StreamTestHarness(
            lambda s: (
                s.windowAll(assigner)
                .allowedLateness(lateness)
                .trigger(trigger)
                .apply(lambda window, elements: [(window, sorted(elements))])
            )
        )

    delayed, flinks = build(AfterAllowedLatenessTrigger(lateness)), build(EventTimeTrigger())
    watermark = -1
    for timestamp, target in steps:
        for harness in (delayed, flinks):
            harness.processElement(timestamp, timestamp)
        if target > watermark:
            watermark = target
            delayed.processWatermark(watermark)
            flinks.processWatermark(watermark)
    delayed.endInput()
    flinks.endInput()
    once = values(delayed)
    last = dict(e.value for e in flinks.getOutput() if isinstance(e, StreamRecord))
    assert len({window for window, _ in once}) == len(once)
    if sessions:
        kept = [element for _, elements in once for element in elements]
        assert all(last[window] == elements for window, elements in once)
        assert len(kept) + delayed.numLateRecordsDropped() == len(steps)
    else:
        assert dict(once) == last


def test_it_emits_ahead_of_the_watermark_that_closes() -> None:
    harness = StreamTestHarness(closing)
    harness.processElement(at(1), at(1))
    harness.processWatermark(at(7) - 2)
    harness.processWatermark(at(7) - 1)
    assert harness.getOutput() == [
        Watermark(at(7) - 2),
        StreamRecord([1], at(5) - 1),
        Watermark(at(7) - 1),
    ]


def test_a_negative_lateness_is_refused() -> None:
    with pytest.raises(IllegalArgumentError, match="allowedLateness is -1 ms"):
        AfterAllowedLatenessTrigger.of(-1)


@pytest.mark.parametrize(
    "assigner", [TumblingEventTimeWindows.of(10), TumblingProcessingTimeWindows.of(10)]
)
def test_a_window_that_would_be_gone_before_it_fires_is_refused(assigner: Any) -> None:
    def build(stream: DataStream[int]) -> DataStream[int]:
        windowed = stream.windowAll(assigner).trigger(AfterAllowedLatenessTrigger.of(5))
        return windowed.reduce(lambda a, b: a + b)

    with pytest.raises(InvalidProgramError, match=r"call allowedLateness\(5\) too"):
        StreamTestHarness(build)
