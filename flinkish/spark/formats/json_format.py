"""Lines of JSON: Arrow parses whole blocks where every line surely is one object, and a reader of our own
takes the lines of all others one by one, by the rules of Spark's reader in its strict mode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Union

import pyarrow as pa
from pyarrow import json

from flinkish.api.connectors.malformed_record import MalformedRecord
from flinkish.runtime.records.records import Records, no_timestamps
from flinkish.runtime.records.rows import RowColumns
from flinkish.spark.formats.base import FileFormat, FileSplit, LineFormat, ReadResult
from flinkish.spark.formats.files import is_compressed
from flinkish.spark.formats.json_values import JsonObject, JsonReader, NotJson
from flinkish.spark.formats.lines import LineBlock, line_blocks
from flinkish.spark.formats.text_format import NOT_UTF8
from flinkish.spark.formats.text_values import NotOfType

FEW_BYTES = 4_096
_BLANKS = b" \t\r\n"
_NON_FINITE = (b"NaN", b"Inf", b"INF")

_Part = Union[pa.RecordBatch, MalformedRecord]


@dataclass(frozen=True)
class JsonFormat(FileFormat, LineFormat):
    """Files of one JSON object a line in UTF-8. A line that is an array gives each of its objects."""

    splittable: ClassVar[bool] = True

    root: JsonObject

    def splits(self, path: str) -> bool:
        return not is_compressed(path)

    def read(self, split: FileSplit) -> Iterator[ReadResult]:
        for block in line_blocks(split):
            yield from self._results(block)

    def recordsOf(self, lines: bytes, path: str) -> Iterator[ReadResult]:
        yield from self._results(LineBlock(path, lines, 0, None))

    def _results(self, block: LineBlock) -> Iterator[ReadResult]:
        parts = list(self.parts(block))
        batches = [part for part in parts if isinstance(part, pa.RecordBatch)]
        rows = pa.concat_batches(batches) if len(batches) > 1 else batches[0]
        if rows.num_rows:
            yield Records(RowColumns(rows), no_timestamps(rows.num_rows))
        yield from (part for part in parts if isinstance(part, MalformedRecord))

    def parts(self, block: LineBlock) -> Iterator[_Part]:
        """The rows and the malformed lines of a block, by the quickest way that is sure."""
        rows = self.fast(block)
        if rows is not None:
            yield rows
            return
        halves = block.halves() if len(block.data) > FEW_BYTES and self.root.direct else None
        if halves is None:
            yield from self.slow(block)
        else:
            for half in halves:
                yield from self.parts(half)

    def fast(self, block: LineBlock) -> pa.RecordBatch | None:
        """The rows of a block, None if one of its lines may not fit or needs a closer look."""
        if not self.root.direct or not block.valid():
            return None
        text = block.text()
        text = text if text.endswith(b"\n") else text + b"\n"
        if not self._is_regular(text, block.count):
            return None
        try:
            table = json.read_json(
                pa.BufferReader(text),
                json.ReadOptions(use_threads=False, block_size=len(text) + 1),
                json.ParseOptions(
                    explicit_schema=pa.schema(self.root.parsed),
                    unexpected_field_behavior="ignore",
                ),
            )
        except pa.ArrowException:
            return None
        if table.num_rows != block.count:
            return None
        batch = table.combine_chunks().to_batches()[0]
        columns = self.root.columns(batch.columns)
        if columns is None:
            return None
        return pa.RecordBatch.from_arrays(columns, schema=self._schema())

    def slow(self, block: LineBlock) -> Iterator[_Part]:
        """The rows and the malformed lines of a block, line by line."""
        rows: list[tuple[Any, ...]] = []
        malformed: list[MalformedRecord] = []
        for line in block.lines():
            if line.raw.strip(_BLANKS):
                try:
                    rows.extend(JsonReader(line.raw.decode()).rows(self.root))
                except UnicodeDecodeError:
                    malformed.append(block.malformed(line, NOT_UTF8))
                except (NotJson, NotOfType) as misfit:
                    malformed.append(block.malformed(line, str(misfit)))
        columns = list(zip(*rows)) if rows else [()] * len(self.root.fields)
        arrays = [pa.array(v, kind.arrow) for v, kind in zip(columns, self.root.types)]
        yield pa.RecordBatch.from_arrays(arrays, schema=self._schema())
        yield from malformed

    def _is_regular(self, text: bytes, lines: int) -> bool:
        """Whether each line is one object or several, and none goes over its end: between two lines
        there is only ``}`` and ``{``, which no object has in it."""
        return (
            text.startswith(b"{")
            and text.endswith(b"}\n")
            and text.count(b"}\n{") == lines - 1
            and b"\0" not in text
            and not (b"N" in text and any(word in text for word in _NON_FINITE))
            and not (b"I" in text and any(word in text for word in _NON_FINITE))
        )

    def _schema(self) -> pa.Schema:
        return pa.schema([(n, kind.arrow) for n, kind in zip(self.root.fields, self.root.types)])
