"""Flink's builders of file sources and sinks for lines of text, for ported jobs.

``FileSink.forText`` and ``FileSource.forLines`` do the same in one line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Generic, Self

from flinkish.api.arguments import instance, text
from flinkish.api.errors import IllegalArgumentError, NotSupportedError, shown
from flinkish.api.time.durations import TimeLike
from flinkish.api.type_variables import T_contra

if TYPE_CHECKING:
    from flinkish.api.connectors.bucket_assigner import BucketAssigner
    from flinkish.api.connectors.file_sink import FileSink
    from flinkish.api.connectors.file_source import FileSource


class Encoder(ABC, Generic[T_contra]):
    """Writes elements into files (Flink: ``Encoder``): derive from it and implement
    ``encode``.

    Encoders are pickled for the workers. File names end in ``.txt``, whatever the encoder writes.
    """

    @abstractmethod
    def encode(self, element: T_contra, stream: IO[bytes]) -> None:
        """Called with each element: write its bytes to ``stream``, the file, with a line break if
        you want one. The return value is ignored."""


@dataclass(frozen=True)
class SimpleStringEncoder(Encoder[Any]):
    """Writes ``str(element)`` and a line break, in UTF-8 (Flink: ``SimpleStringEncoder``)."""

    charsetName: str = "UTF-8"

    def __post_init__(self) -> None:
        _check_charset("SimpleStringEncoder", self.charsetName)

    def encode(self, element: Any, stream: IO[bytes]) -> None:
        if not hasattr(stream, "write"):
            raise IllegalArgumentError(
                f"SimpleStringEncoder.encode: {shown(stream)} is not a file. Pass one that is open for bytes."
            )
        stream.write(f"{element}\n".encode())


@dataclass(frozen=True)
class TextLineInputFormat:
    """The lines of files in UTF-8 (Flink: ``TextLineInputFormat``)."""

    charsetName: str = "UTF-8"

    def __post_init__(self) -> None:
        _check_charset("TextLineInputFormat", self.charsetName)


def _check_charset(subject: str, charset: str) -> None:
    text(f"{subject}: charset", charset)
    if charset.upper().replace("_", "-") not in ("UTF-8", "UTF8"):
        raise NotSupportedError(
            f"{subject}: files of text are in UTF-8, not in {charset}. Leave the charset out, and convert"
            " the files."
        )


class RollingPolicy:
    """Says when files are closed (Flink: ``RollingPolicy``). Here that is at the end of each
    batch."""


class OnCheckpointRollingPolicy(RollingPolicy):
    """Rolls files at each batch, which is what flinkish always does (Flink: ``OnCheckpointRollingPolicy``)."""

    @staticmethod
    def build() -> OnCheckpointRollingPolicy:
        """The policy."""
        return OnCheckpointRollingPolicy()


class DefaultRollingPolicy(RollingPolicy):
    """Accepted for ported jobs (Flink: ``DefaultRollingPolicy``): files are closed at the end of
    each batch."""

    @staticmethod
    def builder() -> DefaultRollingPolicyBuilder:
        """A builder."""
        return DefaultRollingPolicyBuilder()


class DefaultRollingPolicyBuilder:
    """Builds a ``DefaultRollingPolicy``. Its settings have no effect."""

    def withMaxPartSize(self, size: object) -> Self:
        """Accepted, without effect."""
        return self

    def withRolloverInterval(self, interval: TimeLike) -> Self:
        """Accepted, without effect."""
        return self

    def withInactivityInterval(self, interval: TimeLike) -> Self:
        """Accepted, without effect."""
        return self

    def build(self) -> DefaultRollingPolicy:
        """The policy."""
        return DefaultRollingPolicy()


@dataclass(frozen=True)
class OutputFileConfig:
    """The names of files (Flink: ``OutputFileConfig``), kept without effect: the engine names them."""

    partPrefix: str = "part"
    partSuffix: str = ""

    @staticmethod
    def builder() -> OutputFileConfigBuilder:
        """A builder."""
        return OutputFileConfigBuilder()

    def getPartPrefix(self) -> str:
        """The prefix of part file names. It has no effect."""
        return self.partPrefix

    def getPartSuffix(self) -> str:
        """The suffix of part file names. It has no effect."""
        return self.partSuffix


class OutputFileConfigBuilder:
    """Builds an ``OutputFileConfig``."""

    def __init__(self) -> None:
        self._prefix, self._suffix = "part", ""

    def withPartPrefix(self, prefix: str) -> Self:
        """Set what names begin with."""
        self._prefix = prefix
        return self

    def withPartSuffix(self, suffix: str) -> Self:
        """Set what names end with."""
        self._suffix = suffix
        return self

    def build(self) -> OutputFileConfig:
        """The configuration."""
        return OutputFileConfig(self._prefix, self._suffix)


class FileSinkBuilder:
    """Base class of the builders of file sinks."""

    def __init__(self, sink: FileSink[Any]) -> None:
        self._sink = sink

    def withBucketAssigner(self, assigner: BucketAssigner[Any]) -> Self:
        """Write each element into the bucket that ``assigner`` chooses: a directory in that of its
        batch."""
        return type(self)(self._sink.withBucketAssigner(assigner))

    def withRollingPolicy(self, policy: RollingPolicy) -> Self:
        """Accepted for ported jobs: files are closed at the end of each batch."""
        instance("withRollingPolicy", policy, RollingPolicy, "Pass one, or leave it out.")
        return self

    def withOutputFileConfig(self, outputFileConfig: OutputFileConfig) -> Self:
        """Accepted for ported jobs: the engine names the files."""
        instance("withOutputFileConfig", outputFileConfig, OutputFileConfig, "Leave it out.")
        return self

    def withBucketCheckInterval(self, interval: TimeLike) -> Self:
        """Accepted for ported jobs: each batch is a directory."""
        return self

    def build(self) -> FileSink[Any]:
        """The sink."""
        return self._sink


class RowFormatBuilder(FileSinkBuilder):
    """Builds a sink of lines (Flink: ``FileSink.RowFormatBuilder``)."""


class FileSourceBuilder:
    """Builds a source of lines (Flink: ``FileSource.FileSourceBuilder``)."""

    def __init__(self, source: FileSource[str]) -> None:
        self._source = source

    def monitorContinuously(self, discoveryInterval: TimeLike) -> FileSourceBuilder:
        """Keep watching for new files; flinkish chooses how often."""
        return FileSourceBuilder(self._source.monitorContinuously())

    def processStaticFileSet(self) -> Self:
        """Read the files that exist when the job starts. This is the default."""
        return self

    def build(self) -> FileSource[str]:
        """The source."""
        return self._source
