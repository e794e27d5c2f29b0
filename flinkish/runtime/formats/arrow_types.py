"""Arrow's types for the columns of tables, as Spark maps them."""

from __future__ import annotations

import re

import pyarrow as pa

from flinkish.api.errors import NotSupportedError
from flinkish.api.types.table_schema import ColumnType

_BASIC = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "varchar": pa.string(),
    "char": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
"""Arrow's types by the names of types in DDL."""


def arrow_schema(schema: ColumnType) -> pa.Schema:
    """``schema`` as a schema of Arrow. Raises NotSupportedError for a type that elements cannot be
    written in."""
    return pa.schema(_fields(schema))


def _fields(schema: ColumnType) -> list[pa.Field]:
    return [pa.field(name, _arrow_type(kind, name)) for name, kind in schema.fields]


def _arrow_type(kind: ColumnType, field: str) -> pa.DataType:
    if kind.name == "struct":
        return pa.struct(_fields(kind))
    if kind.name == "array":
        return pa.list_(_arrow_type(kind.children[0], field))
    if kind.name == "map":
        return pa.map_(*(_arrow_type(child, field) for child in kind.children))
    name, *words = re.findall(r"\w+", kind.name)
    if name == "decimal":
        return pa.decimal128(*map(int, words))
    if name == "interval" and {"year", "month"}.isdisjoint(words):
        return pa.duration("us")
    basic = _BASIC.get(name)
    if basic is None:
        raise NotSupportedError(
            f"the column {field!r} is of type {kind}, which elements cannot be written in. Use another"
            " type, such as string or binary, and cast it in Spark."
        )
    return basic
