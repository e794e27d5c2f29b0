"""``PaneElements``: the elements of a pane, of which those that came as columns stay columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from flinkish.api.windowing.evictors import TimestampedValue
from flinkish.runtime.records.records import Timestamps
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import Shape

LEAST_COLUMNS = 1 << 4
"""Fewer elements are stored as objects, which takes less space than columns."""


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

    def addColumns(self, values: RowColumns, timestamps: Timestamps | None) -> None:
        """Add elements, with their timestamps where an evictor is to see them."""
        columns = _ElementColumns(values, timestamps)
        if len(values) >= LEAST_COLUMNS:
            self._parts.append(columns)
        else:
            self += columns

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
    """Elements as columns, or as their bytes until one is needed."""

    __slots__ = ("_data", "_shape", "_times", "_values")

    def __init__(self, values: RowColumns | None, timestamps: Timestamps | None) -> None:
        self._values = values
        self._times = timestamps
        self._data = b""
        self._shape: Shape | None = None

    @classmethod
    def ofBytes(cls, data: bytes, shape: Shape | None, times: bytes | None) -> _ElementColumns:
        """What ``__reduce__`` has encoded."""
        columns = cls(None, None if times is None else np.frombuffer(times, np.int64))
        columns._data, columns._shape = data, shape
        return columns

    def __iter__(self) -> Iterator[Any]:
        values = RowColumns.ofBytes(self._data, self._shape) if self._data else self._values
        assert values is not None
        made = values.passing()
        return made if self._times is None else map(TimestampedValue, made, self._times.tolist())

    def __reduce__(self) -> tuple[Any, ...]:
        if self._values is not None:
            self._data = self._values.toBytes()
            self._shape = None if self._values.ofRows else self._values.shape
            self._values = None
        times = None if self._times is None else self._times.tobytes()
        return _ElementColumns.ofBytes, (self._data, self._shape, times)
