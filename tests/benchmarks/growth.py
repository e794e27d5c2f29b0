"""How cost grows: with the keys of a batch, its elements, the files that it is read from, and the state on disk.

    python -m tests.benchmarks --growth [keys=1000,10000 batch=10000 files=1,10 stored=50000 bytes=100]

Each *axis* is a row of runs of one job in which one number changes, on one session, after a run of it that does not count, and
after hundreds of small batches that warm the session up. The figures go to docs/growth.md with a plot for each axis, or
below ``build`` if only some were asked for.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.csv

import flinkish as fl
from flinkish import Row
from tests.benchmarks import micro_batches
from tests.benchmarks.files import BUILD, ROOT
from tests.benchmarks.stored_keys import cost

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

BATCHES = 4
"""The number of batches of each run; the first does not count."""
WARM_UP = 400
"""Batches that warm the session up."""
SPAN = 120_000
"""Milliseconds of event time in a batch."""
TOUCHED = 10_000
"""Keys that a batch touches of those stored."""


@dataclass(frozen=True)
class Point:
    """A run: what was changed, and what a batch of it took in seconds, the median."""

    at: int
    seconds: float


@dataclass(frozen=True)
class Axis:
    """A quantity that grows. ``measured`` runs the job at one of ``values``, and gives the seconds of a batch.
    ``note``: why it grows as it does."""

    name: str
    title: str
    unit: str
    values: Sequence[int]
    measured: Callable[[SparkSession, int], float]
    note: str = ""


def seconds_of_windows(
    spark: SparkSession, elements: int, keys: int, files: int, batches: int = BATCHES
) -> float:
    """The median of a batch of so many elements with so many keys, from so many files: a sum for each key and minute."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        written = 0
        for batch in range(batches):
            generator = np.random.default_rng([batch, elements, keys])
            table = pa.table(
                {
                    "key": generator.integers(0, keys, elements),
                    "at": batch * SPAN + np.arange(elements) * SPAN // elements,
                }
            )
            for file in range(files):
                part = table.slice(
                    file * elements // files,
                    (file + 1) * elements // files - file * elements // files,
                )
                path = directory / "elements" / f"{written:06d}.csv"
                path.parent.mkdir(exist_ok=True)
                pa.csv.write_csv(part, path, pa.csv.WriteOptions(include_header=False))
                written += 1
        env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark)
        env.enableCheckpointing(f"{directory}/checkpoint")
        source = fl.FileSource.forCsv(f"{directory}/elements", "key long, at long")
        strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
            lambda row, timestamp: row.at
        )
        counts = (
            env.fromSource(source.withFilesPerBatch(files), strategy, "elements")
            .map(lambda row: (row.key, 1))
            .keyBy(lambda one: one[0])
            .window(fl.TumblingEventTimeWindows.of(fl.Time.minutes(1)))
            .reduce(lambda a, b: (a[0], a[1] + b[1]))
        )
        counts.sinkTo(fl.FileSink.forCsv(f"{directory}/results", "key long, count long"))
        client = env.executeAsync("growth")
        query = micro_batches.running_query(spark)
        client.getJobExecutionResult()
        return median(micro_batches.batches_of(query).seconds[1:batches])


DOCUMENT = fl.ValueStateDescriptor("document", fl.Types.PRIMITIVE_ARRAY(fl.Types.BYTE()))
DOCUMENT_BYTES = 1_000


class MakeDocuments(fl.KeyedStateBootstrapFunction[int, Row]):
    """A document for each key, which cannot be compressed."""

    def open(self, openContext: fl.OpenContext) -> None:
        self.document = self.getRuntimeContext().getState(DOCUMENT)

    def processElement(self, value: Row, ctx: object) -> None:
        self.document.update(random.Random(value.id).randbytes(DOCUMENT_BYTES))


class Revise(fl.KeyedProcessFunction[int, int, int]):
    """Changes the document of each key."""

    def open(self, openContext: fl.OpenContext) -> None:
        self.document = self.getRuntimeContext().getState(DOCUMENT)

    def processElement(self, value: int, ctx: object, out: fl.Collector[int]) -> None:
        document = self.document.value()
        assert document is not None, "every key has one from the start"
        self.document.update(document[1:] + document[:1])


def write_documents(spark: SparkSession, directory: Path, keys: int, groups: int) -> None:
    """Write a savepoint of so many documents, in so many key groups."""
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark)
    made = fl.OperatorTransformation.bootstrapWith(spark.range(keys))
    documents = made.keyBy(lambda row: row.id).transform(MakeDocuments())
    writer = fl.SavepointWriter.newSavepoint(env, groups).withOperator("documents", documents)
    writer.write(f"{directory}/savepoint")


def run_documents(
    spark: SparkSession, directory: Path, keys: int, touched: int, batches: int = 1_000_000
) -> tuple[fl.JobClient, StreamingQuery]:
    """Start the job that goes on from that savepoint, and revises so many documents in a batch."""
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark)
    env.enableCheckpointing(f"{directory}/checkpoint").setSavepoint(f"{directory}/savepoint")
    env.getConfig().setElementsPerBatch(touched)
    numbers = env.fromSequence(0, batches * touched - 1).uid("numbers")
    revised = numbers.keyBy(lambda number: random.Random(number).randrange(keys))
    revised.process(Revise()).uid("documents").sinkTo(
        fl.FileSink.forCsv(f"{directory}/results", "count LONG")
    )
    client = env.executeAsync("documents")
    return client, micro_batches.running_query(spark)


