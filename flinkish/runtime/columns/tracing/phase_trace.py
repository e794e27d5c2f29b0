"""``follow_phase``: traces a process function for one specialization: elements whose keys have
values in the same states.

A state that the function never changes is like a column of the element. A state that it updates is
folded like an accumulator. If the function gives an empty state a value, or clears a state, the
key's next element takes another specialization: the phase of the key ends.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import getattr_static
from itertools import chain
from types import MethodType
from typing import Any, Literal, TypeAlias

from flinkish.api.functions.aggregations import FieldAggregator
from flinkish.api.functions.runtime_context import RuntimeContext
from flinkish.api.functions.state import MapState, State, ValueState
from flinkish.runtime.columns.tracing.emissions import (
    AnyChannel,
    Emission,
    Emissions,
    Emitting,
    Written,
)
from flinkish.runtime.columns.tracing.expressions import Constant, Expression, Kind
from flinkish.runtime.columns.tracing.externals import External
from flinkish.runtime.columns.tracing.stand_ins import aggregated, traced_context
from flinkish.runtime.columns.tracing.state_stand_ins import (
    CollectionStandIn,
    EntryStandIn,
    MapKey,
    OtherMapKey,
    ValueStandIn,
)
from flinkish.runtime.columns.tracing.symbolic_values import Signature, symbolic, taken_apart
from flinkish.runtime.columns.tracing.symbols import Symbol
from flinkish.runtime.columns.tracing.trace import Trace, Traced
from flinkish.runtime.columns.tracing.unsupported import (
    CannotTell,
    OtherSpecialization,
    Unsupported,
)
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import Shape
from flinkish.runtime.state.broadcast_state import BroadcastStates
from flinkish.runtime.state.table_states import TableListState, TableMapState, TableValueState

EXTRA = ("timestamp", "watermark", "clock", "key")
"""The columns that follow those of an element."""

_SIGNATURE = Signature(extra=len(EXTRA))


@dataclass(frozen=True, eq=False)
class Held:
    """The shape and the kinds of a state's values. There is one object for each combination."""

    shape: Shape
    kinds: tuple[Kind, ...]


Content: TypeAlias = Held | Literal["empty", "other"]
"""What a state holds for a key. ``"other"``: something that columns cannot hold."""
Specialization: TypeAlias = tuple[Content, ...]
"""What each state holds for a key, for which a function is specialized."""


MapKeys: TypeAlias = MapKey | Literal["any", "unknown"]
"""The key under which a function uses the entries of its maps, one for each element. ``"any"``: it
uses several, or changes other states too. ``"unknown"``: this has not been found out."""


class NotListed(OtherSpecialization):
    """The function uses a state that the specialization does not include."""

    def __init__(self, state: State) -> None:
        self.state = state


@dataclass(frozen=True)
class Folded:
    """A state that has a value, which elements update. It is of ``held`` before and after each
    element."""

    state: int
    """The index of the state in the specialization."""
    held: Held
    fields: tuple[Expression, ...]


@dataclass(frozen=True)
class Ending:
    """The end of a key's phase: if ``condition`` is true, an empty state gets a value or an element,
    or a state is cleared."""

    state: int
    condition: Expression
    shape: Shape | None
    """The shape of the value; None if there is none."""
    fields: tuple[Expression, ...] = ()
    fills: bool = False
    """Whether a list or map gets its first element."""


@dataclass(frozen=True)
class Phase:
    """The trace of a function for one specialization."""

    trace: Trace
    traced: Traced
    constant: tuple[int, ...]
    """The indices of the states that are columns, which follow those of the element."""
    folded: tuple[Folded, ...]
    endings: tuple[Ending, ...]
    emitted: Mapping[AnyChannel, Emission]
    """What is emitted, registered, and added to lists and maps."""

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(kind for folded in self.folded for kind in folded.held.kinds)

    @property
    def effects(self) -> list[Expression]:
        """The expressions that have to be evaluated for each element."""
        slots = chain.from_iterable(each.slots for each in self.emitted.values())
        endings = ((ending.condition, *ending.fields) for ending in self.endings)
        return list(chain.from_iterable((*slots, *endings)))


_NOTHING = Emission(None, ())


