"""Windows and other lengths of time under a second, given as an int, are named once with both readings."""

from __future__ import annotations

import logging
import sys
from datetime import timedelta

import pytest

import flinkish as fl
from flinkish.api import short_lengths
from flinkish.pyflink.common import Time as PyFlinkTime
from flinkish.pyflink.datastream import window as pyflink


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch):
    monkeypatch.setattr(short_lengths, "_told", set())


STRATEGY: fl.WatermarkStrategy = fl.WatermarkStrategy.forMonotonousTimestamps()
MINUTES = fl.TumblingEventTimeWindows.of(fl.Duration.ofMinutes(1))


def numbers():
    return fl.StreamExecutionEnvironment.getExecutionEnvironment().fromData(1)


def windows(window=None):
    stream = numbers()
    return window(stream, MINUTES) if window else stream.keyBy(lambda n: n).window(MINUTES)


def joined():
    stream = numbers()
    sides = stream.join(stream).where(lambda n: n).equalTo(lambda n: n)
    return sides.window(MINUTES)


SHORT = {
    "TumblingEventTimeWindows: size": lambda: fl.TumblingEventTimeWindows.of(60),
    "TumblingProcessingTimeWindows: size": lambda: fl.TumblingProcessingTimeWindows.of(60),
    "SlidingEventTimeWindows: size": lambda: fl.SlidingEventTimeWindows.of(60, 10),
    "SlidingProcessingTimeWindows: slide": lambda: fl.SlidingProcessingTimeWindows.of(3_600, 60),
    "EventTimeSessionWindows: gap": lambda: fl.EventTimeSessionWindows.withGap(60),
    "ProcessingTimeSessionWindows: gap": lambda: fl.ProcessingTimeSessionWindows.withGap(60),
    "forBoundedOutOfOrderness: maxOutOfOrderness": (
        lambda: fl.WatermarkStrategy.forBoundedOutOfOrderness(60)
    ),
    "withIdleness: idleTimeout": lambda: STRATEGY.withIdleness(60),
    "allowedLateness": lambda: windows().allowedLateness(60),
    "allowedLateness of all": lambda: windows(fl.DataStream.windowAll).allowedLateness(60),
    "allowedLateness of a join": lambda: joined().allowedLateness(60),
    "TumblingEventTimeWindows: size itself": lambda: fl.TumblingEventTimeWindows(60),
}


@pytest.mark.parametrize("subject", SHORT)
def test_the_line_and_both_readings_once(caplog, subject):
    make = SHORT[subject]
    for _ in range(3):
        make()
    (record,) = caplog.records
    said = record.getMessage()
    assert said.startswith(f"{subject.partition(' of ')[0].removesuffix(' itself')} is 60 ms")
    assert f'File "{__file__}", line {make.__code__.co_firstlineno}' in said
    assert (
        "If you mean 60 s, write Duration.ofSeconds(60); if 60 ms, Duration.ofMillis(60)." in said
    )


def test_each_line_is_named(caplog):
    fl.TumblingEventTimeWindows.of(999)
    fl.TumblingEventTimeWindows.of(1)
    lines = [record.getMessage().partition(", line ")[2] for record in caplog.records]
    assert len(set(lines)) == 2
    assert sys._getframe().f_lineno - 4 == int(lines[0].partition(")")[0])


@pytest.mark.parametrize(
    "make",
    [
        lambda: fl.TumblingEventTimeWindows.of(1_000),
        lambda: fl.TumblingEventTimeWindows.of(1_000, 200),
        lambda: fl.TumblingEventTimeWindows.of(fl.Duration.ofMillis(60)),
        lambda: fl.TumblingEventTimeWindows.of(fl.Time.milliseconds(60)),
        lambda: fl.SlidingEventTimeWindows.of(timedelta(milliseconds=60), fl.Time.milliseconds(10)),
        lambda: fl.EventTimeSessionWindows.withGap(timedelta(milliseconds=60)),
        lambda: fl.WatermarkStrategy.forBoundedOutOfOrderness(0),
        lambda: fl.WatermarkStrategy.forBoundedOutOfOrderness(fl.Duration.ofMillis(5)),
        lambda: STRATEGY.withIdleness(timedelta(milliseconds=60)),
        lambda: STRATEGY.withIdleness(1_000),
        lambda: windows().allowedLateness(fl.Duration.ofMillis(60)),
        lambda: pyflink.TumblingEventTimeWindows.of(PyFlinkTime.milliseconds(60)),
        lambda: pyflink.TumblingEventTimeWindows(60, 0),
        lambda: pyflink.EventTimeSessionWindows.with_gap(PyFlinkTime.milliseconds(60)),
    ],
)
def test_durations_a_second_and_pyflink_are_quiet(caplog, make):
    caplog.set_level(logging.DEBUG)
    make()
    assert caplog.records == []


def test_a_refused_length_is_refused(caplog):
    for given in (0, -5, True, 2.5):
        with pytest.raises(fl.IllegalArgumentError, match="size"):
            fl.TumblingEventTimeWindows.of(given)
    assert caplog.records == []


def test_a_program_in_a_directory_with_our_name_is_not_ours(caplog):
    path = f"{short_lengths._PACKAGE.rstrip('/')}_jobs/job.py"
    exec(compile("fl.TumblingEventTimeWindows.of(60)", path, "exec"), {"fl": fl})
    (record,) = caplog.records
    assert f'File "{path}", line 1' in record.getMessage()
