"""``Evictor``: removes elements from a window when it fires, before or after the window function.

A trigger decides when a window fires, an evictor which of its elements take part. With an evictor
the operator keeps all elements of a window instead of one accumulator, so it needs more state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NamedTuple

from flinkish.api.arguments import integer, milliseconds, number
from flinkish.api.errors import IllegalStateError
from flinkish.api.metrics import MetricGroup
from flinkish.api.stored_names import stored_as
from flinkish.api.time.durations import TimeLike, to_long
from flinkish.api.time.elements import MIN_TIMESTAMP
from flinkish.api.type_variables import T, X
from flinkish.api.windowing.triggers import DeltaLike, delta_call
from flinkish.api.windowing.windows import W_contra, Window


@stored_as("TimestampedValue")
class TimestampedValue(NamedTuple, Generic[T]):
    """An element of a window and its timestamp (Flink: ``TimestampedValue``)."""

    value: T
    timestamp: int = MIN_TIMESTAMP

    def getValue(self) -> T:
        """The element."""
        return self.value

    def hasTimestamp(self) -> bool:
        """Whether the element has a timestamp."""
        return self.timestamp != MIN_TIMESTAMP

    def getTimestamp(self) -> int:
        """The timestamp in ms. Raises IllegalStateError if the element has none."""
        if self.timestamp == MIN_TIMESTAMP:
            raise IllegalStateError(
                "the element has no timestamp: ask hasTimestamp() first, or call"
                " assignTimestampsAndWatermarks(strategy) on the stream before the window."
            )
        return self.timestamp


class EvictableIterator(Iterator[TimestampedValue[T]], Generic[T]):
    """Iterates over the elements of a window and can remove them (Java: ``java.util.Iterator``)."""

    def __init__(self, elements: list[TimestampedValue[T]]) -> None:
        self._elements = elements
        self._next = 0
        self._removable = False

    def hasNext(self) -> bool:
        """Whether there is another element."""
        return self._next < len(self._elements)

    def __next__(self) -> TimestampedValue[T]:
        if self._next >= len(self._elements):
            self._removable = False
            raise StopIteration
        self._next += 1
        self._removable = True
        return self._elements[self._next - 1]

    def next(self) -> TimestampedValue[T]:
        """The next element."""
        return next(self)

    def remove(self) -> None:
        """Remove the element that ``next()`` returned last."""
        if not self._removable:
            raise IllegalStateError("remove() needs an element: call it once after each next().")
        self._removable = False
        self._next -= 1
        del self._elements[self._next]


class EvictableElements(Iterable[TimestampedValue[T]], Generic[T]):
    """The elements of a window in order of arrival; removed elements leave the window for good.

    >>> elements = EvictableElements([TimestampedValue("a", 1), TimestampedValue("b", 2)])
    >>> iterator = elements.iterator()
    >>> while iterator.hasNext():
    ...     if iterator.next().getTimestamp() < 2:
    ...         iterator.remove()
    >>> [element.getValue() for element in elements]
    ['b']
    >>> elements.removeIf(lambda element: element.getValue() == "b")
    >>> len(elements)
    0
    """

    def __init__(self, elements: list[TimestampedValue[T]]) -> None:
        self._elements = elements

    def __iter__(self) -> EvictableIterator[T]:
        return EvictableIterator(self._elements)

    def __len__(self) -> int:
        return len(self._elements)

    def __getitem__(self, index: int) -> TimestampedValue[T]:
        return self._elements[index]

    def iterator(self) -> EvictableIterator[T]:
        """An iterator with ``remove()``."""
        return EvictableIterator(self._elements)

    def removeIf(self, predicate: Callable[[TimestampedValue[T]], bool]) -> None:
        """Remove every element for which ``predicate`` is true."""
        self._elements[:] = [element for element in self._elements if not predicate(element)]

    def removeFirst(self, count: int) -> None:
        """Remove the first ``count`` elements."""
        del self._elements[:count]


class EvictorContext(ABC):
    """Time and metrics for an evictor (Flink: ``Evictor.EvictorContext``)."""

    __slots__ = ()

    @abstractmethod
    def getCurrentProcessingTime(self) -> int:
        """The processing-time clock, in ms; on Spark the timestamp of the batch."""

    @abstractmethod
    def getCurrentWatermark(self) -> int:
        """The current watermark of the operator, in ms."""

    @abstractmethod
    def getMetricGroup(self) -> MetricGroup:
        """The metrics of the window operator."""


class Evictor(ABC, Generic[T, W_contra]):
    """Removes elements from a window when it fires (Flink: ``Evictor``).

    >>> class KeepEven(Evictor[int, Window]):
    ...     def evictBefore(self, elements, size, window, evictorContext):
    ...         elements.removeIf(lambda element: element.getValue() % 2)
    ...     def evictAfter(self, elements, size, window, evictorContext):
    ...         pass
    """

    @abstractmethod
    def evictBefore(
        self,
        elements: EvictableElements[T],
        size: int,
        window: W_contra,
        evictorContext: EvictorContext,
    ) -> None:
        """Called with the ``size`` elements of ``window`` before the window function sees them."""

    @abstractmethod
    def evictAfter(
        self,
        elements: EvictableElements[T],
        size: int,
        window: W_contra,
        evictorContext: EvictorContext,
    ) -> None:
        """Called with the ``size`` elements left after the window function has seen them."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _OneSidedEvictor(Evictor[T, Window], Generic[T]):
    """The base of evictors that work either before or after the window function."""

    def __init__(self, doEvictAfter: bool) -> None:
        self._after = doEvictAfter

    @abstractmethod
    def _evict(self, elements: EvictableElements[T], size: int) -> None:
        """Remove elements from the ``size`` elements of a window."""

    def evictBefore(
        self,
        elements: EvictableElements[T],
        size: int,
        window: Window,
        evictorContext: EvictorContext,
    ) -> None:
        if not self._after:
            self._evict(elements, size)

    def evictAfter(
        self,
        elements: EvictableElements[T],
        size: int,
        window: Window,
        evictorContext: EvictorContext,
    ) -> None:
        if self._after:
            self._evict(elements, size)