def follow_phase(
    function: Callable[..., Any],
    elements: RowColumns | None,
    states: Sequence[State] = (),
    specialization: Specialization = (),
    mapKey: MapKeys = "unknown",
    broadcast: BroadcastStates | None = None,
) -> Phase:
    """Trace ``function`` for elements like ``elements``, with the columns ``EXTRA``; None: it has not
    been opened. ``broadcast``: the broadcast states that its context gives.
    With a MapKey, maps hold for the specialization what their entries under that key hold. Raises
    Unsupported if the function cannot be traced, NotListed for a state that is not in ``states``,
    and OtherMapKey if it does not use its maps as ``mapKey`` says."""
    known = dict(zip(states, specialization))
    emissions = Emissions()
    look = _Look(elements, known, mapKey, broadcast)
    look.follow(function, emissions.note)
    held = [
        (state, Written(number, False) in emissions)
        for number, state in enumerate(states)
        if isinstance(known[state], Held) and state in look.states
    ]
    constant = [state for state, folds in held if not folds]
    look = _Look(elements, known, mapKey, broadcast, constant, [s for s, folds in held if folds])
    traced = look.follow(function, emissions.filled)
    emitted = emissions.emitted(iter(traced.columns[1:]))
    folded, endings = [], []
    for number, state in enumerate(states):
        content = known[state]
        updated = emitted.pop(Written(number, False), _NOTHING)
        cleared = emitted.pop(Written(number, True), _NOTHING)
        for condition, *fields in updated.slots:
            if isinstance(content, Held):
                folded.append(Folded(number, content, tuple(fields)))
            else:
                endings.append(Ending(number, condition, updated.shape, tuple(fields)))
        for condition, *_ in cleared.slots:
            endings.append(Ending(number, condition, None))
        if content == "empty" and number in emitted:
            endings.append(Ending(number, emitted[number].slots[0][0], None, fills=True))
    return Phase(
        trace=look.trace,
        traced=traced,
        constant=tuple(number for number, state in enumerate(states) if state in constant),
        folded=tuple(folded),
        endings=tuple(e for e in endings if not _is_false(e.condition)),
        emitted=emitted,
    )


def _is_false(condition: Expression) -> bool:
    return isinstance(condition, Constant) and condition.value is False


class _Unopened(External):
    """Stands for a function that has not been opened."""

    __slots__ = ()

    def __getattr__(self, attribute: str) -> Any:
        if getattr_static(self._traced_object, attribute, None) is None:
            return _not_yet(self._traced_trace)
        return super().__getattr__(attribute)


