"""Files: ``FileSource`` and ``FileSink``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NoReturn, Self, TypeAlias

from flinkish.api.arguments import instance
from flinkish.api.connectors.bucket_assigner import BasePathBucketAssigner, DateTimeBucketAssigner
from flinkish.api.connectors.bucket_assigner import BucketAssigner as CoreBucketAssigner
from flinkish.api.connectors.file_sink import FileSink as CoreFileSink
from flinkish.api.connectors.file_source import FileSource as CoreFileSource
from flinkish.api.errors import NotSupportedError
from flinkish.pyflink.absent import AbsentMethods, absent_names, refuse
from flinkish.pyflink.common.serialization import Encoder, RowDataBulkWriterFactory
from flinkish.pyflink.common.time import Duration
from flinkish.pyflink.common.typeinfo import RowTypeInfo, TypeInformation
from flinkish.pyflink.common.types import Row
from flinkish.pyflink.datastream.connectors.base import Sink, Source

__all__ = [
    "BucketAssigner",
    "FileSink",
    "FileSource",
    "OutputFileConfig",
    "RollingPolicy",
    "StreamFormat",
]


class StreamFormat:
    """Reads files (PyFlink: ``StreamFormat``): as lines of text."""

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        """The lines of text files in UTF-8."""
        if charset_name.upper() not in ("UTF-8", "UTF8"):
            raise NotSupportedError(
                f"text_line_format: lines are read as UTF-8, not as {charset_name}. Convert the files."
            )
        return StreamFormat()


class FileSourceBuilder(AbsentMethods):
    """Builds a ``FileSource``."""

    def __init__(self, source: CoreFileSource[str]) -> None:
        self._source = source

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder:
        """Keep watching for new files; flinkish chooses how often."""
        return FileSourceBuilder(self._source.monitorContinuously())

    def process_static_file_set(self) -> FileSourceBuilder:
        """Read the files that exist when the job starts. This is the default."""
        return self

    def build(self) -> FileSource:
        """The source."""
        return FileSource(self._source)


class FileSource(Source):
    """Files of a path (PyFlink: ``FileSource``)."""

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat, *paths: str) -> FileSourceBuilder:
        """The lines of the files of a path."""
        fix = "Pass StreamFormat.text_line_format()."
        instance("for_record_stream_format", stream_format, StreamFormat, fix)
        if not paths:
            raise ValueError("for_record_stream_format: pass a path.")
        path = paths[0] if len(paths) == 1 else f"{{{','.join(paths)}}}"
        return FileSourceBuilder(CoreFileSource.forLines(path))

    @staticmethod
    def for_bulk_file_format(bulk_format: object, *paths: str) -> NoReturn:
        """Not supported: the formats are Java's."""
        refuse(FileSource, "for_bulk_file_format")


class RollingPolicy:
    """Says when files are closed (PyFlink: ``RollingPolicy``); here a batch is a directory of
    files."""

    @staticmethod
    def default_rolling_policy(
        part_size: int = 1024 * 1024 * 128,
        rollover_interval: int = 60 * 1000,
        inactivity_interval: int = 60 * 1000,
    ) -> DefaultRollingPolicy:
        """Accepted, without effect."""
        return DefaultRollingPolicy()

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """The policy of flinkish: files are closed at the end of each batch."""
        return OnCheckpointRollingPolicy()


class DefaultRollingPolicy(RollingPolicy):
    """Closes files by size and age (PyFlink: ``DefaultRollingPolicy``)."""


class OnCheckpointRollingPolicy(RollingPolicy):
    """Closes files at the end of each batch (PyFlink: ``OnCheckpointRollingPolicy``)."""


class BucketAssigner:
    """Says which directory elements go to (PyFlink: ``BucketAssigner``), within that of their
    batch."""

    def __init__(self, assigner: CoreBucketAssigner[Any]) -> None:
        self.core = assigner

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """No directories other than those of the batches."""
        return BucketAssigner(BasePathBucketAssigner())

    @staticmethod
    def date_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None
    ) -> BucketAssigner:
        """A directory ``bucket=<id>`` for each distinct processing time in that format."""
        return BucketAssigner(DateTimeBucketAssigner(format_str, timezone_id))


class OutputFileConfigBuilder:
    """Builds an ``OutputFileConfig``."""

    def __init__(self) -> None:
        self._prefix, self._suffix = "part", ""

    def with_part_prefix(self, prefix: str) -> OutputFileConfigBuilder:
        """Set what names begin with."""
        self._prefix = prefix
        return self

    def with_part_suffix(self, suffix: str) -> OutputFileConfigBuilder:
        """Set what names end with."""
        self._suffix = suffix
        return self

    def build(self) -> OutputFileConfig:
        """The configuration."""
        return OutputFileConfig(self._prefix, self._suffix)


