"""How accumulators that were folded in parts are combined; the schema of folded columns says so.

A task that receives folded columns has not seen the elements, so it does not know how they were
folded. The metadata of the schema tells it for each field of the accumulator: a sum, an extreme and
so on. It is text, so that it can be stored in a checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.runtime.columns.tracing.expressions import PYTHON_TYPES, Column, Kind
from flinkish.runtime.columns.tracing.folding import Folding, integer_sums
from flinkish.runtime.columns.tracing.reduction_patterns import Reduction, ReductionPattern
from flinkish.runtime.columns.tracing.traced_runs import run_of
from flinkish.runtime.columns.tracing.values import Inexact, Values, kind_of, of_arrow

_COMBINATION = b"flinkish.combination"


PartOrder: TypeAlias = Literal["any", "first", "last"]
"""The order in which parts are combined: any, by their first elements, or by their last."""


def _order_of(pattern: ReductionPattern, reduces: bool) -> PartOrder | None:
    """The order in which parts have to be combined for one field; None if no order is enough."""
    if pattern.way == "kept":
        return "first" if reduces else "any"
    if pattern.way in ("sum", "lowest", "highest"):
        return "any"
    return "last" if pattern.way == "last" else None


@dataclass(frozen=True)
class Combination(Reduction):
    """How each field of two accumulators is combined."""

    testsNone: bool = True
    """Whether the function may ask if a field is None."""

    @property
    def order(self) -> PartOrder | None:
        """The order in which interleaved parts have to be combined; None if that takes the
        positions of single elements."""
        orders = {_order_of(pattern, self.start is None) for pattern in self.patterns}
        if None in orders or {"first", "last"} <= orders:
            return None
        return "first" if "first" in orders else "last" if "last" in orders else "any"

    @classmethod
    def of(cls, schema: pa.Schema) -> Combination | None:
        """The combination noted in ``schema`` by ``noted``; None if there is none."""
        noted = (schema.metadata or {}).get(_COMBINATION)
        if noted is None:
            return None
        fields, start, *tests = json.loads(noted)
        return cls(
            tuple(_pattern_of(*field) for field in fields),
            tuple(kind for _, kind, *_ in fields),
            start and tuple(start),
            tests != [False],
        )

    def noted(self, schema: pa.Schema) -> pa.Schema:
        """``schema`` with this combination in its metadata."""
        fields = list(map(_noted, self.patterns, self.kinds))
        noted = json.dumps([fields, self.start, self.testsNone]).encode()
        return schema.with_metadata({**(schema.metadata or {}), _COMBINATION: noted})

    def columns(self, parts: pa.RecordBatch, groups: NDArray[np.intp], count: int) -> list[Any]:
        """The fields of each group's combined accumulator: the parts are folded like the elements of
        a reduction. Raises Inexact if columns cannot hold them."""
        own = tuple(
            ReductionPattern(
                pattern.way,
                Column(number, kind_of(kind)),
                lastOfEqual=pattern.lastOfEqual,
                ranking=pattern.ranking,
            )
            for number, (pattern, kind) in enumerate(zip(self.patterns, parts.schema.types))
        )
        folding = Folding(run_of(parts), parts, groups, count, Reduction(own, self.kinds, None))
        fields = folding.fields()
        for number, (pattern, start) in enumerate(zip(self.patterns, self.start or ())):
            if pattern.way == "sum" and start:  # each part has begun with it
                if abs(start) > 2**32:
                    raise Inexact
                added = Values("int", of_arrow(parts.column(number)).data - start)
                fields[number] = integer_sums(np.full(count, start), added, groups)
        return fields

    def proves(self, fields: Sequence[Any]) -> bool:
        """Whether an accumulator with these ``fields`` may be joined with a folded part: columns
        can hold the fields, so the trace is valid for them. It is not for a None that the function
        may test, for a NaN that is compared, or for a bool among ints."""
        compared = {number for pattern in self.patterns for number, _ in pattern.ranking}
        for number, (pattern, kind, value) in enumerate(zip(self.patterns, self.kinds, fields)):
            if pattern.way not in ("sum", "lowest", "highest") and number not in compared:
                if value is None and self.testsNone:
                    return False
                continue
            if type(value) is not PYTHON_TYPES.get(kind) or value != value:
                return False
        return True

    def joined(self, one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
        """The fields of the accumulator of the elements of ``one`` followed by those of
        ``other``."""
        better = [self._takes_other(number, one, other) for number in range(len(self.patterns))]
        fields: list[Any] = []
        for number, (pattern, first, second) in enumerate(zip(self.patterns, one, other)):
            if pattern.way == "sum":
                begun = 0 if self.start is None else self.start[number]
                fields.append(first + (second - begun))
            else:
                fields.append(second if better[number] else first)
        return fields

    def _takes_other(self, number: int, one: Sequence[Any], other: Sequence[Any]) -> bool:
        pattern = self.patterns[number]
        if pattern.way == "last":
            return True
        ranking = pattern.ranking
        if pattern.way in ("lowest", "highest"):
            ranking = ((number, pattern.way == "highest"),)
        for by, highest in ranking:
            if one[by] != other[by]:
                return bool(other[by] > one[by] if highest else other[by] < one[by])
        return bool(ranking) and pattern.lastOfEqual


def _noted(pattern: ReductionPattern, kind: Kind) -> tuple[Any, ...]:
    """A pattern as it is stored: a ranking by one field as ``best``, with that field."""
    if len(pattern.ranking) == 1:
        return ("best", kind, *pattern.ranking[0], pattern.lastOfEqual)
    return (pattern.way, kind, -1, False, pattern.lastOfEqual, *pattern.ranking)


def _pattern_of(
    way: Any, kind: Kind, by: int, highest: bool, last: bool, *ranking: tuple[int, bool]
) -> ReductionPattern:
    if way == "best":
        way, ranking = "ranked", ((by, highest),)
    return ReductionPattern(
        way, lastOfEqual=last, ranking=tuple((number, higher) for number, higher in ranking)
    )
