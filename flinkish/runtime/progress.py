"""The progress of a job's vertices, in the driver: their watermarks by input, and their load by key
group.

Both are computed from the reports of each batch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from flinkish.runtime.reports import SOURCE_PART, InputReport, OperatorReport


@dataclass
class InputWatermark:
    """The watermark of one input or split of an operator: the lowest of all key groups."""

    name: str
    isSplit: bool
    watermark: int
    idle: bool
    since: int
    """The time (ms) of the last rise of the watermark, or when the input became idle or active."""
    lastTimestamp: int | None = None
    """The highest timestamp (ms) of the elements of a split so far; None before the first."""
    lastElement: int | None = None
    """When the last batch with an element of the split ended (ms); None before the first."""


class InputWatermarks:
    """The watermarks of the inputs of all operators, and the time of each one's last change."""

    def __init__(self) -> None:
        self._inputs: dict[str, dict[tuple[str, bool], InputWatermark]] = {}
        self._came: dict[tuple[str, str], int] = {}
        """The highest timestamp in this batch, by operator and split."""

    def add(self, report: OperatorReport) -> None:
        for read in report.inputs:
            if read.lastTimestamp is not None:
                known = self._came.get((report.uid, read.name), MIN_TIMESTAMP)
                self._came[report.uid, read.name] = max(known, read.lastTimestamp)

    def of(self, uid: str) -> list[InputWatermark]:
        """The inputs and splits of an operator, the lowest watermark first, idle ones last."""
        inputs = list(self._inputs.get(uid, {}).values())
        return sorted(inputs, key=lambda read: (read.idle, read.watermark, read.name))

    def furthestApart(self) -> int:
        """The largest distance (ms) between the watermarks of one operator's inputs or splits."""
        lags = (lag for uid in list(self._inputs) for lag in input_lags(self.of(uid)).values())
        return max(lags, default=0)

    def update(self, uid: str, reports: Iterable[tuple[InputReport, ...]], now: int) -> None:
        """Take over the last reports of an operator's key groups up to ``now`` (ms), the end of the batch."""
        found: dict[tuple[str, bool], list[InputReport]] = defaultdict(list)
        for reported in reports:
            for report in reported:
                found[report.name, report.isSplit].append(report)
        if not found:
            return
        known = self._inputs.get(uid, {})
        # A new dict, as another thread may be reading the old one
        self._inputs[uid] = {
            key: _updated(known.get(key), parts, self._came.pop((uid, key[0]), None), now)
            for key, parts in found.items()
        }


def _updated(
    known: InputWatermark | None, parts: list[InputReport], came: int | None, now: int
) -> InputWatermark:
    active = [part for part in parts if not part.idle]
    watermark = min(part.watermark for part in active or parts)
    idle = not active
    stays = known is not None and known.idle == idle and (idle or known.watermark == watermark)
    since = known.since if known is not None and stays else now
    last = (None, None) if known is None else (known.lastTimestamp, known.lastElement)
    if came is not None:
        last = came if last[0] is None else max(came, last[0]), now
    return InputWatermark(parts[0].name, parts[0].isSplit, watermark, idle, since, *last)


@dataclass
class VertexLoad:
    """The load of one vertex."""

    busyNanoseconds: int = 0
    """The working time of all tasks in the batches so far."""
    lastBusyNanoseconds: int = 0
    """The working time of all tasks in the last batch."""
    lastRecords: int = 0
    """The number of records that the vertex received in the last batch."""
    skew: float = 1.0
    """The skew of the last batch: the largest key group's records, divided by the mean."""


class VertexLoads:
    """The load of each vertex, and the records sent over the edges between vertices."""

    def __init__(self) -> None:
        self.edges: dict[tuple[str, str], int] = {}
        """The number of records written, by target uid and name of the edge."""
        self.lastTimestamps: dict[tuple[str, str], int] = {}
        """The highest timestamp written, by target uid and name of the edge."""
        self.vertices: dict[str, VertexLoad] = {}
        """The load by uid of the vertex."""
        self.keyGroups: dict[str, dict[int, int]] = {}
        """The number of records received so far, by uid of the vertex and key group."""
        self._batch: dict[str, list[OperatorReport]] = defaultdict(list)

    def add(self, report: OperatorReport) -> None:
        for edge in report.edges:
            key = edge.target, edge.name
            self.edges[key] = self.edges.get(key, 0) + edge.records
            known = self.lastTimestamps.get(key, MIN_TIMESTAMP)
            self.lastTimestamps[key] = max(known, edge.lastTimestamp)
        if report.busyNanoseconds:
            self._batch[report.uid].append(report)

    def endBatch(self) -> None:
        """Called when all reports of a batch have been added."""
        batch, self._batch = self._batch, defaultdict(list)
        for load in self.vertices.values():
            load.lastBusyNanoseconds = load.lastRecords = 0
            load.skew = 1.0
        for uid, reports in batch.items():
            load = self.vertices.setdefault(uid, VertexLoad())
            counts = [_records(report) for report in reports]
            load.lastBusyNanoseconds = sum(report.busyNanoseconds for report in reports)
            load.busyNanoseconds += load.lastBusyNanoseconds
            load.lastRecords = sum(counts)
            if reports[0].keyGroup == SOURCE_PART:
                continue
            load.skew = max(counts) * len(counts) / load.lastRecords if load.lastRecords else 1.0
            groups = self.keyGroups.setdefault(uid, {})
            for report, count in zip(reports, counts):
                groups[report.keyGroup] = groups.get(report.keyGroup, 0) + count


def _records(report: OperatorReport) -> int:
    """The number of records that the operator received; for a source, of those it read."""
    if report.keyGroup == SOURCE_PART:
        return report.numRecordsOut
    return report.numRecordsIn


def lowest(inputs: Iterable[InputWatermark]) -> InputWatermark | None:
    """The input that holds the others back: the lowest that is not idle. None: all are idle."""
    active = [read for read in inputs if not read.idle]
    return min(active, key=lambda read: (read.watermark, read.since), default=None)


def input_lags(inputs: Iterable[InputWatermark]) -> dict[tuple[str, bool], int]:
    """The lag (ms) of each input and split behind the furthest, by name and whether it is a split.
    One without a watermark yet, idle or ended is left out."""
    lags = {}
    read = [
        each for each in inputs if not each.idle and MIN_TIMESTAMP < each.watermark < MAX_TIMESTAMP
    ]
    for is_split in (False, True):
        kind = [each for each in read if each.isSplit == is_split]
        ahead = max((each.watermark for each in kind), default=0)
        lags.update({(each.name, is_split): ahead - each.watermark for each in kind})
    return lags


def visible(watermark: int) -> int | None:
    """Format a watermark for display; None before the first."""
    return None if watermark == MIN_TIMESTAMP else watermark
