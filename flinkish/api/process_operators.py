"""What the process, reduce, two-input and join operators are to do, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from flinkish.api.callables import positional_arity
from flinkish.api.co_functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from flinkish.api.errors import InvalidProgramError
from flinkish.api.functions import Function, RichFunction
from flinkish.api.operators import (
    FilterDescription,
    FlatMapDescription,
    MapDescription,
    OperatorDescription,
)
from flinkish.api.output_tag import OutputTag
from flinkish.api.process_functions import KeyedProcessFunction, ProcessFunction
from flinkish.api.state import MapStateDescriptor

# ---------------------------------------------------------------------- one input


def process_description(function: Any) -> ProcessDescription:
    """What ``DataStream.process(function)`` is to do.

    Raises InvalidProgramError for what only works on a keyed stream.
    """
    if isinstance(function, KeyedProcessFunction):
        raise InvalidProgramError(
            f"process: {type(function).__name__} is a KeyedProcessFunction, but the stream is not"
            " keyed. Call keyBy(...) before process, or write a ProcessFunction."
        )
    if isinstance(function, ProcessFunction):
        return ProcessDescription(function, function.processElement)
    return ProcessDescription(None, _plain(function, "a ProcessFunction"))


def keyed_process_description(function: Any) -> OperatorDescription:
    """What ``KeyedStream.process(function)`` is to do."""
    if isinstance(function, ProcessFunction):
        return ProcessUnderKeyDescription(function, function.processElement)
    if isinstance(function, KeyedProcessFunction):
        return KeyedProcessDescription(function, function.processElement)
    return KeyedProcessDescription(None, _plain(function, "a KeyedProcessFunction"))


def _plain(function: Any, wanted: str) -> Callable[[Any, Any, Any], Any]:
    if isinstance(function, type):
        raise InvalidProgramError(
            f"process: {function.__name__} is a class. Pass an instance: {function.__name__}()."
        )
    if not callable(function) or positional_arity(function) != 3:
        raise InvalidProgramError(
            f"process: {function!r} is not a process function. Pass {wanted} or f(value, ctx, out)."
        )
    call: Callable[[Any, Any, Any], Any] = function
    return call


@dataclass(frozen=True)
class ProcessDescription(OperatorDescription):
    """``DataStream.process``; ``call(value, ctx, out)`` is the function itself."""

    kind: ClassVar[str] = "Process"

    seesTime: ClassVar[bool] = True

    function: Function | None
    call: Callable[[Any, Any, Any], Any]

    @property
    def name(self) -> str:
        return "Process"

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (self.function or self.call,)


@dataclass(frozen=True)
class ProcessUnderKeyDescription(ProcessDescription):
    """``KeyedStream.process`` of a ProcessFunction: keyed state, but no timers, as in Flink."""

    kind: ClassVar[str] = "ProcessUnderKey"

    keyed: ClassVar[bool] = True


@dataclass(frozen=True)
class KeyedProcessDescription(OperatorDescription):
    """``KeyedStream.process``; without a function, ``call`` is a plain one that sees no timers."""

    kind: ClassVar[str] = "KeyedProcess"

    keyed: ClassVar[bool] = True

    function: KeyedProcessFunction[Any, Any, Any] | None
    call: Callable[[Any, Any, Any], Any]

    @property
    def name(self) -> str:
        return "KeyedProcess"

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (self.function or self.call,)


@dataclass(frozen=True)
class KeyedReduceDescription(OperatorDescription):
    """``KeyedStream.reduce``, and with ``aggregation`` one of sum, min, max, minBy, maxBy."""

    kind: ClassVar[str] = "KeyedReduce"

    keyed: ClassVar[bool] = True
    keepsType: ClassVar[bool] = True

    function: Function | None
    call: Callable[[Any, Any], Any]
    aggregation: bool = False

    @property
    def name(self) -> str:
        return "Keyed Aggregation" if self.aggregation else "Keyed Reduce"

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (self.function or self.call,)


@dataclass(frozen=True)
class KeyedMapDescription(MapDescription):
    """``KeyedStream.map`` of a rich function, which may have keyed state."""

    kind: ClassVar[str] = "KeyedMap"

    keyed: ClassVar[bool] = True


@dataclass(frozen=True)
class KeyedFilterDescription(FilterDescription):
    """``KeyedStream.filter`` of a rich function, which may have keyed state."""

    kind: ClassVar[str] = "KeyedFilter"

    keyed: ClassVar[bool] = True


@dataclass(frozen=True)
class KeyedFlatMapDescription(FlatMapDescription):
    """``KeyedStream.flatMap`` of a rich function, which may have keyed state."""

    kind: ClassVar[str] = "KeyedFlatMap"

    keyed: ClassVar[bool] = True


def under_key(operator: OperatorDescription) -> OperatorDescription:
    """``operator`` as it is on a keyed stream: a rich function gets keyed state there."""
    if any(isinstance(function, RichFunction) for function in operator.userFunctions):
        if type(operator) is MapDescription:
            return KeyedMapDescription(operator.function, operator.call)
        if type(operator) is FilterDescription:
            return KeyedFilterDescription(operator.function, operator.call)
        if type(operator) is FlatMapDescription:
            return KeyedFlatMapDescription(operator.function, operator.call, operator.iterate)
        if type(operator) is ProcessDescription:
            return ProcessUnderKeyDescription(operator.function, operator.call)
    return operator


# ---------------------------------------------------------------------- two inputs


@dataclass(frozen=True)
class TwoInputDescription(OperatorDescription):
    """Base of the operators with two inputs: their elements and watermarks meet in one place, so
    they get a stage of their own with or without keys."""

    @property
    def stateful(self) -> bool:
        return True


@dataclass(frozen=True)
class CoMapDescription(TwoInputDescription):
    """``ConnectedStreams.map``."""

    kind: ClassVar[str] = "CoMap"

    function: CoMapFunction[Any, Any, Any]

    @property
    def name(self) -> str:
        return "Co-Map"

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (self.function,)


@dataclass(frozen=True)
class KeyedCoMapDescription(CoMapDescription):
    """``ConnectedStreams.map`` where both streams are keyed."""

    kind: ClassVar[str] = "KeyedCoMap"

    keyed: ClassVar[bool] = True


@dataclass(frozen=True)
class CoFlatMapDescription(TwoInputDescription):
    """``ConnectedStreams.flatMap``."""

    kind: ClassVar[str] = "CoFlatMap"

    function: CoFlatMapFunction[Any, Any, Any]

    @property
    def name(self) -> str:
        return "Co-Flat Map"

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (self.function,)


@dataclass(frozen=True)
class KeyedCoFlatMapDescription(CoFlatMapDescription):
    """``ConnectedStreams.flatMap`` where both streams are keyed."""

    kind: ClassVar[str] = "KeyedCoFlatMap"

    keyed: ClassVar[bool] = True


@dataclass(frozen=True)
class CoProcessDescription(TwoInputDescription):
    """``ConnectedStreams.process`` where not both streams are keyed: without state and timers."""

    kind: ClassVar[str] = "CoProcess"

    function: CoProcessFunction[Any, Any, Any]

    @property
    def name(self) -> str:
        return "Co-Process"

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (self.function,)


@dataclass(frozen=True)
class KeyedCoProcessDescription(TwoInputDescription):
    """``ConnectedStreams.process`` where both streams are keyed."""

    kind: ClassVar[str] = "KeyedCoProcess"

    keyed: ClassVar[bool] = True

    function: KeyedCoProcessFunction[Any, Any, Any, Any] | CoProcessFunction[Any, Any, Any]

    @property
    def name(self) -> str:
        keyed = isinstance(self.function, KeyedCoProcessFunction)
        return "Co-Keyed-Process" if keyed else "Co-Process"

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (self.function,)


@dataclass(frozen=True)
class BroadcastProcessDescription(TwoInputDescription):
    """``BroadcastConnectedStream.process``; the second input is broadcast."""

    kind: ClassVar[str] = "BroadcastProcess"

    function: Any
    descriptors: tuple[MapStateDescriptor[Any, Any], ...]

    @property
    def name(self) -> str:
        return "Co-Process-Broadcast"

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (self.function,)


@dataclass(frozen=True)
class KeyedBroadcastProcessDescription(BroadcastProcessDescription):
    """``BroadcastConnectedStream.process`` where the first stream is keyed."""

    kind: ClassVar[str] = "KeyedBroadcastProcess"

    keyed: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "Co-Process-Broadcast-Keyed"


@dataclass(frozen=True)
class IntervalJoinDescription(TwoInputDescription):
    """``KeyedStream.intervalJoin``: pairs with left + lower <= right <= left + upper, in ms."""

    kind: ClassVar[str] = "IntervalJoin"

    keyed: ClassVar[bool] = True

    function: Function | None
    call: Callable[[Any, Any, Any, Any], Any]
    lower: int
    upper: int
    leftLateTag: OutputTag[Any] | None = None
    rightLateTag: OutputTag[Any] | None = None

    @property
    def name(self) -> str:
        return "Interval Join"

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (self.function or self.call,)
