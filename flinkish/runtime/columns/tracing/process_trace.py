"""``follow_process``: traces ``processElement`` with stand-ins for its states, context and
collector."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import getattr_static
from types import MethodType
from typing import Any, ClassVar, Generic, Protocol, Self, TypeAlias, TypeVar

from flinkish.api.functions.aggregations import FieldAggregator
from flinkish.api.functions.runtime_context import RuntimeContext
from flinkish.api.functions.state import State, ValueState
from flinkish.runtime.columns.tracing.column_function import column_of
from flinkish.runtime.columns.tracing.emissions import (
    MOST_EFFECTS,
    Emission,
    Emissions,
    Emitting,
    Slot,
    parts_of_slots,
    parts_of_value,
)
from flinkish.runtime.columns.tracing.expressions import Expression, Kind
from flinkish.runtime.columns.tracing.symbols import (
    CannotTell,
    Refusal,
    Symbol,
    is_constant,
    kept,
    own,
    symbolic,
    taken_apart,
)
from flinkish.runtime.columns.tracing.trace import Outside, Trace, Traced
from flinkish.runtime.records.shapes import Shape

EXTRA = ("timestamp", "watermark", "key")
"""The columns that follow those of an element."""

DefaultOf: TypeAlias = Callable[[ValueState[Any]], Any]
Arguments: TypeAlias = Callable[[Trace], tuple[Any, Sequence[Symbol]]]


@dataclass(frozen=True)
class Case:
    """The trace of ``processElement`` for elements whose key has values in its states, or for
    elements whose key has none."""

    trace: Trace
    traced: Traced
    states: tuple[ValueState[Any], ...]
    shapes: tuple[Shape, ...]
    """The shape of each state's value."""
    fields: tuple[Expression, ...]
    """The fields of all states after the element."""
    changes: tuple[Expression, ...]
    """For each state whether it is updated."""
    emitted: Mapping[str | None, Emission]
    """What is emitted."""
    timers: tuple[Slot, ...]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of the fields."""
        return tuple(expression.kind for expression in self.fields)

    @property
    def effects(self) -> list[Expression]:
        """All expressions but the fields."""
        return [*self.changes, *parts_of_slots(self.emitted, self.timers)]

    @property
    def makesStates(self) -> bool:
        """Whether each element updates all states."""
        return all(getattr(change, "value", False) is True for change in self.changes)


def follow_process(
    function: Callable[..., Any],
    arguments: Arguments,
    defaultOf: DefaultOf | None,
    before: Case | None = None,
) -> Case:
    """Trace ``function`` for an element. ``arguments`` gives the element and a symbol for each of
    ``EXTRA``. The states have the values that elements leave in the case ``before``; None: they are
    empty. ``defaultOf`` is None if the function has not been opened. Raises Refusal if it cannot be
    traced."""
    seen = _Seen(before)
    _Situation(arguments, defaultOf, before).follow(function, seen.note)
    if before is None and any(shape is None for shape in seen.shapes.values()):
        raise Refusal("may leave its state without a value")
    situation = _Situation(arguments, defaultOf, before)
    traced = situation.follow(function, seen.all)
    columns = iter(traced.columns[1:])
    fields: list[Expression] = []
    changes: list[Expression] = []
    shapes: list[Shape] = []
    for shape in filter(None, seen.shapes.values()):
        changes.append(next(columns))
        fields.extend(next(columns) for _ in range(shape.width))
        shapes.append(shape)
    emitted = seen.emissions.emission(columns)
    timers = [tuple(next(columns) for _ in range(2)) for _ in range(seen.timers)]
    return Case(
        trace=situation.trace,
        traced=traced,
        states=tuple(seen.states),
        shapes=tuple(shapes),
        fields=tuple(fields),
        changes=tuple(changes),
        emitted={None: emitted},
        timers=tuple(timers),
    )


class StateStandIn(Protocol):
    """Stands for a state of a function."""

    def begin(self) -> None:
        """Begin another path."""


S = TypeVar("S", bound=StateStandIn)


class Look(ABC, Generic[S]):
    """One trace of a process function, with stand-ins for its states, its context and its
    collector."""

    unopened: ClassVar[type[Outside]]
    """The stand-in for a function that has not been opened."""

    def __init__(self, arguments: Arguments, *, exploring: bool) -> None:
        """``exploring``: the function has not been opened."""
        self.trace = Trace(exploring=exploring, standIn=self._stand_in)
        self._element, extra = arguments(self.trace)
        self._exploring = exploring
        self.states: dict[Any, S] = {}
        self.collector = Emitting(self.trace)
        self.context = ContextStandIn(self.trace, self.collector, *extra)

    @abstractmethod
    def _stand_in(self, value: Any) -> Any:
        """The stand-in for ``value``; None if it needs none."""

    def follow(self, function: Callable[..., Any], done: Callable[[Self], Any]) -> Traced:
        """The trace of what ``done`` returns after each path through the function."""
        if self._exploring and isinstance(function, MethodType):
            owner = self.unopened(self.trace, function.__self__, "self")
            called = self.trace.bound(function.__func__, owner)
        else:
            called = self.trace.callable_of(function)

        def call() -> Any:
            for state in self.states.values():
                state.begin()
            self.context.timers.clear()
            self.collector.begin()
            self.collector.collectReturned(called(self._element, self.context, self.collector))
            return done(self)

        return self.trace.follow_all(call)


class _Unopened(Outside):
    """Stands for a function that has not been opened."""

    __slots__ = ()

    def __getattr__(self, attribute: str) -> Any:
        if getattr_static(self._traced_object, attribute, None) is None:
            return not_yet(self._traced_trace)
        return super().__getattr__(attribute)


class _Situation(Look["_StandIn"]):
    """A look in which the states have the values that ``before`` leaves, or none."""

    unopened = _Unopened

    def __init__(
        self, arguments: Arguments, defaultOf: DefaultOf | None, before: Case | None
    ) -> None:
        super().__init__(arguments, exploring=defaultOf is None)
        self._default_of = defaultOf
        self._before = {} if before is None else self._values(before)
        self.isFirst = before is None
        """Whether the states have no values."""

    def _values(self, before: Case) -> dict[Any, Any]:
        """The symbolic value of each state after an element of ``before``."""
        make = self.trace.expressions
        values: dict[Any, Any] = {}
        start = 0
        for state, shape in zip(before.states, before.shapes):
            numbers = range(start, start + shape.width)
            parts = [Symbol(self.trace, make.accumulated(n, before.kinds[n])) for n in numbers]
            values[state] = symbolic(self.trace, shape, parts)
            start += shape.width
        return values

    def state(self, state: Any) -> _StandIn:
        """The stand-in for a state."""
        known = self.states.get(state)
        if known is None:
            known = self.states[state] = _StandIn(self.trace, self._start_of(state))
        return known

    def _stand_in(self, value: Any) -> _StandIn | NotYet | Callable[..., Any] | None:
        if isinstance(value, RuntimeContext):
            raise self.trace.refusal("uses its runtime context")
        if isinstance(value, MethodType) and isinstance(value.__self__, FieldAggregator):
            return _Aggregation(self.trace, value.__self__).reduce
        if self._default_of is None and isinstance(value, ValueState):
            return not_yet(self.trace)
        return self.state(value) if isinstance(value, State) else None

    def _start_of(self, state: State) -> Any:
        if not isinstance(state, ValueState) or self._default_of is None:
            raise self.trace.refusal("uses a state that is not a ValueState")
        if state in self._before:
            return self._before[state]
        default = self._default_of(state)
        if not self.isFirst:
            raise self.trace.refusal("uses a state only where another one has a value")
        if not is_constant(default):
            raise self.trace.refusal("uses a state whose default value can change")
        return default


class _Seen:
    """What a function does on any path through its branches."""

    def __init__(self, before: Case | None) -> None:
        self.shapes: dict[Any, Shape | None] = {}
        """The shape of each state's value; None if the state is never updated."""
        if before is not None:
            self.shapes.update(zip(before.states, before.shapes))
        self.emissions = Emissions()
        self.timers = 0

    @property
    def states(self) -> list[Any]:
        """The states that the function uses."""
        return list(self.shapes)

    def note(self, situation: _Situation) -> int:
        """Note what the function did on the path just followed."""
        kept: list[Any] = []
        for state, stand_in in situation.states.items():
            known = self.shapes.setdefault(state, None)
            if stand_in.updated:
                shape, _ = taken_apart(situation.trace, stand_in.current, kept, lists=True)
                if known not in (None, shape):
                    raise Refusal("keeps values of different shapes in its state")
                self.shapes[state] = shape
        if situation.collector.others:
            raise Refusal("emits to a side output")
        self.emissions.note(situation.trace, situation.collector.results)
        self.timers = max(self.timers, len(situation.context.timers))
        if self.timers > MOST_EFFECTS:
            raise Refusal(f"registers more than {MOST_EFFECTS} timers")
        return 0

    def all(self, situation: _Situation) -> tuple[Any, ...]:
        """What the function did on the path just followed, padded with the effects of other
        paths."""
        done: list[Any] = [0]
        for state, shape in self.shapes.items():
            if shape is not None:
                stand_in = situation.state(state)
                done.append(stand_in.updated)
                kept = stand_in.updated or not situation.isFirst
                current = stand_in.current if kept else None
                done.extend(parts_of_value(situation.trace, shape, current))
        done.extend(self.emissions.filled(situation.trace, situation.collector.results))
        for number in range(self.timers):
            registers = number < len(situation.context.timers)
            done.append(registers)
            done.append(situation.context.timers[number] if registers else 0)
        return tuple(done)


