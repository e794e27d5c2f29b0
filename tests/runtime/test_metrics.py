"""Every operator counts what comes in, each element once, and knows its watermark in every batch."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace

import pytest

import flinkish as fl
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.api.windowing.content_windows import ContentChangeWindows
from flinkish.compat import storm, streaminsight
from flinkish.runtime import reports
from tests.conformance.families.keyed_process import Timers
from tests.conformance.families.two_inputs import RULES, Meeting
from tests.runtime.micro_batches import MicroBatches

AT = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda e, t: e[2])
TEN = fl.TumblingEventTimeWindows.of(10)


def key(element):
    return element[0]


def nothing(value):
    return []


def windows(assigner, configure=lambda windowed: windowed):
    return lambda stream: configure(stream.keyBy(key).window(assigner)).apply(
        lambda key, window, elements: []
    )


def points(stream):
    return stream.map(lambda e: streaminsight.PointEvent(e[2], e[0]))


class Ignoring(fl.BroadcastProcessFunction):
    def processElement(self, value, ctx, out):
        pass

    def processBroadcastElement(self, value, ctx, out):
        pass


class IgnoringUnderKeys(fl.KeyedBroadcastProcessFunction):
    def processElement(self, value, ctx, out):
        pass

    def processBroadcastElement(self, value, ctx, out):
        pass


class Taking(fl.CoMapFunction):
    def map1(self, value):
        return value

    def map2(self, value):
        return value


class Dropping(fl.CoFlatMapFunction):
    def flatMap1(self, value, out):
        pass

    def flatMap2(self, value, out):
        pass


class Passing(fl.CoProcessFunction):
    def processElement1(self, value, ctx, out):
        pass

    def processElement2(self, value, ctx, out):
        pass


ONE_INPUT = {
    "map": lambda s: s.map(key),
    "filter": lambda s: s.filter(key),
    "flatMap": lambda s: s.flatMap(nothing),
    "process": lambda s: s.process(lambda value, ctx, out: None),
    "keyed map": lambda s: s.keyBy(key).map(key),
    "keyed filter": lambda s: s.keyBy(key).filter(key),
    "keyed flatMap": lambda s: s.keyBy(key).flatMap(nothing),
    "keyed process": lambda s: s.keyBy(key).process(Timers()),
    "reduce": lambda s: s.keyBy(key).reduce(lambda a, b: b),
    "watermarks": lambda s: s.assignTimestampsAndWatermarks(AT),
    "arrival time": lambda s: s.assignTimestampsAndWatermarks(
        fl.ArrivalTimeStrategy(timestampAssigner=lambda e, t: e[2])
    ),
    "aligned windows": windows(TEN),
    "general windows": windows(TEN, lambda w: w.trigger(fl.CountTrigger.of(2))),
    "evicting windows": windows(TEN, lambda w: w.evictor(fl.CountEvictor.of(2))),
    "sessions": windows(fl.EventTimeSessionWindows.withGap(3)),
    "content windows": windows(ContentChangeWindows(10)),
    "policy windows": lambda s: storm.PolicyWindowedStream.of(s, storm.Count(2)).process(nothing),
    "lifetime windows": lambda s: streaminsight.LifetimeWindowedStream(
        points(s), streaminsight.SnapshotWindows()
    ).apply(lambda window, events: []),
    "lifetimes": lambda s: streaminsight.alterEventDuration(points(s), lambda event: 5),
    "advance time": lambda s: streaminsight.advanceTime(
        points(s), streaminsight.AdvanceTimeSettings(streaminsight.AdvanceTimeGenerationSettings(1))
    ),
}
TWO_INPUTS = {
    "coMap": lambda a, b: a.connect(b).map(Taking()),
    "coFlatMap": lambda a, b: a.connect(b).flatMap(Dropping()),
    "coProcess": lambda a, b: a.connect(b).process(Passing()),
    "keyed coMap": lambda a, b: a.keyBy(key).connect(b.keyBy(key)).map(Taking()),
    "keyed coProcess": lambda a, b: a.keyBy(key).connect(b.keyBy(key)).process(Meeting()),
    "broadcast": lambda a, b: a.connect(b.broadcast(RULES)).process(Ignoring()),
    "keyed broadcast": lambda a, b: (
        a.keyBy(key).connect(b.broadcast(RULES)).process(IgnoringUnderKeys())
    ),
    "interval join": lambda a, b: (
        a.keyBy(key)
        .intervalJoin(b.keyBy(key))
        .between(0, 5)
        .process(lambda left, right, ctx, out: None)
    ),
}


def measured(build):
    """The operator's metrics after each of three batches, and after the end; it is behind one that
    lets the elements through."""

    def counted(stream):
        latest = stream.assignTimestampsAndWatermarks(AT).keyBy(key).reduce(lambda a, b: b)
        return build(latest).name("counted")

    job = MicroBatches(counted, 1)
    for times in ((0, 1, 2), (3, 4, 5), (2,)):
        job.process([[((f"k{time % 2}", time, time), None) for time in times]])
        yield job.metrics.metrics()["counted"]
    job.end()
    yield job.metrics.metrics()["counted"]


@pytest.mark.parametrize("build", ONE_INPUT.values(), ids=ONE_INPUT.keys())
def test_one_input(build):
    found = list(measured(build))
    assert [metrics.numRecordsIn for metrics in found] == [3, 6, 7, 7]
    assert [metrics.currentWatermark for metrics in found] == [1, 4, 4, MAX_TIMESTAMP]


@pytest.mark.parametrize("build", TWO_INPUTS.values(), ids=TWO_INPUTS.keys())
def test_two_inputs(build):
    found = list(measured(lambda s: build(s.filter(lambda e: True), s.filter(lambda e: e[1] < 5))))
    assert [metrics.numRecordsIn for metrics in found] == [6, 11, 13, 13]
    assert [metrics.currentWatermark for metrics in found] == [1, 4, 4, MAX_TIMESTAMP]


def test_the_numbers_of_a_process_are_read_once_a_second(monkeypatch):
    now, process, reads = 100.0, 7, []

    def status():
        reads.append(now)
        return "90 40 1"

    monkeypatch.setattr(reports, "_read", None)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(os, "getpid", lambda: process)
    monkeypatch.setattr(reports, "_STATUS", SimpleNamespace(read_text=status))
    first = reports.this_worker()
    now += 0.9
    assert reports.this_worker() is first
    now += 0.2
    assert reports.this_worker() is not first
    # A worker that was forked from one that has read its own
    process = 8
    assert (first.process, reports.this_worker().process) == (7, 8)
    assert reads == [100.0, now, now]
