"""The panes of a run, and where in them a ``CountTrigger`` fires, as arithmetic on columns.

As in ``WindowOperator``, a *pane* is one key in one window. The elements of a pane up to each one
that fires form a *segment*, and those after the last one that fires another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from flinkish.api.windowing.windows import TimeWindow, Window
from flinkish.runtime.columns.panes import Positions
from flinkish.runtime.columns.tracing.folding import first_positions
from flinkish.runtime.records.records import Hashes, Records, Timestamps
from flinkish.runtime.records.rows import by_code, grouped, python_values
from flinkish.runtime.state.backend import StateTable


@dataclass(frozen=True)
class RunPanes:
    """The panes of a run, in the order of their first elements."""

    groups: Positions
    """The pane of each element."""
    timestamps: Timestamps
    """The timestamp of the first element of each pane."""
    keyColumn: pa.Array
    """The key of each pane."""
    windows: Sequence[Window]
    """The window of each pane."""
    hashes: Hashes | None
    """The hash of each pane's key, if known."""

    @classmethod
    def of(
        cls,
        keys: pa.DictionaryArray,
        records: Records,
        numbers: Timestamps,
        span: int,
        windowOf: Callable[[int], Window],
    ) -> RunPanes | None:
        """The panes of ``records`` with those keys, in windows with those ``numbers``, all below
        ``span``; ``windowOf`` returns the window of a number. None if 64 bits cannot number the
        panes."""
        if len(keys.dictionary) * span > np.iinfo(np.int64).max:
            return None
        codes = keys.indices.to_numpy().astype(np.int64)
        groups, distinct = grouped(pa.array(codes if span == 1 else codes * span + numbers))
        of_keys, of_windows = np.divmod(distinct.to_numpy(), span)
        windows = {number: windowOf(number) for number in np.unique(of_windows).tolist()}
        firsts = first_positions(groups, len(distinct))
        return cls(
            groups,
            records.timestamps[firsts],
            keys.dictionary.take(pa.array(of_keys)),
            list(map(windows.__getitem__, of_windows.tolist())),
            None if records.hashes is None else records.hashes[firsts],
        )

    def __len__(self) -> int:
        return len(self.windows)

    @cached_property
    def keys(self) -> list[Any]:
        """The key of each pane as a Python object."""
        return python_values(self.keyColumn)

    @cached_property
    def bounds(self) -> Timestamps:
        """The starts and the ends of the windows; zeros for those without."""
        bounds = [w[:2] if isinstance(w, TimeWindow) else (0, 0) for w in self.windows]
        return np.array(bounds, dtype=np.int64).T

    @cached_property
    def order(self) -> Positions:
        """The positions of the elements, pane by pane."""
        return by_code(self.groups, len(self))

    @cached_property
    def sizes(self) -> Positions:
        """The number of elements of each pane."""
        return np.bincount(self.groups, minlength=len(self))

    def stored(self, table: StateTable) -> list[Any]:
        """The entry of each pane; None where there is none."""
        if self.hashes is not None:
            table.find(self.keys, self.hashes, named=True)
        return list(map(table.get, self.keys, self.windows))

    def store(self, table: StateTable, entries: Iterable[Any]) -> None:
        """Store an entry for each pane; None: remove it."""
        for key, window, entry in zip(self.keys, self.windows, entries):
            if entry is None:
                table.remove(key, window)
            else:
                table.put(key, window, entry)


@dataclass(frozen=True)
class Segments:
    """The segments of a run, pane by pane, each pane's in the order of their elements."""

    groups: Positions
    """The segment of each element."""
    rounds: Positions
    """The number of each element's segment within its pane."""
    counts: Positions
    """The number of segments of each pane."""
    firing: Positions
    """The positions of the elements that fire, ascending; each is the last one of its segment."""
    left: Positions
    """For each pane the number of elements since the last one that fired, with those of earlier
    runs."""

    @classmethod
    def whole(cls, panes: RunPanes) -> Segments:
        """One segment for each pane, as no element fires."""
        none = np.zeros(0, dtype=np.intp)
        ones = np.ones(len(panes), dtype=np.intp)
        return cls(panes.groups, np.zeros_like(panes.groups), ones, none, none)

    @classmethod
    def every(cls, maxCount: int, panes: RunPanes, counts: Positions) -> Segments:
        """The segments of panes that fire at every ``maxCount`` elements and have had ``counts``
        since they last fired."""
        before = np.minimum(counts, maxCount - 1)
        within = np.empty_like(panes.groups)
        begins = np.cumsum(panes.sizes) - panes.sizes
        within[panes.order] = np.arange(len(panes.groups)) + np.repeat(before - begins, panes.sizes)
        rounds, places = np.divmod(within, maxCount)
        segments = (before + panes.sizes - 1) // maxCount + 1
        return cls(
            (np.cumsum(segments) - segments)[panes.groups] + rounds,
            rounds,
            segments,
            np.flatnonzero(places == maxCount - 1),
            (before + panes.sizes) % maxCount,
        )

    @cached_property
    def firsts(self) -> Positions:
        """The first segment of each pane."""
        return np.cumsum(self.counts) - self.counts

    @cached_property
    def lasts(self) -> Positions:
        """The last segment of each pane."""
        return self.firsts + self.counts - 1
