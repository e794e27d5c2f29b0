"""MongoDB Atlas: the worked examples, window by window, in Atlas's own words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish import (
    AllWindowedStream,
    DataStream,
    DeadLetter,
    DeadLetterReason,
    FlinkishError,
    IllegalArgumentError,
    IllegalStateError,
    SingleOutputStreamOperator,
    StreamRecord,
    TimeWindow,
    Watermark,
)
from flinkish.compat import atlas
from flinkish.compat.atlas import Boundary, Interval
from flinkish.testing import StreamTestHarness
from tests.compat.atlas.example import IDLENESS, LATENESS, WATERMARKS, at, step
from tests.runtime.micro_batches import MicroBatches
from tests.streams import records

Windows = AllWindowedStream[int, TimeWindow]
Closed = tuple[int, int, list[int]]
"""A window's start and end and its events, in minutes after 12:00."""


def minutes(window: TimeWindow, events: Iterable[int]) -> list[Closed]:
    def after_noon(time: int) -> int:
        return (time - at(0)) // 60_000

    return [(after_noon(window.start), after_noon(window.end), [after_noon(e) for e in events])]


def collected(windows: Windows) -> SingleOutputStreamOperator[Closed]:
    return windows.apply(minutes)


def timed(stream: DataStream[int]) -> DataStream[int]:
    return atlas.source(stream, lambda event, timestamp: event)


FIVE_MINUTES = Interval(5, "minute")


def five_minutes(events: DataStream[int]) -> atlas.WindowStage[int, Closed]:
    return atlas.tumblingWindow(timed(events), interval=FIVE_MINUTES, pipeline=collected)


class TestWatermarks:
    """Windows of 5 minutes; a row is an event and the time at which it is processed."""

    def run(self, boundary: Boundary) -> list[tuple[int, Closed]]:
        """The windows that closed, with the row at which they did."""
        harness = StreamTestHarness(
            lambda stream: (
                atlas.tumblingWindow(
                    timed(stream), interval=FIVE_MINUTES, pipeline=collected, boundary=boundary
                ).results
            )
        )
        closed = []
        for row, arrival in enumerate(WATERMARKS):
            before = len(harness.getOutput())
            harness.setProcessingTime(at(arrival.processed))
            harness.processElement(at(arrival.event))
            harness.setProcessingTime(at(arrival.processed) + 1_000)
            new = harness.getOutput()[before:]
            closed += [(row, e.value) for e in new if isinstance(e, StreamRecord)]
        harness.setProcessingTime(at(10))
        harness.endInput()
        rest = [e.value for e in harness.getOutput() if isinstance(e, StreamRecord)]
        return closed + [(len(WATERMARKS), value) for value in rest[len(closed) :]]

    def test_with_the_watermark_the_first_window_closes_when_five_past_arrives(self) -> None:
        assert self.run(Boundary.EVENT_TIME) == [
            (7, (0, 5, [0, 0, 1, 3, 2, 1, 4])),
            (10, (5, 10, [5, 6, 6])),
        ]

    def test_by_processing_time_it_gets_only_four(self) -> None:
        assert self.run(Boundary.PROCESSING_TIME) == [
            (4, (0, 5, [0, 0, 1, 3])),
            (10, (5, 10, [2, 1, 4, 5, 6, 6])),
        ]

    def test_by_the_clock_of_the_batches_too(self) -> None:
        job = MicroBatches(
            lambda stream: (
                atlas.tumblingWindow(
                    stream,
                    interval=FIVE_MINUTES,
                    pipeline=collected,
                    boundary=Boundary.PROCESSING_TIME,
                ).results
            ),
            2,
        )
        for arrival in WATERMARKS:
            job.tickDue(at(arrival.processed))
            job.process([[(at(arrival.event), None)]], clock=at(arrival.processed))
        assert [r.value for r in job.results[0]] == [(0, 5, [0, 0, 1, 3])]
        job.tickDue(at(10))
        assert [r.value for r in job.results[0]][1:] == [(5, 10, [2, 1, 4, 5, 6, 6])]


