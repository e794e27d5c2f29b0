"""The page of the benchmark: a table for each kind of job, and the runs that measured them."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from importlib.metadata import version
from pathlib import Path

NOTHING = "-"
"""The side has no such thing, or was not run; the page says which."""


@dataclass
class Row:
    """The measurements of one job: seconds by side, for a million elements or for a batch."""

    title: str
    group: str
    batch: int = 0
    """Elements in a batch; 0 where that is not said."""
    seconds: dict[str, float] = field(default_factory=dict)
    unfinished: dict[str, str] = field(default_factory=dict)
    """Why a side has no figure: it was not done in time."""
    results: str = ""
    steps: str = ""
    """The steps that took the time of flinkish's batches."""

    def cell(self, side: str) -> str:
        if side in self.seconds:
            return f"{self.seconds[side]:.2f}"
        return self.unfinished.get(side, NOTHING)

    def times(self, side: str) -> str:
        """Return the time of ``side`` as a multiple of flinkish's."""
        if side in self.seconds and "flinkish" in self.seconds:
            return f"{self.seconds[side] / self.seconds['flinkish']:.2f}"
        return NOTHING


JAVA, CHECKPOINTED = "Java", "Java, checkpoints"
PYFLINK, PYFLINK_THREADS = "PyFlink", "PyFlink, threads"
BYTEWAX, PATHWAY = "Bytewax", "Pathway"

GROUPS = {
    "table": "batches of both sizes",
    "more": "what else users ask about",
    "nexmark": "Nexmark",
    "smallest": "the smallest batch",
    "pyflink": "PyFlink",
    "peers": "Bytewax and Pathway",
}
"""The groups, by the name that they have in the account of the runs, in the order of the page."""

SLOW = 0.5
"""Rows with a smaller ratio are named at the top of the page."""


@dataclass(frozen=True)
class Measured:
    """The rows of a group of jobs, and the run that they are from, a line each for its command, machine and versions."""

    rows: Sequence[Row]
    run: Sequence[str]


def read_measured(path: Path) -> dict[str, Measured]:
    """Read the measurements that ``as_json`` has written to ``path``, by group."""
    return {
        group: Measured([Row(**row) for row in found["rows"]], found["run"])
        for group, found in json.loads(path.read_text("utf-8")).items()
    }


def as_json(measured: Mapping[str, Measured]) -> str:
    """``measured`` as JSON, from which a later run takes the groups that it does not measure."""
    return json.dumps({group: asdict(found) for group, found in measured.items()}, indent=1) + "\n"


def page(measured: Mapping[str, Measured]) -> str:
    """The whole page docs/benchmarks.md."""
    rows = [row for found in measured.values() for row in found.rows]
    parts = [_INTRODUCTION, slow_rows(rows)]
    for size, chosen in _by_size(_rows(measured, "table")):
        parts.append(f"## Batches of {size:,} elements\n\n{throughput(chosen)}")
    if more := _rows(measured, "more"):
        smaller, *larger = (chosen for _, chosen in _by_size(more))
        parts.append(f"## What else users ask about\n\n{_MORE}{throughput(smaller, *larger)}")
    if nexmark := _rows(measured, "nexmark"):
        parts.append(f"## Nexmark\n\n{_NEXMARK}")
        for number, (size, chosen) in enumerate(_by_size(nexmark)):
            named = [replace(row, title=_short(row)) for row in chosen] if number else chosen
            parts.append(f"Batches of {size:,} events:\n\n{throughput(named)}")
    if smallest := _rows(measured, "smallest"):
        parts.append(f"## The smallest batch\n\n{_SMALLEST}{latencies(smallest)}")
    if pyflink := _rows(measured, "pyflink"):
        parts.append(f"## PyFlink\n\n{_PYFLINK}{compared(pyflink, PYFLINK, PYFLINK_THREADS)}")
    if peers := _rows(measured, "peers"):
        parts.append(f"## Bytewax and Pathway\n\n{_PEERS}{compared(peers, BYTEWAX, PATHWAY)}")
    return "\n\n".join([*parts, _runs(measured)]) + "\n"


def _rows(measured: Mapping[str, Measured], group: str) -> Sequence[Row]:
    return measured[group].rows if group in measured else []


def _by_size(rows: Sequence[Row]) -> Iterable[tuple[int, list[Row]]]:
    """The rows of each size of a batch."""
    for size in sorted({row.batch for row in rows}):
        yield size, [row for row in rows if row.batch == size]


def _runs(measured: Mapping[str, Measured]) -> str:
    """The runs that ``measured`` is from, each with the names of its groups."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for group, found in measured.items():
        groups.setdefault(tuple(found.run), []).append(GROUPS[group])
    of_all = [line for line in next(iter(groups), ()) if all(line in run for run in groups)]
    parts = ["## The runs", "\n".join(f"- {line}" for line in of_all)]
    for run, names in groups.items():
        what = f"{', '.join(names)}:"
        own = (f"- {line}" for line in run if line not in of_all)
        parts.append("\n".join([what[0].upper() + what[1:], "", *own]))
    return "\n\n".join(parts)


def throughput(rows: Sequence[Row], larger: Sequence[Row] = ()) -> str:
    """Seconds a million elements, and ratios; in brackets those with ``larger`` batches."""
    header = (
        "| job | flinkish | Spark | Flink, Java | with checkpoints | Spark / flinkish"
        " | Java / flinkish | with checkpoints |"
    )
    of_title = {row.title: row for row in larger}
    lines = []
    for row in rows:
        cells = zip(_cells(row), _cells(of_title.get(row.title, row)))
        shown = (one if one == other else f"{one} ({other})" for one, other in cells)
        lines.append(f"| {row.title} | {' | '.join(shown)} |")
    return _table(header, lines)


def _cells(row: Row) -> list[str]:
    sides = ("flinkish", "Spark", JAVA, CHECKPOINTED)
    return [*map(row.cell, sides), *map(row.times, sides[1:])]


def latencies(rows: Sequence[Row]) -> str:
    """Seconds a batch."""
    lines = [
        f"| {row.title} | {row.cell('flinkish')} | {row.cell('Spark')} | {row.steps or NOTHING} |"
        for row in rows
    ]
    return _table("| job | flinkish | Spark | of flinkish |", lines)


def compared(rows: Sequence[Row], *sides: str) -> str:
    """The seconds of ``sides`` for a million elements beside flinkish's."""
    cells = [
        [row.title, *(row.cell(side) for side in ("flinkish", *sides)), *map(row.times, sides)]
        for row in rows
    ]
    names = ["job", "flinkish", *sides, *(f"{side} / flinkish" for side in sides)]
    return _table(f"| {' | '.join(names)} |", [f"| {' | '.join(row)} |" for row in cells])


