"""Delivers the batches of a query to the sinks of its job: Spark's driver in this process calls
them, or a server stores each batch and this process reads it."""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from pyspark.cloudpickle import register_pickle_by_value

from flinkish.api.errors import IncompatibleCheckpointError
from flinkish.spark.checkpoint.storage import CheckpointStorage
from flinkish.spark.connect import results
from flinkish.spark.connect.results import DELIVERED, NOTHING, RING, StoreBatch, place_of
from flinkish.spark.frame_rows import FRAME_SCHEMA
from flinkish.spark.session.connect_server import ConnectServer
from flinkish.spark.session.drivers import driver_of
from flinkish.spark.session.quiet_logs import quiet_py4j
from flinkish.spark.sinks.batch_sinks import BatchSinks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

# The process that calls it does not find the archives of the session
register_pickle_by_value(results)  # type: ignore[no-untyped-call]

_LOG = logging.getLogger("flinkish")

_POLL_SECONDS = 0.1

_WATCH_SECONDS = 1.0

_GONE_SECONDS = 10.0
"""The time that nothing may listen at a server's address before its jobs are given up."""

_NOTED_EVERY = RING // 4

_IDLE_SECONDS = 1.0
"""After so long without a batch, the last batch is recorded."""

_STARTS = 30
"""The number of attempts if the server is too busy to start a process."""

_SLOW = "Timed out while waiting for the Python worker to connect back"

COMMITS = "query/commits"
"""Spark's log of the batches that are committed."""


class Delivery(ABC):
    """Brings the batches of one run of a query to ``sinks``."""

    def __init__(self, sinks: BatchSinks, storage: CheckpointStorage) -> None:
        self._sinks = sinks
        self._storage = storage

    @abstractmethod
    def writerOf(self, frames: DataFrame) -> DataStreamWriter:
        """The writer that starts the query."""

    def started(self, start: Callable[[], StreamingQuery]) -> StreamingQuery:
        return start()

    @abstractmethod
    def stopAfterBatch(self, query: StreamingQuery, stopped: Callable[[], bool]) -> None:
        """Wait until the running batch is committed. The next one waits until the query is
        ``stopped``, or is given up."""

    def finish(self) -> None:
        """Called when the query has ended: deliver the batches that were committed before."""

    @abstractmethod
    def lastBatch(self) -> int | None:
        """The last batch that was committed and delivered to the sinks, None if there is none."""


class CalledSinks(Delivery):
    """Spark's driver, in this process, calls the sinks with each batch before it commits it."""

    def writerOf(self, frames: DataFrame) -> DataStreamWriter:
        return frames.writeStream.foreachBatch(self._sinks)

    def stopAfterBatch(self, query: StreamingQuery, stopped: Callable[[], bool]) -> None:
        self._sinks.refuseBatches(stopped)
        while query.isActive and query.status["isTriggerActive"]:
            if self._sinks.refused.wait(_POLL_SECONDS / 10):
                break

    def lastBatch(self) -> int | None:
        return self._storage.lastBatch(COMMITS)


