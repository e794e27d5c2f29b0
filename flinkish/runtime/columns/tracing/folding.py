"""The array operations of ``ColumnFold``: sums, extremes, first and last values by group."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from flinkish.runtime.columns.tracing.expressions import Column, Constant, Expression, Kind
from flinkish.runtime.columns.tracing.kernels import (
    LEAST,
    MOST,
    Inexact,
    Mask,
    Run,
    Values,
    kind_of,
    of_arrow,
    plain,
    to_arrow,
)
from flinkish.runtime.columns.tracing.reduction_patterns import ReductionPattern
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
    """A run of elements to fold by group. ``reduces``: a group without a start begins with its
    first value."""

    def __init__(self, run: Run, batch: Columns, groups: Groups, count: int, reduces: bool) -> None:
        self.run = run
        self.batch = batch
        self.groups = groups
        self.count = count
        self.reduces = reduces
        self.start: pa.RecordBatch | None = None
        self.started: Mask | None = None
        self._first: Groups | None = None
        self._parts: dict[int, Part] = {}
        self._places: dict[tuple[Any, ...], Groups] = {}
        self._kept: list[Any] = []

    def begin(self, start: pa.RecordBatch, started: Mask | None) -> None:
        """Begin with the rows of ``start`` where ``started`` is true; None: everywhere."""
        self.start = start
        self.started = None if started is None or bool(started.all()) else started

    @property
    def first(self) -> Groups:
        """The position of the first element of each group."""
        if self._first is None:
            self._first = first_positions(self.groups, self.count)
        return self._first

    def added(self) -> Mask | None:
        """Return a mask of the elements that are added to an accumulator, rather than being the
        first one; None: all."""
        if not self.reduces or (self.start is not None and self.started is None):
            return None
        added = np.ones(len(self.groups), dtype=np.bool_)
        new = self.first if self.started is None else self.first[~self.started]
        added[new] = False
        return added

    def part(self, pattern: ReductionPattern, number: int) -> Part:
        """The elements that ``pattern`` adds to the field ``number``; -1: to no particular
        field."""
        only, value = pattern.only, pattern.value
        own = isinstance(value, Column) and value.number == number
        if only is None and own and pattern.way in ("lowest", "highest"):
            return self.run, self.groups, None  # an element that is the accumulator changes nothing
        key = -1 if only is None else id(only)
        known = self._parts.get(key)
        if known is None:
            mask = self.added()
            if only is not None:
                chosen = self.run.mask(only)
                mask = chosen if mask is None else mask & chosen
            if mask is None:
                known = self.run, self.groups, None
            else:
                known = self.run.where(mask), self.groups[mask], np.flatnonzero(mask)
            self._parts[key] = known
        return known

    def initial(self, number: int, kind: Kind, start: Sequence[Any] | None) -> Any:
        """A field's values before any element is added: a NumPy array for numbers, else an Arrow
        array. Raises Inexact for numbers with nulls."""
        passed = self.initial_column(number, kind, start)
        return of_arrow(passed).data if kind != "opaque" else passed

    def initial_column(self, number: int, kind: Kind, start: Sequence[Any] | None) -> pa.Array:
        """``initial`` as an Arrow column, which may have nulls."""
        if self.start is not None and self.started is None:
            return self.start.column(number)
        if start is None:
            column = plain(self.batch.column(number))
            new = normal(column.take(pa.array(self.first)), ARROW_TYPES.get(kind, column.type))
        else:
            new = to_arrow(Values(kind, start[number]).array(self.count))
        if self.start is None:
            return new
        assert self.started is not None
        both = pa.concat_arrays([new, self.start.column(number)])
        places = np.arange(self.count) + np.where(self.started, self.count, 0)
        return both.take(pa.array(places))


def arrow_type(kind: Kind, pattern: ReductionPattern, batch: Columns, number: int) -> pa.DataType:
    """The type of a folded column."""
    if kind in ARROW_TYPES:
        return ARROW_TYPES[kind]
    if isinstance(pattern.value, Column):
        number = pattern.value.number
    column: pa.DataType = plain(batch.column(number).slice(0, 0)).type
    return column


def normal(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column cast to ``kind``, the type of a folded column. Raises Inexact if a value does not
    fit."""
    if column.type == kind:
        return column
    column = plain(column)
    if column.type == kind:
        return column
    try:
        return column.cast(kind)
    except pa.ArrowException:
        raise Inexact from None


