"""The contents of panes: elements, or one value that is aggregated incrementally.

``reduce`` and ``aggregate`` without an evictor keep one value for each pane, however many elements
it has; anything else keeps the elements themselves.
"""

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
from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.api.windowing.evictors import TimestampedValue
from flinkish.runtime.records.copies import copied
from flinkish.runtime.state.accumulation import added, merged, reduced
from flinkish.runtime.state.backend import KeyedStateBackend, StateTable
from flinkish.runtime.windowing.pane_elements import ENCODED_AT_ONCE, PaneElements


def element_fold(aggregation: Any) -> Callable[[list[Any]], Sequence[Any]]:
    """A function from the elements of a pane to the values for the window function: the elements
    themselves, or the one value that ``aggregation`` computes from them. Without elements
    ``reduce`` gives None, ``aggregate`` the result of a new accumulator."""
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


def part_join(aggregation: Any) -> Callable[[Any, Any], Any]:
    """A function that merges two partial results of ``aggregation``."""
    if isinstance(aggregation, AggregateFunction):
        return partial(merged, aggregation)
    return partial(reduced, reduce_call(aggregation))


def merge_call(descriptor: StateDescriptor[Any]) -> Callable[[Any, Any], Any]:
    """A function that merges two entries of the state described by ``descriptor``. Raises
    InvalidProgramError for a state that cannot be merged."""
    if descriptor.ttlConfig is not None and descriptor.ttlConfig.isEnabled():
        raise InvalidProgramError(
            f"mergePartitionedState: {descriptor!r} has a time to live, and entries of different age"
            " cannot be merged. Leave enableTimeToLive out of the descriptor of a trigger's state."
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
    """Merge the entries of ``sources``, and remove them, into that of ``target``."""
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

MERGING_SETS = "merging-window-set"
"""The table of the open windows of each key, where windows merge."""


def window_contents(
    description: WindowOperatorDescription, backend: KeyedStateBackend
) -> WindowContents:
    """The contents for the aggregation and evictor of ``description``."""
    if description.evictor is not None:
        return TimestampedContents(backend)
    aggregation = description.aggregation
    if aggregation is None:
        return ListContents(backend)
    if isinstance(aggregation, AggregateFunction):
        return AggregatedContents(backend, aggregation)
    return ReducedContents(backend, aggregation)


class WindowContents(ABC):
    """The contents of the panes of the current key; None: a pane is empty, as in Flink."""

    def __init__(self, backend: KeyedStateBackend, merge: Callable[[Any, Any], Any]) -> None:
        self._backend = backend
        self._table = backend.table(TABLE)
        self._merge = merge
        """Merges the contents of two panes."""

    @abstractmethod
    def add(self, window: Any, value: Any, timestamp: int) -> None:
        """Put an element into ``window``."""

    @abstractmethod
    def elementsOf(self, kept: Any) -> Sequence[Any] | None:
        """The values for the window function in the stored contents of a pane."""

    def elements(self, window: Any) -> Sequence[Any] | None:
        """The values of ``window`` for the window function; None if the pane is empty."""
        return self.elementsOf(self._table.get(self._backend.currentKey, window))

    def put(self, window: Any, kept: Any) -> None:
        self._table.put(self._backend.currentKey, window, kept)

    def clear(self, window: Any) -> None:
        self._table.remove(self._backend.currentKey, window)

    def merge(self, target: Any, sources: Iterable[Any]) -> None:
        merge_namespaces(self._table, self._backend.currentKey, target, sources, self._merge)


class ReducedContents(WindowContents):
    """One reduced value for each pane."""

    def __init__(self, backend: KeyedStateBackend, function: Any) -> None:
        super().__init__(backend, part_join(function))
        self._reduce = reduce_call(function)

    def add(self, window: Any, value: Any, timestamp: int) -> None:
        key = self._backend.currentKey
        kept = self._table.get(key, window)
        # A copy, as the function may change its arguments, and other windows share the element
        value = copied(value)
        kept = value if kept is None else reduced(self._reduce, kept, value)
        self._table.put(key, window, kept)

    def elementsOf(self, kept: Any) -> Sequence[Any] | None:
        return None if kept is None else (kept,)


class AggregatedContents(WindowContents):
    """One accumulator for each pane."""

    def __init__(
        self, backend: KeyedStateBackend, function: AggregateFunction[Any, Any, Any]
    ) -> None:
        super().__init__(backend, part_join(function))
        self._function = function

    def add(self, window: Any, value: Any, timestamp: int) -> None:
        key = self._backend.currentKey
        kept = self._table.get(key, window)
        accumulator = self._function.createAccumulator() if kept is None else kept
        self._table.put(key, window, added(self._function, copied(value), accumulator))

    def elementsOf(self, kept: Any) -> Sequence[Any] | None:
        result = None if kept is None else self._function.getResult(kept)
        return None if result is None else (result,)


class ListContents(WindowContents):
    """The elements of a pane in the order of their arrival."""

    def __init__(self, backend: KeyedStateBackend) -> None:
        super().__init__(backend, add)

    def add(self, window: Any, value: Any, timestamp: int) -> None:
        key = self._backend.currentKey
        kept = self._table.get(key, window)
        if kept is None:
            kept = [value]
        else:
            if type(kept) is list and len(kept) >= ENCODED_AT_ONCE:
                kept = PaneElements.of(kept)
            kept.append(value)
        self._table.put(key, window, kept)

    def elementsOf(self, kept: Any) -> Sequence[Any] | None:
        return None if kept is None else list(kept)


class TimestampedContents(ListContents):
    """The elements of a pane with their timestamps, for an evictor."""

    def add(self, window: Any, value: Any, timestamp: int) -> None:
        super().add(window, TimestampedValue(copied(value), timestamp), timestamp)

    def replace(self, window: Any, elements: Sequence[TimestampedValue[Any]] | None) -> None:
        if elements:
            self._table.put(self._backend.currentKey, window, elements)
        else:
            self.clear(window)
