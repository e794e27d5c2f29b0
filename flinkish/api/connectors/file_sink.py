"""``FileSink``: writes elements to files of a directory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from flinkish.api.arguments import instance, text
from flinkish.api.connectors.bucket_assigner import BasePathBucketAssigner, BucketAssigner
from flinkish.api.connectors.bulk_format import BulkFormatBuilder, BulkWriterFactory
from flinkish.api.connectors.row_format import Encoder, RowFormatBuilder
from flinkish.api.connectors.sink import Sink
from flinkish.api.type_variables import T_contra
from flinkish.api.types.columns import check_schema_of_sink

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


@dataclass(frozen=True, eq=False)
class FileSink(Sink[T_contra]):
    """Files in a directory (Flink: ``FileSink``); a replayed batch never doubles a row.

    Created by ``forText``, ``forCsv``, ``forJson`` or ``forParquet``. Batch ``n`` writes the
    directory ``batch=n``, and replaces it if the batch is run again; so the directory must belong
    to this sink alone, and one with the output of another run is refused. Spark reads all of it as
    one table with the column ``batch``.

    ``schema`` (a DDL string or a StructType) names the columns; without one they are those of the
    stream's type (``DataStream.getType``). An element that does not fit them is an error that names
    the field. Elements with names (Rows, NamedTuples, dataclasses, dicts) are written by name: all columns
    must be there, and fields that the schema does not name are left out. Plain tuples go by position.
    ``options`` are those of Spark's writer of the format. Each worker writes its own part.
    """

    format: str
    path: str
    schema: str | StructType | None = None
    options: dict[str, str] = field(default_factory=dict)
    bucketAssigner: BucketAssigner[Any] | None = None
    encoder: Encoder[Any] | None = None

    def __post_init__(self) -> None:
        text("FileSink: path", self.path)

    @staticmethod
    def forText(path: str) -> FileSink[Any]:
        """Write ``str(element)`` of each element as a line. An element that contains a line break
        is an error, as it could not be read back as one line."""
        return FileSink("text", path)

    @staticmethod
    def forRowFormat(basePath: str, encoder: Encoder[Any]) -> RowFormatBuilder:
        """Write each element with ``encoder``: lines of ``str(element)`` with
        ``SimpleStringEncoder()``, any bytes with an encoder of your own (Flink:
        ``FileSink.forRowFormat``)."""
        fix = "Pass SimpleStringEncoder(), or an object of a class derived from Encoder."
        instance("FileSink.forRowFormat: encoder", encoder, Encoder, fix)
        return RowFormatBuilder(FileSink("text", basePath, encoder=encoder))

    @staticmethod
    def forBulkFormat(basePath: str, bulkWriterFactory: BulkWriterFactory) -> BulkFormatBuilder:
        """``forParquet`` by a builder, for ported jobs."""
        fix = "Pass ParquetBulkWriters.forRowType(type)."
        subject = "FileSink.forBulkFormat: bulkWriterFactory"
        factory = instance(subject, bulkWriterFactory, BulkWriterFactory, fix)
        return BulkFormatBuilder(FileSink(factory.format, basePath, factory.schema))

    def withBucketAssigner(self, assigner: BucketAssigner[Any]) -> Self:
        """The same sink with a directory ``bucket=<id>`` in that of the batch for each id that
        ``assigner`` returns."""
        fix = "Pass DateTimeBucketAssigner(), or an object of a class derived from BucketAssigner."
        instance("FileSink.withBucketAssigner", assigner, BucketAssigner, fix)
        path = isinstance(assigner, BasePathBucketAssigner)
        return replace(self, bucketAssigner=None if path else assigner)

    @staticmethod
    def forCsv(path: str, schema: str | StructType | None = None, **options: str) -> FileSink[Any]:
        """Tuples, Rows, dicts or dataclasses as CSV, by RFC 4180: see "Files" in the docs for the form of each
        type. Fields with parts, such as lists, cannot be written and are an error."""
        check_schema_of_sink("FileSink.forCsv", schema)
        return FileSink("csv", path, schema, options)

    @staticmethod
    def forJson(path: str, schema: str | StructType | None = None, **options: str) -> FileSink[Any]:
        """Elements as JSON, one a line: an object if their fields have names, else a value or an
        array.

        Where the stream's type does not give the columns, each element decides: dataclasses,
        NamedTuples and Rows become objects and tuples arrays, at any depth.
        """
        check_schema_of_sink("FileSink.forJson", schema)
        return FileSink("json", path, schema, options)

    @staticmethod
    def forParquet(
        path: str, schema: str | StructType | None = None, **options: str
    ) -> FileSink[Any]:
        """Elements as Parquet; without a schema the stream's type must be known."""
        check_schema_of_sink("FileSink.forParquet", schema)
        return FileSink("parquet", path, schema, options)
