"""Metrics. Operators in the workers count them and report them with each batch (``reports``), and
``MetricsTotals`` adds them up in the driver."""

from __future__ import annotations

import dis
import pickle
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any, TypeVar

from flinkish.api.arguments import instance, text
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.execution.client import FunctionRuns, OperatorMetrics
from flinkish.api.execution.details import KeyGroupState, OperatorBatch, WorkerDetails
from flinkish.api.functions.accumulators import Accumulator
from flinkish.api.functions.adapt import checked_callable
from flinkish.api.metrics import Counter, Histogram, HistogramStatistics, Meter, MetricGroup
from flinkish.api.pickled_functions import dumps
from flinkish.runtime.profiling import Profiler
from flinkish.runtime.progress import InputWatermarks, VertexLoads, visible
from flinkish.runtime.reports import SOURCE_PART, OperatorReport
from flinkish.runtime.time.watermark_generation import combined

LATE_RECORDS_DROPPED = "numLateRecordsDropped"


class SimpleCounter(Counter):
    """A counter (Flink: ``SimpleCounter``)."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Set to zero."""
        self.count = 0

    def inc(self, n: int = 1) -> None:
        self.count += n

    def dec(self, n: int = 1) -> None:
        self.count -= n

    def getCount(self) -> int:
        return self.count


class SimpleMeter(Meter):
    """Counts events. The rate is their number divided by the time since the first (Flink:
    ``MeterView``)."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Set to zero."""
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
        """Set to zero."""
        self._statistics = HistogramStatistics()

    def update(self, value: float) -> None:
        self._statistics = self._statistics.plus(value)

    def getCount(self) -> int:
        return self._statistics.count

    def getStatistics(self) -> HistogramStatistics:
        return self._statistics


_M = TypeVar("_M", SimpleCounter, SimpleMeter, SimpleHistogram)


class OperatorMetricGroup(MetricGroup):
    """The metrics of an operator: its own, and those that its functions register.

    A function that drops late elements itself counts them in ``counter(LATE_RECORDS_DROPPED)``, the
    operator's own counter.
    """

    def __init__(self) -> None:
        self.numRecordsIn = 0
        self._late = SimpleCounter()
        self._prefix = ""
        self._user: dict[str, SimpleCounter | SimpleMeter | SimpleHistogram] = {}
        self._gauges: dict[str, Callable[[], float]] = {}
        self._accumulators: dict[str, _RegisteredAccumulator] = {}

    @property
    def numLateRecordsDropped(self) -> int:
        """How many elements were dropped because the watermark had passed them."""
        return self._late.count

    @numLateRecordsDropped.setter
    def numLateRecordsDropped(self, count: int) -> None:
        self._late.count = count

    def reset(self) -> None:
        """Set all counts to zero."""
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
        """The name, the id and the pickled value of each accumulator that has changed since the
        last call."""
        return tuple(
            (name, registered.id, registered.reported)
            for name, registered in self._accumulators.items()
            if registered.changed()
        )

    def userCounts(self) -> dict[str, float]:
        """The counts of the user's counters, meters and histograms, by name."""
        return {name: metric.getCount() for name, metric in self._user.items()}

    def userMeters(self) -> tuple[str, ...]:
        """The names of the user's meters."""
        return tuple(name for name, m in self._user.items() if isinstance(m, SimpleMeter))

    def userHistograms(self) -> dict[str, HistogramStatistics]:
        """The statistics of the user's histograms that are not empty, by name."""
        return {
            name: metric.getStatistics()
            for name, metric in self._user.items()
            if isinstance(metric, SimpleHistogram) and metric.getCount()
        }

    def userGauges(self) -> dict[str, float]:
        """The current values of the user's gauges, by name."""
        return {name: gauge() for name, gauge in self._gauges.items()}

    def isOnlyShown(self, owner: str, attribute: str) -> bool:
        """Whether only a gauge reads the attribute of a function of the class ``owner``, so that no
        result changes if it is reset."""
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
    if not isinstance(function, FunctionType) or attribute not in _attributes_read(
        function.__code__
    ):
        return False
    held = [cell.cell_contents for cell in function.__closure__ or ()]
    for subject in (getattr(gauge, "__self__", None), *held):
        if type(subject).__name__ == owner:
            methods = (m for kind in type(subject).__mro__ for m in vars(kind).values())
            return not any(
                attribute in _attributes_read(method.__code__, function.__code__)
                for method in methods
                if isinstance(method, FunctionType)
            )
    return False


