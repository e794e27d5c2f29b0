"""``PaneElements``: the elements of a pane, of which those that came as columns stay columns."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from flinkish.api.windowing.evictors import TimestampedValue
from flinkish.runtime.records.shapes import Shape

LEAST_COLUMNS = 1 << 3
"""Fewer elements are stored as objects, which is as fast."""

_ENCODED_AT_ONCE = 1 << 8
"""So many elements become bytes, which are not written anew."""


class PaneElements:
    """The elements of a pane in the order of their arrival. A list is pickled again with each batch that
    adds to it; elements that stay columns are encoded once, and become objects when the pane fires."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Iterable[Iterable[Any]]) -> None:
        self._parts: list[Any] = list(parts)

    @classmethod
    def of(cls, kept: Iterable[Any] | None) -> PaneElements:
        """What is ``kept`` of a pane."""
        if isinstance(kept, PaneElements):
            return kept
        return cls([] if kept is None else [kept])

    def append(self, element: Any) -> None:
        """Add an element."""
        self += (element,)

    def addColumns(self, columns: Sequence[list[Any]], shape: Shape, stamped: bool) -> None:
        """Add elements of ``shape``, of whose fields ``columns`` are the values; ``stamped``: the last
        are their timestamps, for an evictor."""
        elements = _ElementColumns(columns, len(columns[0]), shape, stamped)
        if elements.count < LEAST_COLUMNS:
            self += elements
        elif not (self._parts and elements.follows(self._parts[-1])):
            self._parts.append(elements)

    def __iadd__(self, elements: Iterable[Any]) -> PaneElements:
        if not (self._parts and isinstance(self._parts[-1], list)):
            self._parts.append([])
        self._parts[-1] += elements
        return self

    def __add__(self, other: Iterable[Any]) -> PaneElements:
        return PaneElements([*self._parts, *PaneElements.of(other)._parts])

    def __radd__(self, other: Iterable[Any]) -> PaneElements:
        return PaneElements([other, *self._parts])

    def __iter__(self) -> Iterator[Any]:
        for part in self._parts:
            yield from part

    def __repr__(self) -> str:
        return repr(list(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return PaneElements, (self._parts,)


class _ElementColumns:
    """Elements as the values of each of their fields, or as the bytes of these until one is needed."""

    __slots__ = ("_columns", "_shape", "_stamped", "count")

    def __init__(
        self, columns: Sequence[list[Any]] | bytes, count: int, shape: Shape, stamped: bool
    ) -> None:
        self._columns = columns
        self.count = count
        self._shape = shape
        self._stamped = stamped

    def follows(self, other: Any) -> bool:
        """Add these elements to ``other`` if that is small, and has elements of the same shape."""
        if not isinstance(other, _ElementColumns) or other.count >= _ENCODED_AT_ONCE:
            return False
        if (other._shape, other._stamped) != (self._shape, self._stamped):
            return False
        other._columns = [one + more for one, more in zip(other._values(), self._values())]
        other.count += self.count
        return True

    def _values(self) -> Sequence[list[Any]]:
        columns = self._columns
        return pickle.loads(columns) if isinstance(columns, bytes) else columns

    def __iter__(self) -> Iterator[Any]:
        columns = self._values()
        if not self._stamped:
            return iter(self._shape.made(columns))
        *columns, times = columns
        return map(TimestampedValue, self._shape.made(columns), times)

    def __reduce__(self) -> tuple[Any, ...]:
        data = self._columns
        if not isinstance(data, bytes):
            data = pickle.dumps(data, protocol=5)
            if self.count >= _ENCODED_AT_ONCE:
                self._columns = data
        return _ElementColumns, (data, self.count, self._shape, self._stamped)