class OutputFileConfig:
    """The names of files (PyFlink: ``OutputFileConfig``), kept without effect."""

    OutputFileConfigBuilder: TypeAlias = OutputFileConfigBuilder

    def __init__(self, part_prefix: str, part_suffix: str) -> None:
        self._prefix, self._suffix = part_prefix, part_suffix

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """A builder."""
        return OutputFileConfig.OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        """The prefix of file names."""
        return self._prefix

    def get_part_suffix(self) -> str:
        """The suffix of file names."""
        return self._suffix


class _BaseBuilder(ABC):
    """The base of the builders of ``FileSink``."""

    def __init__(self, sink: CoreFileSink[Any], row_type: RowTypeInfo | None = None) -> None:
        self._sink = sink
        self._row_type = row_type

    def with_bucket_check_interval(self, interval: int) -> Self:
        """Accepted, without effect."""
        return self

    def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> Self:
        """Write each element into the bucket that the assigner chooses."""
        fix = "Pass BucketAssigner.date_time_bucket_assigner()."
        instance("with_bucket_assigner", bucket_assigner, BucketAssigner, fix)
        return type(self)(self._sink.withBucketAssigner(bucket_assigner.core), self._row_type)

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> Self:
        """Accepted, without effect."""
        return self

    @abstractmethod
    def with_rolling_policy(self, rolling_policy: Any) -> Self:
        """Set when files are closed."""

    def enable_compact(self, strategy: object, compactor: object) -> Self:
        """Accepted, without effect: a batch writes one file per task."""
        return self

    def disable_compact(self) -> Self:
        """Accepted: files are not compacted."""
        return self

    def build(self) -> FileSink:
        """The sink."""
        return FileSink(self._sink, self._row_type)


class RowFormatBuilder(_BaseBuilder):
    """Builds a ``FileSink`` of lines."""

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Self:
        """Accepted, without effect."""
        return self


class BulkFormatBuilder(_BaseBuilder):
    """Builds a ``FileSink`` of columns."""

    def with_rolling_policy(self, rolling_policy: OnCheckpointRollingPolicy) -> Self:
        """Accepted: files are closed at the end of each batch."""
        fix = "Pass RollingPolicy.on_checkpoint_rolling_policy(), as in Flink, or leave it out."
        instance("with_rolling_policy", rolling_policy, OnCheckpointRollingPolicy, fix)
        return self


class FileSink(Sink):
    """Files of a directory (PyFlink: ``FileSink``): a line for each element, or columns."""

    BaseBuilder: TypeAlias = _BaseBuilder
    RowFormatBuilder: TypeAlias = RowFormatBuilder
    BulkFormatBuilder: TypeAlias = BulkFormatBuilder

    def __init__(self, sink: CoreFileSink[Any], row_type: RowTypeInfo | None = None) -> None:
        super().__init__(sink)
        self._row_type = row_type

    def writable(self, kind: TypeInformation) -> Callable[[Any], Any]:
        return kind.text_of if self._row_type is None else _Columns(self._row_type)

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> FileSink.RowFormatBuilder:
        """A line of text for each element."""
        instance("for_row_format", encoder, Encoder, "Pass Encoder.simple_string_encoder().")
        return FileSink.RowFormatBuilder(CoreFileSink.forText(base_path))

    @staticmethod
    def for_bulk_format(
        base_path: str, writer_factory: RowDataBulkWriterFactory
    ) -> FileSink.BulkFormatBuilder:
        """Files of columns: ``writer_factory`` says which, and in what format."""
        fix = "Pass ParquetBulkWriters.for_row_type(Types.ROW_NAMED(names, types))."
        instance("for_bulk_format", writer_factory, RowDataBulkWriterFactory, fix)
        sink = CoreFileSink.forBulkFormat(base_path, writer_factory.core).build()
        return FileSink.BulkFormatBuilder(sink, writer_factory.get_row_type())


class _Columns:
    """Converts a Row to a tuple, for columns, and Rows inside it as well."""

    def __init__(self, row_type: RowTypeInfo) -> None:
        self._row_type = row_type

    def __call__(self, row: Any) -> Any:
        return _plain(self._row_type.converted(row))


def _plain(value: Any) -> Any:
    if isinstance(value, (Row, tuple)):
        return tuple(map(_plain, value))
    if isinstance(value, list):
        return list(map(_plain, value))
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    return value


__getattr__ = absent_names(__name__)
