"""``Schema`` under PyFlink's names."""

from __future__ import annotations

from typing import Self

from flinkish.pyflink.absent import AbsentMethods
from flinkish.table.data_types import DataType
from flinkish.table.schema import Schema as CoreSchema
from flinkish.table.schema import SchemaBuilder

__all__ = ["Schema"]


class Schema(AbsentMethods):
    """The columns, the time attribute and the watermarks of a table created from a stream (PyFlink:
    ``Schema``)."""

    def __init__(self, core: CoreSchema) -> None:
        self.core = core
        """The schema as flinkish's own."""

    @staticmethod
    def new_builder() -> Schema.Builder:
        """A builder with no columns yet."""
        return Schema.Builder()

    class Builder(AbsentMethods):
        """Builds a schema (PyFlink: ``Schema.Builder``)."""

        def __init__(self) -> None:
            self._builder = SchemaBuilder()

        def column(self, column_name: str, data_type: str | DataType) -> Self:
            """A column that the elements have."""
            self._builder.column(column_name, data_type)
            return self

        def column_by_expression(self, column_name: str, expr: str) -> Self:
            """A column computed from the others."""
            self._builder.columnByExpression(column_name, expr)
            return self

        def column_by_metadata(
            self,
            column_name: str,
            data_type: DataType | str,
            metadata_key: str | None = None,
            is_virtual: bool = False,
        ) -> Self:
            """The timestamp of the elements as a column."""
            self._builder.columnByMetadata(column_name, data_type, metadata_key, is_virtual)
            return self

        def watermark(self, column_name: str, watermark_expr: str) -> Self:
            """The time attribute, and its watermarks."""
            self._builder.watermark(column_name, watermark_expr)
            return self

        def primary_key(self, *column_names: str) -> Self:
            """Accepted for ported jobs."""
            return self

        def build(self) -> Schema:
            """The schema."""
            return Schema(self._builder.build())
