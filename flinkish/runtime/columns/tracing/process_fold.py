"""``ProcessFold``: ``processElement`` of a keyed process function over the columns of a run.

If a function's states are folds of the elements, a run updates the state of each key at once: the
first element of a key without state creates the state, and the others update it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.functions.state import ValueState
from flinkish.runtime.columns.tracing.column_fold import (
    column_of_values,
    needs_accumulator,
    recognised,
    take_apart,
)
from flinkish.runtime.columns.tracing.column_function import (
    Traces,
    column_symbols,
    has_nulls,
    refusal_of,
    run_of,
    symbolic_element,
)
from flinkish.runtime.columns.tracing.column_runs import ColumnRuns
from flinkish.runtime.columns.tracing.emissions import (
    Emission,
    Emitted,
    EmittedColumns,
    Slot,
    elements_where,
)
from flinkish.runtime.columns.tracing.expressions import Accumulated, folds, leaves
from flinkish.runtime.columns.tracing.folding import (
    ARROW_TYPES,
    Folding,
    first_positions,
    folded_field,
    normal,
)
from flinkish.runtime.columns.tracing.forms import Form
from flinkish.runtime.columns.tracing.kernels import (
    NOT_EXACT,
    Inexact,
    Mask,
    Run,
    to_arrow,
)
from flinkish.runtime.columns.tracing.process_trace import EXTRA, Case, DefaultOf, follow_process
from flinkish.runtime.columns.tracing.running import RUNNING, RunningFold
from flinkish.runtime.columns.tracing.symbols import Refusal, Symbol
from flinkish.runtime.columns.tracing.trace import Trace
from flinkish.runtime.records.records import NO_TIMESTAMP
from flinkish.runtime.records.rows import RowColumns, grouped, python_values

Positions: TypeAlias = NDArray[np.intp]
Timestamps: TypeAlias = NDArray[np.int64]
Stored: TypeAlias = Callable[[ValueState[Any]], list[Any]]


@dataclass(frozen=True)
class KeyedRun:
    """Elements with their keys. ``groups`` has for each element the number of its key, of ``count``
    keys; each key has an element."""

    values: RowColumns
    timestamps: Timestamps
    keys: pa.Array
    groups: Positions
    count: int


@dataclass(frozen=True)
class NewState:
    """The values of a state after a run."""

    state: ValueState[Any]
    groups: list[int]
    """The groups whose value has been updated."""
    values: list[Any]
    """The new values of these groups."""


@dataclass(frozen=True)
class Processed:
    """The effects of a run, in the order of its elements."""

    states: list[NewState]
    timers: list[tuple[int, int]]
    """The group and the timestamp of each event-time timer that is registered, each once."""
    results: RowColumns | None
    emitting: Positions
    """For each result the position of the element that emits it."""


class ProcessFold:
    """``processElement`` of a KeyedProcessFunction, or f(value, ctx, out), over columns.

    The function may read and update ValueStates, register event-time timers, and emit. If it does
    more, or if the effects of a run could differ from those of the function's own calls,
    ``processed`` returns None, and the caller calls the function for each element. ``defaultOf``
    returns the default value of a state, and raises Refusal unless it is a plain ValueState.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        defaultOf: DefaultOf | None = None,
        named: object = None,
    ) -> None:
        """``named``: the user's function, if ``function`` is a wrapper."""
        self._function = function
        self._default_of = defaultOf
        self.runs = ColumnRuns("ProcessFold", named or function)
        self._traces = Traces(self._plan, self.runs)

    @property
    def function(self) -> Callable[..., Any]:
        """The function that is traced."""
        return self._function

    @property
    def reason(self) -> str | None:
        """Why the function is not traced; None if it can be, as far as known without input."""
        return self._traces.reason or refusal_of(self._explore)

    @property
    def refused(self) -> bool:
        """Whether the function cannot be traced. A function that a check has found to differ can
        be."""
        return self._traces.reason is not None and self.runs.difference is None

    def processed(self, run: KeyedRun, watermark: int, stored: Stored) -> Processed | None:
        """The effects of ``run``; None if the function has to be called. ``stored`` returns the
        value of a state for each group, None if it is empty."""
        values = run.values
        if values.mayDiffer:
            return None
        batch = values.batch
        extra = (
            pa.array(run.timestamps, pa.int64()),
            pa.array(np.full(len(values), watermark, dtype=np.int64)),
            run.keys,
        )
        for name, column in zip(EXTRA, extra):
            batch = batch.append_column(name, column)
        plan: _Plan | None = self._traces.of(RowColumns(batch, values.shape))
        if plan is None or plan.mayDiffer(batch):
            return None
        try:
            return plan.processed(batch, run.groups, run.count, stored)
        except NOT_EXACT:
            return None

    def _plan(self, elements: RowColumns) -> _Plan:
        schema = elements.batch.schema
        width = len(schema) - len(EXTRA)
        values = RowColumns(elements.batch.select(range(width)), elements.shape)

        def arguments(trace: Trace) -> tuple[Any, list[Symbol]]:
            return symbolic_element(trace, values), column_symbols(trace, schema.types, width)

        first = follow_process(self._function, arguments, self._default_of)
        if not first.states:
            return _Plan(first, None, (), width)
        if not first.makesStates:
            raise Refusal("may leave its state without a value")
        if not set(first.kinds) <= set(ARROW_TYPES):
            raise Refusal("keeps something in its state that is not a number, text or bool")
        later = follow_process(self._function, arguments, self._default_of, first)
        if later.kinds != first.kinds:
            raise Refusal("changes the type of a field of its state, or may do so")
        shapes = [case.emitted[None].shape for case in (first, later)]
        if None not in shapes and shapes[0] != shapes[1]:
            raise Refusal("emits values of different shapes")
        forms = recognised(later.trace, later.fields)
        plan = _Plan(first, later, tuple(forms), width)
        plan.check()
        return plan

    def _explore(self) -> None:
        """Raises Refusal if the function cannot be traced, whatever the elements are."""

        def arguments(trace: Trace) -> tuple[Any, list[Symbol]]:
            element, *extra = (
                Symbol(trace, trace.expressions.column(number, "unknown"))
                for number in range(1 + len(EXTRA))
            )
            return element, extra

        follow_process(self._function, arguments, None)