def _short(row: Row) -> str:
    """The title of a row, of a query its number without the question."""
    return row.title.partition(": ")[0]


def slow_rows(rows: Sequence[Row]) -> str:
    """The rows in which another side takes less than half as long as flinkish, the slowest first."""
    others = ("Spark", JAVA, CHECKPOINTED, PYFLINK, PYFLINK_THREADS, BYTEWAX, PATHWAY)
    found = []
    for row in rows:
        sides = [side for side in others if side in row.seconds and "flinkish" in row.seconds]
        least = min(sides, key=lambda side: row.seconds[side], default=None)
        if least is not None and row.seconds[least] / row.seconds["flinkish"] < SLOW:
            size = f", {row.batch:,} a batch" if row.batch else ""
            line = f"{_short(row)}{size}: {row.times(least)} ({least})"
            found.append((float(row.times(least)), line))
    if not found:
        return f"In no row another side takes less than {SLOW} of what flinkish takes."
    lines = "\n".join(f"- {line}" for _, line in sorted(found))
    return f"**Where flinkish is slow**, the rows below {SLOW} of any other side:\n\n{lines}"


def _table(header: str, lines: Sequence[str]) -> str:
    columns = header.count("|") - 1
    return "\n".join([header, "|---" * columns + "|", *lines])


def run_lines(command: str, notes: Iterable[str], java: str | None) -> Iterable[str]:
    """Describe this run: its command, date, machine and versions, and ``notes``."""
    yield f"`{command}`, {date.today().isoformat()}"
    yield f"{_processor()}, {os.cpu_count()} cores, {_gigabytes()} GiB; {platform.system()} {platform.release()}"
    libraries = ", ".join(
        f"{name} {version(name)}" for name in ("flinkish", "pyspark", "pyarrow", "numpy")
    )
    yield f"Python {platform.python_version()}, {libraries}"
    if java:
        yield java
    yield from notes


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.+)", path.read_text()) if path.exists() else None
    return found[1] if found else platform.processor() or platform.machine()


def _gigabytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30


_INTRODUCTION = """\
# Benchmarks

`make bench` made this page. It runs each job on flinkish, with Spark's own operators where Spark has the thing, and on
Flink in Java, on the same elements in the same run, and fails where two sides give different results. Each side reads
CSV files, and writes its results to CSV files.

Figures are **seconds a million elements**, without start and warm-up, of the best of as many runs as each side has
(`--runs`; PyFlink, Bytewax and Pathway have one). The sides run in turn, and a first run of each does not count. A ratio says how many times as
long as flinkish the other side takes: above 1 flinkish is quicker.

- flinkish and Spark share a session, with RocksDB, the settings of flinkish and a checkpoint on disk each batch. Files
  are read in order, one or more a batch. Each job runs on 40 small files first, the first job on some hundreds more
  (`--session-warm-up`), and neither these batches count nor the first of the others: a stream runs for days, and for
  some minutes of that the JVM compiles what has run often, on half a core.
- Java Flink is apache-flink in one JVM for each job: parallelism 2, heap state, object reuse, its files in order and
  parsed from bytes. Each file is cut in two that alternate, so that both tasks read elements of the same time and no
  window stays open for one of them. Its time is from the first record read to the last result written. With
  checkpoints: one to disk every second.
- `make bench JOBS=nexmark` runs a part of the page (`table`, `more`, `nexmark` or `smallest`) and replaces it."""

_NEXMARK = """\
[The queries](../examples/nexmark/queries.py) over events of [the generator](../examples/nexmark/generator.py), 10,000 of
them a second of event time, from a CSV file for each kind of event. A million elements are a million events, of
which a query reads the kinds that it asks about."""
_SMALLEST = """\
Seconds a batch, the median, where a file of 100 elements is a batch, and where flinkish's time goes by Spark's account.

"""
_MORE = """\
Batches of a million elements, and in brackets of four million. Answers of the look-up are there at once, so what is measured
is not the service. Of late elements' updates the last of each window are compared, as their number depends on where a side's
watermark is. Flink in Java has no figures for Parquet, for which apache-flink lacks Hadoop's libraries, and none for JSON.

"""
_PYFLINK = """\
The first job, parallelism 2, without checkpoints, on as many elements as it says, after a run that does not count; the
start does not count either. Set as PyFlink advises: bundles of 100,000 elements or a second, object reuse. The figure of flinkish is
that of its largest batches.

"""
_PEERS = """\
What else a user of Python would take, on the same files, without checkpoints; the start does not count. Bytewax has two processes of a
worker each, which read half of each file in turn, and a clock that waits for the slower one. Pathway has two threads, and reads the
files whole. The figure of flinkish is that of its largest batches, with checkpoints.

"""
