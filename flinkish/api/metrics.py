"""The metrics a user function may keep: counters, gauges, meters and histograms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable


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


class Histogram(ABC):
    """The spread of a value (Flink: ``Histogram``)."""

    @abstractmethod
    def update(self, value: float) -> None:
        """Take ``value`` in."""

    @abstractmethod
    def getCount(self) -> int:
        """How many values there were."""


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
