"""Spark's types as Arrow's. pyspark has the like, but not as a part of its public API."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    MapType,
    StructType,
)

from flinkish.api.errors import NotSupportedError

_BASIC = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
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
"""By the names that Spark gives its types."""


def arrow_schema(schema: StructType) -> pa.Schema:
    """The columns of ``schema`` as Arrow has them.

    Raises NotSupportedError for a type that values cannot be written in.
    """
    return pa.schema(_fields(schema))


def _fields(schema: StructType) -> list[pa.Field]:
    return [pa.field(field.name, _arrow_type(field.dataType, field.name)) for field in schema]


def _arrow_type(kind: DataType, field: str) -> pa.DataType:
    if isinstance(kind, StructType):
        return pa.struct(_fields(kind))
    if isinstance(kind, ArrayType):
        return pa.list_(_arrow_type(kind.elementType, field))
    if isinstance(kind, MapType):
        return pa.map_(_arrow_type(kind.keyType, field), _arrow_type(kind.valueType, field))
    if isinstance(kind, DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, DayTimeIntervalType):
        return pa.duration("us")
    basic = _BASIC.get(kind.typeName().partition("(")[0])
    if basic is None:
        raise NotSupportedError(
            f"the column {field!r} is of type {kind.simpleString()}, which elements cannot be written"
            " in. Use another type, such as string or binary, and cast it in Spark."
        )
    return basic
