"""``JobClient``, the handle of a running job, and ``JobExecutionResult``, its result."""

from __future__ import annotations

import copy
import enum
import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias

from flinkish.api.absent import AbsentMethods
from flinkish.api.errors import FlinkishError, IllegalStateError
from flinkish.api.functions.accumulators import Accumulator
from flinkish.api.tracebacks import shorten
from flinkish.api.type_variables import T, T_co

if TYPE_CHECKING:
    from flinkish.api.execution.details import JobDetails


class JobStatus(enum.Enum):
    """The status of a job (Flink: ``JobStatus``)."""

    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    CANCELED = "CANCELED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"
    """The job has failed, and waits for its restart strategy to run it again."""

    def isGloballyTerminalState(self) -> bool:
        """Whether the job has ended."""
        return self not in (JobStatus.RUNNING, JobStatus.RESTARTING)


@dataclass(frozen=True)
class FunctionRuns:
    """The runs of one function of an operator, or of the writer after it."""

    function: str
    """The name of the function, with file and line."""
    runsOverColumns: int
    runsElementByElement: int
    difference: str | None = None
    """The difference that a check has found (``ExecutionConfig.setColumnChecks``), since when the
    function runs element by element."""


@dataclass(frozen=True)
class OperatorMetrics:
    """The metrics of one operator, over all its key groups.

    Counters count from the start of this run; gauges show the last batch.
    """

    uid: str
    name: str
    numRecordsIn: int = 0
    numRecordsOut: int = 0
    """The records emitted to the main output, without side outputs."""
    numLateRecordsDropped: int = 0
    """The late elements that were dropped, without those sent to a side output."""
    currentWatermark: int | None = None
    """The lowest watermark (ms) over the key groups; None before the first."""
    timers: int = 0
    """The number of pending timers, in event time and processing time."""
    stateEntries: int = 0
    """The number of entries of keyed state, by key and window; a list or a map counts as one."""
    statePages: int = 0
    """The number of pages of these entries; each is an entry of Spark's state store."""
    user: dict[str, float] = field(default_factory=dict)
    """The metrics of the operator's user functions, by name. A gauge shows the value of the key group
    that reported last."""
    accumulators: dict[str, list[Accumulator[Any, Any]]] = field(default_factory=dict)
    """The accumulators of the operator's user functions, by name: one of each task."""
    functions: tuple[FunctionRuns, ...] = ()
    """The runs of its functions that may run over columns."""
    openWindows: int = 0
    """The number of windows with contents, counted for each key."""

    @property
    def leftColumns(self) -> dict[str, str]:
        """The functions that do not run over columns any more, and the difference that a check
        found."""
        return {f.function: f.difference for f in self.functions if f.difference is not None}


@dataclass(frozen=True)
class JobExecutionResult(AbsentMethods):
    """The result of a job that ended (Flink: ``JobExecutionResult``)."""

    jobName: str
    jobID: str
    netRuntime: int
    """Milliseconds from start to end."""
    metrics: dict[str, OperatorMetrics]
    """The metrics by operator name; ``name#2`` for the second operator of a name."""
    numRestarts: int = 0
    """The number of times that the job failed and was restarted."""

    def getJobID(self) -> str:
        """The id of the job."""
        return self.jobID

    def getNetRuntime(self) -> int:
        """Milliseconds from start to end."""
        return self.netRuntime

    def getMetrics(self) -> dict[str, OperatorMetrics]:
        """The metrics of every operator, by its name."""
        return self.metrics

    def getAccumulatorResult(self, accumulatorName: str) -> Any:
        """The merged value of the accumulators of that name; None if there are none."""
        return self.getAllAccumulatorResults().get(accumulatorName)

    def getAllAccumulatorResults(self) -> dict[str, Any]:
        """The merged values of the accumulators of all functions, by name."""
        return accumulator_results(self.metrics)

    def _repr_html_(self) -> str:
        from flinkish.api.display.notebook import result_html

        return result_html(self)


def accumulator_results(metrics: Mapping[str, OperatorMetrics]) -> dict[str, Any]:
    """The merged value of the accumulators of each name in ``metrics``."""
    joined: dict[str, Accumulator[Any, Any]] = {}
    for operator in metrics.values():
        for name, accumulators in operator.accumulators.items():
            for accumulator in copy.deepcopy(accumulators):
                if name not in joined:
                    joined[name] = accumulator
                elif type(joined[name]) is not type(accumulator):
                    raise IllegalStateError(
                        f"The accumulator {name!r} is a {type(joined[name]).__name__} in one function and a"
                        f" {type(accumulator).__name__} in another. Give one of them another name."
                    )
                else:
                    joined[name].merge(accumulator)
    return {name: accumulator.getLocalValue() for name, accumulator in joined.items()}


