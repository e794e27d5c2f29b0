"""The program that ``tests.cluster.scale`` runs on a cluster: one job after the other in one session.

    python -m tests.cluster.scale_job MASTER EVENT_LOG OUTPUT FILES ELEMENTS JOB ...

It says "ready" and waits for a line before each job, and says as JSON how long the batches of the job took.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flinkish import (
    Collector,
    DataStream,
    ProcessWindowFunction,
    Row,
    Time,
    TimeWindow,
    TumblingEventTimeWindows,
    WindowContext,
)
from tests.benchmarks.inputs import INPUTS
from tests.benchmarks.jobs import JOBS, Job, StreamReader, SumAndCount
from tests.benchmarks.micro_batches import run_flinkish
from tests.benchmarks.results import digest
from tests.reliability.processes import ROOT, tree_of

SALTS = 16

WINDOWS = TumblingEventTimeWindows.of(Time.minutes(1))

Partial = tuple[str, int, int, int, int, int]
"""Key, end of the window, number, sum, lowest and highest."""


def skewed_key(row: Row) -> str:
    """Half of all elements have the same."""
    return "hot" if row.value < 500 else row.key


class Partials(ProcessWindowFunction[Row, Partial, Any, TimeWindow]):
    """What is known of the elements of a key in a window, from all of them."""

    def process(
        self,
        key: Any,
        context: WindowContext[TimeWindow],
        elements: Iterable[Row],
        out: Collector[Partial],
    ) -> None:
        values = [element.value for element in elements]
        name = key[0] if isinstance(key, tuple) else key
        numbers = len(values), sum(values), min(values), max(values)
        out.collect((name, context.window().end, *numbers))


def joined(one: Partial, other: Partial) -> Partial:
    """What is known of the elements of both."""
    return (
        *one[:2],
        one[2] + other[2],
        one[3] + other[3],
        min(one[4], other[4]),
        max(one[5], other[5]),
    )


def skewed_folded(read: StreamReader) -> DataStream[Any]:
    """An aggregate, of which a task folds the elements of a key before they cross."""
    return read("events").keyBy(skewed_key).window(WINDOWS).aggregate(SumAndCount())


def skewed(read: StreamReader) -> DataStream[Any]:
    """All elements of a key in one task."""
    return read("events").keyBy(skewed_key).window(WINDOWS).process(Partials())


def salted(read: StreamReader) -> DataStream[Any]:
    """Those of each key in up to ``SALTS`` tasks, and then what these have found."""
    return (
        read("events")
        .keyBy(lambda row: (skewed_key(row), row.at % SALTS))
        .window(WINDOWS)
        .process(Partials())
        .keyBy(lambda partial: partial[0])
        .window(WINDOWS)
        .reduce(joined)
    )


_PARTIALS = "key string, time long, count long, sum long, lowest long, highest long"

SKEWED = (
    Job("skewed_folded", "skewed, aggregate", ("events",), "sum long, count long", skewed_folded),
    Job("skewed", "skewed, all elements of a window", ("events",), _PARTIALS, skewed),
    Job("salted", "the same with 16 salts", ("events",), _PARTIALS, salted),
)

BY_NAME = {job.name: job for job in (*JOBS.values(), *SKEWED)}


@dataclass(frozen=True)
class JobRun:
    """What the program knows of a job: seconds of each batch and when it began, processor seconds of the driver with
    its JVM and the processes that plan sources, and a digest of the results."""

    job: str
    begins: list[float]
    seconds: list[float]
    driver: float
    results: str


def processor_seconds(pid: int) -> float:
    """Of a process and all below it, with those that have ended."""
    ticks = 0
    for process in tree_of(pid):
        fields = Path("/proc", str(process.pid), "stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def main(master: str, log: str, output: str, files: str, elements: str, *names: str) -> None:
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master(master)
        .config("spark.executor.memory", "512m")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        # The jobs are in modules of the tests, which nothing else brings there
        .config("spark.executorEnv.PYTHONPATH", str(ROOT))
        # A process with a small part of a core answers late
        .config("spark.python.authenticate.socketTimeout", "300s")
        .config("spark.network.timeout", "600s")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.rolling.enabled", "false")
        .config("spark.eventLog.compress", "false")
        .config("spark.eventLog.dir", Path(log).as_uri())
        .config("spark.sql.streaming.numRecentProgressUpdates", "10000")
        .getOrCreate()
    )
    spark.range(1 << 16).mapInArrow(lambda batches: batches, "id long").count()
    for name in names:
        job = BY_NAME[name]
        kept = Path(output).parent / "inputs"
        inputs = {made: INPUTS[made].write(kept, int(files), int(elements)) for made in job.inputs}
        print("ready", flush=True)
        sys.stdin.readline()
        before = processor_seconds(os.getpid())
        directory = Path(output) / name
        batches = run_flinkish(spark, job, inputs, FILES_PER_BATCH, directory)
        used = processor_seconds(os.getpid()) - before
        found = digest(directory / "results", job.results)
        run = JobRun(name, batches.begins, batches.seconds, round(used, 2), str(found))
        print(json.dumps(asdict(run)), flush=True)


FILES_PER_BATCH = 8
"""One for each worker, where there are most."""


if __name__ == "__main__":
    main(*sys.argv[1:])
