"""``Effects``: what the elements of a run of a keyed process function emit, and the timers that they
register and delete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.runtime.columns.tracing.emissions import Emitted, EmittedColumns, elements_where
from flinkish.runtime.columns.tracing.expression_run import Run
from flinkish.runtime.columns.tracing.folding import first_positions
from flinkish.runtime.columns.tracing.phase_trace import Phase
from flinkish.runtime.columns.tracing.values import Inexact
from flinkish.runtime.records.rows import RowColumns, by_code, grouped

Positions: TypeAlias = NDArray[np.intp]
Timestamps: TypeAlias = NDArray[np.int64]


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


class Effects:
    """The emissions, additions to states and timers of the elements of ``groups``."""

    def __init__(self, groups: Positions) -> None:
        self._groups = groups
        self._timers: list[tuple[Positions, Timestamps, Timestamps]] = []
        self._emitted: dict[str | None, EmittedColumns] = {None: EmittedColumns()}
        self._added: dict[int, EmittedColumns] = {}

    def add(self, phase: Phase, run: Run, batch: pa.RecordBatch, positions: Positions) -> None:
        """Add the results and timers of ``phase`` for the elements at ``positions``, whose rows are
        ``run`` and ``batch``."""
        for condition, timestamp, call in phase.timers:
            part, mask = elements_where(run, condition)
            values = part.values(timestamp)
            if values.kind != "int":
                raise Inexact
            if part.count:
                where = positions if mask is None else positions[mask]
                calls = part.values(call).array(part.count)
                self._timers.append((where, values.array(part.count), calls))
        for output, emission in phase.emitted.items():
            self._emitted.setdefault(output, EmittedColumns()).add(emission, run, batch, positions)
        for state, emission in phase.added.items():
            self._added.setdefault(state, EmittedColumns()).add(emission, run, batch, positions)

    def joined(self, other: Effects) -> Effects:
        """Add the effects of other elements to these."""
        self._timers += other._timers
        for output, emitted in other._emitted.items():
            self._emitted.setdefault(output, EmittedColumns()).extend(emitted)
        for state, added in other._added.items():
            self._added.setdefault(state, EmittedColumns()).extend(added)
        return self

    def added(self) -> dict[int, Emitted]:
        """The additions to each list or map, in the order of the elements."""
        return {state: added.joined() for state, added in self._added.items()}

    def emitted(self) -> dict[str | None, Emitted]:
        """All results, and those for each side output by its id, in the order of the elements."""
        return {output: emitted.joined() for output, emitted in self._emitted.items()}

    def timers(self) -> Timers:
        """All timers, in the order of the elements."""
        if not self._timers:
            none = np.zeros(0, dtype=np.intp)
            return Timers(none, none, none.astype(np.int64), none.astype(np.int64))
        positions, times, calls = map(np.concatenate, zip(*self._timers))
        if len(self._timers) > 1:
            order = np.argsort(positions, kind="stable")
            positions, times, calls = positions[order], times[order], calls[order]
        groups = self._groups[positions]
        codes, distinct = grouped(pa.array(times))
        numbers = (groups.astype(np.int64) * len(distinct) + codes) * 2 + calls // 2
        codes, timers = grouped(pa.array(numbers))
        if (calls % 2).any():
            order = by_code(codes, len(timers))
            ordered, done = codes[order], calls[order]
            differs = np.r_[True, (ordered[1:] != ordered[:-1]) | (done[1:] != done[:-1])]
            changing = np.sort(order[differs])
        else:
            changing = first_positions(codes, len(timers))
        return Timers(positions[changing], groups[changing], times[changing], calls[changing])