def seconds_of_documents(spark: SparkSession, megabytes: int) -> float:
    """The median of a batch that revises TOUCHED documents, of so many megabytes of them on disk."""
    keys, batches = megabytes * 1_000_000 // DOCUMENT_BYTES, 8
    with tempfile.TemporaryDirectory() as name:
        write_documents(spark, Path(name), keys, groups=16)
        client, query = run_documents(spark, Path(name), keys, TOUCHED, batches)
        client.getJobExecutionResult()
        return median(micro_batches.batches_of(query).seconds[4:batches])


def seconds_of_stored(spark: SparkSession, keys: int) -> float:
    """The median of a batch that touches TOUCHED of so many keys, whose state is on disk."""
    return cost(spark, keys, TOUCHED, batches=8).seconds


AXES = (
    Axis(
        "keys",
        "a million elements a batch, with so many keys",
        "keys",
        [10**n for n in range(3, 8)],
        lambda spark, keys: seconds_of_windows(spark, 1_000_000, keys, 1),
    ),
    Axis(
        "batch",
        "so many elements a batch, with 1,000 keys",
        "elements",
        [10**n for n in range(4, 8)],
        lambda spark, elements: seconds_of_windows(spark, elements, 1_000, 1),
    ),
    Axis(
        "files",
        "a million elements a batch, from so many files",
        "files",
        [1, 10, 100, 1_000],
        lambda spark, files: seconds_of_windows(spark, 1_000_000, 1_000, files),
    ),
    Axis(
        "stored",
        f"{TOUCHED:,} elements a batch, of so many keys that are on disk",
        "keys stored",
        [10**n for n in range(4, 8)],
        seconds_of_stored,
    ),
    Axis(
        "bytes",
        f"{TOUCHED:,} documents of a kilobyte revised in a batch, of so many MB of them that are on disk",
        "MB stored",
        [10, 100, 1_000],
        seconds_of_documents,
        "A batch reads every page that has a key of it, and a page of values of a kilobyte has 64 of them. So 10,000 keys"
        " drawn at random touch all pages of 100 MB, and nearly half of those of 1,000 MB; Spark hands them to Python one by"
        " one, at a millisecond each ([decision 35](decisions/0035-pages-in-blocks.md)). [Ten times as"
        " much](scaling.md#ten-gigabytes-of-state) takes about as long: most keys have a page to themselves then.",
    ),
)


def chosen(given: Iterable[str]) -> list[Axis]:
    """The axes that were asked for, as in ``keys=1000,10000``; without a number its own, and without any all."""
    known = {axis.name: axis for axis in AXES}
    found = []
    for text in given:
        name, _, numbers = text.partition("=")
        axis = known.get(name)
        values = numbers.split(",") if numbers else []
        if axis is None or not all(value.isdigit() and int(value) for value in values):
            raise SystemExit(
                f"--growth {text!r}: write {', '.join(known)}, or one as keys=1000,10000."
            )
        found.append(
            Axis(
                axis.name,
                axis.title,
                axis.unit,
                list(map(int, values)) or axis.values,
                axis.measured,
                axis.note,
            )
        )
    return found or list(AXES)


def run(given: Sequence[str]) -> int:
    """Measure, and write the page."""
    spark = micro_batches.session()
    found: dict[str, list[Point]] = {}
    axes = chosen(given)
    seconds_of_windows(spark, 1_000, 100, 1, batches=WARM_UP)
    for axis in axes:
        axis.measured(spark, axis.values[0])  # what the session compiles and loads once
        points = found.setdefault(axis.name, [])
        for value in axis.values:
            points.append(Point(value, round(axis.measured(spark, value), 3)))
            print(json.dumps({"axis": axis.name, **asdict(points[-1])}), flush=True)
    place = BUILD if given else ROOT / "docs"
    place.mkdir(parents=True, exist_ok=True)
    page = place / "growth.md"
    page.write_text(written(axes, found, " ".join(["--growth", *given])), "utf-8")
    for axis in axes:
        plot(axis, found[axis.name], place / "images" / f"growth-{axis.name}.svg")
    print(f"Written: {page}")
    return 0


def written(axes: Sequence[Axis], found: dict[str, list[Point]], options: str) -> str:
    """The page docs/growth.md."""
    parts = [
        "# How cost grows\n\n"
        f"`python -m tests.benchmarks {options}` made this page, on {date.today().isoformat()}: sums of tumbling windows"
        " from CSV files into CSV files, with a checkpoint on disk each batch, and functions that change what is stored"
        " of some keys. A figure is the median of the batches of a run. Both axes of the plots are logarithmic: what grows in proportion"
        " goes up as the dotted line does."
    ]
    for axis in axes:
        rows = "\n".join(f"| {point.at:,} | {point.seconds:.2f} |" for point in found[axis.name])
        title = axis.title[0].upper() + axis.title[1:]
        parts.append(
            f"## {title}\n\n![Seconds a batch by {axis.unit}](images/growth-{axis.name}.svg)\n\n"
            f"| {axis.unit} | seconds a batch |\n|---|---|\n{rows}"
            + (f"\n\n{axis.note}" if axis.note else "")
        )
    return "\n\n".join(parts) + "\n"


def plot(axis: Axis, points: Sequence[Point], path: Path) -> None:
    """A plot of one axis, with a line of what grows in proportion."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.2), layout="constrained")
    axes = figure.subplots()
    at, seconds = [point.at for point in points], [point.seconds for point in points]
    axes.loglog(at, seconds, marker="o")
    axes.loglog(at, [seconds[0] * value / at[0] for value in at], linestyle=":", color="grey")
    axes.set_ylim(min(seconds) / 2, max(seconds) * 2)
    axes.set_xlabel(axis.unit)
    axes.set_ylabel("seconds a batch")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
