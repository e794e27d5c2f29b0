"""Descriptions of the operators with two inputs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from flinkish.api.functions.state import MapStateDescriptor
from flinkish.api.functions.two_input import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from flinkish.api.output_tag import OutputTag
from flinkish.api.plan.operators import FunctionDescription, OperatorDescription
from flinkish.api.plan.state_form import StateForm


@dataclass(frozen=True)
class TwoInputDescription(OperatorDescription):
    """Base of the operators with two inputs: elements and watermarks of both meet in one task, so
    such an operator gets a separate stage, with or without keys."""

    stateful: ClassVar[bool] = True


@dataclass(frozen=True)
class TwoInputFunctionDescription(TwoInputDescription):
    """Base of the operators of one function with keyed state, if both streams are keyed."""

    hasFunctionStates: ClassVar[bool] = True

    function: Any

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (self.function,)


@dataclass(frozen=True)
class CoMapDescription(TwoInputFunctionDescription):
    """``ConnectedStreams.map``."""

    name: ClassVar[str] = "Co-Map"
    kindWithoutKeys: ClassVar[str] = "CoMap"

    function: CoMapFunction[Any, Any, Any]


@dataclass(frozen=True)
class CoFlatMapDescription(TwoInputFunctionDescription):
    """``ConnectedStreams.flatMap``."""

    name: ClassVar[str] = "Co-Flat Map"
    kindWithoutKeys: ClassVar[str] = "CoFlatMap"

    function: CoFlatMapFunction[Any, Any, Any]


@dataclass(frozen=True)
class CoProcessDescription(TwoInputFunctionDescription):
    """``ConnectedStreams.process``; if both streams are keyed, with timers too."""

    kindWithoutKeys: ClassVar[str] = "CoProcess"

    function: CoProcessFunction[Any, Any, Any] | KeyedCoProcessFunction[Any, Any, Any, Any]

    @property
    def seesTimers(self) -> bool:
        return self.keyed

    @property
    def name(self) -> str:
        keyed = isinstance(self.function, KeyedCoProcessFunction)
        return "Co-Keyed-Process" if keyed else "Co-Process"


@dataclass(frozen=True)
class BroadcastProcessDescription(TwoInputFunctionDescription):
    """``BroadcastConnectedStream.process``; the second input is broadcast."""

    kindWithoutKeys: ClassVar[str] = "BroadcastProcess"

    descriptors: tuple[MapStateDescriptor[Any, Any], ...]

    @property
    def seesTimers(self) -> bool:
        return self.keyed

    def stateForm(self, keys: str = "") -> StateForm:
        return replace(super().stateForm(keys), broadcast=True)

    @property
    def name(self) -> str:
        return "Co-Process-Broadcast-Keyed" if self.keyed else "Co-Process-Broadcast"


@dataclass(frozen=True)
class IntervalJoinDescription(TwoInputDescription, FunctionDescription):
    """``KeyedStream.intervalJoin``: pairs with left + lower <= right <= left + upper, in ms."""

    name: ClassVar[str] = "Interval Join"
    kind: ClassVar[str] = "IntervalJoin"
    lateDataMethod: ClassVar[str] = "sideOutputLeftLateData(tag) or sideOutputRightLateData(tag)"

    keyed: bool = field(default=True, init=False)

    lower: int
    upper: int
    leftLateTag: OutputTag[Any] | None = None
    rightLateTag: OutputTag[Any] | None = None
