"""The elements of a stream, in the program that started the job."""

from __future__ import annotations

import queue
import threading
from typing import Generic, TypeVar

from flinkish.api.errors import IllegalStateError
from flinkish.api.job import CloseableIterator, JobClient

T = TypeVar("T")


class _End:
    """The job has ended, with ``error`` if it failed."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class _Batches(Generic[T]):
    """What the job has brought. The job knows this and not the iterator, so that an iterator that
    nobody has any more is noticed."""

    def __init__(self) -> None:
        self._batches: queue.SimpleQueue[list[T] | _End] = queue.SimpleQueue()

    def put(self, values: list[T], batchId: int) -> None:
        """Take the elements of a batch: the function of a sink."""
        self._batches.put(values)

    def get(self) -> list[T]:
        """The elements of the next batch, once it has come.

        Raises StopIteration after the last, and the error of a job that failed.
        """
        batch = self._batches.get()
        if isinstance(batch, _End):
            self._batches.put(batch)
            raise StopIteration if batch.error is None else batch.error
        return batch

    def awaitEnd(self, client: JobClient) -> None:
        """Let the end of the job come after its elements."""
        try:
            client.getJobExecutionResult()
        except BaseException as error:
            self._batches.put(_End(error))
        else:
            self._batches.put(_End(None))


class CollectResultIterator(CloseableIterator[T]):
    """Hands out the elements as batches bring them (Flink: ``CollectResultIterator``).

    The job is cancelled when the iterator is closed, or the program is interrupted while it waits.
    """

    def __init__(self) -> None:
        self._batches: _Batches[T] = _Batches()
        self._values: list[T] = []
        self._client: JobClient | None = None
        self.collect = self._batches.put
        """The function of the sink that brings the elements."""

    def setJobClient(self, client: JobClient) -> None:
        """Called when the job has started."""
        self._client = client
        threading.Thread(target=self._batches.awaitEnd, args=(client,), daemon=True).start()

    def __next__(self) -> T:
        if self._client is None:
            raise IllegalStateError(
                "collectAsync: the job has not started, so there are no elements yet. Call"
                " env.executeAsync() first."
            )
        while not self._values:
            with self._client.cancelledOnInterrupt():
                self._values = self._batches.get()[::-1]
        return self._values.pop()

    def close(self) -> None:
        self._values = []
        if self._client is not None:
            self._client.cancel()
