"""Checks traced functions: calls the function for a few elements of a run, and compares the
results.

A check calls the function for rows with nulls, NaN or extremes, the first row, the last, and a
random one. The results have to equal those of the columns, including the type and the last bit. A
traced function has no side effects, so the extra calls go unnoticed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import datetime, time
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from flinkish.api.errors import said_by, shown
from flinkish.api.functions.adapt import results_of
from flinkish.api.functions.functions import Collector
from flinkish.api.output_tag import OutputTag
from flinkish.api.types.row import Row
from flinkish.runtime.records.copies import copied
from flinkish.runtime.records.partly_read import PartlyRead
from flinkish.runtime.records.rows import RowColumns

Positions: TypeAlias = NDArray[np.intp]

_LOOKED_AT = 1 << 12
"""The number of rows searched for NaN and extremes."""


def difference_of(
    count: int,
    element: Callable[[int], Any],
    columns: Callable[[int], Any],
    called: Callable[[int], Any],
) -> str | None:
    """The first difference; None if there is none. For the n-th of ``count`` elements, ``columns``
    gives the columns' result, and ``called`` calls the function."""
    for number in range(count):
        over = columns(number)
        try:
            alone = called(number)
        except Exception as error:
            return (
                f"raises {said_by(error)} for {shown(element(number))}, where columns gave"
                f" {shown(over)}"
            )
        if not same(alone, over):
            return f"gives {shown(alone)} for {shown(element(number))}, where columns gave {shown(over)}"
    return None


def same(one: Any, other: Any) -> bool:
    """Whether two values and their types are equal: NaN equals NaN, -0.0 is not 0.0, True is not 1.

    >>> same((1, float("nan")), (1, float("nan"))), same(1, True), same(0.0, -0.0)
    (True, False, False)
    """
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is float:
        both = struct.pack("<d", one) == struct.pack("<d", other)
        return both or (one != one and other != other)
    if isinstance(one, Row) and one.getFieldNames() != other.getFieldNames():
        return False
    if isinstance(one, (tuple, list)):
        parts = tuple.__iter__ if isinstance(one, tuple) else iter
        return len(one) == len(other) and all(map(same, parts(one), parts(other)))  # type: ignore[arg-type]
    if kind is dict:
        return same(list(one.items()), list(other.items()))
    if kind is Decimal:
        return bool(one.as_tuple() == other.as_tuple())
    if kind in (datetime, time):
        return bool(one == other and one.tzinfo == other.tzinfo and one.fold == other.fold)
    if is_dataclass(kind):
        return all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(kind))
    return bool(one == other)


class Collected(Collector[Any]):
    """Collects a function's results in lists: those for the main output, None, and for each side
    output by its id."""

    def __init__(self) -> None:
        self.results: dict[str | None, list[Any]] = {None: []}

    def collect(self, value: Any) -> None:
        self.collectSide(None, value)

    def collectSide(self, sideOutput: str | None, value: Any) -> None:
        """Keep a result for a side output; None: for the main one."""
        self.results.setdefault(sideOutput, []).append(copied(value))

    def output(self, outputTag: OutputTag[Any], value: Any) -> None:
        """``output`` of a context."""
        self.collectSide(outputTag.id, value)

    def collectReturned(self, returned: Any, tuples: bool = False, wrote: bool = True) -> None:
        """Keep the results that the function returned or yields, as ``results_of`` finds them."""
        for result in results_of(returned, tuples=tuples, wrote=wrote):
            self.collect(result)


# ---------------------------------------------------------------------- which elements


def drawn(seed: int, below: int) -> int:
    """A number from 0 to before ``below``, the same for the same ``seed``. Creating one of NumPy's
    generators would take longer than a check."""
    return (seed * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) % (1 << 64) * below >> 64


def chosen(values: RowColumns, count: int, seed: int, read: set[int] | None = None) -> Positions:
    """Up to ``count`` positions in ``values``, ascending. Rows with nulls and NaN are preferred,
    then the last row, the first and a random one, then extremes. ``read``: the columns that matter;
    None: all."""
    rows = len(values)
    if rows <= count:
        return np.arange(rows)
    begin = drawn(seed, rows - _LOOKED_AT) if rows > _LOOKED_AT else 0
    odd: list[int] = []
    extreme: list[int] = []
    numbers = range(values.columns.num_columns) if read is None else sorted(read)
    for number in numbers:
        if number < values.columns.num_columns:
            _look(values.columns.column(number), begin, odd, extreme)
    others = [rows - 1, 0, drawn(seed + 1, rows)]
    # If there are too many candidates, the seed rotates which of them are chosen
    turn = seed % max(1, len(odd))
    found = list(dict.fromkeys([*odd[turn:], *odd[:turn]][: max(1, count - 1)]))
    turn = seed % max(1, len(extreme))
    found = list(dict.fromkeys([*found, *others, *extreme[turn:], *extreme[:turn]]))
    return np.array(sorted(found[:count]), dtype=np.intp)


def _look(column: pa.Array, begin: int, odd: list[int], extreme: list[int]) -> None:
    """Add positions to ``odd``: the first null and the first value of a column with nulls, and from
    ``begin`` on NaN and infinity. Add those of extremes, from ``begin`` on, to ``extreme``."""
    if column.null_count:
        valid = column.is_valid()
        odd.append(pc.index(valid, False).as_py())
        there = pc.index(valid, True).as_py()
        if there >= 0:
            odd.append(there)
    kind = column.type
    if pa.types.is_boolean(kind):
        for truth in (False, True):
            place = pc.index(column.slice(begin, _LOOKED_AT), truth).as_py()
            if place >= 0:
                extreme.append(begin + place)
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    part = column.slice(begin, _LOOKED_AT)
    if not number or part.null_count:
        return
    numbers = part.to_numpy(zero_copy_only=False)
    if numbers.dtype.kind == "f":
        strange = ~np.isfinite(numbers)
        if strange.any():
            odd.append(begin + int(strange.argmax()))
            odd.append(begin + int(np.isnan(numbers).argmax()))
            return
    extreme.append(begin + int(numbers.argmin()))
    extreme.append(begin + int(numbers.argmax()))
    zero = numbers == 0
    if zero.any():
        extreme.append(begin + int(zero.argmax()))


def elements_at(
    values: RowColumns, positions: Positions, read: set[int] | None = None
) -> list[Any]:
    """The elements at ``positions``. Columns of partly read rows that are not in ``read`` are null,
    so that a check does not read them from the file."""
    columns = values.columns
    if isinstance(columns, PartlyRead) and read is not None:
        indices = pa.array(positions)
        arrays = [
            columns.column(number).take(indices)
            if number in read
            else pa.nulls(len(positions), kind)
            for number, kind in enumerate(values.schema.types)
        ]
        return RowColumns(
            pa.RecordBatch.from_arrays(arrays, schema=values.schema), values.shape
        ).rows()
    return values.take(positions).anew().rows()
