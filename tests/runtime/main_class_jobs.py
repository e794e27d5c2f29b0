"""A program whose state holds classes of its main script, and of a function in it.

``python main_class_jobs.py WAY DIRECTORY NUMBER...`` gives the numbers to a job, which goes on from where the program
before it in that directory has stopped, and prints a list of what comes out.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import flinkish as fl
from flinkish.testing import StreamTestHarness


class Mode(enum.Enum):
    IDLE = "idle"
    BUSY = "busy"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass(frozen=True)
class Sensor:
    name: str
    mode: Mode


class Reading(NamedTuple):
    sensor: Sensor
    value: int


class Place:
    """Overrides equality, and contains classes."""

    class Room(enum.Enum):
        A = "a"
        B = "b"

    @dataclasses.dataclass(frozen=True, slots=True)
    class Desk:
        room: Place.Room

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and other.number == self.number

    def __hash__(self) -> int:
        return hash(self.number)


class Reduced:
    """Made by a function of the script."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode

    def __reduce__(self):
        return reduced, (self.mode,)


def reduced(mode: Mode) -> Reduced:
    return Reduced(mode)


Point = collections.namedtuple("Pair", "mode n")  # type: ignore[name-match]
Other = collections.namedtuple("Pair", "n")  # type: ignore[name-match]


class Span(fl.TimeWindow):
    """A window of the script's own."""


class Spans(fl.TumblingEventTimeWindows):
    def assignWindows(self, element, timestamp, context):
        return [Span(w.start, w.end) for w in super().assignWindows(element, timestamp, context)]


def local_classes():
    class Shade(enum.Enum):
        DARK = 0
        LIGHT = 1

    @dataclasses.dataclass(frozen=True)
    class Tint:
        shade: Shade

    return Shade, Tint


MODES = [Mode.IDLE, Mode.BUSY]


class Uses(fl.KeyedProcessFunction):
    """State of every kind with classes of the script."""

    def __init__(self, shade: Any, tint: Any) -> None:
        self.shade, self.tint = shade, tint

    def open(self, openContext):
        context = self.getRuntimeContext()
        self.count = context.getState(fl.ValueStateDescriptor("count"))
        self.mode = context.getState(fl.ValueStateDescriptor("mode"))
        self.seen = context.getListState(fl.ListStateDescriptor("seen"))
        self.each = context.getMapState(fl.MapStateDescriptor("each"))

    def processElement(self, n, ctx, out):
        mode, busy = MODES[n % 2], Sensor("s", Mode.BUSY)
        self.count.update((self.count.value() or 0) + 1)
        kept = self.mode.value()
        known = kept is not None and (
            kept["mode"] is Mode.BUSY
            and kept["level"] is Level.HIGH
            and type(kept["reading"]) is Reading
            and kept["reading"] == Reading(busy, 1)
            and type(kept["reduced"]) is Reduced
            and kept["reduced"].mode is Mode.BUSY
            and type(kept["point"]) is Point
            and type(kept["other"]) is Other
            and kept["desk"] == Place.Desk(Place.Room.A)
            and kept["tint"] == self.tint(self.shade.DARK)
            and kept["class"] is Mode
        )
        self.mode.update(
            {
                "mode": Mode.BUSY,
                "level": Level.HIGH,
                "reading": Reading(busy, 1),
                "reduced": Reduced(Mode.BUSY),
                "point": Point(Mode.BUSY, 1),
                "other": Other(1),
                "desk": Place.Desk(Place.Room.A),
                "tint": self.tint(self.shade.DARK),
                "class": Mode,
            }
        )
        here = Sensor("s", mode)
        seen = [here == s for s in self.seen.get()].count(True)
        self.seen.add(here)
        keys = (mode, here, Place(1), (Level.LOW, mode), frozenset([mode]), self.shade.LIGHT)
        for key in (*keys, Point(mode, 1), Place.Room.B, self.tint(self.shade.DARK)):
            self.each.put(key, (self.each.get(key) or 0) + 1)
        each = sorted(self.each.values())
        ctx.timerService().registerEventTimeTimer(1000)
        out.collect(f"{n}: {self.count.value()} {known} {seen} {each}")

    def onTimer(self, timestamp, ctx, out):
        out.collect(f"timer {timestamp} {self.count.value()}")


