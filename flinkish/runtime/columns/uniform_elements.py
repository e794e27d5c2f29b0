"""``uniform_columns``: elements that are objects of one shape, as columns.

A function that is called for each element gives objects. As columns, they cross a shuffle in
Arrow's format, and what follows can run over columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import NoneType
from typing import Any

import pyarrow as pa

from flinkish.api.types.row import Row, row_type
from flinkish.runtime.columns.tracing.column_fold import structure
from flinkish.runtime.columns.tracing.symbols import Refusal
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import Shape

LEAST_ELEMENTS = 1 << 10
"""Fewer elements stay objects."""

_TYPES = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}


def uniform_columns(values: Sequence[Any]) -> RowColumns | None:
    """``values`` as columns, which give equal objects. None if they are few, or not all of one
    shape with numbers, texts and bools of the same types."""
    if len(values) < LEAST_ELEMENTS:
        return None
    parts: list[Any] = []
    try:
        shape = structure(values[0], parts)
    except Refusal:
        return None
    names = shape.columnNames
    if len(set(names)) < len(names) or not {NoneType, *_TYPES}.issuperset(map(type, parts)):
        return None
    columns: list[pa.Array] = []
    if not _add_columns(shape, values, columns):
        return None
    return RowColumns(pa.RecordBatch.from_arrays(columns, list(names)), shape)


def _add_columns(shape: Shape, values: Sequence[Any], columns: list[pa.Array]) -> bool:
    """Add the columns of ``values``. False if they are not all of ``shape``."""
    kinds = set(map(type, values))
    if shape.kind is None:
        kinds.discard(NoneType)
        kind = _TYPES.get(kinds.pop()) if len(kinds) == 1 else None
        if kind is None:
            return False
        try:
            columns.append(pa.array(values, kind))
        except (pa.ArrowException, OverflowError, UnicodeError):
            return False
        return True
    if kinds != {row_type(shape.names) if shape.kind is Row else shape.kind}:
        return False
    parts = _parts(shape, values)
    return parts is not None and all(
        _add_columns(part, column, columns) for part, column in zip(shape.parts, parts)
    )


def _parts(shape: Shape, values: Sequence[Any]) -> Iterable[Sequence[Any]] | None:
    """The parts of ``values``, which are of the class of ``shape``. None if one has others."""
    kind = shape.kind
    assert kind is not None
    if kind is dict:
        return zip(*map(dict.values, values)) if set(map(tuple, values)) == {shape.names} else None
    if issubclass(kind, tuple):
        lengths = set(map(tuple.__len__, values))
        return zip(*map(tuple.__iter__, values)) if lengths == {len(shape.parts)} else None
    try:
        if hasattr(values[0], "__dict__") and set(map(len, map(vars, values))) != {
            len(shape.names)
        }:
            return None
        return [[getattr(value, name) for value in values] for name in shape.names]
    except AttributeError:
        return None
