"""``Effects``: what the elements of a run of a keyed process function emit, and the timers that they
register."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.runtime.columns.tracing.emissions import Emitted, EmittedColumns, elements_where
from flinkish.runtime.columns.tracing.folding import first_positions
from flinkish.runtime.columns.tracing.kernels import Inexact, Run
from flinkish.runtime.columns.tracing.phase_trace import Phase
from flinkish.runtime.records.rows import RowColumns, grouped

Positions: TypeAlias = NDArray[np.intp]
Timestamps: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class KeyedRun:
    """Elements with their keys. ``groups`` has for each element the number of its key."""

    values: RowColumns
    timestamps: Timestamps
    watermarks: Timestamps
    """The watermark before each element."""
    keys: pa.Array
    groups: Positions


class Timers(NamedTuple):
    """Event-time timers in the order in which they are registered, each once."""

    positions: Positions
    """The positions of the elements that register the timers."""
    groups: Positions
    timestamps: Timestamps


class Effects:
    """The emissions, additions to states and registered timers of the elements of ``groups``."""

    def __init__(self, groups: Positions) -> None:
        self._groups = groups
        self._timers: list[tuple[Positions, Timestamps]] = []
        self._emitted: dict[str | None, EmittedColumns] = {None: EmittedColumns()}
        self._added: dict[int, EmittedColumns] = {}

    def add(self, phase: Phase, run: Run, batch: pa.RecordBatch, positions: Positions) -> None:
        """Add the results and timers of ``phase`` for the elements at ``positions``, whose rows are
        ``run`` and ``batch``."""
        for condition, timestamp in phase.timers:
            part, mask = elements_where(run, condition)
            values = part.values(timestamp)
            if values.kind != "int":
                raise Inexact
            if part.count:
                where = positions if mask is None else positions[mask]
                self._timers.append((where, values.array(part.count)))
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
