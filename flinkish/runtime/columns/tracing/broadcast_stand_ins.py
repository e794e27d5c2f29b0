"""Stand-ins for what functions read of broadcast states: between two broadcast elements, their
contents are external constants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from flinkish.api.functions.state import MapEntry
from flinkish.runtime.columns.tracing.emissions import Emitting
from flinkish.runtime.columns.tracing.expressions import Constant
from flinkish.runtime.columns.tracing.externals import External
from flinkish.runtime.columns.tracing.guards import in_slot
from flinkish.runtime.columns.tracing.stand_ins import (
    ElementContextStandIn,
    KeyedContextStandIn,
    StandIn,
)
from flinkish.runtime.columns.tracing.symbolic_values import own, symbolic
from flinkish.runtime.columns.tracing.symbols import Symbol, is_constant, kind_of_constant
from flinkish.runtime.columns.tracing.trace import Trace
from flinkish.runtime.columns.tracing.unsupported import CannotTell
from flinkish.runtime.columns.tracing.value_shapes import structure
from flinkish.runtime.records.shapes import Shape
from flinkish.runtime.state.broadcast_state import BroadcastStates, HeapBroadcastState
from flinkish.runtime.state.table_states import Again


class BroadcastContextStandIn(ElementContextStandIn):
    """Stands for the context of an element that is not broadcast."""

    def __init__(
        self, states: BroadcastStates, trace: Trace, out: Emitting, *columns: Symbol
    ) -> None:
        """``columns``: what an ElementContextStandIn takes."""
        super().__init__(trace, out, *columns)
        self._states = states

    def currentWatermark(self) -> Symbol:
        return self._watermark

    def currentProcessingTime(self) -> Symbol:
        return self._clock

    def getBroadcastState(self, stateDescriptor: Any) -> BroadcastStateStandIn:
        if self._trace.exploring:
            raise CannotTell
        if not isinstance(stateDescriptor, External):
            raise self._trace.unsupported("makes the descriptor of its broadcast state")
        state = self._states.get(stateDescriptor._traced_object)
        known: BroadcastStateStandIn | None = self._trace.standIns.get(id(state))
        if known is None:
            known = self._trace.standIns[id(state)] = BroadcastStateStandIn(self._trace, state)
        return known


class KeyedBroadcastContextStandIn(BroadcastContextStandIn, KeyedContextStandIn):
    """Stands for the context of an element that is not broadcast, under its key."""


class BroadcastStateStandIn(StandIn):
    """Stands for a broadcast state, which is read only. It has its content, so what is read under
    a constant key is a constant; what is read under any other key is looked up for each element."""

    _kind = "broadcast state"

    def __init__(self, trace: Trace, state: HeapBroadcastState) -> None:
        super().__init__(trace)
        trace.guards.value(in_slot, state, "version")
        self._content = state.content
        self._contained = state.content.__contains__
        self._columns: tuple[Shape, list[Callable[[Any], Any]], list[Any]] | None = None

    def get(self, key: Any) -> Any:
        known, key = _constant(key)
        if known:
            return self._value(self._content[key]) if key in self._content else None
        if not self.contains(key):
            return None
        shape, lookups, kinds = self._lookups()
        call = self._trace.expressions.call
        asked = self._trace.expression(key)
        parts = [self._trace.noted(call(*each, asked)) for each in zip(lookups, kinds)]
        return own(symbolic(self._trace, shape, parts))

    def contains(self, key: Any) -> Any:
        known, key = _constant(key)
        if known:
            return key in self._content
        if not self._content:
            return False
        trace = self._trace
        asked = trace.expression(key)
        return trace.noted(trace.expressions.call(self._contained, "bool", asked))

    def immutableEntries(self) -> Again:
        return Again(self._entries)

    def _entries(self) -> Iterator[MapEntry[Any, Any]]:
        for key, value in self._content.items():
            yield MapEntry((self._value(key), self._value(value)))

    def _value(self, value: Any) -> Any:
        """What the function gets for ``value``, which is in the content."""
        taken = _taken_apart(value)
        if taken is None:
            return External(self._trace, value, "what is broadcast")
        shape, parts = taken
        return own(symbolic(self._trace, shape, list(map(self._trace.constant, parts))))

    def _lookups(self) -> tuple[Shape, list[Callable[[Any], Any]], list[Any]]:
        """The shape of all values, and for each of their parts a function from the key to it, and its
        kind. Raises Unsupported if the values differ in that."""
        if self._columns is None:
            found = {key: _taken_apart(value) for key, value in self._content.items()}
            alike = {
                None if each is None else (each[0], tuple(map(kind_of_constant, each[1])))
                for each in found.values()
            }
            first, *others = alike
            if others or first is None or {None, "none"} & {*first[1]}:
                raise self._trace.unsupported("finds values of several types in what is broadcast")
            shape, kinds = first
            columns = [
                {key: each[1][number] for key, each in found.items() if each is not None}
                for number in range(len(kinds))
            ]
            self._columns = shape, [column.__getitem__ for column in columns], list(kinds)
        return self._columns


def _constant(key: Any) -> tuple[bool, Any]:
    """Whether ``key`` is a constant, and its value if it is."""
    if isinstance(key, Symbol) and isinstance(key._traced_expression, Constant):
        return True, key._traced_expression.value
    return is_constant(key), key


def _taken_apart(value: Any) -> tuple[Shape, list[Any]] | None:
    """The shape of a value and its parts, all of them constants; None if it has none."""
    parts: list[Any] = []
    shape = structure(value, parts)
    return None if shape is None or not all(map(is_constant, parts)) else (shape, parts)
