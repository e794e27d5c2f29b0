"""The metrics a user function may keep: counters, gauges, meters and histograms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass


class Counter(ABC):
    """A number that is counted up and down (Flink: ``Counter``)."""

    @abstractmethod
    def inc(self, n: int = 1) -> None:
        """Add ``n``."""

    @abstractmethod
    def dec(self, n: int = 1) -> None:
        """Take ``n`` away."""

    @abstractmethod
    def getCount(self) -> int:
        """The number now."""


class Meter(ABC):
    """How often something happens (Flink: ``Meter``)."""

    @abstractmethod
    def markEvent(self, n: int = 1) -> None:
        """``n`` more events happened."""

    @abstractmethod
    def getCount(self) -> int:
        """How many events there were."""

    @abstractmethod
    def getRate(self) -> float:
        """Events a second since the first."""


@dataclass(frozen=True)
class HistogramStatistics:
    """What a histogram says of the values that it took in (Flink: ``HistogramStatistics``)."""

    count: int = 0
    sum: float = 0.0
    min: float = float("inf")
    max: float = float("-inf")

    def size(self) -> int:
        """How many values there were."""
        return self.count

    def getMean(self) -> float:
        """Their mean; 0 if there were none."""
        return self.sum / self.count if self.count else 0.0

    def getMin(self) -> float:
        """The lowest."""
        return self.min

    def getMax(self) -> float:
        """The highest."""
        return self.max

    def plus(self, value: float) -> HistogramStatistics:
        """The same with one value more."""
        return self.merged(HistogramStatistics(1, value, value, value))

    def merged(self, other: HistogramStatistics) -> HistogramStatistics:
        """Those of the values of both."""
        return HistogramStatistics(
            self.count + other.count,
            self.sum + other.sum,
            min(self.min, other.min),
            max(self.max, other.max),
        )


class Histogram(ABC):
    """The spread of a value (Flink: ``Histogram``). The job's metrics show its count under its name,
    and ``name.sum``, ``name.min`` and ``name.max``."""

    @abstractmethod
    def update(self, value: float) -> None:
        """Take ``value`` in."""

    @abstractmethod
    def getCount(self) -> int:
        """How many values there were in this batch."""

    @abstractmethod
    def getStatistics(self) -> HistogramStatistics:
        """What the values of this batch were."""


class MetricGroup(ABC):
    """Registers the metrics of an operator (Flink: ``MetricGroup``)."""

    @abstractmethod
    def counter(self, name: str) -> Counter:
        """The counter of that name, new if there is none."""

    @abstractmethod
    def gauge(self, name: str, value: Callable[[], float]) -> None:
        """Report what ``value()`` gives at the end of a batch."""

    @abstractmethod
    def meter(self, name: str) -> Meter:
        """The meter of that name, new if there is none."""

    @abstractmethod
    def histogram(self, name: str) -> Histogram:
        """The histogram of that name, new if there is none."""

    @abstractmethod
    def addGroup(self, name: str) -> MetricGroup:
        """A group whose metric names begin with ``name.``."""
