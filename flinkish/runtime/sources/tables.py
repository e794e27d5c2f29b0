"""The elements of collections, tables and ranges of numbers, and the timestamps in a column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from flinkish.api.connectors.source import CollectionSource
from flinkish.api.connectors.table_source import TableSource
from flinkish.runtime.records.copies import copied_values
from flinkish.runtime.records.records import (
    NO_TIMESTAMP,
    Records,
    Timestamps,
    no_timestamps,
    untimed,
)
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.user_code import emitted

_DAY_MS = 86_400_000
_A_MILLISECOND = {"us": 1_000, "ns": 1_000_000}


def count_of(source: CollectionSource[object] | TableSource) -> int:
    return source.table.num_rows if isinstance(source, TableSource) else len(source.values)


def records_of(source: CollectionSource[object] | TableSource, start: int, end: int) -> Records:
    """The elements from ``start`` up to but not with ``end``. Those of a collection are copied."""
    if not isinstance(source, TableSource):
        # Copied one by one: a copy of all together would keep an object shared by two elements
        return untimed(list(copied_values(source.values[start:end])))
    part = source.table.slice(start, end - start).combine_chunks()
    columns = [
        column.chunk(0) if column.num_chunks else pa.array([], column.type)
        for column in part.columns
    ]
    batch = pa.RecordBatch.from_arrays(columns, schema=part.schema)
    return Records(RowColumns(batch), timestamps_in(batch, source.timestamp))


def timestamps_in(batch: pa.RecordBatch, name: str | None) -> Timestamps:
    """The timestamps (ms) in column ``name``, rounded down; a date is midnight in UTC."""
    if name is None:
        return no_timestamps(batch.num_rows)
    column = batch.column(batch.schema.get_field_index(name))
    kind = column.type
    if pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    numbers = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    if pa.types.is_date32(kind):
        numbers = numbers * _DAY_MS
    elif pa.types.is_timestamp(kind):
        numbers = np.floor_divide(numbers, _A_MILLISECOND.get(kind.unit, 1))
        numbers = numbers * 1_000 if kind.unit == "s" else numbers
    missing = column.is_null().to_numpy(zero_copy_only=False)
    return np.where(missing, NO_TIMESTAMP, numbers)


NUMBERS_A_RUN = 1 << 15


def number_records(
    generator: Callable[[int], Any] | None, first: int, last: int
) -> Iterator[Records]:
    """The numbers from ``first`` to ``last``, or the elements of ``generator`` for them."""
    for start in range(first, last + 1, NUMBERS_A_RUN):
        numbers: Sequence[Any] = range(start, min(start + NUMBERS_A_RUN, last + 1))
        if generator is not None:
            numbers = emitted("Data Generator Source", generator, numbers)
        yield untimed(list(numbers))
