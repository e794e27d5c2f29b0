"""``MetricsTotals`` adds up in the driver what the tasks of a job report with each batch."""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from flinkish.api.execution.client import FunctionRuns, OperatorMetrics
from flinkish.api.execution.details import KeyGroupState, OperatorBatch, WorkerDetails
from flinkish.api.metrics import HistogramStatistics
from flinkish.runtime.profiling import Profiler
from flinkish.runtime.progress import InputWatermarks, VertexLoads, visible
from flinkish.runtime.reports import SOURCE_PART, OperatorReport
from flinkish.runtime.time.watermark_generation import combined

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
    size that the state store reports is not a substitute: it includes old versions until they are
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
        return self._bytes / self._pages


@dataclass
class RecordCounts:
    """The numbers of elements that an operator received, emitted and dropped."""

    received: int = 0
    emitted: int = 0
    dropped: int = 0

    def add(self, other: RecordCounts) -> None:
        self.received += other.received
        self.emitted += other.emitted
        self.dropped += other.dropped


@dataclass
class OperatorTotals:
    """The totals reported by an operator's tasks, over all batches unless it says so."""

    uid: str
    name: str
    began: float
    """The time (s) at which the job began."""
    counts: dict[str, RecordCounts] = field(default_factory=dict)
    """By vertex: an operator after a union is chained into several."""
    batch: RecordCounts = field(default_factory=RecordCounts)
    """The counts of the batch that runs."""
    emitting: set[str] = field(default_factory=set)
    """The vertices in which the operator has emitted in the batch that runs."""
    onlyNulls: bool = True
    """Whether the operator has emitted nothing but None."""
    user: dict[str, float] = field(default_factory=dict)
    rates: dict[str, EventRate] = field(default_factory=dict)
    histograms: dict[str, HistogramStatistics] = field(default_factory=dict)
    functions: dict[tuple[str, str], FunctionRuns] = field(default_factory=dict)
    accumulators: dict[str, dict[str, bytes]] = field(default_factory=dict)
    last: dict[tuple[str, int], OperatorReport] = field(default_factory=dict)
    """The last report of each vertex and key group."""
    pages: dict[int, PageSizes] = field(default_factory=dict)

    def add(self, report: OperatorReport) -> None:
        added = RecordCounts(
            report.numRecordsIn, report.numRecordsOut, report.numLateRecordsDropped
        )
        self.counts.setdefault(report.vertex, RecordCounts()).add(added)
        self.batch.add(added)
        if report.numRecordsOut:
            self.emitting.add(report.vertex)
            self.onlyNulls = self.onlyNulls and report.onlyNulls
        self._add_user_metrics(report)
        self._add_runs(report)
        for name, number, accumulated in report.accumulators:
            self.accumulators.setdefault(name, {})[number] = accumulated
        if report.touchedPages:
            sizes = self.pages.setdefault(report.keyGroup, PageSizes())
            sizes.add(report.touchedPages, report.touchedBytes)
        part = report.vertex, report.keyGroup
        if report.keyGroup == SOURCE_PART and part in self.last:
            # A source's partitions are parts of one channel, and its watermark only rises
            report = report._replace(watermark=max(report.watermark, self.last[part].watermark))
        self.last[part] = report

    def _add_user_metrics(self, report: OperatorReport) -> None:
        for name, value in report.userCounts.items():
            self.user[name] = self.user.get(name, 0) + value
        self.user.update(report.userGauges)
        for name in report.userMeters:
            rate = self.rates.setdefault(name, EventRate(self.began))
            rate.add(self.user[name], time.monotonic())
        for name, values in report.userHistograms.items():
            merged = self.histograms.get(name, HistogramStatistics()).merged(values)
            self.histograms[name] = merged
            self.user |= {
                f"{name}.sum": merged.sum,
                f"{name}.min": merged.min,
                f"{name}.max": merged.max,
            }

    def _add_runs(self, report: OperatorReport) -> None:
        for kind, name, taken, elements, difference in report.columnRuns:
            known = self.functions.get((kind, name), FunctionRuns(name, 0, 0))
            self.functions[kind, name] = FunctionRuns(
                name,
                known.runsOverColumns + taken,
                known.runsElementByElement + elements,
                known.difference or difference,
            )

    def reports(self, vertex: str | None = None) -> list[OperatorReport]:
        """The last reports, of one vertex or all; copied, as a thread may add some."""
        return [report for (at, _), report in list(self.last.items()) if vertex in (None, at)]

    def watermark(self, vertex: str | None = None) -> int | None:
        """The lowest watermark (ms) of the key groups that are not idle; if all are idle, the
        highest of all. None before the first report."""
        reports = self.reports(vertex)
        if not reports:
            return None
        watermark, _ = combined((report.watermark, report.idle) for report in reports)
        return visible(watermark)

    def bytesOf(self, report: OperatorReport) -> int:
        """The bytes in the pages of the key group that reports."""
        sizes = self.pages.get(report.keyGroup)
        return 0 if sizes is None else round(report.statePages * sizes.mean)

    def endBatch(self, busyNanoseconds: int) -> OperatorBatch:
        done, reports = self.batch, self.reports()
        self.batch, self.emitting = RecordCounts(), set()
        return OperatorBatch(
            done.received,
            done.emitted,
            done.dropped,
            self.watermark(),
            sum(report.timers for report in reports),
            sum(report.stateEntries for report in reports),
            sum(report.openWindows for report in reports),
            sum(map(self.bytesOf, reports)),
            round(busyNanoseconds / 1e6),
        )

    def metrics(self, vertex: str | None = None) -> OperatorMetrics:
        """The metrics of the operator, or of its part in one vertex."""
        reports, total, now = self.reports(vertex), RecordCounts(), time.monotonic()
        for at, counts in list(self.counts.items()):
            if vertex in (None, at):
                total.add(counts)
        rates = {f"{name}.rate": rate.rate(now) for name, rate in list(self.rates.items())}
        return OperatorMetrics(
            uid=self.uid,
            name=self.name,
            numRecordsIn=total.received,
            numRecordsOut=total.emitted,
            numLateRecordsDropped=total.dropped,
            currentWatermark=self.watermark(vertex),
            timers=sum(report.timers for report in reports),
            stateEntries=sum(report.stateEntries for report in reports),
            statePages=sum(report.statePages for report in reports),
            user={**self.user, **rates},
            accumulators={
                name: [pickle.loads(value) for value in list(values.values())]
                for name, values in list(self.accumulators.items())
            },
            functions=tuple(self.functions.values()),
            openWindows=sum(report.openWindows for report in reports),
        )


