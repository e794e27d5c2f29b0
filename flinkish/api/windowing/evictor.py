"""``Evictor``: takes elements out of a window before or after the window function sees them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from flinkish.api.elements import MIN_TIMESTAMP
from flinkish.api.errors import IllegalStateError
from flinkish.api.metrics import MetricGroup
from flinkish.api.stored_names import stored_as
from flinkish.api.windowing.windows import Window

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)
W_contra = TypeVar("W_contra", bound=Window, contravariant=True)


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
        """The timestamp in ms; an element without one raises IllegalStateError."""
        if self.timestamp == MIN_TIMESTAMP:
            raise IllegalStateError(
                "the element has no timestamp: ask hasTimestamp() first, or call"
                " assignTimestampsAndWatermarks(strategy) on the stream before the window."
            )
        return self.timestamp


class EvictableIterator(Iterator[TimestampedValue[T]], Generic[T]):
    """Goes through the elements of a window and can remove them (``java.util.Iterator``)."""

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
        """Take the element that came last out of the window."""
        if not self._removable:
            raise IllegalStateError("remove(): call it once for an element that next() has given.")
        self._removable = False
        self._next -= 1
        del self._elements[self._next]


class EvictableElements(Iterable[TimestampedValue[T]], Generic[T]):
    """The elements of a window, oldest arrival first; what an evictor takes out stays out.

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
        """Take out every element for which ``predicate`` is true."""
        self._elements[:] = [element for element in self._elements if not predicate(element)]

    def removeFirst(self, count: int) -> None:
        """Take out the first ``count`` elements."""
        del self._elements[:count]


class EvictorContext(ABC):
    """What an evictor may ask for (Flink: ``Evictor.EvictorContext``)."""

    __slots__ = ()

    @abstractmethod
    def getCurrentProcessingTime(self) -> int:
        """The clock, in ms."""

    @abstractmethod
    def getCurrentWatermark(self) -> int:
        """The watermark, in ms."""

    @abstractmethod
    def getMetricGroup(self) -> MetricGroup:
        """The metrics of the window operator."""


class Evictor(ABC, Generic[T, W_contra]):
    """Takes elements out of a window when it fires (Flink: ``Evictor``).

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
