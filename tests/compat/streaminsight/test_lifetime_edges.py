"""Windows over lifetimes that edges tell of: where they touch, and whenever time goes on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.compat import streaminsight
from flinkish.compat.streaminsight import EdgeEvent, IntervalEvent, PointEvent
from flinkish.compat.streaminsight.events import EdgeType
from flinkish.testing import StreamTestHarness

SNAPSHOTS = streaminsight.SnapshotWindows()


def payloads(window, events):
    return ["".join(sorted(event.payload for event in events))]


def build(windows):
    return lambda stream: streaminsight.LifetimeWindowedStream(stream, windows).apply(payloads)


def results(harness):
    return [
        (r.value.startTime, r.value.endTime, r.value.payload)
        for r in harness.getOutput()
        if isinstance(r, fl.StreamRecord)
    ]


def run(windows, steps, restarts=False):
    """``steps`` are events and increments."""
    harness, found, late = StreamTestHarness(build(windows)), [], 0
    for step in steps:
        if isinstance(step, int):
            harness.processWatermark(step - 1)
        else:
            harness.processElement(step, step.syncTime)
        if restarts:
            found += results(harness)
            late += harness.numLateRecordsDropped()
            harness = StreamTestHarness.restore(build(windows), harness.snapshot())
    harness.endInput()
    assert late + harness.numLateRecordsDropped() == 0
    return found + results(harness)


def test_a_start_where_a_snapshot_has_just_closed():
    steps = [
        EdgeEvent.createStart(0, "a"),
        EdgeEvent.createStart(8, "b"),
        8,
        EdgeEvent.createEnd(0, 8, "a"),
        EdgeEvent.createStart(8, "c"),
        EdgeEvent.createEnd(8, 12, "b"),
        EdgeEvent.createEnd(8, 12, "c"),
        20,
    ]
    assert run(SNAPSHOTS, steps) == [(0, 8, "a"), (8, 12, "bc")]


def test_a_start_where_a_snapshot_has_just_closed_holds_the_increments_back():
    harness = StreamTestHarness(build(SNAPSHOTS))
    harness.processElement(IntervalEvent(0, 8, "a"), 0)
    harness.processWatermark(8 - 1)
    harness.processElement(EdgeEvent.createStart(8, "b"), 8)
    harness.processWatermark(10 - 1)
    harness.processElement(EdgeEvent.createEnd(8, 12, "b"), 12)
    harness.processWatermark(15 - 1)
    increments = [w.timestamp + 1 for w in harness.getOutput() if isinstance(w, fl.Watermark)]
    assert increments == [8, 15]
    assert results(harness) == [(0, 8, "a"), (8, 12, "b")]


BACK = [EdgeEvent.createStart(25, "m"), EdgeEvent.createEnd(25, 25, "m")]


@pytest.mark.parametrize(
    "windows",
    [
        streaminsight.HoppingLifetimeWindows(10, 5),
        streaminsight.TumblingLifetimeWindows(10),
        SNAPSHOTS,
    ],
)
def test_an_event_that_ends_at_its_start_is_in_no_window(windows):
    assert run(windows, BACK) == run(windows, [*BACK, 40]) == []
    harness = StreamTestHarness(build(windows))
    for step in (*BACK, PointEvent(25, "p")):
        harness.processElement(step, step.syncTime)  # type: ignore[attr-defined]
    harness.processWatermark(60)
    assert (harness.numKeyedStateEntries(), harness.numEventTimeTimers()) == (0, 0)
    assert {payload for _, _, payload in results(harness)} == {"p"}


def test_an_event_that_ends_at_its_start_is_not_counted():
    points = [PointEvent(24, "a"), PointEvent(26, "b")]
    counted = run(streaminsight.CountByStartTimeWindows(2), [points[0], *BACK, points[1]])
    assert counted == run(streaminsight.CountByStartTimeWindows(2), points) == [(26, 27, "ab")]


def test_an_event_that_ends_at_its_start_cuts_snapshots():
    """The one before may be out by then."""
    life = IntervalEvent(20, 30, "a")
    snapshots = [(20, 25, "a"), (25, 30, "a")]
    assert run(SNAPSHOTS, [life, *BACK]) == snapshots
    assert run(SNAPSHOTS, [life, BACK[0], 25, BACK[1]]) == snapshots


def test_an_event_that_adjust_moves_to_its_end_is_in_no_window():
    adjust = streaminsight.AdvanceTimeSettings(
        streaminsight.AdvanceTimeGenerationSettings(1), None, streaminsight.AdvanceTimePolicy.Adjust
    )
    harness = StreamTestHarness(
        lambda s: build(streaminsight.TumblingLifetimeWindows(10))(
            streaminsight.advanceTime(s, adjust)
        )
    )
    for event in (
        EdgeEvent.createStart(25, "x"),
        EdgeEvent.createStart(10, "m"),
        EdgeEvent.createEnd(10, 25, "m"),
        EdgeEvent.createStart(40, "y"),
    ):
        harness.processElement(event)
    assert results(harness) == [(20, 30, "x"), (30, 40, "x")]


def test_an_end_of_nothing_that_has_not_lasted_is_late():
    harness = StreamTestHarness(build(streaminsight.CountByStartTimeWindows(1)))
    harness.processElement(BACK[1], 25)
    assert harness.numLateRecordsDropped() == 1


def test_an_end_before_the_start_is_refused():
    with pytest.raises(fl.IllegalArgumentError, match="EdgeEvent: it would end at 3, but start"):
        EdgeEvent.createEnd(10, 3, "m")


# Rule: when time goes on, and over which snapshots of the state, changes nothing.


def shaped(shape, start, length, payload):
    """An event, as the one or two that tell of it."""
    if shape == "point":
        return [PointEvent(start, payload)]
    if shape == "interval":
        return [IntervalEvent(start, start + length + 1, payload)]
    return [
        EdgeEvent.createStart(start, payload),
        EdgeEvent.createEnd(start, start + length, payload),
    ]


SHAPED = st.builds(
    shaped,
    st.sampled_from(["point", "interval", "edge", "edge"]),
    st.integers(0, 12),
    st.integers(0, 5),
    st.sampled_from("abcd"),
)


@st.composite
def streams(draw):
    """Events in an order without violations, with increments between them."""
    events = [event for shape in draw(st.lists(SHAPED, max_size=6)) for event in shape]
    # Of one time starts come first, as an end needs its start
    order = draw(st.permutations(events))
    order.sort(key=lambda event: (event.syncTime, getattr(event, "edgeType", None) is EdgeType.End))
    steps = []
    for event, following in zip(order, [*order[1:], None]):
        steps.append(event)
        if draw(st.booleans()):
            increment = event.syncTime + draw(st.integers(0, 4))
            steps.append(increment if following is None else min(increment, following.syncTime))
    return steps


GRIDS = [
    streaminsight.HoppingLifetimeWindows(7, 3),
    streaminsight.HoppingLifetimeWindows(2, 5),
    streaminsight.TumblingLifetimeWindows(4),
]
COUNTS = streaminsight.CountByStartTimeWindows(2)


@pytest.mark.parametrize("windows", [*GRIDS, SNAPSHOTS, COUNTS])
@given(streams(), st.booleans())
def test_increments_and_restarts_change_nothing(windows, steps, restarts):
    events = [step for step in steps if not isinstance(step, int)]
    assert run(windows, steps, restarts) == run(windows, events)


@pytest.mark.parametrize("windows", [*GRIDS, COUNTS])
@given(streams())
def test_events_that_have_not_lasted_are_as_if_they_were_not(windows, steps):
    events = [step for step in steps if not isinstance(step, int)]
    lasting = list(events)
    for event in events:
        if event.startTime == event.endTime:
            lasting.remove(event)
            lasting.remove(EdgeEvent.createStart(event.startTime, event.payload))
    assert run(windows, events) == run(windows, lasting)
