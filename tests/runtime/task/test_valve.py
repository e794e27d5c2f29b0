"""The watermark of several channels, as Flink's valve joins it."""

from __future__ import annotations

from flinkish import WatermarkStatus
from flinkish.runtime.task.valve import StatusWatermarkValve
from tests.runtime.task.test_gates import Recorder


def valve_of(channels):
    recorder = Recorder()
    return StatusWatermarkValve(channels, recorder), recorder.seen


def test_the_lowest_counts():
    valve, seen = valve_of(2)
    valve.inputWatermark(0, 5)
    valve.inputWatermark(1, 3)
    valve.inputWatermark(1, 9)
    assert seen == ["W3", "W5"]


def test_an_idle_channel_does_not_count():
    valve, seen = valve_of(2)
    valve.inputWatermark(0, 5)
    valve.inputWatermarkStatus(1, WatermarkStatus.IDLE)
    assert seen == ["W5"]


def test_when_all_are_idle_the_highest_counts():
    valve, seen = valve_of(2)
    valve.inputWatermark(0, 5)
    valve.inputWatermark(1, 9)
    valve.inputWatermarkStatus(1, WatermarkStatus.IDLE)
    valve.inputWatermarkStatus(0, WatermarkStatus.IDLE)
    assert seen == ["W5", "W9", "idle"]
    valve.inputWatermarkStatus(0, WatermarkStatus.ACTIVE)
    assert seen == ["W5", "W9", "idle", "active"]


def test_a_channel_that_comes_back_counts_again_once_it_has_caught_up():
    valve, seen = valve_of(2)
    valve.inputWatermark(0, 10)
    valve.inputWatermarkStatus(0, WatermarkStatus.IDLE)
    valve.inputWatermark(1, 100)
    valve.inputWatermarkStatus(0, WatermarkStatus.ACTIVE)
    valve.inputWatermark(0, 50)
    valve.inputWatermark(1, 200)
    valve.inputWatermark(0, 250)
    valve.inputWatermark(1, 300)
    assert seen == ["W100", "W200", "W250"]


def test_a_valve_that_was_idle_is_so_after_a_restart():
    before, _ = valve_of(2)
    before.inputWatermark(0, 5)
    before.inputWatermarkStatus(0, WatermarkStatus.IDLE)
    before.inputWatermarkStatus(1, WatermarkStatus.IDLE)
    valve, seen = valve_of(2)
    valve.restore(*before.snapshot())
    assert seen == []
    valve.inputWatermark(0, 9)
    valve.inputWatermarkStatus(0, WatermarkStatus.ACTIVE)
    valve.inputWatermark(0, 4)
    valve.inputWatermark(0, 7)
    assert seen == ["active", "W7"]


def test_a_watermark_that_is_not_above_the_last_of_its_channel_is_not_heard():
    valve, seen = valve_of(3)
    valve.inputWatermark(0, 10)
    valve.inputWatermarkStatus(0, WatermarkStatus.IDLE)
    valve.inputWatermark(1, 300)
    valve.inputWatermark(2, 500)
    valve.inputWatermarkStatus(0, WatermarkStatus.ACTIVE)
    for channel in (2, 1, 0):  # the one that lags behind last, so the highest does not count
        valve.inputWatermarkStatus(channel, WatermarkStatus.IDLE)
    valve.inputWatermarkStatus(2, WatermarkStatus.ACTIVE)
    valve.inputWatermark(2, 500)
    assert seen == ["W300", "idle", "active"]
    valve.inputWatermark(2, 501)
    assert seen[3:] == ["W501"]
