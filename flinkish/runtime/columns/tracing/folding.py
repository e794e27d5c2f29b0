"""The array operations of ``ColumnFold``: sums, extremes, first and last values by group."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from flinkish.runtime.columns.tracing.expression_run import Run
from flinkish.runtime.columns.tracing.expressions import Column, Constant, Expression, Kind
from flinkish.runtime.columns.tracing.reduction_patterns import Reduction, ReductionPattern
from flinkish.runtime.columns.tracing.values import (
    LEAST,
    MOST,
    Inexact,
    Mask,
    Values,
    of_arrow,
    plain,
    to_arrow,
)
from flinkish.runtime.records.partly_read import Columns

Groups = NDArray[np.intp]
Part: TypeAlias = tuple[Run, Groups, Groups | None]
"""Some elements as a run, with their groups, and their positions in the whole run; None: all."""

_EXACT_SUM = 2**53
"""Sums of integers up to this are exact in floats."""

ARROW_TYPES: dict[Kind, pa.DataType] = {
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "str": pa.string(),
}
"""The types of folded columns, by kind."""


class Folding:
    """A run of elements that is folded by group, into the fields of an accumulator for each.

    A group begins with its row of ``start`` where ``started`` is true; None: everywhere. Other groups
    begin with a new accumulator, or with their first value.
    """

    def __init__(
        self,
        run: Run,
        batch: Columns,
        groups: Groups,
        count: int,
        reduction: Reduction,
        start: pa.RecordBatch | None = None,
        started: Mask | None = None,
    ) -> None:
        self._run = run
        self._batch = batch
        self._groups = groups
        self._count = count
        self._patterns = reduction.patterns
        self._kinds = reduction.kinds
        self._new = reduction.start
        self._start = start
        self._started = None if started is None or bool(started.all()) else started
        self._parts: dict[int, Part] = {}
        self._places: dict[tuple[Any, ...], Groups] = {}

    def fields(self) -> list[Any]:
        """All folded columns. Raises Inexact if Python's accumulators could differ."""
        return list(map(self._field, range(len(self._patterns))))

    @cached_property
    def first(self) -> Groups:
        """The position of the first element of each group."""
        return first_positions(self._groups, self._count)

    def _field(self, number: int) -> Any:
        pattern = self._patterns[number]
        if pattern.way == "kept":
            return self.initial_column(number)
        assert pattern.value is not None
        if pattern.way == "sum":
            return self._sums(pattern.value, number)
        part = run, groups, _ = self._part(pattern, number)
        if pattern.way == "last":
            return self._at(number, last_positions(groups, self._count), part)
        if pattern.way == "ranked":
            return self._at(number, *self._ranked(pattern))
        for other in self._patterns:
            if other.way == "ranked" and other.ranking[0][0] == number:
                return self._at(number, *self._ranked(other))
        initial = self._initial(number)
        if not run.count:
            return initial
        values = run.values(pattern.value).array(run.count)
        return extremes(initial, values, groups, pattern.way == "highest")

    def _part(self, pattern: ReductionPattern, number: int) -> Part:
        """The elements that ``pattern`` adds to the field ``number``; -1: to no particular
        field."""
        only, value = pattern.only, pattern.value
        own = isinstance(value, Column) and value.number == number
        if only is None and own and pattern.way in ("lowest", "highest"):
            # An element that is the accumulator changes nothing
            return self._run, self._groups, None
        key = -1 if only is None else id(only)
        known = self._parts.get(key)
        if known is None:
            mask = self.added()
            if only is not None:
                chosen = self._run.mask(only)
                mask = chosen if mask is None else mask & chosen
            if mask is None:
                known = self._run, self._groups, None
            else:
                known = self._run.where(mask), self._groups[mask], np.flatnonzero(mask)
            self._parts[key] = known
        return known

    def added(self) -> Mask | None:
        """Return a mask of the elements that are added to an accumulator, rather than being the
        first one; None: all."""
        if self._new is not None or (self._start is not None and self._started is None):
            return None
        added = np.ones(len(self._groups), dtype=np.bool_)
        new = self.first if self._started is None else self.first[~self._started]
        added[new] = False
        return added

    def _initial(self, number: int) -> Any:
        """A field's values before any element is added: a NumPy array for numbers, else an Arrow
        array. Raises Inexact for numbers with nulls."""
        passed = self.initial_column(number)
        return of_arrow(passed).data if self._kinds[number] != "opaque" else passed

    def initial_column(self, number: int) -> pa.Array:
        """``_initial`` as an Arrow column, which may have nulls."""
        if self._start is not None and self._started is None:
            return self._start.column(number)
        kind = self._kinds[number]
        if self._new is None:
            column = plain(self._batch.column(number))
            new = normal(column.take(pa.array(self.first)), ARROW_TYPES.get(kind, column.type))
        else:
            new = to_arrow(Values(kind, self._new[number]).array(self._count))
        if self._start is None:
            return new
        assert self._started is not None
        both = pa.concat_arrays([new, self._start.column(number)])
        places = np.arange(self._count) + np.where(self._started, self._count, 0)
        return both.take(pa.array(places))

    def _sums(self, value: Expression, number: int) -> Any:
        pattern, kind = self._patterns[number], self._kinds[number]
        own = isinstance(value, Column) and value.number == number and pattern.only is None
        if own and self._new is None and self._start is None:
            # The first value of a group is added to nothing
            values = self._run.values(value)
            if kind == "int":
                return integer_sums(np.zeros(self._count, np.int64), values, self._groups)
            initial = values.data[self.first]
            if not _has_negative_zero(initial):
                return np.bincount(self._groups, values.data, self._count)
        initial = self._initial(number)
        run, groups, _ = self._part(pattern, number)
        if run.count == 0:
            return initial
        values = run.values(value)
        if kind == "int":
            return integer_sums(initial, values.integers(), groups)
        return float_sums(initial, Values("float", values.floats()).array(run.count), groups)

    def _at(self, number: int, places: Groups, part: Part) -> Any:
        """The values of the elements of ``part`` at ``places``; the initial value where a place is
        negative."""
        value = self._patterns[number].value
        assert value is not None
        run, _, positions = part
        missing = places < 0
        if run.count == 0:
            return self.initial_column(number)
        found = np.where(missing, 0, places)
        if isinstance(value, Column):
            column = plain(self._batch.column(value.number))
            taken = column.take(pa.array(found if positions is None else positions[found]))
        elif isinstance(value, Constant):
            taken = to_arrow(Values(value.kind, value.value).array(len(places)))
        else:
            taken = to_arrow(run.array(value)).take(pa.array(found))
        if not missing.any():
            return taken
        initial = self.initial_column(number)
        both = pa.concat_arrays([initial, normal(taken, initial.type)])
        return both.take(pa.array(np.arange(self._count) + np.where(missing, 0, self._count)))

    def _ranked(self, pattern: ReductionPattern) -> tuple[Groups, Part]:
        """The position of each group's best element by the ranking of ``pattern``, -1 if the initial
        value is the best; and the elements to which the positions refer."""
        fields = [(number, self._patterns[number].value, h) for number, h in pattern.ranking]
        whole = self._new is None and self._start is None and pattern.only is None
        if whole and all(isinstance(v, Column) and v.number == number for number, v, _ in fields):
            # A group has no initial value: its first element is compared like the others
            part: Part = self._run, self._groups, None
            begins = np.zeros(self._count, dtype=np.bool_)
        else:
            part = self._part(pattern, -1)
            begins = np.ones(self._count, dtype=np.bool_)
        key = (pattern.ranking, pattern.lastOfEqual)
        known = self._places.get(key)
        if known is not None:
            return known, part
        run, groups, _ = part
        best: Groups | None = None
        for number, value, highest in fields:
            assert value is not None
            values = run.array(value)
            first = self._initial(number) if begins.any() else values[:0]
            best = _ranked_by(begins, first, values, groups, best, highest)
        positions = last_positions if pattern.lastOfEqual else first_positions
        assert best is not None
        chosen = positions(groups[best], self._count)
        places = np.where(chosen < 0, -1, best[chosen] if len(best) else -1)
        if not pattern.lastOfEqual:
            places[begins] = -1
        self._places[key] = places
        return places, part


