"""The evictors there are: by count, by time, by distance; each before or after the function."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic, TypeVar

from flinkish.api.arguments import integer, milliseconds, number
from flinkish.api.time import TimeLike
from flinkish.api.windowing.delta_function import DeltaLike, delta_call
from flinkish.api.windowing.evictor import EvictableElements, Evictor, EvictorContext
from flinkish.api.windowing.windows import Window

T = TypeVar("T")
X = TypeVar("X")


class _OneSidedEvictor(Evictor[T, Window], Generic[T]):
    """Evicts before the window function, or after it."""

    def __init__(self, doEvictAfter: bool) -> None:
        self._after = doEvictAfter

    @abstractmethod
    def _evict(self, elements: EvictableElements[T], size: int) -> None:
        """Take out what is to go."""

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
    """Keeps the ``maxCount`` elements that came last (Flink: ``CountEvictor``)."""

    def __init__(self, maxCount: int, doEvictAfter: bool = False) -> None:
        super().__init__(doEvictAfter)
        self._max_count = integer("CountEvictor: maxCount", maxCount)

    @staticmethod
    def of(maxCount: int, doEvictAfter: bool = False) -> CountEvictor:
        """An evictor that keeps ``maxCount`` elements."""
        return CountEvictor(maxCount, doEvictAfter)

    def _evict(self, elements: EvictableElements[Any], size: int) -> None:
        if size > self._max_count:
            elements.removeFirst(size - self._max_count)

    def __repr__(self) -> str:
        return f"CountEvictor({self._max_count})"


class TimeEvictor(_OneSidedEvictor[Any]):
    """Keeps the elements less than ``windowSize`` older than the newest of the window.

    Elements without timestamps all stay (Flink: ``TimeEvictor``).
    """

    def __init__(self, windowSize: TimeLike, doEvictAfter: bool = False) -> None:
        super().__init__(doEvictAfter)
        self._window_size = milliseconds("TimeEvictor: windowSize", windowSize)

    @staticmethod
    def of(windowSize: TimeLike, doEvictAfter: bool = False) -> TimeEvictor:
        """An evictor that keeps the last ``windowSize``."""
        return TimeEvictor(windowSize, doEvictAfter)

    def getWindowSize(self) -> int:
        """The length of time that is kept, in ms."""
        return self._window_size

    def _evict(self, elements: EvictableElements[Any], size: int) -> None:
        if not size or not elements[0].hasTimestamp():
            return
        cutoff = max(element.getTimestamp() for element in elements) - self._window_size
        elements.removeIf(lambda element: element.getTimestamp() <= cutoff)

    def __repr__(self) -> str:
        return f"TimeEvictor({self._window_size})"


class DeltaEvictor(_OneSidedEvictor[T], Generic[T]):
    """Keeps the elements whose distance from the one that came last is below a threshold
    (Flink: ``DeltaEvictor``)."""

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
        """An evictor that takes out where ``deltaFunction`` is at least ``threshold``."""
        return DeltaEvictor(threshold, deltaFunction, doEvictAfter)

    def _evict(self, elements: EvictableElements[T], size: int) -> None:
        if size:
            last = elements[-1].getValue()
            elements.removeIf(
                lambda element: self._delta(element.getValue(), last) >= self._threshold
            )

    def __repr__(self) -> str:
        return f"DeltaEvictor({self._function!r}, {self._threshold})"
