"""Arrow batches of a source to runs of records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from flinkish.runtime.elements import NO_TIMESTAMP, Records, no_timestamps, untimed
from flinkish.runtime.frames import decode_frame
from flinkish.runtime.row_columns import RowColumns, python_values
from flinkish.runtime.user_code import emitted

PART = "__part"
"""The column that says, in materialised sources, which part of the source a row is."""


class ArrowDecoder(ABC):
    """Gives the records in a batch of a source, part by part.

    A part is a piece of the source that keeps its place in the source's order: None stands for the
    Spark partition that the batch is of.
    """

    @abstractmethod
    def decode(self, batch: pa.RecordBatch) -> Iterator[tuple[int | None, Records]]:
        """The records of ``batch``, in order."""


@dataclass(frozen=True)
class FrameDecoder(ArrowDecoder):
    """Elements that were pickled into frames when the job started."""

    def decode(self, batch: pa.RecordBatch) -> Iterator[tuple[int | None, Records]]:
        for part, frame in zip(_list(batch, PART), _list(batch, "frame")):
            yield part, decode_frame(frame).records


@dataclass(frozen=True)
class RangeDecoder(ArrowDecoder):
    """Ranges of numbers, or what ``generator`` makes of each number."""

    generator: Callable[[int], Any] | None
    MOST = 1 << 15

    def decode(self, batch: pa.RecordBatch) -> Iterator[tuple[int | None, Records]]:
        columns = (_list(batch, PART), _list(batch, "first"), _list(batch, "last"))
        for part, first, last in zip(*columns):
            for start in range(first, last + 1, self.MOST):
                numbers: Sequence[Any] = range(start, min(start + self.MOST, last + 1))
                if self.generator is not None:
                    numbers = emitted("Data Generator Source", self.generator, numbers)
                yield part, untimed(list(numbers))


@dataclass(frozen=True)
class GeneratorDecoder(ArrowDecoder):
    """What ``generator`` makes of the numbers of a rate source."""

    generator: Callable[[int], Any]

    def decode(self, batch: pa.RecordBatch) -> Iterator[tuple[int | None, Records]]:
        numbers = _list(batch, "value")
        yield None, untimed(emitted("Data Generator Source", self.generator, numbers))


@dataclass(frozen=True)
class SingleColumnDecoder(ArrowDecoder):
    """The values of one column, such as the lines of a text."""

    column: str

    def decode(self, batch: pa.RecordBatch) -> Iterator[tuple[int | None, Records]]:
        yield None, untimed(_list(batch, self.column))


@dataclass(frozen=True)
class RowDecoder(ArrowDecoder):
    """The columns as Rows; ``timestamp`` names the column that is the element's timestamp."""

    fields: tuple[str, ...]
    timestamp: str | None = None

    def decode(self, batch: pa.RecordBatch) -> Iterator[tuple[int | None, Records]]:
        yield None, Records(RowColumns(batch.select(self.fields)), self._timestamps(batch))

    def _timestamps(self, batch: pa.RecordBatch) -> Any:
        if self.timestamp is None:
            return no_timestamps(batch.num_rows)
        column = batch.column(batch.schema.get_field_index(self.timestamp))
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("ms", column.type.tz), safe=False)
        return column.cast(pa.int64()).fill_null(NO_TIMESTAMP).to_numpy().copy()


@dataclass(frozen=True)
class ArrowFrameDecoder(ArrowDecoder):
    """Arrow batches that were written as values of a column when the job started."""

    rows: RowDecoder

    def decode(self, batch: pa.RecordBatch) -> Iterator[tuple[int | None, Records]]:
        for part, data in zip(_list(batch, PART), _list(batch, "frame")):
            for _, records in self.rows.decode(RowColumns.ofBytes(data).batch):
                yield part, records


def _list(batch: pa.RecordBatch, name: str) -> list[Any]:
    return python_values(batch.column(batch.schema.get_field_index(name)))
