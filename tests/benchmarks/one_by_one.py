"""Whether jobs over columns take no longer than element by element: ``python -m tests.benchmarks.guard`` asks.

Short runs are the test: watermarks between the elements, the small inputs of the examples, a tenth of the demo.
"""

from __future__ import annotations

import importlib
import io
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from examples.flights.arrivals import SCHEMA, departures, write_files
from examples.flights.job import airport_delays, flight_of
from examples.nexmark.__main__ import main as nexmark
from examples.nexmark.queries import QUERIES
from flinkish import (
    DataStream,
    EventTimeSessionWindows,
    FileSource,
    KeyedProcessFunction,
    OpenContext,
    Row,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from tests.benchmarks.jobs import SumAndCount
from tests.examples.test_pages import BY_THE_CLOCK, PAGES, RUN, text
from tests.local_programs import local_execution

ELEMENTS = 20_000
KEYS = 50
EACH = (1, 5, 50, 1_000)
"""With every so-manieth element comes a watermark."""
LATENESS = 1_000
MOST_TRIES = 12
UNSEEN_SECONDS = 0.002
"""By so much a job may differ by chance."""


@dataclass(frozen=True)
class Either:
    """A job that runs either way, and how many times as long as element by element it may take over columns. ``run``
    gives its results, in any order."""

    name: str
    run: Callable[[], Any]
    bound: float


def measured(either: Either) -> float:
    """Return the job's time over columns as a multiple of that element by element: the best of as
    many runs in turn as are needed to be within the bound, or ``MOST_TRIES``. Raises AssertionError
    if the results differ."""
    best: dict[bool, float] = {}
    ratio = float("inf")
    for number in range(MOST_TRIES + 1):
        results = {}
        for traces in (True, False):
            with local_execution(traces), redirect_stdout(io.StringIO()):
                began = time.process_time()
                results[traces] = either.run()
                took = time.process_time() - began
            if number:
                best[traces] = min(took, best.get(traces, took))
        assert results[True] == results[False], f"{either.name}: results differ"
        if number:
            ratio = best[True] / (best[False] + UNSEEN_SECONDS)
            if ratio <= either.bound:
                break
    return ratio


class EveryNth(WatermarkGenerator[Row]):
    def __init__(self, each: int) -> None:
        self.each = each
        self.seen = 0
        self.highest = 0

    def onEvent(self, event: Row, eventTimestamp: int, output: WatermarkOutput) -> None:
        self.highest = max(self.highest, eventTimestamp)
        self.seen += 1
        if self.seen % self.each == 0:
            output.emitWatermark(Watermark(self.highest - LATENESS - 1))

    def onPeriodicEmit(self, output: WatermarkOutput) -> None:
        """Nothing: all has been said in ``onEvent``."""


class RunningTotal(KeyedProcessFunction[str, Row, tuple[str, int]]):
    def open(self, context: OpenContext) -> None:
        self.total = self.getRuntimeContext().getState(ValueStateDescriptor[int]("total"))

    def processElement(self, value: Row, ctx: Any, out: Any) -> None:
        total = (self.total.value() or 0) + value.value
        self.total.update(total)
        out.collect((ctx.getCurrentKey(), total))


def _windowed(assigner: Any) -> Callable[[DataStream[Row]], DataStream[Any]]:
    return lambda stream: stream.keyBy(lambda e: e.key).window(assigner).aggregate(SumAndCount())


OPERATORS: dict[str, Callable[[DataStream[Row]], DataStream[Any]]] = {
    "tumbling": _windowed(TumblingEventTimeWindows.of(Time.seconds(10))),
    "sliding": _windowed(SlidingEventTimeWindows.of(Time.seconds(40), Time.seconds(10))),
    "sessions": _windowed(EventTimeSessionWindows.withGap(Time.milliseconds(800))),
    "process": lambda stream: stream.keyBy(lambda e: e.key).process(RunningTotal()),
    "many small windows": lambda stream: (
        _windowed(TumblingEventTimeWindows.of(Time.seconds(1)))(stream)
        .keyBy(lambda sums: sums[1] % 7)
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .reduce(lambda a, b: (a[0] + b[0], a[1] + b[1]))
    ),
    "map": lambda stream: stream.map(lambda e: (e.key, e.value * 2, e.at)),
}


def write_events(directory: Path) -> None:
    """An element every 10 ms, one in ten of them up to ``LATENESS`` late."""
    chosen = np.random.default_rng(1)
    late = np.where(chosen.random(ELEMENTS) < 0.1, chosen.integers(0, LATENESS, ELEMENTS), 0)
    columns = {
        "key": [f"k{key}" for key in chosen.integers(0, KEYS, ELEMENTS)],
        "value": chosen.integers(0, 1_000, ELEMENTS),
        "at": np.arange(ELEMENTS) * 10 - late,
    }
    directory.mkdir()
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
    pyarrow.csv.write_csv(pa.table(columns), directory / "0.csv", options)


def _punctuated(directory: Path, operator: str, each: int) -> list[Any]:
    env = StreamExecutionEnvironment.getExecutionEnvironment().setParallelism(1)
    source = FileSource.forCsv(str(directory), "key STRING, value BIGINT, at BIGINT")
    strategy = WatermarkStrategy[Row].forGenerator(lambda context: EveryNth(each))
    stream = env.fromSource(
        source.withFilesPerBatch(1),
        strategy.withTimestampAssigner(lambda element, timestamp: element.at),
        "events",
    )
    return _results(env, OPERATORS[operator](stream))


def _flights(directory: Path) -> list[Any]:
    env = StreamExecutionEnvironment.getExecutionEnvironment().setMaxParallelism(4)
    source = FileSource.forCsv(str(directory), SCHEMA).withFilesPerBatch(1)
    streams = airport_delays(env.fromSource(source, sourceName="Departures").map(flight_of))
    return _results(env, *streams)


def _results(env: StreamExecutionEnvironment, *streams: DataStream[Any]) -> list[Any]:
    found: list[Any] = []
    for stream in streams:
        stream.forEachBatch(lambda values, batch: found.extend(map(tuple, values)))
    env.execute()
    return sorted(found, key=repr)


def _example(name: str) -> None:
    ((_, arguments, _),) = RUN.findall(text(name))
    importlib.import_module(f"examples.{name}").main(shlex.split(arguments))


def either_way(root: Path) -> Iterator[Either]:
    """All jobs to measure."""
    write_events(root / "events")
    for operator in OPERATORS:
        for each in EACH:
            name = f"{operator}, a watermark with every {each:,}"
            yield Either(name, lambda o=operator, n=each: _punctuated(root / "events", o, n), 1.2)  # type: ignore[misc]
    write_files(departures(36), root / "flights", 12)
    yield Either("a tenth of the flights", lambda: _flights(root / "flights"), 1.3)
    for name in sorted(PAGES.keys() - {BY_THE_CLOCK}):
        yield Either(name, lambda n=name: _example(n), 1.3)  # type: ignore[misc]
    for query in QUERIES:
        arguments = ["--query", str(query), "--events", "10000"]
        yield Either(f"Nexmark Q{query}", lambda a=arguments: nexmark(a), 1.3)  # type: ignore[misc]
