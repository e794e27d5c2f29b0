"""The operators of the broadcast state pattern: all tasks receive all of the second input."""

from __future__ import annotations

from typing import Any

from flinkish.api.functions.broadcast import (
    BroadcastContext,
    BroadcastReadOnlyContext,
    KeyedBroadcastContext,
    KeyedBroadcastTimerContext,
)
from flinkish.api.functions.state import MapStateDescriptor, StateDescriptor
from flinkish.api.output_tag import OutputTag
from flinkish.api.plan.two_input import BroadcastProcessDescription
from flinkish.runtime.operators.base import OperatorContext, StreamOperator, UdfStreamOperator
from flinkish.runtime.operators.contexts import (
    ElementContext,
    OperatorProcessContext,
    SimpleTimerService,
)
from flinkish.runtime.operators.one_input import OnTimerOperator
from flinkish.runtime.operators.output import Output, TimestampedCollector
from flinkish.runtime.operators.two_input import TwoInputOperator
from flinkish.runtime.records.records import Records
from flinkish.runtime.state.broadcast_state import BroadcastStates, HeapBroadcastState, ReadOnlyView
from flinkish.runtime.state.keyed_states import NO_KEY, KeyedStates


class BroadcastOperator(TwoInputOperator):
    """Base class of the two operators, which set ``_broadcast``, their broadcast state."""

    _broadcast: BroadcastStates

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        super().restore(snapshot)
        self._broadcast.restore(None if snapshot is None else snapshot.get("broadcast"))

    def snapshot(self) -> dict[str, Any]:
        return {**super().snapshot(), "broadcast": self._broadcast.snapshot()}


class CoBroadcastWithNonKeyedOperator(UdfStreamOperator, BroadcastOperator):
    """``process`` on a stream connected with a broadcast stream (Flink: the class of this name)."""

    def __init__(self, context: OperatorContext, description: BroadcastProcessDescription) -> None:
        super().__init__(context, description)
        self._broadcast = BroadcastStates(context.name, description.descriptors)
        self._context = ReadOnlyContextImpl(self, self._broadcast)
        self._broadcast_context = ReadWriteContextImpl(self, self._broadcast)

    def processRecords1(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        function = self._function.processElement
        self.processElements(function, self._context, self.collector, records)

    def processRecords2(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        function = self._function.processBroadcastElement
        self.processElements(function, self._broadcast_context, self.collector, records)


class CoBroadcastWithKeyedOperator(UdfStreamOperator, OnTimerOperator, BroadcastOperator):
    """``process`` on a keyed stream connected with a broadcast stream (Flink: the class of this
    name).

    Every key group processes every broadcast element, for its copy of the broadcast state and for
    its keys. Results of ``processBroadcastElement`` would be emitted once for each key group, so
    only the first one emits them. Each key group emits the results of ``applyToKeyedState`` for its
    own keys.
    """

    def __init__(self, context: OperatorContext, description: BroadcastProcessDescription) -> None:
        super().__init__(context, description)
        self.onTimer = description.function.onTimer
        self._broadcast = BroadcastStates(context.name, description.descriptors)
        self.context = KeyedReadOnlyContextImpl(self, self.timerService, self._broadcast)
        self._broadcast_context = KeyedReadWriteContextImpl(self, self._broadcast, self.states)
        self._broadcast_collector = BroadcastCollector(self.output, self._broadcast_context)

    def processRecords1(self, records: Records) -> None:
        self.processRun(self._function.processElement, records)

    def processRecords2(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        self.backend.currentKey = NO_KEY
        self._broadcast_context.emits = self.inFirstKeyGroup
        # Broadcast elements have no key, so this is the loop of operators without keys.
        StreamOperator.processElements(
            self,
            self._function.processBroadcastElement,
            self._broadcast_context,
            self._broadcast_collector,
            records,
        )


class BroadcastElementContext(ElementContext):
    """The common part of the contexts of both inputs."""

    __slots__ = ("broadcast",)

    def __init__(self, operator: StreamOperator, broadcast: BroadcastStates) -> None:
        super().__init__(operator)
        self.broadcast = broadcast

    def currentProcessingTime(self) -> int:
        return self.operator.clock.getCurrentProcessingTime()

    def currentWatermark(self) -> int:
        """The watermark of both inputs."""
        return self.operator.currentWatermark


class ReadOnlyContextImpl(BroadcastElementContext, BroadcastReadOnlyContext):
    """The context of elements without a key."""

    __slots__ = ()

    def getBroadcastState(self, stateDescriptor: MapStateDescriptor[Any, Any]) -> ReadOnlyView:
        return self.broadcast.view(stateDescriptor)


class ReadWriteContextImpl(BroadcastElementContext, BroadcastContext):
    """The context of broadcast elements."""

    __slots__ = ()

    def getBroadcastState(
        self, stateDescriptor: MapStateDescriptor[Any, Any]
    ) -> HeapBroadcastState:
        return self.broadcast.get(stateDescriptor)


class KeyedReadOnlyContextImpl(OperatorProcessContext, KeyedBroadcastTimerContext[Any]):
    """The context of elements and timers under a key."""

    __slots__ = ("_broadcast",)

    def __init__(
        self, operator: StreamOperator, timers: SimpleTimerService, broadcast: BroadcastStates
    ) -> None:
        super().__init__(operator, timers)
        self._broadcast = broadcast

    def currentProcessingTime(self) -> int:
        return self.timerService().currentProcessingTime()

    def currentWatermark(self) -> int:
        return self.timerService().currentWatermark()

    def getBroadcastState(self, stateDescriptor: MapStateDescriptor[Any, Any]) -> ReadOnlyView:
        return self._broadcast.view(stateDescriptor)


class KeyedReadWriteContextImpl(ReadWriteContextImpl, KeyedBroadcastContext[Any]):
    """The context of broadcast elements, which may visit the state of all keys. ``emits``: whether
    this key group emits the function's results now."""

    __slots__ = ("_states", "emits")

    def __init__(
        self, operator: StreamOperator, broadcast: BroadcastStates, states: KeyedStates
    ) -> None:
        super().__init__(operator, broadcast)
        self._states = states
        self.emits = True

    def output(self, outputTag: OutputTag[Any], value: Any) -> None:
        if self.emits:
            super().output(outputTag, value)

    def applyToKeyedState(self, stateDescriptor: StateDescriptor[Any], function: Any) -> None:
        call = function.process if hasattr(function, "process") else function
        backend = self.operator.backend
        state = self._states.of(stateDescriptor)
        emitted = self.emits
        # A key is in one key group only, so its results are emitted once.
        self.emits = True
        try:
            for key in self._states.keysOf(stateDescriptor):
                backend.currentKey = key
                call(key, state)
        finally:
            backend.currentKey = NO_KEY
            self.emits = emitted


class BroadcastCollector(TimestampedCollector):
    """The collector of broadcast elements: emits if the context says so."""

    __slots__ = ("_context",)

    def __init__(self, output: Output, context: KeyedReadWriteContextImpl) -> None:
        super().__init__(output)
        self._context = context

    def collect(self, value: Any) -> None:
        if self._context.emits:
            super().collect(value)
