"""``uniform_columns``: elements that are objects of one shape, as columns.

A function that is called for each element gives objects. As columns, they cross a shuffle in
Arrow's format, and what follows can run over columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType
from typing import Any

import pyarrow as pa

from flinkish.api.types.row import Row
from flinkish.runtime.columns.tracing.value_shapes import columns_of, structure
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import Shape

LEAST_ELEMENTS = 1 << 10
"""Fewer elements stay objects."""

_TYPES = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}

_PICKLING = ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__")


def uniform_columns(values: Sequence[Any]) -> RowColumns | None:
    """``values`` as columns, which give equal objects. None if they are few, or not all of one
    shape with numbers, texts and bools of the same types."""
    if len(values) < LEAST_ELEMENTS:
        return None
    parts: list[Any] = []
    shape = structure(values[0], parts)
    if shape is None:
        return None
    names = shape.columnNames
    if len(set(names)) < len(names) or not {NoneType, *_TYPES}.issuperset(map(type, parts)):
        return None
    columns = None if _stays_objects(shape) else columns_of(shape, values)
    arrays = [] if columns is None else list(map(_array, columns))
    if not arrays or any(array is None for array in arrays):
        return None
    return RowColumns(pa.RecordBatch.from_arrays(arrays, list(names)), shape)


def _stays_objects(shape: Shape) -> bool:
    """Whether ``shape`` has a list, whose length may differ, or a class that says how its objects are
    pickled."""
    bases = () if shape.kind in (None, Row) else shape.kind.__mro__[:-1]
    own = shape.kind is list or any(name in vars(base) for base in bases for name in _PICKLING)
    return own or any(map(_stays_objects, shape.parts))


def _array(values: Sequence[Any]) -> pa.Array | None:
    """``values`` as a column; None if they are not all of one type."""
    kinds = set(map(type, values)) - {NoneType}
    if len(kinds) != 1 or not kinds <= _TYPES.keys():
        return None
    try:
        made = pa.array(values, _TYPES[kinds.pop()])
    except (pa.ArrowException, OverflowError, UnicodeError):
        return None
    return made if isinstance(made, pa.Array) else None  # texts of more than 2 GB are in chunks
