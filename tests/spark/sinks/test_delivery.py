"""Batches that a server of Spark Connect stores, without a server."""

from __future__ import annotations

import threading
from typing import Any, cast

from flinkish.spark.sinks import delivery
from flinkish.spark.sinks.delivery import StoredBatches


class GoneServer:
    """A server that is gone: calls try again until the client is closed."""

    def __init__(self):
        self.closed = threading.Event()

    def listens(self):
        return False

    def close(self):
        self.closed.set()

    def answer(self):
        assert self.closed.wait(60), "the client was not closed"
        raise ValueError("the channel is closed")


class GoneQuery:
    """A query of that server."""

    def __init__(self, server):
        self._server = server
        self.asked = threading.Event()

    @property
    def lastProgress(self):
        self.asked.set()
        return self._server.answer()


class NoCheckpoint:
    """A checkpoint in which there is nothing yet."""

    path = "file:/nowhere"

    def readText(self, place):
        return None

    def lastBatch(self, commits):
        return None

    def writeText(self, place, text):
        pass


def test_what_waits_for_a_server_that_is_gone_ends_with_its_query(monkeypatch):
    """The query may hear first that the server is gone, while the thread of the sinks still waits for an answer."""
    monkeypatch.setattr(delivery, "_WATCH_SECONDS", 0.05)
    monkeypatch.setattr(delivery, "_GONE_SECONDS", 0.1)
    server = GoneServer()
    query: Any = GoneQuery(server)
    batches = StoredBatches(cast(Any, None), cast(Any, server), cast(Any, NoCheckpoint()))
    batches.started(lambda: query)
    assert query.asked.wait(20)
    finished = threading.Thread(target=batches.finish, daemon=True)
    finished.start()
    finished.join(20)
    assert not finished.is_alive()
    assert server.closed.is_set()
