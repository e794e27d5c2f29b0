"""The cost of a batch that touches a few keys of many: ``python -m tests.benchmarks.stored_keys``.

For each number of keys the state of all of them is made by a ``SavepointWriter``, and a job goes on from there
whose batches each touch some of them, drawn at random. A line of JSON says how long a batch takes, and how much
memory its workers have.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import flinkish as fl
from tests.benchmarks.micro_batches import batches_of, running_query, session
from tests.reliability.checkpoint_size import counts_of
from tests.reliability.processes import tree_of
from tests.reliability.soak import pss_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WARM_UP = 4


@dataclass(frozen=True)
class Cost:
    """The cost of a batch with ``keys`` stored: seconds, their median after the warm-up, and the
    most MB that the workers had together (``PSS``: what processes share counts once)."""

    keys: int
    seconds: float
    workers: int


class WorkerMemory:
    """The most that the Python processes below this one have, sampled while the block runs."""

    def __init__(self, driver: int) -> None:
        self._driver = driver
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.most = 0

    def __enter__(self) -> WorkerMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(1):
            workers = [
                process.pid
                for process in tree_of(self._driver)
                if process.pid != self._driver and "org.apache.spark" not in process.command
            ]
            self.most = max(self.most, sum(map(pss_of, workers)) >> 10)


def cost(spark: SparkSession, keys: int, touched: int, batches: int) -> Cost:
    """Run the job on so many keys."""
    with tempfile.TemporaryDirectory() as directory:
        env, counts = counts_of(spark, Path(directory), keys, batches, touched)
        counts.sinkTo(fl.FileSink.forCsv(f"{directory}/results", "count LONG"))
        client = env.executeAsync(f"{keys} keys")
        query = running_query(spark)
        with WorkerMemory(os.getpid()) as memory:
            client.getJobExecutionResult()
        seconds = batches_of(query).seconds[WARM_UP:]
    return Cost(keys, round(median(seconds), 2), memory.most)


def main() -> None:
    """Print a line for each number of keys."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, nargs="*", default=[50_000, 500_000, 5_000_000])
    parser.add_argument("--touched", type=int, default=10_000, help="keys that a batch touches")
    parser.add_argument("--batches", type=int, default=16)
    given = parser.parse_args()
    spark = session()
    for keys in given.keys:
        print(json.dumps(asdict(cost(spark, keys, given.touched, given.batches))), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
