"""Checks folds: compares the accumulators of columns with the function's own, for some groups of a
run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from flinkish.api.errors import UnfitElementError
from flinkish.api.functions.adapt import reduce_call
from flinkish.runtime.columns.tracing.checks import Positions, chosen, difference_of, elements_at
from flinkish.runtime.records.rows import RowColumns

if TYPE_CHECKING:
    from flinkish.runtime.columns.tracing.column_fold import ColumnFold

_MOST_MEMBERS = 16
"""Of a group with more elements, this many of the first, and special ones, are folded again for the
check."""

_LOOKED_AT = 1 << 12


def folds_differ(
    fold: ColumnFold,
    folded: pa.RecordBatch,
    values: Sequence[Any],
    groups: Positions,
    count: int,
    start: pa.RecordBatch | None = None,
    started: Any = None,
) -> str | None:
    """The first difference in the accumulators ``folded`` of a run; None if there is none. Of large
    groups a few elements are folded again, over columns and by the function."""
    assert isinstance(values, RowColumns)
    plan = fold.plan(values)
    if plan is None:
        return None
    read = plan.columns
    positions, whole = _members(values, groups, count, fold, read)
    numbers, of = np.unique(groups[positions], return_inverse=True)
    begun: list[Any] = [None] * len(numbers)
    begins = np.zeros(len(numbers), dtype=np.bool_)
    before = None
    if start is not None:
        before = start.take(pa.array(numbers))
        begins = np.ones(len(numbers), np.bool_) if started is None else started[numbers]
        begun = fold.accumulators(before)
    if whole:
        after: pa.RecordBatch | None = folded.take(pa.array(numbers))
    else:
        part = values.take(positions)
        begins_of = None if before is None else begins
        after = fold.fold(part, of, len(numbers), before, begins_of, checks=False)
    if after is None:
        return None
    elements = elements_at(values, positions, read)
    made = fold.accumulators(after)
    function = fold._function
    reduce = reduce_call(function) if fold._reduces else None

    def called(number: int) -> Any:
        own = [elements[place] for place in np.flatnonzero(of == number).tolist()]
        if begins[number]:
            accumulator = begun[number]
        elif reduce is None:
            accumulator = function.createAccumulator()
        else:
            accumulator, *own = own
        for element in own:
            if reduce is None:
                accumulator = function.add(element, accumulator)
            else:
                accumulator = reduce(accumulator, element)
            if accumulator is None:
                raise UnfitElementError("the accumulator is None")
        return accumulator

    def shown_elements(number: int) -> Any:
        return [elements[place] for place in np.flatnonzero(of == number).tolist()]

    return difference_of(numbers, shown_elements, made.__getitem__, called)


def _members(
    values: RowColumns, groups: Positions, count: int, fold: ColumnFold, read: set[int] | None
) -> tuple[Positions, bool]:
    """The ascending positions of elements of some groups, among them the smallest if the run is
    short, and whether they are all elements of these groups."""
    special = chosen(values, max(1, fold.runs.checks // 2), fold.runs.seed, read)
    rows = len(values)
    begin, end = 0, rows
    if rows > _LOOKED_AT:
        begin = max(0, min(int(special[-1]) - _LOOKED_AT // 2, rows - _LOOKED_AT))
        end = begin + _LOOKED_AT
    near = groups[begin:end]
    wanted: list[int] = groups[special].tolist()
    whole = end - begin == rows
    if whole:
        wanted.append(int(np.bincount(near, minlength=count).argmin()))
    found: list[Positions] = [special]
    for group in dict.fromkeys(wanted):
        places = begin + np.flatnonzero(near == group)
        if len(places) > _MOST_MEMBERS:
            whole = False
            places = places[:_MOST_MEMBERS]
        found.append(places)
    return np.unique(np.concatenate(found)), whole
