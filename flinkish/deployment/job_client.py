"""``FollowedJobClient``: what the clients of both engines have in common."""

from __future__ import annotations

import threading
import uuid

from flinkish.api.errors import IllegalStateError
from flinkish.api.execution.client import JobClient, JobExecutionResult, JobStatus, OperatorMetrics
from flinkish.api.execution.details import JobDetails
from flinkish.api.tracebacks import short_traceback
from flinkish.deployment.interrupts import wait_for
from flinkish.deployment.status.job_details import JobDetailsView
from flinkish.deployment.status.job_monitor import JobMonitor, clock


class FollowedJobClient(JobClient):
    """The client of a job that a thread of this process follows to its end."""

    def __init__(self, name: str, monitor: JobMonitor, view: JobDetailsView) -> None:
        self._name = name
        self._monitor = monitor
        self._view = view
        self._id = uuid.uuid4().hex
        self._status = JobStatus.RUNNING
        self._error: BaseException | None = None
        self._startTime = clock()
        self._runtime = 0
        self._ended = threading.Event()

    def getJobID(self) -> str:
        return self._id

    def getJobStatus(self) -> JobStatus:
        return self._status

    def getMetrics(self) -> dict[str, OperatorMetrics]:
        return self._monitor.metrics.metrics()

    def getJobDetails(self) -> JobDetails:
        return self._view.details(
            self._id, self._name, self.getJobStatus(), self._startTime, self._runtime
        )

    @short_traceback
    def getJobExecutionResult(self, timeout: float | None = None) -> JobExecutionResult:
        self.isAwaited = True
        with self.cancelledOnInterrupt():
            if not wait_for(self._ended, timeout):
                raise TimeoutError(f"the job {self._name!r} still runs after {timeout} seconds.")
        if self._error is not None:
            raise self._error
        metrics, restarts = self.getMetrics(), self._monitor.numRestarts
        return JobExecutionResult(self._name, self._id, self._runtime, metrics, restarts)

    def _check_runs(self, method: str, outcome: str = "") -> None:
        if self._ended.is_set():
            raise IllegalStateError(
                f"{method}: the job {self._name!r} has ended ({self._status.value}){outcome}. Call it while the"
                " job runs."
            )
