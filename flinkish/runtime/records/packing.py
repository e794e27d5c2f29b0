"""Columns of whole numbers in as few bytes as their span needs, for the way across a shuffle.

The timestamps of a batch lie in an hour and its counts below a thousand: the least value and the
distances from it take a quarter to a half of the space, and every copy on the way is as much shorter.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

_PACKED = b"flinkish.packed"


_WIDE = {pa.int64(): np.dtype(np.int64), pa.int32(): np.dtype(np.int32)}


_NARROW = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32))


def packed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """``batch`` with its columns of integers packed where that saves space; for ``unpacked``."""
    for number, column in enumerate(batch.columns):
        if column.type not in _WIDE or column.null_count or not len(column):
            continue
        values = column.to_numpy()
        least = int(values.min())
        span = int(values.max()) - least
        for kind in _NARROW:
            if span <= np.iinfo(kind).max and kind.itemsize < values.dtype.itemsize:
                distances = pa.array((values - values.dtype.type(least)).astype(kind))
                field = batch.schema.field(number)
                metadata = {**(field.metadata or {}), _PACKED: f"{column.type} {least}"}
                field = field.with_type(distances.type).with_metadata(metadata)
                batch = batch.set_column(number, field, distances)
                break
    return batch


def unpacked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch that ``packed`` got."""
    for number, field in enumerate(batch.schema):
        if _PACKED in (field.metadata or {}):
            metadata = dict(field.metadata)
            name, least = metadata.pop(_PACKED).decode().split()
            kind = pa.type_for_alias(name)
            values = batch.column(number).to_numpy().astype(_WIDE[kind])
            values += int(least)
            wide = field.with_type(kind).with_metadata(metadata)
            batch = batch.set_column(number, wide, pa.array(values))
    return batch
