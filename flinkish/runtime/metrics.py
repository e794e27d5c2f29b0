"""The metrics of an operator, which the workers count and report with each batch (``reports``)."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from flinkish.api.arguments import instance, text
from flinkish.api.bytecode import attributes_read
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.functions.accumulators import Accumulator
from flinkish.api.functions.adapt import checked_callable
from flinkish.api.metrics import Counter, Histogram, HistogramStatistics, Meter, MetricGroup
from flinkish.api.pickled_functions import dumps

LATE_RECORDS_DROPPED = "numLateRecordsDropped"


class SimpleCounter(Counter):
    """A counter (Flink: ``SimpleCounter``)."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.count = 0

    def inc(self, n: int = 1) -> None:
        self.count += n

    def dec(self, n: int = 1) -> None:
        self.count -= n

    def getCount(self) -> int:
        return self.count


class SimpleMeter(Meter):
    """Counts events, for a rate from the first on (Flink: ``MeterView``)."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
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
    """Keeps count, sum, minimum and maximum (Flink: ``Histogram`` with its statistics)."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._statistics = HistogramStatistics()

    def update(self, value: float) -> None:
        self._statistics = self._statistics.plus(value)

    def getCount(self) -> int:
        return self._statistics.count

    def getStatistics(self) -> HistogramStatistics:
        return self._statistics


_M = TypeVar("_M", SimpleCounter, SimpleMeter, SimpleHistogram)


class OperatorMetricGroup(MetricGroup):
    """The metrics of an operator: its own, and those that its functions register. A function that
    drops late elements itself counts them in ``counter(LATE_RECORDS_DROPPED)``, the operator's own
    counter."""

    def __init__(self) -> None:
        self.numRecordsIn = 0
        self._late = SimpleCounter()
        self._prefix = ""
        self._user: dict[str, SimpleCounter | SimpleMeter | SimpleHistogram] = {}
        self._gauges: dict[str, Callable[[], float]] = {}
        self._accumulators: dict[str, _RegisteredAccumulator] = {}

    @property
    def numLateRecordsDropped(self) -> int:
        """The number of elements dropped because the watermark had passed them."""
        return self._late.count

    @numLateRecordsDropped.setter
    def numLateRecordsDropped(self, count: int) -> None:
        self._late.count = count

    def reset(self) -> None:
        self.numRecordsIn = 0
        self._late.reset()
        for metric in self._user.values():
            metric.reset()

    def counter(self, name: str) -> Counter:
        if name == LATE_RECORDS_DROPPED and not self._prefix:
            return self._late
        return self._registered(name, SimpleCounter)

    def gauge(self, name: str, value: Callable[[], float]) -> None:
        registered = self._prefix + text("MetricGroup: name", name)
        self._gauges[registered] = checked_callable(f"gauge {registered!r}", value, "f()", 0)

    def meter(self, name: str) -> Meter:
        return self._registered(name, SimpleMeter)

    def histogram(self, name: str) -> Histogram:
        return self._registered(name, SimpleHistogram)

    def addGroup(self, name: str, value: str | None = None) -> MetricGroup:
        parts = [text("addGroup: name", name)]
        if value is not None:
            parts.append(text("addGroup: value", value))
        group = OperatorMetricGroup()
        group._prefix = self._prefix + "".join(f"{part}." for part in parts)
        group._user, group._gauges = self._user, self._gauges
        return group

    def addAccumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        """See ``RuntimeContext.addAccumulator``."""
        instance("addAccumulator", accumulator, Accumulator, "Pass one, such as LongCounter().")
        if text("addAccumulator: name", name) in self._accumulators:
            raise IllegalArgumentError(
                f"addAccumulator: the operator has an accumulator {name!r} already. Give it another name."
            )
        self._accumulators[name] = _RegisteredAccumulator(accumulator)

    def changedAccumulators(self) -> tuple[tuple[str, str, bytes], ...]:
        """Name, id and pickled value of the accumulators changed since the last call."""
        return tuple(
            (name, registered.id, registered.reported)
            for name, registered in self._accumulators.items()
            if registered.changed()
        )

    def userCounts(self) -> dict[str, float]:
        """The counts of the user's counters, meters and histograms, by name."""
        return {name: metric.getCount() for name, metric in self._user.items()}

    def userMeters(self) -> tuple[str, ...]:
        return tuple(name for name, m in self._user.items() if isinstance(m, SimpleMeter))

    def userHistograms(self) -> dict[str, HistogramStatistics]:
        """The statistics of the user's histograms that are not empty, by name."""
        return {
            name: metric.getStatistics()
            for name, metric in self._user.items()
            if isinstance(metric, SimpleHistogram) and metric.getCount()
        }

    def userGauges(self) -> dict[str, float]:
        return {name: gauge() for name, gauge in self._gauges.items()}

    def isOnlyShown(self, owner: str, attribute: str) -> bool:
        """Whether only gauges read the attribute of a function of class ``owner``."""
        return any(_only_shows(gauge, owner, attribute) for gauge in self._gauges.values())

    def _registered(self, name: str, kind: type[_M]) -> _M:
        registered = self._prefix + text("MetricGroup: name", name)
        metric = self._user.setdefault(registered, kind())
        if not isinstance(metric, kind):
            raise IllegalArgumentError(
                f"MetricGroup: the metric {registered!r} is already a {_kind(type(metric))}. Give the"
                f" {_kind(kind)} another name."
            )
        return metric


def _only_shows(gauge: Callable[[], float], owner: str, attribute: str) -> bool:
    function = getattr(gauge, "__func__", gauge)
    if not isinstance(function, FunctionType) or attribute not in attributes_read(
        function.__code__
    ):
        return False
    held = [cell.cell_contents for cell in function.__closure__ or ()]
    for subject in (getattr(gauge, "__self__", None), *held):
        if type(subject).__name__ == owner:
            methods = (m for kind in type(subject).__mro__ for m in vars(kind).values())
            return not any(
                attribute in attributes_read(method.__code__, but=function.__code__)
                for method in methods
                if isinstance(method, FunctionType)
            )
    return False


def _kind(metric: type[Any]) -> str:
    return metric.__name__.removeprefix("Simple").lower()


class _RegisteredAccumulator:
    """An accumulator that a function registered in ``open``. Its id distinguishes it from the
    report of another task, or of the same task before a failure."""

    def __init__(self, accumulator: Accumulator[Any, Any]) -> None:
        self._accumulator = accumulator
        self.id = uuid.uuid4().hex
        self.reported = b""

    def changed(self) -> bool:
        """Whether the value differs from ``reported``, which is then set to it."""
        before, self.reported = self.reported, dumps(self._accumulator)
        return before != self.reported
