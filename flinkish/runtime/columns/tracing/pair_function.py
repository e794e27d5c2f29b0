"""``PairFunction`` and ``PairMap``: trace a function of two elements, and run it over columns of
pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.runtime.columns.tracing.checks import (
    Collected,
    Positions,
    chosen,
    difference_of,
    drawn,
    elements_at,
)
from flinkish.runtime.columns.tracing.column_runs import counting
from flinkish.runtime.columns.tracing.stand_ins import PairContextStandIn
from flinkish.runtime.columns.tracing.symbolic_elements import (
    element_and_extra,
    following_getters,
    symbolic_element,
    unknown_symbols,
)
from flinkish.runtime.columns.tracing.trace import Trace, Traced
from flinkish.runtime.columns.tracing.traced_function import TracedFunction
from flinkish.runtime.columns.tracing.traced_runs import checked_run, results_of
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import tuple_shape


def _pairs_differ(
    self: PairFunction,
    results: RowColumns,
    lefts: RowColumns,
    rights: RowColumns,
    leftTimes: NDArray[np.int64],
    rightTimes: NDArray[np.int64],
) -> str | None:
    """The first difference in the results for pairs; None if there is none."""
    checks, seed = self.runs.checks, self.runs.seed
    sides = chosen(lefts, checks // 2 + 1, seed), chosen(rights, checks // 2, seed + 1)
    positions = np.union1d(*sides)
    left, right = elements_at(lefts, positions), elements_at(rights, positions)

    def called(number: int) -> list[Any]:
        out = Collected()
        place = positions[number]
        context = CalledPair(int(leftTimes[place]), int(rightTimes[place]))
        out.collectReturned(self._function(left[number], right[number], context, out))
        return out.results

    made = results.take(positions).rows()
    return difference_of(positions, lambda n: (left[n], right[n]), lambda n: [made[n]], called)


def _mapped_pairs_differ(
    self: PairMap,
    results: RowColumns,
    ones: RowColumns,
    firsts: Positions,
    twos: RowColumns,
    seconds: Positions,
) -> str | None:
    """The first difference in the results for pairs; None if there is none."""
    if not len(firsts):
        return None
    checks, seed = self.runs.checks, self.runs.seed
    # Pairs of special elements of either side, and the first and the last pair
    odd = [
        np.flatnonzero(near == place)[:1] + begin
        for side, pairs in ((ones, firsts), (twos, seconds))
        for begin, near in [_some(pairs, seed)]
        for place in chosen(side, checks // 2 + 1, seed)
    ]
    some = np.array([0, len(firsts) - 1], dtype=np.intp)
    positions = np.unique(np.concatenate([some, *odd])).astype(np.intp)
    left = elements_at(ones, firsts[positions])
    right = elements_at(twos, seconds[positions])
    return difference_of(
        positions,
        lambda n: (left[n], right[n]),
        results.take(positions).rows().__getitem__,
        lambda n: self._function(left[n], right[n]),
    )


def _some(pairs: Positions, seed: int) -> tuple[int, Positions]:
    begin = drawn(seed, max(1, len(pairs) - _LOOKED_AT))
    return begin, pairs[begin : begin + _LOOKED_AT]


_LOOKED_AT = 1 << 12


class PairFunction(TracedFunction[Traced]):
    """A function of a left and a right element, a context and a collector, which emits one result,
    as kernels over columns.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._function = function

    @counting(_pairs_differ)
    def results(
        self,
        lefts: RowColumns,
        rights: RowColumns,
        leftTimes: NDArray[np.int64],
        rightTimes: NDArray[np.int64],
    ) -> RowColumns | None:
        """The results for pairs, as columns."""
        times = map(pa.array, (leftTimes, rightTimes))
        columns = [*lefts.batch.columns, *rights.batch.columns, *times]
        batch = pa.RecordBatch.from_arrays(columns, names=list(map(str, range(len(columns)))))
        pairs = RowColumns(batch, tuple_shape([lefts.shape, rights.shape]))
        traced = self._traces.of(pairs)
        run = None if traced is None else checked_run(traced, batch)
        return None if traced is None or run is None else results_of(traced, run, batch)

    def _trace(self, values: RowColumns) -> Traced:
        trace = Trace()
        pair, times = element_and_extra(trace, values)
        return trace.follow_collected(self._function, *pair, PairContextStandIn(trace, *times))

    def _explore(self) -> None:
        trace = Trace(exploring=True)
        left, right, *times = unknown_symbols(trace, 4)
        trace.follow_collected(self._function, left, right, PairContextStandIn(trace, *times))


class PairMap(TracedFunction[Traced]):
    """A function of a first and a second element, which returns one result, as kernels over
    columns.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._function = function

    @counting(_mapped_pairs_differ)
    def results(
        self,
        ones: RowColumns,
        firsts: NDArray[np.intp],
        twos: RowColumns,
        seconds: NDArray[np.intp],
    ) -> RowColumns | None:
        """The results, as columns, for the pairs of the elements of ``ones`` at ``firsts`` with
        those of ``twos`` at ``seconds``."""
        pairs = RowColumns(
            PairColumns(ones, pa.array(firsts), twos, pa.array(seconds)),
            tuple_shape([ones.shape, twos.shape]),
        )
        traced = self._traces.of(pairs)
        run = None if traced is None else checked_run(traced, pairs.columns)
        if traced is None or run is None:
            return None
        return results_of(traced, run, pairs.columns)

    def _trace(self, values: RowColumns) -> Traced:
        trace = following_getters()
        return trace.follow(self._function, *symbolic_element(trace, values))

    def _explore(self) -> None:
        trace = following_getters(exploring=True)
        trace.follow(self._function, *unknown_symbols(trace, 2))


class PairColumns:
    """The columns of pairs: those of the first elements, then those of the second. A column is
    gathered when it is first read, as a function may read few of many columns."""

    def __init__(
        self, ones: RowColumns, firsts: pa.Array, twos: RowColumns, seconds: pa.Array
    ) -> None:
        fields = [*ones.schema, *twos.schema]
        kinds = [(str(number), field.type) for number, field in enumerate(fields)]
        self.schema = pa.schema(kinds)
        self.num_rows = len(firsts)
        self.num_columns = len(kinds)
        self._width = len(ones.schema)
        self._sources = (ones, firsts), (twos, seconds)
        self._taken: dict[int, pa.Array] = {}

    def column(self, i: int) -> pa.Array:
        """A column, with a value for each pair."""
        if i not in self._taken:
            second = i >= self._width
            rows, positions = self._sources[second]
            self._taken[i] = rows.arrow(i - self._width * second).take(positions)
        return self._taken[i]

    def take(self, indices: pa.Array) -> pa.RecordBatch:
        """The pairs at ``indices``."""
        return self._whole().take(indices)

    def filter(self, mask: pa.Array) -> pa.RecordBatch:
        """The pairs where ``mask`` is true."""
        return self._whole().filter(mask)

    def slice(self, offset: int, length: int) -> pa.RecordBatch:
        """``length`` pairs from ``offset`` on."""
        return self._whole().slice(offset, length)

    def _whole(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(
            list(map(self.column, range(self.num_columns))), schema=self.schema
        )


class CalledPair:
    """The context of a function of pairs that is called for a check."""

    def __init__(self, left: int, right: int) -> None:
        self._left = left
        self._right = right

    def getLeftTimestamp(self) -> int:
        return self._left

    def getRightTimestamp(self) -> int:
        return self._right

    def getTimestamp(self) -> int:
        return max(self._left, self._right)
