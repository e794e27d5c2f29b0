"""``RunningFold``: accumulators before each element of a run, not only at its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.runtime.columns.tracing.expression_run import Run
from flinkish.runtime.columns.tracing.expressions import (
    Accumulated,
    Expression,
    Kind,
    Step,
    leaves,
)
from flinkish.runtime.columns.tracing.folding import Groups, comparable, normal
from flinkish.runtime.columns.tracing.reduction_patterns import Reduction, needs_accumulator
from flinkish.runtime.columns.tracing.unsupported import Unsupported
from flinkish.runtime.columns.tracing.values import MOST, Inexact, Values, of_arrow, to_arrow
from flinkish.runtime.records.rows import by_code

_ELEMENTS_A_GROUP = 8
"""With fewer elements for each group, a loop over the groups costs more than it saves."""


RUNNING = ("kept", "last", "sum", "lowest", "highest")
"""The ways of fields that can be computed before each element."""


def accumulator_steps(steps: Sequence[Step]) -> list[Expression]:
    """The operations of ``steps`` that could raise an error for some accumulator."""
    return [step.operation for step in steps if needs_accumulator(step.operation)]


def asks_running(reduction: Reduction, asked: Sequence[Expression]) -> bool:
    """Whether any of ``asked`` depends on the accumulator before each element. Raises Unsupported for
    fields that can be computed only at the end of a run."""
    numbers = {leaf.number for leaf in leaves(*asked) if isinstance(leaf, Accumulated)}
    if any(reduction.patterns[number].way not in RUNNING for number in numbers):
        raise Unsupported("uses the best element so far of each key")
    return bool(numbers)


def next_of_group(groups: Groups, count: int) -> Groups:
    """The position of the next element of each element's group; -1 if there is none. All groups
    are below ``count``."""
    order = by_code(groups, count)
    following = np.full(len(groups), -1, dtype=np.intp)
    same = np.flatnonzero(np.diff(groups[order]) == 0)
    following[order[same]] = order[same + 1]
    return following


class RunningFold:
    """The fields of the accumulators of ``groups`` before each element of ``run``, starting from
    the rows of ``start``. Methods raise Inexact if a field could differ from the one that Python
    computes."""

    def __init__(
        self,
        run: Run,
        groups: Groups,
        start: pa.RecordBatch,
        reduction: Reduction,
    ) -> None:
        self._run = run
        self._groups = groups
        self._start = start
        self._reduction = reduction
        self._fields: dict[int, Values] = {}

    def field(self, number: int) -> Values:
        """A field before each element."""
        known = self._fields.get(number)
        if known is None:
            known = self._fields[number] = self._computed(number)
        return known

    @cached_property
    def _order(self) -> Groups:
        """The positions of the elements, ordered by group."""
        return by_code(self._groups, self._start.num_rows)

    @cached_property
    def _firsts(self) -> Groups:
        """The position in ``_order`` of the first element of each group that has any."""
        ordered = self._groups[self._order]
        return np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])

    @cached_property
    def _lengths(self) -> Groups:
        """The number of elements of each group that has any."""
        return np.diff(self._firsts, append=self._run.count)

    def _computed(self, number: int) -> Values:
        pattern, kind = self._reduction.patterns[number], self._reduction.kinds[number]
        start = self._start.column(number)
        if pattern.way == "kept" or not self._run.count:
            return of_arrow(start.take(pa.array(self._groups)))
        assert pattern.value is not None
        chosen = None if pattern.only is None else self._run.mask(pattern.only)
        values = self._run.values(pattern.value)
        if pattern.way == "last":
            return self._last(
                start, normal(to_arrow(values.array(self._run.count)), start.type), chosen
            )
        if pattern.way == "sum":
            initial = of_arrow(start).data
            if kind == "int":
                return self._integer_sum(initial, values.integers(), chosen)
            if kind != "float" or chosen is not None:
                raise Inexact
            floats = Values("float", values.floats()).array(self._run.count)
            return Values("float", self._accumulated(np.add, initial, floats))
        if pattern.way in ("lowest", "highest"):
            return self._extreme(
                kind, start, values.array(self._run.count), chosen, pattern.way == "highest"
            )
        raise Inexact

    def _integer_sum(self, initial: Any, values: Values, chosen: Any) -> Values:
        count = self._run.count
        values.tighten()
        low, high = values.bounds()
        if max(-int(initial.min()), int(initial.max())) + max(-low, high) * count > MOST:
            raise Inexact
        added = values.array(count)
        if chosen is not None:
            added = np.where(chosen, added, 0)
        ordered = added[self._order]
        before = np.cumsum(ordered) - ordered
        before -= np.repeat(before[self._firsts], self._lengths)
        sums = np.empty(count, dtype=np.int64)
        sums[self._order] = before
        return Values("int", sums + initial[self._groups])

    def _last(self, start: pa.Array, values: pa.Array, chosen: Any) -> Values:
        count = self._run.count
        places = np.arange(count)
        if chosen is not None:
            places = np.where(chosen[self._order], places, -1)
        before = np.r_[-1, np.maximum.accumulate(places)[:-1]]
        missing = before < np.repeat(self._firsts, self._lengths)
        found = np.empty(count, dtype=np.intp)
        ordered = self._order[before]
        found[self._order] = np.where(missing, self._groups[self._order] + count, ordered)
        return of_arrow(pa.concat_arrays([values, start]).take(pa.array(found)))

    def _extreme(
        self, kind: Kind, start: pa.Array, values: Any, chosen: Any, highest: bool
    ) -> Values:
        initial, codes, ordered = comparable(of_arrow(start).data, values)
        if chosen is not None:
            codes = np.where(chosen, codes, initial[self._groups])
        best = None if codes.dtype.kind == "f" else self._integer_extreme(initial, codes, highest)
        if best is None:
            best = self._accumulated(np.maximum if highest else np.minimum, initial, codes)
        return Values(kind, best if ordered is None else ordered.take(pa.array(best)))

    def _integer_extreme(self, initial: Any, codes: Any, highest: bool) -> NDArray[Any] | None:
        """The extreme before each element, for all groups at once: an offset for each group makes
        its values higher, or lower, than all values of earlier groups. None if 64 bits cannot hold
        the offsets."""
        extreme = np.maximum if highest else np.minimum
        values = codes[self._order].astype(np.int64)
        low, high = int(values.min()), int(values.max())
        span = high - low + 1
        if span * len(self._firsts) > MOST:
            return None
        offsets = np.repeat(np.arange(len(self._firsts)) * span, self._lengths)
        if highest:
            so_far = extreme.accumulate(values - low + offsets) - offsets + low
        else:
            so_far = extreme.accumulate(values - high - offsets) + offsets + high
        start = initial[self._groups[self._order]]
        before = np.r_[start[:1], so_far[:-1].astype(initial.dtype)]
        before[self._firsts] = start[self._firsts]
        best: NDArray[Any] = np.empty_like(before)
        best[self._order] = extreme(before, start)
        return best

    def _accumulated(self, ufunc: Any, initial: Any, values: Any) -> NDArray[Any]:
        """``ufunc`` accumulated over the group's initial value and its elements before each one.
        Raises Inexact if the groups are too small for that."""
        if len(self._firsts) * _ELEMENTS_A_GROUP > len(values):
            raise Inexact
        accumulated = np.empty(len(values), dtype=initial.dtype)
        with np.errstate(all="ignore"):
            for group, places in self._parts():
                before = np.r_[initial[group], values[places[:-1]]]
                accumulated[places] = ufunc.accumulate(before)
        return accumulated

    def _parts(self) -> Iterator[tuple[int, Groups]]:
        """The groups with the positions of their elements."""
        for places in np.split(self._order, self._firsts[1:]):
            yield int(self._groups[places[0]]), places
