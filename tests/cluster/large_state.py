"""A job with a large state on a cluster: ``python -m tests.cluster.large_state [--megabytes 10000] [--minutes 60]``.

The state is documents of a kilobyte, made by a ``SavepointWriter``. Each batch revises some of them, drawn at random, as in
docs/growth.md. A line of JSON for each part of the run says how long its batches took, where Spark says the time went, how
much memory the executors had, and how large the checkpoint was.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from tests.benchmarks.growth import DOCUMENT_BYTES, run_documents, write_documents
from tests.benchmarks.micro_batches import batches_of
from tests.cluster.standalone import StandaloneCluster
from tests.reliability.checkpoint_size import size_of
from tests.reliability.processes import ROOT, tree_of
from tests.reliability.soak import pss_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTS = 6
"""Into so many the run is cut."""


@dataclass(frozen=True)
class Part:
    """A part of the run: the minutes since its begin, the median of its batches and the longest in seconds, and MB at its
    end: of the checkpoint, and of the memory of all executors with their workers."""

    minutes: float
    batches: int
    seconds: float
    longest: float
    steps: str
    checkpoint: int
    memory: int


def session(master: str, memory: str, retained: int) -> SparkSession:
    """A session on the cluster, whose executors have that much memory each, and whose checkpoints go
    back so many batches."""
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master(master)
        .config("spark.executor.memory", memory)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        # The job is in a module of the tests, which nothing else brings there
        .config("spark.executorEnv.PYTHONPATH", str(ROOT))
        .config("spark.sql.streaming.numRecentProgressUpdates", "10000")
        .config("spark.sql.streaming.minBatchesToRetain", str(retained))
        .getOrCreate()
    )


def megabytes(directory: Path) -> int:
    """The size of all files below ``directory``."""
    return size_of(directory, 0, 0).total // 1_000_000


def parts(
    spark: SparkSession, directory: Path, given: argparse.Namespace, workers: Sequence[int]
) -> Iterator[Part]:
    """Run the job for the given minutes, and give a part at a time."""
    begun = time.monotonic()
    client, query = run_documents(
        spark, directory, given.megabytes * 1_000_000 // DOCUMENT_BYTES, given.touched
    )
    done = 1
    for number in range(1, PARTS + 1):
        query.awaitTermination(begun + number * given.minutes * 60 / PARTS - time.monotonic())
        batches = batches_of(query)
        seconds = batches.seconds[done:]
        processes = [process for worker in workers for process in tree_of(worker)[1:]]
        yield Part(
            round((time.monotonic() - begun) / 60, 1),
            len(seconds),
            round(median(seconds or [0.0]), 2),
            round(max(seconds, default=0.0), 2),
            batches.largest_steps(done),
            megabytes(directory / "checkpoint"),
            sum(pss_of(process.pid) for process in processes) >> 10,
        )
        done += len(seconds)
    client.cancel()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.large_state")
    parser.add_argument("--megabytes", type=int, default=10_000, help="of documents")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument(
        "--touched", type=int, default=10_000, help="documents that a batch revises"
    )
    parser.add_argument("--groups", type=int, default=16, help="key groups")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="3g", help="of an executor")
    parser.add_argument("--retained", type=int, default=100, help="batches that a checkpoint keeps")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        directory = Path(name)
        cluster = StandaloneCluster(directory / "cluster", given.workers, given.memory)
        stack.callback(cluster.close)
        os.environ.update(cluster.environment())
        spark = session(cluster.master, given.memory, given.retained)
        begun = time.monotonic()
        write_documents(
            spark, directory, given.megabytes * 1_000_000 // DOCUMENT_BYTES, given.groups
        )
        print(
            json.dumps(
                {
                    "written": round(time.monotonic() - begun),
                    "savepoint": megabytes(directory / "savepoint"),
                }
            ),
            flush=True,
        )
        for part in parts(spark, directory, given, [worker.pid for worker in cluster.workers]):
            print(json.dumps(asdict(part)), flush=True)
        spark.stop()


if __name__ == "__main__":
    main()
