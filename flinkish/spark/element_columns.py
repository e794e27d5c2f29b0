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


@dataclass(frozen=True)
class ColumnsFunction:
    """Rows of frames to rows of ``fields``, for ``mapInArrow``. ``sink`` is named in errors."""

    sink: str
    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for data in batch.column(batch.schema.get_field_index("frame")).to_pylist():
                values = decode_frame(data).records.values
                yield self._batch(values)

    def _batch(self, values: Sequence[Any]) -> pa.RecordBatch:
        names = self.schema.names
        columns: list[Sequence[Any]] = list(zip(*(self._fields(value, names) for value in values)))
        try:
            arrays = [pa.array(c, type=f.type) for c, f in zip(columns, self.schema)]
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise self._misfit(values, error) from error
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _fields(self, value: Any, names: list[str]) -> Sequence[Any]:
        if isinstance(value, (tuple, list)):
            fields: Sequence[Any] = value
        elif isinstance(value, dict):
            fields = [value.get(name) for name in names]
        elif dataclasses.is_dataclass(value):
            fields = [getattr(value, name, None) for name in names]
        else:
            fields = (value,)
        if len(fields) != len(names):
            raise FlinkishError(
                f"{self.sink}: the element {shown(value)} has {len(fields)} fields, but the schema"
                f" has {len(names)}: {', '.join(names)}. Map the elements to tuples of those fields."
            )
        return fields

    def _misfit(self, values: Sequence[Any], error: Exception) -> FlinkishError:
        for value in values:
            for field, part in zip(self.schema, self._fields(value, self.schema.names)):
                try:
                    pa.array([part], type=field.type)
                except (pa.ArrowException, TypeError, ValueError):
                    return FlinkishError(
                        f"{self.sink}: the element {shown(value)} does not fit the schema: its"
                        f" {field.name} {shown(part)} is not of type {field.type}."
                    )
        return FlinkishError(f"{self.sink}: the elements do not fit the schema: {error}")


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