class MetricsTotals:
    """Adds up the reports of a job in the driver. Other threads read it meanwhile."""

    def __init__(self) -> None:
        self.batches = 0
        """The number of batches that have reported."""
        self.loads = VertexLoads()
        """The load of the vertices, and the records sent over the edges between them."""
        self.inputs = InputWatermarks()
        """The watermarks of the inputs of each operator."""
        self.states: dict[str, set[tuple[str, str, str]]] = {}
        """The states that functions use, by the uid of their operator."""
        self.profiler = Profiler()
        self.lastBatch: dict[str, OperatorBatch] = {}
        """The figures of each operator for the last batch, by uid."""
        self.lastEmitted: dict[tuple[str, str], int] = {}
        """The time (ms) at which the last batch ended in which an operator, or a source, emitted an
        element, by its uid and that of the vertex."""
        self._began = time.monotonic()
        self._operators: dict[str, OperatorTotals] = {}
        self._workers: dict[tuple[str, int], WorkerDetails] = {}

    def add(self, reports: Iterable[OperatorReport]) -> None:
        for report in reports:
            self.loads.add(report)
            self.inputs.add(report)
            self.profiler.add(report)
            if report.worker is not None:
                found = WorkerDetails(*report.worker, self.batches)
                self._workers[found.host, found.process] = found
            self.states.setdefault(report.uid, set()).update(report.states)
            totals = self._operators.get(report.uid)
            if totals is None:
                totals = OperatorTotals(report.uid, report.name, self._began)
            totals.add(report)
            # Set last: other threads expect a report of each operator
            self._operators[report.uid] = totals

    def endBatch(self, now: int = 0) -> None:
        """Called at the time ``now`` (ms) when all reports of a batch have been added."""
        self.loads.endBatch()
        done = {}
        for uid, totals in self._operators.items():
            self.inputs.update(uid, [report.inputs for report in totals.reports()], now)
            self.lastEmitted |= {(uid, vertex): now for vertex in totals.emitting}
            load = self.loads.vertices.get(uid)
            done[uid] = totals.endBatch(0 if load is None else load.lastBusyNanoseconds)
        self.lastBatch = done
        self.batches += 1

    @property
    def _totals(self) -> list[OperatorTotals]:
        return list(self._operators.values())

    @property
    def numLateRecordsDropped(self) -> int:
        return sum(
            counts.dropped for totals in self._totals for counts in list(totals.counts.values())
        )

    def numNullResults(self, uid: str) -> int:
        """The number of elements that an operator has emitted, if all of them are None; else 0."""
        totals = self._operators.get(uid)
        if totals is None or not totals.onlyNulls:
            return 0
        return sum(counts.emitted for counts in list(totals.counts.values()))

    @property
    def numOpenWindows(self) -> int:
        """The number of open windows of all operators, counted for each key."""
        return sum(batch.openWindows for batch in self.lastBatch.values())

    @property
    def workers(self) -> tuple[WorkerDetails, ...]:
        """The processes that ran tasks in the last batches."""
        since = self.batches - _WORKERS_BATCHES
        return tuple(found for found in list(self._workers.values()) if found.lastBatch >= since)

    @property
    def stateBytes(self) -> int:
        return sum(batch.stateBytes for batch in self.lastBatch.values())

    def stateOf(self, uid: str) -> dict[int, KeyGroupState]:
        totals = self._operators.get(uid)
        if totals is None:
            return {}
        return {
            report.keyGroup: KeyGroupState(
                report.stateEntries, report.statePages, totals.bytesOf(report), report.openWindows
            )
            for report in totals.reports()
            if report.statePages
        }

    def watermark(self, uid: str) -> int | None:
        """An operator's watermark (ms), the highest of all at its end; None before the first."""
        totals = self._operators.get(uid)
        return None if totals is None else totals.watermark()

    def nextProcessingTime(self) -> int | None:
        """The earliest time (ms) of a processing-time timer of an operator, None if none."""
        return min((time for time, _ in self._wanted()), default=None)

    def due(self, now: int) -> dict[str, list[int]]:
        """The key groups with a processing-time timer due at ``now`` (ms), by operator uid."""
        due: dict[str, list[int]] = {}
        for wanted, report in self._wanted():
            if wanted <= now:
                due.setdefault(report.uid, []).append(report.keyGroup)
        return due

    def _wanted(self) -> Iterator[tuple[int, OperatorReport]]:
        for totals in self._totals:
            for report in totals.reports():
                if report.nextProcessingTime is not None:
                    yield report.nextProcessingTime, report

    def metrics(self) -> dict[str, OperatorMetrics]:
        """The metrics by operator name. Operators that share a name are numbered."""
        result: dict[str, OperatorMetrics] = {}
        for totals in sorted(self._totals, key=lambda each: each.name):
            key, number = totals.name, 1
            while key in result:
                number += 1
                key = f"{totals.name}#{number}"
            result[key] = totals.metrics()
        return result

    def ofVertex(self, found: OperatorMetrics, vertex: str) -> OperatorMetrics:
        """The counts, watermark and state of an operator in one vertex. An operator after a union
        is chained into several vertices."""
        totals = self._operators.get(found.uid)
        return found if totals is None or len(totals.counts) < 2 else totals.metrics(vertex)
