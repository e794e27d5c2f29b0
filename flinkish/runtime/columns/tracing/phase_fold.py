"""``PhaseFold``: a keyed process function over columns, in phases, for keys whose states come and
go.

The elements of a run are processed in phases. The function is specialized by what the states of a
key contain. In each phase the keys of one specialization are processed together, up to the element
that gives a key's state its first value, or clears it. The key's elements after that one belong to
its next phase. If the function cannot be traced for a specialization, it has to be called for the
elements of these keys, each in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flinkish.api.functions.state import State
from flinkish.runtime.columns.tracing.effects import (
    SOMETHING,
    EntryGroups,
    KeyedRun,
    Keys,
    Left,
    PartOfRun,
    Phased,
    Positions,
    RunEffects,
)
from flinkish.runtime.columns.tracing.emissions import emitted_columns
from flinkish.runtime.columns.tracing.expression_run import Run
from flinkish.runtime.columns.tracing.expressions import Kind, folds
from flinkish.runtime.columns.tracing.folding import (
    ARROW_TYPES,
    Folding,
    first_positions,
    normal,
)
from flinkish.runtime.columns.tracing.phase_trace import (
    Content,
    Held,
    MapKeys,
    NotListed,
    Phase,
    Specialization,
    follow_phase,
)
from flinkish.runtime.columns.tracing.reduction_patterns import Reduction, matched_patterns
from flinkish.runtime.columns.tracing.running import RunningFold, accumulator_steps, asks_running
from flinkish.runtime.columns.tracing.state_stand_ins import MapKey, OtherMapKey
from flinkish.runtime.columns.tracing.symbolic_values import MOST_ITEMS, beside
from flinkish.runtime.columns.tracing.symbols import kind_of_constant
from flinkish.runtime.columns.tracing.traced_function import TracedFunction
from flinkish.runtime.columns.tracing.traced_runs import (
    check_may_differ,
    check_timestamps,
    run_of,
)
from flinkish.runtime.columns.tracing.unsupported import Unsupported
from flinkish.runtime.columns.tracing.value_shapes import arrays_of, structure
from flinkish.runtime.columns.tracing.values import (
    Inexact,
    Mask,
    Values,
    deoptimizing,
    to_arrow,
)
from flinkish.runtime.records.rows import RowColumns, python_values
from flinkish.runtime.records.shapes import Shape
from flinkish.runtime.state.broadcast_state import BroadcastStates
from flinkish.runtime.state.table_states import (
    MISSING,
    TableListState,
    TableMapState,
    TableValueState,
)

_MOST_PHASES = 6
"""The most phases of a run. The function is called for the elements that are left after them."""

_MOST_SPECIALIZATIONS = 16
"""The most specializations of a function. For others, it is called for each element."""


class PhaseFold(TracedFunction["_Plan"]):
    """``processElement`` of a function with keyed states, over columns.

    The function may read, update and clear ValueStates, add to ListStates and MapStates, read them
    while they are empty for the key, register and delete timers, and emit; or else read and change
    one entry of its MapStates for each element. Wherever the effects of
    a run could differ from those of the function's own calls, ``processed`` returns None, and the
    caller calls the function for each element.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        named: object = None,
        broadcast: BroadcastStates | None = None,
    ) -> None:
        """``named``: the user's function, if ``function`` is a wrapper. ``broadcast``: the broadcast
        states that its context gives."""
        super().__init__(named or function, None if broadcast is None else broadcast.versions)
        self.function = function
        self.broadcast = broadcast
        self._used: list[State] = []
        self._contents: list[Content] = ["empty", "other"]
        self._codes: dict[Any, int] = {}
        self._map_key: MapKeys = "unknown"

    @property
    def states(self) -> Sequence[State]:
        return self._used

    @property
    def byEntry(self) -> bool:
        """Whether the function is known to use one entry of its maps for each element."""
        return isinstance(self._map_key, MapKey)

    def processed(self, run: KeyedRun, keys: Keys) -> Phased | None:
        """The effects of ``run``, whose groups have ``keys``; None if the function has to be
        called."""
        values = run.values
        if values.mayDiffer or self.runs.difference is not None:
            return None
        extra = (
            pa.array(run.timestamps, pa.int64()),
            pa.array(run.watermarks, pa.int64()),
            pa.array(np.full(len(values), run.clock)),
            run.keys,
        )
        elements = beside(values, extra)
        tried = False
        while True:
            try:
                return self._in_phases(elements, run.groups, keys)
            except NotListed as found:
                self._used.append(found.state)
            except OtherMapKey as found:
                self._map_key = "any" if tried or found.key is None else found.key
                tried = True
            self._forget()

    def _in_phases(self, elements: RowColumns, groups: Positions, keys: Keys) -> Phased | None:
        of_keys, entries = groups, None
        if isinstance(self._map_key, MapKey):
            entries = EntryGroups.of(self._map_key, elements.batch, groups)
            if entries is None:
                return None
            groups, owners = entries.groups, entries.owners
            hashes = None if keys.hashes is None else keys.hashes[owners]
            of_owners = list(map(keys.values.__getitem__, owners.tolist()))
            keys = Keys(of_owners, hashes, entries.mapKeys)
        count = len(keys.values)
        values = [stored(state, keys) for state in self._used]
        codes = [np.fromiter(map(self._code, column), np.intp, count) for column in values]
        done = RunEffects(of_keys, groups, entries, self._used, values, codes, self._code_of)
        places = np.arange(len(groups))
        for _ in range(_MOST_PHASES):
            left: list[Positions] = []
            for specialization, members, among in self._by_specialization(
                codes, groups, places, count
            ):
                plan = self._plan_for(specialization, elements)
                rest = None
                if plan is not None and not done.emitsOthers(plan.phase):
                    rest = plan.process(elements.batch, members, among, done)
                if rest is None:
                    done.called.append(among)
                else:
                    left.append(rest)
            places = np.sort(np.concatenate(left)) if left else places[:0]
            if not len(places) or done.tooMany:
                break
        done.called.append(places)
        return done.phased()

    def _by_specialization(
        self, codes: list[Positions], groups: Positions, places: Positions, count: int
    ) -> Iterator[tuple[Specialization, Positions, Positions]]:
        """Each specialization that groups with elements at ``places`` take, its groups, and the
        places of their elements."""
        of_places = groups[places]
        members = np.arange(count)
        if len(places) < len(groups):
            present = np.zeros(count, dtype=np.bool_)
            present[of_places] = True
            members = np.flatnonzero(present)
        combined = np.zeros(len(members), dtype=np.intp)
        for column in codes:
            combined = combined * len(self._contents) + column[members]
        found, first, numbers = np.unique(combined, return_index=True, return_inverse=True)
        for number in range(len(found)):
            example = members[first[number]]
            specialization = tuple(self._contents[column[example]] for column in codes)
            if len(found) == 1:
                yield specialization, members, places
                continue
            its = members[numbers == number]
            inside = np.zeros(count, dtype=np.bool_)
            inside[its] = True
            yield specialization, its, places[inside[of_places]]

    def _code(self, value: Any) -> int:
        """The code of a state's contents: 0 if empty, 1 if columns cannot hold them, else one for
        their shape and types."""
        if value is None:
            return 0
        kind = type(value)
        key: Any = kind
        if kind is tuple:
            key = tuple(map(type, value))
        elif kind is list:
            key = (list, tuple(map(type, value[: MOST_ITEMS + 1])))
        known = self._codes.get(key)
        if known is None:
            if value is SOMETHING:
                return 1
            parts: list[Any] = []
            shape = structure(value, parts)
            if shape is None:
                return 1
            known = self._code_of(shape, tuple(map(kind_of_constant, parts)))
            if known > 1 and shape.flat and shape.kind in (None, tuple, list):
                self._codes[key] = known
        return known

    def _code_of(self, shape: Shape, kinds: tuple[Kind | None, ...]) -> int:
        """The code of contents with that shape and those kinds of parts."""
        known = self._codes.get((shape, kinds))
        if known is None:
            known = 1
            if set(kinds) <= set(ARROW_TYPES):
                known = len(self._contents)
                self._contents.append(Held(shape, kinds))  # type: ignore[arg-type]
            self._codes[shape, kinds] = known
        return known

    def _plan_for(self, specialization: Specialization, elements: RowColumns) -> _Plan | None:
        known = (specialization,) in self._counts
        if not known and len(self._counts) >= _MOST_SPECIALIZATIONS:
            return None
        return self._traced(elements, specialization)

    def _trace(self, elements: RowColumns, *content: Any) -> _Plan:
        specialization: Specialization = content[0]
        phase = follow_phase(
            self.function, elements, self._used, specialization, self._map_key, self.broadcast
        )
        return _Plan(phase, specialization, elements.shape.width)

    def _explore(self) -> None:
        follow_phase(self.function, None, broadcast=self.broadcast)


