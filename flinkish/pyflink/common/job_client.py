"""The handle of a job, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from flinkish.api.execution.client import JobClient as CoreClient
from flinkish.api.execution.client import JobExecutionResult as CoreResult
from flinkish.pyflink.common.completable_future import CompletableFuture

__all__ = ["JobClient", "JobExecutionResult", "JobID", "JobStatus"]


@dataclass(frozen=True)
class JobID:
    """The id of a job (PyFlink: ``JobID``)."""

    id: str

    def __str__(self) -> str:
        return self.id


class JobStatus(Enum):
    """The status of a job (PyFlink: ``JobStatus``); here a job is running, restarting, finished,
    failed or cancelled."""

    CREATED = 0
    RUNNING = 1
    FAILING = 2
    FAILED = 3
    CANCELLING = 4
    CANCELED = 5
    FINISHED = 6
    RESTARTING = 7
    SUSPENDED = 8
    RECONCILING = 9

    def is_globally_terminal_state(self) -> bool:
        """Whether the job has ended for good."""
        return self in (JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED)

    def is_terminal_state(self) -> bool:
        """Whether the job has ended here."""
        return self is JobStatus.SUSPENDED or self.is_globally_terminal_state()


class JobExecutionResult:
    """The result of a job that ended (PyFlink: ``JobExecutionResult``)."""

    def __init__(self, result: CoreResult) -> None:
        self._result = result

    def get_job_id(self) -> JobID:
        """The id of the job."""
        return JobID(self._result.getJobID())

    def get_net_runtime(self) -> int:
        """Milliseconds from start to end."""
        return self._result.getNetRuntime()

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """The count of a function's metric of that name, None if there is none."""
        return self.get_all_accumulator_results().get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """The counts of the functions' metrics, by name."""
        return _counts(self._result.getMetrics())

    def __str__(self) -> str:
        return f"Job {self.get_job_id()} ran {self.get_net_runtime()} ms"


class JobClient:
    """The handle of a running job (PyFlink: ``JobClient``)."""

    def __init__(self, client: CoreClient) -> None:
        self._client = client

    def get_job_id(self) -> JobID:
        """The id of the job."""
        return JobID(self._client.getJobID())

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """The status of the job."""
        return CompletableFuture(lambda: JobStatus[self._client.getJobStatus().name])

    def cancel(self) -> CompletableFuture[None]:
        """Stop the job."""
        self._client.cancel()
        return CompletableFuture(lambda: None)

    def stop_with_savepoint(
        self,
        advance_to_end_of_event_time: bool,
        savepoint_directory: str | None = None,
        format_type: object = None,
    ) -> CompletableFuture[str]:
        """Finish the current batch and stop; the result is the directory of the savepoint, or of
        the checkpoint if no directory is given."""
        return CompletableFuture(lambda: self._client.stopWithSavepoint(savepoint_directory))

    def trigger_savepoint(
        self, savepoint_directory: str, format_type: object = None
    ) -> CompletableFuture[str]:
        """Write a savepoint to a new directory, which is the result. The job keeps running."""
        return CompletableFuture(lambda: self._client.triggerSavepoint(savepoint_directory))

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """The counts of the functions' metrics, by name."""
        return CompletableFuture(lambda: _counts(self._client.getMetrics()))

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """The result, once the job has ended."""
        return CompletableFuture(
            lambda: JobExecutionResult(self._client.getJobExecutionResult()),
            lambda: self._client.getJobStatus().isGloballyTerminalState(),
        )


def _counts(metrics: Mapping[str, Any]) -> dict[str, Any]:
    operators = metrics.values()
    return {name: value for operator in operators for name, value in operator.user.items()}
