"""``RuntimeContext``: state, metrics and task information for rich functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from flinkish.api.absent import AbsentMethods
from flinkish.api.functions.accumulators import Accumulator
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
from flinkish.api.type_variables import IN, OUT, UK, UV, T


@dataclass(frozen=True)
class OpenContext:
    """The argument of ``open`` (Flink: ``OpenContext``); it is empty, as in Flink."""


@dataclass(frozen=True)
class TaskInfo:
    """The task that runs a function (Flink: ``TaskInfo``)."""

    taskName: str
    parallelism: int = 1
    maxParallelism: int = 1
    indexOfThisSubtask: int = 0
    attemptNumber: int = 0

    def getTaskName(self) -> str:
        """The name of the operator."""
        return self.taskName

    def getNumberOfParallelSubtasks(self) -> int:
        """The number of subtasks of the operator."""
        return self.parallelism

    def getMaxNumberOfParallelSubtasks(self) -> int:
        """The number of key groups."""
        return self.maxParallelism

    def getIndexOfThisSubtask(self) -> int:
        """The index of this subtask, from 0."""
        return self.indexOfThisSubtask

    def getAttemptNumber(self) -> int:
        """The number of this attempt, from 0."""
        return self.attemptNumber

    def getTaskNameWithSubtasks(self) -> str:
        """The name with the number of the subtask, from 1, as ``"Map (1/4)#0"``."""
        number = f"{self.indexOfThisSubtask + 1}/{self.parallelism}"
        return f"{self.taskName} ({number})#{self.attemptNumber}"


class KeyedStateStore(ABC):
    """Access to keyed state (Flink: ``KeyedStateStore``).

    Get a state once, in ``open``: the returned object always reads and writes the entry of the
    current key.
    """

    @abstractmethod
    def getState(self, stateProperties: ValueStateDescriptor[T]) -> ValueState[T]:
        """The value state that the descriptor names."""

    @abstractmethod
    def getListState(self, stateProperties: ListStateDescriptor[T]) -> ListState[T]:
        """The list state that the descriptor names."""

    @abstractmethod
    def getMapState(self, stateProperties: MapStateDescriptor[UK, UV]) -> MapState[UK, UV]:
        """The map state that the descriptor names."""

    @abstractmethod
    def getReducingState(self, stateProperties: ReducingStateDescriptor[T]) -> ReducingState[T]:
        """The reducing state that the descriptor names."""

    @abstractmethod
    def getAggregatingState(
        self, stateProperties: AggregatingStateDescriptor[IN, Any, OUT]
    ) -> AggregatingState[IN, OUT]:
        """The aggregating state that the descriptor names."""


class RuntimeContext(AbsentMethods, KeyedStateStore):
    """State, metrics and task information of a rich function (Flink: ``RuntimeContext``)."""

    @abstractmethod
    def getTaskInfo(self) -> TaskInfo:
        """The task that runs this function."""

    @abstractmethod
    def getMetricGroup(self) -> MetricGroup:
        """The metrics of this operator."""

    @abstractmethod
    def addAccumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        """Register an accumulator, in ``open``; the job's result merges all accumulators of that
        name."""

    @abstractmethod
    def isObjectReuseEnabled(self) -> bool:
        """Whether elements are passed between chained operators without a copy."""

    @abstractmethod
    def getGlobalJobParameters(self) -> dict[str, str]:
        """The parameters that ``env.getConfig().setGlobalJobParameters`` set before the job
        started."""

    # PyFlink has these on the context itself

    def getTaskName(self) -> str:
        """The name of the operator."""
        return self.getTaskInfo().getTaskName()

    def getNumberOfParallelSubtasks(self) -> int:
        """The number of subtasks of the operator."""
        return self.getTaskInfo().getNumberOfParallelSubtasks()

    def getMaxNumberOfParallelSubtasks(self) -> int:
        """The number of key groups."""
        return self.getTaskInfo().getMaxNumberOfParallelSubtasks()

    def getIndexOfThisSubtask(self) -> int:
        """The index of this subtask, from 0."""
        return self.getTaskInfo().getIndexOfThisSubtask()

    def getAttemptNumber(self) -> int:
        """The number of this attempt, from 0."""
        return self.getTaskInfo().getAttemptNumber()

    def getTaskNameWithSubtasks(self) -> str:
        """The name with the number of the subtask."""
        return self.getTaskInfo().getTaskNameWithSubtasks()
