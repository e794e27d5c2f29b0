"""``RowsOfLines``: the common part of CSV and JSON, in which each line has rows.

A block of lines is parsed as a whole if that is certain to be right. Otherwise its halves are
tried. In a small block each line is parsed individually, to name those that do not fit.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Union

import pyarrow as pa

from flinkish.api.connectors.malformed_record import MalformedRecord
from flinkish.runtime.formats.base import FileFormat, FileSplit, ReadResult
from flinkish.runtime.formats.json_values import NotJson
from flinkish.runtime.formats.lines import NOT_UTF8, LineBlock, line_blocks
from flinkish.runtime.formats.text_values import NotOfType
from flinkish.runtime.records.records import Records, no_timestamps
from flinkish.runtime.records.rows import RowColumns

FEW_BYTES = 4_096
"""A block of at most this size is not halved any more but read line by line."""

Part = Union[pa.RecordBatch, MalformedRecord]
"""Rows of a block, or a line that does not fit."""


class RowsOfLines(FileFormat):
    """A format with rows in each line. Derived classes parse a block."""

    def read(self, split: FileSplit) -> Iterator[ReadResult]:
        for block in line_blocks(split):
            yield from self.results(block)

    def recordsOf(self, lines: bytes, path: str) -> Iterator[ReadResult]:
        """The records of whole lines of the file ``path``, and the lines that do not fit."""
        yield from self.results(LineBlock(path, lines, 0, None))

    def results(self, block: LineBlock) -> Iterator[ReadResult]:
        """The records of a block, then the lines that do not fit."""
        parts = list(self.parts(block))
        batches = [part for part in parts if isinstance(part, pa.RecordBatch)]
        rows = pa.concat_batches(batches) if len(batches) > 1 else batches[0]
        if rows.num_rows:
            yield Records(RowColumns(rows), no_timestamps(rows.num_rows))
        yield from (part for part in parts if isinstance(part, MalformedRecord))

    def parts(self, block: LineBlock) -> Iterator[Part]:
        """The rows and malformed lines of a block, by the fastest way that is surely right."""
        rows = self.fast(block)
        if rows is not None:
            yield rows
            return
        halves = block.halves() if len(block.data) > FEW_BYTES and self.mayBeFast else None
        if halves is None:
            yield from self.slow(block)
        else:
            for half in halves:
                yield from self.parts(half)

    @property
    def mayBeFast(self) -> bool:
        """Whether ``fast`` can ever return rows."""
        return True

    @abstractmethod
    def fast(self, block: LineBlock) -> pa.RecordBatch | None:
        """The rows of a block; None if one of its lines must be parsed individually."""

    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns of the rows."""

    @property
    @abstractmethod
    def blanks(self) -> bytes:
        """The blank characters: a line that contains only these has no rows."""

    @abstractmethod
    def rowsIn(self, line: str) -> Sequence[tuple[Any, ...]]:
        """The rows of a line, each with its values. Raises NotJson or NotOfType."""

    def slow(self, block: LineBlock) -> Iterator[Part]:
        """The rows and the malformed lines of a block, read line by line."""
        rows: list[tuple[Any, ...]] = []
        malformed: list[MalformedRecord] = []
        for line in block.lines():
            if line.raw.strip(self.blanks):
                try:
                    rows += self.rowsIn(line.raw.decode())
                except UnicodeDecodeError:
                    malformed.append(block.malformed(line, NOT_UTF8))
                except (NotJson, NotOfType) as misfit:
                    malformed.append(block.malformed(line, str(misfit)))
        yield self.batch(rows)
        yield from malformed

    def batch(self, rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
        schema = self.schema()
        columns = list(zip(*rows)) if rows else [()] * len(schema)
        arrays = [pa.array(values, field.type) for values, field in zip(columns, schema)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
