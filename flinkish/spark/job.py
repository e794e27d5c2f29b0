"""``SparkJobClient``: starts the query of a job, ends bounded input, and is the user's handle."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flinkish.api.errors import IllegalStateError
from flinkish.api.execution.client import JobClient, JobExecutionResult, JobStatus, OperatorMetrics
from flinkish.api.execution.details import JobDetails
from flinkish.deployment.status.job_details import JobDetailsView
from flinkish.deployment.status.job_monitor import clock
from flinkish.spark.control import ControlStream
from flinkish.spark.failures import translated
from flinkish.spark.session.interrupts import interrupts_held, plain_interrupts
from flinkish.spark.session.quiet_logs import quiet_py4j
from flinkish.spark.session.session import jvm_gone_error, jvm_is_gone
from flinkish.spark.sinks.batch_sinks import BatchSinks
from flinkish.spark.sources.plan_log import PlanLog
from flinkish.spark.status.query_monitor import QueryMonitor

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter


_POLL_SECONDS = 0.1
_INTERRUPTED_SECONDS = 0.8
"""How long to wait for the end of a job after an interrupt; its sinks write nothing any more."""


@dataclass(frozen=True)
class JobSources:
    """The sources of a query. ``bounded``: the paths of those that end by the control stream; ``logs``:
    the plan logs of those that announce their end themselves."""

    bounded: tuple[str, ...]
    logs: tuple[str, ...]
    unbounded: bool


class SparkJobClient(JobClient):
    """The client of a job: one streaming query, and the thread that watches it."""

    def __init__(
        self,
        name: str,
        session: SparkSession,
        writer: DataStreamWriter,
        sources: JobSources,
        control: ControlStream,
        sinks: BatchSinks,
        monitor: QueryMonitor,
        view: JobDetailsView,
        checkpoint: str | None,
        cleanUp: Callable[[], None],
    ) -> None:
        self._name = name
        self._session = session
        self._id = uuid.uuid4().hex
        self._sources = sources
        self._control = control
        self._sinks = sinks
        self._monitor = monitor
        self._metrics = monitor.metrics
        self._view = view
        self._checkpoint = checkpoint
        self._cleanUp = cleanUp
        self._error: BaseException | None = None
        self._status = JobStatus.RUNNING
        self._cancelled = False
        self._began = time.monotonic()
        self._startTime = clock()
        self._runtime: int | None = None
        self._ended = threading.Event()
        with self.cancelledOnInterrupt(), interrupts_held():
            self._query: StreamingQuery = writer.start()
            monitor.follow(self._query)
            self._watch = threading.Thread(target=self._run, name=f"flinkish {name}", daemon=True)
            self._watch.start()

    def getJobID(self) -> str:
        return self._id

    def getJobStatus(self) -> JobStatus:
        return self._status

    def getMetrics(self) -> dict[str, OperatorMetrics]:
        return self._metrics.metrics()

    def getJobDetails(self) -> JobDetails:
        ended = None if self._runtime is None else self._startTime + self._runtime
        return self._view.details(self._id, self._name, self._status, self._startTime, ended)

    def cancel(self) -> None:
        self._stop()
        if not self._sinks.isCaller:
            with plain_interrupts():
                self._ended.wait()

    def stopWithSavepoint(self) -> str:
        if self._checkpoint is None:
            raise IllegalStateError(
                f"stopWithSavepoint: the job {self._name!r} has no checkpoint directory to continue"
                " from. Call env.enableCheckpointing(directory) before it starts, or cancel() it."
            )
        stopping = threading.Thread(target=self._stop_after_batch, daemon=True)
        stopping.start()
        if not self._sinks.isCaller:
            with self.cancelledOnInterrupt():
                self._ended.wait()
        if self._error is not None:
            raise self._error
        return self._checkpoint

    def getJobExecutionResult(self, timeout: float | None = None) -> JobExecutionResult:
        with self.cancelledOnInterrupt():
            if not self._ended.wait(timeout):
                raise TimeoutError(f"the job {self._name!r} still runs after {timeout} seconds.")
        if self._error is not None:
            raise self._error
        runtime, metrics = self._runtime or 0, self._metrics.metrics()
        return JobExecutionResult(self._name, self._id, runtime, metrics)

    @contextmanager
    def cancelledOnInterrupt(self) -> Iterator[None]:
        try:
            with plain_interrupts():
                yield
        except KeyboardInterrupt:
            self._stop()
            self._ended.wait(_INTERRUPTED_SECONDS)
            raise

    def cancelSoon(self) -> None:
        if not self._ended.is_set():
            self._stop()

    def _stop(self) -> None:
        """Stop the query, in another thread, as this one may be interrupted."""
        self._sinks.cancel(self._is_stopped)
        self._stop_query()

    def _stop_after_batch(self) -> None:
        with quiet_py4j(), suppress(Exception):
            self._sinks.refuseBatches(self._is_stopped)
            while self._query.isActive and self._query.status["isTriggerActive"]:
                if self._sinks.refused.wait(_POLL_SECONDS / 10):
                    break
        if self._sinks.failure is None:
            self._stop_query()

    def _stop_query(self) -> None:
        self._cancelled = True
        threading.Thread(target=self._call_stop, daemon=True).start()

    def _call_stop(self) -> None:
        # If it raises, the JVM has ended, and the query with it.
        with quiet_py4j(), suppress(Exception):
            self._query.stop()

    def _is_stopped(self) -> bool:
        try:
            return not self._query.isActive
        except Exception:
            return True

    def _run(self) -> None:
        error: BaseException | None = None
        status = JobStatus.FAILED
        try:
            with quiet_py4j():
                self._drive()
        except BaseException as raised:
            error = raised
        try:
            # The query still runs if something else failed.
            self._call_stop()
            error = self._sinks.failure or error
            lost = error is not None and jvm_is_gone(self._session)
            if error is None or (self._cancelled and not lost):
                status = JobStatus.CANCELED if self._cancelled else JobStatus.FINISHED
            else:
                self._error = (
                    jvm_gone_error() if lost else translated(error, self._sinks.elementsHidden)
                )
            failed = None if self._error is None else self._view.exception(self._error)
            self._monitor.end(failed)
            self._runtime = round((time.monotonic() - self._began) * 1000)
            self._status = status
            with quiet_py4j(), suppress(Exception):
                self._cleanUp()
        finally:
            self._ended.set()

    def _drive(self) -> None:
        """Run the query until its end."""
        if self._sources.unbounded:
            self._drive_unbounded()
        elif self._read_to_the_end() and not self._control.ended:
            self._control.endInput()
            self._drained()

    def _read_to_the_end(self) -> bool:
        """Wait until all planned sources have ended and been read; False if the query was stopped."""
        rounds = 2 if self._sources.logs else 1
        while rounds:
            # The logs are checked before draining, so that all that was planned is read. Twice, as the
            # first step of a restarted source may be one that Spark has read already.
            if all(PlanLog(log).ended for log in self._sources.logs):
                rounds -= 1
            else:
                time.sleep(_POLL_SECONDS / 10)
            if not self._drained():
                return False
        return True

    def _drained(self) -> bool:
        """Wait until all input has been read; False if the query was stopped before."""
        self._query.processAllAvailable()
        # It also returns if the query has been stopped meanwhile.
        if not self._query.isActive:
            error = self._query.exception()
            if error is not None:
                raise error
            self._cancelled = True
        return not self._cancelled

    def _drive_unbounded(self) -> None:
        if self._control.resumed:
            # Timers of the checkpoint may be due, which no operator of this run has reported yet.
            self._control.tick()
        ticked = -1
        while not self._query.awaitTermination(_POLL_SECONDS):  # type: ignore[arg-type]
            if self._sources.bounded and not self._control.ended and self._bounded_drained():
                self._control.endInput()
            if self._metrics.batches > ticked:
                due = self._metrics.due(round(time.time() * 1000))
                if due:
                    ticked = self._metrics.batches
                    self._control.tick(due)
        self._cancelled = True

    def _bounded_drained(self) -> bool:
        """Whether the last batch read nothing from any bounded source."""
        status, progress = self._query.status, self._query.lastProgress
        if progress is None:
            return False
        if not status["isDataAvailable"] and not status["isTriggerActive"]:
            return True
        rows = [
            source["numInputRows"]
            for source in progress["sources"]
            if any(path in source["description"] for path in self._sources.bounded)
        ]
        return len(rows) == len(self._sources.bounded) and not any(rows)


def query_writer(
    frames: DataFrame, sinks: BatchSinks, checkpoint: str, triggerInterval: int
) -> DataStreamWriter:
    """The writer that starts the query."""
    return (
        frames.writeStream.foreachBatch(sinks)
        .option("checkpointLocation", checkpoint)
        .trigger(processingTime=f"{triggerInterval} milliseconds")
    )
