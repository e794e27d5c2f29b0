"""``DeltaFirings``: the elements of a run at which a ``DeltaTrigger`` fires."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.windowing.triggers import DeltaTrigger
from flinkish.runtime.columns.pane_segments import RunPanes, Segments, ranges
from flinkish.runtime.columns.panes import Positions
from flinkish.runtime.columns.tracing.column_function import PairMap
from flinkish.runtime.columns.tracing.folding import first_positions
from flinkish.runtime.columns.tracing.value_shapes import after
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import VALUE

_EXACT_IN_FLOATS = 2**53

_LOOKED_AT_ONCE = 1 << 6
"""So many elements of a pane are compared at once with the one that fired last; twice as many where
none of them fires."""

_ROUNDS, _ELEMENTS_A_ROUND = 32, 128
"""After so many rounds the trigger has to be called, if a round has passed fewer elements."""


class DeltaFirings:
    """Compares the elements of each pane with the one that fired last, for all panes at once: up to
    the first that fires, and again from there."""

    def __init__(self, trigger: DeltaTrigger[Any]) -> None:
        self.trigger = trigger
        self._deltas = PairMap(trigger._delta)

    @property
    def reason(self) -> str | None:
        """Why the distance has to be computed by calls. None: it has not."""
        return self._deltas.reason

    def segments(
        self, values: RowColumns, panes: RunPanes, lasts: list[Any]
    ) -> tuple[Segments, list[Any]] | None:
        """The segments of panes in which the element of ``lasts`` was the last to fire, None if there
        was none, and those that are now. None if the trigger has to be called."""
        if values.shape == VALUE and values.batch.column(0).null_count:
            return None  # an element of None would be no element
        former = [last for last in lasts if last is not None]
        both = after(former, values)
        if both is None:
            return None
        ends = np.cumsum(panes.sizes)
        next_ = ends - panes.sizes
        places = len(former) + panes.order
        began = np.array([last is not None for last in lasts])
        last_place = places[next_]
        last_place[began] = np.arange(len(former))
        next_[~began] += 1
        fires = self._fires(both, places, last_place, next_, ends)
        if fires is None:
            return None
        segments = Segments.at(panes, fires)
        changed = np.flatnonzero(last_place >= len(former))
        now = list(lasts)
        for pane, element in zip(changed.tolist(), both.take(last_place[changed]).rows()):
            now[pane] = element
        return segments, now

    def _fires(
        self,
        both: RowColumns,
        places: Positions,
        lastPlace: Positions,
        nextOnes: Positions,
        ends: Positions,
    ) -> NDArray[np.bool_] | None:
        """Whether each of ``places``, pane by pane, fires. Changes ``lastPlace``, for each pane the
        place of the element that fired last, and ``nextOnes``, up to ``ends``. None if the trigger has
        to be called."""
        fires = np.zeros(len(places), dtype=np.bool_)
        active = np.flatnonzero(nextOnes < ends)
        most, rounds, passed = _LOOKED_AT_ONCE, 0, 0
        while len(active):
            counts = np.minimum(ends[active] - nextOnes[active], most)
            looked = ranges(nextOnes[active], counts)
            of_active = np.repeat(np.arange(len(active)), counts)
            above = self._above(both, lastPlace[active][of_active], places[looked])
            if above is None:
                return None
            first = first_positions(of_active[above], len(active))
            found = first >= 0
            at = looked[above][first[found]]
            fires[at] = True
            lastPlace[active[found]] = places[at]
            before = int(nextOnes[active].sum())
            nextOnes[active] += counts
            nextOnes[active[found]] = at + 1
            rounds, passed = rounds + 1, passed + int(nextOnes[active].sum()) - before
            if rounds > _ROUNDS and passed < rounds * _ELEMENTS_A_ROUND:
                return None
            if not found.any():
                most *= 2
            active = active[nextOnes[active] < ends[active]]
        return fires

    def _above(
        self, both: RowColumns, lasts: Positions, elements: Positions
    ) -> NDArray[np.bool_] | None:
        """Whether the distances are above the threshold; None if they have to be computed by
        calls."""
        deltas = self._deltas.results(both, lasts, both, elements)
        threshold = self.trigger._threshold
        numbers = None if deltas is None else comparable(deltas, threshold)
        return None if numbers is None else numbers > threshold


def comparable(deltas: RowColumns, threshold: float) -> NDArray[Any] | None:
    """Numbers that NumPy compares with ``threshold`` as Python does. None if it may not."""
    column = deltas.arrow(0)
    if deltas.shape.kind is not None or column.null_count:
        return None
    numbers: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    if pa.types.is_integer(column.type):
        exact = numbers.min() >= -_EXACT_IN_FLOATS and numbers.max() <= _EXACT_IN_FLOATS
    else:
        exact = pa.types.is_float64(column.type)
    return numbers if exact and abs(threshold) <= _EXACT_IN_FLOATS else None
