"""How accumulators that were folded apart become one, written beside them.

A task that receives folded columns has not seen the elements, so it does not know how they were folded. It
reads that in the schema: for each field of the accumulator whether it is a sum, an extreme and so on. It is text, so
that it can also be in a checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.runtime.columns.tracing.column_function import run_of
from flinkish.runtime.columns.tracing.expressions import PYTHON_TYPES, Kind
from flinkish.runtime.columns.tracing.folding import Folding, combined_field
from flinkish.runtime.columns.tracing.forms import Form

_COMBINATION = b"flinkish.combination"


PartOrder: TypeAlias = Literal["any", "first", "last"]
"""Parts of elements in any order, or by their first elements, or by their last."""


def _order_of(form: Form, reduces: bool) -> PartOrder | None:
    """In which order parts have to be combined for one field."""
    if form.way == "kept":
        return "first" if reduces else "any"
    if form.way in ("sum", "lowest", "highest"):
        return "any"
    return "last" if form.way == "last" else None


@dataclass(frozen=True)
class Combination:
    """For each field of an accumulator how two of it become one. ``start``: the fields of a new accumulator;
    None where the first element is the first accumulator."""

    forms: tuple[Form, ...]
    kinds: tuple[Kind, ...]
    start: tuple[Any, ...] | None
    testsNone: bool = True
    """Whether the function may ask if a field is None."""

    @property
    def order(self) -> PartOrder | None:
        """In which order parts have to be combined whose elements came mixed; None: there is none, as it takes the
        place of single elements to decide."""
        orders = {_order_of(form, self.start is None) for form in self.forms}
        if None in orders or {"first", "last"} <= orders:
            return None
        return "first" if "first" in orders else "last" if "last" in orders else "any"

    @classmethod
    def of(cls, schema: pa.Schema) -> Combination | None:
        """The combination that ``noted`` has noted in a schema, None if there is none."""
        noted = (schema.metadata or {}).get(_COMBINATION)
        if noted is None:
            return None
        fields, start, *tests = json.loads(noted)
        forms = tuple(
            Form(
                way,
                by=by,
                highest=highest,
                lastOfEqual=last,
                ranking=tuple((number, higher) for number, higher in ranking),
            )
            for way, _, by, highest, last, *ranking in fields
        )
        return cls(
            forms, tuple(kind for _, kind, *_ in fields), start and tuple(start), tests != [False]
        )

    def noted(self, schema: pa.Schema) -> pa.Schema:
        """``schema`` with this noted in it."""
        fields = [
            (form.way, kind, form.by, form.highest, form.lastOfEqual, *form.ranking)
            for form, kind in zip(self.forms, self.kinds)
        ]
        noted = json.dumps([fields, self.start, self.testsNone]).encode()
        return schema.with_metadata({**(schema.metadata or {}), _COMBINATION: noted})

    def columns(self, parts: pa.RecordBatch, groups: NDArray[np.intp], count: int) -> list[Any]:
        """The fields of the accumulators of each group. Raises Inexact if columns cannot hold them."""
        folding = Folding(run_of(parts), parts, groups, count, True)
        return [
            combined_field(folding, self.forms, self.kinds, self.start, number)
            for number in range(len(self.forms))
        ]

    def proves(self, fields: Sequence[Any]) -> bool:
        """Whether an accumulator with these ``fields`` may be joined with a part that was folded: they are what columns
        hold, so that the function does with them what was traced. A None that it may ask for, a NaN that is compared,
        and a bool among ints are none of that."""
        compared = {form.by for form in self.forms} | {
            number for form in self.forms for number, _ in form.ranking
        }
        for number, (form, kind, value) in enumerate(zip(self.forms, self.kinds, fields)):
            if form.way in ("kept", "last", "best") and number not in compared:
                if value is None and self.testsNone:
                    return False
                continue
            if type(value) is not PYTHON_TYPES.get(kind) or value != value:
                return False
        return True

    def joined(self, one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
        """The fields of an accumulator of what is in two, the elements of ``one`` first."""
        better = [self._takes_other(number, one, other) for number in range(len(self.forms))]
        fields: list[Any] = []
        for number, (form, first, second) in enumerate(zip(self.forms, one, other)):
            if form.way == "sum":
                begun = 0 if self.start is None else self.start[number]
                fields.append(first + (second - begun))
            else:
                fields.append(second if better[number] else first)
        return fields

    def _takes_other(self, number: int, one: Sequence[Any], other: Sequence[Any]) -> bool:
        form = self.forms[number]
        if form.way == "best":
            return self._takes_other(form.by, one, other)
        if form.way == "last":
            return True
        for by, highest in form.ranking:
            if one[by] != other[by]:
                return bool(other[by] > one[by] if highest else other[by] < one[by])
        if form.way == "ranked":
            return form.lastOfEqual
        if form.way not in ("lowest", "highest"):
            return False
        first, second = one[number], other[number]
        if form.way == "highest":
            return bool(second > first or (form.lastOfEqual and second == first))
        return bool(second < first or (form.lastOfEqual and second == first))