class _Plan:
    """How elements are processed. ``first`` is the trace for the first element of a key without
    state, or for every element if there are no states; ``later`` is the trace for the others."""

    def __init__(
        self, first: Case, later: Case | None, forms: tuple[Form, ...], width: int
    ) -> None:
        self._first = first
        self._later = later
        self._forms = forms
        self._running = later is not None and (
            any(map(folds, later.effects))
            or any(needs_accumulator(step.operation) for step in later.traced.steps)
        )
        """Whether results, timers or steps depend on the states before each element."""
        self._timestamp = width
        self._traced = [first.traced] if later is None else [first.traced, later.traced]
        self._timed = any(width in traced.reading for traced in self._traced)
        self._tests_none = any(traced.testsNone for traced in self._traced)

    def check(self) -> None:
        """Raises Refusal if an effect reads a field of the state that can only be computed at the
        end of a run."""
        assert self._later is not None
        if self._running:
            steps = (step.operation for step in self._later.traced.steps)
            asked = leaves(*self._later.effects, *filter(needs_accumulator, steps))
            numbers = {leaf.number for leaf in asked if isinstance(leaf, Accumulated)}
            if any(self._forms[number].way not in RUNNING for number in numbers):
                raise Refusal("uses the best element so far of each key")

    def changed(self) -> bool:
        """Whether a value that the function reads from its surroundings has changed."""
        return any(traced.changed() for traced in self._traced)

    def mayDiffer(self, batch: pa.RecordBatch) -> bool:
        """Whether the function may take another branch for some row of ``batch`` than was
        traced."""
        if self._tests_none and has_nulls(batch):
            return True
        timestamps = batch.column(self._timestamp).to_numpy()
        return self._timed and bool((timestamps == NO_TIMESTAMP).any())

    def processed(
        self, batch: pa.RecordBatch, groups: Positions, count: int, stored: Stored
    ) -> Processed:
        """The effects of a run. Raises one of ``NOT_EXACT`` if those of the function's own calls
        could differ."""
        first, later = self._first, self._later
        effects = Effects(groups)
        everyone = np.arange(batch.num_rows)
        if later is None:
            effects.add(first, _checked(first, batch), batch, everyone)
            return effects.processed([])
        before = [stored(state) for state in first.states]
        started = _started(before, count)
        making = first_positions(groups, count)[~started]
        part = batch.take(pa.array(making))
        run = _checked(first, part)
        effects.add(first, run, part, making)
        start = _joined(_known_fields(first, before, started), _made_fields(first, run), started)
        if len(making):
            others = np.ones(len(everyone), dtype=np.bool_)
            others[making] = False
            everyone, groups = everyone[others], groups[others]
            batch = batch.filter(pa.array(others))
        run = run_of(batch)
        known = RunningFold(run, groups, start, self._forms, later.kinds)
        met = run.accumulating(known.field) if self._running else run
        met.check(later.traced.steps)
        effects.add(later, met, batch, everyone)
        folding = Folding(run, batch, groups, count, False)
        folding.begin(start, None)
        fields = [
            normal(
                to_arrow(folded_field(folding, self._forms, later.kinds, None, number)),
                ARROW_TYPES[kind],
            )
            for number, kind in enumerate(later.kinds)
        ]
        changed = [~started for _ in before]
        for changes, condition in zip(changed, later.changes):
            changes[groups[met.mask(condition)]] = True
        return effects.processed(_new_states(first, fields, changed))


class Timers(NamedTuple):
    """Event-time timers in the order in which they are registered, each once."""

    positions: Positions
    """The positions of the elements that register the timers."""
    groups: Positions
    timestamps: Timestamps


class EmittingCase(Protocol):
    """The trace of what elements emit, and of the timers that they register."""

    @property
    def emitted(self) -> Mapping[str | None, Emission]:
        """The results of an element, and those for each side output by its id."""

    @property
    def timers(self) -> tuple[Slot, ...]:
        """The timers of an element."""


