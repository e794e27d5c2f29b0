"""Whether jobs, and what must be quick beside them, still take about as long as they did: ``python -m tests.benchmarks.guard``.

Each job runs in local execution, and so in this process, in turn with a loop in plain Python that reads the same files and
finds the same results. Jobs in the words of other systems run beside the same by hand. What takes milliseconds is compared
with a loop that adds. Compared is processor time, of the best of a few runs, so that a busy machine does not matter much,
and a slow one not at all. The bounds are wide: they find a job that has left the columns, not a tenth.
"""

from __future__ import annotations

import asyncio
import http.client
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from flinkish import AsyncDataStream, DataStream, FileSource, Row, StreamExecutionEnvironment
from flinkish.runtime.columns.tracing.column_function import ColumnFunction
from flinkish.runtime.records.rows import RowColumns
from flinkish.web.server import WebServer
from tests.benchmarks import one_by_one, texts
from tests.benchmarks.inputs import INPUTS, elements_of
from tests.benchmarks.jobs import BOUNDED, FIRED_AFTER, JOBS, MINUTE, SHORTEST_GAP
from tests.runtime.micro_batches import MicroBatches
from tests.web.jobs import Client, details

FILES = 4
ELEMENTS = 25_000
RUNS = 2
GAP = 1_000

Line = tuple[str, int, int]
T = TypeVar("T")


@dataclass(frozen=True)
class Guarded:
    """A job, the same as a loop, and how many times as long as the loop the job may take."""

    job: str
    loop: Callable[[Iterable[Line]], Iterable[tuple[Any, ...]]]
    bound: float