class Priced(fl.KeyedBroadcastProcessFunction):
    RULES = fl.MapStateDescriptor("rules")

    def open(self, openContext):
        self.last = self.getRuntimeContext().getState(fl.ValueStateDescriptor("last"))

    def processElement(self, n, ctx, out):
        rules = ctx.getBroadcastState(self.RULES)
        last = self.last.value()
        self.last.update(MODES[n % 2])
        out.collect(f"priced {n} {rules.get(MODES[n % 2])} {last is MODES[n % 2]}")

    def processBroadcastElement(self, n, ctx, out):
        rules = ctx.getBroadcastState(self.RULES)
        rules.put(MODES[n % 2], (rules.get(MODES[n % 2]) or 0) + n)


class Held:
    """The accumulator of an aggregation."""

    def __init__(self, mode: Mode, total: int) -> None:
        self.mode, self.total = mode, total


class Sum(fl.AggregateFunction):
    def createAccumulator(self):
        return Held(Mode.IDLE, 0)

    def add(self, n, held):
        return Held(MODES[n % 2], held.total + n)

    def getResult(self, held):
        return f"sum {held.mode is not None and held.mode.name} {held.total} {type(held) is Held}"

    def merge(self, a, b):
        return Held(b.mode, a.total + b.total)


class Following(fl.WatermarkGenerator):
    """Is itself kept, with a member of a class."""

    def __init__(self) -> None:
        self.last: Mode | None = None

    def onEvent(self, n, timestamp, output):
        if self.last is not None and self.last not in MODES:
            raise ValueError(f"{self.last} is of another class")
        self.last = MODES[n % 2]
        output.emitWatermark(fl.Watermark(n - 1))

    def onPeriodicEmit(self, output):
        pass


def keys(shade: Any = None, tint: Any = None) -> dict[str, Any]:
    """Key selectors by name."""
    return {
        "enum": lambda n: MODES[n % 2],
        "pair": lambda n: (Mode.BUSY, Level(1 + n % 2)),
        "set": lambda n: frozenset([MODES[n % 2], Place.Room.A]),
        "data": lambda n: Sensor("s", MODES[n % 2]),
        "named": lambda n: Reading(Sensor("s", MODES[n % 2]), 1),
        "nested": lambda n: Place.Desk(Place.Room.A),
        "local": lambda n: tint(shade(n % 2)),
    }


def streams(numbers: Any, selectors: list[str]) -> list[Any]:
    """The streams of the job, keyed by some of ``keys``; ``numbers`` have their own value as timestamp."""
    shade, tint = local_classes()
    found = []
    for name in selectors:
        keyed = numbers.keyBy(keys(shade, tint)[name])
        window = keyed.window(fl.TumblingEventTimeWindows.of(100))
        used = keyed.process(Uses(shade, tint)).uid(f"uses {name}").name(f"uses {name}")
        summed = window.aggregate(Sum()).uid(f"sums {name}").name(f"sums {name}")
        found += [used.map(lambda text, name=name: f"{name} {text}"), summed]
    keyed = numbers.map(lambda n: Reading(Sensor("s", MODES[n % 2]), n)).keyBy(lambda r: r.sensor)
    listed = keyed.window(Spans.of(100)).apply(
        lambda key, window, readings: [
            f"list {key.mode is Mode.BUSY} {len(readings)} {type(window) is Span}"
            f" {all(type(r) is Reading and r.sensor == key for r in readings)}"
        ]
    )
    found.append(listed.uid("listed").name("listed"))
    sessions = keyed.window(fl.EventTimeSessionWindows.withGap(50)).reduce(
        lambda a, b: Reading(b.sensor, a.value + b.value)
    )
    found.append(
        sessions.uid("sessions")
        .name("sessions")
        .map(lambda r: f"session {r.value} {type(r) is Reading}")
    )
    following = fl.WatermarkStrategy.forGenerator(lambda context: Following())
    timed = numbers.assignTimestampsAndWatermarks(following.withTimestampAssigner(lambda n, at: n))
    totals = timed.keyBy(lambda n: Mode.BUSY).window(fl.TumblingEventTimeWindows.of(3))
    found.append(totals.reduce(lambda a, b: a + b).uid("totals").map(lambda n: f"total {n}"))
    rules = numbers.broadcast(Priced.RULES)
    priced = numbers.keyBy(lambda n: Mode.BUSY).connect(rules).process(Priced())
    found.append(priced.uid("priced").name("priced"))
    return found