def _attributes_read(code: CodeType, but: CodeType | None = None) -> set[str]:
    """The attributes that ``code`` and the functions in it read, without the code ``but``."""
    if code is but:
        return set()
    read = {step.argval for step in dis.get_instructions(code) if step.opname in _READS}
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return read.union(*(_attributes_read(each, but) for each in inner))


_READS = ("LOAD_ATTR", "LOAD_METHOD")


def _kind(metric: type[Any]) -> str:
    return metric.__name__.removeprefix("Simple").lower()


class _RegisteredAccumulator:
    """An accumulator that a function registered in ``open``. Its id tells the driver that it is not
    that of another task, or of the same task before a failure."""

    def __init__(self, accumulator: Accumulator[Any, Any]) -> None:
        self._accumulator = accumulator
        self.id = uuid.uuid4().hex
        self.reported = b""

    def changed(self) -> bool:
        """Whether the value differs from ``reported``, which is then set to it."""
        before, self.reported = self.reported, dumps(self._accumulator)
        return before != self.reported


_RATE_SECONDS = 60.0

_WORKERS_BATCHES = 20
"""A worker that ran no task in this many batches is no longer shown."""


class EventRate:
    """The rate of an event over the last minute, as Flink's ``MeterView`` computes it."""

    def __init__(self, began: float) -> None:
        self._began = began
        self._counts = deque([(began, 0.0)])

    def add(self, count: float, now: float) -> None:
        """Note that ``count`` events have happened by ``now`` (s)."""
        if count != self._counts[-1][1]:
            self._counts.append((now, count))

    def rate(self, now: float) -> float:
        """Events per second at ``now`` (s)."""
        since = max(now - _RATE_SECONDS, self._began)
        while len(self._counts) > 1 and self._counts[1][0] <= since:
            self._counts.popleft()
        return (self._counts[-1][1] - self._counts[0][1]) / max(now - since, 1e-9)


class PageSizes:
    """The mean size of the pages of one key group, estimated from the pages that its last batches
    touched.

    Which pages a batch touches depends on the hashes of its keys, so they are a fair sample. The
    size that the state store reports is no substitute: it includes old versions until they are
    compacted.
    """

    _KEPT = 0.8
    """The weight of earlier batches."""

    def __init__(self) -> None:
        self._pages = self._bytes = 0.0

    def add(self, pages: int, size: int) -> None:
        """Note that a batch has touched ``pages`` pages of ``size`` bytes together."""
        self._pages = self._KEPT * self._pages + pages
        self._bytes = self._KEPT * self._bytes + size

    @property
    def mean(self) -> float:
        """The mean size of a page in bytes."""
        return self._bytes / self._pages


def _lowest_watermark(groups: Sequence[OperatorReport]) -> int:
    """The lowest watermark of the key groups that are not idle; if all are idle, the highest of
    all."""
    watermark, _ = combined((group.watermark, group.idle) for group in groups)
    return watermark


