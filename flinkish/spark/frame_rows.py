"""Frames as the rows of a DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.pandas.types import from_arrow_schema

from flinkish.runtime.task.gates import FrameRow

_Item = TypeVar("_Item")

ARROW_SCHEMA = pa.schema(
    [
        ("level", pa.int32()),
        ("target", pa.string()),
        ("key_group", pa.int32()),
        ("gate", pa.int32()),
        ("slice", pa.int64()),
        ("sequence", pa.int32()),
        ("clock", pa.int64()),
        ("frame", pa.binary()),
    ]
)
"""The columns of a FrameRow."""

FRAME_SCHEMA = from_arrow_schema(ARROW_SCHEMA)
"""The same for Spark; the JVM would have to parse a DDL string for each job."""


def arrow_batch(rows: Sequence[FrameRow]) -> pa.RecordBatch:
    columns = zip(*rows)
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, ARROW_SCHEMA)]
    return pa.RecordBatch.from_arrays(arrays, schema=ARROW_SCHEMA)


def frame_rows(rows: Iterable[Any]) -> Iterable[FrameRow]:
    """Spark's rows as FrameRows."""
    for row in rows:
        yield FrameRow(*row[: len(FrameRow._fields)])


def spark_rows(rows: Iterable[FrameRow]) -> Iterator[Row]:
    make = Row(*FrameRow._fields)
    return (make(*row) for row in rows)


def sized(
    items: Iterable[_Item], sizeOf: Callable[[_Item], int], most: int
) -> Iterator[list[_Item]]:
    """``items`` in lists that end when they have ``most`` bytes; ``sizeOf`` counts those of one."""
    held: list[_Item] = []
    size = 0
    for item in items:
        held.append(item)
        size += sizeOf(item)
        if size >= most:
            yield held
            held, size = [], 0
    if held:
        yield held
