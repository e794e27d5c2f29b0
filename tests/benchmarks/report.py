"""The page of a run: a table for each kind of job, the machine, the versions and the command."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path

NOTHING = "-"
"""The side has no such thing, or was not run; the page says which."""


@dataclass
class Row:
    """What was measured of one job: seconds by side, for a million elements or for a batch."""

    title: str
    group: str
    batch: int = 0
    """Elements in a batch; 0 where that is not said."""
    seconds: dict[str, float] = field(default_factory=dict)
    unfinished: dict[str, str] = field(default_factory=dict)
    """Why a side has no figure: it was not done in time."""
    results: str = ""
    steps: str = ""
    """Where the time of flinkish's batches went."""

    def cell(self, side: str) -> str:
        if side in self.seconds:
            return f"{self.seconds[side]:.2f}"
        return self.unfinished.get(side, NOTHING)

    def times(self, side: str) -> str:
        """How many times as long as flinkish ``side`` takes."""
        if side in self.seconds and "flinkish" in self.seconds:
            return f"{self.seconds[side] / self.seconds['flinkish']:.2f}"
        return NOTHING


JAVA, CHECKPOINTED, PYFLINK = "Java", "Java, checkpoints", "PyFlink"


def page(rows: Sequence[Row], command: str, notes: Iterable[str], java: str | None) -> str:
    """The whole page docs/benchmarks.md."""
    parts = [_INTRODUCTION]
    sizes = sorted({row.batch for row in rows if row.group == "table"})
    for size in sizes:
        chosen = [row for row in rows if row.group == "table" and row.batch == size]
        parts.append(f"## Batches of {size:,} elements\n\n{throughput(chosen)}")
    nexmark = [row for row in rows if row.group == "nexmark"]
    if nexmark:
        parts.append(f"## Nexmark\n\n{_NEXMARK}{throughput(nexmark)}")
    smallest = [row for row in rows if row.group == "smallest"]
    if smallest:
        parts.append(f"## The smallest batch\n\n{_SMALLEST}{latencies(smallest)}")
    pyflink = [row for row in rows if row.group == "pyflink"]
    if pyflink:
        parts.append(f"## PyFlink\n\n{_PYFLINK}{compared(pyflink)}")
    parts.append("\n".join(["## The run\n", *(f"- {line}" for line in _run(command, notes, java))]))
    return "\n\n".join(parts) + "\n"


def throughput(rows: Sequence[Row]) -> str:
    """Seconds a million elements, and ratios."""
    header = (
        "| job | flinkish | Spark | Flink, Java | with checkpoints | Spark / flinkish"
        " | Java / flinkish | with checkpoints |"
    )
    sides = ("flinkish", "Spark", JAVA, CHECKPOINTED)
    return _table(
        header,
        [
            f"| {row.title} | "
            + " | ".join(row.cell(side) for side in sides)
            + " | "
            + " | ".join(row.times(side) for side in sides[1:])
            + " |"
            for row in rows
        ],
    )


def latencies(rows: Sequence[Row]) -> str:
    """Seconds a batch."""
    lines = [
        f"| {row.title} | {row.cell('flinkish')} | {row.cell('Spark')} | {row.steps or NOTHING} |"
        for row in rows
    ]
    return _table("| job | flinkish | Spark | of flinkish |", lines)


def compared(rows: Sequence[Row]) -> str:
    """PyFlink's seconds a million elements beside flinkish's."""
    lines = [
        f"| {row.title} | {row.cell('flinkish')} | {row.cell(PYFLINK)} | {row.times(PYFLINK)} |"
        for row in rows
    ]
    return _table("| job | flinkish | PyFlink | PyFlink / flinkish |", lines)


def _table(header: str, lines: Sequence[str]) -> str:
    columns = header.count("|") - 1
    return "\n".join([header, "|---" * columns + "|", *lines])


def _run(command: str, notes: Iterable[str], java: str | None) -> Iterable[str]:
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
(`--runs`; PyFlink has one). The sides run in turn, and a first run of each does not count. A ratio says how many times as
long as flinkish the other side takes: above 1 flinkish is quicker.

- flinkish and Spark share a session, with RocksDB, the settings of flinkish and a checkpoint on disk each batch. Files
  are read in order, one or more a batch. Each job runs on 40 small files first, the first job on some hundreds more
  (`--session-warm-up`), and neither these batches count nor the first of the others: a stream runs for days, and for
  some minutes of that the JVM compiles what has run often, on half a core.
- Java Flink is apache-flink in one JVM for each job: parallelism 2, heap state, object reuse, its files in order and
  parsed from bytes. Each file is cut in two that alternate, so that both tasks read elements of the same time and no
  window stays open for one of them. Its time is from the first record read to the last result written. With
  checkpoints: one to disk every second.
- `make bench JOBS="tumbling sessions" ELEMENTS=1000000` runs some jobs at one size, and leaves this page as it is."""

_NEXMARK = """\
[The queries](../examples/nexmark/queries.py) over events of [the generator](../examples/nexmark/generator.py), 10,000 of
them a second of event time, from a CSV file for each kind of event. A million elements are a million events, of
which a query reads the kinds that it asks about.

"""
_SMALLEST = """\
Seconds a batch, the median, where a file of 100 elements is a batch, and where flinkish's time goes by Spark's account.

"""
_PYFLINK = """\
The first job, in process mode, parallelism 2, without checkpoints, on as many elements as it says; the start does not
count. The figure of flinkish is that of its largest batches.

"""
