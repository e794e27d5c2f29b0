"""Packs columns for a shuffle: integers take as many bytes as their range needs, repeated texts
become codes.

The timestamps of a batch often lie within an hour, and counts below a thousand. Storing the minimum
and the differences from it takes a quarter to a half of the space, and every copy is that much
faster. The same holds for a column of texts that is stored as its distinct texts and a code for
each row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.runtime.records.partly_read import Arrays, Columns, PartlyRead

_PACKED = b"flinkish.packed"
_CODES = b"flinkish.codes"

_WIDE: Mapping[pa.DataType, np.dtype[Any]] = {
    pa.int64(): np.dtype(np.int64),
    pa.int32(): np.dtype(np.int32),
}

_NARROW = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32))

Codes = Mapping[int, pa.DictionaryArray]
"""Columns of texts as dictionary arrays, by column index."""


def packed(rows: Columns, codes: Codes) -> pa.RecordBatch:
    """``rows`` with columns of integers packed if that saves space, and with those columns of texts
    replaced by their ``codes`` whose texts repeat."""
    arrays = []
    fields = []
    for number, field in enumerate(rows.schema):
        texts = codes.get(number)
        if texts is not None and repeats(texts):
            column, note = short_codes(texts), {_CODES: ""}
        else:
            column, note = _packed(rows.column(number))
        if note:
            metadata = {**(field.metadata or {}), **note}
            field = field.with_type(column.type).with_metadata(metadata)
        arrays.append(column)
        fields.append(field)
    schema = pa.schema(fields, rows.schema.metadata)
    if schema.equals(rows.schema, check_metadata=True) and isinstance(rows, pa.RecordBatch):
        return rows
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _packed(column: pa.Array) -> tuple[pa.Array, dict[bytes, str]]:
    """``column`` in fewer bytes with a note of its type, or unchanged without a note."""
    if column.type not in _WIDE or column.null_count or not len(column):
        return column, {}
    narrow = narrowed(column.to_numpy())
    if narrow is None:
        return column, {}
    least, distances = narrow
    return pa.array(distances), {_PACKED: f"{column.type} {least}"}


def unpacked(batch: pa.RecordBatch) -> tuple[Columns, dict[int, pa.DictionaryArray]]:
    """The rows that ``packed`` was given, with the same types, and the columns that are codes."""
    columns = dict(enumerate(batch.columns))
    codes = {}
    fields = list(batch.schema)
    for number, field in enumerate(batch.schema):
        metadata = dict(field.metadata or {})
        if _PACKED in metadata:
            name, least = metadata.pop(_PACKED).decode().split()
            kind = pa.type_for_alias(name)
            distances = columns[number].to_numpy()
            columns[number] = pa.array(widened(distances, int(least), _WIDE[kind]))
        elif _CODES in metadata:
            del metadata[_CODES]
            kind = pa.string()
            codes[number] = columns.pop(number)
        else:
            continue
        fields[number] = field.with_type(kind).with_metadata(metadata)
    if fields == list(batch.schema):
        return batch, codes
    schema = pa.schema(fields, batch.schema.metadata)
    return with_texts(schema, batch.num_rows, columns, codes), codes


def with_texts(schema: pa.Schema, count: int, columns: Arrays, codes: Codes) -> Columns:
    """``count`` rows of ``schema``, with ``columns``, and ``codes`` for the other columns, which
    are decoded when one of them is needed."""
    if not codes:
        arrays = [columns[number] for number in range(len(schema))]
        rows: Columns = pa.RecordBatch.from_arrays(arrays, schema=schema)
        return rows

    def texts() -> Arrays:
        return {number: column.dictionary_decode() for number, column in codes.items()}

    return PartlyRead(schema, count, columns, texts)


def narrowed(values: NDArray[Any]) -> tuple[int, NDArray[Any]] | None:
    """The least of ``values`` and the differences from it; None if that saves no bytes."""
    least = int(values.min())
    span = int(values.max()) - least
    for kind in _NARROW:
        if span <= np.iinfo(kind).max and kind.itemsize < values.dtype.itemsize:
            return least, (values - values.dtype.type(least)).astype(kind)
    return None


def widened(distances: NDArray[Any], least: int, kind: np.dtype[Any]) -> NDArray[Any]:
    """The values of type ``kind`` that ``narrowed`` was given."""
    values = distances.astype(kind)
    values += least
    return values


def repeats(column: pa.DictionaryArray) -> bool:
    """Whether a column has each value at least twice on average."""
    return len(column.dictionary) * 2 <= len(column)


def short_codes(column: pa.DictionaryArray) -> pa.DictionaryArray:
    """The same column with codes of two bytes if these are enough."""
    if len(column.dictionary) > np.iinfo(np.int16).max:
        return column
    return pa.DictionaryArray.from_arrays(column.indices.cast(pa.int16()), column.dictionary)
