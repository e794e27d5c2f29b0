"""The shapes of Python values, and their parts as columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from itertools import combinations
from operator import is_
from typing import Any

import pyarrow as pa

from flinkish.api.types.row import Row, row_type
from flinkish.runtime.columns.tracing.expressions import PYTHON_TYPES
from flinkish.runtime.columns.tracing.folding import ARROW_TYPES
from flinkish.runtime.columns.tracing.record_classes import is_record_class
from flinkish.runtime.columns.tracing.symbolic_values import MOST_ITEMS, dict_names, took
from flinkish.runtime.columns.tracing.values import Inexact, deoptimizing
from flinkish.runtime.records.rows import RowColumns, joined
from flinkish.runtime.records.shapes import VALUE, Shape, is_mutable

_CLASSES = {ARROW_TYPES[kind]: PYTHON_TYPES[kind] for kind in ARROW_TYPES}
"""The class of the values of a folded column, by the column's type."""


def structure(value: Any, parts: list[Any], taken: list[Any] | None = None) -> Shape | None:
    """The shape of a Python value; adds the value's parts to ``parts``. None if it has none, or if
    something that can change is in it twice. ``taken``: what can change, so far."""
    kind: type[Any] = type(value)
    taken = [] if taken is None else taken
    if is_mutable(kind) and not took(value, taken):
        return None
    names: tuple[str, ...] | None
    if isinstance(value, Row):
        kind, names = Row, value.getFieldNames()
    elif kind is dict:
        names = dict_names(value)
    elif kind is tuple or (kind is list and len(value) <= MOST_ITEMS):
        names = tuple(f"f{number}" for number in range(len(value)))
    elif isinstance(value, (tuple, list, dict, set, bytearray)) or is_dataclass(kind):
        names = _field_names(kind)
    else:
        parts.append(value)
        return VALUE
    inner = [structure(part, parts, taken) for part in _members(value, names or ())]
    known = tuple(shape for shape in inner if shape is not None)
    return Shape(kind, names, known) if names and len(known) == len(inner) else None


def _field_names(kind: type[Any]) -> tuple[str, ...] | None:
    """The fields of a NamedTuple or dataclass; None if its objects are made or read otherwise."""
    if not is_record_class(kind):
        return None
    own = getattr(kind, "_fields", None)  # of a NamedTuple
    return own if issubclass(kind, tuple) else tuple(field.name for field in fields(kind))


def _members(value: Any, names: Iterable[str]) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, tuple):
        return list(tuple.__iter__(value))
    return value if isinstance(value, list) else [getattr(value, name) for name in names]


def columns_of(shape: Shape, values: Sequence[Any]) -> list[Sequence[Any]] | None:
    """The columns of ``values``. None if these are not all of ``shape``, or if one has something
    twice that can change."""
    columns: list[Sequence[Any]] = []
    mutable: list[Sequence[Any]] = []
    if not _add_columns(shape, values, columns, mutable):
        return None
    shared = any(any(map(is_, one, other)) for one, other in combinations(mutable, 2))
    return None if shared else columns


def arrays_of(shape: Shape, types: Sequence[pa.DataType], values: Sequence[Any]) -> list[pa.Array]:
    """The columns of ``values``, of these types. Raises one of ``NOT_EXACT`` if the values are not all
    of ``shape``, or if the columns cannot hold them."""
    columns = columns_of(shape, values)
    if columns is None or len(columns) != len(types):
        raise Inexact
    return [_column_of_values(list(column), kind) for column, kind in zip(columns, types)]


@deoptimizing
def after(former: Sequence[Any], run: RowColumns) -> RowColumns:
    """The elements of ``run`` behind ``former`` ones. None if its columns cannot hold these."""
    if not former:
        return run
    arrays = arrays_of(run.shape, run.schema.types, former)
    batch = pa.RecordBatch.from_arrays(arrays, schema=run.schema)
    both = joined([RowColumns(batch, run.shape), run])
    assert isinstance(both, RowColumns)
    return both


def _add_columns(
    shape: Shape,
    values: Sequence[Any],
    columns: list[Sequence[Any]],
    mutable: list[Sequence[Any]],
) -> bool:
    """Add the columns of ``values``, and what can change in them. False if they are not all of
    ``shape``."""
    if shape.kind is None:
        columns.append(values)
        return True
    if set(map(type, values)) != {row_type(shape.names) if shape.kind is Row else shape.kind}:
        return False
    if is_mutable(shape.kind):
        mutable.append(values)
    parts = _parts(shape, values)
    return parts is not None and all(
        _add_columns(part, members, columns, mutable) for part, members in zip(shape.parts, parts)
    )


def _parts(shape: Shape, values: Sequence[Any]) -> Iterable[Sequence[Any]] | None:
    """The parts of ``values``, which are of the class of ``shape``. None if one has others."""
    kind = shape.kind
    assert kind is not None
    if kind is dict:
        return zip(*map(dict.values, values)) if set(map(tuple, values)) == {shape.names} else None
    if issubclass(kind, (tuple, list)):
        base = tuple if issubclass(kind, tuple) else list
        lengths = set(map(base.__len__, values))
        return zip(*map(base.__iter__, values)) if lengths == {len(shape.parts)} else None
    names = set(shape.names)
    try:
        if hasattr(values[0], "__dict__") and any(vars(value).keys() != names for value in values):
            return None
        return [[getattr(value, name) for value in values] for name in shape.names]
    except AttributeError:
        return None


def _column_of_values(values: list[Any], kind: pa.DataType) -> pa.Array:
    """A column of the type ``kind``. Raises Inexact, or an error, if it cannot hold ``values``."""
    wanted = _CLASSES.get(kind)
    if wanted is not None and not set(map(type, values)) <= {wanted, type(None)}:
        raise Inexact
    made = pa.array(values, kind)
    if wanted is None and made.to_pylist() != values:
        raise Inexact
    return made
