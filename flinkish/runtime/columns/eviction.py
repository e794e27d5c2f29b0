"""``Eviction``: what an evictor leaves of a window of columns, for all its keys at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.windowing.evictors import (
    CountEvictor,
    DeltaEvictor,
    Evictor,
    TimeEvictor,
    TimestampedValue,
)
from flinkish.runtime.columns.delta_firings import comparable
from flinkish.runtime.columns.element_runs import (
    ElementsByKey,
    of_one_kind,
)
from flinkish.runtime.columns.panes import folded_run
from flinkish.runtime.columns.tracing.column_fold import ColumnFold
from flinkish.runtime.columns.tracing.column_function import PairMap, may_be_traced
from flinkish.runtime.records.rows import RowColumns, concatenated, python_values
from flinkish.runtime.windowing.window_functions import Evicted

Mask = NDArray[np.bool_]

SEES_ELEMENTS = "has an evictor, which sees elements"
"""Why functions behind an evictor of the user are called."""


class Eviction:
    """Evicts elements of windows that fire once, as ``EvictingFunctionRunner`` does, but those of all
    keys at once. ``fold``: the aggregation of the elements that stay, if there is one."""

    def __init__(
        self, evictor: Evictor[Any, Any], fold: ColumnFold | None, tracesFunctions: bool
    ) -> None:
        self._evictor = evictor
        self.fold = fold
        self._delta: PairMap | None = None
        # After the function it evicts for nothing, but may raise
        if type(evictor) is DeltaEvictor and not evictor._after and tracesFunctions:
            function = evictor._delta
            self._delta = PairMap(function) if may_be_traced(function) else None

    @property
    def reason(self) -> str | None:
        """Why the evictor is called for each key and window. None: it is not."""
        evictor = self._evictor
        if self._delta is not None:
            why = self._delta.reason
            return why and f"has an evictor that {why}"
        return None if type(evictor) in (CountEvictor, TimeEvictor) else SEES_ELEMENTS

    def folded(self, runs: Sequence[pa.RecordBatch]) -> pa.RecordBatch | None:
        """The elements that stay as one folded run; None if the evictor or the aggregation has to be
        called."""
        if self.fold is None or not of_one_kind(runs):
            return None
        by_key = ElementsByKey(concatenated(runs))
        stay = self._stay(by_key)
        # A key without elements is called for too
        if stay is None or not np.logical_or.reduceat(stay, by_key.bounds[:-1]).all():
            return None
        kept = np.empty_like(stay)
        kept[by_key.order] = stay
        folded = self.fold.fold(by_key.elements.kept(kept), by_key.codes[kept], len(by_key.keys))
        return None if folded is None else folded_run(by_key.keys, folded).batch

    def listed(self, runs: Sequence[pa.RecordBatch]) -> Iterator[tuple[Any, list[Any]]] | None:
        """The keys with the elements that stay, or, if the evictor has to be called, with all elements
        and their timestamps. None if the window has to be kept by key."""
        if not of_one_kind(runs):
            return None
        by_key = ElementsByKey(concatenated(runs))
        stay = self._stay(by_key)
        keys = python_values(by_key.keys)
        if stay is None:
            times = iter(by_key.timestamps[by_key.order].tolist())
            return zip(keys, ([*map(TimestampedValue, part, times)] for part in by_key.parts()))
        return zip(keys, map(Evicted, by_key.parts(stay)))

    def _stay(self, by_key: ElementsByKey) -> Mask | None:
        """Which elements at the positions of ``by_key.order`` the window function sees. None if the
        evictor has to be called."""
        evictor = self._evictor
        if type(evictor) is CountEvictor:
            left = by_key.each(by_key.bounds[1:]) - np.arange(len(by_key.order))
            mask: Mask = left <= evictor._max_count
        elif type(evictor) is TimeEvictor:
            times = by_key.timestamps[by_key.order]
            latest = np.maximum.reduceat(times, by_key.bounds[:-1])
            # Java's difference wraps around, and so does NumPy's
            mask = times > by_key.each(latest - np.int64(evictor.getWindowSize()))
        elif type(evictor) is DeltaEvictor and self._delta is not None:
            lasts = by_key.each(by_key.order[by_key.bounds[1:] - 1])
            deltas = self._delta.results(by_key.elements, by_key.order, by_key.elements, lasts)
            return None if deltas is None else _below(deltas, evictor._threshold)
        else:
            return None
        return np.ones_like(mask) if evictor._after else mask


def _below(deltas: RowColumns, threshold: float) -> Mask | None:
    """Which ``deltas`` are not at or above ``threshold``; None if NumPy may compare them otherwise
    than Python."""
    numbers = comparable(deltas, threshold)
    return None if numbers is None else ~(numbers >= threshold)
