"""Timestamps in seconds are named once, with both readings."""

from __future__ import annotations

import logging

import pytest

import flinkish as fl
from flinkish.runtime.operators import timestamps
from flinkish.testing import StreamTestHarness


@pytest.fixture(autouse=True)
def _told(monkeypatch):
    monkeypatch.setattr(timestamps, "_told", set())


class Marks(fl.WatermarkGenerator):
    def onEvent(self, event, eventTimestamp, output):
        output.emitWatermark(fl.Watermark(eventTimestamp))

    def onPeriodicEmit(self, output):
        pass


def said(caplog, times, strategy=None, with_assigner=True):
    strategy = strategy or fl.WatermarkStrategy.forMonotonousTimestamps()
    if with_assigner:
        strategy = strategy.withTimestampAssigner(lambda time, _: time)
    harness = StreamTestHarness(lambda s: s.assignTimestampsAndWatermarks(strategy))
    with caplog.at_level(logging.WARNING, "flinkish"):
        for time in times:
            harness.processElement(time, time)
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    "strategy",
    [
        fl.WatermarkStrategy.forMonotonousTimestamps(),
        fl.WatermarkStrategy.forGenerator(lambda context: Marks()),
    ],
    ids=["periodic", "punctuated"],
)
def test_seconds_are_named_once(caplog, strategy):
    (message,) = said(caplog, [1_700_000_000, 1_700_000_001], strategy)
    assert "the timestamp 1700000000 of the lambda in " in message
    assert "test_seconds.py, line " in message
    assert "is on 1970-01-20 in milliseconds, and on 2023-11-14 in seconds" in message


def test_those_that_elements_came_with(caplog):
    (message,) = said(caplog, [1_700_000_000], with_assigner=False)
    assert "1700000000 that the elements came with is on" in message


@pytest.mark.parametrize("time", [0, 1, 60_000, 86_400_000, 1_700_000_000_000, 2**62])
def test_milliseconds_are_not(caplog, time):
    assert said(caplog, [time]) == []
