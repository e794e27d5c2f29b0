"""``follow_phase``: traces a process function for one specialization: elements whose keys have
values in the same states.

A state that the function never changes is like a column of the element. A state that it updates is
folded like an accumulator. If the function gives an empty state a value, or clears a state, the
key's next element takes another specialization: the phase of the key ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import getattr_static
from types import MethodType
from typing import Any, Literal, Protocol, TypeAlias

from flinkish.api.functions.aggregations import FieldAggregator
from flinkish.api.functions.runtime_context import RuntimeContext
from flinkish.api.functions.state import ListState, MapState, State, ValueState
from flinkish.runtime.columns.tracing.emissions import (
    MOST_EFFECTS,
    ChannelEmissions,
    Emission,
    Emissions,
    Emitting,
    Slot,
    parts_of_slots,
    parts_of_value,
)
from flinkish.runtime.columns.tracing.expressions import Constant, Expression, Kind
from flinkish.runtime.columns.tracing.externals import External
from flinkish.runtime.columns.tracing.map_entries import EntryStandIn, MapKey, OtherMapKey
from flinkish.runtime.columns.tracing.stand_ins import (
    StandIn,
    Timer,
    aggregated,
    traced_context,
)
from flinkish.runtime.columns.tracing.symbolic_values import kept, own, symbolic, taken_apart
from flinkish.runtime.columns.tracing.symbols import Symbol, is_constant
from flinkish.runtime.columns.tracing.trace import Trace, Traced
from flinkish.runtime.columns.tracing.unsupported import CannotTell, Unsupported
from flinkish.runtime.records.shapes import Shape
from flinkish.runtime.state.broadcast_state import BroadcastStates

EXTRA = ("timestamp", "watermark", "clock", "key")
"""The columns that follow those of an element."""

Arguments: TypeAlias = Callable[[Trace], tuple[Any, Sequence[Symbol]]]


@dataclass(frozen=True, eq=False)
class Held:
    """The shape and the kinds of a state's values. There is one object for each combination."""

    shape: Shape
    kinds: tuple[Kind, ...]


Content: TypeAlias = Held | Literal["empty", "other"]
"""What a state holds for a key. ``"other"``: something that columns cannot hold."""
Specialization: TypeAlias = tuple[Content, ...]
"""What each state holds for a key, for which a function is specialized."""


class StateKinds(Protocol):
    """The properties of states that do not depend on a key."""

    def check(self, state: State) -> None:
        """Raises Unsupported unless ``state`` is a plain value, list or map state."""

    def default(self, state: ValueState[Any]) -> Any:
        """The default value of ``state``."""


MapKeys: TypeAlias = MapKey | Literal["any", "unknown"]
"""The key under which a function uses the entries of its maps, one for each element. ``"any"``: it
uses several, or changes other states too. ``"unknown"``: this has not been found out."""