class _Plan:
    """How the elements of a phase are processed."""

    def __init__(self, phase: Phase, specialization: Specialization, width: int) -> None:
        self.phase = phase
        self.traced = phase.traced
        self._held = specialization
        self._timestamp = width
        fields = [e for folded in phase.folded for e in folded.fields]
        if tuple(e.kind for e in fields) != phase.kinds:
            raise Unsupported("changes the type of a field of its state, or may do so")
        patterns = matched_patterns(phase.trace.expressions, fields)
        self._reduction = Reduction(tuple(patterns), phase.kinds, None)
        for ending in phase.endings:
            if not {e.kind for e in ending.fields} <= {*ARROW_TYPES, "unknown"}:
                raise Unsupported("keeps something in its state that is not a number, text or bool")
        asked = [*phase.effects, *accumulator_steps(phase.traced.steps)]
        self._running = asks_running(self._reduction, asked)
        self._ends_by_state = any(folds(ending.condition) for ending in phase.endings)
        self._ends_at_once = any(
            getattr(ending.condition, "value", False) is True for ending in phase.endings
        )

    @deoptimizing
    def process(
        self, batch: pa.RecordBatch, members: Positions, places: Positions, done: RunEffects
    ) -> Positions:
        """Add the effects of the elements at ``places``, of the groups ``members``, to ``done``, as
        long as this specialization holds for their group. Returns the places of the other elements;
        None, with nothing done, if the effects could differ from those of the function's own
        calls."""
        part = PartOfRun.of(batch, done.groups, members, places)
        check_may_differ(self.traced, part.batch)
        check_timestamps(self.traced, part.batch, self._timestamp)
        start = self._fields((f.state for f in self.phase.folded), done.values, members)
        constant = self._fields(self.phase.constant, done.values, members)
        part = part.withColumns(constant)
        rest = places[:0]
        if self.phase.endings:
            ends = self._ends(part, start)
            behind = part.places > ends[part.groups]
            rest = part.places[behind]
            part = part.where(~behind)
        run = run_of(part.batch)
        met = self._meeting(run, part, start)
        met.check(self.traced.steps)
        emitted = emitted_columns(self.phase.emitted, met, part.batch, part.places)
        done.add(self.phase, emitted, [*self._folded(run, part, start), *self._ended(met, part)])
        return rest

    def _fields(
        self, states: Iterable[int], values: list[list[Any]], members: Positions
    ) -> list[pa.Array]:
        """A column of each field of ``states``, with a row for each member."""
        columns: list[pa.Array] = []
        for state in states:
            held = self._held[state]
            assert isinstance(held, Held)
            own = list(map(values[state].__getitem__, members.tolist()))
            columns += arrays_of(held.shape, [ARROW_TYPES[kind] for kind in held.kinds], own)
        return columns

    def _meeting(self, run: Run, part: PartOfRun, start: list[pa.Array]) -> Run:
        """``run`` with the states before each element, if an effect depends on them."""
        if not self._running:
            return run
        known = RunningFold(run, part.groups, _batch_of(start), self._reduction)
        return run.accumulating(known.field)

    def _ends(self, part: PartOfRun, start: list[pa.Array]) -> Positions:
        """For each member the place of the element that ends its phase; a place after all if none
        does."""
        ends = np.full(part.count, part.places[-1] + 1, dtype=np.intp)
        if self._ends_at_once:
            return part.places[first_positions(part.groups, part.count)]
        run = run_of(part.batch)
        if self._ends_by_state:
            run = self._meeting(run, part, start)
        found = np.zeros(len(part.places), dtype=np.bool_)
        for ending in self.phase.endings:
            found |= run.mask(ending.condition)
        where = np.flatnonzero(found)
        first = first_positions(part.groups[where], part.count)
        ends[first >= 0] = part.places[where[first[first >= 0]]]
        return ends

    def _folded(self, run: Run, part: PartOfRun, start: list[pa.Array]) -> Iterator[Left]:
        if not self.phase.folded:
            return
        begun = _batch_of(start)
        folding = Folding(run, part.batch, part.groups, part.count, self._reduction, begun)
        columns, number = folding.fields(), 0
        first = first_positions(part.groups, part.count)
        for folded in self.phase.folded:
            fields = []
            changed = np.zeros(part.count, dtype=np.bool_)
            for kind in folded.held.kinds:
                fields.append(normal(to_arrow(columns[number]), ARROW_TYPES[kind]))
                changed |= _differ(start[number], fields[-1])
                number += 1
            where = np.flatnonzero(changed & (first >= 0))
            values = [python_values(column.take(pa.array(where))) for column in fields]
            made = list(folded.held.shape.made(values))
            yield Left(folded.state, part.places[first[where]], part.members[where], made, None)

    def _ended(self, met: Run, part: PartOfRun) -> Iterator[Left]:
        """The values of the states that an element has given a first value, or has cleared."""
        for ending in self.phase.endings:
            mask = met.mask(ending.condition)
            where = np.flatnonzero(mask)
            if not len(where):
                continue
            places, groups = part.places[where], part.members[part.groups[where]]
            if ending.fills:
                yield Left(ending.state, places, groups, [SOMETHING] * len(where), None)
            elif ending.shape is None:
                yield Left(ending.state, places, groups, [None] * len(where), None)
            else:
                run = met.where(mask)
                fields = [run.values(expression) for expression in ending.fields]
                held = Held(ending.shape, tuple(field.kind for field in fields))
                columns = [_made(values, run.count) for values in fields]
                yield Left(ending.state, places, groups, list(ending.shape.made(columns)), held)


