"""The inputs of the jobs: CSV files made by NumPy from a seed, the same for every side.

Each file is ``span`` ms of event time. Elements are out of order by less than LATENESS within a file, and files
follow each other in time, so that no side that reads them in order has a late element.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from examples.nexmark import generator
from examples.nexmark.generator import NexmarkGenerator

LATENESS = 5_000
END = "end"
"""The key of elements behind all others, in a separate directory which only Spark reads: windows close in the batch
after the one that moves its watermark, so there have to be elements for two more batches."""
END_FILES = 5
"""More than a batch has files."""

SPLITS = 8
BEHIND = 90_000
"""By how much one element in BEHIND_ONE_IN is later than the others, of the input "late"."""
BEHIND_ONE_IN = 50
RULES = 10
LATE_ARRIVAL = 4_000
"""The lateness from which on ArrivalTimeStrategy adjusts a timestamp: one element in five is that
late."""


@dataclass(frozen=True)
class Input:
    """A directory of files. ``columns`` makes those of a file from its number and its number of elements."""

    name: str
    schema: str
    columns: Callable[[int, int], Mapping[str, np.ndarray]]
    end: tuple[object, ...] | None = None

    def write(self, root: Path, files: int, elements: int, format: str = "csv") -> Path:  # noqa: A002
        """The directory with so many files of so many elements each; they are made if they are not there. The halves
        are of CSV only."""
        suffix = "" if format == "csv" else f"-{format}"
        directory = root / f"{self.name}-{files}x{elements}-{_version()}{suffix}"
        if directory.exists():
            return directory
        unfinished = root / f".{directory.name}"
        shutil.rmtree(unfinished, ignore_errors=True)
        for number in range(files):
            table = pa.table(dict(self.columns(number, elements)))
            _write(table, elements_of(unfinished) / f"{number:04d}.{format}", number)
            for half in range(2 if format == "csv" else 0):
                part = table.take(np.arange(half, len(table), 2))
                _write(part, halves_of(unfinished) / f"{number:04d}-{half}.csv", number)
        if self.end is not None:
            names = [column.split()[0] for column in self.schema.split(",")]
            table = pa.table({name: [value] for name, value in zip(names, self.end)})
            for number in range(END_FILES):
                _write(table, unfinished / END / f"{number:04d}.{format}", files + number)
        unfinished.rename(directory)
        return directory


@lru_cache(maxsize=1)
def _version() -> str:
    """Return the version of the code that makes the inputs: another version is other files."""
    sources = b"".join(Path(made_by).read_bytes() for made_by in (__file__, generator.__file__))
    return hashlib.sha256(sources).hexdigest()[:8]


def _write(table: pa.Table, path: Path, second: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path)
    elif path.suffix == ".json":
        table.to_pandas().to_json(path, orient="records", lines=True)
    else:
        options = pa.csv.WriteOptions(include_header=False, quoting_style="none")
        pa.csv.write_csv(table, path, options)
    os.utime(path, (1_600_000_000 + second,) * 2)  # sources read the oldest first


def elements_of(directory: Path) -> Path:
    """The files that flinkish and Spark read."""
    return directory / "elements"


def halves_of(directory: Path) -> Path:
    """The same elements for Flink, each file in two that alternate: what its two tasks read side by side is then of
    the same time, and neither holds the other's windows open."""
    return directory / "halves"


def _events(name: str, keys: int, span: int, share: float = 1.0, arrival: bool = False) -> Input:
    def columns(number: int, elements: int) -> Mapping[str, np.ndarray]:
        count = int(elements * share)
        random = np.random.default_rng([number, keys, span, len(name)])
        # No time is negative, where integer division differs between the sides.
        arrived = LATENESS + number * span + np.arange(count) * span // max(count, 1)
        made = {
            "key": np.char.add("key-", random.integers(0, keys, count).astype(str)),
            "value": random.integers(0, 1000, count),
            "at": arrived - random.integers(0, LATENESS, count),
        }
        if arrival:
            made["arrived"] = arrived
            made["split"] = random.integers(0, SPLITS, count)
        return made

    schema = "key string, value long, at long"
    end: tuple[object, ...] = (END, 0, 2**41)
    if arrival:
        return Input(name, f"{schema}, arrived long, split int", columns)
    return Input(name, schema, columns, end)


def _late() -> Input:
    events = _events("late", keys=1_000, span=120_000)

    def columns(number: int, elements: int) -> Mapping[str, np.ndarray]:
        made = dict(events.columns(number, elements))
        behind = np.arange(elements) % BEHIND_ONE_IN == 0
        made["at"] = np.where(behind, np.maximum(made["at"] - BEHIND, 0), made["at"])
        return made

    return replace(events, columns=columns)


def _rules() -> Input:
    """All rules are in the first file: each names the values that it is about by their remainder."""

    def columns(number: int, elements: int) -> Mapping[str, np.ndarray]:
        count = 0 if number else RULES
        return {"remainder": np.arange(count), "at": np.zeros(count, np.int64)}

    return Input("rules", "remainder long, at long", columns)


def _nexmark(kind: str) -> Input:
    def columns(number: int, elements: int) -> Mapping[str, np.ndarray]:
        return NexmarkGenerator().columns(kind, number * elements, elements)

    return Input(f"nexmark-{kind}", NexmarkGenerator.SCHEMAS[kind], columns)


INPUTS = {
    made.name: made
    for made in (
        _events("events", keys=1_000, span=120_000),
        _events("many-keys", keys=1_000_000, span=120_000),
        # Three elements a second of each key: sessions with a gap of a second have twenty on average.
        _events("sessions", keys=1_000, span=333_000),
        _events("left", keys=10_000, span=120_000, share=0.5),
        _events("right", keys=10_000, span=120_000, share=0.5),
        _events("arrivals", keys=1_000, span=120_000, arrival=True),
        _late(),
        _rules(),
        _nexmark("person"),
        _nexmark("auction"),
        _nexmark("bid"),
    )
}