def arrow_type(kind: Kind, pattern: ReductionPattern, batch: Columns, number: int) -> pa.DataType:
    """The type of a folded column."""
    if kind in ARROW_TYPES:
        return ARROW_TYPES[kind]
    if isinstance(pattern.value, Column):
        number = pattern.value.number
    column: pa.DataType = plain(batch.column(number).slice(0, 0)).type
    return column


def normal(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column cast to ``kind``, the type of a folded column. Raises one of ``NOT_EXACT`` if a value
    does not fit."""
    if column.type == kind:
        return column
    column = plain(column)
    return column if column.type == kind else column.cast(kind)


def integer_sums(initial: NDArray[np.int64], values: Values, groups: Groups) -> NDArray[np.int64]:
    """The sums by group. Raises Inexact if one does not fit into 64 bits."""
    count = len(groups)
    if values.constant:
        low = high = values.data
    else:
        low, high = values.bounds()
    largest = max(-low, high) * count
    if values.constant:
        times = np.bincount(groups, minlength=len(initial))
        if largest > MOST:
            raise Inexact
        added = times * values.data
    else:
        if largest > _EXACT_SUM:
            values.tighten()
            low, high = values.bounds()
            largest = max(-low, high) * count
        if largest <= _EXACT_SUM:
            added = np.bincount(groups, values.data, len(initial)).astype(np.int64)
        elif largest <= MOST:
            added = np.zeros(len(initial), dtype=np.int64)
            np.add.at(added, groups, values.data)
        else:
            return _wide_sums(initial, values.data, groups)
    if len(initial) and max(-int(initial.min()), int(initial.max())) + largest > MOST:
        return _checked(initial.astype(object) + added.astype(object))
    return initial + added  # type: ignore[no-any-return]


def _wide_sums(initial: Any, values: Any, groups: Groups) -> NDArray[np.int64]:
    """The sums of integers that could overflow 64 bits, computed from the sums of their 32-bit
    halves."""
    high, low = np.zeros(len(initial), np.int64), np.zeros(len(initial), np.int64)
    np.add.at(high, groups, values >> 32)
    np.add.at(low, groups, values & 0xFFFFFFFF)
    return _checked(initial.astype(object) + high.astype(object) * 2**32 + low.astype(object))


def _checked(sums: Any) -> NDArray[np.int64]:
    if len(sums) and (min(sums) < LEAST or max(sums) > MOST):
        raise Inexact
    checked: NDArray[np.int64] = sums.astype(np.int64)
    return checked


def float_sums(initial: Any, values: Any, groups: Groups) -> Any:
    """The sums by group, each in the order of the elements. ``np.add.reduceat`` would sum pairwise,
    and ``np.bincount`` starts from 0.0, which loses an initial -0.0."""
    if _has_negative_zero(initial):
        sums = initial.astype(np.float64)
        with np.errstate(all="ignore"):
            np.add.at(sums, groups, values)
        return sums
    if not initial.any():
        return np.bincount(groups, values, len(initial))
    numbers = np.concatenate([np.arange(len(initial)), groups])
    return np.bincount(numbers, np.concatenate([initial, values]), len(initial))


def _has_negative_zero(values: Any) -> bool:
    return bool((np.signbit(values) & (values == 0)).any())


def first_positions(groups: Groups, count: int) -> Groups:
    """The first position of each group; -1 if it has none."""
    last = last_positions(groups[::-1], count)
    return np.where(last < 0, -1, len(groups) - 1 - last)


def last_positions(groups: Groups, count: int) -> Groups:
    """The last position of each group; -1 if it has none."""
    positions = np.full(count, -1, dtype=np.intp)
    length = len(groups)
    for start, end in _pieces(length, count):
        found = np.full(count, -1, dtype=np.intp)
        found[groups[length - end : length - start]] = np.arange(length - end, length - start)
        positions = np.where(positions < 0, found, positions)
        if bool((positions >= 0).all()):
            break
    return positions


def _pieces(length: int, count: int) -> Iterator[tuple[int, int]]:
    """Pieces of a run, each longer than the one before: if there are few groups, the first has them
    all."""
    start, size = 0, max(16 * count, 1024)
    while start < length:
        yield start, min(start + size, length)
        start, size = start + size, size * 8


def _ranked_by(
    begins: Mask, first: Any, values: Any, groups: Groups, best: Groups | None, highest: bool
) -> Groups:
    """The positions among ``best``, None: among all, whose value is the highest, or lowest, of their
    group. In a group for which ``begins`` is true the initial value ``first`` competes; ``begins`` is
    cleared where it loses."""
    initial, codes, _ = comparable(first, values)
    if best is not None:
        groups, codes = groups[best], codes[best]
    extremes = np.full(len(begins), _farthest(codes, not highest), dtype=codes.dtype)
    if len(initial):
        extremes[begins] = initial[begins]
    (np.maximum if highest else np.minimum).at(extremes, groups, codes)
    if len(initial):
        begins &= initial == extremes
    remaining: Groups = np.flatnonzero(codes == extremes[groups])
    return remaining if best is None else best[remaining]


def _farthest(numbers: NDArray[Any], highest: bool) -> Any:
    """The highest, or lowest, number that the type of ``numbers`` can hold."""
    if numbers.dtype.kind == "f":
        return math.inf if highest else -math.inf
    if numbers.dtype.kind == "b":
        return highest
    limits = np.iinfo(numbers.dtype)
    return limits.max if highest else limits.min


def extremes(initial: Any, values: Any, groups: Groups, highest: bool) -> Any:
    """The lowest or highest value of each group, the initial value included."""
    start, codes, ordered = comparable(initial, values)
    best = start.copy()
    (np.maximum if highest else np.minimum).at(best, groups, codes)
    return best if ordered is None else ordered.take(pa.array(best))


def comparable(initial: Any, values: Any) -> tuple[Any, Any, pa.Array | None]:
    """Both as numbers that NumPy orders as Python orders the values, and the values by number; None
    if the numbers are the values. Raises Inexact for NaN, and for -0.0, which equals 0.0 but is not
    the same."""
    if isinstance(values, np.ndarray):
        if values.dtype != initial.dtype:
            raise Inexact
        if values.dtype.kind == "f":
            for array in (initial, values):
                if np.isnan(array).any() or _has_negative_zero(array):
                    raise Inexact
        return initial, values, None
    ranks, ordered = _ranks(pa.concat_arrays([initial, values]))
    return ranks[: len(initial)], ranks[len(initial) :], ordered


def _ranks(texts: pa.Array) -> tuple[Any, pa.Array]:
    """For each text its rank among the distinct texts, and the distinct texts in order."""
    if not pa.types.is_string(texts.type):
        raise Inexact
    encoded = texts.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order.to_numpy()] = np.arange(len(order))
    return ranks[encoded.indices.to_numpy()], encoded.dictionary.take(order)