class NotListed(CannotTell):
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
    emitted: Mapping[str | None, Emission]
    """The emissions to the main output, and to each side output by its id."""
    timers: tuple[Slot, ...]
    """For each timer its time, and the index of the call in ``TIMER_CALLS``."""
    added: Mapping[int, Emission]
    """The additions to lists, and the keys and values that are put into maps, by the index of the
    state."""

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of all folded fields."""
        return tuple(kind for folded in self.folded for kind in folded.held.kinds)

    @property
    def effects(self) -> list[Expression]:
        """The expressions that have to be evaluated for each element."""
        endings = [e for ending in self.endings for e in (ending.condition, *ending.fields)]
        return parts_of_slots([*self.emitted.values(), *self.added.values()], self.timers) + endings


def follow_phase(
    function: Callable[..., Any],
    arguments: Arguments,
    width: int,
    states: Sequence[State],
    specialization: Specialization,
    kinds: StateKinds | None,
    mapKey: MapKeys = "unknown",
    broadcast: BroadcastStates | None = None,
) -> Phase:
    """Trace ``function`` for an element. ``arguments`` gives the element and a symbol for each of
    ``EXTRA``, together ``width`` columns. ``kinds`` is None if the function has not been opened,
    ``broadcast`` unless its context gives broadcast states.
    With a MapKey, maps hold for the specialization what their entries under that key hold. Raises
    Unsupported if the function cannot be traced, NotListed for a state that is not in ``states``,
    and OtherMapKey if it does not use its maps as ``mapKey`` says."""
    known = dict(zip(states, specialization))
    seen = _Seen(known)
    _Look(arguments, width, kinds, known, mapKey, frozenset(), broadcast).follow(
        function, seen.note
    )
    constant = frozenset(
        state
        for state in known
        if isinstance(known[state], Held) and state not in seen.set and state in seen.used
    )
    look = _Look(arguments, width, kinds, known, mapKey, constant, broadcast)
    traced = look.follow(function, seen.all)
    columns = iter(traced.columns[1:])
    folded, endings, added = [], [], {}
    for number, state in enumerate(states):
        content = known[state]
        shape = seen.set.get(state)
        if shape is not None:
            condition = next(columns)
            fields = tuple(next(columns) for _ in range(shape.width))
            if isinstance(content, Held):
                folded.append(Folded(number, content, fields))
            else:
                endings.append(Ending(number, condition, shape, fields))
        if state in seen.cleared:
            endings.append(Ending(number, next(columns), None))
        if state in seen.added:
            if content == "empty":
                endings.append(Ending(number, next(columns), None, fills=True))
            added[number] = seen.added[state].emission(columns)
    emitted = seen.emissions.emitted(columns)
    timers = tuple(tuple(next(columns) for _ in range(3)) for _ in range(seen.timers))
    return Phase(
        trace=look.trace,
        traced=traced,
        constant=tuple(number for number, state in enumerate(states) if state in constant),
        folded=tuple(folded),
        endings=tuple(e for e in endings if not _is_false(e.condition)),
        emitted={channel.sideOutput: each for channel, each in emitted.items()},
        timers=timers,
        added=added,
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
        arguments: Arguments,
        width: int,
        kinds: StateKinds | None,
        known: Mapping[State, Content],
        mapKey: MapKeys,
        constant: frozenset[State],
        broadcast: BroadcastStates | None,
    ) -> None:
        self.trace = Trace(exploring=kinds is None, standIn=self.standInOf)
        self._element, extra = arguments(self.trace)
        self.states: dict[State, _ValueStandIn | _CollectionStandIn] = {}
        self.collector = Emitting(self.trace)
        self.timers: list[Timer] = []
        self._context = traced_context(self.trace, self.collector, extra, self.timers, broadcast)
        self._kinds = kinds
        self._known = known
        self._width = width
        self.mapKey = mapKey
        self._values = self._symbols(constant, width)

    def follow(self, function: Callable[..., Any], done: Callable[[_Look], Any]) -> Traced:
        """The trace of what ``done`` returns after each path through the function."""
        if self._kinds is None and isinstance(function, MethodType):
            owner = _Unopened(self.trace, function.__self__, "self")
            called = self.trace.bound(function.__func__, owner)
        else:
            called = self.trace.callable_of(function)

        def call() -> Any:
            for state in self.states.values():
                state.begin()
            self.timers.clear()
            self.collector.begin()
            self.collector.collectReturned(called(self._element, self._context, self.collector))
            return done(self)

        return self.trace.follow_all(call)

    def _symbols(self, constant: frozenset[State], width: int) -> dict[State, Any]:
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
        if self._kinds is None:
            return _not_yet(self.trace)
        stand_in = self.of(value)
        if isinstance(value, MapState) and isinstance(stand_in, _ValueStandIn):
            assert isinstance(self.mapKey, MapKey)
            return EntryStandIn(self.trace, stand_in, self.mapKey, self._width)
        return stand_in

    def of(self, state: State) -> _ValueStandIn | _CollectionStandIn:
        """What stands for the contents of ``state``."""
        known = self.states.get(state)
        if known is None:
            assert self._kinds is not None
            known = self.states[state] = self._made(state, self._kinds)
        return known

    def _made(self, state: State, kinds: StateKinds) -> _ValueStandIn | _CollectionStandIn:
        kinds.check(state)
        by_entry = isinstance(state, MapState) and isinstance(self.mapKey, MapKey)
        content = self._known.get(state)
        if content is None:
            raise NotListed(state)
        if not isinstance(state, ValueState) and not by_entry:
            undecided = self._width if self.mapKey == "unknown" else None
            return _CollectionStandIn(self.trace, state, content == "empty", undecided)
        if content == "other":
            raise self.trace.unsupported(
                "uses a state that holds more than numbers, texts and bools"
            )
        default = kinds.default(state) if isinstance(state, ValueState) else None
        return _ValueStandIn(self.trace, self._values.get(state), default)


class _Seen:
    """The effects of a function on all paths through its branches."""

    def __init__(self, known: Mapping[State, Content]) -> None:
        self._known = known
        self.used: set[State] = set()
        self.set: dict[State, Shape] = {}
        """The shape of each state that is updated."""
        self.cleared: set[State] = set()
        self.added: dict[State, Emissions] = {}
        """The additions to each list or map."""
        self.emissions = ChannelEmissions()
        self.timers = 0

    def note(self, look: _Look) -> int:
        """Note what the function did on the path just followed."""
        for state, stand_in in look.states.items():
            self.used.add(state)
            if (
                isinstance(look.mapKey, MapKey)
                and not isinstance(state, MapState)
                and stand_in.done
            ):
                raise OtherMapKey(None)
            if isinstance(stand_in, _CollectionStandIn):
                if stand_in.added:
                    self.added.setdefault(state, Emissions()).note(look.trace, stand_in.added)
            elif stand_in.done == "set":
                shape, _ = taken_apart(look.trace, stand_in.current, lists=True)
                content = self._known[state]
                held = content.shape if isinstance(content, Held) else shape
                if self.set.setdefault(state, held) != shape:
                    raise Unsupported("keeps values of different shapes in its state")
            if stand_in.done == "cleared":
                self.cleared.add(state)
        self.emissions.note(look.trace, look.collector)
        self.timers = max(self.timers, len(look.timers))
        if self.timers > MOST_EFFECTS:
            raise Unsupported(f"registers and deletes more than {MOST_EFFECTS} timers")
        return 0

    def all(self, look: _Look) -> tuple[Any, ...]:
        """Return the function's effects on the path just followed, padded with the effects of other
        paths."""
        done: list[Any] = [0]
        for state in self._known:
            stand_in = look.states.get(state)
            assert not isinstance(stand_in, _CollectionStandIn) or state not in self.set
            if state in self.set:
                done.extend(self._kept(look, state))
            if state in self.cleared:
                done.append(stand_in is not None and stand_in.done == "cleared")
            if state in self.added:
                added = stand_in.added if isinstance(stand_in, _CollectionStandIn) else ()
                if self._known[state] == "empty":
                    done.append(len(added) > 0)
                done.extend(self.added[state].filled(look.trace, added))
        done.extend(self.emissions.filled(look.trace, look.collector))
        for number in range(self.timers):
            present = number < len(look.timers)
            call, time = look.timers[number] if present else (0, 0)
            done += [present, time, call]
        return tuple(done)

    def _kept(self, look: _Look, state: State) -> Iterator[Any]:
        """Whether the state is updated, and its fields after the element."""
        stand_in = look.of(state)
        assert isinstance(stand_in, _ValueStandIn)
        updated = stand_in.done == "set"
        yield updated
        current = stand_in.current if updated else stand_in.start
        yield from parts_of_value(look.trace, self.set[state], current)


class _ValueStandIn(StandIn):
    """Stands for a ``ValueState`` with the value ``start``; None: it is empty."""

    def __init__(self, trace: Trace, start: Any, default: Any) -> None:
        super().__init__(trace, "state")
        self.start = start
        self._default = default
        self.begin()

    def begin(self) -> None:
        """Begin another path."""
        self.current = self.start
        self.done: Literal["", "set", "cleared"] = ""

    def value(self) -> Any:
        if self.current is None and not is_constant(self._default):
            raise self._trace.unsupported("uses a state whose default value can change")
        return self._trace.constant(self._default) if self.current is None else own(self.current)

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()
            return
        if self.done == "cleared":
            raise self._trace.unsupported("clears a state and updates it again")
        self.current = kept(self._trace, value)
        self.done = "set"

    def clear(self) -> None:
        if self.done == "set":
            raise self._trace.unsupported("updates a state and clears it again")
        if self.start is not None:
            self.current = None
            self.done = "cleared"


class _CollectionStandIn(StandIn):
    """Stands for a ``ListState`` or ``MapState``. It can be added to, and read while it is empty."""

    def __init__(self, trace: Trace, state: State, empty: bool, undecided: int | None) -> None:
        """``undecided``: the number of columns of the element, if the function may use its maps by
        entry."""
        if not isinstance(state, (ListState, MapState)):
            raise trace.unsupported("uses a state that is no ValueState, ListState or MapState")
        self._is_map = isinstance(state, MapState)
        super().__init__(trace, "map" if self._is_map else "list")
        self._empty = empty
        self._undecided = undecided
        self.begin()

    def begin(self) -> None:
        """Begin another path."""
        self.added: list[Any] = []
        """The elements added to the list, or the keys and values put into the map."""
        self.done: Literal["", "added", "cleared"] = ""

    def get(self, *keys: Any) -> Any:
        self._check_by_entry(*keys)
        self._check_empty()
        return None if self._is_key(*keys) else []

    def contains(self, *keys: Any) -> bool:
        self._check_by_entry(*keys)
        self._check_empty()
        if not self._is_key(*keys):
            raise self._trace.unsupported("uses contains of a ListState")
        return False

    def remove(self, *keys: Any) -> None:
        self._check_by_entry(*keys)
        raise self._trace.unsupported(f"uses remove of its {self._kind}")

    def add(self, *values: Any) -> None:
        if self._is_map or len(values) != 1 or values[0] is None:
            raise self._trace.unsupported("adds something to its state that a list does not take")
        self._add(values[0])

    def put(self, *entry: Any) -> None:
        if len(entry) != 2 or not self._is_key(entry[0]):
            raise self._trace.unsupported("calls a method of its state with other arguments")
        if "float" in {part.kind for part in taken_apart(self._trace, entry[0])[1]}:
            raise self._trace.unsupported(
                "puts something into a map under a float, which may be NaN"
            )
        self._add(entry)

    def _add(self, value: Any) -> None:
        if self.done == "cleared":
            raise self._trace.unsupported("clears a state and adds to it again")
        self.added.append(kept(self._trace, value))
        self.done = "added"

    def clear(self) -> None:
        if self.done == "added":
            raise self._trace.unsupported("adds to a state and clears it again")
        if not self._empty:
            self.done = "cleared"

    def _check_by_entry(self, *keys: Any) -> None:
        """Raises OtherMapKey if the function may use its maps by entry."""
        if self._is_map and self._undecided is not None and len(keys) == 1:
            key = MapKey.of(self._trace, keys[0], self._undecided)
            if key is not None:
                raise OtherMapKey(key)

    def _check_empty(self) -> None:
        if not self._empty or self.done:
            raise self._trace.unsupported("reads a list or map state that is not empty")

    def _is_key(self, *keys: Any) -> bool:
        """Whether the state is a map, and ``keys`` a key. Raises Unsupported if the arguments are
        others."""
        if len(keys) != self._is_map:
            raise self._trace.unsupported("calls a method of its state with other arguments")
        for key in keys:
            shape, parts = taken_apart(self._trace, key)
            if shape.mutable or shape.ofClasses or {part.kind for part in parts} - _KEYS:
                raise self._trace.unsupported("asks a map for something that may not be its key")
        return self._is_map

    def __getattr__(self, attribute: str) -> Any:
        if self._is_map and attribute == "isEmpty":
            empty = self.done == "cleared" or (self._empty and not self.done)
            return lambda: empty
        if self._is_map and attribute in ("keys", "values", "entries"):
            self._check_empty()
            return lambda: iter(())
        return super().__getattr__(attribute)


_KEYS = {"int", "float", "bool", "str", "none"}
"""The kinds of values that can be a key of a map."""


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