def folded_field(
    folding: Folding,
    patterns: Sequence[ReductionPattern],
    kinds: Sequence[Kind],
    start: Sequence[Any] | None,
    number: int,
) -> Any:
    """The folded column ``number``. Raises Inexact if Python's accumulators could differ."""
    pattern, kind = patterns[number], kinds[number]
    if pattern.way == "kept":
        return folding.initial_column(number, kind, start)
    assert pattern.value is not None
    if pattern.way == "sum":
        return _sums(folding, pattern, kind, start, number)
    run, groups, _ = folding.part(pattern, number)
    if pattern.way == "last":
        return _at(
            folding,
            pattern.value,
            last_positions(groups, folding.count),
            kind,
            start,
            number,
            folding.part(pattern, number),
        )
    if pattern.way == "ranked":
        places, part = _ranked(folding, patterns, kinds, start, pattern)
        return _at(folding, pattern.value, places, kind, start, number, part)
    if pattern.way == "best":
        places = _best(folding, patterns, kinds, start, pattern.by)
        part = folding.part(patterns[pattern.by], pattern.by)
        return _at(folding, pattern.value, places, kind, start, number, part)
    if any(other.way == "best" and other.by == number for other in patterns):
        places = _best(folding, patterns, kinds, start, number)
        part = folding.part(pattern, number)
        return _at(folding, pattern.value, places, kind, start, number, part)
    initial = folding.initial(number, kind, start)
    values = run.values(pattern.value).array(run.count) if run.count else None
    if values is None:
        return initial
    return extremes(initial, values, groups, pattern.way == "highest")


def _sums(
    folding: Folding,
    pattern: ReductionPattern,
    kind: Kind,
    start: Sequence[Any] | None,
    number: int,
) -> Any:
    value = pattern.value
    assert value is not None
    own = isinstance(value, Column) and value.number == number and pattern.only is None
    if folding.reduces and own and folding.start is None:
        # The first value of a group is added to nothing
        values = folding.run.values(value)
        if kind == "int":
            return integer_sums(np.zeros(folding.count, np.int64), values, folding.groups)
        initial = values.data[folding.first]
        if not _has_negative_zero(initial):
            return np.bincount(folding.groups, values.data, folding.count)
    initial = folding.initial(number, kind, start)
    run, groups, _ = folding.part(pattern, number)
    if run.count == 0:
        return initial
    values = run.values(value)
    if kind == "int":
        return integer_sums(initial, values.integers(), groups)
    return float_sums(initial, _array(values.floats(), run.count), groups)


def _array(data: Any, count: int) -> Any:
    return data if isinstance(data, np.ndarray) else np.full(count, data)


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
    positions = np.full(count, -1, dtype=np.intp)
    for start, end in _pieces(len(groups), count):
        piece = groups[start:end][::-1]
        found = np.full(count, -1, dtype=np.intp)
        found[piece] = np.arange(end - 1, start - 1, -1)
        positions = np.where(positions < 0, found, positions)
        if bool((positions >= 0).all()):
            break
    return positions


def last_positions(groups: Groups, count: int) -> Groups:
    """The last position of each group; -1 if it has none."""
    positions = np.full(count, -1, dtype=np.intp)
    length = len(groups)
    for start, end in _pieces(length, count):
        piece = groups[length - end : length - start]
        found = np.full(count, -1, dtype=np.intp)
        found[piece] = np.arange(length - end, length - start)
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


def _at(
    folding: Folding,
    value: Expression,
    places: Groups,
    kind: Kind,
    start: Sequence[Any] | None,
    number: int,
    part: Part,
) -> Any:
    """The values of the elements of ``part`` at ``places``; the initial value where a place is
    negative."""
    run, _, positions = part
    missing = places < 0
    everywhere = not missing.any()
    if run.count == 0:
        return folding.initial_column(number, kind, start)
    found = np.where(missing, 0, places)
    if isinstance(value, Column):
        column = plain(folding.batch.column(value.number))
        taken = column.take(pa.array(found if positions is None else positions[found]))
    elif isinstance(value, Constant):
        taken = to_arrow(Values(value.kind, value.value).array(len(places)))
    else:
        taken = to_arrow(run.array(value)).take(pa.array(found))
    if everywhere:
        return taken
    initial = folding.initial_column(number, kind, start)
    both = pa.concat_arrays([initial, normal(taken, initial.type)])
    return both.take(pa.array(np.arange(folding.count) + np.where(missing, 0, folding.count)))


def _best(
    folding: Folding,
    patterns: Sequence[ReductionPattern],
    kinds: Sequence[Kind],
    start: Sequence[Any] | None,
    by: int,
) -> Groups:
    """The position of each group's best element among those added; -1 if the initial value is the
    best."""
    known = folding._places.get((by,))
    if known is not None:
        return known
    pattern = patterns[by]
    assert pattern.value is not None
    run, groups, _ = folding.part(pattern, by)
    if run.count == 0:
        return np.full(folding.count, -1, dtype=np.intp)
    initial = folding.initial(by, kinds[by], start)
    places = best_positions(
        initial, run.array(pattern.value), groups, pattern.way == "highest", pattern.lastOfEqual
    )
    folding._places[(by,)] = places
    return places


