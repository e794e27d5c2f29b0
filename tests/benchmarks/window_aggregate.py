"""Times a tumbling aggregate against Spark's own, on the same CSV files in the same run.

    python -m tests.benchmarks.window_aggregate [--keys 1000 1000000] [--batches 20] [--elements 1000000]

Each batch is one file. The first half of them warms up and is not counted; the figure is the median
of the other half, from Spark's own account of how long each batch took.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from flinkish import (
    AggregateFunction,
    FileSource,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    WatermarkStrategy,
)
from flinkish.api.types.row import Row
from flinkish.spark.session.session import JOB_SETTINGS, session_for

SCHEMA = "key string, value long, at long"
WINDOW = 60_000
LATENESS = 5_000


class SumAndCount(AggregateFunction[Row, tuple[int, int], tuple[int, int]]):
    """The sum and the number of values."""

    def createAccumulator(self) -> tuple[int, int]:
        return (0, 0)

    def add(self, value: Row, accumulator: tuple[int, int]) -> tuple[int, int]:
        return (accumulator[0] + value.value, accumulator[1] + 1)

    def getResult(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator


def write_input(directory: Path, keys: int, batches: int, elements: int) -> None:
    """One CSV file a batch, each of two windows' time, out of order within the lateness."""
    random = np.random.default_rng(7)
    names = np.array([f"key-{i}" for i in range(keys)])
    for batch in range(batches):
        times = np.arange(elements) * (2 * WINDOW) // elements + batch * 2 * WINDOW
        table = pa.table(
            {
                "key": pa.array(names[random.integers(0, keys, elements)]),
                "value": random.integers(0, 1000, elements),
                "at": times - random.integers(0, LATENESS, elements),
            }
        )
        pa.csv.write_csv(
            table, directory / f"{batch:03d}.csv", pa.csv.WriteOptions(include_header=False)
        )


def run_flinkish(session: Any, source: Path) -> tuple[list[float], int]:
    """Seconds of each batch, and the sum of all results."""
    environment = StreamExecutionEnvironment.getExecutionEnvironment(session)
    total = [0]

    def add(results: list[tuple[int, int]], batch: int) -> None:
        total[0] += sum(result[0] for result in results)

    strategy = WatermarkStrategy.forBoundedOutOfOrderness(LATENESS).withTimestampAssigner(
        lambda row, timestamp: row.at
    )
    files = FileSource.forCsv(str(source), SCHEMA).withFilesPerBatch(1)
    (
        environment.fromSource(files, strategy, "CSV")
        .keyBy(lambda row: row.key)
        .window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW)))
        .aggregate(SumAndCount())
        .forEachBatch(add)
    )
    client = environment.executeAsync("flinkish")
    query = client._query  # type: ignore[attr-defined]
    client.getJobExecutionResult()
    return _batch_seconds(query), total[0]


def run_spark(session: Any, source: Path) -> tuple[list[float], int]:
    """The same with Spark's own watermark and aggregation."""
    from pyspark.sql import functions as F

    total = [0]

    def add(frame: Any, batch: int) -> None:
        total[0] += sum(row[1] for row in frame.collect())

    rows = session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).csv(str(source))
    timed = rows.withColumn("time", F.timestamp_millis("at"))
    windowed = timed.withWatermark("time", f"{LATENESS} milliseconds").groupBy(
        F.window("time", f"{WINDOW} milliseconds"), "key"
    )
    results = windowed.agg(F.sum("value").alias("sum"), F.count("value").alias("count"))
    checkpoint = tempfile.mkdtemp(prefix="benchmark-")
    query = (
        results.select("key", "sum", "count")
        .writeStream.foreachBatch(add)
        .option("checkpointLocation", checkpoint)
        .start()
    )
    query.processAllAvailable()
    query.stop()
    shutil.rmtree(checkpoint, ignore_errors=True)
    return _batch_seconds(query), total[0]


def _batch_seconds(query: Any) -> list[float]:
    progress = [p for p in query.recentProgress if p["numInputRows"] > 0]
    return [p["durationMs"]["triggerExecution"] / 1000 for p in progress]


def _steady(seconds: list[float]) -> float:
    return statistics.median(seconds[len(seconds) // 2 :])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, nargs="+", default=[1_000, 1_000_000])
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--elements", type=int, default=1_000_000)
    arguments = parser.parse_args()
    session = session_for(None)
    for name, value in JOB_SETTINGS.items():
        session.conf.set(name, value)
    print("| keys | flinkish s/batch | elements/s | Spark s/batch | elements/s | ratio |")
    print("|---|---|---|---|---|---|")
    for keys in arguments.keys:
        directory = Path(tempfile.mkdtemp(prefix="benchmark-input-"))
        write_input(directory, keys, arguments.batches, arguments.elements)
        ours, total = run_flinkish(session, directory)
        theirs, _ = run_spark(session, directory)
        shutil.rmtree(directory)
        a, b = _steady(ours), _steady(theirs)
        n = arguments.elements
        print(f"| {keys:,} | {a:.2f} | {n / a:,.0f} | {b:.2f} | {n / b:,.0f} | {b / a:.2f} |")
        print(f"  batches: flinkish {ours}, Spark {theirs}; sum of results {total:,}")


if __name__ == "__main__":
    main()
