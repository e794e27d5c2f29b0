"""``MapKey``: the key of the entry that a function reads and writes in its maps.

A function that uses one entry of its maps for each element, such as ``map.get(value.name)`` and
``map.put(value.name, ...)``, does with the entry what others do with a ValueState. So its elements
are grouped by their key and the key of the entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.runtime.columns.tracing.expressions import (
    Column,
    Constant,
    Expression,
    alike,
    leaves,
)
from flinkish.runtime.columns.tracing.folding import ARROW_TYPES, Groups, first_positions, normal
from flinkish.runtime.columns.tracing.stand_ins import StandIn
from flinkish.runtime.columns.tracing.symbolic_values import taken_apart
from flinkish.runtime.columns.tracing.trace import Trace
from flinkish.runtime.columns.tracing.traced_runs import run_of
from flinkish.runtime.columns.tracing.unsupported import CannotTell
from flinkish.runtime.columns.tracing.values import Inexact, to_arrow
from flinkish.runtime.records.rows import grouped, python_values
from flinkish.runtime.records.shapes import Shape

_KINDS = {"int", "bool", "str"}
"""The kinds of values of which equal ones are one key of a map."""


@dataclass(frozen=True, eq=False)
class MapKey:
    """The key of an entry, computed from the columns of the element."""

    shape: Shape
    parts: tuple[Expression, ...]

    @staticmethod
    def of(trace: Trace, key: Any, width: int) -> MapKey | None:
        """``key``, which a function of elements with ``width`` columns gives to a map; None if
        elements cannot be grouped by it."""
        shape, parts = taken_apart(trace, key)
        read = leaves(*parts)
        known = all(
            isinstance(leaf, Constant) or (isinstance(leaf, Column) and leaf.number < width)
            for leaf in read
        )
        if not known or shape.mutable or shape.ofClasses or not {p.kind for p in parts} <= _KINDS:
            return None
        return MapKey(shape, tuple(parts))

    def isLike(self, other: MapKey) -> bool:
        """Whether ``other``, of another trace, is computed in the same way."""
        return self.shape == other.shape and all(map(alike, self.parts, other.parts))


class OtherMapKey(CannotTell):
    """The function uses the entries of its maps under another key than its specialization."""

    def __init__(self, key: MapKey | None) -> None:
        """``key``: None if not each element uses one entry, or if it changes other states too."""
        self.key = key


class ValueLike(Protocol):
    """What stands for the value of an entry."""

    current: Any

    def value(self) -> Any:
        """The value; None if there is none."""

    def update(self, value: Any) -> None:
        """Put a value."""

    def clear(self) -> None:
        """Remove the value."""


class EntryStandIn(StandIn):
    """Stands for a map of which only the entry under ``key`` is used."""

    def __init__(self, trace: Trace, entry: ValueLike, key: MapKey, width: int) -> None:
        super().__init__(trace, "map")
        self._entry = entry
        self._key = key
        self._width = width

    def get(self, key: Any) -> Any:
        self._check(key)
        return self._entry.value()

    def contains(self, key: Any) -> bool:
        self._check(key)
        return self._entry.current is not None

    def put(self, key: Any, value: Any) -> None:
        self._check(key)
        if value is None:
            raise self._trace.unsupported("puts None into a map")
        self._entry.update(value)

    def remove(self, key: Any) -> None:
        self._check(key)
        self._entry.clear()

    def _check(self, key: Any) -> None:
        found = MapKey.of(self._trace, key, self._width)
        if found is None or not found.isLike(self._key):
            raise OtherMapKey(found)

    def __getattr__(self, attribute: str) -> Any:
        raise OtherMapKey(None)


class EntryGroups(NamedTuple):
    """The elements of a run, grouped by their key and the key of their entry."""

    groups: Groups
    """The number of each element's group."""
    owners: NDArray[np.intp]
    """The number of each group's key."""
    mapKeys: Sequence[Any]
    """The key of each group's entry."""

    @staticmethod
    def of(key: MapKey, batch: pa.RecordBatch, groups: Groups) -> EntryGroups:
        """The elements of ``batch``, where ``groups`` has the number of each element's key. Raises
        Inexact if a key may not be what Python computes."""
        run, codes, columns = run_of(batch), groups, []
        for part in key.parts:
            values = run.values(part)
            if values.kind not in _KINDS:
                raise Inexact
            column = normal(to_arrow(values.array(run.count)), ARROW_TYPES[values.kind])
            numbers, distinct = grouped(column)
            codes, found = grouped(pa.array(codes * len(distinct) + numbers))
            columns.append(column)
        first = first_positions(codes, len(found))
        lists = [python_values(column.take(pa.array(first))) for column in columns]
        return EntryGroups(codes, groups[first], list(key.shape.made(lists)))
