"""One server for all tests, and a session of it. No other session may be in the process, as pyspark's functions are
those of one kind."""

from __future__ import annotations

import pytest

import flinkish as fl
from tests.spark.connect.server import ConnectServer


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    started = ConnectServer(tmp_path_factory.mktemp("connect") / "server")
    yield started
    started.kill()


@pytest.fixture(scope="session")
def remote(server):
    from pyspark.sql import SparkSession

    session = SparkSession.builder.remote(server.url).create()
    yield session
    session.stop()


@pytest.fixture
def env(remote):
    """An environment on the server, with two tasks and four key groups."""
    environment = fl.StreamExecutionEnvironment.getExecutionEnvironment(remote)
    return environment.setParallelism(2).setMaxParallelism(4)
