"""Flink's builder of file sinks for columns, for ported jobs.

``FileSink.forParquet`` does the same in one line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flinkish.api.connectors.row_format import FileSinkBuilder
from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.api.types.columns import columns_of, is_schema
from flinkish.api.types.type_info import TypeInformation

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class BulkWriterFactory:
    """A columnar format, and the columns to write (Flink: ``BulkWriter.Factory``). Created by
    ``ParquetBulkWriters``."""

    format: str
    schema: str | StructType | None = None


class ParquetBulkWriters:
    """Parquet for ``FileSink.forBulkFormat`` (PyFlink: ``ParquetBulkWriters``)."""

    @staticmethod
    def forRowType(
        rowType: TypeInformation[Any] | str | StructType | None = None,
    ) -> BulkWriterFactory:
        """Files with the columns of ``rowType``, ``Types.ROW_NAMED(...)`` or a schema such as ``"user
        string, amount long"``; without one those of the stream's type."""
        if isinstance(rowType, TypeInformation):
            rowType = columns_of(rowType, "ParquetBulkWriters.forRowType")
        elif rowType is not None and not is_schema(rowType):
            raise IllegalArgumentError(
                f"ParquetBulkWriters.forRowType: {shown(rowType)} is no type of rows. Pass"
                ' Types.ROW_NAMED(...), a schema such as "user string, amount long", or nothing.'
            )
        return BulkWriterFactory("parquet", rowType)


class BulkFormatBuilder(FileSinkBuilder):
    """Builds a sink of columns (Flink: ``FileSink.BulkFormatBuilder``)."""
