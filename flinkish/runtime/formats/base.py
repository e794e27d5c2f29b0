"""The interface of file formats, which read a range of a file in the worker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Union

from flinkish.api.connectors.malformed_record import MalformedRecord
from flinkish.api.time.elements import Watermark
from flinkish.runtime.records.frames import SplitMark
from flinkish.runtime.records.records import Records

ReadResult = Union[Records, MalformedRecord, SplitMark, Watermark]
"""What a source reads: records, a record that does not fit, the split that the next ones are of, or a
watermark."""


@dataclass(frozen=True)
class FileSplit:
    """A range of bytes of a file of ``size`` bytes; the whole file is ``(path, 0, size, size)``.

    ``path`` is a path of the machine, or a URI that ``pyarrow.fs.FileSystem.from_uri`` reads.
    """

    path: str
    start: int
    length: int
    size: int

    @property
    def whole(self) -> bool:
        """Whether it is the whole file."""
        return self.start == 0 and self.length >= self.size


class LineFormat(ABC):
    """Turns lines into records, from wherever they were read."""

    @abstractmethod
    def recordsOf(self, lines: bytes, path: str) -> Iterator[ReadResult]:
        """The records of whole lines of a file of that path, and what does not fit."""


class FileFormat(ABC):
    """Reads files of one format and schema; it is pickled for the workers."""

    splittable: ClassVar[bool] = False
    """Whether a file may be read in several ranges; ``splits`` says it of one file."""

    @abstractmethod
    def read(self, split: FileSplit) -> Iterator[ReadResult]:
        """The records of ``split`` in order, in runs of about 50,000, without timestamps: rows as
        RowColumns, lines as lists of str. What does not fit comes at its place as a MalformedRecord.

        Raises MalformedRecordError if the file as a whole cannot be read.
        """

    def splits(self, path: str) -> bool:
        """Whether the file of that path may be read in several ranges (Spark: ``isSplitable``)."""
        return self.splittable
