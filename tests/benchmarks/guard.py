"""Whether five jobs still take about as long beside a loop in plain Python as they did: ``python -m tests.benchmarks.guard``.

Each job runs in local execution, and so in this process, in turn with a loop that reads the same files and finds the same
results. Compared is processor time, of the best of a few runs, so that a busy machine does not matter much, and a slow one
not at all. The bounds are wide: they find a job that has left the columns, not a tenth.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flinkish import FileSource, Row, StreamExecutionEnvironment
from tests.benchmarks.inputs import INPUTS, elements_of
from tests.benchmarks.jobs import BOUNDED, JOBS, MINUTE

FILES = 4
ELEMENTS = 25_000
RUNS = 2
GAP = 1_000

Line = tuple[str, int, int]


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


def sessions(lines: Iterable[Line]) -> Iterator[tuple[Any, ...]]:
    keys: dict[str, list[tuple[int, int]]] = {}
    for key, value, at in lines:
        keys.setdefault(key, []).append((at, value))
    for elements in keys.values():
        elements.sort()
        last, total, count = elements[0][0], 0, 0
        for at, value in elements:
            if at - last > GAP:
                yield total, count
                total, count = 0, 0
            last, total, count = at, total + value, count + 1
        yield total, count


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


# About three times what was measured (100,000 elements, a busy machine): 0.6, 0.8, 0.5, 0.9 and 2.0
GUARDED = (
    Guarded("tumbling", tumbling, 2),
    Guarded("sessions", sessions, 2.5),
    Guarded("rows", rows, 2),
    Guarded("keyed_totals", keyed_totals, 3),
    Guarded("rolling_sum", rolling_sum, 6),
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


def processor_seconds(
    run: Callable[[], list[tuple[Any, ...]]],
) -> tuple[float, list[tuple[Any, ...]]]:
    """How long ``run`` takes, and its results in order."""
    began = time.process_time()
    found = run()
    return time.process_time() - began, sorted(found)


def measured(guarded: Guarded, root: Path, files: int, elements: int, runs: int) -> float:
    """How many times as long as the loop the job takes. Raises AssertionError if their results differ."""
    (name,) = JOBS[guarded.job].inputs
    directory = elements_of(INPUTS[name].write(root, files, elements))
    of_job: list[float] = []
    of_loop: list[float] = []
    for number in range(runs + 1):
        took, results = processor_seconds(lambda: of_flinkish(guarded.job, directory))
        loop, expected = processor_seconds(lambda: list(guarded.loop(read_lines(directory))))
        assert results == expected, f"{guarded.job}: flinkish and the loop give different results"
        if number:
            of_job.append(took)
            of_loop.append(loop)
    return min(of_job) / min(of_loop)


def main() -> int:
    """Print a line for each job; 1 if one takes longer than it may."""
    slow = 0
    with tempfile.TemporaryDirectory() as directory:
        for guarded in GUARDED:
            found = measured(guarded, Path(directory), FILES, ELEMENTS, RUNS)
            within = found <= guarded.bound
            slow += not within
            said = "" if within else ": TOO SLOW"
            print(
                f"{guarded.job}: {found:.2f} of a loop, at most {guarded.bound:g}{said}", flush=True
            )
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
