"""Decodes frames to the columns or lines that a sink writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from flinkish.api.errors import hide_elements
from flinkish.runtime.records.frames import decode_frame
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.sinks.buckets import BUCKET, by_bucket
from flinkish.runtime.sinks.lines import LineWriter


def columns_of_frames(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Decodes rows of frames to the columns in them, for ``mapInArrow``."""
    for batch in batches:
        for data in batch.column(batch.schema.get_field_index("frame")).to_pylist():
            values = decode_frame(data).records.values
            assert isinstance(values, RowColumns)
            yield values.batch


@dataclass(frozen=True)
class LinesFunction:
    """Decodes rows of frames to lines of text, for ``mapInArrow``. ``bucketed``: the elements come
    with their buckets, which become a separate column."""

    writer: LineWriter
    elementsHidden: bool = False
    bucketed: bool = False

    @property
    def schema(self) -> str:
        """The columns, as a DDL string."""
        return f"value string, {BUCKET} string" if self.bucketed else "value string"

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        hide_elements(self.elementsHidden)
        runs = (
            decode_frame(data).records
            for batch in batches
            for data in batch.column(batch.schema.get_field_index("frame")).to_pylist()
        )
        head = self.writer.head
        if not self.bucketed:
            for run in runs:
                lines = self.writer.lines(run.values)
                if head is not None:
                    yield pa.RecordBatch.from_pydict({"value": [head]})
                    head = None
                yield pa.RecordBatch.from_pydict({"value": lines})
        elif head is None:
            for run in runs:
                for bucket, parts in by_bucket([run]).items():
                    yield from self._lines_of(bucket, parts)
        else:
            # One row for each file, as Spark sorts rows by bucket, but not within a bucket
            for bucket, parts in by_bucket(list(runs)).items():
                text = b"".join(self.writer.content(part.values) for part in parts)
                whole = f"{head}\n{text.decode()[:-1]}"
                yield pa.RecordBatch.from_pydict({"value": [whole], BUCKET: [bucket]})

    def _lines_of(self, bucket: str, parts: list[Records]) -> Iterator[pa.RecordBatch]:
        for part in parts:
            lines = self.writer.lines(part.values)
            buckets = pa.array([bucket] * len(lines), pa.string())
            yield pa.RecordBatch.from_pydict({"value": lines, BUCKET: buckets})
