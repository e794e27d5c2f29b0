"""Lifetimes that events of another stream cut, checked against the definition; and points and ranks of windows."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish import FlinkishError
from flinkish.compat.streaminsight import (
    ENDLESS,
    TICK,
    AdvanceTimeGenerationSettings,
    EdgeEvent,
    IntervalEvent,
    PointEvent,
    TimeSpan,
    alterEventDuration,
    clipEventDuration,
    countByStartTimeWindow,
    hoppingWindow,
    leftAntiSemiJoin,
    snapshotWindow,
    timeOfTicks,
    toPointEventStream,
    tumblingWindow,
)
from flinkish.testing import StreamTestHarness
from tests.streams import values


def same(left, right):
    return left == right


def anti(left, right):
    return leftAntiSemiJoin(left, right, same)


def clip(left, right):
    return clipEventDuration(left, right, same)


intervals = st.lists(
    st.builds(
        lambda start, length, payload: IntervalEvent(start, start + length, payload),
        st.integers(0, 12),
        st.integers(1, 8),
        st.sampled_from("ab"),
    ),
    max_size=5,
)
as_edges = st.booleans()


def moments_left(left, rights):
    alive = range(left.startTime, left.endTime)
    taken = [r for r in rights if r.payload == left.payload]
    return {t for t in alive if not any(r.startTime <= t < r.endTime for r in taken)}


def moments_clipped(left, rights):
    clips = [r.startTime for r in rights if r.payload == left.payload]
    until = min([left.endTime, *(c for c in clips if c > left.startTime)])
    return set(range(left.startTime, until))


def moments(events):
    """Return the moments at which the output lives, by payload, as a sorted list; edges must pair
    up."""
    found, begun = [], []
    for event in events:
        if isinstance(event, EdgeEvent) and event.endTime is None:
            begun.append((event.startTime, event.payload))
            continue
        if isinstance(event, EdgeEvent):
            begun.remove((event.startTime, event.payload))
        found += [(event.payload, t) for t in range(event.startTime, event.endTime)]
    assert begun == []
    return sorted(found)


@given(lefts=intervals, rights=intervals, cuts=st.sets(st.integers(0, 25)), edges=as_edges)
@pytest.mark.parametrize(("operator", "expected"), [(anti, moments_left), (clip, moments_clipped)])
def test_pieces_are_what_the_definition_says(operator, expected, lefts, rights, cuts, edges):
    """Whatever the shapes and wherever increments come between the events."""
    harness = StreamTestHarness(operator)
    steps: list[tuple[int, int, Any, Any]] = [(t, 2, harness.processWatermark1, t) for t in cuts]
    steps += [(t, 3, harness.processWatermark2, t) for t in cuts]
    for events, process in ((lefts, harness.processElement1), (rights, harness.processElement2)):
        for event in events:
            if edges:
                start = EdgeEvent.createStart(event.startTime, event.payload)
                end = EdgeEvent.createEnd(event.startTime, event.endTime, event.payload)
                steps += [(event.startTime, 1, process, start), (event.endTime, 0, process, end)]
            else:
                steps.append((event.startTime, 1, process, event))
    for time, _, process, given_ in sorted(steps, key=lambda step: step[:2]):
        process(*((given_,) if isinstance(given_, int) else (given_, time)))
    harness.endInput()
    wanted = sorted((left.payload, t) for left in lefts for t in expected(left, rights))
    assert moments(values(harness)) == wanted


def test_points_that_nothing_matches_stay_points():
    harness = StreamTestHarness(anti)
    harness.processElement1(PointEvent(5, "a"), 5)
    harness.processElement1(PointEvent(6, "a"), 6)
    harness.processElement2(IntervalEvent(6, 9, "a"), 6)
    harness.processWatermark1(6)
    harness.processWatermark2(6)
    assert values(harness) == [PointEvent(5, "a")]
    assert harness.getOutput()[0].timestamp == 5


def test_points_become_a_signal_until_the_next():
    """The idiom of StreamInsight: an endless duration, clipped by the stream itself."""

    def signal(points):
        endless = alterEventDuration(points, lambda event: TimeSpan.MaxValue)
        return clipEventDuration(endless, points, lambda one, other: one[0] == other[0])

    harness = StreamTestHarness(signal)
    for time, payload in ((1, ("a", 10)), (3, ("b", 20)), (7, ("a", 30))):
        harness.processElement(PointEvent(time, payload), time)
    harness.processWatermark(8)
    assert values(harness) == [
        IntervalEvent(1, 7, ("a", 10)),
        EdgeEvent.createStart(3, ("b", 20)),
        EdgeEvent.createStart(7, ("a", 30)),
    ]
    harness = StreamTestHarness.restore(signal, harness.snapshot())
    harness.processElement(PointEvent(9, ("b", 21)), 9)
    harness.processWatermark(9)
    assert values(harness) == [
        EdgeEvent.createEnd(3, 9, ("b", 20)),
        EdgeEvent.createStart(9, ("b", 21)),
    ]
    assert TimeSpan.MaxValue == ENDLESS


def test_events_become_points():
    harness = StreamTestHarness(toPointEventStream)
    harness.processElement(EdgeEvent.createStart(1, "a"), 1)
    harness.processElement(EdgeEvent.createEnd(1, 4, "a"), 4)
    harness.processElement(IntervalEvent(5, 9, "b"), 5)
    assert values(harness) == [PointEvent(1, "a"), PointEvent(5, "b")]


def ranked(windows):
    return windows.take(2, lambda payload: payload[1], True, lambda p, rank: (p[0], rank))


def test_the_first_of_a_window_with_ties_and_ranks():
    harness = StreamTestHarness(lambda events: ranked(tumblingWindow(events, 10)))
    for time, name, value in ((1, "a", 5), (2, "b", 7), (3, "c", 5), (4, "d", 1), (11, "e", 2)):
        harness.processElement(PointEvent(time, (name, value)), time)
    harness.endInput()
    assert values(harness) == [
        *(IntervalEvent(0, 10, each) for each in [("b", 1), ("a", 2), ("c", 2)]),
        IntervalEvent(10, 20, ("e", 1)),
    ]


def test_the_first_of_each_key_without_ranks():
    harness = StreamTestHarness(
        lambda events: snapshotWindow(events.keyBy(lambda e: e.payload[0])).take(
            1, lambda payload: payload[1]
        )
    )
    for payload in (("a", 2), ("b", 9), ("a", 1)):
        harness.processElement(IntervalEvent(0, 5, payload), 0)
    harness.endInput()
    assert sorted(event.payload for event in values(harness)) == [("a", 1), ("b", 9)]


def test_windows_of_so_many_starts_have_no_first():
    with pytest.raises(FlinkishError, match="snapshotWindow"):
        StreamTestHarness(lambda events: ranked(countByStartTimeWindow(events, 2)))


@pytest.mark.parametrize("alignment", [3, datetime.datetime.fromtimestamp(0.013, datetime.UTC)])
def test_windows_are_aligned(alignment):
    def build(events):
        count = lambda window, events: [len(list(events))]  # noqa: E731
        return [
            hoppingWindow(events, 10, 5, alignment).apply(count),
            tumblingWindow(events, 10, alignment).apply(count),
        ]

    harness = StreamTestHarness(build)
    harness.processElement(PointEvent(4, "a"), 4)
    harness.endInput()
    assert values(harness, 0) == [IntervalEvent(-2, 8, 1), IntervalEvent(3, 13, 1)]
    assert values(harness, 1) == [IntervalEvent(3, 13, 1)]


def test_an_alignment_wants_a_time_zone():
    naive = datetime.datetime(2020, 1, 1)
    with pytest.raises(FlinkishError, match="no time zone"):
        StreamTestHarness(lambda events: tumblingWindow(events, 10, naive).apply(lambda w, e: []))


def test_ticks_of_100_ns():
    assert TimeSpan.fromTicks(-1).toMillis() == -TICK
    assert TimeSpan.fromTicks(10_001).toMillis() == 2
    assert TimeSpan.fromTicks(0).toMillis() == 0
    assert AdvanceTimeGenerationSettings(1, TimeSpan.fromTicks(-1)).delay == -TICK
    when = datetime.datetime(2012, 5, 1, 12, tzinfo=datetime.UTC)
    ticks = 634_714_704_000_000_000  # new DateTime(2012, 5, 1, 12, 0, 0).Ticks
    assert timeOfTicks(ticks) == when.timestamp() * 1000
