"""Symbols for the elements of a run: for their columns, and for the fields that a function reads of
them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from flinkish.api.types.fields import WHOLE, Field, position_of
from flinkish.runtime.columns.tracing.objects import Made
from flinkish.runtime.columns.tracing.symbolic_values import symbolic
from flinkish.runtime.columns.tracing.symbols import Symbol
from flinkish.runtime.columns.tracing.unsupported import Unsupported
from flinkish.runtime.columns.tracing.values import kind_of, plain
from flinkish.runtime.records.rows import RowColumns, is_tuple
from flinkish.runtime.records.shapes import Shape

if TYPE_CHECKING:
    from flinkish.runtime.columns.tracing.trace import Trace


class Signature(NamedTuple):
    """The arguments of a function that are symbols: an element, or one of ``pairs``, and the values of
    ``extra`` columns behind those of the element."""

    extra: int = 0
    pairs: bool = False

    def symbols(self, trace: Trace, elements: RowColumns | None) -> tuple[Any, list[Any]]:
        """A symbolic element of ``elements``, which are ``beside`` the extra columns, and a symbol, or a
        tuple of symbols, for each of these. None: nothing is known of the elements."""
        if elements is not None:
            width = elements.shape.width
            types = enumerate(elements.schema.types)
            symbols = [_column_symbol(trace, number, kind) for number, kind in types]
            extra, parts = symbols[width : width + self.extra], iter(symbols[width + self.extra :])
            arguments = [
                tuple(islice(parts, _parts_of(kind))) if _parts_of(kind) else symbol
                for symbol, kind in zip(extra, elements.schema.types[width:])
            ]
            return symbolic(trace, elements.shape, symbols[:width]), arguments
        width = 2 if self.pairs else 1
        symbols = [
            Symbol(trace, trace.expressions.column(number, "unknown"))
            for number in range(width + self.extra)
        ]
        return tuple(symbols[:2]) if self.pairs else symbols[0], symbols[width:]


def beside(elements: RowColumns, extra: Sequence[pa.Array]) -> RowColumns:
    """``elements`` with ``extra`` columns behind theirs, and behind these the parts of those that
    hold tuples."""
    batch = elements.batch
    tuples = [plain(column) for column in extra if _parts_of(column.type)]
    parts = [part for column in tuples for part in column.flatten()]
    for number, column in enumerate([*extra, *parts]):
        batch = batch.append_column(f"extra {number}", column)
    return RowColumns(batch, elements.shape)


def _parts_of(kind: pa.DataType) -> int:
    """The number of values in each tuple of a column; 0 if it holds no tuples."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return kind.num_fields if is_tuple(kind) else 0


def _column_symbol(trace: Trace, number: int, kind: pa.DataType) -> Symbol:
    column = trace.expressions.column(number, kind_of(kind))
    made = _class_of_column(kind)
    return Symbol(trace, column) if made is None else Made(trace, column, made)


def _class_of_column(kind: pa.DataType) -> type[Any] | None:
    """The class of the values that ``python_values`` makes of a column, if it is one of those."""
    types = pa.types
    if types.is_decimal(kind):
        return Decimal
    if types.is_date(kind):
        return date
    for is_kind, made in (
        (types.is_timestamp, datetime),
        (types.is_duration, timedelta),
        (types.is_time, time),
    ):
        if is_kind(kind):
            return None if kind.unit == "ns" else made  # pandas has classes of its own for those
    return None


def column_of(shape: Shape, field: Field | None) -> int:
    """The index of the column that holds ``field`` of an element of ``shape``. Raises Unsupported
    if none does."""
    if shape.kind is None:
        if field in (*WHOLE, 0, "0"):
            return 0
        raise Unsupported("reads a field of a single value")
    if field is None or (shape.kind is dict and field not in shape.names):
        raise Unsupported("reads something that is not a field of the element")
    position: int | None
    if isinstance(field, str) and field in shape.names and shape.kind is not tuple:
        position = shape.names.index(field)
    else:
        position = position_of(field) if isinstance(field, str) else field
        there = position is not None and 0 <= position < len(shape.parts)
        if not there or (isinstance(field, str) and not issubclass(shape.kind, tuple)):
            raise Unsupported(f"reads the field {field!r}, which the elements do not have")
    assert position is not None
    if shape.parts[position].kind is not None:
        raise Unsupported("reads something that is not a field of the element")
    return sum(part.width for part in shape.parts[:position])
