"""Elements to the columns of a DataFrame, for sinks and for going on in Spark SQL."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from flinkish.api.errors import FlinkishError, shown
from flinkish.runtime.frames import decode_frame
from flinkish.runtime.row_columns import RowColumns
from flinkish.spark.column_arrays import FieldsWriter, Misfit


@dataclass(frozen=True)
class ColumnsFunction:
    """Rows of frames to rows of ``schema``, for ``mapInArrow``. ``sink`` is named in errors.

    ``whole``: the elements have no fields, and are the one column themselves.
    """

    sink: str
    schema: pa.Schema
    whole: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        writer = FieldsWriter(self.schema, self.whole)
        for batch in batches:
            for data in batch.column(batch.schema.get_field_index("frame")).to_pylist():
                values = decode_frame(data).records.values
                yield self._as_it_is(values) or self._written(writer, values)

    def _as_it_is(self, values: Sequence[Any]) -> pa.RecordBatch | None:
        """The columns that the elements have been all the way, if they are those of the schema."""
        if not isinstance(values, RowColumns) or values.batch.schema.types != self.schema.types:
            return None
        return pa.RecordBatch.from_arrays(values.batch.columns, schema=self.schema)

    def _written(self, writer: FieldsWriter, values: Sequence[Any]) -> pa.RecordBatch:
        try:
            return pa.RecordBatch.from_arrays(writer.columns(values), schema=self.schema)
        except Misfit as misfit:
            raise self._error(values[misfit.position], misfit) from None

    def _error(self, element: Any, misfit: Misfit) -> FlinkishError:
        if misfit.field:
            return FlinkishError(
                f"{self.sink}: the element {shown(element)} does not fit the schema: its {misfit}."
                " Map the elements to the type of the field, or say another type with"
                " returns(Types...) or a schema."
            )
        names = self.schema.names
        return FlinkishError(
            f"{self.sink}: the element {shown(element)} does not fit the schema, which has"
            f" {len(names)} fields: {', '.join(names)}. Map the elements to tuples of those fields."
        )


@dataclass(frozen=True)
class LinesFunction:
    """Rows of frames to lines of text, for ``mapInArrow``."""

    line: Callable[[Any], str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for data in batch.column(batch.schema.get_field_index("frame")).to_pylist():
                lines = [self.line(value) for value in decode_frame(data).records.values]
                yield pa.RecordBatch.from_pydict({"value": pa.array(lines, pa.string())})


def csv_line(value: Any) -> str:
    """An element as a line of CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(_plain_fields(value))
    return text.getvalue()


def json_line(value: Any) -> str:
    """An element as a line of JSON: an object if its fields have names."""
    return json.dumps(_named_fields(value), default=str, ensure_ascii=False)


def _plain_fields(value: Any) -> Sequence[Any]:
    if isinstance(value, (tuple, list)):
        return value
    named = _named_fields(value)
    return list(named.values()) if isinstance(named, dict) else (named,)


def _named_fields(value: Any) -> Any:
    if hasattr(value, "_fields"):
        return dict(zip(value._fields, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return value
