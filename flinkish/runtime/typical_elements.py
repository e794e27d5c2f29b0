"""Typical elements of a schema. ``explain`` uses them to try whether functions run over columns."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from flinkish.runtime.records.rows import RowColumns

_MOMENT = datetime.datetime(2026, 1, 2, 3, 4, 5)


def typical_elements(schema: pa.Schema) -> RowColumns:
    """Two rows with the columns of ``schema``, without nulls.

    >>> typical_elements(pa.schema({"n": pa.int64(), "s": pa.string()})).rows()
    [Row(n=1, s='a'), Row(n=2, s='b')]
    """
    arrays = [pa.array([_value(kind, at) for at in (1, 2)], kind) for kind in schema.types]
    return RowColumns(pa.RecordBatch.from_arrays(arrays, names=schema.names))


def _value(kind: pa.DataType, number: int) -> Any:
    """The first or the second typical value of a type."""
    types = pa.types
    if types.is_boolean(kind):
        return number == 1
    if types.is_integer(kind):
        return number
    if types.is_floating(kind):
        return number + 0.5
    if types.is_string(kind) or types.is_large_string(kind):
        return " ab"[number]
    if types.is_decimal(kind):
        return Decimal(number)
    if types.is_timestamp(kind):
        return _MOMENT.replace(year=2025 + number)
    if types.is_date(kind):
        return _MOMENT.replace(year=2025 + number).date()
    if types.is_duration(kind):
        return datetime.timedelta(seconds=number)
    if types.is_binary(kind) or types.is_large_binary(kind):
        return b" ab"[number : number + 1]
    if types.is_struct(kind):
        return {field.name: _value(field.type, number) for field in kind}
    if types.is_map(kind):
        return [(_value(kind.key_type, number), _value(kind.item_type, number))]
    if types.is_list(kind) or types.is_large_list(kind):
        return [_value(kind.value_type, number)]
    return None
