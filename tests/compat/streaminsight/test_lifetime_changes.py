"""Lifetimes moved and resized, and time with them."""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish.compat import streaminsight
from flinkish.compat.streaminsight import EdgeEvent, IntervalEvent, PointEvent
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches
from tests.streams import values

START, END = EdgeEvent.createStart(5, "e"), EdgeEvent.createEnd(5, 9, "e")
EVENTS = [PointEvent(5, "p"), IntervalEvent(5, 8, "i"), START, END]


def changed(build):
    harness = StreamTestHarness(build)
    for event in EVENTS:
        harness.processElement(event, event.syncTime)  # type: ignore[attr-defined]
    harness.processWatermark(7)
    harness.endInput()
    *records, watermark, last = harness.getOutput()
    assert last == fl.Watermark.MAX_WATERMARK
    assert [r.timestamp for r in records] == [r.value.syncTime for r in records]
    return [r.value for r in records], watermark.timestamp


@pytest.mark.parametrize("shift", [10, -10])
def test_events_and_time_shift_together(shift):
    events, watermark = changed(lambda s: streaminsight.shiftEventTime(s, shift))
    assert watermark == 7 + shift
    assert events == [
        PointEvent(5 + shift, "p"),
        IntervalEvent(5 + shift, 8 + shift, "i"),
        EdgeEvent.createStart(5 + shift, "e"),
        EdgeEvent.createEnd(5 + shift, 9 + shift, "e"),
    ]


def test_a_new_lifetime_has_a_start_and_a_duration():
    events, watermark = changed(
        lambda s: streaminsight.alterEventLifetime(s, 2, lambda event: ord(event.payload))
    )
    assert watermark == 9
    assert events == [IntervalEvent(7, 7 + ord(payload), payload) for payload in "pie"]


def test_a_new_duration_leaves_time_as_it_is():
    events, watermark = changed(
        lambda s: streaminsight.alterEventDuration(s, lambda event: fl.Duration.ofMillis(3))
    )
    assert watermark == 7
    assert events == [IntervalEvent(5, 8, payload) for payload in "pie"]


def test_points_that_last_make_windows_of_the_last_while():
    """A count of the last 10 ms at each change of it, in batches as on the harness."""

    def build(stream):
        points = stream.map(lambda time: PointEvent(time, time))
        timed = streaminsight.advanceTime(
            points, streaminsight.AdvanceTimeSettings.strictlyIncreasingStartTime()
        )
        lasting = streaminsight.alterEventDuration(timed, lambda event: 10)
        return streaminsight.LifetimeWindowedStream(lasting, streaminsight.SnapshotWindows()).apply(
            lambda window, events: [len(list(events))]
        )

    times = [1, 4, 13, 30]
    harness = StreamTestHarness(build)
    for time in times:
        harness.processElement(time)
    harness.endInput()
    records = values(harness)
    (found,) = MicroBatches(build, 2).run([[[(time, None)]] for time in times])
    assert records == [r.value for r in found]
    for moment in range(50):
        now = [event.payload for event in records if event.startTime <= moment < event.endTime]
        assert now == [n for n in [sum(t <= moment < t + 10 for t in times)] if n]


def test_time_shifts_also_where_a_strategy_has_made_it():
    """On the way from a source no stage is in between."""

    def build(stream):
        strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
            lambda event, timestamp: event.startTime
        )
        shifted = streaminsight.shiftEventTime(stream.assignTimestampsAndWatermarks(strategy), 100)
        return shifted.windowAll(fl.TumblingEventTimeWindows.of(10)).apply(
            lambda window, events: [(window.start, len(list(events)))]
        )

    job = MicroBatches(build, 2)
    job.process([[(PointEvent(t, "p"), None) for t in (1, 5, 12)]])
    assert [r.value for r in job.results[0]] == [(100, 2)]
