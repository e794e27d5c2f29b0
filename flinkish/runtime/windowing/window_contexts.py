"""The context objects of triggers, evictors, assigners and window functions.

Each is a view of the operator. One object serves all keys and windows, as an object for each
element would cost too much: the operator sets the current key and window before a call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from flinkish.api.errors import InvalidProgramError
from flinkish.api.functions.runtime_context import KeyedStateStore
from flinkish.api.functions.state import StateDescriptor
from flinkish.api.functions.window import WindowContext
from flinkish.api.metrics import MetricGroup
from flinkish.api.output_tag import OutputTag
from flinkish.api.windowing.assigners import WindowAssignerContext
from flinkish.api.windowing.evictors import EvictorContext
from flinkish.api.windowing.triggers import OnMergeContext
from flinkish.runtime.operators.base import StreamOperator
from flinkish.runtime.operators.timers import InternalTimerService, timer_timestamp
from flinkish.runtime.state.keyed_states import KeyedStates
from flinkish.runtime.time.clock import ProcessingTimeService
from flinkish.runtime.windowing.window_contents import merge_call, merge_namespaces


@dataclass(eq=False, repr=False, slots=True)
class ClockContext(WindowAssignerContext):
    """The context of an assigner."""

    _clock: ProcessingTimeService

    def getCurrentProcessingTime(self) -> int:
        return self._clock.getCurrentProcessingTime()


@dataclass(eq=False, repr=False, slots=True)
class WindowTriggerContext(OnMergeContext):
    """The context of a trigger: timers and state of the current key under ``window``."""

    _operator: StreamOperator
    _timers: InternalTimerService
    _states: KeyedStates
    window: Any = None
    mergedWindows: Iterable[Any] = ()
    _merge_calls: dict[str, tuple[StateDescriptor[Any], Callable[[Any, Any], Any]]] = field(
        default_factory=dict
    )

    def getCurrentProcessingTime(self) -> int:
        return self._timers.currentProcessingTime()

    def getCurrentWatermark(self) -> int:
        return self._timers.currentWatermark()

    def getMetricGroup(self) -> MetricGroup:
        return self._operator.metrics

    def registerProcessingTimeTimer(self, time: int) -> None:
        timestamp = timer_timestamp(time)
        if not self._timers.inputEnded:
            self._timers.registerProcessingTimeTimer(self.window, timestamp)

    def registerEventTimeTimer(self, time: int) -> None:
        timestamp = timer_timestamp(time)
        if not self._timers.inputEnded:
            self._timers.registerEventTimeTimer(self.window, timestamp)

    def deleteProcessingTimeTimer(self, time: int) -> None:
        self._timers.deleteProcessingTimeTimer(self.window, timer_timestamp(time))

    def deleteEventTimeTimer(self, time: int) -> None:
        self._timers.deleteEventTimeTimer(self.window, timer_timestamp(time))

    def getPartitionedState(self, stateDescriptor: StateDescriptor[Any]) -> Any:
        return self._states.of(stateDescriptor)

    def mergePartitionedState(self, stateDescriptor: StateDescriptor[Any]) -> None:
        backend = self._operator.backend
        name = stateDescriptor.getName()
        known = self._merge_calls.get(name)
        if known is None or known[0] is not stateDescriptor:
            known = self._merge_calls[name] = stateDescriptor, merge_call(stateDescriptor)
        sources = self.mergedWindows
        merge_namespaces(backend.table(name), backend.currentKey, self.window, sources, known[1])


@dataclass(eq=False, repr=False, slots=True)
class WindowEvictorContext(EvictorContext):
    _operator: StreamOperator

    def getCurrentProcessingTime(self) -> int:
        return self._operator.clock.getCurrentProcessingTime()

    def getCurrentWatermark(self) -> int:
        return self._operator.currentWatermark

    def getMetricGroup(self) -> MetricGroup:
        return self._operator.metrics


@dataclass(eq=False, repr=False, slots=True)
class WindowProcessContext(WindowContext[Any]):
    """The context of a window function; ``current`` is the window that fires."""

    _operator: StreamOperator
    _window_state: KeyedStateStore
    _global_state: KeyedStateStore
    current: Any = None

    def window(self) -> Any:
        return self.current

    def currentProcessingTime(self) -> int:
        return self._operator.clock.getCurrentProcessingTime()

    def currentWatermark(self) -> int:
        return self._operator.currentWatermark

    def windowState(self) -> KeyedStateStore:
        return self._window_state

    def globalState(self) -> KeyedStateStore:
        return self._global_state

    def output(self, outputTag: OutputTag[Any], value: Any) -> None:
        self._operator.output.collectSide(outputTag.getId(), value, self.current.maxTimestamp())


class MergingWindowStateStore(KeyedStateStore):
    """Refuses per-window state, as a window function has no hook to merge it when windows merge
    (Flink: ``MergingWindowStateStore``)."""

    def __init__(self, function: object, assigner: object) -> None:
        self._message = (
            f"windowState: {type(function).__name__} asks for state per window, but windows of"
            f" {assigner!r} merge, and such state cannot be merged. Use globalState(), or a window"
            " assigner that does not merge."
        )

    def _refuse(self, stateProperties: object) -> NoReturn:
        raise InvalidProgramError(self._message)

    getState = getListState = getMapState = getReducingState = getAggregatingState = _refuse
