"""The progress of a job's vertices, in the driver: their watermarks by input, and their load by key group.

Both are computed from the reports that come with each batch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from flinkish.runtime.reports import SOURCE_PART, InputReport, OperatorReport


@dataclass
class InputWatermark:
    """The watermark of one input or split of an operator, the lowest over the key groups."""

    name: str
    isSplit: bool
    watermark: int
    idle: bool
    since: int
    """When (ms) the watermark rose last, or the input became idle or active."""


class InputWatermarks:
    """The inputs of all operators, and since when each stands where it is."""

    def __init__(self) -> None:
        self._inputs: dict[str, dict[tuple[str, bool], InputWatermark]] = {}

    def of(self, uid: str) -> list[InputWatermark]:
        """The inputs and splits of an operator, the lowest watermark first, idle ones last."""
        inputs = list(self._inputs.get(uid, {}).values())
        return sorted(inputs, key=lambda read: (read.idle, read.watermark, read.name))

    def furthestApart(self) -> int:
        """The largest distance (ms) between the watermarks of one operator's inputs or splits."""
        lags = (lag for uid in list(self._inputs) for lag in input_lags(self.of(uid)).values())
        return max(lags, default=0)

    def update(self, uid: str, reports: Iterable[tuple[InputReport, ...]], now: int) -> None:
        """Update from what the key groups of an operator reported up to ``now`` (ms)."""
        found: dict[tuple[str, bool], list[InputReport]] = defaultdict(list)
        for reported in reports:
            for report in reported:
                found[report.name, report.isSplit].append(report)
        if not found:
            return
        known = self._inputs.get(uid, {})
        # Made anew, as another thread may look at the old one
        self._inputs[uid] = {
            key: _updated(known.get(key), parts, now) for key, parts in found.items()
        }


def _updated(known: InputWatermark | None, parts: list[InputReport], now: int) -> InputWatermark:
    active = [part for part in parts if not part.idle]
    watermark = min(part.watermark for part in active or parts)
    idle = not active
    stays = known is not None and known.idle == idle and (idle or known.watermark == watermark)
    since = known.since if known is not None and stays else now
    return InputWatermark(parts[0].name, parts[0].isSplit, watermark, idle, since)


@dataclass
class VertexLoad:
    """The load of one vertex."""

    busyNanoseconds: int = 0
    """In the batches so far, over all tasks."""
    lastBusyNanoseconds: int = 0
    """In the last batch."""
    lastRecords: int = 0
    """What came in with the last batch."""
    skew: float = 1.0
    """The skew of the last batch: the records of its largest key group, divided by the mean of all that had any."""


class VertexLoads:
    """The load of each vertex, and the records sent over the edges between vertices."""

    def __init__(self) -> None:
        self.edges: dict[tuple[str, str], int] = {}
        """The records written, by target uid and name of the edge."""
        self.vertices: dict[str, VertexLoad] = {}
        """By uid of the vertex."""
        self.keyGroups: dict[str, dict[int, int]] = {}
        """The records that came in so far, by uid of the vertex and key group."""
        self._batch: dict[str, list[OperatorReport]] = defaultdict(list)

    def add(self, report: OperatorReport) -> None:
        """Add the report of an operator."""
        for edge in report.edges:
            key = edge.target, edge.name
            self.edges[key] = self.edges.get(key, 0) + edge.records
        if report.busyNanoseconds:
            self._batch[report.uid].append(report)

    def endBatch(self) -> None:
        """All reports of a batch have been added."""
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
    """The records that came in; for a source, those it read."""
    if report.keyGroup == SOURCE_PART:
        return report.numRecordsOut
    return report.numRecordsIn


def lowest(inputs: Iterable[InputWatermark]) -> InputWatermark | None:
    """The input that holds the others back: the lowest that is not idle; None if all are."""
    active = [read for read in inputs if not read.idle]
    return min(active, key=lambda read: (read.watermark, read.since), default=None)


def input_lags(inputs: Iterable[InputWatermark]) -> dict[tuple[str, bool], int]:
    """How far (ms) inputs are behind the one that is ahead of them, and splits behind theirs, by name and whether it is
    a split. Those without a watermark, or which are idle or have ended, have none."""
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
    """A watermark to show; None before the first."""
    return None if watermark == MIN_TIMESTAMP else watermark
