"""Decoders: they turn the Arrow batches of a source into runs of records."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flinkish.api.connectors.malformed_record import MalformedRecord
from flinkish.api.errors import MalformedRecordError, shown
from flinkish.runtime.formats.base import FileFormat, FileSplit, ReadResult
from flinkish.runtime.records.frames import decode_frame
from flinkish.runtime.records.records import Records, untimed
from flinkish.runtime.records.rows import RowColumns, python_values
from flinkish.runtime.sources.tables import number_records, timestamps_in
from flinkish.runtime.sources.user_sources import FrameFiles, read_frame

if TYPE_CHECKING:
    # Processes that plan a source import this module, but need not import the code that reads one.
    from flinkish.runtime.formats.rows_of_lines import RowsOfLines
    from flinkish.runtime.kafka.reader import KafkaReader

END_OF_SOURCE = None
"""Returned in place of records: the source ends with this part."""

DESCRIPTOR = "value"
"""The column of the descriptors of a planned source."""

PART = "__part"
"""The column with the number of the part, of sources in the checkpoint's tables."""


class ArrowDecoder(ABC):
    """Decodes the records in a batch of a source, part by part. A part is a piece of the source
    that keeps its place in the source's order; None stands for the batch's Spark partition."""

    takesRows: ClassVar[bool] = False
    """Whether Spark has a row for each element; one of flinkish's may have many."""

    @abstractmethod
    def decode(self, batch: pa.RecordBatch) -> Iterator[tuple[int | None, ReadResult | None]]:
        """The records and the malformed ones of ``batch``, in order, or END_OF_SOURCE."""

    def close(self) -> None:
        """Called when there is nothing more to decode: release connections and the like."""


class PieceDecoder(ArrowDecoder):
    """Reads the pieces that the descriptors of a planned source name."""

    def decode(self, batch: pa.RecordBatch) -> Iterator[tuple[int | None, ReadResult | None]]:
        for descriptor in _list(batch, DESCRIPTOR):
            part, *piece = json.loads(descriptor)
            if not piece:
                yield part, END_OF_SOURCE
                continue
            for records in self.read(*piece):
                yield part, records

    @abstractmethod
    def read(self, *piece: Any) -> Iterator[ReadResult]:
        """The records of a piece; ``piece`` is its name from the planner."""


@dataclass(frozen=True)
class FilePieceDecoder(PieceDecoder):
    format: FileFormat

    def read(self, *piece: Any) -> Iterator[ReadResult]:
        yield from self.format.read(FileSplit(*piece))


@dataclass(frozen=True)
class KafkaPieceDecoder(PieceDecoder):
    reader: KafkaReader

    def read(self, *piece: Any) -> Iterator[ReadResult]:
        yield from self.reader.read(*piece)

    def close(self) -> None:
        self.reader.close()


@dataclass(frozen=True)
class FramePieceDecoder(PieceDecoder):
    """Reads elements that were pickled into frames of one file when the job started."""

    file: str

    def read(self, *piece: Any) -> Iterator[Records]:
        start, length = piece
        with open(self.file, "rb") as frames:
            frames.seek(start)
            yield decode_frame(frames.read(length), stored=True).records


@dataclass(frozen=True)
class UserSourceDecoder(PieceDecoder):
    """Reads a user source's elements from frames, one file for each step."""

    frames: FrameFiles

    def read(self, *piece: Any) -> Iterator[ReadResult]:
        yield from read_frame(self.frames.read(*piece))


@dataclass(frozen=True)
class FrameDecoder(ArrowDecoder):
    """Decodes the elements of a collection or of a user's source from rows that are frames."""

    def decode(self, batch: pa.RecordBatch) -> Iterator[tuple[int | None, ReadResult]]:
        for part, frame in zip(_list(batch, PART), _list(batch, "frame")):
            for read in read_frame(decode_frame(frame, stored=True)):
                yield part, read


@dataclass(frozen=True)
class NumberPieceDecoder(PieceDecoder):
    """Generates numbers, or calls ``generator`` with each number."""

    generator: Callable[[int], Any] | None

    def read(self, *piece: Any) -> Iterator[Records]:
        yield from number_records(self.generator, *piece)


@dataclass(frozen=True)
class SingleColumnDecoder(ArrowDecoder):
    """Decodes the values of one column, such as the lines of a text."""

    takesRows = True

    column: str

    def decode(self, batch: pa.RecordBatch) -> Iterator[tuple[int | None, Records]]:
        yield None, untimed(_list(batch, self.column))


@dataclass(frozen=True)
class LinesDecoder(ArrowDecoder):
    """Decodes lines of CSV or JSON in the column ``value`` to Rows, if Spark reads the lines of
    files in ``path`` and does not say which line of which file each is."""

    takesRows = True

    format: RowsOfLines
    path: str

    def decode(self, batch: pa.RecordBatch) -> Iterator[tuple[int | None, ReadResult]]:
        lines = batch.column(batch.schema.get_field_index("value"))
        whole = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
        text = pc.binary_join(whole, "\n")[0].as_buffer().to_pybytes()
        for result in self.format.recordsOf(text, self.path):
            if isinstance(result, MalformedRecord):
                raise MalformedRecordError(
                    f"FileSource: the record {shown(result.text)} of a file in {result.path} does not"
                    f" fit: {result.reason}. Fix the file or the schema."
                )
            yield None, result


@dataclass(frozen=True)
class RowDecoder(ArrowDecoder):
    """Decodes the columns to Rows; ``timestamp`` names the column with the element's timestamp."""

    takesRows = True

    fields: tuple[str, ...]
    timestamp: str | None = None

    def decode(self, batch: pa.RecordBatch) -> Iterator[tuple[int | None, Records]]:
        timestamps = timestamps_in(batch, self.timestamp)
        yield None, Records(RowColumns(batch.select(self.fields)), timestamps)


@dataclass(frozen=True)
class PartDecoder(ArrowDecoder):
    """Decodes with ``rows``; a column says which part of the source a row belongs to."""

    takesRows = True

    rows: ArrowDecoder

    def decode(self, batch: pa.RecordBatch) -> Iterator[tuple[int | None, ReadResult | None]]:
        parts = batch.column(batch.schema.get_field_index(PART)).to_numpy()
        borders = (np.flatnonzero(np.diff(parts)) + 1).tolist()
        for start, end in pairwise([0, *borders, len(parts)]):
            for _, records in self.rows.decode(batch.slice(start, end - start)):
                yield int(parts[start]), records


@dataclass(frozen=True)
class ArrowFrameDecoder(ArrowDecoder):
    """Decodes Arrow batches that were written as values of a column when the job started."""

    rows: RowDecoder

    def decode(self, batch: pa.RecordBatch) -> Iterator[tuple[int | None, Records]]:
        for part, data in zip(_list(batch, PART), _list(batch, "frame")):
            for _, records in self.rows.decode(RowColumns.ofBytes(data).batch):
                yield part, records


def _list(batch: pa.RecordBatch, name: str) -> list[Any]:
    return python_values(batch.column(batch.schema.get_field_index(name)))
