"""What the elements of a run of a keyed process function do: what they emit, write to states, and
the timers that they register and delete."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.functions.state import State
from flinkish.runtime.columns.tracing.emissions import (
    TIMERS,
    AnyChannel,
    Channel,
    Emitted,
    EmittedColumns,
)
from flinkish.runtime.columns.tracing.expressions import Kind
from flinkish.runtime.columns.tracing.folding import ARROW_TYPES, first_positions, normal
from flinkish.runtime.columns.tracing.phase_trace import Held, Phase
from flinkish.runtime.columns.tracing.state_stand_ins import GROUPED_KINDS, MapKey
from flinkish.runtime.columns.tracing.traced_runs import run_of
from flinkish.runtime.columns.tracing.values import Inexact, Mask, deoptimizing, to_arrow
from flinkish.runtime.records.records import Hashes
from flinkish.runtime.records.rows import RowColumns, by_code, grouped, python_values
from flinkish.runtime.records.shapes import VALUE, Shape

Positions: TypeAlias = NDArray[np.intp]
Timestamps: TypeAlias = NDArray[np.int64]

SOMETHING = object()
"""Stands for the contents of a list or map state."""


@dataclass(frozen=True)
class KeyedRun:
    """Elements with their keys. ``groups`` has for each element the number of its key."""

    values: RowColumns
    timestamps: Timestamps
    watermarks: Timestamps
    """The watermark before each element."""
    clock: int
    """The processing time, which stays the same during a run."""
    keys: pa.Array
    groups: Positions


class Timers(NamedTuple):
    """The timers that are registered and deleted, in order, without those that change nothing."""

    positions: Positions
    """The positions of the elements that register or delete the timers."""
    groups: Positions
    timestamps: Timestamps
    calls: Timestamps
    """For each timer the index of the call in ``TIMER_CALLS``."""


@dataclass(frozen=True)
class Keys:
    """The key of each group, and their hashes if known."""

    values: Sequence[Any]
    hashes: Hashes | None
    mapKeys: Sequence[Any] | None = None
    """The key of each group's entry in the maps, if groups are by entry."""


class EntryGroups(NamedTuple):
    """The elements of a run, grouped by their key and the key of their entry."""

    groups: Positions
    """The number of each element's group."""
    owners: Positions
    """The number of each group's key."""
    mapKeys: Sequence[Any]
    """The key of each group's entry."""

    @staticmethod
    @deoptimizing
    def of(key: MapKey, batch: pa.RecordBatch, groups: Positions) -> EntryGroups:
        """The elements of ``batch``, where ``groups`` has the number of each element's key. None if
        a key may not be what Python computes."""
        run, codes, columns = run_of(batch), groups, []
        for part in key.parts:
            values = run.values(part)
            if values.kind not in GROUPED_KINDS:
                raise Inexact
            column = normal(to_arrow(values.array(run.count)), ARROW_TYPES[values.kind])
            numbers, distinct = grouped(column)
            codes, found = grouped(pa.array(codes * len(distinct) + numbers))
            columns.append(column)
        first = first_positions(codes, len(found))
        lists = [python_values(column.take(pa.array(first))) for column in columns]
        return EntryGroups(codes, groups[first], list(key.shape.made(lists)))


@dataclass(frozen=True)
class PartOfRun:
    """Some elements of a run."""

    batch: pa.RecordBatch
    places: Positions
    """The elements' places in the run."""
    groups: Positions
    """The index of each element's group in ``members``."""
    members: Positions
    count: int

    @staticmethod
    def of(
        batch: pa.RecordBatch, groups: Positions, members: Positions, places: Positions
    ) -> PartOfRun:
        if len(places) < batch.num_rows:
            batch = batch.take(pa.array(places))
        own = groups[places]
        numbers = np.zeros(int(members[-1]) + 1, dtype=np.intp)
        numbers[members] = np.arange(len(members))
        return PartOfRun(batch, places, numbers[own], members, len(members))

    def withColumns(self, columns: Sequence[pa.Array]) -> PartOfRun:
        """The elements with further columns, which have a value for each member."""
        batch = self.batch
        for number, column in enumerate(columns):
            batch = batch.append_column(f"state{number}", column.take(pa.array(self.groups)))
        return replace(self, batch=batch)

    def where(self, mask: Mask) -> PartOfRun:
        if mask.all():
            return self
        batch = self.batch.filter(pa.array(mask))
        return replace(self, batch=batch, places=self.places[mask], groups=self.groups[mask])


class Left(NamedTuple):
    """The values of a state after a phase."""

    state: int
    positions: Positions
    groups: Positions
    values: list[Any]
    held: Held | None
    """The contents, if the state had no value before."""


class Writes(NamedTuple):
    """The updates of a state by a run, in the order of the elements."""

    state: State
    positions: Positions
    """The positions of the elements that update the state."""
    groups: Positions
    values: list[Any]
    """The new values, the elements that are added to a list, or the entries that are put into a
    map, without a value where one is removed; None where the state is cleared."""


@dataclass
class Phased:
    """The effects of a run, in the order of its elements."""

    writes: list[Writes]
    timers: Timers
    emitted: dict[str | None, Emitted]
    """The results, and those for each side output by its id."""
    called: Positions
    """The elements for which the function has to be called, after the effects of all elements
    before them."""


