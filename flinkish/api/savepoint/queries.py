"""Queries of a savepoint, as data that an engine answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from flinkish.api.functions.functions import AggregateFunction, ReduceLike
from flinkish.api.functions.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
)
from flinkish.api.savepoint.functions import KeyedStateReaderFunction, WindowReaderFunction
from flinkish.api.types.type_info import TypeInformation, Types

Type: TypeAlias = TypeInformation[Any] | None
Column: TypeAlias = tuple[str, Type]
"""The name of a column and its type, None if it is not known."""

Aggregation: TypeAlias = ReduceLike[Any] | AggregateFunction[Any, Any, Any]
OperatorStateMode: TypeAlias = Literal["list", "union list", "broadcast"]


@dataclass(frozen=True)
class StateQuery:
    """A question about the state of the operator ``uid``."""

    uid: str

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The columns of the answer; None if it is what a function emits, of ``outputType``."""
        raise NotImplementedError

    @property
    def outputType(self) -> Type:
        """The type of what a function emits."""
        return None


@dataclass(frozen=True)
class KeyedStateQuery(StateQuery):
    """A state by its ``descriptor``: a row for each key."""

    descriptor: StateDescriptor[Any]
    keyType: Type
    valueType: Type

    @property
    def columns(self) -> tuple[Column, ...]:
        return ("key", self.keyType), ("value", self.valueType or _value_type(self.descriptor))


@dataclass(frozen=True)
class KeyedFunctionQuery(StateQuery):
    """All state of each key, by a function."""

    function: KeyedStateReaderFunction[Any, Any]
    resultType: Type

    @property
    def columns(self) -> None:
        return None

    @property
    def outputType(self) -> Type:
        return self.resultType


@dataclass(frozen=True)
class WindowStateQuery(StateQuery):
    """Open windows: a row for each key and window, or what ``function`` emits for it.

    ``aggregation`` is the function of the window operator that folds elements, None for one that keeps
    them.
    """

    aggregation: Aggregation | None
    function: WindowReaderFunction[Any, Any, Any, Any] | None
    keyType: Type
    resultType: Type

    @property
    def columns(self) -> tuple[Column, ...] | None:
        if self.function is not None:
            return None
        value = self.resultType
        if value is not None and self.aggregation is None:
            value = Types.LIST(value)
        return ("key", self.keyType), ("start", _TIME), ("end", _TIME), ("value", value)

    @property
    def outputType(self) -> Type:
        return self.resultType


@dataclass(frozen=True)
class TimersQuery(StateQuery):
    """Pending timers: a row for each."""

    keyType: Type

    @property
    def columns(self) -> tuple[Column, ...]:
        return (
            ("key", self.keyType),
            ("timestamp", _TIME),
            ("timeDomain", Types.STRING()),
            ("namespace", Types.STRING()),
        )


@dataclass(frozen=True)
class OperatorStateQuery(StateQuery):
    """A state of the operator itself: a row for each element or entry."""

    descriptor: StateDescriptor[Any]
    mode: OperatorStateMode

    @property
    def columns(self) -> tuple[Column, ...]:
        if isinstance(self.descriptor, MapStateDescriptor):
            return ("key", self.descriptor.keyType), ("value", self.descriptor.valueType)
        return (("value", self.descriptor.type),)


_TIME = Types.LONG()


def _value_type(descriptor: StateDescriptor[Any]) -> Type:
    """The type of a key's value in a state of ``descriptor``."""
    if isinstance(descriptor, MapStateDescriptor):
        if descriptor.keyType is None or descriptor.valueType is None:
            return None
        return Types.MAP(descriptor.keyType, descriptor.valueType)
    if isinstance(descriptor, AggregatingStateDescriptor) or descriptor.type is None:
        return None
    if isinstance(descriptor, ListStateDescriptor):
        return Types.LIST(descriptor.type)
    return descriptor.type
