"""The shapes of Python values, and their parts as columns."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import pyarrow as pa

from flinkish.api.types.row import Row
from flinkish.runtime.columns.tracing.kernels import Inexact
from flinkish.runtime.columns.tracing.record_classes import is_record_class
from flinkish.runtime.columns.tracing.symbols import MOST_ITEMS, dict_names, took
from flinkish.runtime.columns.tracing.unsupported import Unsupported
from flinkish.runtime.records.shapes import VALUE, Shape, is_mutable, positional_shape, tuple_shape


def structure(value: Any, parts: list[Any], taken: list[Any] | None = None) -> Shape:
    """The shape of a Python value; adds the value's parts to ``parts``. Raises Unsupported if it
    has none, or if something that can change is in it twice. ``taken``: what can change, so far."""
    kind = type(value)
    taken = [] if taken is None else taken
    if is_mutable(kind) and not took(value, taken):
        raise Unsupported(f"has a {kind.__name__} twice, which can change")
    if kind is tuple and value:
        return tuple_shape([structure(part, parts, taken) for part in value])
    if isinstance(value, Row) and len(value):
        names = value.getFieldNames()
        return Shape(
            Row, names, tuple(structure(part, parts, taken) for part in tuple.__iter__(value))
        )
    if isinstance(value, tuple) or is_dataclass(kind):
        if not is_record_class(kind):
            raise Unsupported(
                f"has an accumulator of the class {kind.__name__}, which cannot be followed"
            )
        names = tuple(kind._fields if isinstance(value, tuple) else (f.name for f in fields(kind)))
        if not names:
            raise Unsupported(f"has a {kind.__name__}, which has no fields")
        inner = tuple(structure(getattr(value, name), parts, taken) for name in names)
        return Shape(kind, names, inner)
    if kind is dict:
        keys = dict_names(value)
        if keys is None:
            raise Unsupported("has a dict that is empty or has other keys than plain names")
        return Shape(dict, keys, tuple(structure(part, parts, taken) for part in value.values()))
    if kind is list and 0 < len(value) <= MOST_ITEMS:
        return positional_shape(list, [structure(part, parts, taken) for part in value])
    if isinstance(value, (list, dict, set, bytearray)):
        raise Unsupported(f"has a {kind.__name__} as accumulator, which can change")
    parts.append(value)
    return VALUE


def take_apart(shape: Shape, value: Any, parts: list[Any], taken: list[Any] | None = None) -> bool:
    """Add the parts of ``value`` to ``parts``. False if it is not of ``shape``, or if something that
    can change is in it twice. ``taken``: what can change, so far."""
    if shape.kind is None:
        parts.append(value)
        return True
    taken = [] if taken is None else taken
    if is_mutable(shape.kind) and not took(value, taken):
        return False
    if shape.kind is Row:
        if not isinstance(value, Row) or value.getFieldNames() != shape.names:
            return False
    elif type(value) is not shape.kind:
        return False
    if isinstance(value, dict):
        if tuple(value) != shape.names:
            return False
        members = list(value.values())
    elif isinstance(value, tuple):
        members = list(tuple.__iter__(value))
    elif isinstance(value, list):
        members = value
    else:
        members = [getattr(value, name) for name in shape.names]
    return len(members) == len(shape.parts) and all(
        take_apart(part, member, parts, taken) for part, member in zip(shape.parts, members)
    )


def column_of_values(values: list[Any], kind: pa.DataType) -> pa.Array:
    if kind in (pa.int64(), pa.float64(), pa.bool_(), pa.string()):
        wanted = {pa.int64(): int, pa.float64(): float, pa.bool_(): bool, pa.string(): str}[kind]
        if not set(map(type, values)) <= {wanted, type(None)}:
            raise Inexact
    made = pa.array(values, kind)
    if kind in (pa.int64(), pa.float64(), pa.bool_(), pa.string()) or made.to_pylist() == values:
        return made
    raise Inexact
