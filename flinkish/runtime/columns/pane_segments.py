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
from numpy.typing import NDArray

from flinkish.api.windowing.windows import TimeWindow, Window
from flinkish.runtime.columns.panes import Positions
from flinkish.runtime.columns.tracing.folding import first_positions
from flinkish.runtime.records.records import Hashes, Records, Timestamps
from flinkish.runtime.records.rows import bounds_of, by_code, grouped, python_values
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

    @classmethod
    def at(cls, panes: RunPanes, fires: NDArray[np.bool_]) -> Segments:
        """The segments of panes that fire where ``fires`` is true, of the elements in the order of
        ``RunPanes.order``. What is left counts the elements of the run only."""
        sizes = panes.sizes
        ends = np.cumsum(sizes)
        fired = np.cumsum(fires)
        before = np.repeat(fired[ends - sizes] - fires[ends - sizes], sizes)
        within = fired - fires - before
        lasts = within[ends - 1]
        counts = lasts + 1
        rounds = np.empty_like(panes.groups)
        rounds[panes.order] = within
        left = np.bincount(panes.groups[panes.order][within == np.repeat(lasts, sizes)])
        return cls(
            (np.cumsum(counts) - counts)[panes.groups] + rounds,
            rounds,
            counts,
            np.sort(panes.order[fires]),
            np.where(fires[ends - 1], 0, left),
        )

    @cached_property
    def bounds(self) -> list[int]:
        """Where each segment begins in the order of ``RunPanes.order``, and where the last ends."""
        bounds: list[int] = bounds_of(np.bincount(self.groups)).tolist()
        return bounds

    @cached_property
    def firsts(self) -> Positions:
        """The first segment of each pane."""
        return np.cumsum(self.counts) - self.counts

    @cached_property
    def lasts(self) -> Positions:
        """The last segment of each pane."""
        return self.firsts + self.counts - 1


@dataclass(frozen=True)
class Spans:
    """The elements that the firings of a run see where an evictor keeps the last ones.

    Pane by pane, those of before the run and then those of the run, the elements form a sequence,
    and each firing sees a span of it.
    """

    sequence: Positions
    """The number of each element: first those of before the run, then those of the run."""
    starts: Positions
    stops: Positions
    """The bounds of the spans, in the order of ``Segments.firing``."""
    stays: Positions
    ends: Positions
    """The bounds of what stays of each pane."""

    @classmethod
    def of(
        cls,
        panes: RunPanes,
        segments: Segments,
        held: Positions,
        maxCount: int,
        evictsAfter: bool,
        purges: bool,
    ) -> Spans:
        """The spans of panes that have ``held`` so many elements before the run. After a firing the
        last ``maxCount`` stay, and if it ``purges`` none. They are evicted before the function sees
        them, unless ``evictsAfter``."""
        sizes = panes.sizes
        former, ends = int(held.sum()), np.cumsum(held + sizes)
        begins = ends - held - sizes
        within = np.arange(len(panes.groups)) + np.repeat(np.cumsum(held), sizes)
        sequence = np.empty(int(ends[-1]), dtype=np.intp)
        sequence[within] = former + panes.order
        numbers = np.arange(former)
        sequence[numbers + np.repeat(np.cumsum(sizes) - sizes, held)] = numbers
        places = np.empty_like(within)
        places[panes.order] = within
        by_pane = np.argsort(segments.groups[segments.firing])
        firing = segments.firing[by_pane]
        fired, stops = panes.groups[firing], places[firing] + 1
        last = np.maximum(stops - maxCount, begins[fired])
        left = stops if purges else last
        first = np.diff(fired, prepend=-1) != 0
        kept = np.where(first, begins[fired], np.roll(left, 1))
        starts = np.empty_like(stops)
        starts[by_pane] = kept if evictsAfter else np.maximum(kept, last)
        stays = begins.copy()
        final = np.roll(first, -1)
        stays[fired[final]] = left[final]
        return cls(sequence, starts, places[segments.firing] + 1, stays, ends)

    @property
    def staying(self) -> tuple[Positions, list[int]]:
        """The places in the sequence of what stays, and the bounds of each pane's part of them."""
        counts = self.ends - self.stays
        bounds: list[int] = bounds_of(counts).tolist()
        return ranges(self.stays, counts), bounds


def ranges(starts: Positions, counts: Positions) -> Positions:
    """The numbers of consecutive ranges, each from its start on."""
    return np.arange(int(counts.sum())) + np.repeat(starts - np.cumsum(counts) + counts, counts)
