"""``QueryRun`` and ``BatchRun``: one run of a job's query, from its start to its end, its failure, or a stop."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from flinkish.api.errors import IllegalStateError
from flinkish.spark.checkpoint.storage import CheckpointStorage
from flinkish.spark.control import ControlStream
from flinkish.spark.session.quiet_logs import quiet_py4j
from flinkish.spark.session.session import batch_settings
from flinkish.spark.sinks.batch_sinks import BatchSinks
from flinkish.spark.sinks.delivery import Delivery
from flinkish.spark.sources.plan_log import PlanLog
from flinkish.spark.sources.planned_offset import PlannedOffset

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter


_POLL_SECONDS = 0.1

_ONLY_BATCH = 0


@dataclass(eq=False, repr=False)
class QueryRun:
    """Starts a query, and ends its bounded input. ``atEnd`` is called when the query has
    ended. ``single``: the query runs one batch, and ends by itself."""

    begin: Callable[[], StreamingQuery]
    bounded: tuple[str, ...]
    """The paths of the sources that the control stream ends."""
    logs: tuple[str, ...]
    """The plan logs of sources that signal their own end."""
    planned: frozenset[str]
    """The uids of such sources without a plan log."""
    unbounded: bool
    storage: CheckpointStorage
    control: ControlStream
    sinks: BatchSinks
    delivery: Delivery
    atEnd: Callable[[], None]
    single: bool = False
    stopped: bool = field(default=False, init=False)
    """Whether the query was stopped, by a call or from outside, before its end."""
    query: StreamingQuery = field(init=False)

    def start(self) -> None:
        self.query = self.delivery.started(self.begin)

    def stop(self) -> None:
        self.sinks.cancel(self._is_stopped)
        self._stop_query()

    def stopAfterBatch(self) -> None:
        with quiet_py4j(), suppress(Exception):
            self.delivery.stopAfterBatch(self.query, self._is_stopped)
        if self.sinks.failure is None:
            self._stop_query()

    def drive(self) -> BaseException | None:
        """Run the query until it ends. Returns the error that it failed with, None if it was stopped or read all
        input."""
        error: BaseException | None = None
        try:
            with quiet_py4j():
                self._drive()
        except BaseException as raised:
            error = raised
        # The query still runs if something else failed.
        self._call_stop()
        try:
            with quiet_py4j():
                self.delivery.finish()
        except BaseException as raised:
            error = error or raised
        return self.sinks.failure or error

    def cleanUp(self) -> None:
        with quiet_py4j(), suppress(Exception):
            self.atEnd()

    def _stop_query(self) -> None:
        self.stopped = True
        threading.Thread(target=self._call_stop, daemon=True).start()

    def _call_stop(self) -> None:
        # If this raises, the JVM has ended, and the query with it.
        with quiet_py4j(), suppress(Exception):
            self.query.stop()

    def _is_stopped(self) -> bool:
        try:
            return not self.query.isActive
        except Exception:
            return True

    def _drive(self) -> None:
        if self.single:
            while not self.query.awaitTermination(_POLL_SECONDS):  # type: ignore[arg-type]
                pass
        elif self.unbounded:
            self._drive_unbounded()
        elif self._read_to_the_end() and not self.control.ended:
            self.control.endInput()
            self._drained()

    def _read_to_the_end(self) -> bool:
        """Wait until all planned sources have ended and been read; False if the query was stopped."""
        rounds = 2 if self.logs or self.planned else 1
        while rounds:
            # The logs are checked before draining, so that all planned steps are read. Twice, as
            # Spark may have read the first step of a restarted source already.
            if all(PlanLog(log).ended for log in self.logs) and self._planned_ended():
                rounds -= 1
            else:
                time.sleep(_POLL_SECONDS / 10)
            if not self._drained():
                return False
        return True

    def _planned_ended(self) -> bool:
        """Whether the last offsets of all sources without a plan log say that they have ended."""
        if not self.planned:
            return True
        progress = self.query.lastProgress
        offsets: Sequence[object] = self._offsets_before
        if progress is not None:
            offsets = [source["endOffset"] for source in progress["sources"]]
        found = map(PlannedOffset.of, offsets)
        return self.planned <= {offset.source for offset in found if offset and offset.ended}

    @cached_property
    def _offsets_before(self) -> Sequence[str]:
        """The last offsets of the checkpoint that the job continues from."""
        batch = self.storage.lastBatch("query/offsets") if self.control.resumed else None
        return () if batch is None else self.storage.offsets(batch)

    def _drained(self) -> bool:
        """Wait until all input is read; False if the query was stopped before, also by a sink."""
        self.query.processAllAvailable()
        # This also returns if the query was stopped meanwhile.
        if not self.query.isActive:
            error = self.query.exception()
            if error is not None:
                raise error
            self._note_stopped()
            return False
        return not self.stopped

    def _note_stopped(self) -> None:
        """Note that the query was stopped, unless a failed sink stopped it."""
        self.stopped = self.stopped or self.sinks.failure is None

    def _drive_unbounded(self) -> None:
        if self.control.resumed:
            # Timers in the checkpoint may be due that no operator of this run has reported yet.
            self.control.tick()
        ticked = self.sinks.metrics.batches - 1
        while not self.query.awaitTermination(_POLL_SECONDS):  # type: ignore[arg-type]
            if self.bounded and not self.control.ended and self._bounded_drained():
                self.control.endInput()
            if self.sinks.metrics.batches > ticked:
                due = self.sinks.metrics.due(round(time.time() * 1000))
                if due:
                    ticked = self.sinks.metrics.batches
                    self.control.tick(due)
        self._note_stopped()

    def _bounded_drained(self) -> bool:
        """Whether the last batch read nothing from any bounded source."""
        status, progress = self.query.status, self.query.lastProgress
        if progress is None:
            return False
        if not status["isDataAvailable"] and not status["isTriggerActive"]:
            return True
        rows = [
            source["numInputRows"]
            for source in progress["sources"]
            if any(path in source["description"] for path in self.bounded)
        ]
        return len(rows) == len(self.bounded) and not any(rows)


@dataclass(eq=False, repr=False)
class BatchRun:
    """Runs a bounded job as one batch query (RuntimeExecutionMode.BATCH)."""

    query: ClassVar[None] = None

    session: SparkSession
    frames: DataFrame
    sinks: BatchSinks
    stopped: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._tag = f"flinkish-{uuid.uuid4().hex}"
        self._ended = threading.Event()

    def start(self) -> None:
        """Nothing runs before ``drive``."""

    def stop(self) -> None:
        """Stop the query in another thread, as this one may be interrupted."""
        self.stopped = True
        self.sinks.cancel(lambda: True)
        threading.Thread(target=self._interrupt, daemon=True).start()

    def stopAfterBatch(self) -> None:
        """Not supported, as there is one batch and no checkpoint of it."""
        raise IllegalStateError("a job in BATCH takes no checkpoints. Call cancel().")

    def drive(self) -> BaseException | None:
        """Run the query to its end; the error it failed with."""
        error: BaseException | None = None
        try:
            with quiet_py4j(), batch_settings(self.session):
                self.session.addTag(self._tag)
                try:
                    self.sinks(self.frames, _ONLY_BATCH)
                finally:
                    self.session.removeTag(self._tag)
        except BaseException as raised:
            error = raised
        finally:
            self._ended.set()
        return None if self.stopped else self.sinks.failure or error

    def cleanUp(self) -> None:
        """Called when the query has ended, and its tasks have closed their functions."""
        with quiet_py4j(), suppress(Exception):
            self.sinks.close()

    def _interrupt(self) -> None:
        # Repeatedly, as the next of its Spark jobs may be about to start
        while not self._ended.wait(_POLL_SECONDS):
            with quiet_py4j(), suppress(Exception):
                self.session.interruptTag(self._tag)


def query_writer(
    frames: DataFrame, delivery: Delivery, checkpoint: str, triggerInterval: int | None
) -> DataStreamWriter:
    """The writer that starts the query. ``triggerInterval`` (ms): None for a single batch."""
    writer = delivery.writerOf(frames).option("checkpointLocation", checkpoint)
    if triggerInterval is None:
        return writer.trigger(once=True)
    return writer.trigger(processingTime=f"{triggerInterval} milliseconds")
