"""A job with state and timers of several kinds that stops with a savepoint in a store, and goes on from it.

``python -m tests.cluster.moved_job SAVEPOINT`` says as JSON what both runs have given.
"""

from __future__ import annotations

import json
import sys

import flinkish as fl
from tests.savepoint_jobs import gone_on, stopped

COUNT = 60

KINDS = ["totals", "sessions", "priced"]

PATIENCE = 300.0


def environment(parallelism: int) -> fl.StreamExecutionEnvironment:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.memory", "1g").getOrCreate()
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(session)
    env.getConfig().setElementsPerBatch(15)
    return env.setParallelism(parallelism).setMaxParallelism(4)


def main(savepoint: str) -> None:
    before = stopped(environment(2), KINDS, COUNT, 20, savepoint, PATIENCE)
    after = gone_on(environment(3), KINDS, COUNT, savepoint)
    print(json.dumps(sorted(map(repr, before + after))))


if __name__ == "__main__":
    main(sys.argv[1])
