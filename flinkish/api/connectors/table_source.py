"""``TableSource``: the rows of a table in memory, of pandas, Arrow, Polars or any other library
that exports Arrow columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from flinkish.api.connectors.source import Source, check_column, check_timestamp_type
from flinkish.api.errors import InvalidProgramError
from flinkish.api.types.columns import type_of_columns
from flinkish.api.types.row import Row
from flinkish.api.types.type_info import TypeInformation

if TYPE_CHECKING:
    import pyarrow as pa


class ArrowStream(Protocol):
    """A table with Arrow's exchange interface: a DataFrame of pandas or Polars, a Table of
    pyarrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the columns as an Arrow stream."""


def is_table(value: object) -> bool:
    """Whether ``value`` is an Arrow, pandas or Spark table."""
    if not hasattr(value, "columns") or isinstance(value, type):
        return False
    words = ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__", "isStreaming")
    return _is_of_pandas(value) or any(hasattr(value, word) for word in words)


def refuse_table(subject: str, value: object) -> None:
    """Raises InvalidProgramError if ``value``, given as a collection of elements, is a table."""
    if is_table(value):
        raise InvalidProgramError(
            f"{subject}: a {type(value).__name__} of {type(value).__module__.partition('.')[0]} is a table, and"
            " not a collection of elements. Call env.fromDataFrame(table) for its rows."
        )


@dataclass(frozen=True, eq=False)
class TableSource(Source[Row]):
    """The rows of ``table``, in order; ``timestamp`` names the column that is the element's timestamp."""

    table: pa.Table
    timestamp: str | None = None

    @staticmethod
    def of(given: Any, timestamp: str | None) -> TableSource:
        """Copy a table of another library, with its columns converted to Spark's types.

        Raises InvalidProgramError for a column of another type.
        """
        import pyarrow as pa

        if _is_of_pandas(given):
            index = all(name is not None for name in given.index.names)
            try:
                table = pa.Table.from_pandas(given, preserve_index=index)
            except (pa.ArrowException, TypeError, ValueError) as error:
                raise InvalidProgramError(
                    f"fromDataFrame: pandas cannot hand the DataFrame over to Arrow: {error}. Convert the"
                    " column, as with df.astype({...})."
                ) from None
        else:
            table = pa.table(given)
        names = table.schema.names
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidProgramError(
                f"fromDataFrame: there are two columns {twice!r}. Give each a different name."
            )
        if timestamp is not None:
            check_column("to take timestamps from", timestamp, names)
        columns, kinds = [], []
        for name, column in zip(names, table.columns):
            kind = _kind(column.type, name)
            columns.append(_converted(column, kind, name))
            kinds.append(pa.field(name, kind))
        converted = pa.Table.from_arrays(columns, schema=pa.schema(kinds)).combine_chunks()
        if timestamp is not None:
            check_timestamp_type(timestamp, _ddl(converted.schema.field(timestamp).type))
        return TableSource(converted, timestamp)

    def getProducedType(self) -> TypeInformation[Any]:
        return type_of_columns(_fields(self.table.schema))


def _is_of_pandas(value: object) -> bool:
    kind = type(value)
    return kind.__module__.partition(".")[0] == "pandas" and kind.__name__ == "DataFrame"


def _converted(column: pa.ChunkedArray, kind: pa.DataType, name: str) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
            # A cast would round towards 1970
            column = pc.floor_temporal(column, unit="microsecond")
        return column.cast(kind)
    except pa.ArrowException as error:
        raise InvalidProgramError(
            f"fromDataFrame: the column {name!r} of type {column.type} has values that do not fit {kind}:"
            f" {error}. Convert the column before."
        ) from None


def _kind(kind: pa.DataType, name: str) -> pa.DataType:
    """The type that a column of that type is converted to, one of Spark's."""
    import pyarrow as pa

    types = pa.types
    if types.is_struct(kind):
        return pa.struct(
            [pa.field(part.name, _kind(part.type, f"{name}.{part.name}")) for part in kind]
        )
    if types.is_map(kind):
        return pa.map_(_kind(kind.key_type, f"{name}.key"), _kind(kind.item_type, f"{name}.value"))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(_kind(kind.value_type, f"{name}.element"))
    if types.is_dictionary(kind):
        return _kind(kind.value_type, name)
    tests: tuple[tuple[Callable[[pa.DataType], bool], pa.DataType], ...] = (
        (types.is_null, pa.string()),
        (types.is_string, pa.string()),
        (types.is_large_string, pa.string()),
        (types.is_binary, pa.binary()),
        (types.is_large_binary, pa.binary()),
        (types.is_fixed_size_binary, pa.binary()),
        (types.is_uint8, pa.int16()),
        (types.is_uint16, pa.int32()),
        (types.is_uint32, pa.int64()),
        (types.is_uint64, pa.decimal128(20, 0)),
        (types.is_signed_integer, kind),
        (types.is_float16, pa.float32()),
        (types.is_floating, kind),
        (types.is_boolean, kind),
        (types.is_decimal128, kind),
        (types.is_date, pa.date32()),
        (types.is_duration, pa.duration("us")),
        (types.is_timestamp, pa.timestamp("us", "UTC" if getattr(kind, "tz", None) else None)),
        (lambda kind: "string_view" in str(kind), pa.string()),
        (lambda kind: "binary_view" in str(kind), pa.binary()),
    )
    found = next((made for fits, made in tests if fits(kind)), None)
    if found is None:
        raise InvalidProgramError(
            f"fromDataFrame: the column {name!r} is of type {kind}, which columns here cannot have. Convert it"
            " before, such as to a text or a number."
        )
    return found


def _fields(schema: Any) -> str:
    return ", ".join(f"`{part.name.replace('`', '``')}`: {_ddl(part.type)}" for part in schema)


def _ddl(kind: pa.DataType) -> str:
    """A type as Spark's DDL writes it."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return f"struct<{_fields(kind)}>"
    if pa.types.is_map(kind):
        return f"map<{_ddl(kind.key_type)}, {_ddl(kind.item_type)}>"
    if pa.types.is_list(kind):
        return f"array<{_ddl(kind.value_type)}>"
    if pa.types.is_timestamp(kind):
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return _WORDS[str(kind)]


_WORDS = {
    "bool": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "binary",
    "date32[day]": "date",
    "duration[us]": "interval day to second",
}
