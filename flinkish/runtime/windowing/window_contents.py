"""The contents of windows as state: an accumulator, or the elements themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from flinkish.api.callables import reduce_call
from flinkish.api.functions import AggregateFunction
from flinkish.api.window_operators import WindowOperatorDescription
from flinkish.api.windowing.evictor import TimestampedValue
from flinkish.runtime.accumulation import added, merged, reduced
from flinkish.runtime.element_copies import copied
from flinkish.runtime.state.backend import KeyedStateBackend
from flinkish.runtime.windowing.state_merging import merge_namespaces

TABLE = "window-contents"


def window_contents(
    description: WindowOperatorDescription, backend: KeyedStateBackend
) -> WindowContents:
    """The contents that ``description`` asks for."""
    if description.evictor is not None:
        return TimestampedContents(backend)
    aggregation = description.aggregation
    if aggregation is None:
        return ListContents(backend)
    if isinstance(aggregation, AggregateFunction):
        return AggregatedContents(backend, aggregation)
    return ReducedContents(backend, aggregation)


class WindowContents(ABC):
    """What is in the windows of the current key. As in Flink, None is nothing."""

    def __init__(self, backend: KeyedStateBackend) -> None:
        self._backend = backend
        self._table = backend.table(TABLE)

    @abstractmethod
    def add(self, window: Any, value: Any, timestamp: int) -> None:
        """Put an element into ``window``."""

    @abstractmethod
    def elements(self, window: Any) -> Sequence[Any] | None:
        """What the window function gets to see of ``window``, or None if there is nothing."""

    @abstractmethod
    def _merge(self, one: Any, other: Any) -> Any:
        """The state of both."""

    def clear(self, window: Any) -> None:
        """Drop what is in ``window``."""
        self._table.remove(self._backend.currentKey, window)

    def merge(self, target: Any, sources: Iterable[Any]) -> None:
        """Put what is in ``sources`` into ``target``."""
        merge_namespaces(self._table, self._backend.currentKey, target, sources, self._merge)


class ReducedContents(WindowContents):
    """The reduction of the elements."""

    def __init__(self, backend: KeyedStateBackend, function: Any) -> None:
        super().__init__(backend)
        self._reduce = reduce_call(function)

    def _merge(self, one: Any, other: Any) -> Any:
        return reduced(self._reduce, one, other)

    def add(self, window: Any, value: Any, timestamp: int) -> None:
        key = self._backend.currentKey
        kept = self._table.get(key, window)
        # The function may change what it begins with, and another window have the same element
        kept = copied(value) if kept is None else reduced(self._reduce, kept, value)
        self._table.put(key, window, kept)

    def elements(self, window: Any) -> Sequence[Any] | None:
        kept = self._table.get(self._backend.currentKey, window)
        return None if kept is None else (kept,)


class AggregatedContents(WindowContents):
    """The accumulator of the elements."""

    def __init__(
        self, backend: KeyedStateBackend, function: AggregateFunction[Any, Any, Any]
    ) -> None:
        super().__init__(backend)
        self._function = function

    def _merge(self, one: Any, other: Any) -> Any:
        return merged(self._function, one, other)

    def add(self, window: Any, value: Any, timestamp: int) -> None:
        key = self._backend.currentKey
        kept = self._table.get(key, window)
        accumulator = self._function.createAccumulator() if kept is None else kept
        self._table.put(key, window, added(self._function, value, accumulator))

    def elements(self, window: Any) -> Sequence[Any] | None:
        kept = self._table.get(self._backend.currentKey, window)
        result = None if kept is None else self._function.getResult(kept)
        return None if result is None else (result,)


class ListContents(WindowContents):
    """The elements in the order they came."""

    def _merge(self, one: Any, other: Any) -> Any:
        return one + other

    def add(self, window: Any, value: Any, timestamp: int) -> None:
        key = self._backend.currentKey
        kept = self._table.get(key, window)
        if kept is None:
            kept = [value]
        else:
            kept.append(value)
        self._table.put(key, window, kept)

    def elements(self, window: Any) -> Sequence[Any] | None:
        kept = self._table.get(self._backend.currentKey, window)
        return None if kept is None else list(kept)


class TimestampedContents(ListContents):
    """The elements with their timestamps, for an evictor."""

    def add(self, window: Any, value: Any, timestamp: int) -> None:
        super().add(window, TimestampedValue(value, timestamp), timestamp)

    def replace(self, window: Any, elements: list[TimestampedValue[Any]]) -> None:
        """Set what is in ``window``."""
        if elements:
            self._table.put(self._backend.currentKey, window, elements)
        else:
            self.clear(window)
