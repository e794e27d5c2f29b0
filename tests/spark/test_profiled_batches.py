"""Uses of a SparkContext, on a session of Spark Connect, which has none. No server here: the session is of pyspark's
class, and not connected."""

from __future__ import annotations

import logging

import pytest
from pyspark import SparkContext

from flinkish.spark.profiled_batches import profiled_jobs, spark_ui

connect = pytest.importorskip("pyspark.sql.connect.session", reason="the extra connect is missing")


@pytest.fixture
def remote(monkeypatch):
    def started(*_args, **_kwargs):
        raise AssertionError("this would start a Spark in the client's process")

    monkeypatch.setattr(SparkContext, "getOrCreate", started)
    monkeypatch.setattr(SparkContext, "__init__", started)
    return object.__new__(connect.SparkSession)


def test_over_connect_there_is_no_page_of_sparks_and_no_profile(remote, caplog):
    assert spark_ui(remote) is None
    ran = []
    with caplog.at_level(logging.WARNING, "flinkish"), profiled_jobs(remote):
        ran.append("the batch")
    assert ran == ["the batch"]
    assert "no batch can be profiled, as this session has no SparkContext" in caplog.text
