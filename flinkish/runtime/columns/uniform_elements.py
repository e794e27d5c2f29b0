"""``uniform_columns``: elements that are objects of one shape, as columns.

A function that is called for each element gives objects. As columns, they cross a shuffle in
Arrow's format, and what follows can run over columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from operator import is_
from types import NoneType
from typing import Any

import pyarrow as pa

from flinkish.api.types.row import Row, row_type
from flinkish.runtime.columns.tracing.value_shapes import structure
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import Shape, is_mutable

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
    columns = _Columns()
    if not columns.add(shape, values) or columns.shared:
        return None
    return RowColumns(pa.RecordBatch.from_arrays(columns.arrays, list(names)), shape)


class _Columns:
    """The columns of elements, and the parts of elements that can change."""

    def __init__(self) -> None:
        self.arrays: list[pa.Array] = []
        self._mutable: list[Sequence[Any]] = []

    @property
    def shared(self) -> bool:
        """Whether an element has an object twice that can change."""
        return any(any(map(is_, one, other)) for one, other in combinations(self._mutable, 2))

    def add(self, shape: Shape, values: Sequence[Any]) -> bool:
        """Add the columns of ``values``. False if they are not all of ``shape``."""
        kinds = set(map(type, values))
        if shape.kind is None:
            kinds.discard(NoneType)
            return len(kinds) == 1 and self._add_array(kinds.pop(), values)
        if kinds != {row_type(shape.names) if shape.kind is Row else shape.kind}:
            return False
        if is_mutable(shape.kind):
            self._mutable.append(values)
        parts = _parts(shape, values)
        return parts is not None and all(map(self.add, shape.parts, parts))

    def _add_array(self, kind: type[Any], values: Sequence[Any]) -> bool:
        if kind not in _TYPES:
            return False
        try:
            made = pa.array(values, _TYPES[kind])
        except (pa.ArrowException, OverflowError, UnicodeError):
            return False
        self.arrays.append(made)
        return isinstance(made, pa.Array)  # texts of more than 2 GB are in chunks


def _parts(shape: Shape, values: Sequence[Any]) -> Iterable[Sequence[Any]] | None:
    """The parts of ``values``, which are of the class of ``shape``. None if one has others, or if
    the class says how it is pickled."""
    kind = shape.kind
    assert kind is not None
    if kind is dict:
        return zip(*map(dict.values, values)) if set(map(tuple, values)) == {shape.names} else None
    if kind is not Row and any(
        name in vars(base) for base in kind.__mro__[:-1] for name in _PICKLING
    ):
        return None
    if issubclass(kind, tuple):
        lengths = set(map(tuple.__len__, values))
        return zip(*map(tuple.__iter__, values)) if lengths == {len(shape.parts)} else None
    names = set(shape.names)
    try:
        if hasattr(values[0], "__dict__") and any(vars(value).keys() != names for value in values):
            return None
        return [[getattr(value, name) for value in values] for name in shape.names]
    except AttributeError:
        return None
