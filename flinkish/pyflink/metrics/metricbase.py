"""Metrics of user functions."""

from __future__ import annotations

from collections.abc import Callable

from flinkish.api.metrics import Counter as CoreCounter
from flinkish.api.metrics import Histogram as CoreHistogram
from flinkish.api.metrics import Meter as CoreMeter
from flinkish.api.metrics import MetricGroup as CoreGroup


class Metric:
    """The base of all metrics (PyFlink: ``Metric``)."""


class Counter(Metric):
    """Counts (PyFlink: ``Counter``)."""

    def __init__(self, counter: CoreCounter) -> None:
        self._counter = counter

    def inc(self, n: int = 1) -> None:
        """Add ``n``."""
        self._counter.inc(n)

    def dec(self, n: int = 1) -> None:
        """Subtract ``n``."""
        self._counter.dec(n)

    def get_count(self) -> int:
        """The count."""
        return self._counter.getCount()


class Meter(Metric):
    """Counts events by time (PyFlink: ``Meter``)."""

    def __init__(self, meter: CoreMeter) -> None:
        self._meter = meter

    def mark_event(self, value: int = 1) -> None:
        """Count ``value`` events."""
        self._meter.markEvent(value)

    def get_count(self) -> int:
        """The number of events."""
        return self._meter.getCount()


class Distribution(Metric):
    """Keeps count, sum, minimum and maximum (PyFlink: ``Distribution``)."""

    def __init__(self, histogram: CoreHistogram) -> None:
        self._histogram = histogram

    def update(self, value: int) -> None:
        """Add a value."""
        self._histogram.update(value)


class MetricGroup:
    """Registers metrics (PyFlink: ``MetricGroup``)."""

    def __init__(self, group: CoreGroup) -> None:
        self._group = group

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """The group of that name in this one; ``extra`` makes ``name`` a variable with that
        value."""
        return MetricGroup(self._group.addGroup(name, extra))

    def counter(self, name: str) -> Counter:
        """The counter of that name."""
        return Counter(self._group.counter(name))

    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        """Report the result of ``obj()`` at the end of each batch."""
        self._group.gauge(name, obj)

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """The meter of that name; its rate is over the last minute, whatever
        ``time_span_in_seconds`` is."""
        return Meter(self._group.meter(name))

    def distribution(self, name: str) -> Distribution:
        """The distribution of that name."""
        return Distribution(self._group.histogram(name))
