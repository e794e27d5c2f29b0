"""The metrics of one operator as it runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from flinkish.api.arguments import text
from flinkish.api.callables import checked_callable
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.metrics import Counter, Histogram, HistogramStatistics, Meter, MetricGroup


class SimpleCounter(Counter):
    """A counter (Flink: ``SimpleCounter``)."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self.count = 0

    def inc(self, n: int = 1) -> None:
        self.count += n

    def dec(self, n: int = 1) -> None:
        self.count -= n

    def getCount(self) -> int:
        return self.count


class SimpleMeter(Meter):
    """Counts events and divides by the time since the first (Flink: ``MeterView``)."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self._count = 0
        self._began: float | None = None

    def markEvent(self, n: int = 1) -> None:
        if self._began is None:
            self._began = time.monotonic()
        self._count += n

    def getCount(self) -> int:
        return self._count

    def getRate(self) -> float:
        if self._began is None:
            return 0.0
        return self._count / max(time.monotonic() - self._began, 1e-9)


class SimpleHistogram(Histogram):
    """Keeps count, sum, lowest and highest (Flink: a ``Histogram`` and its statistics)."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self._statistics = HistogramStatistics()

    def update(self, value: float) -> None:
        self._statistics = self._statistics.plus(value)

    def getCount(self) -> int:
        return self._statistics.count

    def getStatistics(self) -> HistogramStatistics:
        return self._statistics


_M = TypeVar("_M", SimpleCounter, SimpleMeter, SimpleHistogram)


class OperatorMetricGroup(MetricGroup):
    """The metrics of an operator: its own and those its functions register."""

    def __init__(self) -> None:
        self.numRecordsIn = 0
        self.numLateRecordsDropped = 0
        self._prefix = ""
        self._user: dict[str, SimpleCounter | SimpleMeter | SimpleHistogram] = {}
        self._gauges: dict[str, Callable[[], float]] = {}

    def reset(self) -> None:
        """Begin counting anew."""
        self.numRecordsIn = self.numLateRecordsDropped = 0
        for metric in self._user.values():
            metric.reset()

    def counter(self, name: str) -> Counter:
        return self._registered(name, SimpleCounter)

    def gauge(self, name: str, value: Callable[[], float]) -> None:
        registered = self._prefix + text("MetricGroup: name", name)
        self._gauges[registered] = checked_callable(f"gauge {registered!r}", value, "f()", 0)

    def meter(self, name: str) -> Meter:
        return self._registered(name, SimpleMeter)

    def histogram(self, name: str) -> Histogram:
        return self._registered(name, SimpleHistogram)

    def addGroup(self, name: str) -> MetricGroup:
        group = OperatorMetricGroup()
        group._prefix = f"{self._prefix}{name}."
        group._user, group._gauges = self._user, self._gauges
        return group

    def userCounts(self) -> dict[str, float]:
        """What the user's counters, meters and histograms have counted, by name."""
        return {name: metric.getCount() for name, metric in self._user.items()}

    def userHistograms(self) -> dict[str, HistogramStatistics]:
        """What the user's histograms have taken in, by name; those that took in nothing left out."""
        return {
            name: metric.getStatistics()
            for name, metric in self._user.items()
            if isinstance(metric, SimpleHistogram) and metric.getCount()
        }

    def userGauges(self) -> dict[str, float]:
        """What the user's gauges say now, by name."""
        return {name: gauge() for name, gauge in self._gauges.items()}

    def _registered(self, name: str, kind: type[_M]) -> _M:
        registered = self._prefix + text("MetricGroup: name", name)
        metric = self._user.setdefault(registered, kind())
        if not isinstance(metric, kind):
            raise IllegalArgumentError(
                f"MetricGroup: the metric {registered!r} is a {_kind(type(metric))} already. Give the"
                f" {_kind(kind)} another name."
            )
        return metric


def _kind(metric: type[Any]) -> str:
    return metric.__name__.removeprefix("Simple").lower()