class StoredBatches(Delivery):
    """A server of Spark Connect stores each batch in the checkpoint and commits it; a thread of this process reads
    it from there and calls the sinks.

    The last delivered batch is recorded now and then. After a kill the batches after the recorded
    one are delivered again, with the same numbers.
    """

    def __init__(
        self, sinks: BatchSinks, server: ConnectServer, storage: CheckpointStorage
    ) -> None:
        super().__init__(sinks, storage)
        self._server = server
        self._delivered = self._noted = self._read_note()
        self._notes = 0
        self._ended = threading.Event()
        self._finished = threading.Event()
        """Set a while after the query has ended, when nothing calls the server any more."""
        self._thread: threading.Thread | None = None

    def writerOf(self, frames: DataFrame) -> DataStreamWriter:
        return frames.writeStream.foreachBatch(StoreBatch(self._storage.path))

    def started(self, start: Callable[[], StreamingQuery]) -> StreamingQuery:
        threading.Thread(target=self._watch, name="flinkish server", daemon=True).start()
        try:
            query = _started(start)
        except BaseException:
            self._finished.set()
            raise
        self._thread = threading.Thread(
            target=self._follow, args=(query,), name="flinkish sinks", daemon=True
        )
        self._thread.start()
        return query

    def stopAfterBatch(self, query: StreamingQuery, stopped: Callable[[], bool]) -> None:
        before = _committed(query)
        while query.isActive and query.status["isTriggerActive"] and _committed(query) == before:
            time.sleep(_POLL_SECONDS)

    def finish(self) -> None:
        self._ended.set()
        try:
            if self._thread is not None:
                self._thread.join()
            if not self._server.listens():
                return
            last = self._storage.lastBatch(COMMITS)
            with suppress(_StoppedError):
                self._deliver_up_to(NOTHING if last is None else last)
            self._note()
        finally:
            self._finished.set()

    def lastBatch(self) -> int | None:
        return None if self._delivered == NOTHING else self._delivered

    def _follow(self, query: StreamingQuery) -> None:
        """Deliver batches until the query has ended, or a sink has failed."""
        last_time = time.monotonic()
        while not self._ended.wait(_POLL_SECONDS):
            try:
                with quiet_py4j():
                    last = _committed(query)
                    if last is not None and last > self._delivered:
                        self._deliver_up_to(last)
                        last_time = time.monotonic()
                    elif time.monotonic() - last_time > _IDLE_SECONDS:
                        self._note()
            except _StoppedError:
                with suppress(Exception):
                    query.stop()
                return
            except Exception as error:
                # An error of the server, which the thread that waits for the query gets too
                _LOG.debug("results could not be read", exc_info=error)

    def _watch(self) -> None:
        """Close the client if nothing listens at its server, as calls retry for ten minutes."""
        heard = time.monotonic()
        while not self._finished.wait(_WATCH_SECONDS):
            if self._server.listens():
                heard = time.monotonic()
            elif time.monotonic() - heard > _GONE_SECONDS:
                self._server.close()
                return

    def _deliver_up_to(self, last: int) -> None:
        while self._delivered < last:
            number = self._delivered + 1
            path = self._storage.child(place_of(number))
            frame = self._server.session.read.schema(FRAME_SCHEMA).parquet(path)
            try:
                self._sinks(frame, number)
            except BaseException:
                raise _StoppedError from None
            self._delivered = number
            if number - self._noted >= _NOTED_EVERY:
                self._note()

    def _note(self) -> None:
        if self._noted == self._delivered:
            return
        self._notes += 1
        delivered = self._delivered
        self._storage.writeText(DELIVERED[self._notes % 2], str(delivered))
        self._noted = delivered

    def _read_note(self) -> int:
        noted = delivered(self._storage)
        if noted is not None:
            return noted
        if self._storage.lastBatch(COMMITS) is not None:
            raise IncompatibleCheckpointError(
                f"the checkpoint {self._storage.path} was begun without Spark Connect, and cannot go on over it:"
                " stop the job where it was with a savepoint, and begin from that with a new directory."
            )
        self._storage.writeText(DELIVERED[0], str(NOTHING))
        return NOTHING


def delivered(storage: CheckpointStorage) -> int | None:
    """The last batch of a checkpoint that is recorded as delivered over Spark Connect; None if the
    checkpoint was begun without it."""
    texts = [storage.readText(place) for place in DELIVERED]
    return max((int(text) for text in texts if text), default=None)


class _StoppedError(Exception):
    """The sinks accept no more batches: the job is stopping, or a sink has failed."""


def _started(start: Callable[[], StreamingQuery]) -> StreamingQuery:
    """Start a query, and retry if Python in the server took longer than Spark's ten seconds."""
    for attempt in range(2, _STARTS + 1):
        try:
            return start()
        except Exception as error:
            if _SLOW not in str(error):
                raise
            _LOG.warning(
                "the server is busy, and the query is started again (attempt %d of %d): %s",
                attempt,
                _STARTS,
                _SLOW,
            )
    return start()


def _committed(query: StreamingQuery) -> int | None:
    """The last batch that the query has committed, None if it has reported none."""
    progress = query.lastProgress
    if progress is None:
        return None
    # An idle query reports the number of the next batch
    number = int(progress["batchId"])
    return number if "addBatch" in progress["durationMs"] else number - 1


def delivery_of(session: SparkSession, storage: CheckpointStorage, sinks: BatchSinks) -> Delivery:
    """The delivery of batches to ``sinks`` in ``session``. Raises IncompatibleCheckpointError if
    the checkpoint was begun with the other kind of delivery."""
    driver = driver_of(session)
    if isinstance(driver, ConnectServer):
        return StoredBatches(sinks, driver, storage)
    if storage.local is not None and storage.holds(DELIVERED[0]):
        raise IncompatibleCheckpointError(
            f"the checkpoint {storage.path} was begun over Spark Connect, and goes on only there: stop the job there"
            " with a savepoint, and begin from that with a new directory."
        )
    return CalledSinks(sinks, storage)
