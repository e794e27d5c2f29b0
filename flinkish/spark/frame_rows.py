"""Frames as the rows of a DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from flinkish.runtime.task.gates import FrameRow

FRAME_SCHEMA = StructType(
    [
        StructField("level", IntegerType()),
        StructField("target", StringType()),
        StructField("key_group", IntegerType()),
        StructField("gate", IntegerType()),
        StructField("slice", LongType()),
        StructField("sequence", IntegerType()),
        StructField("clock", LongType()),
        StructField("frame", BinaryType()),
    ]
)
"""The columns of a FrameRow; the JVM would have to parse a DDL string for each job."""

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
"""The same for Arrow."""


def arrow_batch(rows: Sequence[FrameRow]) -> pa.RecordBatch:
    """Rows as an Arrow batch."""
    columns = zip(*rows)
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, ARROW_SCHEMA)]
    return pa.RecordBatch.from_arrays(arrays, schema=ARROW_SCHEMA)


def frame_rows(rows: Iterable[Any]) -> Iterable[FrameRow]:
    """Spark's rows as FrameRows."""
    for row in rows:
        yield FrameRow(*row[: len(FrameRow._fields)])


def spark_rows(rows: Iterable[FrameRow]) -> Iterator[Row]:
    """FrameRows as Spark's rows."""
    make = Row(*FrameRow._fields)
    return (make(*row) for row in rows)
