"""The error for an object that cannot be pickled names the operator, the object's role there, and the line it is
written in."""

from __future__ import annotations

import threading

import pytest

import flinkish as fl

LOCK = threading.Lock()


class Locked:
    def __init__(self):
        self.lock = LOCK


def held(value):
    def function(*arguments):
        return value or LOCK

    return function


LOCKED = held(None)
WINDOW = fl.TumblingEventTimeWindows.of(10)


class Total(Locked, fl.AggregateFunction):
    def createAccumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator

    def getResult(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a


class Locks(Locked, fl.Trigger):
    def onElement(self, element, timestamp, window, ctx):
        return fl.TriggerResult.CONTINUE

    def onEventTime(self, time, window, ctx):
        return fl.TriggerResult.CONTINUE

    def onProcessingTime(self, time, window, ctx):
        return fl.TriggerResult.CONTINUE

    def clear(self, window, ctx):
        pass


class Evicts(Locked, fl.Evictor):
    def evictBefore(self, elements, size, window, ctx):
        pass

    def evictAfter(self, elements, size, window, ctx):
        pass


class Assigns(Locked, fl.WindowAssigner):
    def assignWindows(self, element, timestamp, context):
        return []

    def getDefaultTrigger(self):
        return fl.EventTimeTrigger.create()

    def isEventTime(self):
        return True


class Rules(Locked, fl.BroadcastProcessFunction):
    def processElement(self, value, ctx, out):
        pass

    def processBroadcastElement(self, value, ctx, out):
        pass


class Buckets(Locked, fl.BucketAssigner):
    def getBucketId(self, element, context):
        return "one"


def own(value):
    return value


def closed(value):
    return LOCKED


def closed_pair(one, two):
    return LOCKED


def keyed(stream):
    return stream.keyBy(own)


FILE = r"test_unpicklable\.py, line \d+"
CASES = {
    "map": (lambda s: s.map(closed), rf"Map: its function closed in .*{FILE}"),
    "named": (lambda s: s.map(closed).name("mine"), "mine: its function closed"),
    "key": (
        lambda s: s.keyBy(closed).reduce(max),
        rf"keyBy behind .*key selector closed in .*{FILE}",
    ),
    "second key": (
        lambda s: keyed(s.keyBy(own).reduce(max).keyBy(closed).reduce(max)).reduce(min),
        "keyBy behind Keyed Reduce: its key selector closed",
    ),
    "reduce": (lambda s: keyed(s).reduce(closed_pair), "Keyed Reduce: its function closed_pair"),
    "window reduce": (
        lambda s: keyed(s).window(WINDOW).reduce(closed_pair),
        "TumblingEventTimeWindows: its function closed_pair",
    ),
    "aggregate": (lambda s: keyed(s).window(WINDOW).aggregate(Total()), "its function Total "),
    "window process": (
        lambda s: keyed(s).window(WINDOW).process(lambda k, c, e: LOCKED),
        "TumblingEventTimeWindows: its function the lambda in",
    ),
    "trigger": (
        lambda s: keyed(s).window(WINDOW).trigger(Locks()).reduce(max),
        "TumblingEventTimeWindows: its trigger Locks cannot",
    ),
    "evictor": (
        lambda s: keyed(s).window(WINDOW).evictor(Evicts()).reduce(max),
        "TumblingEventTimeWindows: its evictor Evicts cannot",
    ),
    "assigner": (
        lambda s: keyed(s).window(Assigns()).reduce(max),
        "Assigns: its window assigner Assigns cannot",
    ),
    "timestamps": (
        lambda s: s.assignTimestampsAndWatermarks(
            fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(closed_pair)
        ),
        "Timestamps/Watermarks: its watermark strategy closed_pair in",
    ),
    "join": (
        lambda s: s.join(s).where(closed).equalTo(own).window(WINDOW).apply(lambda a, b: a),
        "its key selector closed in",
    ),
    "pairs": (
        lambda s: s.join(s).where(own).equalTo(own).window(WINDOW).apply(closed_pair),
        "its function closed_pair in",
    ),
    "interval join": (
        lambda s: (
            keyed(s).intervalJoin(keyed(s)).between(-1, 1).process(lambda a, b, ctx, out: LOCKED)
        ),
        "its function the lambda in",
    ),
    "two inputs": (lambda s: s.connect(s).map(closed, own), "Co-Map: its function closed in"),
    "keys of two": (
        lambda s: s.connect(s).keyBy(closed, own).map(own, own),
        "its key selector closed in",
    ),
    "broadcast": (
        lambda s: s.connect(s.broadcast(fl.MapStateDescriptor("m"))).process(Rules()),
        "Co-Process-Broadcast: its function Rules cannot",
    ),
}


@pytest.fixture(autouse=True)
def _by_value(monkeypatch):
    """The functions above are pickled by value, as those of a script are."""
    for function in (closed, closed_pair, own):
        monkeypatch.setattr(function, "__module__", "__main__")
    for kind in (Total, Locks, Evicts, Assigns, Rules, Buckets):
        monkeypatch.setattr(kind, "__module__", "__main__")


@pytest.mark.parametrize("name", CASES)
def test_it_is_named(name):
    build, text = CASES[name]
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    with pytest.raises(fl.InvalidProgramError, match=f"{text}.* pickled .*open\\(\\)"):
        list(build(env.fromData(1, 2)).executeAndCollect())


def test_a_bucket_assigner_is_named(tmp_path):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    sink = fl.FileSink.forRowFormat(str(tmp_path / "out"), fl.SimpleStringEncoder())
    env.fromData(1, 2).sinkTo(sink.withBucketAssigner(Buckets()).build())
    with pytest.raises(fl.InvalidProgramError, match="Writer: its bucket assigner Buckets cannot"):
        env.execute()
