"""``collectAsync``: the elements of a stream while a job with other sinks runs."""

from __future__ import annotations

import queue
from typing import Any, TypeVar

from flinkish.api.errors import IllegalStateError
from flinkish.api.job import CloseableIterator, JobClient, JobStatus

T = TypeVar("T")

_LOOK_SECONDS = 0.1
"""How often a reader that waits for elements looks whether the job has ended."""


class CollectResultIterator(CloseableIterator[T]):
    """Hands out the elements that batches bring (Flink: ``CollectResultIterator``)."""

    def __init__(self) -> None:
        self._batches: queue.SimpleQueue[list[T]] = queue.SimpleQueue()
        self._values: list[T] = []
        self._client: JobClient | None = None

    def collect(self, values: list[T], batchId: int) -> None:
        """Take the elements of a batch: the function of a sink."""
        self._batches.put(list(values))

    def setJobClient(self, client: JobClient) -> None:
        """Called when the job has started."""
        self._client = client

    def __next__(self) -> T:
        if self._client is None:
            raise IllegalStateError(
                "collectAsync: the job has not started, so there are no elements yet. Call"
                " env.executeAsync() first."
            )
        while not self._values:
            ended = self._client.getJobStatus() is not JobStatus.RUNNING
            try:
                self._values = self._batches.get(timeout=0 if ended else _LOOK_SECONDS)[::-1]
            except queue.Empty:
                if ended:
                    self._end(self._client)
        return self._values.pop()

    def _end(self, client: JobClient) -> Any:
        client.getJobExecutionResult()  # raises the job's error, if it failed
        raise StopIteration

    def close(self) -> None:
        self._values = []
        if self._client is not None:
            self._client.cancel()
