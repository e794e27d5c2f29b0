"""Reads lines of JSON, by the rules of Spark's reader in strict mode.

Arrow parses a whole block if every line is certainly one object. In other blocks, ``JsonReader``
parses each line individually.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import json

from flinkish.runtime.formats.json_values import JsonObject, JsonReader
from flinkish.runtime.formats.lines import LineBlock
from flinkish.runtime.formats.rows_of_lines import RowsOfLines

_NON_FINITE = (b"NaN", b"Inf", b"INF")


@dataclass(frozen=True)
class JsonFormat(RowsOfLines):
    """Files in UTF-8 with a JSON object, or an array of objects, in each line."""

    root: JsonObject

    blanks = b" \t\r\n"

    @property
    def mayBeFast(self) -> bool:
        return self.root.direct

    def fast(self, block: LineBlock) -> pa.RecordBatch | None:
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
                    explicit_schema=pa.schema(self.root.parsed), unexpected_field_behavior="ignore"
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
        return pa.RecordBatch.from_arrays(columns, schema=self.schema())

    def rowsIn(self, line: str) -> Sequence[tuple[Any, ...]]:
        return JsonReader(line).rows(self.root)

    def _is_regular(self, text: bytes, lines: int) -> bool:
        """Whether each line has one or more whole objects. A ``}``, a line end and a ``{`` do not
        follow one another within an object."""
        return (
            text.startswith(b"{")
            and text.endswith(b"}\n")
            and text.count(b"}\n{") == lines - 1
            and b"\0" not in text
            and not (b"N" in text and any(word in text for word in _NON_FINITE))
            and not (b"I" in text and any(word in text for word in _NON_FINITE))
        )

    def schema(self) -> pa.Schema:
        return pa.schema([(n, kind.arrow) for n, kind in zip(self.root.fields, self.root.types)])
