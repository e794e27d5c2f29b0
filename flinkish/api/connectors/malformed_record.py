"""``MalformedRecord``: a record that does not fit the schema of its source."""

from __future__ import annotations

from dataclasses import dataclass

from flinkish.api.errors import MalformedRecordError, shown


@dataclass(frozen=True)
class MalformedRecord:
    """A record of a file that does not fit the schema, with its position and the reason.

    ``line`` counts from 1, and is None in a file that was read in several ranges, or in columns;
    ``offset`` is where the record begins, in bytes (of the text, if the file is compressed). ``raw``
    contains its bytes, without the end of the line.
    """

    path: str
    line: int | None
    offset: int
    raw: bytes
    reason: str

    @property
    def text(self) -> str:
        """The record as text; bytes that are not UTF-8 appear as ``\\x..``."""
        return self.raw.decode("utf-8", "backslashreplace")

    @property
    def position(self) -> str:
        """The position of the record, in words: ``line 7 of data/a.csv``."""
        where = f"byte {self.offset}" if self.line is None else f"line {self.line}"
        return f"{where} of {self.path}"

    def error(self, source: str) -> MalformedRecordError:
        """The error that fails the job of ``source``."""
        return MalformedRecordError(
            f"{source}: the record {shown(self.text)} at {self.position} does not fit:"
            f" {self.reason}. Fix the file or the schema, or send such records to a side output"
            " with FileSource.withMalformedRecords(OutputTag)."
        )
