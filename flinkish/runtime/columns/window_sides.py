"""``WindowSides``: the elements of both streams of a join in a window of columns, by key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.functions.tagged import Sides
from flinkish.runtime.columns.element_runs import (
    arrivals,
    by_tag,
    elements_of,
    key_column,
    of_one_kind,
)
from flinkish.runtime.records.rows import (
    RowColumns,
    bounds_of,
    by_code,
    concatenated,
    grouped,
    python_values,
)

PAIRS_AT_ONCE = 1 << 16

Positions = NDArray[np.intp]


@dataclass(frozen=True)
class Side:
    """The elements of one stream, grouped by key, each group in its order. Key number ``k`` has the
    elements from ``bounds[k]`` to before ``bounds[k + 1]``. ``elements`` is None if there are
    none."""

    elements: RowColumns | None
    bounds: Positions

    @classmethod
    def of(cls, runs: Sequence[pa.RecordBatch], codes: Positions, keys: int) -> Self:
        """The elements of ``runs``, whose keys have the numbers ``codes``, all below ``keys``."""
        bounds = bounds_of(np.bincount(codes, minlength=keys))
        if not runs:
            return cls(None, bounds)
        tagged = elements_of(concatenated(runs))
        return cls(tagged.shaped(tagged.shape.parts[1]).take(by_code(codes, keys)), bounds)

    def __len__(self) -> int:
        return int(self.bounds[-1])

    @property
    def counts(self) -> Positions:
        """The number of elements of each key."""
        return np.diff(self.bounds)

    def parts(self, bounds: Sequence[int]) -> Iterator[list[Any]]:
        """The objects between one bound and the next."""
        if self.elements is None:
            return ([] for _ in bounds[1:])
        return self.elements.parts(bounds)


@dataclass(frozen=True)
class WindowSides:
    """The distinct ``keys`` of a window in the order in which they came first, and the elements of
    both streams."""

    keys: pa.Array
    one: Side
    two: Side

    @classmethod
    def of(cls, runs: Sequence[pa.RecordBatch]) -> Self | None:
        """The contents of runs of tagged elements; None if the elements of one side are of several
        kinds, or if Arrow cannot compare the keys."""
        sides = by_tag(runs)
        ordered = [*sides.get(1, ()), *sides.get(2, ())]
        keys = _as_one([run.column(key_column(run)) for run in ordered])
        if keys is None or not all(map(of_one_kind, sides.values())):
            return None
        codes, distinct = grouped(keys)
        numbers = np.concatenate([arrivals(sides[tag]) for tag in sorted(sides)])
        first = np.full(len(distinct), np.iinfo(np.int64).max)
        np.minimum.at(first, codes, numbers)
        order = np.argsort(first, kind="stable")
        ranks = np.empty_like(order)
        ranks[order] = np.arange(len(order))
        codes = ranks[codes]
        ones = sum(run.num_rows for run in sides.get(1, ()))
        return cls(
            distinct.take(pa.array(order)),
            Side.of(sides.get(1, ()), codes[:ones], len(order)),
            Side.of(sides.get(2, ()), codes[ones:], len(order)),
        )

    def listed(self) -> Iterator[tuple[Any, Sides]]:
        """The keys with the objects of both sides."""
        parts = (side.parts(side.bounds.tolist()) for side in (self.one, self.two))
        return zip(python_values(self.keys), map(Sides, *parts))

    def pairs(self) -> Iterator[SidePairs]:
        """All pairs of elements with the same key, in the order of the keys, then of the first
        stream's elements, then of the second's; at most ``PAIRS_AT_ONCE`` at a time, or one
        element's pairs."""
        if self.one.elements is None or self.two.elements is None:
            return
        keys = np.repeat(np.arange(len(self.keys)), self.one.counts)
        reached = np.cumsum(self.two.counts[keys])
        start = 0
        while start < len(keys):
            before = int(reached[start - 1]) if start else 0
            last = int(np.searchsorted(reached, before + PAIRS_AT_ONCE, "right"))
            end = max(last, start + 1)
            if int(reached[end - 1]) > before:
                yield SidePairs(self, start, keys[start:end])
            start = end


@dataclass(frozen=True)
class SidePairs:
    """The pairs of some consecutive elements of the first stream, from ``start`` on; ``codes``: the
    numbers of their keys."""

    sides: WindowSides
    start: int
    codes: Positions

    def columns(self) -> tuple[RowColumns, Positions, RowColumns, Positions]:
        """The elements of each stream, each with the positions of the elements of the pairs."""
        one, two = self.sides.one.elements, self.sides.two.elements
        assert one is not None
        assert two is not None
        counts = self.sides.two.counts[self.codes]
        firsts = np.repeat(np.arange(self.start, self.start + len(self.codes)), counts)
        within = np.arange(len(firsts)) - np.repeat(np.cumsum(counts) - counts, counts)
        return one, firsts, two, np.repeat(self.sides.two.bounds[self.codes], counts) + within

    def listed(self) -> Iterator[tuple[Any, Sides]]:
        """The keys with the objects of both sides that form these pairs."""
        changes = np.flatnonzero(np.diff(self.codes)) + 1
        own = np.concatenate([[0], changes, [len(self.codes)]]) + self.start
        codes = self.codes[np.concatenate([[0], changes])]
        keys = python_values(self.sides.keys.take(pa.array(codes)))
        ones = self.sides.one.parts(own.tolist())
        bounds = self.sides.two.bounds
        for key, code, one in zip(keys, codes.tolist(), ones):
            (two,) = self.sides.two.parts(bounds[code : code + 2].tolist())
            yield key, Sides(one, two)


def _as_one(keys: Sequence[pa.Array]) -> pa.Array | None:
    """All ``keys`` in one column; None if Arrow may distinguish keys that are equal in Python."""
    kinds = {column.type for column in keys}
    if len(kinds) > 1:
        if not all(map(pa.types.is_integer, kinds)) or pa.uint64() in kinds:
            return None
        keys = [column.cast(pa.int64()) for column in keys]
    return pa.concat_arrays(keys)
