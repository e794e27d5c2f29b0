"""Joins of events whose lifetimes overlap, and events held until they are final."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.compat import streaminsight
from flinkish.compat.streaminsight import EdgeEvent, IntervalEvent, PointEvent
from flinkish.testing import StreamTestHarness
from tests.streams import values


def all_pairs(left, right):
    return streaminsight.temporalJoin(left, right, lambda a, b: True, lambda a, b: a + b)


def fed(left, right, build=all_pairs):
    harness = StreamTestHarness(build)
    feed(harness, left, right)
    return harness


def feed(harness, left, right):
    for event in left:
        harness.processElement1(event, event.syncTime)
    for event in right:
        harness.processElement2(event, event.syncTime)


def advance(harness, increment):
    for process in (harness.processWatermark1, harness.processWatermark2):
        process(increment - 1)


def interval(start, end, payload):
    return IntervalEvent(start, end, payload)


def test_a_pair_lives_while_both_do():
    harness = fed([interval(0, 6, "a"), interval(8, 9, "b")], [interval(4, 10, "x")])
    harness.endInput()
    assert [(r.value, r.timestamp) for r in harness.getOutput()[:-1]] == [
        (interval(4, 6, "ax"), 4),
        (interval(8, 9, "bx"), 8),
    ]


def test_lifetimes_that_only_touch_make_no_pair():
    harness = fed([interval(0, 4, "a")], [interval(4, 10, "x"), PointEvent(3, "y")])
    harness.endInput()
    assert values(harness) == [interval(3, 4, "ay")]


def test_only_pairs_that_fit():
    def same(left, right):
        return streaminsight.temporalJoin(
            left, right, lambda a, b: a[0] == b[0], lambda a, b: (*a, b[1])
        )

    harness = fed(
        [PointEvent(1, ("k", 1)), PointEvent(1, ("m", 2))], [PointEvent(1, ("k", 3))], same
    )
    harness.endInput()
    assert [event.payload for event in values(harness)] == [("k", 1, 3)]


def test_pairs_of_one_key():
    def keyed(left, right):
        return all_pairs(
            *(stream.keyBy(lambda event: event.payload[0]) for stream in (left, right))
        )

    harness = fed([PointEvent(1, "k1"), PointEvent(1, "m2")], [PointEvent(1, "k3")], keyed)
    harness.endInput()
    assert [event.payload for event in values(harness)] == ["k1k3"]


def test_results_come_up_to_the_older_increment():
    harness = fed([PointEvent(t, f"a{t}") for t in (2, 5)], [interval(0, 100, "x")])
    harness.processWatermark1(10)
    harness.processWatermark2(3)
    assert values(harness) == [interval(2, 3, "a2x")]
    assert harness.getOutput()[-1] == fl.Watermark(3)


def test_a_point_with_an_open_edge_is_final_at_once():
    harness = fed([PointEvent(5, "p")], [EdgeEvent.createStart(0, "x")])
    advance(harness, 6)
    assert values(harness) == [interval(5, 6, "px")]


def test_an_interval_with_an_open_edge_begins_and_ends():
    """Its end is known once time has reached it, or the edge has ended before."""
    for end in (8, 20):
        harness = fed([interval(2, 12, "a")], [EdgeEvent.createStart(0, "x")])
        advance(harness, 5)
        assert values(harness) == [EdgeEvent.createStart(2, "ax")]
        feed(harness, [], [EdgeEvent.createEnd(0, end, "x")])
        harness.endInput()
        assert values(harness)[1:] == [EdgeEvent.createEnd(2, min(end, 12), "ax")]


@pytest.mark.parametrize("end", [3, 5])
def test_an_edge_that_ends_before_the_pair_begins_makes_none(end):
    edges = [EdgeEvent.createStart(0, "x"), EdgeEvent.createEnd(0, end, "x")]
    harness = fed([interval(5, 9, "a")], edges)
    harness.endInput()
    assert values(harness) == []


def test_events_leave_when_they_have_ended():
    harness = fed([interval(0, 6, "a")], [interval(4, 10, "x")])
    advance(harness, 30)
    assert harness.numEventTimeTimers() == 0
    # what is left is the number of the next event
    assert harness.numKeyedStateEntries() == 1


def test_one_keyed_stream_is_refused():
    with pytest.raises(fl.InvalidProgramError, match="on both or on none"):
        StreamTestHarness(lambda a, b: all_pairs(a.keyBy(lambda e: e.payload), b))


def test_streams_that_are_none_are_named_before_conditions():
    def holds(left, right):
        return True

    with pytest.raises(fl.InvalidProgramError, match="two streams of events first"):
        StreamTestHarness(lambda a, b: streaminsight.temporalJoin(holds, a, b, holds))
    with pytest.raises(fl.InvalidProgramError, match="two streams of events first"):
        StreamTestHarness(lambda a, b: streaminsight.leftAntiSemiJoin(a, holds, b))


def test_the_join_goes_on_after_a_restart():
    harness = fed([interval(2, 12, "a")], [EdgeEvent.createStart(0, "x")])
    advance(harness, 5)
    restored = StreamTestHarness.restore(all_pairs, harness.snapshot())
    feed(restored, [PointEvent(6, "p")], [EdgeEvent.createEnd(0, 8, "x")])
    restored.endInput()
    assert values(restored) == [interval(6, 7, "px"), EdgeEvent.createEnd(2, 8, "ax")]


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9)), max_size=5),
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9)), max_size=5),
    st.sets(st.integers(0, 30)),
)
def test_edges_give_the_lifetimes_that_intervals_give(left, right, increments):
    """However its result is cut into edges; time advances between any two events."""

    def edges_of(bounds, name):
        for number, (start, length) in enumerate(bounds):
            payload = f"{name}{number}"
            yield EdgeEvent.createStart(start, payload)
            yield EdgeEvent.createEnd(start, start + length, payload)

    harness = StreamTestHarness(all_pairs)
    queued = [*((e, 0) for e in edges_of(left, "a")), *((e, 1) for e in edges_of(right, "x"))]
    queued.sort(key=lambda item: item[0].syncTime)
    for increment in [*sorted(increments), 50]:
        while queued and queued[0][0].syncTime < increment:
            event, side = queued.pop(0)
            (harness.processElement1, harness.processElement2)[side](event, event.syncTime)
        advance(harness, increment)
    last = fl.Watermark(-(2**63))
    for element in harness.getOutput():
        if isinstance(element, fl.Watermark):
            last = element
        else:
            assert element.timestamp == element.value.syncTime > last.timestamp
    found = [
        (event.startTime, event.endTime, event.payload)
        for event in values(harness)
        if event.endTime is not None
    ]
    expected = [
        (max(s1, s2), min(s1 + l1, s2 + l2), f"a{i}x{j}")
        for i, (s1, l1) in enumerate(left)
        for j, (s2, l2) in enumerate(right)
        if max(s1, s2) < min(s1 + l1, s2 + l2)
    ]
    assert sorted(found) == sorted(expected)


events = st.builds(
    lambda start, length, payload: interval(start, start + length, payload),
    st.integers(0, 30),
    st.integers(1, 12),
    st.sampled_from("abc"),
)


@given(st.lists(events, max_size=6), st.lists(events, max_size=6), st.sets(st.integers(0, 40)))
def test_pairs_are_the_overlaps_wherever_time_advances(left, right, increments):
    harness = StreamTestHarness(all_pairs)
    queued = sorted(
        [*((e, 0) for e in left), *((e, 1) for e in right)], key=lambda q: q[0].startTime
    )
    for increment in [*sorted(increments), 50]:
        while queued and queued[0][0].startTime < increment:
            event, side = queued.pop(0)
            (harness.processElement1, harness.processElement2)[side](event, event.syncTime)
        advance(harness, increment)
    expected = [
        interval(max(a.startTime, b.startTime), min(a.endTime, b.endTime), a.payload + b.payload)
        for a in left
        for b in right
        if a.startTime < b.endTime and b.startTime < a.endTime
    ]
    assert sorted(map(repr, values(harness))) == sorted(map(repr, expected))
    starts = [event.startTime for event in values(harness)]
    assert starts == sorted(starts)


def test_committed_events_come_in_order_when_they_are_final():
    harness = StreamTestHarness(streaminsight.committed)
    for start in (5, 3, 5, 9):
        harness.processElement(PointEvent(start, "p"), start)
    harness.processWatermark(4)
    assert [event.startTime for event in values(harness)] == [3]
    harness.processElement(PointEvent(4, "late"), 4)
    harness.processWatermark(5)
    harness.processWatermark(20)
    assert [event.startTime for event in values(harness)] == [3, 5, 5, 9]
    assert harness.numKeyedStateEntries() == 0
    assert harness.numLateRecordsDropped() == 1


def test_late_events_of_either_side_are_counted():
    harness = fed([interval(0, 6, "a")], [interval(4, 10, "x")])
    advance(harness, 20)
    feed(harness, [interval(3, 30, "late")], [interval(9, 30, "late"), interval(20, 30, "in time")])
    assert harness.numLateRecordsDropped() == 2
