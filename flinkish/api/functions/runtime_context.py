"""What a rich function may ask of the task that runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeVar

from flinkish.api.functions.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from flinkish.api.metrics import MetricGroup
from flinkish.api.refused import RefusedRuntimeContextMethods

T = TypeVar("T")
IN = TypeVar("IN")
OUT = TypeVar("OUT")
UK = TypeVar("UK")
UV = TypeVar("UV")


@dataclass(frozen=True)
class OpenContext:
    """Passed to ``open`` (Flink: ``OpenContext``, empty there too)."""


@dataclass(frozen=True)
class TaskInfo:
    """Where a function runs (Flink: ``TaskInfo``)."""

    taskName: str
    parallelism: int = 1
    maxParallelism: int = 1
    indexOfThisSubtask: int = 0
    attemptNumber: int = 0

    def getTaskName(self) -> str:
        """The name of the operator."""
        return self.taskName

    def getNumberOfParallelSubtasks(self) -> int:
        """How many subtasks the operator has."""
        return self.parallelism

    def getMaxNumberOfParallelSubtasks(self) -> int:
        """The number of key groups."""
        return self.maxParallelism

    def getIndexOfThisSubtask(self) -> int:
        """Which of the subtasks this is, from 0."""
        return self.indexOfThisSubtask

    def getAttemptNumber(self) -> int:
        """Which try this is, from 0."""
        return self.attemptNumber

    def getTaskNameWithSubtasks(self) -> str:
        """The name with the number of the subtask, from 1, as ``"Map (1/4)#0"``."""
        number = f"{self.indexOfThisSubtask + 1}/{self.parallelism}"
        return f"{self.taskName} ({number})#{self.attemptNumber}"


class KeyedStateStore(ABC):
    """Hands out keyed state: each call gives the state of the current key (Flink:
    ``KeyedStateStore``)."""

    @abstractmethod
    def getState(self, stateProperties: ValueStateDescriptor[T]) -> ValueState[T]:
        """The value state of that descriptor."""

    @abstractmethod
    def getListState(self, stateProperties: ListStateDescriptor[T]) -> ListState[T]:
        """The list state of that descriptor."""

    @abstractmethod
    def getMapState(self, stateProperties: MapStateDescriptor[UK, UV]) -> MapState[UK, UV]:
        """The map state of that descriptor."""

    @abstractmethod
    def getReducingState(self, stateProperties: ReducingStateDescriptor[T]) -> ReducingState[T]:
        """The reducing state of that descriptor."""

    @abstractmethod
    def getAggregatingState(
        self, stateProperties: AggregatingStateDescriptor[IN, Any, OUT]
    ) -> AggregatingState[IN, OUT]:
        """The aggregating state of that descriptor."""


class RuntimeContext(RefusedRuntimeContextMethods, KeyedStateStore):
    """State, metrics and task information of a rich function (Flink: ``RuntimeContext``)."""

    @abstractmethod
    def getTaskInfo(self) -> TaskInfo:
        """Where this function runs."""

    @abstractmethod
    def getMetricGroup(self) -> MetricGroup:
        """The metrics of this operator."""

    @abstractmethod
    def isObjectReuseEnabled(self) -> bool:
        """Whether chained operators get elements without a copy."""

    # What PyFlink asks of the context itself

    def getTaskName(self) -> str:
        """The name of the operator."""
        return self.getTaskInfo().getTaskName()

    def getNumberOfParallelSubtasks(self) -> int:
        """How many subtasks the operator has."""
        return self.getTaskInfo().getNumberOfParallelSubtasks()

    def getMaxNumberOfParallelSubtasks(self) -> int:
        """The number of key groups."""
        return self.getTaskInfo().getMaxNumberOfParallelSubtasks()

    def getIndexOfThisSubtask(self) -> int:
        """Which of the subtasks this is, from 0."""
        return self.getTaskInfo().getIndexOfThisSubtask()

    def getAttemptNumber(self) -> int:
        """Which try this is, from 0."""
        return self.getTaskInfo().getAttemptNumber()

    def getTaskNameWithSubtasks(self) -> str:
        """The name with the number of the subtask."""
        return self.getTaskInfo().getTaskNameWithSubtasks()