@given(
    st.lists(st.integers(0, 12), max_size=12),
    st.sampled_from([atlas.tumblingWindow, atlas.sessionWindow]),
)
def test_each_event_is_in_one_window_of_the_clock(steps: list[int], stage: Any) -> None:
    """Also if the input ends while the window is open."""
    length = {"gap" if stage is atlas.sessionWindow else "interval": FIVE_MINUTES}
    harness = StreamTestHarness(
        lambda stream: (
            stage(
                stream,
                **length,
                pipeline=lambda windows: windows.apply(lambda window, events: list(events)),
                boundary=Boundary.PROCESSING_TIME,
            ).results
        )
    )
    now = 0
    for number, minutes in enumerate(steps):
        now += minutes
        harness.setProcessingTime(now * 60_000)
        harness.processElement(number)
    harness.endInput()
    harness.setProcessingTime((now + 10) * 60_000)
    found = [e.value for e in harness.getOutput() if isinstance(e, StreamRecord)]
    assert found == list(range(len(steps)))


def test_an_offset_is_within_the_hop() -> None:
    def build(stream: DataStream[int]) -> DataStream[Any]:
        return atlas.hoppingWindow(
            stream,
            interval=FIVE_MINUTES,
            hopSize=Interval(1, "minute"),
            pipeline=collected,
            offset=Interval(90, "second"),
        ).results

    with pytest.raises(
        IllegalArgumentError, match=r"within the hopSize of 60000 ms.*Pass 30000 ms"
    ):
        StreamTestHarness(build)


class TestAllowedLateness:
    def stage(self, stream: DataStream[int]) -> atlas.WindowStage[int, Closed]:
        return atlas.tumblingWindow(
            timed(stream),
            interval=FIVE_MINUTES,
            pipeline=collected,
            allowedLateness=Interval(2, "minute"),
            deadLetterQueue=True,
        )

    def test_row_by_row(self) -> None:
        harness = StreamTestHarness(lambda stream: self.stage(stream).results)
        for row, (event, watermark, _) in enumerate(LATENESS):
            harness.processElement(at(event))
            harness.setProcessingTime((row + 1) * 1_000)
            output = harness.getOutput()
            assert output[-1] == Watermark(at(watermark) - 1)
            closed = [e for e in output if isinstance(e, StreamRecord)]
            # the table's last column: only the last row has the first window closed
            assert closed == (
                [StreamRecord((0, 5, [0, 1, 3, 2, 4, 1, 4]), at(5) - 1)] if row == 9 else []
            )

    def test_what_comes_later_is_a_dead_letter(self) -> None:
        harness = StreamTestHarness(lambda stream: self.stage(stream).deadLetterQueue)
        for row, event in enumerate([*(event for event, _, _ in LATENESS), 4]):
            harness.setProcessingTime((row + 1) * 1_000)
            harness.processElement(at(event))
        letters = records(harness)
        assert letters == [
            StreamRecord(DeadLetter(at(4), at(4), 11_000, DeadLetterReason.LATE), at(4))
        ]

    def test_without_a_queue_it_is_counted(self) -> None:
        harness = StreamTestHarness(
            lambda stream: (
                atlas.tumblingWindow(stream, interval=FIVE_MINUTES, pipeline=collected).results
            )
        )
        harness.processWatermark(at(5) - 1)
        harness.processElement(at(4), at(4))
        assert harness.numLateRecordsDropped() == 1


