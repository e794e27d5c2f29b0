"""A job with state and timers of several kinds that stops with a savepoint in a store, and goes on from it.

``python -m tests.cluster.moved_job SAVEPOINT`` says as JSON what both runs have given.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

import flinkish as fl
from tests.savepoint_jobs import Run, gone_on

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


def stopped(savepoint: str) -> list[Any]:
    """The results up to the savepoint."""
    run, env = Run(), environment(2)
    run.build(env, KINDS, COUNT, holdAt=20)
    client = env.executeAsync()
    assert run.reached.wait(PATIENCE), "the job read too few elements"
    threading.Timer(0.5, run.goOn.set).start()
    client.stopWithSavepoint(savepoint)
    return run.results


def main(savepoint: str) -> None:
    before = stopped(savepoint)
    after = gone_on(environment(3), KINDS, COUNT, savepoint)
    print(json.dumps(sorted(map(repr, before + after))))


if __name__ == "__main__":
    main(sys.argv[1])
