"""One server for all tests, and a session of it. No other session may be in the process, as pyspark's functions are
those of one kind."""

from __future__ import annotations

import uuid

import pytest

import flinkish as fl
from tests.spark.connect.server import ConnectServer


class Sessions:
    """The session of the tests: another one once the server was started again."""

    def __init__(self, server):
        self._server = server
        self._started = 0
        self._session = None

    def current(self):
        from pyspark.sql import SparkSession

        if self._started != self._server.started:
            self._started = self._server.started
            self._session = SparkSession.builder.remote(self._server.url).create()
        return self._session

    def close(self):
        if self._session is not None:
            self._session.stop()


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    started = ConnectServer(tmp_path_factory.mktemp("connect") / "server")
    yield started
    started.kill()


@pytest.fixture(scope="session")
def sessions(server):
    found = Sessions(server)
    yield found
    found.close()


@pytest.fixture
def remote(sessions):
    return sessions.current()


@pytest.fixture
def env(remote):
    """An environment on the server, with two tasks and four key groups."""
    environment = fl.StreamExecutionEnvironment.getExecutionEnvironment(remote)
    return environment.setParallelism(2).setMaxParallelism(4)


@pytest.fixture
def there(server):
    """A new directory of the server's."""
    directory = server.directory / f"test-{uuid.uuid4().hex[:8]}"
    directory.mkdir()
    return directory
