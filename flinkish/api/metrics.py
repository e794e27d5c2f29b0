"""Metrics that user functions can register: counters, gauges, meters and histograms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass


class Counter(ABC):
    """Counts up and down (Flink: ``Counter``)."""

    @abstractmethod
    def inc(self, n: int = 1) -> None:
        """Add ``n``."""

    @abstractmethod
    def dec(self, n: int = 1) -> None:
        """Subtract ``n``."""

    @abstractmethod
    def getCount(self) -> int:
        """The current count."""


class Meter(ABC):
    """Measures how often something happens (Flink: ``Meter``).

    The metrics of the job show its count under its name, and ``name.rate``: the events per second
    in the last minute, over all tasks.
    """

    @abstractmethod
    def markEvent(self, n: int = 1) -> None:
        """Count ``n`` more events."""

    @abstractmethod
    def getCount(self) -> int:
        """The number of events."""

    @abstractmethod
    def getRate(self) -> float:
        """The events per second since the first."""


@dataclass(frozen=True)
class HistogramStatistics:
    """The statistics of the values of a histogram (Flink: ``HistogramStatistics``)."""

    count: int = 0
    sum: float = 0.0
    min: float = float("inf")
    max: float = float("-inf")

    def size(self) -> int:
        """The number of values."""
        return self.count

    def getMean(self) -> float:
        """The mean of the values; 0 if there were none."""
        return self.sum / self.count if self.count else 0.0

    def getMin(self) -> float:
        """The lowest value."""
        return self.min

    def getMax(self) -> float:
        """The highest value."""
        return self.max

    def plus(self, value: float) -> HistogramStatistics:
        """These statistics with one more value."""
        return self.merged(HistogramStatistics(1, value, value, value))

    def merged(self, other: HistogramStatistics) -> HistogramStatistics:
        """The statistics of the values of both."""
        return HistogramStatistics(
            self.count + other.count,
            self.sum + other.sum,
            min(self.min, other.min),
            max(self.max, other.max),
        )


class Histogram(ABC):
    """Measures the distribution of a value (Flink: ``Histogram``).

    The metrics of the job show its count under its name, and ``name.sum``, ``name.min`` and ``name.max``.
    """

    @abstractmethod
    def update(self, value: float) -> None:
        """Add ``value``."""

    @abstractmethod
    def getCount(self) -> int:
        """The number of values in this batch."""

    @abstractmethod
    def getStatistics(self) -> HistogramStatistics:
        """The statistics of the values of this batch."""


class MetricGroup(ABC):
    """Registers the metrics of an operator (Flink: ``MetricGroup``)."""

    @abstractmethod
    def counter(self, name: str) -> Counter:
        """The counter of that name, created if there is none."""

    @abstractmethod
    def gauge(self, name: str, value: Callable[[], float]) -> None:
        """Report the result of ``value()`` at the end of each batch."""

    @abstractmethod
    def meter(self, name: str) -> Meter:
        """The meter of that name, created if there is none."""

    @abstractmethod
    def histogram(self, name: str) -> Histogram:
        """The histogram of that name, created if there is none."""

    @abstractmethod
    def addGroup(self, name: str, value: str | None = None) -> MetricGroup:
        """A group whose metric names begin with ``name.``, or if a ``value`` makes ``name`` a user
        variable, with ``name.value.``."""