def tumbling(lines: Iterable[Line]) -> Iterable[tuple[Any, ...]]:
    windows: dict[tuple[str, int], tuple[int, int]] = {}
    for key, value, at in lines:
        total, count = windows.get((key, at // MINUTE), (0, 0))
        windows[key, at // MINUTE] = (total + value, count + 1)
    return windows.values()


def sessions(
    lines: Iterable[Line], gap: Callable[[int], int] = lambda value: GAP
) -> Iterator[tuple[Any, ...]]:
    keys: dict[str, list[tuple[int, int]]] = {}
    for key, value, at in lines:
        keys.setdefault(key, []).append((at, value))
    for elements in keys.values():
        elements.sort()
        end, total, count = elements[0][0], 0, 0
        for at, value in elements:
            if at > end:
                yield total, count
                total, count = 0, 0
            end, total, count = max(end, at + gap(value)), total + value, count + 1
        yield total, count


def dynamic_sessions(lines: Iterable[Line]) -> Iterator[tuple[Any, ...]]:
    return sessions(lines, lambda value: SHORTEST_GAP + value)


def rows(lines: Iterable[Line]) -> Iterator[tuple[Any, ...]]:
    for key, value, at in lines:
        changed = value * 3 + 1
        if changed % 4 == 0:
            yield key, changed, at // 1_000


def keyed_totals(lines: Iterable[Line]) -> Iterator[tuple[Any, ...]]:
    keys: dict[str, tuple[int, int]] = {}
    for key, value, _ in lines:
        total, count = keys.get(key, (0, 0))
        keys[key] = (total + value, count + 1)
    return ((key, *totals) for key, totals in keys.items())


def rolling_sum(lines: Iterable[Line]) -> Iterator[tuple[Any, ...]]:
    keys: dict[str, int] = {}
    for key, _, _ in lines:
        keys[key] = keys.get(key, 0) + 1
        yield key, keys[key]


def count_window(lines: Iterable[Line]) -> Iterator[tuple[Any, ...]]:
    keys: dict[str, int] = {}
    for key, _, _ in lines:
        keys[key] = keys.get(key, 0) + 1
        if keys[key] % FIRED_AFTER == 0:
            yield (FIRED_AFTER,)


# About three times what was measured (100,000 elements, a busy machine): 0.6, 0.8, 0.5, 0.9, 2.0 and 1.2
GUARDED = (
    Guarded("tumbling", tumbling, 2),
    Guarded("sessions", sessions, 2.5),
    Guarded("dynamic_sessions", dynamic_sessions, 4),
    Guarded("rows", rows, 2),
    Guarded("keyed_totals", keyed_totals, 3),
    Guarded("rolling_sum", rolling_sum, 6),
    Guarded("count_window", count_window, 4),
)


def read_lines(directory: Path) -> Iterator[Line]:
    """The elements of a directory, as a program without a framework would read them."""
    for path in sorted(directory.iterdir()):
        with path.open() as file:
            for line in file:
                key, value, at = line.rstrip("\n").split(",")
                yield key, int(value), int(at)


def of_flinkish(job: str, directory: Path) -> list[tuple[Any, ...]]:
    """The results of the job in local execution, a file a batch."""
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()

    def read(name: str, strategy: Any = BOUNDED, split: str | None = None) -> Any:
        source: FileSource[Row] = FileSource.forCsv(str(directory), INPUTS[name].schema)
        return env.setParallelism(1).fromSource(source.withFilesPerBatch(1), strategy, name)

    found: list[tuple[Any, ...]] = []
    JOBS[job].flinkish(read).forEachBatch(lambda values, batch: found.extend(map(tuple, values)))
    env.execute(job)
    return found


def processor_seconds(run: Callable[[], T]) -> tuple[float, T]:
    """Return the time of ``run``, and its result."""
    began = time.process_time()
    found = run()
    return time.process_time() - began, found


def measured(guarded: Guarded, root: Path, files: int, elements: int, runs: int) -> float:
    """Return the time of the job as a multiple of the loop's. Raises AssertionError if their
    results differ."""
    (name,) = JOBS[guarded.job].inputs
    directory = elements_of(INPUTS[name].write(root, files, elements))
    of_job: list[float] = []
    of_loop: list[float] = []
    for number in range(runs + 1):
        took, results = processor_seconds(lambda: of_flinkish(guarded.job, directory))
        loop, expected = processor_seconds(lambda: list(guarded.loop(read_lines(directory))))
        assert sorted(results) == sorted(expected), (
            f"{guarded.job}: flinkish and the loop give different results"
        )
        if number:
            of_job.append(took)
            of_loop.append(loop)
    return min(of_job) / min(of_loop)


# ---------------------------------------------------------------- what takes milliseconds


@dataclass(frozen=True)
class Quick:
    """A call that must be quick, and how many times as long as ``additions`` it may take."""

    name: str
    run: Callable[[], object]
    bound: float


def additions() -> int:
    """The measure: some 4 ms of a core of 2024."""
    total = 0
    for number in range(100_000):
        total += number
    return total


def small_job() -> list[int]:
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    return list(env.fromData(1, 2).keyBy(lambda n: n).reduce(max).executeAndCollect())


ROWS = RowColumns(pa.record_batch({"name": ["a", "b", "c"], "x": [1, 5, -3]}))


def traced_function() -> object:
    return ColumnFunction(lambda v: (v.name, max(v.x, 0) + 1, v.x > 3)).results(ROWS)


def asynchronous_lookups(count: int = 300) -> None:
    """Results of an AsyncFunction, each of which has to wait for the loop of its event once."""

    async def lookup(value: int) -> list[int]:
        await asyncio.sleep(0)
        return [value]

    def build(stream: DataStream[int]) -> DataStream[int]:
        return AsyncDataStream.unorderedWait(stream, lookup, 60_000)

    [results] = MicroBatches(build, 1).run([[[(n, None) for n in range(count)]]])
    assert len(results) == count


def calls_of_the_page(port: int) -> None:
    """A call of each kind that the web page makes, of a job of 600 batches."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for path in ("", "/details?batches=50", "/checkpoints", "/vertices/w/watermarks", "/graph.svg"):
        connection.request("GET", f"/api/jobs/a1{path}")
        answer = connection.getresponse()
        assert answer.status == 200, path
        answer.read()
    connection.close()


# About four times what was measured
def quick(port: int) -> tuple[Quick, ...]:
    return (
        Quick("a local job of two elements", small_job, 4),
        Quick("the trace of a function", traced_function, 0.6),
        Quick("300 asynchronous lookups", asynchronous_lookups, 7),
        Quick("five calls of the web page", lambda: calls_of_the_page(port), 4),
    )


def measured_quick(each: Quick, runs: int) -> float:
    """Return its time as a multiple of that of ``additions``."""
    times: dict[Callable[[], object], list[float]] = {each.run: [], additions: []}
    for _ in range(runs):
        for run, took in times.items():
            took.append(processor_seconds(run)[0])
    return min(times[each.run]) / min(times[additions])


# ---------------------------------------------------------------- the command


def said(name: str, beside: str, found: float, bound: float) -> bool:
    """Print a line of it; whether it is within its bound."""
    within = found <= bound
    late = "" if within else ": TOO SLOW"
    print(f"{name}: {found:.2f} of {beside}, at most {bound:g}{late}", flush=True)
    return within


def main() -> int:
    """Print a line for each; 1 if one takes longer than it may."""
    slow = 0
    with tempfile.TemporaryDirectory() as directory:
        for guarded in GUARDED:
            found = measured(guarded, Path(directory), FILES, ELEMENTS, RUNS)
            slow += not said(guarded.job, "a loop", found, guarded.bound)
        for either in one_by_one.either_way(Path(directory)):
            found = one_by_one.measured(either)
            slow += not said(either.name, "element by element", found, either.bound)
        for name, found in texts.ratios(Path(directory)):
            slow += not said(name, "the job by hand", found, texts.AT_MOST)
    server = WebServer()
    server.addJob(Client(details(batches=600)))
    for each in quick(server._server.server_address[1]):
        slow += not said(each.name, "an addition loop", measured_quick(each, 10), each.bound)
    server.close()
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