class MetricsTotals:
    """Adds up the reports of a job in the driver."""

    def __init__(self) -> None:
        self.batches = 0
        """How many batches have reported."""
        self.loads = VertexLoads()
        """The load of the vertices, and the records sent over the edges between them."""
        self.inputs = InputWatermarks()
        """The watermarks of the inputs of each operator."""
        self._names: dict[str, str] = {}
        self._counts: dict[str, dict[str, list[int]]] = {}
        self._user: dict[str, dict[str, float]] = {}
        self._functions: dict[str, dict[tuple[str, str], FunctionRuns]] = {}
        self._began = time.monotonic()
        self._rates: dict[str, dict[str, EventRate]] = {}
        self._histograms: dict[str, dict[str, HistogramStatistics]] = {}
        self._last: dict[str, dict[tuple[str, int], OperatorReport]] = {}
        self._accumulators: dict[str, dict[str, dict[str, bytes]]] = {}
        self.states: dict[str, set[tuple[str, str, str]]] = {}
        """The states that functions use, by the uid of their operator."""
        self.profiler = Profiler()
        self._workers: dict[tuple[str, int], WorkerDetails] = {}
        self._pages: dict[tuple[str, int], PageSizes] = {}
        self._in_batch: dict[str, list[int]] = {}
        self.lastBatch: dict[str, OperatorBatch] = {}
        """What each operator did in the last batch, by uid."""
        self.lastEmitted: dict[tuple[str, str], int] = {}
        """When (ms) the last batch ended in which an operator, or a source, emitted an element, by
        its uid and that of the vertex."""
        self._emitting: set[tuple[str, str]] = set()
        self._with_values: set[str] = set()
        """The operators that have emitted something else than None."""

    def add(self, reports: Iterable[OperatorReport]) -> None:
        """Add the reports of one task in a batch."""
        for report in reports:
            by_vertex = self._counts.setdefault(report.uid, {})
            for counts in (
                by_vertex.setdefault(report.vertex, [0, 0, 0]),
                self._in_batch.setdefault(report.uid, [0, 0, 0]),
            ):
                counts[0] += report.numRecordsIn
                counts[1] += report.numRecordsOut
                counts[2] += report.numLateRecordsDropped
            if report.numRecordsOut:
                if not report.onlyNulls:
                    self._with_values.add(report.uid)
                self._emitting.add((report.uid, report.vertex))
            self.loads.add(report)
            self.inputs.add(report)
            self.profiler.add(report)
            if report.worker is not None:
                found = WorkerDetails(*report.worker, self.batches)
                self._workers[found.host, found.process] = found
            user = self._user.setdefault(report.uid, {})
            for name, value in report.userCounts.items():
                user[name] = user.get(name, 0) + value
            user.update(report.userGauges)
            rates = self._rates.setdefault(report.uid, {})
            for name in report.userMeters:
                rates.setdefault(name, EventRate(self._began)).add(user[name], time.monotonic())
            histograms = self._histograms.setdefault(report.uid, {})
            for name, values in report.userHistograms.items():
                merged = histograms.get(name, HistogramStatistics()).merged(values)
                histograms[name] = merged
                user[f"{name}.sum"] = merged.sum
                user[f"{name}.min"], user[f"{name}.max"] = merged.min, merged.max
            if report.touchedPages:
                sizes = self._pages.setdefault((report.uid, report.keyGroup), PageSizes())
                sizes.add(report.touchedPages, report.touchedBytes)
            self._add_runs(report)
            accumulators = self._accumulators.setdefault(report.uid, {})
            for name, number, accumulated in report.accumulators:
                accumulators.setdefault(name, {})[number] = accumulated
            self.states.setdefault(report.uid, set()).update(report.states)
            last = self._last.setdefault(report.uid, {})
            part = report.vertex, report.keyGroup
            if report.keyGroup == SOURCE_PART and part in last:
                # A source's partitions are parts of one channel, and its watermark only rises
                report = report._replace(watermark=max(report.watermark, last[part].watermark))
            last[part] = report
            # Set last: metrics() runs in another thread and expects all values of a named operator
            self._names[report.uid] = report.name

    def _add_runs(self, report: OperatorReport) -> None:
        functions = self._functions.setdefault(report.uid, {})
        for kind, name, taken, elements, difference in report.columnRuns:
            known = functions.get((kind, name), FunctionRuns(name, 0, 0))
            functions[kind, name] = FunctionRuns(
                name,
                known.runsOverColumns + taken,
                known.runsElementByElement + elements,
                known.difference or difference,
            )

    def endBatch(self, now: int = 0) -> None:
        """Called at the time ``now`` (ms) when all reports of a batch have been added."""
        for uid, groups in self._last.items():
            self.inputs.update(uid, [report.inputs for report in groups.values()], now)
        self.loads.endBatch()
        self.lastBatch = {uid: self._batch_of(uid) for uid in self._last}
        self._in_batch = {}
        self.lastEmitted |= dict.fromkeys(self._emitting, now)
        self._emitting.clear()
        self.batches += 1

    @property
    def numLateRecordsDropped(self) -> int:
        """How many late elements all operators have dropped."""
        return sum(
            counts[2] for parts in list(self._counts.values()) for counts in list(parts.values())
        )

    def numNullResults(self, uid: str) -> int:
        """How many elements an operator has emitted, if all of them are None; else 0."""
        if uid in self._with_values:
            return 0
        return sum(counts[1] for counts in list(self._counts.get(uid, {}).values()))

    @property
    def numOpenWindows(self) -> int:
        """How many windows all operators have open, counted for each key."""
        return sum(batch.openWindows for batch in self.lastBatch.values())

    @property
    def workers(self) -> tuple[WorkerDetails, ...]:
        """The processes that ran tasks in the last batches."""
        since = self.batches - _WORKERS_BATCHES
        return tuple(found for found in list(self._workers.values()) if found.lastBatch >= since)

    @property
    def stateBytes(self) -> int:
        """The bytes in the pages of state of all operators."""
        return sum(batch.stateBytes for batch in self.lastBatch.values())

    def stateOf(self, uid: str) -> dict[int, KeyGroupState]:
        """The state of an operator by key group."""
        return {
            report.keyGroup: KeyGroupState(
                report.stateEntries, report.statePages, self._bytes_of(report), report.openWindows
            )
            for report in list(self._last.get(uid, {}).values())
            if report.statePages
        }

    def _bytes_of(self, report: OperatorReport) -> int:
        sizes = self._pages.get((report.uid, report.keyGroup))
        return 0 if sizes is None else round(report.statePages * sizes.mean)

    def _batch_of(self, uid: str) -> OperatorBatch:
        groups = list(self._last[uid].values())
        load = self.loads.vertices.get(uid)
        received, emitted, dropped = self._in_batch.get(uid, (0, 0, 0))
        return OperatorBatch(
            received,
            emitted,
            dropped,
            visible(_lowest_watermark(groups)),
            sum(group.timers for group in groups),
            sum(group.stateEntries for group in groups),
            sum(group.openWindows for group in groups),
            sum(map(self._bytes_of, groups)),
            0 if load is None else round(load.lastBusyNanoseconds / 1e6),
        )

    def watermark(self, uid: str) -> int | None:
        """The watermark (ms) of an operator, the highest of all at its end; None before the
        first."""
        groups = list(self._last.get(uid, {}).values())
        return visible(_lowest_watermark(groups)) if groups else None

    def nextProcessingTime(self) -> int | None:
        """The earliest processing time (ms) at which an operator has a timer, None if there is
        none."""
        return min((time for time, _ in self._wanted()), default=None)

    def due(self, now: int) -> dict[str, list[int]]:
        """The key groups with a processing-time timer at ``now`` (ms) or before, by operator
        uid."""
        due: dict[str, list[int]] = {}
        for wanted, report in self._wanted():
            if wanted <= now:
                due.setdefault(report.uid, []).append(report.keyGroup)
        return due

    def _wanted(self) -> Iterator[tuple[int, OperatorReport]]:
        # Copies, as a batch in another thread may add reports at the same time
        for groups in list(self._last.values()):
            for report in list(groups.values()):
                if report.nextProcessingTime is not None:
                    yield report.nextProcessingTime, report

    def metrics(self) -> dict[str, OperatorMetrics]:
        """The metrics by operator name. Operators that share a name are numbered."""
        result: dict[str, OperatorMetrics] = {}
        for uid, name in sorted(self._names.items(), key=lambda item: item[1]):
            key, number = name, 1
            while key in result:
                number += 1
                key = f"{name}#{number}"
            result[key] = self._metrics_of(uid, name)
        return result

    def ofVertex(self, found: OperatorMetrics, vertex: str) -> OperatorMetrics:
        """The counts, watermark and state of an operator in one vertex. An operator after a union
        is chained into several vertices."""
        parts = self._counts.get(found.uid, {})
        return found if len(parts) < 2 else self._metrics_of(found.uid, found.name, vertex)

    def _metrics_of(self, uid: str, name: str, vertex: str | None = None) -> OperatorMetrics:
        """The metrics of an operator, or of its part in one vertex."""
        last, counts = list(self._last[uid].items()), list(self._counts[uid].items())
        groups = [report for (at, _), report in last if vertex in (None, at)]
        taken = [numbers for at, numbers in counts if vertex in (None, at)]
        received, emitted, dropped = (sum(numbers[n] for numbers in taken) for n in range(3))
        return OperatorMetrics(
            uid=uid,
            name=name,
            numRecordsIn=received,
            numRecordsOut=emitted,
            numLateRecordsDropped=dropped,
            currentWatermark=visible(_lowest_watermark(groups)) if groups else None,
            timers=sum(group.timers for group in groups),
            stateEntries=sum(group.stateEntries for group in groups),
            statePages=sum(group.statePages for group in groups),
            user={**self._user[uid], **self._rates_of(uid)},
            accumulators={
                name: [pickle.loads(value) for value in list(values.values())]
                for name, values in list(self._accumulators[uid].items())
            },
            functions=tuple(self._functions[uid].values()),
            openWindows=sum(group.openWindows for group in groups),
        )

    def _rates_of(self, uid: str) -> dict[str, float]:
        now = time.monotonic()
        return {f"{name}.rate": rate.rate(now) for name, rate in list(self._rates[uid].items())}
