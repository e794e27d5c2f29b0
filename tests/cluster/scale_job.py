"""The program that ``tests.cluster.scale`` runs on a cluster: one job after the other in one session.

    python -m tests.cluster.scale_job MASTER EVENT_LOG OUTPUT FILES ELEMENTS JOB ...

The variable ``BROKER`` has the address of one for the job with Kafka. It says "ready" and waits for a line before each job, and says as JSON how long the batches of the job took.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from flinkish import (
    Collector,
    DataStream,
    DeliveryGuarantee,
    ProcessWindowFunction,
    Row,
    StreamExecutionEnvironment,
    Time,
    TimeWindow,
    TumblingEventTimeWindows,
    WindowContext,
)
from tests.benchmarks.inputs import INPUTS
from tests.benchmarks.jobs import JOBS, Job, StreamReader, SumAndCount
from tests.benchmarks.micro_batches import Batches, batches_of, run_flinkish, running_query
from tests.benchmarks.results import digest
from tests.reliability.processes import ROOT, tree_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SALTS = 16

WINDOWS = TumblingEventTimeWindows.of(Time.minutes(1))

Partial = tuple[str, int, int, int, int, int]
"""Key, end of the window, number, sum, lowest and highest."""


def skewed_key(row: Row) -> str:
    """Half of all elements have the same."""
    return "hot" if row.value < 500 else row.key


class Partials(ProcessWindowFunction[Row, Partial, Any, TimeWindow]):
    """Computes the partial aggregate of all elements of a key in a window."""

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
    """Combine the partial aggregates of the elements of both."""
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
    """Aggregate each key in up to ``SALTS`` tasks, and then their partial aggregates."""
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

KAFKA = "kafka"

TITLES = {
    **{name: job.title for name, job in BY_NAME.items()},
    KAFKA: "Kafka to Kafka, sums of windows, at least once",
}


@dataclass(frozen=True)
class JobRun:
    """The figures of a job: seconds of each batch and when it began, processor seconds of the driver with its JVM and
    the processes that plan sources, and a digest of the results."""

    job: str
    begins: list[float]
    seconds: list[float]
    driver: float
    results: str


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process and all below it, including those that have ended."""
    ticks = 0
    for process in tree_of(pid):
        # It may have ended since
        with suppress(FileNotFoundError, ProcessLookupError):
            stat = Path("/proc", str(process.pid), "stat").read_text()
            ticks += sum(map(int, stat.rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


class Prepared(Protocol):
    """A job whose input is there."""

    def run(self) -> Batches: ...

    def results(self) -> str:
        """A digest of what it has put out."""


class OfFiles:
    """A job of the benchmark, over files of so many elements."""

    def __init__(
        self, spark: SparkSession, job: Job, output: Path, files: int, elements: int
    ) -> None:
        self._spark = spark
        self._job = job
        self._directory = output / job.name
        kept = output.parent / "inputs"
        self._inputs = {made: INPUTS[made].write(kept, files, elements) for made in job.inputs}

    def run(self) -> Batches:
        return run_flinkish(self._spark, self._job, self._inputs, FILES_PER_BATCH, self._directory)

    def results(self) -> str:
        return str(digest(self._directory / "results", self._job.results))


class OfTopic:
    """Sums by user in windows of ten seconds, from a topic with as many partitions as there are files in a batch to
    another."""

    def __init__(
        self, spark: SparkSession, servers: str, output: Path, files: int, elements: int
    ) -> None:
        from tests.kafka.benchmark import message
        from tests.kafka.topics import Topics

        self._spark = spark
        self._checkpoint = str(output / KAFKA / "checkpoint")
        self._servers = servers
        self._elements = elements * FILES_PER_BATCH
        self._topics = Topics(servers)
        self._topic = f"scale-{uuid.uuid4().hex[:8]}"
        self._sums = f"{self._topic}-sums"
        self._topics.create(self._topic, FILES_PER_BATCH)
        self._topics.create(self._sums, FILES_PER_BATCH)
        for partition in range(FILES_PER_BATCH):
            numbers = range(partition, files * elements, FILES_PER_BATCH)
            self._topics.send(self._topic, partition, map(message, numbers))

    def run(self) -> Batches:
        from tests.kafka.benchmark import sales, sink_of, sums_by_user

        env = StreamExecutionEnvironment.getExecutionEnvironment(self._spark)
        env.enableCheckpointing(self._checkpoint)
        env.getConfig().setElementsPerBatch(self._elements)
        sums = sums_by_user(sales(env, self._servers, self._topic))
        sums.sinkTo(sink_of(self._servers, self._sums, DeliveryGuarantee.AT_LEAST_ONCE))
        client = env.executeAsync(KAFKA)
        query = running_query(self._spark)
        client.getJobExecutionResult()
        return batches_of(query)

    def results(self) -> str:
        found = sorted(message.value() for message in self._topics.read(self._sums))
        return f"{len(found):,} results, hash {sha256(b' '.join(found)).hexdigest()[:16]}"


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
        size = int(files), int(elements)
        job: Prepared = (
            OfTopic(spark, os.environ["BROKER"], Path(output), *size)
            if name == KAFKA
            else OfFiles(spark, BY_NAME[name], Path(output), *size)
        )
        print("ready", flush=True)
        sys.stdin.readline()
        before = processor_seconds(os.getpid())
        batches = job.run()
        used = processor_seconds(os.getpid()) - before
        run = JobRun(name, batches.begins, batches.seconds, round(used, 2), job.results())
        print(json.dumps(asdict(run)), flush=True)


FILES_PER_BATCH = 8
"""One for each worker, where there are most."""


if __name__ == "__main__":
    main(*sys.argv[1:])
