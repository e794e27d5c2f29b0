"""Integer columns in as few bytes as their range needs, for a shuffle.

The timestamps of a batch often lie within an hour, and counts below a thousand. Storing the minimum and
the differences from it takes a quarter to a half of the space, and makes every copy that much shorter.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

_PACKED = b"flinkish.packed"


_WIDE = {pa.int64(): np.dtype(np.int64), pa.int32(): np.dtype(np.int32)}


_NARROW = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32))


def packed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """``batch`` with its integer columns packed where that saves space."""
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
    """The original of a batch that ``packed`` returned."""
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
