"""What an operator reports at the end of a batch, and the sum of what all of them reported."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from flinkish.api.elements import MIN_TIMESTAMP
from flinkish.api.job import OperatorMetrics
from flinkish.api.metrics import HistogramStatistics
from flinkish.runtime.attribute_changes import AttributeChange


class OperatorReport(NamedTuple):
    """The metrics of one operator in one key group (-1: in a source's partition) in one batch.

    The first counters count this batch only, what follows is the state after it.
    """

    uid: str
    name: str
    keyGroup: int
    numRecordsIn: int
    numRecordsOut: int
    numLateRecordsDropped: int
    watermark: int
    timers: int
    stateEntries: int
    statePages: int
    nextProcessingTime: int | None
    userCounts: dict[str, float]
    userGauges: dict[str, float]
    userHistograms: dict[str, HistogramStatistics]
    states: tuple[tuple[str, str, str], ...] = ()
    """The states that its functions have asked for: name, kind and type of each."""


def encode_reports(reports: list[OperatorReport], changes: Sequence[AttributeChange] = ()) -> bytes:
    """Reports as bytes, with what user functions have changed of themselves."""
    content = [tuple(report) for report in reports], [tuple(change) for change in changes]
    return pickle.dumps(content, protocol=5)


def decode_reports(data: bytes) -> tuple[list[OperatorReport], list[AttributeChange]]:
    """What ``encode_reports`` made bytes of."""
    reports, changes = pickle.loads(data)
    return (
        [OperatorReport(*fields) for fields in reports],
        [AttributeChange(*fields) for fields in changes],
    )


class MetricsTotals:
    """Adds up the reports of a job, batch by batch."""

    def __init__(self) -> None:
        self.batches = 0
        """How many batches have reported."""
        self._names: dict[str, str] = {}
        self._counts: dict[str, list[int]] = {}
        self._user: dict[str, dict[str, float]] = {}
        self._histograms: dict[str, dict[str, HistogramStatistics]] = {}
        self._last: dict[str, dict[int, OperatorReport]] = {}
        self.states: dict[str, set[tuple[str, str, str]]] = {}
        """By operator, the states that its functions have asked for."""

    def add(self, reports: Iterable[OperatorReport]) -> None:
        """Take in the reports of one task in a batch."""
        for report in reports:
            counts = self._counts.setdefault(report.uid, [0, 0, 0])
            counts[0] += report.numRecordsIn
            counts[1] += report.numRecordsOut
            counts[2] += report.numLateRecordsDropped
            user = self._user.setdefault(report.uid, {})
            for name, value in report.userCounts.items():
                user[name] = user.get(name, 0) + value
            user.update(report.userGauges)
            histograms = self._histograms.setdefault(report.uid, {})
            for name, values in report.userHistograms.items():
                merged = histograms.get(name, HistogramStatistics()).merged(values)
                histograms[name] = merged
                user[f"{name}.sum"] = merged.sum
                user[f"{name}.min"], user[f"{name}.max"] = merged.min, merged.max
            self.states.setdefault(report.uid, set()).update(report.states)
            self._last.setdefault(report.uid, {})[report.keyGroup] = report
            # Last, since metrics() asks in another thread for all else of an operator with a name
            self._names[report.uid] = report.name

    def endBatch(self) -> None:
        """All reports of a batch are in."""
        self.batches += 1

    def nextProcessingTime(self) -> int | None:
        """When any operator next wants the clock, in ms."""
        return min((time for time, _ in self._wanted()), default=None)

    def due(self, now: int) -> dict[str, list[int]]:
        """By operator, the key groups that wanted the clock at ``now`` (ms) or before."""
        due: dict[str, list[int]] = {}
        for time, report in self._wanted():
            if time <= now:
                due.setdefault(report.uid, []).append(report.keyGroup)
        return due

    def _wanted(self) -> Iterator[tuple[int, OperatorReport]]:
        # Of copies, since a batch may report meanwhile in another thread
        for groups in list(self._last.values()):
            for report in list(groups.values()):
                if report.nextProcessingTime is not None:
                    yield report.nextProcessingTime, report

    def metrics(self) -> dict[str, OperatorMetrics]:
        """The metrics by operator name; operators that share a name are numbered."""
        result: dict[str, OperatorMetrics] = {}
        for uid, name in sorted(self._names.items(), key=lambda item: item[1]):
            groups = list(self._last[uid].values())
            received, emitted, dropped = self._counts[uid]
            watermark = min(group.watermark for group in groups)
            key, number = name, 1
            while key in result:
                number += 1
                key = f"{name}#{number}"
            result[key] = OperatorMetrics(
                uid,
                name,
                received,
                emitted,
                dropped,
                None if watermark == MIN_TIMESTAMP else watermark,
                sum(group.timers for group in groups),
                sum(group.stateEntries for group in groups),
                sum(group.statePages for group in groups),
                dict(self._user[uid]),
            )
        return result