class At(NamedTuple):
    """A position of the source."""

    mode: Mode
    next: int


class Ticks(fl.Source):
    """Modes, each with its number, up to ``limit``."""

    bounded = False

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def read(self, position):
        if position is not None and position.mode is not MODES[position.next % 2]:
            raise ValueError(f"{position} is of another class")
        for n in range(position.next if position else 0, self.limit):
            yield (MODES[n % 2], n), At(MODES[(n + 1) % 2], n + 1)
        threading.Event().wait()


class Ticked(fl.KeyedProcessFunction):
    """Keeps what it knows in an attribute."""

    def open(self, openContext):
        self.counts: dict[Mode, int] = {}

    def processElement(self, tick, ctx, out):
        mode, n = tick
        self.counts[mode] = self.counts.get(mode, 0) + 1
        out.collect(f"tick {n} {sorted(self.counts.values())} {mode is MODES[n % 2]}")


# ---------------------------------------------------------------------- engines


def on_harness(directory: Path, numbers: list[int]) -> list[Any]:
    snapshot = directory / "snapshot"
    built: list[Any] = []

    def build(elements: Any) -> list[Any]:
        built[:] = streams(elements, list(keys()))
        return built

    if snapshot.exists():
        harness = StreamTestHarness.restore(build, snapshot.read_bytes())
    else:
        harness = StreamTestHarness(build)
    for n in numbers:
        harness.processElement(n, n)
        harness.processWatermark(n - 1)
    snapshot.write_bytes(harness.snapshot())
    outputs = [harness.getOutput(i) for i in range(len(built))]
    return [e.value for output in outputs for e in output if hasattr(e, "value")]


def as_job(env: Any, selectors: list[str], directory: Path, numbers: list[int]) -> list[Any]:
    files, savepoint = directory / "numbers", directory / "savepoint"
    files.mkdir(exist_ok=True)
    for n in numbers:
        (files / f"{n:06}.csv").write_text(f"{n}\n")
        os.utime(files / f"{n:06}.csv", (n, n))
    env.setParallelism(2)
    limit = len(list(files.iterdir()))
    results: list[Any] = []
    last, ticked = threading.Event(), threading.Event()
    timed = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
        lambda row, at: row.n
    )
    source = fl.FileSource.forCsv(str(files), "n long").withFilesPerBatch(2).monitorContinuously()
    lines = env.fromSource(source, timed, "numbers").uid("numbers").map(lambda row: row.n)
    ticks = env.fromSource(Ticks(limit), None, "ticks").uid("ticks").keyBy(lambda tick: tick[0])
    for stream in (*streams(lines, selectors), ticks.process(Ticked()).uid("ticked")):
        stream.forEachBatch(lambda values, batch: results.extend(values))

    def note(values: list[Any], batch: int) -> None:
        if numbers[-1] in values:
            last.set()
        if f"tick {limit - 1} " in " ".join(results):
            ticked.set()

    lines.union(ticks.map(lambda tick: -1)).forEachBatch(note)
    client = env.executeAsync("main classes")
    while not (last.wait(0.05) and ticked.wait(0.05)):
        if client.getJobStatus() is not fl.JobStatus.RUNNING:
            client.getJobExecutionResult()
            raise SystemExit("the job ended")
    if savepoint.exists():
        client.cancel()
    else:
        client.stopWithSavepoint(str(savepoint))
    return results


def in_local_execution(directory: Path, numbers: list[int]) -> list[Any]:
    """Begins from the savepoint."""
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    if (directory / "savepoint").exists():
        env.setSavepoint(str(directory / "savepoint"))
    some = list(keys()) if directory.name.startswith("all") else FEW
    return as_job(env, some, directory, numbers)


FEW = ["set", "local"]
"""As each sink takes Spark some time."""


def on_spark(directory: Path, numbers: list[int]) -> list[Any]:
    """Goes on from the checkpoint."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(session.getOrCreate())
    env.enableCheckpointing(str(directory / "checkpoint"))
    return as_job(env, FEW, directory, numbers)


ENGINES = {"harness": on_harness, "local": in_local_execution, "spark": on_spark}


def main() -> None:
    engine, directory, *numbers = sys.argv[1:]
    print(json.dumps(ENGINES[engine](Path(directory), list(map(int, numbers)))))


if __name__ == "__main__":
    main()
