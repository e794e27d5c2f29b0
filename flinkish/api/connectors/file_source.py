"""``FileSource``: reads the files of a directory, once or as they come."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from flinkish.api.arguments import instance, positive, positive_length, text
from flinkish.api.connectors.malformed_record import MalformedRecord
from flinkish.api.connectors.row_format import FileSourceBuilder, TextLineInputFormat
from flinkish.api.connectors.source import Source
from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.api.output_tag import OutputTag, checked_tag
from flinkish.api.time.durations import TimeLike
from flinkish.api.type_variables import T_co
from flinkish.api.types.columns import is_schema, type_of_columns
from flinkish.api.types.row import Row
from flinkish.api.types.type_info import TypeInformation, Types

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


@dataclass(frozen=True, eq=False)
class FileSource(Source[T_co]):
    """Files of a directory, or of a path with wildcards (Flink: ``FileSource``).

    Created by ``forLines``, ``forCsv``, ``forJson`` or ``forParquet``. The files of a directory and
    of all directories below it are read oldest first, by modification time and then by path: in
    batches of up to a gigabyte, unless ``withFilesPerBatch`` or ``withBytesPerBatch`` says
    otherwise. Names that begin with ``_`` or ``.`` are skipped. A file is read once: let it appear
    whole, by renaming it. ``options`` are those of Spark's reader of the format.

    >>> source = FileSource.forCsv("flights/", "origin string, at long").withFilesPerBatch(1)
    """

    format: str
    path: str
    schema: str | StructType | None = None
    options: dict[str, str] = field(default_factory=dict)
    monitored: bool = False
    filesPerBatch: int | None = None
    bytesPerBatch: int = 1 << 30
    maxFileAge: int | None = None
    malformedRecords: OutputTag[MalformedRecord] | None = None

    def __post_init__(self) -> None:
        text("FileSource: path", self.path)

    @property
    def bounded(self) -> bool:
        return not self.monitored

    def getProducedType(self) -> TypeInformation[Any]:
        return Types.STRING() if self.schema is None else type_of_columns(self.schema)

    @staticmethod
    def forLines(path: str, **options: str) -> FileSource[str]:
        """The lines of text files."""
        return FileSource("text", path, None, options)

    @staticmethod
    def forRecordStreamFormat(streamFormat: TextLineInputFormat, *paths: str) -> FileSourceBuilder:
        """``forLines`` by a builder, for ported jobs."""
        fix = "Pass TextLineInputFormat(), or use forCsv, forJson or forParquet."
        subject = "FileSource.forRecordStreamFormat: streamFormat"
        instance(subject, streamFormat, TextLineInputFormat, fix)
        path = paths[0] if len(paths) == 1 else f"{{{','.join(paths)}}}"
        return FileSourceBuilder(FileSource.forLines(path))

    @staticmethod
    def forCsv(path: str, schema: str | StructType, **options: str) -> FileSource[Row]:
        """CSV files as Rows. ``schema``: a DDL string such as ``"origin string, delay int"``, or a
        StructType."""
        return FileSource("csv", path, _given(schema, "forCsv"), options)

    @staticmethod
    def forJson(path: str, schema: str | StructType, **options: str) -> FileSource[Row]:
        """Files with one JSON object per line as Rows."""
        return FileSource("json", path, _given(schema, "forJson"), options)

    @staticmethod
    def forParquet(path: str, schema: str | StructType, **options: str) -> FileSource[Row]:
        """Parquet files as Rows; only the columns of ``schema`` are read."""
        return FileSource("parquet", path, _given(schema, "forParquet"), options)

    def monitorContinuously(self) -> Self:
        """Keep watching the directory for new files: the source is unbounded.

        A file is read once, when it is first seen, so it must appear whole: write it under a name that
        begins with a dot, then rename it. Data added to a file later is not read, as in Flink; in a
        directory of this machine's file system a warning says so.
        """
        return replace(self, monitored=True)

    def withFilesPerBatch(self, files: int) -> Self:
        """Read at most ``files`` files in a batch, in the order of their modification times."""
        return replace(self, filesPerBatch=positive("withFilesPerBatch", files))

    def withBytesPerBatch(self, size: int) -> Self:
        """Read files of at most ``size`` bytes in a batch, a gigabyte by default; a larger file is
        a separate batch. So a job that starts with a large backlog does not read it all at
        once."""
        return replace(self, bytesPerBatch=positive("withBytesPerBatch", size))

    def withMaxFileAge(self, age: TimeLike) -> Self:
        """Skip files that are older than the newest by more than ``age``; a warning counts them.
        Without this setting every file is read, however old it is."""
        return replace(self, maxFileAge=positive_length("withMaxFileAge", age))

    def withMalformedRecords(self, tag: OutputTag[MalformedRecord]) -> Self:
        """Send malformed records to a side output instead of failing the job: lines of CSV or JSON
        that do not fit the schema, and lines that are not UTF-8.

        ``getSideOutput(tag)`` of the stream that ``fromSource`` returns contains the
        MalformedRecords, without timestamps; the source's metric ``numRecordsInErrors`` counts
        them. A file that cannot be read at all, such as a truncated compressed file, still fails
        the job.

        >>> broken = OutputTag("broken")
        >>> source = FileSource.forCsv("flights/", "origin string").withMalformedRecords(broken)
        """
        checked_tag("FileSource.withMalformedRecords", tag)
        if self.format == "parquet":
            raise IllegalArgumentError(
                "FileSource.withMalformedRecords: a Parquet file fits its schema as a whole or not at"
                " all, so there are no records to send away. Leave it out for forParquet."
            )
        return replace(self, malformedRecords=tag)


def _given(schema: str | StructType, method: str) -> str | StructType:
    if not is_schema(schema):
        raise IllegalArgumentError(
            f"FileSource.{method}: {shown(schema)} is no schema. Pass one, such as"
            ' "origin string, delay int" or a StructType: a streaming source cannot guess it from'
            " files that have not come yet."
        )
    return schema
