"""The runtime context of a rich function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from flinkish.api.errors import IllegalStateError
from flinkish.api.metrics import MetricGroup
from flinkish.api.runtime_context import KeyedStateStore, RuntimeContext, TaskInfo
from flinkish.api.state import (
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

if TYPE_CHECKING:
    from flinkish.runtime.operators.base import StreamOperator


class StreamingRuntimeContext(RuntimeContext):
    """State, metrics and task information of one operator (Flink: the same name)."""

    def __init__(self, operator: StreamOperator, states: KeyedStateStore | None = None) -> None:
        self._operator = operator
        self._states = states

    def getTaskInfo(self) -> TaskInfo:
        return self._operator.taskInfo

    def getMetricGroup(self) -> MetricGroup:
        return self._operator.metrics

    def isObjectReuseEnabled(self) -> bool:
        return self._operator.output.reusesObjects

    def getState(self, stateProperties: ValueStateDescriptor[Any]) -> ValueState[Any]:
        return self._keyed().getState(stateProperties)

    def getListState(self, stateProperties: ListStateDescriptor[Any]) -> ListState[Any]:
        return self._keyed().getListState(stateProperties)

    def getMapState(self, stateProperties: MapStateDescriptor[Any, Any]) -> MapState[Any, Any]:
        return self._keyed().getMapState(stateProperties)

    def getReducingState(self, stateProperties: ReducingStateDescriptor[Any]) -> ReducingState[Any]:
        return self._keyed().getReducingState(stateProperties)

    def getAggregatingState(
        self, stateProperties: AggregatingStateDescriptor[Any, Any, Any]
    ) -> AggregatingState[Any, Any]:
        return self._keyed().getAggregatingState(stateProperties)

    def _keyed(self) -> KeyedStateStore:
        if self._states is None:
            self._refuse()
        return self._states

    def _refuse(self) -> NoReturn:
        raise IllegalStateError(
            f"{self._operator.name}: keyed state is only there on a keyed stream. Call keyBy(...)"
            " before this operator."
        )