_Part: TypeAlias = tuple[Positions, Positions, list[Any]]
"""The positions of elements, their groups, and what they write to a state."""


class RunEffects:
    """The effects of the phases of a run so far."""

    def __init__(
        self,
        keys: Positions,
        groups: Positions,
        entries: EntryGroups | None,
        states: Sequence[State],
        values: list[list[Any]],
        codes: list[Positions],
        code_of: Callable[[Shape, tuple[Kind | None, ...]], int],
    ) -> None:
        """``keys``: the number of each element's key. ``entries``: the groups, if they are by
        entry."""
        self._keys = keys
        self.groups = groups
        self._entries = entries
        self.values = values
        """The values by state and group."""
        self.called: list[Positions] = []
        self._states = states
        self._codes = codes
        self._code_of = code_of
        self._emitted: dict[AnyChannel, EmittedColumns] = {Channel(None, None): EmittedColumns()}
        self._writes: list[list[_Part]] = [[] for _ in states]
        self._variables = False

    def emitsOthers(self, phase: Phase) -> bool:
        """Whether ``phase`` emits results, or adds something to a state, of another shape than the
        phases before it."""
        return any(
            None not in (known := self._emitted[channel].shape, emission.shape)
            and known != emission.shape
            for channel, emission in phase.emitted.items()
            if channel in self._emitted
        )

    def add(
        self, phase: Phase, emitted: Mapping[AnyChannel, EmittedColumns], left: Sequence[Left]
    ) -> None:
        self._variables = self._variables or phase.traced.readsVariables
        for channel, each in emitted.items():
            self._emitted.setdefault(channel, EmittedColumns()).extend(each)
        for of_state in left:
            if not of_state.values:
                continue
            own = self.values[of_state.state]
            for group, value in zip(of_state.groups.tolist(), of_state.values):
                own[group] = value
            codes = self._codes[of_state.state]
            if of_state.values[:1] == [SOMETHING]:
                codes[of_state.groups] = 1
                continue
            self._writes[of_state.state].append(of_state[1:4])
            if of_state.held is not None:
                codes[of_state.groups] = self._code_of(of_state.held.shape, of_state.held.kinds)
            elif of_state.values[:1] == [None]:
                codes[of_state.groups] = 0

    @property
    def tooMany(self) -> bool:
        """Whether the function has to be called for more than half of the elements."""
        return 2 * sum(map(len, self.called)) > len(self.groups)

    @deoptimizing
    def phased(self) -> Phased | None:
        """All effects; None if the function has to be called for too many elements, or if a call
        could change variables or entries from which the effects were computed."""
        called = np.sort(np.concatenate(self.called))
        if self.tooMany or (len(called) and (self._variables or self._entries is not None)):
            return None
        emitted = {channel: each.joined() for channel, each in self._emitted.items()}
        timers = _timers(emitted.get(TIMERS), self._keys)
        for state, (values, positions) in emitted.items():
            if isinstance(state, int) and values is not None:
                if values.shape == VALUE and values.batch.column(0).null_count:
                    raise Inexact  # None is added to a list
                self._writes[state].append((positions, self.groups[positions], values.rows()))
        writes = [_in_order(s, parts) for s, parts in zip(self._states, self._writes) if parts]
        if self._entries is not None:
            writes = [_in_maps(each, self._entries) for each in writes]
        outputs = {c.sideOutput: each for c, each in emitted.items() if isinstance(c, Channel)}
        return Phased(writes, timers, outputs, called)


def _in_order(state: State, parts: Sequence[_Part]) -> Writes:
    """The updates of ``state`` by all phases, in the order of the elements."""
    positions, groups = (np.concatenate([part[number] for part in parts]) for number in (0, 1))
    values = list(chain.from_iterable(values for _, _, values in parts))
    order = np.argsort(positions, kind="stable")
    values = list(map(values.__getitem__, order.tolist()))
    return Writes(state, positions[order], groups[order], values)


def _in_maps(writes: Writes, entries: EntryGroups) -> Writes:
    """Return updates of the values of entries as updates of maps."""
    keys = map(entries.mapKeys.__getitem__, writes.groups.tolist())
    values = [(key,) if value is None else (key, value) for key, value in zip(keys, writes.values)]
    return writes._replace(groups=entries.owners[writes.groups], values=values)


def _timers(emitted: Emitted | None, keys: Positions) -> Timers:
    """The timers that elements of ``keys`` register and delete."""
    none = np.zeros(0, dtype=np.intp)
    timers, positions = emitted or (None, none)
    if timers is None:
        return Timers(none, none, none.astype(np.int64), none.astype(np.int64))
    if timers.arrow(1).type != pa.int64():
        raise Inexact
    calls, times = (timers.arrow(number).to_numpy() for number in (0, 1))
    groups = keys[positions]
    codes, distinct = grouped(timers.arrow(1))
    numbers = (groups.astype(np.int64) * len(distinct) + codes) * 2 + calls // 2
    codes, each = grouped(pa.array(numbers))
    if (calls % 2).any():
        order = by_code(codes, len(each))
        ordered, done = codes[order], calls[order]
        differs = np.r_[True, (ordered[1:] != ordered[:-1]) | (done[1:] != done[:-1])]
        changing = np.sort(order[differs])
    else:
        changing = first_positions(codes, len(each))
    return Timers(positions[changing], groups[changing], times[changing], calls[changing])