class Effects:
    """What elements of ``groups`` emit, and the timers that they register."""

    def __init__(self, groups: Positions) -> None:
        self._groups = groups
        self._timers: list[tuple[Positions, Timestamps]] = []
        self._emitted: dict[str | None, EmittedColumns] = {None: EmittedColumns()}

    def add(
        self, case: EmittingCase, run: Run, batch: pa.RecordBatch, positions: Positions
    ) -> None:
        """Add the results and timers of ``case`` for the elements at ``positions``, whose rows are
        ``run`` and ``batch``."""
        for condition, timestamp in case.timers:
            part, mask = elements_where(run, condition)
            values = part.values(timestamp)
            if values.kind != "int":
                raise Inexact
            if part.count:
                where = positions if mask is None else positions[mask]
                self._timers.append((where, values.array(part.count)))
        for output, emission in case.emitted.items():
            emitted = self._emitted.setdefault(output, EmittedColumns())
            emitted.add(emission, run, batch, positions)

    def processed(self, states: list[NewState]) -> Processed:
        """All effects, in the order of the elements, with ``states``."""
        timers = self.timers()
        listed = list(zip(timers.groups.tolist(), timers.timestamps.tolist()))
        return Processed(states, listed, *self._emitted[None].joined())

    def joined(self, other: Effects) -> Effects:
        """Add the effects of other elements to these."""
        self._timers += other._timers
        for output, emitted in other._emitted.items():
            self._emitted.setdefault(output, EmittedColumns()).extend(emitted)
        return self

    def emitted(self) -> dict[str | None, Emitted]:
        """All results, and those for each side output by its id, in the order of the elements."""
        return {output: emitted.joined() for output, emitted in self._emitted.items()}

    def timers(self) -> Timers:
        """All timers, in the order of the elements."""
        if not self._timers:
            none = np.zeros(0, dtype=np.intp)
            return Timers(none, none, none.astype(np.int64))
        positions, times = map(np.concatenate, zip(*self._timers))
        if len(self._timers) > 1:
            order = np.argsort(positions, kind="stable")
            positions, times = positions[order], times[order]
        codes, distinct = grouped(pa.array(times))
        timers = self._groups[positions].astype(np.int64) * len(distinct) + codes
        codes, registered = grouped(pa.array(timers))
        registered = registered.to_numpy()
        first = positions[first_positions(codes, len(registered))]
        timestamps = distinct.to_numpy()[registered % len(distinct)]
        return Timers(first, registered // len(distinct), timestamps)


def _checked(case: Case, batch: pa.RecordBatch) -> Run:
    """The rows of ``batch`` as a run. Raises one of ``NOT_EXACT`` if a step of ``case`` could raise
    an error."""
    run = run_of(batch)
    run.check(case.traced.steps)
    return run


def _started(before: list[list[Any]], count: int) -> Mask:
    """Which keys have values in their states. Raises Inexact if a key has a value in only some of
    them."""
    known = [np.fromiter((v is not None for v in values), np.bool_, count) for values in before]
    if any(not np.array_equal(known[0], other) for other in known[1:]):
        raise Inexact
    return known[0]


def _known_fields(case: Case, before: list[list[Any]], started: Mask) -> list[pa.Array]:
    """The fields of the states that have a value. Raises Inexact if they do not have the shape and
    types that ``processElement`` gives them."""
    columns: list[list[Any]] = [[] for _ in case.fields]
    places = np.flatnonzero(started).tolist()
    offset = 0
    for shape, values in zip(case.shapes, before):
        own = columns[offset : offset + shape.width]
        offset += shape.width
        for place in places:
            parts: list[Any] = []
            if not take_apart(shape, values[place], parts) or None in parts:
                raise Inexact
            for column, part in zip(own, parts):
                column.append(part)
    return [column_of_values(c, ARROW_TYPES[kind]) for c, kind in zip(columns, case.kinds)]


def _made_fields(case: Case, run: Run) -> list[pa.Array]:
    """The fields of the states that the elements of ``run`` create."""
    return [
        normal(to_arrow(run.array(field)), ARROW_TYPES[kind])
        for field, kind in zip(case.fields, case.kinds)
    ]


def _joined(known: list[pa.Array], made: list[pa.Array], started: Mask) -> pa.RecordBatch:
    """The fields by group: ``known`` for the groups that have ``started``, ``made`` for the
    others."""
    order = np.argsort(np.argsort(~started, kind="stable"), kind="stable")
    columns = [pa.concat_arrays(both).take(pa.array(order)) for both in zip(known, made)]
    return pa.RecordBatch.from_arrays(columns, [str(number) for number in range(len(columns))])


def _new_states(case: Case, fields: list[pa.Array], changed: list[Mask]) -> list[NewState]:
    states: list[NewState] = []
    offset = 0
    for state, shape, changes in zip(case.states, case.shapes, changed):
        where = np.flatnonzero(changes)
        own = fields[offset : offset + shape.width]
        offset += shape.width
        columns = [python_values(column.take(pa.array(where))) for column in own]
        states.append(NewState(state, where.tolist(), list(shape.made(columns))))
    return states
