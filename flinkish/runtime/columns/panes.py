"""Aligned windows as arithmetic on columns of timestamps, and their elements folded by pane.

Windows are *aligned* when all keys share them. Here a *pane* is the span from one window's start to
the next one's, for all keys (in ``WindowOperator`` it is one key in one window). All elements of a
pane are in the same windows. So a sliding window of 60 s every 15 s consists of four panes, and an
element is folded once, into its pane, instead of into four windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.plan.window_operator import AlignedLayout, WindowOperatorDescription
from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from flinkish.api.windowing.windows import TimeWindow
from flinkish.runtime.columns.tracing.column_fold import ColumnFold
from flinkish.runtime.columns.tracing.combining import Combination
from flinkish.runtime.columns.tracing.folding import first_positions, last_positions
from flinkish.runtime.records.frames import Marks
from flinkish.runtime.records.keys import ColumnKeys, encoded_keys
from flinkish.runtime.records.records import Records, Timestamps
from flinkish.runtime.records.rows import RowColumns, concatenated, grouped

Positions = NDArray[np.intp]


class AlignedWindows:
    """Windows of ``size`` ms that start at ``offset`` and every ``slide`` ms before and after it.

    Tumbling windows have a slide equal to their size. All times are in ms.
    """

    __slots__ = ("offset", "size", "slide")

    def __init__(self, size: int, slide: int, offset: int) -> None:
        self.size = size
        self.slide = slide
        self.offset = offset

    @classmethod
    def of(cls, description: WindowOperatorDescription) -> AlignedWindows:
        """The windows of ``description``, whose layout has to be aligned."""
        layout = description.layout
        assert isinstance(layout, AlignedLayout)
        return cls(layout.size, layout.slide, layout.offset)

    def fit(self, timestamps: Timestamps) -> bool:
        """Whether 64 bits hold everything computed from ``timestamps``, which must not be empty.
        Near the ends of the range Java's sums wrap around, at other steps than these."""
        reach = self.size + self.slide + abs(self.offset)
        lowest, highest = int(timestamps.min()), int(timestamps.max())
        return lowest - reach >= MIN_TIMESTAMP and highest + reach <= MAX_TIMESTAMP

    @property
    def overlap(self) -> bool:
        """Whether an element may be in several windows."""
        return self.slide < self.size

    def lastStarts(self, timestamps: Timestamps) -> Timestamps:
        """For each timestamp the latest start of a window at or before it.

        If the timestamp is in a gap between windows, that window does not contain it.
        """
        return timestamps - np.mod(timestamps - self.offset, self.slide)

    def firstEnds(self, timestamps: Timestamps) -> Timestamps:
        """For each timestamp the earliest end of a window after it.

        If the timestamp is in a gap between windows, that window does not contain it.
        """
        return timestamps - np.mod(timestamps - self.offset - self.size, self.slide) + self.slide

    def containing(self, timestamps: Timestamps, after: int) -> tuple[Positions, Timestamps]:
        """The windows that contain each timestamp and whose last ms is after ``after``: for each the
        position of the timestamp, and the window's start. Of one timestamp the latest comes first."""
        steps = np.arange(-(-self.size // self.slide), dtype=np.int64) * self.slide
        starts = (self.lastStarts(timestamps)[:, np.newaxis] - steps).ravel()
        contain = (starts > np.repeat(timestamps - self.size, len(steps))) & (
            starts + self.size - 1 > after
        )
        rows = np.flatnonzero(contain)
        return rows // len(steps), starts[rows]

    def allEnds(self, timestamps: Timestamps) -> Timestamps:
        """The ends of all windows that contain one of ``timestamps``, and perhaps of some more."""
        steps = np.arange(-(-self.size // self.slide), dtype=np.int64) * self.slide
        return np.unique(np.unique(self.firstEnds(timestamps))[:, np.newaxis] + steps)

    def gaps(self, timestamps: Timestamps) -> NDArray[np.bool_] | None:
        """Return a mask of the timestamps that are in no window; None if there are no gaps between
        windows."""
        if self.slide <= self.size:
            return None
        return timestamps - self.lastStarts(timestamps) >= self.size

    def split(self, timestamps: Timestamps) -> Iterator[tuple[TimeWindow, Positions | None]]:
        """Every window that contains one of ``timestamps``, the latest first, with the ascending
        positions of the timestamps in it; None stands for all positions."""
        size = self.size
        if len(timestamps) == 0:
            return
        lowest, highest = int(timestamps.min()), int(timestamps.max())
        starts = self._starts(timestamps)
        if len(starts) == 1 and starts[0] <= lowest and highest < starts[0] + size:
            yield TimeWindow(starts[0], starts[0] + size), None
            return
        order = np.argsort(timestamps, kind="stable")
        ordered = timestamps[order]
        begins = np.searchsorted(ordered, np.array(starts, dtype=np.int64))
        ends = np.searchsorted(ordered, np.array(starts, dtype=np.int64) + size)
        for start, begin, end in zip(starts, begins.tolist(), ends.tolist()):
            if begin == 0 and end == len(order):
                yield TimeWindow(start, start + size), None
            elif begin < end:
                yield TimeWindow(start, start + size), np.sort(order[begin:end])

    def _starts(self, timestamps: Timestamps) -> list[int]:
        last = np.unique(self.lastStarts(timestamps))
        overlaps = -(-self.size // self.slide)
        if overlaps > 1:
            steps = np.arange(overlaps, dtype=np.int64) * self.slide
            last = np.unique(last[:, np.newaxis] - steps)
        starts: list[int] = last[::-1].tolist()
        return starts

    def passed(self, watermarks: Timestamps) -> Timestamps:
        """A number for each watermark: between two watermarks with the same number no window ends."""
        assert self.panes
        start = self.offset - 1  # a window is over with its last ms
        held = np.clip(watermarks, MIN_TIMESTAMP + abs(start), MAX_TIMESTAMP - abs(start))
        numbers: Timestamps = (held - start) // self.slide
        return numbers

    @property
    def panes(self) -> int:
        """The number of panes in a window; 0 if the size is not a multiple of the slide."""
        return 0 if self.size % self.slide else self.size // self.slide


KEY = "key"
"""The name of the first column of folded elements."""


_LEAST_ELEMENTS_A_GROUP = 2
"""With fewer elements for each key and pane, folding saves nothing before a shuffle."""

_MOST_GROUPS_AN_ELEMENT = 4
"""With more keys and panes, arrays with a row for each take longer than the elements."""


_POSITIONS: Mapping[str, Callable[[Positions, int], Positions]] = {
    "first": first_positions,
    "last": last_positions,
}
"""The position of the element by which the parts to combine are ordered."""


class PaneFold:
    """Folds elements by key and pane with a window operator's aggregation."""

    def __init__(self, windows: AlignedWindows, fold: ColumnFold) -> None:
        self._windows = windows
        self.fold = fold

    @classmethod
    def before(cls, description: WindowOperatorDescription) -> PaneFold | None:
        """The fold to do before the shuffle to the operator of ``description``. None if the
        operator needs the elements themselves: it re-fires windows or emits late elements, it has
        no aggregation or an evictor, or its windows do not consist of panes."""
        if not isinstance(description.layout, AlignedLayout) or description.aggregation is None:
            return None
        if description.evictor is not None:
            return None
        if description.allowedLateness or description.lateDataOutputTag is not None:
            return None
        windows = AlignedWindows.of(description)
        return cls(windows, ColumnFold(description.aggregation)) if windows.panes else None

    def lastMarks(self, values: Sequence[Any], watermark: int | None, marks: Marks) -> Positions:
        """The numbers of the marks at which a run of ``values`` has to be cut, so that each part can be
        folded with all its marks after it. ``watermark`` (ms) is the last before the run, None if that
        is not known.

        A watermark at which no window ends changes nothing for the elements around it, so it may come
        later. But of the channels of an operator the one with the lowest watermark is read first: where
        the order of elements counts, all watermarks stay in their places.
        """
        if not (
            marks.onlyWatermarks
            and isinstance(values, RowColumns)
            and (plan := self.fold.plan(values)) is not None
            and plan.combination.order == "any"
        ):
            return np.flatnonzero(np.diff(marks.positions, append=-1))
        passed = self._windows.passed(marks.watermarks)
        known = passed[0] - 1
        if watermark is not None:
            (known,) = self._windows.passed(np.array([watermark]))
        return np.flatnonzero(np.diff(passed, prepend=known))

    def partials(self, records: Records, inWindows: bool = False) -> Records | None:
        """The partial aggregates of ``records``: an accumulator for each key and pane, with the
        start of the pane as its timestamp and the number of elements folded into it. None if the
        run cannot be vectorised, or if folding would save little. ``inWindows``: they are added to
        windows, each of which would be folded separately.
        """
        windows = self._windows
        values, hashes = records.values, records.hashes
        if not isinstance(values, RowColumns) or hashes is None:
            return None
        plan = self.fold.plan(values) if windows.panes else None
        if plan is None or not plan.combination.exactInAnyGrouping:
            return None
        order = plan.combination.order if windows.panes > 1 else "any"
        if order is None:
            return None
        count, timestamps = len(records), records.timestamps
        encoded = encoded_keys(records) if windows.fit(timestamps) else None
        if encoded is None:
            return None
        codes, distinct = encoded.indices.to_numpy(), len(encoded.dictionary)
        lowest, highest = int(timestamps.min()), int(timestamps.max())
        first = (lowest - windows.offset) // windows.slide
        span = (highest - windows.offset) // windows.slide - first + 1
        few = span * distinct * _LEAST_ELEMENTS_A_GROUP > count
        if few and not (inWindows and 1 < span <= _MOST_GROUPS_AN_ELEMENT * count // distinct):
            return None
        groups = codes.astype(np.intp)
        if span > 1:
            panes = (timestamps - (windows.offset + first * windows.slide)) // windows.slide
            groups += panes * distinct
        counts = np.bincount(groups, minlength=span * distinct)
        present = np.flatnonzero(counts)
        if span > 1 and order != "any":
            # A window of several panes combines their rows in the order in which they stand here
            positions = _POSITIONS[order](groups, span * distinct)
            present = present[np.argsort(positions[present])]
        numbers = np.zeros(span * distinct, dtype=np.intp)
        numbers[present] = np.arange(len(present))
        folded = self.fold.fold(values, numbers[groups], len(present))
        if folded is None:
            return None
        hash_of_code = np.zeros(distinct, dtype=np.uint32)
        hash_of_code[codes] = hashes
        code = present % distinct
        run = folded_run(encoded.dictionary.take(pa.array(code)), folded)
        return Records(
            run,
            (present // distinct + first) * windows.slide + windows.offset,
            ColumnKeys(run, 0),
            hash_of_code[code],
            counts[present],
        )

    def joined(self, parts: Sequence[Records]) -> Records | None:
        """Several results of ``partials``, of consecutive runs, combined into one. None if columns
        cannot represent it."""
        runs = [part.values.batch for part in parts if isinstance(part.values, RowColumns)]
        if any(run.schema != runs[0].schema for run in runs):
            return None
        run = concatenated(runs)
        timestamps = np.concatenate([part.timestamps for part in parts])
        hashes = np.concatenate([part.hashes for part in parts if part.hashes is not None])
        counts = np.concatenate([part.counts for part in parts if part.counts is not None])
        keys, distinct = grouped(run.column(0))
        panes = np.unique(timestamps, return_inverse=True)[1]
        _, first, groups = np.unique(
            panes * len(distinct) + keys, return_index=True, return_inverse=True
        )
        combination = Combination.of(run.schema)
        if self._windows.panes > 1 and combination is not None and combination.order != "any":
            assert combination.order is not None
            order = np.argsort(_POSITIONS[combination.order](groups, len(first)))
            first, groups = first[order], np.argsort(order)[groups]
        values = combined_run(self.fold, run, run.column(0).take(pa.array(first)), groups)
        if values is None:
            return None
        added = np.zeros(len(first), dtype=np.int64)
        np.add.at(added, groups, counts)
        return Records(values, timestamps[first], ColumnKeys(values, 0), hashes[first], added)


def folded_run(keys: pa.Array, folded: pa.RecordBatch) -> RowColumns:
    """A folded run: the keys, and the columns of their accumulators."""
    schema = folded_schema(keys.type, folded.schema)
    return RowColumns(pa.RecordBatch.from_arrays([keys, *folded.columns], schema=schema))


def folded_schema(key: pa.DataType, folded: pa.Schema) -> pa.Schema:
    """The schema of a folded run: the key, then the columns of the accumulators."""
    fields = [(field.name, field.type) for field in folded]
    return pa.schema([(KEY, key), *fields], metadata=folded.metadata)


def combined_run(
    fold: ColumnFold, run: pa.RecordBatch, keys: pa.Array, groups: Positions
) -> RowColumns | None:
    """A folded run with its rows combined by group; ``keys`` are the keys of the groups. None if
    columns cannot represent it."""
    combined = fold.combine(accumulators_of(run), groups, len(keys))
    return None if combined is None else folded_run(keys, combined)


def accumulators_of(run: pa.RecordBatch) -> pa.RecordBatch:
    """The columns of the accumulators of a folded run."""
    return run.select(list(range(1, run.num_columns)))
