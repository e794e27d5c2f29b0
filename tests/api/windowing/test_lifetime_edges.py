"""Windows over lifetimes that edges tell of: where they touch, and whenever time goes on."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flinkish as fl
from flinkish import EdgeEvent, IntervalEvent, PointEvent
from flinkish.api.temporal_events import EdgeType
from flinkish.testing import StreamTestHarness

SNAPSHOTS = fl.SnapshotWindows()


def payloads(window, events):
    return ["".join(sorted(event.payload for event in events))]


def build(windows):
    return lambda stream: fl.LifetimeWindowedStream(stream, windows).apply(payloads)


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


# Rule: when time goes on, and over which snapshots of the state, changes nothing.


def shaped(shape, start, length, payload):
    """An event, as the one or two that tell of it."""
    if shape == "point":
        return [PointEvent(start, payload)]
    if shape == "interval":
        return [IntervalEvent(start, start + length, payload)]
    return [
        EdgeEvent.createStart(start, payload),
        EdgeEvent.createEnd(start, start + length, payload),
    ]


SHAPED = st.builds(
    shaped,
    st.sampled_from(["point", "interval", "edge", "edge"]),
    st.integers(0, 12),
    st.integers(1, 6),
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


@pytest.mark.parametrize(
    "windows",
    [
        fl.HoppingLifetimeWindows(7, 3),
        fl.HoppingLifetimeWindows(2, 5),
        fl.TumblingLifetimeWindows(4),
        SNAPSHOTS,
        fl.CountByStartTimeWindows(2),
    ],
)
@settings(max_examples=40, deadline=None)
@given(streams(), st.booleans())
def test_increments_and_restarts_change_nothing(windows, steps, restarts):
    events = [step for step in steps if not isinstance(step, int)]
    assert run(windows, steps, restarts) == run(windows, events)
