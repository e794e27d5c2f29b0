"""How large a checkpoint becomes in a run of many small batches: ``python -m tests.reliability.checkpoint_size``.

The state of all keys is there from the first batch on, made by a ``SavepointWriter``; each batch then changes
that of a few. A line of JSON for every so many batches says how large the checkpoint is, and what in it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import flinkish as fl

CHECKPOINT = "checkpoint"
COUNT = fl.ValueStateDescriptor("count", fl.Types.LONG())


class MakeCounts(fl.KeyedStateBootstrapFunction):
    """A count of one for each key."""

    def open(self, openContext):
        self.count = self.getRuntimeContext().getState(COUNT)

    def processElement(self, value, ctx):
        self.count.update(1)


class Count(fl.KeyedProcessFunction):
    """Counts the elements of each key."""

    def open(self, openContext):
        self.count = self.getRuntimeContext().getState(COUNT)

    def processElement(self, value, ctx, out):
        self.count.update((self.count.value() or 0) + 1)


@dataclass(frozen=True)
class Size:
    """The size of a checkpoint after a batch, in bytes and files; ``seconds`` since the job
    began."""

    batch: int
    seconds: float
    total: int
    state: int
    logs: int
    files: int


def size_of(checkpoint: Path, batch: int, seconds: float) -> Size:
    """The size of a checkpoint at this moment."""
    state = logs = files = 0
    for file in checkpoint.rglob("*"):
        try:
            size = file.stat().st_size if file.is_file() else None
        except FileNotFoundError:  # it was just removed
            continue
        if size is not None:
            files += 1
            if "/query/state/" in str(file):
                state += size
            else:
                logs += size
    return Size(batch, round(seconds, 1), state + logs, state, logs, files)


def counts_of(spark, directory: Path, keys: int, batches: int, perBatch: int):
    """A job whose batches each count elements of some keys, drawn at random: its environment, and the counts. The
    state of all keys is there at its start, from a savepoint below ``directory``."""
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark)
    made = fl.OperatorTransformation.bootstrapWith(spark.range(keys))
    made = made.keyBy(lambda row: row.id).transform(MakeCounts())
    savepoint = f"{directory}/savepoint"
    fl.SavepointWriter.newSavepoint(env, 16).withOperator("counts", made).write(savepoint)
    env.enableCheckpointing(f"{directory}/{CHECKPOINT}").setSavepoint(savepoint)
    env.getConfig().setElementsPerBatch(perBatch)
    numbers = env.fromSequence(0, batches * perBatch - 1).uid("numbers")

    def key(number: int) -> int:
        return random.Random(number).randrange(keys)

    return env, numbers.keyBy(key).process(Count()).uid("counts")


def sizes(
    spark, directory: Path, keys: int, batches: int, perBatch: int, every: int, seconds: float
) -> Iterator[Size]:
    """Run the job, and yield the size after every so many batches."""
    env, counts = counts_of(spark, directory, keys, batches, perBatch)
    counts.forEachBatch(lambda values, batch: None)
    checkpoint = directory / CHECKPOINT
    client = env.executeAsync("checkpoint size")
    began, measured = time.monotonic(), 0
    commits = checkpoint / "query" / "commits"
    while client.getJobStatus() is fl.JobStatus.RUNNING:
        done = max((int(f.name) + 1 for f in commits.glob("[0-9]*")), default=0)
        passed = time.monotonic() - began
        if done >= measured + every:
            measured = done
            yield size_of(checkpoint, done, passed)
        if passed > seconds:
            client.stopWithSavepoint()
        time.sleep(0.02)
    client.getJobExecutionResult()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=3_000_000)
    parser.add_argument("--batches", type=int, default=2_000)
    parser.add_argument("--elements", type=int, default=500, help="in a batch")
    parser.add_argument("--every", type=int, default=100, help="batches between two lines")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--retain", type=int, default=100, help="batches that Spark keeps")
    parser.add_argument("--maintenance", default="60s", help="how often Spark removes old files")
    given = parser.parse_args()

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    streaming = "spark.sql.streaming"
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config(f"{streaming}.minBatchesToRetain", given.retain)
        .config(f"{streaming}.stateStore.maintenanceInterval", given.maintenance)
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as directory:
        for size in sizes(
            spark,
            Path(directory),
            given.keys,
            given.batches,
            given.elements,
            given.every,
            given.seconds,
        ):
            print(json.dumps(asdict(size)), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
