"""The two sides that run on Spark: flinkish, and Spark's own operators. Both in one session, with the same settings.

A figure is wall time from where the first batch that counts begins to the end of the last one, so what passes between
batches counts too. The batches before them warm up.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from flinkish import DataStream, FileSink, FileSource, Row, StreamExecutionEnvironment
from flinkish.spark.session.session import job_settings, session_for
from tests.benchmarks.inputs import END_FILES, INPUTS, LATENESS, elements_of
from tests.benchmarks.jobs import BOUNDED, Job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


Side = Callable[["SparkSession", Job, Mapping[str, Path], int, Path], "Batches | None"]
"""Runs a job: session, job, inputs, files a batch, output. None: it was not done in time."""


@dataclass(frozen=True)
class Batches:
    """The durations of the batches of a query, and the times at which they began, in seconds."""

    begins: list[float]
    seconds: list[float]
    steps: list[dict[str, int]]
    """Spark's own account of each batch: ms by step."""

    def wall(self, first: int, last: int) -> float:
        """The time from the beginning of batch ``first`` to the end of batch ``last - 1``."""
        return self.begins[last - 1] + self.seconds[last - 1] - self.begins[first]

    def a_batch(self, first: int) -> float:
        """Return the median duration of the batches from batch ``first`` on."""
        return median(self.seconds[first:])

    def largest_steps(self, first: int) -> str:
        """Return the time that those batches spent in each phase, by Spark's own account."""
        totals = Counter[str]()
        for steps in self.steps[first:]:
            totals.update({name: ms for name, ms in steps.items() if name != "triggerExecution"})
        whole = sum(self.seconds[first:]) * 1000 or 1
        shares = [f"{name} {ms / whole:.0%}" for name, ms in totals.most_common(3)]
        return ", ".join(shares)


def session() -> SparkSession:
    """The session of both sides."""
    spark = session_for(None)
    # A batch each; the usual hundred would forget the first of a long run
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", 10_000)
    return spark


_SOURCES = {"csv": FileSource.forCsv, "json": FileSource.forJson, "parquet": FileSource.forParquet}
_SINKS = {"csv": FileSink.forCsv, "json": FileSink.forJson, "parquet": FileSink.forParquet}


def run_flinkish(
    spark: SparkSession, job: Job, inputs: Mapping[str, Path], filesPerBatch: int, output: Path
) -> Batches:
    """Run the job on flinkish; its results are in ``output``."""
    env = StreamExecutionEnvironment.getExecutionEnvironment(spark)
    env.enableCheckpointing(str(output / "checkpoint"))

    def read(name: str, strategy: Any = BOUNDED, split: str | None = None) -> DataStream[Row]:
        opened = _SOURCES[job.format](str(elements_of(inputs[name])), INPUTS[name].schema)
        source = opened.withFilesPerBatch(filesPerBatch)
        if split is not None:
            source = source.withSplits(split)
        return env.fromSource(source, strategy, name)

    job.flinkish(read).sinkTo(_SINKS[job.format](str(output / "results"), job.results))
    client = env.executeAsync(job.name)
    query = running_query(spark)
    client.getJobExecutionResult()
    return batches_of(query)


def run_spark(
    spark: SparkSession,
    job: Job,
    inputs: Mapping[str, Path],
    filesPerBatch: int,
    output: Path,
    patience: float,
) -> Batches | None:
    """Run the job's twin of Spark's own operators; after ``patience`` seconds it is ended."""
    from pyspark.sql import functions as F

    assert job.spark is not None
    assert filesPerBatch < END_FILES

    def read(name: str) -> DataFrame:
        # The elements, and those that end the input.
        rows = spark.readStream.schema(INPUTS[name].schema).option(
            "maxFilesPerTrigger", filesPerBatch
        )
        found = rows.format(job.format).load(f"{inputs[name]}/{{elements,end}}")
        timed = found.withColumn("time", F.timestamp_millis("at"))
        return timed.withWatermark("time", f"{LATENESS} milliseconds")

    with job_settings(spark, None, localCheckpoint=True):
        query = (
            job.spark(read)
            .writeStream.format(job.format)
            .option("path", str(output / "results"))
            .option("checkpointLocation", str(output / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        if not query.awaitTermination(patience):
            query.stop()
            return None
    return batches_of(query)


def running_query(spark: SparkSession) -> StreamingQuery:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        active = spark.streams.active
        if active:
            return active[0]
        time.sleep(0.01)
    raise TimeoutError("the query of the job did not start within a minute")


def batches_of(query: StreamingQuery) -> Batches:
    progress = [each for each in query.recentProgress if each["numInputRows"] > 0]
    begins = [datetime.fromisoformat(each["timestamp"]).timestamp() for each in progress]
    steps = [dict(each["durationMs"]) for each in progress]
    return Batches(begins, [step["triggerExecution"] / 1000 for step in steps], steps)
