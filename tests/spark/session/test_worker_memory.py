"""The freed memory that the workers of Spark keep. In a worker: ``test_session.py``."""

from __future__ import annotations

from types import SimpleNamespace

import pyspark

from flinkish.spark.session.worker_python import set_worker_memory


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
