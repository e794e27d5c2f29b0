"""Windows over events with a lifetime."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.compat import streaminsight
from flinkish.compat.streaminsight import EdgeEvent, IntervalEvent, PointEvent
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches

LATE = fl.OutputTag("late")
SNAPSHOTS = streaminsight.SnapshotWindows()


def payloads(window, events):
    return ["".join(event.payload for event in events)]


def build(windows, function=payloads):
    return lambda stream: (
        streaminsight.LifetimeWindowedStream(stream, windows)
        .sideOutputLateData(LATE)
        .apply(function)
    )


def fed(windows, *events, function=payloads):
    harness = StreamTestHarness(build(windows, function))
    for event in events:
        harness.processElement(event, event.syncTime)
    return harness


def results(harness):
    return [
        (r.value.startTime, r.value.endTime, r.value.payload)
        for r in harness.getOutput()
        if isinstance(r, fl.StreamRecord)
    ]


def increments(harness):
    return [w.timestamp + 1 for w in harness.getOutput() if isinstance(w, fl.Watermark)]


def interval(start, end, payload):
    return IntervalEvent(start, end, payload)


A, B, C = interval(1, 6, "a"), interval(4, 9, "b"), interval(12, 14, "c")


def test_an_event_is_in_every_window_that_it_overlaps():
    harness = fed(streaminsight.HoppingLifetimeWindows(10, 5), A, B, C)
    harness.endInput()
    assert results(harness) == [
        (-5, 5, "ab"),
        (0, 10, "ab"),
        (5, 15, "abc"),
        (10, 20, "c"),
    ]


def test_a_window_that_an_event_only_touches_does_not_have_it():
    harness = fed(streaminsight.TumblingLifetimeWindows(5), interval(5, 10, "a"))
    harness.endInput()
    assert results(harness) == [(5, 10, "a")]


def test_hopping_windows_hold_the_watermark_back_to_the_earliest_open_window():
    harness = fed(streaminsight.HoppingLifetimeWindows(10, 5), A, B)
    for increment in (3, 5, 7, 9, 10, 14):
        harness.processWatermark(increment - 1)
    # Open at 3: [-5, 5). At 5 that has closed, at 10 also [0, 10).
    assert increments(harness) == [-5, 0, 5]
    assert results(harness) == [(-5, 5, "ab"), (0, 10, "ab")]
    harness.endInput()
    assert harness.getOutput()[-1] == fl.Watermark.MAX_WATERMARK


def test_gaps_between_hopping_windows():
    harness = fed(streaminsight.HoppingLifetimeWindows(2, 10), interval(3, 9, "gap"))
    assert harness.numKeyedStateEntries() == 0
    harness.processElement(interval(9, 11, "in"), 9)
    harness.processWatermark(2)
    harness.endInput()
    assert increments(harness)[0] == 3
    assert results(harness) == [(10, 12, "in")]


def test_windows_from_an_offset():
    harness = fed(streaminsight.TumblingLifetimeWindows(10, offset=3), interval(1, 4, "a"))
    harness.endInput()
    assert results(harness) == [(-7, 3, "a"), (3, 13, "a")]


def test_results_come_when_the_increment_reaches_the_end():
    harness = fed(streaminsight.TumblingLifetimeWindows(5), A)
    harness.processWatermark(3)
    assert results(harness) == []
    harness.processWatermark(4)
    assert results(harness) == [(0, 5, "a")]


def test_snapshots_go_from_change_to_change():
    harness = fed(SNAPSHOTS, A, B, C)
    harness.endInput()
    assert results(harness) == [(1, 4, "a"), (4, 6, "ab"), (6, 9, "b"), (12, 14, "c")]


def test_snapshots_hold_the_watermark_back_to_the_open_one():
    harness = fed(SNAPSHOTS, A, B, C)
    for increment in (1, 3, 5, 8, 9, 11, 13):
        harness.processWatermark(increment - 1)
    # At 3 [1, ..) is open, at 5 [4, ..), at 8 [6, ..), at 9 and 11 none, at 13 [12, ..).
    assert increments(harness) == [1, 4, 6, 9, 11, 12]


def test_count_windows_count_starts():
    starts = [PointEvent(1, "a"), PointEvent(3, "b"), PointEvent(3, "c"), interval(7, 20, "d")]
    harness = fed(streaminsight.CountByStartTimeWindows(2), *starts)
    harness.processWatermark(3)
    assert results(harness) == [(3, 4, "abc")]
    harness.endInput()
    assert results(harness) == [(3, 4, "abc"), (7, 8, "bcd")]


def test_count_windows_do_not_ask_for_ends():
    harness = fed(streaminsight.CountByStartTimeWindows(1), EDGES[0])
    harness.processWatermark(2)
    harness.processElement(EDGES[2], 6)
    assert results(harness) == [(1, 2, "a")]
    assert harness.getSideOutput(LATE) == []


def test_events_are_cut_to_the_window():
    def bounds(window, events):
        return [[(event.startTime, event.endTime) for event in events]]

    harness = fed(streaminsight.TumblingLifetimeWindows(5), A, function=bounds)
    harness.endInput()
    assert [payload for _, _, payload in results(harness)] == [[(1, 5)], [(5, 6)]]


def test_windows_do_not_see_what_functions_do_to_payloads():
    def appended(window, events):
        (event,) = events
        event.payload.append(window.start)
        return [event.payload]

    windows = streaminsight.HoppingLifetimeWindows(10, 5)
    harness = fed(windows, PointEvent(1, []), function=appended)
    harness.endInput()
    assert [payload for _, _, payload in results(harness)] == [[-5], [0]]


EDGES = (
    EdgeEvent.createStart(1, "a"),
    EdgeEvent.createStart(4, "b"),
    EdgeEvent.createEnd(1, 6, "a"),
    EdgeEvent.createEnd(4, 9, "b"),
)


@pytest.mark.parametrize(
    "windows",
    [
        streaminsight.HoppingLifetimeWindows(10, 5),
        streaminsight.TumblingLifetimeWindows(4),
        SNAPSHOTS,
    ],
)
def test_edges_are_intervals(windows):
    edges, intervals = fed(windows, *EDGES), fed(windows, A, B)
    for harness in (edges, intervals):
        harness.endInput()
    assert results(edges) == results(intervals)


def test_an_open_edge_lives_on_in_window_after_window():
    harness = fed(streaminsight.TumblingLifetimeWindows(5), EDGES[0])
    harness.processWatermark(14)
    assert results(harness) == [(0, 5, "a"), (5, 10, "a"), (10, 15, "a")]
    harness.processElement(EdgeEvent.createEnd(1, 16, "a"), 16)
    harness.endInput()
    assert results(harness)[3:] == [(15, 20, "a")]


def test_at_the_end_what_is_still_open_ends_with_the_last_change():
    harness = fed(streaminsight.TumblingLifetimeWindows(5), EDGES[0], PointEvent(11, "p"))
    harness.endInput()
    assert results(harness) == [(0, 5, "a"), (5, 10, "a"), (10, 15, "ap")]


def test_late_events_and_ends_of_nothing_go_to_the_side_output():
    harness = fed(streaminsight.TumblingLifetimeWindows(5), A)
    harness.processWatermark(3)
    late, nothing = interval(3, 8, "late"), EdgeEvent.createEnd(2, 9, "nothing")
    for event in (late, nothing, interval(4, 5, "in time")):
        harness.processElement(event, event.syncTime)
    assert [r.value for r in harness.getSideOutput(LATE)] == [late, nothing]
    harness.endInput()
    assert results(harness) == [(0, 5, "ain time"), (5, 10, "a")]


@pytest.mark.parametrize("windows", [streaminsight.HoppingLifetimeWindows(10, 5), SNAPSHOTS])
def test_windows_leave_nothing_behind(windows):
    harness = fed(windows, A, B)
    assert harness.numKeyedStateEntries() == 1
    harness.processWatermark(30)
    assert (harness.numKeyedStateEntries(), harness.numEventTimeTimers()) == (0, 0)


def test_elements_without_a_lifetime_are_refused():
    with pytest.raises(fl.InvalidProgramError, match="PointEvent"):
        StreamTestHarness(build(SNAPSHOTS)).processElement("not an event", 1)


def test_windows_of_flink_are_refused():
    with pytest.raises(fl.InvalidProgramError, match="SnapshotWindows"):
        StreamTestHarness(build(fl.TumblingEventTimeWindows.of(10)))


# Rules: what a window has is what lives in it.

events = st.builds(
    lambda start, length, payload: interval(start, start + length, payload),
    st.integers(-20, 40),
    st.integers(1, 15),
    st.sampled_from("abcdef"),
)
lists = st.lists(events, max_size=8)


def living(stream, start, end):
    return "".join(e.payload for e in stream if e.startTime < end and e.endTime > start)


@given(lists, st.integers(1, 12), st.integers(1, 12))
def test_hopping_windows_have_what_lives_in_them(stream, size, hop):
    harness = fed(streaminsight.HoppingLifetimeWindows(size, hop), *stream)
    harness.endInput()
    windows = [(start, start + size) for start in range(-60 * hop, 60 * hop, hop)]
    found = [(*window, living(stream, *window)) for window in windows]
    assert results(harness) == [window for window in found if window[2]]


@given(lists)
def test_snapshots_tell_each_moment_what_lives(stream):
    harness = fed(SNAPSHOTS, *stream)
    harness.endInput()
    snapshots = results(harness)
    for moment in range(-20, 60):
        now = [payload for start, end, payload in snapshots if start <= moment < end]
        assert now == [p for p in [living(stream, moment, moment + 1)] if p]


@given(lists, st.integers(1, 4))
def test_count_windows_have_what_starts_in_them(stream, count):
    harness = fed(streaminsight.CountByStartTimeWindows(count), *stream)
    harness.endInput()
    starts = sorted({event.startTime for event in stream})
    expected = []
    for first, last in zip(starts, starts[count - 1 :]):
        members = "".join(e.payload for e in stream if first <= e.startTime <= last)
        expected.append((last, last + 1, members))
    assert results(harness) == expected


KINDS = [
    streaminsight.HoppingLifetimeWindows(7, 3),
    streaminsight.TumblingLifetimeWindows(5),
    SNAPSHOTS,
    streaminsight.CountByStartTimeWindows(2),
]


@pytest.mark.parametrize("windows", KINDS)
@given(lists, st.sets(st.integers(1, 7)))
def test_increments_and_cuts_change_nothing(windows, stream, cuts):
    """Also no result comes out below the watermark that went out before."""
    stream = sorted(stream, key=lambda event: event.startTime)
    advance = streaminsight.AdvanceTimeSettings(streaminsight.AdvanceTimeGenerationSettings(1))

    def keyed(source):
        timed = streaminsight.advanceTime(source, advance).keyBy(
            lambda event: event.payload in "abc"
        )
        return streaminsight.LifetimeWindowedStream(timed, windows).apply(
            lambda key, window, events: [(key, payloads(window, events))]
        )

    harness = StreamTestHarness(keyed)
    for event in stream:
        harness.processElement(event)
    harness.endInput()
    watermark = fl.Watermark(-(2**63))
    for element in harness.getOutput():
        if isinstance(element, fl.Watermark):
            watermark = element
        else:
            assert element.timestamp > watermark.timestamp

    bounds = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    batches = [[[(e, None) for e in stream[a:b]]] for a, b in itertools.pairwise(bounds)]
    (found,) = MicroBatches(keyed, 3).run(batches)

    def by_key(values):
        return sorted(values, key=lambda value: value.payload[0])

    expected = [r.value for r in harness.getOutput() if isinstance(r, fl.StreamRecord)]
    assert by_key(r.value for r in found) == by_key(expected)