def _made(values: Values, count: int) -> list[Any]:
    """The values of a field as Python objects. Raises Inexact unless they are numbers, texts or
    bools."""
    if values.kind not in ARROW_TYPES:
        raise Inexact
    return python_values(normal(to_arrow(values.array(count)), ARROW_TYPES[values.kind]))


def stored(state: State, keys: Keys) -> list[Any]:
    """The contents of ``state`` for each of ``keys``: None if it is empty, SOMETHING for a list, a
    map that is not read by entry, or None in a map that is."""
    if isinstance(state, TableMapState) and keys.mapKeys is not None:
        found = state.storedUnder(keys.values, keys.mapKeys)
        return [None if v is MISSING else SOMETHING if v is None else v for v in found]
    if isinstance(state, TableMapState):
        return [None if empty else SOMETHING for empty in state.areEmpty(keys.values)]
    assert isinstance(state, (TableValueState, TableListState))
    kept = state.storedUnder(keys.values, keys.hashes)
    if isinstance(state, TableListState):
        return [None if each is None else SOMETHING for each in kept]
    return kept


def _batch_of(columns: Sequence[pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns), [str(n) for n in range(len(columns))])


def _differ(before: pa.Array, after: pa.Array) -> Mask:
    """Return a mask of the rows in which two columns without nulls differ; floats are compared bit
    by bit."""
    if pa.types.is_floating(before.type):
        before, after = (pa.array(column.to_numpy().view(np.int64)) for column in (before, after))
    differ: Mask = pc.not_equal(before, after).to_numpy(zero_copy_only=False)
    return differ
