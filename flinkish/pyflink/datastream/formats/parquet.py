"""Parquet for ``FileSink.for_bulk_format``; the names of Java's formats say what to write
instead."""

from __future__ import annotations

from flinkish.api.arguments import instance
from flinkish.api.connectors.bulk_format import ParquetBulkWriters as CoreParquetBulkWriters
from flinkish.api.errors import NotSupportedError
from flinkish.pyflink.absent import absent_names
from flinkish.pyflink.common.configuration import Configuration
from flinkish.pyflink.common.serialization import RowDataBulkWriterFactory
from flinkish.pyflink.common.typeinfo import RowTypeInfo

__all__ = ["ParquetBulkWriters"]


class ParquetBulkWriters:
    """Writers of Parquet (PyFlink: ``ParquetBulkWriters``)."""

    @staticmethod
    def for_row_type(
        row_type: RowTypeInfo,
        hadoop_config: Configuration | None = None,
        utc_timestamp: bool = False,
    ) -> RowDataBulkWriterFactory:
        """Files with the columns of ``row_type``: ``Types.ROW_NAMED(names, types)``, as types of
        tables are not supported here. ``hadoop_config`` and ``utc_timestamp`` have no effect."""
        subject = "ParquetBulkWriters.for_row_type"
        fix = "Pass Types.ROW_NAMED(names, types): DataTypes are of Flink's tables."
        core = instance(subject, row_type, RowTypeInfo, fix).core
        if core is None:
            raise NotSupportedError(
                f"{subject}: {row_type!r} has a field of a type that Parquet has no column for, such as"
                " PICKLED_BYTE_ARRAY. Give it another type."
            )
        return RowDataBulkWriterFactory(CoreParquetBulkWriters.forRowType(core), row_type)


__getattr__ = absent_names(__name__)
