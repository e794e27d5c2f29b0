"""What a window function gets to see where the elements themselves are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from operator import add
from typing import Any

from flinkish.api.errors import InvalidProgramError
from flinkish.api.functions.adapt import reduce_call
from flinkish.api.functions.functions import AggregateFunction
from flinkish.api.functions.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)
from flinkish.api.plan.windows import WindowOperatorDescription
from flinkish.api.windowing.evictors import TimestampedValue
from flinkish.runtime.records.copies import copied
from flinkish.runtime.state.accumulation import added, merged, reduced
from flinkish.runtime.state.backend import KeyedStateBackend, StateTable


def element_fold(aggregation: Any) -> Callable[[list[Any]], Sequence[Any]]:
    """The elements, or the one value that ``aggregation`` makes of them; the reduction of nothing is
    None, its aggregate that of a new accumulator."""
    if aggregation is None:
        return lambda values: values
    if isinstance(aggregation, AggregateFunction):
        return lambda values: (_aggregate(aggregation, values),)
    call = partial(reduced, reduce_call(aggregation))
    return lambda values: (reduce(call, values) if values else None,)


def _aggregate(function: AggregateFunction[Any, Any, Any], values: list[Any]) -> Any:
    accumulator = function.createAccumulator()
    for value in values:
        accumulator = added(function, value, accumulator)
    return function.getResult(accumulator)


def merge_call(descriptor: StateDescriptor[Any]) -> Callable[[Any, Any], Any]:
    """How two entries of the state become one.

    Raises InvalidProgramError for a state that does not merge.
    """
    if descriptor.ttlConfig is not None and descriptor.ttlConfig.isEnabled():
        raise InvalidProgramError(
            f"mergePartitionedState: {descriptor!r} has a time to live, and entries of different age"
            " do not merge. Leave enableTimeToLive out of the descriptor of a trigger's state."
        )
    if isinstance(descriptor, ReducingStateDescriptor):
        return partial(reduced, reduce_call(descriptor.reduceFunction))
    if isinstance(descriptor, AggregatingStateDescriptor):
        return partial(merged, descriptor.aggregateFunction)
    if isinstance(descriptor, ListStateDescriptor):
        return add
    raise InvalidProgramError(
        f"mergePartitionedState: {descriptor!r} does not describe a state that can merge. Use a"
        " ListStateDescriptor, a ReducingStateDescriptor or an AggregatingStateDescriptor."
    )


def merge_namespaces(
    table: StateTable,
    key: Any,
    target: Any,
    sources: Iterable[Any],
    merge: Callable[[Any, Any], Any],
) -> None:
    """Move the entries of ``sources`` into that of ``target`` (Flink: ``mergeNamespaces``)."""
    entries = []
    for source in sources:
        entry = table.get(key, source)
        if entry is not None:
            table.remove(key, source)
            entries.append(entry)
    if entries:
        joined = reduce(merge, entries)
        present = table.get(key, target)
        table.put(key, target, joined if present is None else merge(present, joined))


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
