"""``PaneElements``: the elements of a pane, most of which are encoded once."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from flinkish.api.stored_names import stored_as
from flinkish.api.stored_values import pickled, unpickled
from flinkish.api.types.row import Row
from flinkish.api.windowing.evictors import TimestampedValue
from flinkish.runtime.records.shapes import Shape, row_shape

LEAST_COLUMNS = 1 << 3
"""Fewer elements are stored as objects, which is as fast."""

ENCODED_AT_ONCE = 1 << 8
"""So many elements become bytes, which are not written anew."""


@stored_as("PaneElements")
class PaneElements:
    """The elements of a pane in the order of their arrival.

    A list would be pickled again with each batch that adds to it. Here elements that come as columns
    stay columns, and many of either become bytes until the pane fires.
    """

    __slots__ = ("_parts",)

    def __init__(self, parts: Iterable[Iterable[Any]]) -> None:
        self._parts: list[Any] = list(parts)
        """Lists of elements, their bytes, and columns."""

    @classmethod
    def of(cls, kept: Iterable[Any] | None) -> PaneElements:
        """What is ``kept`` of a pane."""
        if isinstance(kept, PaneElements):
            return kept
        return cls([] if kept is None else [kept])

    def append(self, element: Any) -> None:
        """Add an element."""
        self += (element,)

    def addColumns(
        self, columns: Sequence[list[Any]], count: int, shape: Shape, stamped: bool
    ) -> None:
        """Add ``count`` elements of ``shape``, of whose fields ``columns`` are the values; ``stamped``:
        the last are their timestamps, for an evictor."""
        elements = _ElementColumns(columns, count, shape, stamped)
        if count < LEAST_COLUMNS:
            self += elements
        elif not (self._parts and elements.appendedTo(self._parts[-1])):
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
            yield from unpickled(part) if isinstance(part, bytes) else part

    def __repr__(self) -> str:
        return repr(list(self))

    def __getstate__(self) -> list[Any]:
        """The parts, with columns as what ``_ElementColumns.restored`` takes."""
        for number, part in enumerate(self._parts):
            if isinstance(part, list) and len(part) >= ENCODED_AT_ONCE:
                self._parts[number] = pickled(part)
        return [
            part.stored() if isinstance(part, _ElementColumns) else part for part in self._parts
        ]

    def __setstate__(self, stored: list[Any]) -> None:
        self._parts = [
            _ElementColumns.restored(*part) if isinstance(part, tuple) else part for part in stored
        ]


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

    def appendedTo(self, other: Any) -> bool:
        """Append these elements to ``other`` if that is small, and has elements of the same shape.
        Returns whether it did."""
        if not isinstance(other, _ElementColumns) or other.count >= ENCODED_AT_ONCE:
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

    def stored(self) -> tuple[Any, ...]:
        """The arguments of ``restored``: the values as bytes, and the names of the fields of Rows in place
        of a shape, which would name the module of their class."""
        data, shape = self._columns, self._shape
        if not isinstance(data, bytes):
            data = pickle.dumps(data, protocol=5)
            if self.count >= ENCODED_AT_ONCE:
                self._columns = data
        of_rows = shape.kind is Row and shape.flat
        return data, self.count, shape.names if of_rows else shape, self._stamped

    @classmethod
    def restored(
        cls, data: bytes, count: int, shape: Shape | tuple[str, ...], stamped: bool
    ) -> _ElementColumns:
        """What was ``stored``."""
        return cls(data, count, row_shape(shape) if isinstance(shape, tuple) else shape, stamped)