class CountEvictor(_OneSidedEvictor[Any]):
    """Keeps the last ``maxCount`` elements by order of arrival (Flink: ``CountEvictor``)."""

    def __init__(self, maxCount: int, doEvictAfter: bool = False) -> None:
        super().__init__(doEvictAfter)
        self._max_count = integer("CountEvictor: maxCount", maxCount)

    @staticmethod
    def of(maxCount: int, doEvictAfter: bool = False) -> CountEvictor:
        """An evictor that keeps ``maxCount`` elements, removing the others before the window function,
        or after it."""
        return CountEvictor(maxCount, doEvictAfter)

    def _evict(self, elements: EvictableElements[Any], size: int) -> None:
        if size > self._max_count:
            elements.removeFirst(size - self._max_count)

    def __repr__(self) -> str:
        return f"CountEvictor({self._max_count})"


class TimeEvictor(_OneSidedEvictor[Any]):
    """Keeps the elements less than ``windowSize`` older than the newest (Flink: ``TimeEvictor``).

    With 10 ms and timestamps 3, 8, 15 it removes 3: only what is later than 15 - 10 stays. If the
    first element has no timestamp, nothing is removed.
    """

    def __init__(self, windowSize: TimeLike, doEvictAfter: bool = False) -> None:
        super().__init__(doEvictAfter)
        self._window_size = milliseconds("TimeEvictor: windowSize", windowSize)

    @staticmethod
    def of(windowSize: TimeLike, doEvictAfter: bool = False) -> TimeEvictor:
        """An evictor that keeps the last ``windowSize`` (ms if an int), by timestamps."""
        return TimeEvictor(windowSize, doEvictAfter)

    def getWindowSize(self) -> int:
        """The length of time that the evictor keeps, in ms."""
        return self._window_size

    def _evict(self, elements: EvictableElements[Any], size: int) -> None:
        if not size or not elements[0].hasTimestamp():
            return
        latest = max(element.getTimestamp() for element in elements)
        cutoff = to_long(latest - self._window_size)
        elements.removeIf(lambda element: element.getTimestamp() <= cutoff)

    def __repr__(self) -> str:
        return f"TimeEvictor({self._window_size})"


class DeltaEvictor(_OneSidedEvictor[T], Generic[T]):
    """Keeps the elements whose distance to the last element is below a threshold (Flink:
    ``DeltaEvictor``)."""

    def __init__(
        self, threshold: float, deltaFunction: DeltaLike[T], doEvictAfter: bool = False
    ) -> None:
        super().__init__(doEvictAfter)
        self._threshold = number("DeltaEvictor: threshold", threshold)
        self._function = deltaFunction
        self._delta = delta_call("DeltaEvictor", deltaFunction)

    @staticmethod
    def of(
        threshold: float, deltaFunction: DeltaLike[X], doEvictAfter: bool = False
    ) -> DeltaEvictor[X]:
        """An evictor that removes the elements for which ``deltaFunction``, a DeltaFunction or
        ``f(element, last)``, returns ``threshold`` or more."""
        return DeltaEvictor(threshold, deltaFunction, doEvictAfter)

    def _evict(self, elements: EvictableElements[T], size: int) -> None:
        if size:
            last = elements[-1].getValue()
            elements.removeIf(
                lambda element: self._delta(element.getValue(), last) >= self._threshold
            )

    def __repr__(self) -> str:
        return f"DeltaEvictor({self._function!r}, {self._threshold})"