class TestIdleTimeout:
    def stage(self, stream: DataStream[int]) -> DataStream[Closed]:
        return atlas.tumblingWindow(
            timed(stream),
            interval=Interval(3, "minute"),
            pipeline=collected,
            idleTimeout=Interval(1, "minute"),
        ).results

    def test_row_by_row(self) -> None:
        harness = StreamTestHarness(self.stage)
        watermarks, closed = [], []
        for minute, event, _ in IDLENESS:
            before = len(harness.getOutput())
            step(harness, minute, event)
            for element in harness.getOutput()[before:]:
                if isinstance(element, StreamRecord):
                    closed.append((minute, element.value))
            watermarks += [
                e.timestamp + 1 for e in harness.getOutput() if isinstance(e, Watermark)
            ][-1:]
        assert watermarks == [at(watermark) for _, _, watermark in IDLENESS]
        assert closed == [(5, (0, 3, [0, 2])), (7, (3, 6, [5]))]

    def test_it_closes_windows_that_wait_for_late_events_too(self) -> None:
        harness = StreamTestHarness(
            lambda stream: (
                atlas.hoppingWindow(
                    timed(stream),
                    interval=Interval(4, "minute"),
                    hopSize=Interval(3, "minute"),
                    pipeline=collected,
                    idleTimeout=Interval(1, "minute"),
                    allowedLateness=Interval(4, "minute"),
                    offset=Interval(1, "minute"),
                ).results
            )
        )
        harness.processElement(at(2))
        for minute in range(2, 8):
            harness.setProcessingTime(at(minute))
            closed = [e.value[:2] for e in harness.getOutput() if isinstance(e, StreamRecord)]
            # windows end at 2, 5, 8; that of 5, with the event, is over for a minute at 6
            assert closed == ([(1, 5)] if minute >= 6 else [])


def hopping(stream: DataStream[int], interval: int, hop: int) -> DataStream[Any]:
    return atlas.hoppingWindow(
        timed(stream),
        interval=Interval(interval, "second"),
        hopSize=Interval(hop, "second"),
        pipeline=lambda windows: windows.apply(
            lambda window, found: [(window.start, window.end, list(found))]
        ),
    ).results


HOPPING = [
    # interval and hop in seconds, events, windows
    (
        (3, 5),
        [0, 2_999, 3_000, 4_999, 5_000],
        [(0, 3_000, [0, 2_999]), (5_000, 8_000, [5_000])],
    ),
    (
        (20, 5),
        [21_000],
        [(start, start + 20_000, [21_000]) for start in (5_000, 10_000, 15_000, 20_000)],
    ),
]
"""Windows with gaps between them, and windows that overlap."""


@pytest.mark.parametrize(("lengths", "events", "expected"), HOPPING, ids=["gaps", "overlaps"])
def test_hopping_windows(lengths: tuple[int, int], events: list[int], expected: list[Any]) -> None:
    harness = StreamTestHarness(lambda stream: hopping(stream, *lengths))
    for event in events:
        harness.processElement(event)
    harness.endInput()
    assert [e.value for e in harness.getOutput() if isinstance(e, StreamRecord)] == expected
    assert harness.numLateRecordsDropped() == 0, "what is in a gap is not late"


def test_a_group_has_windows_of_its_own() -> None:
    harness = StreamTestHarness(
        lambda stream: (
            atlas.tumblingWindow(
                stream,
                interval=Interval(1, "second"),
                groupBy=lambda word: word[0],
                pipeline=lambda windows: windows.apply(
                    lambda key, window, words: [(key, list(words))]
                ),
            ).results
        )
    )
    for word in ("as", "be", "at"):
        harness.processElement(word, 0)
    harness.endInput()
    found = [e.value for e in harness.getOutput() if isinstance(e, StreamRecord)]
    assert found == [("a", ["as", "at"]), ("b", ["be"])]


def test_the_queue_must_have_been_asked_for() -> None:
    def build(stream: DataStream[int]) -> DataStream[Any]:
        stage = atlas.tumblingWindow(stream, interval=FIVE_MINUTES, pipeline=collected)
        return stage.deadLetterQueue

    with pytest.raises(IllegalStateError, match="Pass deadLetterQueue=True"):
        StreamTestHarness(build)


def test_lateness_means_nothing_by_the_clock() -> None:
    def build(stream: DataStream[int]) -> DataStream[Any]:
        return atlas.tumblingWindow(
            stream,
            interval=FIVE_MINUTES,
            pipeline=collected,
            boundary=Boundary.PROCESSING_TIME,
            allowedLateness=FIVE_MINUTES,
        ).results

    with pytest.raises(IllegalArgumentError, match="tumblingWindow: windows of processing time"):
        StreamTestHarness(build)


