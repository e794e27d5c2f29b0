"""``SparkJobClient``: the user's handle on a job; it runs and restarts the query."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from flinkish.api.errors import ElementsNeededError, IllegalStateError, NotSupportedError
from flinkish.api.execution.client import JobStatus
from flinkish.deployment.interrupts import interrupts_held, plain_interrupts, wait_for
from flinkish.deployment.job_client import FollowedJobClient
from flinkish.deployment.restarts import is_recoverable, restart_backoff
from flinkish.deployment.status.job_details import JobDetailsView
from flinkish.spark.checkpoint.retention import CheckpointRetention
from flinkish.spark.failures import session_error, translated
from flinkish.spark.profiled_batches import spark_ui
from flinkish.spark.queries import Queries
from flinkish.spark.query_run import BatchRun, QueryRun
from flinkish.spark.savepoint import JobSavepoints
from flinkish.spark.session.drivers import driver_of
from flinkish.spark.session.quiet_logs import quiet_py4j

_LOG = logging.getLogger("flinkish")

_INTERRUPTED_SECONDS = 0.8
"""The time to wait for the end of a job after an interrupt; its sinks write nothing more."""


class SparkJobClient(FollowedJobClient):
    """The client of a job that it starts, and the thread that watches its query. ``cleanUp`` is
    called when the job has ended."""

    def __init__(
        self,
        queries: Queries,
        cleanUp: Callable[[], None],
        retention: CheckpointRetention | None = None,
    ) -> None:
        run = queries.prepared()
        view = JobDetailsView(
            graph=queries.graph,
            settings=queries.settings,
            monitor=queries.monitor,
            config=queries.config,
            directory=queries.given,
            checkpointed=queries.savepoints is not None,
            engineUI=spark_ui(queries.session),
        )
        super().__init__(queries.name, queries.monitor, view)
        self._queries = queries
        self._driver = driver_of(queries.session)
        self._query_run = run
        self._backoff = restart_backoff(queries.config.getRestartStrategy())
        self._savepoints = queries.savepoints
        self._savepoint: str | None = None
        self._savepoint_error: BaseException | None = None
        self._savepoint_written = False
        self._elements_hidden = queries.config.elementsHiddenInErrors
        self._cleanUp = cleanUp
        self._retention = retention
        self._goes_on = False
        """Whether the job was stopped in order to continue from its checkpoint."""
        self._stopping = threading.Event()
        """Set when the job has to stop: no further query is started."""
        self._began = time.monotonic()
        self._lock = threading.Lock()
        with self.cancelledOnInterrupt(), interrupts_held():
            run.start()
            self._queries.monitor.follow(run.query)
            self._watch = threading.Thread(
                target=self._run, name=f"flinkish {self._name}", daemon=True
            )
            self._watch.start()

    def cancel(self) -> None:
        self._stop()
        if not self._query_run.sinks.isCaller:
            with plain_interrupts():
                wait_for(self._ended)

    def stopWithSavepoint(self, savepointDirectory: str | None = None) -> str:
        if savepointDirectory is None and self._queries.given is None:
            raise IllegalStateError(
                f"stopWithSavepoint: the job {self._name!r} has no checkpoint directory to continue"
                " from. Pass a directory for a savepoint, call env.enableCheckpointing(directory) before"
                " it starts, or cancel() it."
            )
        if savepointDirectory is not None:
            self._check_runs("stopWithSavepoint")
            self._savepoint = self._writer_of_savepoints("stopWithSavepoint").checkedDirectory(
                "stopWithSavepoint", savepointDirectory
            )
        else:
            self._goes_on = True
        stopping = threading.Thread(target=self._stop_after_batch, daemon=True)
        stopping.start()
        if not self._query_run.sinks.isCaller:
            with self.cancelledOnInterrupt():
                wait_for(self._ended)
        error = self._error or self._savepoint_error
        if error is not None:
            raise error
        if savepointDirectory is not None and not self._savepoint_written:
            self._check_runs("stopWithSavepoint", ", and wrote no savepoint")
        directory = savepointDirectory or self._queries.given
        assert directory is not None
        return directory

    def triggerSavepoint(self, savepointDirectory: str) -> str:
        self._check_runs("triggerSavepoint")
        savepoints = self._writer_of_savepoints("triggerSavepoint")
        directory = savepoints.checkedDirectory("triggerSavepoint", savepointDirectory)
        with plain_interrupts(), quiet_py4j():
            if self._query_run.sinks.isCaller and savepoints.lastBatch() is None:
                raise IllegalStateError(
                    f"triggerSavepoint: a sink of the job {self._name!r} calls it in the first batch, and a"
                    " savepoint is of a finished batch. Call it in a later one."
                )
            if not savepoints.awaitBatch(lambda: not self._ended.is_set()):
                self._check_runs("triggerSavepoint")
            self._write(savepoints, directory)
        return directory

    def profileBatch(self) -> None:
        self._check_runs("profileBatch")
        if not self._driver.reachesWorkers:
            raise NotSupportedError(
                "profileBatch: over Spark Connect nothing tells the tasks of a batch to sample their stacks. Run the job"
                " in local execution, or with a session that is not of Spark Connect."
            )
        self._monitor.metrics.profiler.request()

    def _writer_of_savepoints(self, method: str) -> JobSavepoints:
        if self._savepoints is None:
            raise IllegalStateError(
                f"{method}: the job {self._name!r} runs as a batch, which has no state to save. Call"
                " setRuntimeMode(RuntimeExecutionMode.STREAMING), or cancel() it."
            )
        return self._savepoints

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
        self._to_stop().stop()

    def _stop_after_batch(self) -> None:
        if self._savepoint is not None and self._savepoints is not None:
            # After the first batch, the state from the savepoint is in the job's own checkpoint
            with quiet_py4j(), suppress(Exception):
                self._savepoints.awaitBatch(lambda: not self._ended.is_set())
        self._to_stop().stopAfterBatch()

    def _to_stop(self) -> QueryRun | BatchRun:
        """The run to stop; no other run starts afterwards."""
        with self._lock:
            self._stopping.set()
            return self._query_run

    def _run(self) -> None:
        try:
            status, error = self._run_to_the_end()
            self._error = error
            self._monitor.end(self._name, None if error is None else self._view.exception(error))
            self._runtime = round((time.monotonic() - self._began) * 1000)
            self._write_savepoint()
            self._status = status
            with quiet_py4j(), suppress(Exception):
                self._cleanUp()
            if self._retention is not None and self._savepoint_error is None:
                stopped = self._savepoint is not None and error is None
                ended = JobStatus.FINISHED if stopped else status
                with suppress(Exception):
                    self._retention.jobEnded(ended, self._goes_on)
        finally:
            self._ended.set()

    def _write_savepoint(self) -> None:
        if self._savepoint is None or self._savepoints is None or self._error is not None:
            return
        try:
            with quiet_py4j():
                self._write(self._savepoints, self._savepoint)
            self._savepoint_written = True
        except BaseException as error:
            self._savepoint_error = error

    def _write(self, savepoints: JobSavepoints, directory: str) -> None:
        try:
            savepoints.write(directory, self._name)
        except Exception as error:
            raise session_error(self._queries.session, error, self._elements_hidden) from None

    def _run_to_the_end(self) -> tuple[JobStatus, BaseException | None]:
        """Run the query, and restart it after failures as often as the strategy allows. Returns how the job ended."""
        while True:
            run = self._query_run
            raised = run.drive()
            run.cleanUp()
            lost = raised is not None and self._driver.isGone()
            if raised is None or (run.stopped and not lost):
                return JobStatus.CANCELED if run.stopped else JobStatus.FINISHED, None
            if lost:
                return JobStatus.FAILED, self._driver.goneError()
            error = self._restart_after(translated(raised, self._elements_hidden))
            if error is not None:
                return JobStatus.FAILED, error
            if self._stopping.is_set() and self._status is JobStatus.RESTARTING:
                return JobStatus.CANCELED, None

    def _restart_after(self, error: BaseException) -> BaseException | None:
        """Restart the query after ``error``, unless the job has to stop meanwhile. Returns the
        error that ends the job if the strategy allows no restart."""
        while is_recoverable(error):
            if isinstance(error, ElementsNeededError):
                _LOG.info("%s runs its batch again, element by element: %s", self._name, error)
            else:
                delay = self._backoff.afterFailure(round(time.monotonic() * 1000))
                if delay is None:
                    break
                self._status = JobStatus.RESTARTING
                self._monitor.restart(self._view.exception(error))
                _LOG.warning("%s failed, and restarts in %d ms: %s", self._name, delay, error)
                if self._stopping.wait(delay / 1000):
                    return None
            try:
                with self._lock, quiet_py4j():
                    if self._stopping.is_set():
                        return None
                    self._query_run = self._queries.restarted(
                        isinstance(error, ElementsNeededError)
                    )
            except Exception as raised:
                if self._driver.isGone():
                    return self._driver.goneError()
                error = translated(raised, self._elements_hidden)
            else:
                self._queries.monitor.follow(self._query_run.query)
                self._status = JobStatus.RUNNING
                return None
        self._monitor.noteRestarts(error)
        return error
