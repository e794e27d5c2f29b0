"""Frames to the columns or lines that a sink writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from flinkish.api.errors import hide_elements
from flinkish.runtime.records.frames import decode_frame
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.sinks.buckets import BUCKET
from flinkish.runtime.sinks.lines import element_lines


def columns_of_frames(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of frames of columns to those columns, for ``mapInArrow``."""
    for batch in batches:
        for data in batch.column(batch.schema.get_field_index("frame")).to_pylist():
            values = decode_frame(data).records.values
            assert isinstance(values, RowColumns)
            yield values.batch


@dataclass(frozen=True)
class LinesFunction:
    """Rows of frames to lines of text, for ``mapInArrow``; an error names ``operator``. ``bucketed``: the
    elements come in pairs with their buckets, which are a column of their own."""

    operator: str
    line: Callable[[Any], str]
    elementsHidden: bool = False
    bucketed: bool = False

    @property
    def schema(self) -> str:
        """The columns, as a DDL string."""
        return f"value string, {BUCKET} string" if self.bucketed else "value string"

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        hide_elements(self.elementsHidden)
        for batch in batches:
            for data in batch.column(batch.schema.get_field_index("frame")).to_pylist():
                values = decode_frame(data).records.values
                buckets: dict[str, pa.Array] = {}
                if self.bucketed:
                    buckets = {BUCKET: pa.array([bucket for bucket, _ in values], pa.string())}
                    values = [element for _, element in values]
                lines = element_lines(self.operator, self.line, values)
                yield pa.RecordBatch.from_pydict({"value": lines, **buckets})