def _ranked(
    folding: Folding,
    patterns: Sequence[ReductionPattern],
    kinds: Sequence[Kind],
    start: Sequence[Any] | None,
    pattern: ReductionPattern,
) -> tuple[Groups, Part]:
    """The position of each group's best element by the ranking of ``pattern``, -1 if the initial
    value is the best; and the elements to which the positions refer."""
    fields = [(number, patterns[number].value, highest) for number, highest in pattern.ranking]
    whole = folding.reduces and folding.start is None and pattern.only is None
    if whole and all(isinstance(v, Column) and v.number == number for number, v, _ in fields):
        # A group has no initial value: its first element is compared like the others
        part: Part = folding.run, folding.groups, None
        begins = np.zeros(folding.count, dtype=np.bool_)
    else:
        part = folding.part(pattern, -1)
        begins = np.ones(folding.count, dtype=np.bool_)
    key = (pattern.ranking, pattern.lastOfEqual)
    known = folding._places.get(key)
    if known is not None:
        return known, part
    run, groups, _ = part
    best = np.arange(run.count)
    for number, value, highest in fields:
        assert value is not None
        values = run.array(value)
        first = folding.initial(number, kinds[number], start) if begins.any() else values[:0]
        best = _ranked_by(begins, first, values, groups, best, highest)
    positions = last_positions if pattern.lastOfEqual else first_positions
    chosen = positions(groups[best], folding.count)
    places = np.where(chosen < 0, -1, best[chosen] if len(best) else -1)
    if not pattern.lastOfEqual:
        places[begins] = -1
    folding._places[key] = places
    return places, part


def _ranked_by(
    begins: Mask, first: Any, values: Any, groups: Groups, best: Groups, highest: bool
) -> Groups:
    """The positions among ``best`` whose value is the highest, or lowest, of their group. In a
    group for which ``begins`` is true the initial value ``first`` competes; ``begins`` is cleared
    where it loses."""
    initial, codes, _ = comparable(first, values)
    extremes = np.full(len(begins), _farthest(codes, not highest), dtype=codes.dtype)
    if len(initial):
        extremes[begins] = initial[begins]
    (np.maximum if highest else np.minimum).at(extremes, groups[best], codes[best])
    if len(initial):
        begins &= initial == extremes
    remaining: Groups = best[codes[best] == extremes[groups[best]]]
    return remaining


def _farthest(numbers: NDArray[Any], highest: bool) -> Any:
    """The highest, or lowest, number that the type of ``numbers`` can hold."""
    if numbers.dtype.kind == "f":
        return math.inf if highest else -math.inf
    if numbers.dtype.kind == "b":
        return highest
    limits = np.iinfo(numbers.dtype)
    return limits.max if highest else limits.min


def best_positions(
    initial: Any, values: Any, groups: Groups, highest: bool, lastOfEqual: bool
) -> Groups:
    """The position of each group's lowest or highest value; -1 if the initial value is that."""
    start, codes, _ = comparable(initial, values)
    best = start.copy()
    (np.maximum if highest else np.minimum).at(best, groups, codes)
    equal = np.flatnonzero(codes == best[groups])
    if lastOfEqual:
        chosen = last_positions(groups[equal], len(start))
    else:
        chosen = first_positions(groups[equal], len(start))
    places = np.where(chosen < 0, -1, equal[chosen] if len(equal) else -1)
    if not lastOfEqual:
        places[best == start] = -1
    return places


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


def combined_field(
    folding: Folding,
    patterns: Sequence[ReductionPattern],
    kinds: Sequence[Kind],
    start: Sequence[Any] | None,
    number: int,
) -> Any:
    """One column of combined accumulators; the parts are folded like the elements of a
    reduction."""
    pattern, kind = patterns[number], kinds[number]
    column = folding.batch.column(number)
    own = tuple(
        ReductionPattern(
            f.way,
            None if f.way == "kept" else Column(n, kind_of(folding.batch.schema.types[n])),
            None,
            f.by,
            lastOfEqual=f.lastOfEqual,
            ranking=f.ranking,
        )
        for n, f in enumerate(patterns)
    )
    if pattern.way == "kept":
        return column.take(pa.array(folding.first))
    if pattern.way == "sum" and start is not None and start[number] != 0:
        values = Values(kind, of_arrow(column).data - _small(start[number]))
        initial = np.full(folding.count, start[number], dtype=np.int64)
        return integer_sums(initial, values, folding.groups)
    return folded_field(folding, own, kinds, None, number)


def _small(value: int) -> int:
    if abs(value) > 2**32:
        raise Inexact
    return value