class _StandIn:
    """Stands for a ``ValueState``."""

    def __init__(self, trace: Trace, start: Any) -> None:
        self._trace = trace
        self._start = start
        self.begin()

    def begin(self) -> None:
        """Begin another path."""
        self.current = self._start
        self.updated = False

    def value(self) -> Any:
        return own(self.current)

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()
        self.current = kept(self._trace, value)
        self.updated = True

    def clear(self) -> None:
        raise self._trace.refusal("clears its state")

    def __getattr__(self, attribute: str) -> Any:
        raise self._trace.refusal(f"uses {attribute} of its state")


class _Aggregation:
    """Stands for the aggregations ``sum``, ``min`` and ``max`` of a field."""

    def __init__(self, trace: Trace, aggregator: FieldAggregator[Any]) -> None:
        self._trace = trace
        self._aggregator = aggregator

    def reduce(self, so_far: Any, element: Any) -> Any:
        """``so_far`` with its field aggregated with that of ``element``."""
        aggregator, trace = self._aggregator, self._trace
        if trace.exploring:
            raise CannotTell
        shape, fields = taken_apart(trace, so_far)
        number = column_of(shape, aggregator.field)
        parts = [Symbol(trace, field) for field in fields]
        field = taken_apart(trace, element)[1][number]
        before: Any = parts[number]
        added: Any = Symbol(trace, field)
        numbers = {fields[number].kind, field.kind} <= {"int", "float"}
        if not numbers or aggregator.method not in ("sum", "min", "max"):
            raise Refusal("is an aggregation that is not the sum or an extreme of numbers")
        if aggregator.method == "sum":
            parts[number] = before + added
        elif aggregator.method == "max":
            parts[number] = before if before > added else added
        else:
            parts[number] = before if added > before else added
        return symbolic(trace, shape, parts)


