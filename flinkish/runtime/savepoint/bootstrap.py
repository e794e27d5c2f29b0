"""Converts functions of a bootstrap to those of a job, which creates a savepoint."""

from __future__ import annotations

from typing import Any

from flinkish.api.functions.checkpointed import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from flinkish.api.functions.functions import Collector, RichFunction
from flinkish.api.functions.process import KeyedProcessFunction, ProcessFunction
from flinkish.api.functions.runtime_context import OpenContext, RuntimeContext
from flinkish.api.functions.state import ListStateDescriptor, MapStateDescriptor
from flinkish.api.savepoint.bootstrap import BootstrapFunction
from flinkish.api.savepoint.functions import (
    BroadcastStateBootstrapContext,
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
)
from flinkish.runtime.savepoint.capture import BROADCAST
from flinkish.runtime.savepoint.saved_state import (
    GATES,
    OPERATOR,
    VALVE,
    SavedState,
    decoded,
    encoded,
)
from flinkish.runtime.state.broadcast_state import HeapBroadcastState

_LIST = "flinkish.broadcast"
"""The name of the operator state list that keeps the broadcast state of a bootstrap."""

ProcessLike = KeyedProcessFunction[Any, Any, Any] | ProcessFunction[Any, Any]


def process_function(function: BootstrapFunction) -> ProcessLike:
    """A process function that runs ``function`` in a job."""
    if isinstance(function, KeyedStateBootstrapFunction):
        return _KeyedBootstrap(function)
    if isinstance(function, BroadcastStateBootstrapFunction):
        return _BroadcastBootstrap(function)
    return _OperatorBootstrap(function)


def bootstrapped(saved: SavedState) -> SavedState | None:
    """The state that a bootstrap created, in the form of a savepoint. Watermarks are removed, as
    they mean nothing without a job. None if ``saved`` has nothing else."""
    if saved.table in (GATES, VALVE):
        return None
    if saved.table != OPERATOR:
        return saved
    (snapshot,) = decoded(saved.operator, saved.table, saved.state, saved.content)
    functions = snapshot.get("functions")
    if functions and _LIST in functions[0]["lists"]:
        _, states = functions[0]["lists"][_LIST]
        snapshot = {"watermark": snapshot["watermark"], BROADCAST: dict(states)}
    elif set(snapshot) == {"watermark"}:
        return None
    content = encoded(saved.operator, OPERATOR, "", (snapshot,))
    return saved._replace(content=content)


class _Bootstrap(RichFunction):
    """Runs the function of a bootstrap, with its life cycle, as a function of a job."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def setRuntimeContext(self, context: RuntimeContext) -> None:
        super().setRuntimeContext(context)
        self._function.setRuntimeContext(context)

    def open(self, openContext: OpenContext) -> None:
        self._function.open(openContext)

    def close(self) -> None:
        self._function.close()


class _KeyedBootstrap(_Bootstrap, KeyedProcessFunction[Any, Any, Any]):
    def processElement(self, value: Any, ctx: Any, out: Collector[Any]) -> None:
        self._function.processElement(value, ctx)


class _OperatorBootstrap(_Bootstrap, ProcessFunction[Any, Any], CheckpointedFunction):
    def initializeState(self, context: FunctionInitializationContext) -> None:
        self._function.initializeState(context)

    def processElement(self, value: Any, ctx: Any, out: Collector[Any]) -> None:
        self._function.processElement(value, ctx.timerService())

    def snapshotState(self, context: FunctionSnapshotContext) -> None:
        self._function.snapshotState(context)


class _BroadcastBootstrap(_Bootstrap, ProcessFunction[Any, Any], CheckpointedFunction):
    """Keeps the function's broadcast state in a list until the savepoint is written."""

    def initializeState(self, context: FunctionInitializationContext) -> None:
        store = context.getOperatorStateStore()
        self._kept = store.getUnionListState(ListStateDescriptor(_LIST))
        self._states: dict[str, HeapBroadcastState] = {}

    def processElement(self, value: Any, ctx: Any, out: Collector[Any]) -> None:
        now = ctx.timerService().currentProcessingTime()
        self._function.processElement(value, _BroadcastContext(self._states, now))

    def snapshotState(self, context: FunctionSnapshotContext) -> None:
        self._kept.update((name, state.content) for name, state in self._states.items())


class _BroadcastContext(BroadcastStateBootstrapContext):
    __slots__ = ("_now", "_states")

    def __init__(self, states: dict[str, HeapBroadcastState], now: int) -> None:
        self._states = states
        self._now = now

    def currentProcessingTime(self) -> int:
        return self._now

    def getBroadcastState(self, descriptor: MapStateDescriptor[Any, Any]) -> HeapBroadcastState:
        return self._states.setdefault(descriptor.getName(), HeapBroadcastState())
