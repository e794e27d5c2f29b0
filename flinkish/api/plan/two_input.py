"""Descriptions of the operators with two inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from flinkish.api.functions.functions import Function
from flinkish.api.functions.state import MapStateDescriptor
from flinkish.api.functions.two_input import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from flinkish.api.output_tag import OutputTag
from flinkish.api.plan.operators import OperatorDescription
from flinkish.api.plan.state_form import StateForm


@dataclass(frozen=True)
class TwoInputDescription(OperatorDescription):
    """Base of the operators with two inputs: elements and watermarks of both meet in one task, so
    such an operator gets a separate stage, with or without keys."""

    @property
    def stateful(self) -> bool:
        return True


@dataclass(frozen=True)
class CoMapDescription(TwoInputDescription):
    """``ConnectedStreams.map``; keyed if both streams are."""

    hasFunctionStates: ClassVar[bool] = True

    function: CoMapFunction[Any, Any, Any]

    @property
    def kind(self) -> str:
        return "KeyedCoMap" if self.keyed else "CoMap"

    @property
    def name(self) -> str:
        return "Co-Map"

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (self.function,)


@dataclass(frozen=True)
class CoFlatMapDescription(TwoInputDescription):
    """``ConnectedStreams.flatMap``; keyed if both streams are."""

    hasFunctionStates: ClassVar[bool] = True

    function: CoFlatMapFunction[Any, Any, Any]

    @property
    def kind(self) -> str:
        return "KeyedCoFlatMap" if self.keyed else "CoFlatMap"

    @property
    def name(self) -> str:
        return "Co-Flat Map"

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (self.function,)


@dataclass(frozen=True)
class CoProcessDescription(TwoInputDescription):
    """``ConnectedStreams.process``; if both streams are keyed, with keyed state and timers."""

    hasFunctionStates: ClassVar[bool] = True

    function: CoProcessFunction[Any, Any, Any] | KeyedCoProcessFunction[Any, Any, Any, Any]

    @property
    def kind(self) -> str:
        return "KeyedCoProcess" if self.keyed else "CoProcess"

    @property
    def seesTimers(self) -> bool:
        return self.keyed

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

    hasFunctionStates: ClassVar[bool] = True

    function: Any
    descriptors: tuple[MapStateDescriptor[Any, Any], ...]

    @property
    def kind(self) -> str:
        return "KeyedBroadcastProcess" if self.keyed else "BroadcastProcess"

    @property
    def seesTimers(self) -> bool:
        return self.keyed

    def stateForm(self, keys: str = "") -> StateForm:
        return replace(super().stateForm(keys), broadcast=True)

    @property
    def name(self) -> str:
        return "Co-Process-Broadcast-Keyed" if self.keyed else "Co-Process-Broadcast"

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (self.function,)


@dataclass(frozen=True)
class IntervalJoinDescription(TwoInputDescription):
    """``KeyedStream.intervalJoin``: pairs with left + lower <= right <= left + upper, in ms."""

    kind: ClassVar[str] = "IntervalJoin"

    keyed: bool = field(default=True, init=False)

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
    def lateDataMethod(self) -> str:
        return "sideOutputLeftLateData(tag) or sideOutputRightLateData(tag)"

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (self.function or self.call,)