class ContextStandIn:
    """Stands for the context of the function."""

    def __init__(
        self, trace: Trace, out: Emitting, timestamp: Symbol, watermark: Symbol, key: Symbol
    ) -> None:
        self._trace = trace
        self._out = out
        self._timestamp = timestamp
        self._watermark = watermark
        self._key = key
        self.timers: list[Any] = []

    def timestamp(self) -> Symbol:
        return self._trace.noted(self._timestamp._traced_expression)  # some elements have none

    def getCurrentKey(self) -> Symbol:
        return self._key

    def timerService(self) -> _TimerService:
        return _TimerService(self._trace, self._watermark, self.timers)

    def output(self, outputTag: Any, value: Any) -> None:
        self._out.output(outputTag, value)

    def __getattr__(self, attribute: str) -> Any:
        raise self._trace.refusal(f"uses {attribute} of its context")


class _TimerService:
    """Stands for the timer service."""

    def __init__(self, trace: Trace, watermark: Symbol, timers: list[Any]) -> None:
        self._trace = trace
        self._watermark = watermark
        self._timers = timers

    def currentWatermark(self) -> Symbol:
        return self._watermark

    def registerEventTimeTimer(self, time: Any) -> None:
        if self._trace.expression(time).kind not in ("int", "unknown"):
            raise self._trace.refusal("registers a timer at a time that is not an integer")
        self._timers.append(time)

    def __getattr__(self, attribute: str) -> Any:
        raise self._trace.refusal(f"uses {attribute} of its timer service")


class NotYet(Symbol):
    """Stands for an attribute that ``open`` sets: a ``ValueState``, if it is used as one."""

    __slots__ = ()

    def value(self) -> Symbol:
        return Symbol(self._traced_trace, self._traced_expression)

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()

    def clear(self) -> None:
        raise self._traced_trace.refusal("clears its state")


def not_yet(trace: Trace) -> NotYet:
    """The stand-in for an attribute that ``open`` sets."""
    return NotYet(trace, trace.expressions.column(len(EXTRA) + 1, "unknown"))
