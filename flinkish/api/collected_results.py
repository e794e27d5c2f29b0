"""The elements of a stream, in the program that started the job."""

from __future__ import annotations

import queue
import threading
from typing import TypeVar

from flinkish.api.errors import IllegalStateError
from flinkish.api.job import CloseableIterator, JobClient

T = TypeVar("T")


class _End:
    """The job has ended, with ``error`` if it failed."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class CollectResultIterator(CloseableIterator[T]):
    """Hands out the elements as batches bring them (Flink: ``CollectResultIterator``)."""

    def __init__(self) -> None:
        self._batches: queue.SimpleQueue[list[T] | _End] = queue.SimpleQueue()
        self._values: list[T] = []
        self._client: JobClient | None = None

    def collect(self, values: list[T], batchId: int) -> None:
        """Take the elements of a batch: the function of a sink."""
        self._batches.put(values)

    def setJobClient(self, client: JobClient) -> None:
        """Called when the job has started."""
        self._client = client
        threading.Thread(target=self._await_end, args=(client,), daemon=True).start()

    def __next__(self) -> T:
        if self._client is None:
            raise IllegalStateError(
                "collectAsync: the job has not started, so there are no elements yet. Call"
                " env.executeAsync() first."
            )
        while not self._values:
            batch = self._batches.get()
            if isinstance(batch, _End):
                self._batches.put(batch)
                if batch.error is not None:
                    raise batch.error
                raise StopIteration
            self._values = batch[::-1]
        return self._values.pop()

    def close(self) -> None:
        self._values = []
        if self._client is not None:
            self._client.cancel()

    def _await_end(self, client: JobClient) -> None:
        try:
            client.getJobExecutionResult()
        except BaseException as error:
            self._batches.put(_End(error))
        else:
            self._batches.put(_End(None))
