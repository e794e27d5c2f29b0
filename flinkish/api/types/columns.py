"""Converts the types of elements to columns of a table, as Spark's DDL, and back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from flinkish.api.errors import IllegalArgumentError, InvalidProgramError, shown
from flinkish.api.types.table_schema import ColumnType, table_schema
from flinkish.api.types.type_info import TypeInformation, Types

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


ONLY_COLUMN = "value"
"""The name of the column of elements that have no fields, as Spark has it."""


_COLUMN_OF = {
    "String": "string",
    "Character": "string",
    "Enum": "string",
    "Boolean": "boolean",
    "Byte": "tinyint",
    "Short": "smallint",
    "Integer": "int",
    "Long": "bigint",
    "Float": "float",
    "Double": "double",
    "BigInteger": "decimal(38,0)",
    "BigDecimal": "decimal(38,18)",
    "Instant": "timestamp",
    "Timestamp": "timestamp",
    "LocalDateTime": "timestamp_ntz",
    "Date": "date",
    "Duration": "interval day to second",
}


_TYPE_OF: dict[str, TypeInformation[Any]] = {
    "string": Types.STRING(),
    "varchar": Types.STRING(),
    "char": Types.STRING(),
    "boolean": Types.BOOLEAN(),
    "tinyint": Types.BYTE(),
    "smallint": Types.SHORT(),
    "int": Types.INT(),
    "bigint": Types.LONG(),
    "float": Types.FLOAT(),
    "double": Types.DOUBLE(),
    "decimal": Types.BIG_DEC(),
    "binary": Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "date": Types.SQL_DATE(),
    "time": Types.SQL_TIME(),
    "timestamp": Types.INSTANT(),
    "timestamp_ntz": Types.LOCAL_DATE_TIME(),
    "interval": Types.DURATION(),
}


def columns_of(elements: TypeInformation[Any], purpose: str) -> str:
    """The columns of a table of ``elements``, as a DDL string.

    Raises InvalidProgramError, which names ``purpose`` and the field, if no column can hold a type.

    >>> columns_of(TypeInformation.of(tuple[str, list[int]]), "toDataFrame")
    '`f0` string, `f1` array<bigint>'
    """
    if not elements.isComposite():
        return f"{_quoted(ONLY_COLUMN)} {_column(elements, '', purpose)}"
    return ", ".join(
        f"{_quoted(name)} {_column(kind, name, purpose)}" for name, kind in _fields(elements)
    )


def have_columns(elements: TypeInformation[Any]) -> bool:
    """Whether ``elements`` have fields and columns can hold all of them."""
    try:
        columns_of(elements, "")
    except InvalidProgramError:
        return False
    return elements.isComposite()


def _column(kind: TypeInformation[Any], field: str, purpose: str) -> str:
    if kind.isComposite():
        parts = (
            f"{_quoted(name)}: {_column(child, f'{field}.{name}', purpose)}"
            for name, child in _fields(kind)
        )
        return f"struct<{', '.join(parts)}>"
    if kind.kind == "Array" and kind.children[0].kind == "Byte":
        return "binary"
    if kind.kind in ("List", "Array"):
        return f"array<{_column(kind.children[0], field, purpose)}>"
    if kind.kind == "Map":
        key, value = (_column(child, field, purpose) for child in kind.children)
        return f"map<{key}, {value}>"
    column = _COLUMN_OF.get(kind.kind)
    if column is None:
        where = f"the field {field!r} is" if field else "the elements are"
        raise InvalidProgramError(
            f"{purpose}: {where} of type {kind}, which no column can hold. Pass a schema, say the"
            " type with returns(Types...), or map the elements to a dataclass, NamedTuple or Row"
            " of texts, numbers, times, lists and dicts."
        )
    return column


def _fields(kind: TypeInformation[Any]) -> Iterator[tuple[str, TypeInformation[Any]]]:
    return zip(kind.getFieldNames(), kind.getFieldTypes())


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


# ---------------------------------------------------------------------- from a schema


def is_schema(schema: object) -> bool:
    """Whether ``schema`` is a DDL string or a StructType, and has columns. Raises IllegalArgumentError if
    a DDL string cannot be read."""
    if isinstance(schema, str):
        return bool(table_schema(schema).fields)
    return bool(schema) and hasattr(schema, "jsonValue")


def check_schema_of_sink(subject: str, schema: object) -> None:
    """Raises IllegalArgumentError, which names ``subject``, unless ``schema`` is a schema or None."""
    if schema is not None and not is_schema(schema):
        raise IllegalArgumentError(
            f'{subject}: {shown(schema)} is no schema. Pass one, such as "origin string, delay int" or a'
            " StructType, or leave it out for the columns of the stream's type."
        )


def type_of_columns(schema: str | StructType) -> TypeInformation[Any]:
    """The type of rows with the columns of ``schema``.

    >>> print(type_of_columns("origin string, `at` array<struct<hour: int>>"))
    Row<origin: String, at: List<Row<hour: Integer>>>
    """
    return _type_of(table_schema(schema))


def _type_of(column: ColumnType) -> TypeInformation[Any]:
    if column.name == "struct":
        names = [name for name, _ in column.fields]
        return Types.ROW_NAMED(names, [_type_of(kind) for _, kind in column.fields])
    if column.name == "array":
        return Types.LIST(_type_of(column.children[0]))
    if column.name == "map":
        return Types.MAP(*(_type_of(child) for child in column.children))
    name, *rest = re.split(r"\W+", column.name)
    months = name == "interval" and not {"year", "month"}.isdisjoint(rest)
    return Types.PICKLED_BYTE_ARRAY() if months else _TYPE_OF.get(name, Types.PICKLED_BYTE_ARRAY())
