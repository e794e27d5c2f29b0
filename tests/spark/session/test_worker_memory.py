"""What the workers of Spark keep of the memory that they have freed."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pyspark

import flinkish as fl
from flinkish.spark.session.worker_memory import set_worker_memory

LIMITS = {"MALLOC_MMAP_THRESHOLD_": "33554432", "MALLOC_TRIM_THRESHOLD_": "67108864"}


def test_workers_start_with_glibcs_upper_limits(spark):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark)
    seen = []
    names = env.fromElements(*LIMITS).map(lambda name: (name, os.environ.get(name)))
    names.forEachBatch(lambda values, batch: seen.extend(values))
    env.execute()
    assert dict(seen) == LIMITS


def test_what_the_user_has_set_stays(monkeypatch):
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "1048576")
    variables = {"MALLOC_TRIM_THRESHOLD_": "131072"}
    context = SimpleNamespace(environment=variables)
    monkeypatch.setattr(pyspark.SparkContext, "getOrCreate", lambda: context)
    set_worker_memory()
    assert variables == {
        "MALLOC_MMAP_THRESHOLD_": "1048576",
        "MALLOC_TRIM_THRESHOLD_": "131072",
    }
