"""Stand-ins for what traced functions are given besides elements, and the same for functions that
are called for a check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from flinkish.api.functions.aggregations import (
    ComparableAggregator,
    FieldAggregator,
    SumAggregator,
)
from flinkish.api.functions.state import MapEntry
from flinkish.runtime.columns.tracing.checks import Collected
from flinkish.runtime.columns.tracing.emissions import TIMERS, Emitting
from flinkish.runtime.columns.tracing.expressions import NUMBERS, Constant
from flinkish.runtime.columns.tracing.externals import External
from flinkish.runtime.columns.tracing.guards import in_slot
from flinkish.runtime.columns.tracing.symbolic_values import column_of, own, symbolic, taken_apart
from flinkish.runtime.columns.tracing.symbols import Symbol, is_constant, kind_of_constant
from flinkish.runtime.columns.tracing.trace import Trace
from flinkish.runtime.columns.tracing.unsupported import CannotTell, Unsupported
from flinkish.runtime.columns.tracing.value_shapes import structure
from flinkish.runtime.records.records import NO_TIMESTAMP
from flinkish.runtime.records.shapes import Shape
from flinkish.runtime.state.broadcast_state import BroadcastStates, HeapBroadcastState
from flinkish.runtime.state.table_states import Again


class StandIn:
    """Stands for an object that is given to a function. What it does not have is unsupported."""

    def __init__(self, trace: Trace, kind: str, **members: Any) -> None:
        """``kind``: what messages call the object, which has ``members``."""
        self._trace = trace
        self._kind = kind
        vars(self).update(members)

    def __getattr__(self, attribute: str) -> Any:
        raise self._trace.unsupported(f"uses {attribute} of its {self._kind}")


TIMER_CALLS = (
    "registerEventTimeTimer",
    "deleteEventTimeTimer",
    "registerProcessingTimeTimer",
    "deleteProcessingTimeTimer",
)
"""The methods of a timer service that register and delete timers: by time domain, and each that
deletes behind the one that registers."""


def traced_context(
    out: Emitting, columns: Sequence[Symbol], broadcast: BroadcastStates | None
) -> Any:
    """Stands for the context of a process function. ``columns``: an element's timestamp, the
    watermark, the processing time and, if the function is keyed and has timers, the key.
    ``broadcast``: the broadcast states that the context gives."""
    trace, (timestamp, *others) = out.trace, columns

    def note(call: int, time: Any) -> None:
        at = trace.expression(time)
        if at.kind not in ("int", "unknown"):
            raise trace.unsupported("has a timer at a time that is not an integer")
        # Computed, as a column may have nulls, or integers of another type
        at = trace.expressions.operation("itself", at.kind, at)
        out.collectIn(TIMERS, (call, Symbol(trace, at)))

    return _context(
        partial(StandIn, trace),
        out,
        partial(read_timestamp, trace, timestamp),
        others,
        note,
        None if broadcast is None else partial(broadcast_state, trace, broadcast),
    )


def read_timestamp(trace: Trace, timestamp: Symbol) -> Symbol:
    """``timestamp``, which some elements do not have."""
    return trace.noted(timestamp._traced_expression)


def called_context(
    out: Collected,
    columns: Sequence[Any],
    broadcast: BroadcastStates | None,
    timers: list[tuple[int, int]],
) -> Any:
    """``traced_context`` for a function that is called for a check. ``timers`` gets its timers."""
    timestamp, *others = columns
    return _context(
        lambda kind, **members: SimpleNamespace(**members),
        out,
        lambda: None if timestamp == NO_TIMESTAMP else timestamp,
        others,
        lambda call, time: timers.append((call, time)),
        None if broadcast is None else broadcast.view,
    )


def _context(
    made: Callable[..., Any],
    out: Emitting | Collected,
    timestamp: Callable[[], Any],
    others: Sequence[Any],
    note: Callable[[int, Any], None],
    broadcast: Callable[[Any], Any] | None,
) -> Any:
    watermark, clock, *key = others
    times = {"currentWatermark": lambda: watermark, "currentProcessingTime": lambda: clock}
    calls = {call: partial(note, n) for n, call in enumerate(TIMER_CALLS)} if key else {}
    service = made("timer service", **times, **calls)
    members: dict[str, Any] = {
        "timestamp": timestamp,
        "timerService": lambda: service,
        "output": out.output,
    }
    if key:
        members["getCurrentKey"] = lambda: key[0]
    if broadcast is not None:
        members |= {**times, "getBroadcastState": broadcast}
    return made("context", **members)


def aggregated(trace: Trace, aggregator: FieldAggregator[Any], so_far: Any, element: Any) -> Any:
    """``reduce`` of the aggregations ``sum``, ``min``, ``max``, ``minBy`` and ``maxBy`` of a field:
    ``so_far`` with its field aggregated with that of ``element``, or the better of both."""
    if trace.exploring:
        raise CannotTell
    shape, fields = taken_apart(trace, so_far, lists=True)
    of_element, added_fields = taken_apart(trace, element, lists=True)
    if of_element != shape:
        raise Unsupported("aggregates elements of different shapes")
    number = column_of(shape, aggregator.field)
    kinds = {fields[number].kind, added_fields[number].kind}
    parts: list[Any] = [Symbol(trace, field) for field in fields]
    before: Any = parts[number]
    added: Any = Symbol(trace, added_fields[number])
    if type(aggregator) is SumAggregator:
        if not kinds <= {"int", "float"}:
            raise Unsupported("sums up a field that is not an int or a float")
        parts[number] = before + added
        return symbolic(trace, shape, parts)
    if type(aggregator) is not ComparableAggregator:
        raise Unsupported(f"is an aggregation of its own, {type(aggregator).__name__}")
    if not (kinds <= set(NUMBERS) or kinds == {"str"}):
        raise Unsupported("compares a field that is not a number or text")
    if aggregator._by and not aggregator._first:
        better = not (before > added if aggregator._highest else before < added)
    else:
        better = bool(added > before if aggregator._highest else added < before)
    if aggregator._by:
        return element if better else so_far
    parts[number] = added if better else before
    return symbolic(trace, shape, parts)


def broadcast_state(trace: Trace, states: BroadcastStates, stateDescriptor: Any) -> Any:
    """``getBroadcastState`` of the context of an element that is not broadcast."""
    if trace.exploring:
        raise CannotTell
    if not isinstance(stateDescriptor, External):
        raise trace.unsupported("makes the descriptor of its broadcast state")
    state = states.get(stateDescriptor._traced_object)
    known = trace.standIns.get(id(state))
    if known is None:
        known = trace.standIns[id(state)] = BroadcastStateStandIn(trace, state)
    return known


class BroadcastStateStandIn(StandIn):
    """Stands for a broadcast state, which is read only. It has its content, so what is read under
    a constant key is a constant; what is read under any other key is looked up for each element."""

    def __init__(self, trace: Trace, state: HeapBroadcastState) -> None:
        super().__init__(trace, "broadcast state")
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
