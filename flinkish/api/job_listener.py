"""Tells the user when jobs of an environment begin and end."""

from __future__ import annotations

from abc import ABC, abstractmethod

from flinkish.api.job import JobClient, JobExecutionResult


class JobListener(ABC):
    """Is told of the jobs of an environment (Flink: ``JobListener``)."""

    @abstractmethod
    def onJobSubmitted(self, jobClient: JobClient | None, throwable: BaseException | None) -> None:
        """Called when a job was started, with its client, or could not be, with the error."""

    @abstractmethod
    def onJobExecuted(
        self, jobExecutionResult: JobExecutionResult | None, throwable: BaseException | None
    ) -> None:
        """Called when ``execute`` has run a job to its end, with the result or the error."""