class _Look:
    """One trace of a process function, in which the states hold what the specialization ``known``
    says."""

    def __init__(
        self,
        elements: RowColumns | None,
        known: Mapping[State, Content],
        mapKey: MapKeys,
        broadcast: BroadcastStates | None,
        constant: Collection[State] = (),
        folded: Collection[State] = (),
    ) -> None:
        """``constant``: the states that are columns. ``folded``: those whose values after each
        element are collected, also where it does not update them."""
        self.trace = Trace(exploring=elements is None, standIn=self.standInOf)
        self._element, extra = _SIGNATURE.symbols(self.trace, elements)
        self.states: dict[State, ValueStandIn | CollectionStandIn] = {}
        self.collector = Emitting(self.trace)
        self._context = traced_context(self.collector, extra, broadcast)
        self._known = known
        self._width = 1 + len(EXTRA) if elements is None else len(elements.schema)
        self._map_key = mapKey
        self._folded = folded
        self._values = self._symbols(constant, self._width)

    def follow(
        self,
        function: Callable[..., Any],
        effects: Callable[[Trace, Emitting], Iterable[Any] | None],
    ) -> Traced:
        """The trace of 0, and of the ``effects`` of each path through the function."""
        if self.trace.exploring and isinstance(function, MethodType):
            owner = _Unopened(self.trace, function.__self__, "self")
            called = self.trace.bound(function.__func__, owner)
        else:
            called = self.trace.callable_of(function)

        def call() -> Any:
            for state in self.states.values():
                state.begin()
            self.collector.begin()
            self.collector.collectReturned(called(self._element, self._context, self.collector))
            self._collect_states()
            return 0, *(effects(self.trace, self.collector) or ())

        return self.trace.follow_all(call)

    def _collect_states(self) -> None:
        """Collect what the path just followed writes to states."""
        by_entry = isinstance(self._map_key, MapKey)
        for number, (state, content) in enumerate(self._known.items()):
            stand_in = self.of(state) if state in self._folded else self.states.get(state)
            if stand_in is None:
                continue
            if by_entry and not isinstance(state, MapState) and stand_in.done:
                raise OtherMapKey(None)
            if isinstance(stand_in, ValueStandIn) and stand_in.done == "set":
                shape, _ = taken_apart(self.trace, stand_in.current, lists=True)
                if isinstance(content, Held) and content.shape != shape:
                    raise Unsupported("keeps values of different shapes in its state")
                self.collector.collectIn(Written(number, False), stand_in.current)
            elif isinstance(stand_in, ValueStandIn) and state in self._folded:
                self.collector.collectIn(Written(number, False), stand_in.start)
            if stand_in.done == "cleared":
                self.collector.collectIn(Written(number, True), True)

    def _symbols(self, constant: Collection[State], width: int) -> dict[State, Any]:
        """The symbolic value of each state that has one."""
        make = self.trace.expressions
        values: dict[State, Any] = {}
        folding = 0
        for state, content in self._known.items():
            if isinstance(content, Held):
                parts = []
                for kind in content.kinds:
                    if state in constant:
                        parts.append(Symbol(self.trace, make.column(width, kind)))
                        width += 1
                    else:
                        parts.append(Symbol(self.trace, make.accumulated(folding, kind)))
                        folding += 1
                values[state] = symbolic(self.trace, content.shape, parts)
        return values

    def standInOf(self, value: Any) -> Any:
        """Return the stand-in for a state or an aggregation; None for other values."""
        if isinstance(value, RuntimeContext):
            raise self.trace.unsupported("uses its runtime context")
        if isinstance(value, MethodType) and isinstance(value.__self__, FieldAggregator):
            return partial(aggregated, self.trace, value.__self__)
        if not isinstance(value, State):
            return None
        if self.trace.exploring:
            return _not_yet(self.trace)
        stand_in = self.of(value)
        if isinstance(value, MapState) and isinstance(stand_in, ValueStandIn):
            assert isinstance(self._map_key, MapKey)
            return EntryStandIn(self.trace, stand_in, self._map_key, self._width)
        return stand_in

    def of(self, state: State) -> ValueStandIn | CollectionStandIn:
        """What stands for the contents of ``state``."""
        known = self.states.get(state)
        if known is None:
            known = self.states[state] = self._made(state)
        return known

    def _made(self, state: State) -> ValueStandIn | CollectionStandIn:
        if type(state) not in (TableValueState, TableListState, TableMapState):
            raise Unsupported("uses a state whose values expire, or which reduces")
        by_entry = isinstance(state, MapState) and isinstance(self._map_key, MapKey)
        content = self._known.get(state)
        if content is None:
            raise NotListed(state)
        if not isinstance(state, ValueState) and not by_entry:
            undecided = self._width if self._map_key == "unknown" else None
            number = [*self._known].index(state)
            return CollectionStandIn(self.collector, state, number, content == "empty", undecided)
        if content == "other":
            raise self.trace.unsupported(
                "uses a state that holds more than numbers, texts and bools"
            )
        default = state.default if isinstance(state, TableValueState) else None
        return ValueStandIn(self.trace, self._values.get(state), default)


class _NotYet(Symbol):
    """Stands for an attribute that ``open`` sets, such as a state whose contents are not known
    yet."""

    __slots__ = ()

    def value(self) -> Symbol:
        return Symbol(self._traced_trace, self._traced_expression)

    def update(self, value: Any) -> None:
        pass

    def clear(self) -> None:
        pass

    def get(self, *keys: Any) -> Any:
        raise CannotTell

    add = addAll = put = putAll = contains = remove = isEmpty = keys = values = entries = get


def _not_yet(trace: Trace) -> _NotYet:
    return _NotYet(trace, trace.expressions.column(len(EXTRA) + 1, "unknown"))
