"""``Shape``: how a row of columns becomes an element: a Row, a tuple, a dict, an object of a class,
or a value; or an accumulator or state, which may be a list."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any

import pyarrow as pa

from flinkish.api.stored_names import stored_as
from flinkish.api.stored_values import pickled, unpickled
from flinkish.api.types.row import Row, row_type


@stored_as("Shape")
@dataclass(frozen=True)
class Shape:
    """An element of class ``kind`` with ``parts``, whose columns follow one another. ``kind`` is
    Row, tuple, dict, list, or the class of a NamedTuple or dataclass. None stands for the value of
    one column."""

    kind: type[Any] | None = None
    names: tuple[str, ...] = ()
    parts: tuple[Shape, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        # Without cached properties, so that the bytes of a shape are always the same
        return {"kind": self.kind, "names": self.names, "parts": self.parts}

    @cached_property
    def width(self) -> int:
        return 1 if self.kind is None else sum(part.width for part in self.parts)

    @cached_property
    def flat(self) -> bool:
        """Whether each part is one column."""
        return all(part.kind is None for part in self.parts)

    @cached_property
    def ofClasses(self) -> bool:
        """Whether an element contains objects of a user's class, whose methods are user code."""
        own = self.kind not in (None, Row, tuple, dict, list)
        return own or any(part.ofClasses for part in self.parts)

    @cached_property
    def mutable(self) -> bool:
        """Whether an element of this shape, or a part of it, is a mutable object."""
        return is_mutable(self.kind) or any(part.mutable for part in self.parts)

    @cached_property
    def columnNames(self) -> tuple[str, ...]:
        if self.kind is None:
            return ("value",)
        names: list[str] = []
        for name, part in zip(self.names, self.parts):
            inner = (f"{name}.{within}" for within in part.columnNames)
            names.extend((name,) if part.kind is None else inner)
        return tuple(names)

    def made(self, columns: Sequence[list[Any]]) -> Iterable[Any]:
        """The elements, created from the values of the columns."""
        kind = self.kind
        if kind is None:
            return columns[0]
        parts: list[Iterable[Any]] = list(columns) if self.flat else self._made_parts(columns)
        # All in C, as a Python call for each element would cost more than everything else
        if kind is tuple:
            return zip(*parts)
        if kind is Row:
            return map(tuple.__new__, repeat(row_type(self.names)), zip(*parts))
        if kind is dict:
            return map(dict, map(zip, repeat(self.names), zip(*parts)))
        if kind is list:
            return map(list, zip(*parts))
        if issubclass(kind, tuple):
            return map(tuple.__new__, repeat(kind), zip(*parts))
        if any(field.kw_only for field in dataclasses.fields(kind)):
            return [kind(**dict(zip(self.names, values))) for values in zip(*parts)]
        return map(kind, *parts)

    def _made_parts(self, columns: Sequence[list[Any]]) -> list[Iterable[Any]]:
        parts, start = [], 0
        for part in self.parts:
            parts.append(part.made(columns[start : start + part.width]))
            start += part.width
        return parts


def is_mutable(kind: type[Any] | None) -> bool:
    """Whether objects of ``kind``, the kind of a shape, can be changed."""
    parameters = getattr(kind, "__dataclass_params__", None)
    return kind in (dict, list) or (parameters is not None and not parameters.frozen)


@stored_as("ConstantShape")
@dataclass(frozen=True)
class ConstantShape(Shape):
    """A part that is the same ``value``, of class ``kind``, in all elements: it has no column."""

    value: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "value": self.value}

    @cached_property
    def width(self) -> int:
        return 0

    @cached_property
    def ofClasses(self) -> bool:
        return False

    @cached_property
    def columnNames(self) -> tuple[str, ...]:
        return ()

    def made(self, columns: Sequence[list[Any]]) -> Iterable[Any]:
        return repeat(self.value)


VALUE = Shape()
"""The shape of elements that are the values of one column."""


def row_shape(names: Sequence[str]) -> Shape:
    return Shape(Row, tuple(names), (VALUE,) * len(names))


def tuple_shape(parts: Sequence[Shape]) -> Shape:
    return positional_shape(tuple, parts)


def positional_shape(kind: type[Any], parts: Sequence[Shape]) -> Shape:
    return Shape(kind, tuple(f"f{number}" for number in range(len(parts))), tuple(parts))


_SHAPE = b"flinkish.shape"


def with_shape(schema: pa.Schema, shape: Shape) -> pa.Schema:
    """``schema`` with ``shape`` in its metadata, unless the elements are Rows of it."""
    if shape == row_shape(schema.names):
        return schema
    return schema.with_metadata({**(schema.metadata or {}), _SHAPE: pickled(shape)})


def shape_of(schema: pa.Schema) -> Shape:
    """The shape that ``with_shape`` has noted in ``schema``; by default that of Rows."""
    stored = (schema.metadata or {}).get(_SHAPE)
    shape: Shape = row_shape(schema.names) if stored is None else unpickled(stored)
    return shape
