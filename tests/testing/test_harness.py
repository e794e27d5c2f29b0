"""The inputs and outputs of the harness; operators have separate tests."""

from __future__ import annotations

from flinkish import StreamRecord, Watermark, WatermarkStatus
from flinkish.testing import StreamTestHarness


def union(first, second):
    return first.union(second)


def test_the_watermark_of_a_union_without_an_operator_is_the_lowest_of_its_inputs():
    harness = StreamTestHarness(union)
    harness.processWatermark1(10)
    assert harness.getOutput() == []
    harness.processWatermark2(5)
    assert harness.getOutput() == [Watermark(5)]
    harness.processWatermark2(20)
    assert harness.getOutput() == [Watermark(5), Watermark(10)]


def test_a_union_without_an_operator_is_idle_when_all_its_inputs_are():
    harness = StreamTestHarness(union)
    harness.processWatermarkStatus1(WatermarkStatus.IDLE)
    assert harness.getOutput() == []
    harness.processWatermark2(5)
    harness.processWatermarkStatus2(WatermarkStatus.IDLE)
    assert harness.getOutput() == [Watermark(5), WatermarkStatus.IDLE]


def test_branches_that_meet_in_the_output_give_a_watermark_once():
    harness = StreamTestHarness(
        lambda stream: stream.filter(lambda v: v > 1).union(stream.filter(lambda v: v <= 1))
    )
    for value in (1, 2):
        harness.processElement(value, value)
    harness.processWatermark(10)
    assert harness.getOutput() == [StreamRecord(1, 1), StreamRecord(2, 2), Watermark(10)]


def test_the_watermarks_of_a_union_without_an_operator_are_in_the_snapshot():
    harness = StreamTestHarness(union)
    harness.processWatermark1(10)
    restored = StreamTestHarness.restore(union, harness.snapshot())
    restored.processWatermark2(7)
    assert restored.getOutput() == [Watermark(7)]


def test_a_watermark_that_does_not_rise_changes_nothing():
    harness = StreamTestHarness(lambda stream: stream)
    for timestamp in (10, 5, 10, 11):
        harness.processWatermark(timestamp)
    assert harness.getOutput() == [Watermark(10), Watermark(11)]


def test_a_restored_harness_knows_the_watermark_and_status_of_its_input():
    harness = StreamTestHarness(lambda stream: stream)
    harness.processWatermark(10)
    harness.processWatermarkStatus(WatermarkStatus.IDLE)
    restored = StreamTestHarness.restore(lambda stream: stream, harness.snapshot())
    restored.processWatermark(10)
    restored.processWatermarkStatus(WatermarkStatus.IDLE)
    assert restored.getOutput() == []


def test_a_status_that_is_the_one_before_changes_nothing():
    harness = StreamTestHarness(lambda stream: stream)
    for status in (WatermarkStatus.ACTIVE, WatermarkStatus.IDLE, WatermarkStatus.IDLE):
        harness.processWatermarkStatus(status)
    assert harness.getOutput() == [WatermarkStatus.IDLE]
