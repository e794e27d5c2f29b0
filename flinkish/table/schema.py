"""``Schema``: the columns, the time attribute and the watermarks of a table over a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from flinkish.api.arguments import instance, text
from flinkish.api.errors import IllegalArgumentError, NotSupportedError
from flinkish.table.data_types import DataType, DataTypes

SOURCE_WATERMARK = "SOURCE_WATERMARK()"


@dataclass(frozen=True)
class SchemaColumn:
    """A column: a field of the elements has a ``type``, a computed column an ``expression``, the
    timestamp ``metadata``."""

    name: str
    type: DataType | None = None
    expression: str | None = None
    metadata: bool = False


@dataclass(frozen=True)
class Schema:
    """Describes the columns of a table (Flink: ``Schema``). Build it with ``newBuilder()``.

    >>> schema = Schema.newBuilder().column("user", "STRING").columnByMetadata("rowtime", "TIMESTAMP_LTZ(3)").build()
    >>> [column.name for column in schema.columns]
    ['user', 'rowtime']
    """

    columns: tuple[SchemaColumn, ...] = ()
    watermarkColumn: str | None = None
    watermark: str | None = None

    @staticmethod
    def newBuilder() -> SchemaBuilder:
        """A builder with no columns yet."""
        return SchemaBuilder()


class SchemaBuilder:
    """Builds a ``Schema`` (Flink: ``Schema.Builder``)."""

    def __init__(self) -> None:
        self._columns: list[SchemaColumn] = []
        self._watermark: tuple[str, str] | None = None

    def column(self, columnName: str, dataType: DataType | str) -> Self:
        """Add a column for a field of the elements, with its type or the type's name in SQL."""
        self._add(SchemaColumn(text("column", columnName), _type("column", dataType)))
        return self

    def columnByExpression(self, columnName: str, expression: str) -> Self:
        """Add a column that is computed from fields of the elements."""
        self._add(SchemaColumn(columnName, expression=text("columnByExpression", expression)))
        return self

    def columnByMetadata(
        self,
        columnName: str,
        dataType: DataType | str,
        metadataKey: str | None = None,
        isVirtual: bool = False,
    ) -> Self:
        """Add the timestamp of the elements as a column; the only key is ``rowtime``, and the type
        ``TIMESTAMP_LTZ(3)``."""
        key = metadataKey or columnName
        kind = _type("columnByMetadata", dataType)
        if key != "rowtime":
            raise NotSupportedError(
                f"columnByMetadata: there is no metadata {key!r} in a stream. Write columnByMetadata({columnName!r},"
                " DataTypes.TIMESTAMP_LTZ(3), 'rowtime')."
            )
        if str(kind.nullableIf(True)) != "TIMESTAMP_LTZ(3)":
            raise NotSupportedError(
                f"columnByMetadata: rowtime is TIMESTAMP_LTZ(3), and not {kind}. Cast it with columnByExpression."
            )
        self._add(SchemaColumn(columnName, kind, metadata=True))
        return self

    def watermark(self, columnName: str, watermarkExpression: str) -> Self:
        """Set the time attribute and its watermarks: ``SOURCE_WATERMARK()`` for those of the
        stream, or ``column - INTERVAL '5' SECOND``."""
        self._watermark = (columnName, text("watermark", watermarkExpression))
        return self

    def primaryKey(self, *columnNames: str) -> Self:
        """Accepted without effect for ported jobs: rows that never change need no key."""
        return self

    def build(self) -> Schema:
        """The schema."""
        column, expression = self._watermark or (None, None)
        return Schema(tuple(self._columns), column, expression)

    def _add(self, column: SchemaColumn) -> None:
        if any(known.name == column.name for known in self._columns):
            raise IllegalArgumentError(
                f"Schema: there are two columns {column.name!r}. Name each once."
            )
        self._columns.append(column)


def _type(method: str, kind: DataType | str) -> DataType:
    if isinstance(kind, str):
        return DataTypes.of(kind)
    return instance(
        method, kind, DataType, "Pass one such as DataTypes.STRING(), or its name in SQL."
    )


@dataclass(frozen=True)
class ResolvedSchema:
    """The columns of a table with their types (Flink: ``ResolvedSchema``)."""

    names: tuple[str, ...]
    types: tuple[DataType, ...]
    rowtimes: tuple[bool, ...]

    def getColumnNames(self) -> list[str]:
        """The names of the columns."""
        return list(self.names)

    def getColumnDataTypes(self) -> list[DataType]:
        """The types of the columns."""
        return list(self.types)

    def getColumnCount(self) -> int:
        """The number of columns."""
        return len(self.names)

    def __str__(self) -> str:
        lines = (
            f"  `{name}` {kind.nullableIf(True) if rowtime else kind}{' *ROWTIME*' if rowtime else ''}"
            for name, kind, rowtime in zip(self.names, self.types, self.rowtimes)
        )
        return "(\n" + ",\n".join(lines) + "\n)"