class JobClient(AbsentMethods, ABC):
    """The handle of a running job (Flink: ``JobClient``)."""

    isAwaited: bool = False
    """Whether ``getJobExecutionResult`` has been called, which raises the error of a job that failed."""

    @abstractmethod
    def getJobID(self) -> str:
        """The id of the job."""

    @abstractmethod
    def getJobStatus(self) -> JobStatus:
        """The status of the job."""

    def getAccumulators(self) -> dict[str, Any]:
        """The merged values of the accumulators of all functions so far, by name."""
        return accumulator_results(self.getMetrics())

    @abstractmethod
    def getMetrics(self) -> dict[str, OperatorMetrics]:
        """The metrics of every operator by its name, as of the last batch."""

    @abstractmethod
    def getJobDetails(self) -> JobDetails:
        """Return the job's details as of the last batch: its graph, watermarks by input and split,
        batches, checkpoints and errors. Asks neither Spark nor the workers."""

    @abstractmethod
    def cancel(self) -> None:
        """Stop now. A later run can continue from the last committed batch."""

    @abstractmethod
    def stopWithSavepoint(self, savepointDirectory: str | None = None) -> str:
        """Finish the current batch, stop, and return the directory from which a later run can
        continue.

        With ``savepointDirectory``, a new directory, a savepoint is written there, for
        ``env.setSavepoint(directory)``: it may be moved, and restored with another parallelism or
        by a changed job. Without it, the checkpoint directory is returned.
        """

    @abstractmethod
    def triggerSavepoint(self, savepointDirectory: str) -> str:
        """Write a savepoint of the last batch to ``savepointDirectory``, a new directory, and return it. The
        job keeps running."""

    @abstractmethod
    def profileBatch(self) -> None:
        """Sample the stacks of the tasks in the next batch: ``getJobDetails().profile`` contains
        them once the batch has ended. The web page draws them as a flame graph."""

    @abstractmethod
    def getJobExecutionResult(self, timeout: float | None = None) -> JobExecutionResult:
        """Wait for the end, ``timeout`` seconds at most, and return the result.

        Raises the job's error if it failed, and TimeoutError.
        """

    @contextmanager
    def cancelledOnInterrupt(self) -> Iterator[None]:
        """Cancels the job if an interrupt (Ctrl-C, a notebook's stop button) comes inside the block."""
        try:
            yield
        except KeyboardInterrupt:
            self.cancelSoon()
            raise

    def cancelSoon(self) -> None:
        """Cancel the job, but do not wait until it has stopped."""
        threading.Thread(target=self.cancel, daemon=True).start()

    def show(self) -> None:
        """Show the job while it runs: status, batches, records, watermark and late records.

        In a notebook with ipywidgets this returns at once; the widget is kept up to date and has a
        button to stop the job. Elsewhere it prints a line when something has changed, until the job
        has ended; an interrupt cancels the job.
        """
        from flinkish.api.display.notebook import show

        show(self)

    def _repr_html_(self) -> str:
        from flinkish.api.display.notebook import job_html

        return job_html(self.getJobDetails())

    def awaitTermination(self, timeout: float | None = None) -> JobExecutionResult:
        """``getJobExecutionResult`` by the name it has on a StreamingQuery."""
        return self.getJobExecutionResult(timeout)


class CloseableIterator(ABC, Iterator[T_co], Generic[T_co]):
    """Iterates over the results of a job; closing it stops the job (Flink: ``CloseableIterator``)."""

    @abstractmethod
    def close(self) -> None:
        """Stop the job, if it still runs."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class JobListener(ABC):
    """Is notified about the jobs of an environment (Flink: ``JobListener``)."""

    @abstractmethod
    def onJobSubmitted(self, jobClient: JobClient | None, throwable: BaseException | None) -> None:
        """Called with the client of a job that was started, or with the error if it could not be."""

    @abstractmethod
    def onJobExecuted(
        self, jobExecutionResult: JobExecutionResult | None, throwable: BaseException | None
    ) -> None:
        """Called when ``execute`` has run a job to its end, with the result or the error."""


UNNOTICED_SECONDS = 0.5
"""The longest that an interrupt goes unnoticed. Python handles a signal before or during a wait,
and not one that comes just as the thread goes to sleep: a wait without a timeout would continue
until the next signal."""


_End: TypeAlias = BaseException | type[StopIteration]
"""How a job has ended: with an error, or without."""


class _Batches(Generic[T]):
    """The results of a job so far. The job refers to this and not to the iterator, so that an unused
    iterator can be garbage collected, which cancels the job."""

    def __init__(self) -> None:
        self._batches: queue.SimpleQueue[list[T] | _End] = queue.SimpleQueue()
        self._last = -1

    def put(self, values: list[T], batchId: int) -> None:
        """Add the elements of a batch; the sink calls this. A restarted job may deliver its last
        batch again."""
        if batchId > self._last:
            self._last = batchId
            self._batches.put(values)

    def get(self) -> list[T]:
        """The elements of the next batch, once it has come.

        Raises StopIteration after the last, and the error of a job that failed.
        """
        batch: list[T] | _End | None = None
        while batch is None:
            with suppress(queue.Empty):
                batch = self._batches.get(timeout=UNNOTICED_SECONDS)
        if not isinstance(batch, list):
            self._batches.put(batch)
            raise batch
        return batch

    def awaitEnd(self, client: JobClient) -> None:
        """Queue the end of the job after its elements."""
        try:
            client.getJobExecutionResult()
        except BaseException as error:
            self._batches.put(error)
        else:
            self._batches.put(StopIteration)


class CollectResultIterator(CloseableIterator[T]):
    """Iterates over the elements as batches deliver them (Flink: ``CollectResultIterator``).

    The job is cancelled when the iterator is closed, or the program is interrupted while it waits.
    """

    def __init__(self) -> None:
        self._batches: _Batches[T] = _Batches()
        self._values: list[T] = []
        self._client: JobClient | None = None
        self.collect = self._batches.put
        """The function of the sink that delivers the elements."""

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
            try:
                with self._client.cancelledOnInterrupt():
                    self._values = self._batches.get()[::-1]
            except FlinkishError as error:
                shorten(error)
                raise
        return self._values.pop()

    def close(self) -> None:
        self._values = []
        if self._client is not None:
            self._client.cancel()
