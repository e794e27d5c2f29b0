"""The parts of a user-defined sink: a writer, and a committer for exactly-once delivery.

A writer lives for one batch, which is a checkpoint. The committables that it prepares at the end of
the batch are stored in the checkpoint, and only then committed. So a batch that is run again after
a crash is either written again, as nothing of it was committed, or committed again from the stored
committables, never both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from enum import Enum
from typing import Generic, NoReturn, TypeVar

from flinkish.api.errors import NotSupportedError
from flinkish.api.functions.runtime_context import TaskInfo
from flinkish.api.type_variables import T_contra

COMM = TypeVar("COMM")
COMM_co = TypeVar("COMM_co", covariant=True)


class WriterInitContext(ABC):
    """The argument of ``Sink.createWriter`` (Flink: ``WriterInitContext``)."""

    @abstractmethod
    def getTaskInfo(self) -> TaskInfo:
        """The subtask that the writer belongs to."""

    @abstractmethod
    def getBatchId(self) -> int:
        """The id of the batch. A batch that is run again after a crash keeps its id."""


class SinkWriterContext(ABC):
    """The context of an element in a writer (Flink: ``SinkWriter.Context``)."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """The timestamp of the element in ms, None if it has none."""

    def currentWatermark(self) -> NoReturn:
        """Not supported: watermarks end before the sinks."""
        raise NotSupportedError(
            "currentWatermark is not supported in a SinkWriter. Put it into the elements by a"
            " ProcessFunction before the sink: ctx.timerService().currentWatermark()."
        )


class SinkWriter(ABC, Generic[T_contra]):
    """Writes the elements of a batch in one subtask (Flink: ``SinkWriter``)."""

    @abstractmethod
    def write(self, element: T_contra, context: SinkWriterContext) -> None:
        """Write ``element``, or buffer it until ``flush``."""

    def flush(self, endOfInput: bool) -> None:
        """Called at the end of the batch: write all buffered elements. ``endOfInput`` is always
        False."""

    def close(self) -> None:
        """Called at the end, also after an error."""


class CommittingSinkWriter(SinkWriter[T_contra], Generic[T_contra, COMM_co]):
    """A writer whose elements count only once they are committed (Flink: ``CommittingSinkWriter``)."""

    @abstractmethod
    def prepareCommit(self) -> Collection[COMM_co]:
        """Called after ``flush``; returns what to commit, such as the names of written files. The
        committables are pickled into the checkpoint."""


class CommitRequestState(Enum):
    """The state of a committable after a commit attempt."""

    COMMITTED = "committed"
    RETRY = "retry"
    FAILED = "failed"


class CommitRequest(Generic[COMM]):
    """One thing to commit (Flink: ``Committer.CommitRequest``); it counts as committed unless the
    committer says otherwise."""

    def __init__(self, committable: COMM) -> None:
        self._committable = committable
        self._retries = 0
        self.state = CommitRequestState.COMMITTED
        self.reason: object = None

    def getCommittable(self) -> COMM:
        """The committable that ``prepareCommit`` returned."""
        return self._committable

    def getNumberOfRetries(self) -> int:
        """The number of earlier attempts to commit."""
        return self._retries

    def retryLater(self) -> None:
        """Try the commit again."""
        self.state = CommitRequestState.RETRY

    def updateAndRetryLater(self, committable: COMM) -> None:
        """Try the commit again with ``committable``."""
        self._committable = committable
        self.retryLater()

    def signalAlreadyCommitted(self) -> None:
        """The committable was committed before, as may be the case after a crash."""
        self.state = CommitRequestState.COMMITTED

    def signalFailedWithKnownReason(self, reason: object) -> None:
        """Give up this committable; a warning says so, and the job continues."""
        self.state, self.reason = CommitRequestState.COMMITTED, reason

    def signalFailedWithUnknownReason(self, reason: object) -> None:
        """Fail the job."""
        self.state, self.reason = CommitRequestState.FAILED, reason

    def tryAgain(self) -> None:
        """Called before the commit is tried again."""
        self._retries += 1
        self.state, self.reason = CommitRequestState.COMMITTED, None


class Committer(ABC, Generic[COMM]):
    """Commits what the writers of a batch prepared, in one place (Flink: ``Committer``)."""

    @abstractmethod
    def commit(self, committables: Collection[CommitRequest[COMM]]) -> None:
        """Commit all of ``committables``. After a crash this may be called again with the same
        ones: leave those alone that are committed already."""

    def close(self) -> None:
        """Called at the end of the batch, also after an error."""


class CommitterInitContext(ABC):
    """The argument of ``createCommitter`` (Flink: ``CommitterInitContext``)."""

    @abstractmethod
    def getTaskInfo(self) -> TaskInfo:
        """The subtask that commits; there is only one."""

    @abstractmethod
    def getBatchId(self) -> int:
        """The id of the batch."""


class SupportsCommitter(ABC, Generic[COMM]):
    """A sink with a committer (Flink: ``SupportsCommitter``); derive from it beside ``Sink``. Its
    ``createWriter`` returns a ``CommittingSinkWriter``."""

    @abstractmethod
    def createCommitter(self, context: CommitterInitContext) -> Committer[COMM]:
        """A new committer, for a batch."""
