"""The interface of file formats, which read ranges of files in the worker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Union

from flinkish.api.connectors.malformed_record import MalformedRecord
from flinkish.api.time.elements import Watermark
from flinkish.runtime.formats.files import is_compressed
from flinkish.runtime.records.frames import SplitMark
from flinkish.runtime.records.records import Records

ReadResult = Union[Records, MalformedRecord, SplitMark, Watermark]
"""A result of reading: records, a misfit, the split of the next records, or a watermark."""


@dataclass(frozen=True)
class FileSplit:
    """A range of bytes of a file of ``size`` bytes. The whole file is ``(path, 0, size, size)``.
    ``path`` is a path on the machine, or a URI for ``pyarrow.fs.FileSystem.from_uri``."""

    path: str
    start: int
    length: int
    size: int

    @property
    def whole(self) -> bool:
        return self.start == 0 and self.length >= self.size


class FileFormat(ABC):
    """Reads files of one format and schema. It is pickled for the workers."""

    @abstractmethod
    def read(self, split: FileSplit) -> Iterator[ReadResult]:
        """The records of ``split`` in order, in runs of about 50,000, without timestamps: rows as
        RowColumns, lines as lists of str. In each block of lines, the MalformedRecords come after
        the records. Raises MalformedRecordError if the file as a whole cannot be read."""

    def splits(self, path: str) -> bool:
        """Whether the file ``path`` may be read in several ranges (Spark: ``isSplitable``)."""
        return not is_compressed(path)