def test_an_interval_names_the_units_there_are() -> None:
    with pytest.raises(IllegalArgumentError, match="'week' is none of ms, second, minute"):
        Interval(1, "week")  # type: ignore[arg-type]


class TestSessions:
    def windows(self, events: list[int], **options: Any) -> list[Closed]:
        harness = StreamTestHarness(
            lambda stream: (
                atlas.sessionWindow(
                    timed(stream), gap={"size": 5, "unit": "minute"}, pipeline=collected, **options
                ).results
            )
        )
        for event in events:
            harness.processElement(at(event))
        harness.endInput()
        return [record.value for record in records(harness)]

    def test_an_event_just_the_gap_later_begins_another(self) -> None:
        assert self.windows([0, 4, 9, 13]) == [(0, 9, [0, 4]), (9, 18, [9, 13])]

    def test_an_event_between_two_sessions_makes_them_one(self) -> None:
        lateness = Interval(10, "minute")
        assert self.windows([0, 8, 4], allowedLateness=lateness) == [(0, 13, [0, 8, 4])]
        assert self.windows([0, 8, 5], allowedLateness=lateness) == [(0, 5, [0]), (5, 13, [8, 5])]

    def test_by_key(self) -> None:
        harness = StreamTestHarness(
            lambda stream: (
                atlas.sessionWindow(
                    atlas.source(stream, lambda event, _: event[1]),
                    gap=Interval(10, "ms"),
                    groupBy=lambda event: event[0],
                    pipeline=lambda windows: windows.sum(2),
                ).results
            )
        )
        for event in (("a", 1, 1), ("b", 5, 1), ("a", 10, 1), ("a", 20, 1)):
            harness.processElement(event)
        harness.endInput()
        sums = sorted((r.value[0], r.value[2]) for r in records(harness))
        assert sums == [("a", 1), ("a", 2), ("b", 1)]

    def test_by_the_clock(self) -> None:
        harness = StreamTestHarness(
            lambda stream: (
                atlas.sessionWindow(
                    stream,
                    gap=Interval(10, "ms"),
                    boundary=Boundary.PROCESSING_TIME,
                    pipeline=lambda windows: windows.reduce(lambda a, b: a + b),
                ).results
            )
        )
        for now in (0, 8, 18):
            harness.setProcessingTime(now)
            harness.processElement(1)
        harness.setProcessingTime(40)
        assert [record.value for record in records(harness)] == [2, 1]

    @pytest.mark.parametrize("option", ["offset", "idleTimeout"])
    def test_what_sessions_have_not_is_named(self, option: str) -> None:
        with pytest.raises(IllegalArgumentError, match=f"sessionWindow: sessions have no {option}"):
            self.windows([0], **{option: Interval(1, "ms")})


def test_a_source_without_a_time_field_has_the_timestamps_of_the_stream() -> None:
    harness = StreamTestHarness(
        lambda stream: (
            atlas.tumblingWindow(
                atlas.source(stream),
                interval={"size": 10, "unit": "ms"},
                pipeline=lambda windows: windows.apply(lambda window, events: [list(events)]),
            ).results
        )
    )
    for event, timestamp in (("a", 1), ("b", 9), ("c", 10)):
        harness.processElement(event, timestamp)
    harness.endInput()
    assert [record.value for record in records(harness)] == [["a", "b"], ["c"]]


@pytest.mark.parametrize("interval", [{"size": 5}, {"size": 5, "unit": "week"}, {"unit": "ms"}, 5])
def test_an_interval_that_is_none_is_refused(interval: Any) -> None:
    with pytest.raises(FlinkishError, match="Interval"):
        StreamTestHarness(
            lambda s: atlas.tumblingWindow(s, interval=interval, pipeline=collected).results
        )
