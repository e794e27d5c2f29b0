"""``CheckpointedFunction``: a function with operator state, which belongs to it and not to a
key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NoReturn

from flinkish.api.errors import NotSupportedError
from flinkish.api.functions.functions import Function, declares_methods
from flinkish.api.functions.runtime_context import KeyedStateStore
from flinkish.api.functions.state import ListState, ListStateDescriptor
from flinkish.api.type_variables import T


class OperatorStateStore(ABC):
    """Access to operator state: lists that belong to a subtask and not to a key (Flink:
    ``OperatorStateStore``)."""

    @abstractmethod
    def getListState(self, stateDescriptor: ListStateDescriptor[T]) -> ListState[T]:
        """The list that the descriptor names, with the values of this subtask."""

    @abstractmethod
    def getUnionListState(self, stateDescriptor: ListStateDescriptor[T]) -> ListState[T]:
        """The list that the descriptor names; after a restart, with the values of all subtasks.

        Raises NotSupportedError on a keyed stream, unless the operator's parallelism is 1.
        """

    @abstractmethod
    def getRegisteredStateNames(self) -> set[str]:
        """The names of all lists, including those in the checkpoint not requested yet."""

    def getBroadcastState(self, *arguments: object) -> NoReturn:
        """Not supported: only a broadcast stream can keep it the same in all subtasks."""
        raise NotSupportedError(
            "getBroadcastState is not supported in a CheckpointedFunction. Use"
            " stream.connect(rules.broadcast(descriptor)) and a BroadcastProcessFunction."
        )


class FunctionInitializationContext(ABC):
    """The argument of ``initializeState`` (Flink: ``FunctionInitializationContext``)."""

    @abstractmethod
    def isRestored(self) -> bool:
        """Whether state of an earlier batch was restored."""

    @abstractmethod
    def getOperatorStateStore(self) -> OperatorStateStore:
        """Access to operator state."""

    @abstractmethod
    def getKeyedStateStore(self) -> KeyedStateStore:
        """Access to keyed state, which a function on a keyed stream has."""


class FunctionSnapshotContext(ABC):
    """The argument of ``snapshotState`` (Flink: ``FunctionSnapshotContext``)."""

    @abstractmethod
    def getCheckpointId(self) -> int:
        """The number of the checkpoint, from 1; it counts the batches in which this function had
        input."""

    @abstractmethod
    def getCheckpointTimestamp(self) -> int:
        """The time of the checkpoint, in ms."""


@declares_methods
class CheckpointedFunction(Function, ABC):
    """A function with operator state (Flink: ``CheckpointedFunction``); derive from it beside the class of
    the function.

    ``initializeState`` is called before ``open``, with what the last ``snapshotState`` left;
    ``snapshotState`` at the end of every batch, which is a checkpoint. Between the two, attributes
    may hold anything: they are lost with the worker, and ``initializeState`` sets them again.

    Without keys the function runs as one subtask, so both kinds of list hold the same. On a keyed stream
    it has a list, and attributes, for each key group.

    >>> from flinkish import ListStateDescriptor, MapFunction
    >>> from flinkish.testing import StreamTestHarness
    >>> class Numbered(MapFunction[str, tuple[int, str]], CheckpointedFunction):
    ...     def initializeState(self, context):
    ...         store = context.getOperatorStateStore()
    ...         self.kept = store.getListState(ListStateDescriptor("count", int))
    ...         self.count = sum(self.kept.get())
    ...     def snapshotState(self, context):
    ...         self.kept.update([self.count])
    ...     def map(self, value):
    ...         self.count += 1
    ...         return self.count, value
    >>> harness = StreamTestHarness(lambda words: words.map(Numbered()))
    >>> harness.processElement("a")
    >>> restored = StreamTestHarness.restore(lambda w: w.map(Numbered()), harness.snapshot())
    >>> restored.processElement("b")
    >>> [record.value for record in restored.getOutput()]
    [(2, 'b')]
    """

    @abstractmethod
    def initializeState(self, context: FunctionInitializationContext) -> None:
        """Called before ``open`` and the first element: get the states, and read what they hold."""

    @abstractmethod
    def snapshotState(self, context: FunctionSnapshotContext) -> None:
        """Called at a checkpoint: write what must survive into the states."""
