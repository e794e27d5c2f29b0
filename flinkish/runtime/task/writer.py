"""``RecordWriter``: cuts the output of an operator into frames for the vertex that reads it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np

from flinkish.api.errors import UnstableKeyError
from flinkish.api.time.elements import MIN_TIMESTAMP, WatermarkStatus
from flinkish.runtime.columns.panes import PaneFold
from flinkish.runtime.columns.tracing.column_function import ColumnFunction
from flinkish.runtime.columns.uniform_elements import uniform_columns
from flinkish.runtime.operators.output import Input
from flinkish.runtime.records.columns import ElementColumns
from flinkish.runtime.records.frames import (
    NO_MARKS,
    NO_TIMESTAMPS,
    Frame,
    Marks,
    MarksBuilder,
    SplitMark,
    encode_frame,
)
from flinkish.runtime.records.keys import (
    KEY_RULES,
    ColumnKeys,
    KeyColumn,
    KeyRules,
    records_at,
    split_group,
    unstable_split,
)
from flinkish.runtime.records.records import Records, Timestamps
from flinkish.runtime.records.rows import RowColumns, joined
from flinkish.runtime.reports import EdgeReport
from flinkish.runtime.sinks.buckets import Buckets
from flinkish.runtime.sinks.part_files import PartFile, PartFiles
from flinkish.runtime.task.gates import CLOSING, FrameRow, Gate, Slice
from flinkish.runtime.task.plan import tick
from flinkish.runtime.time.watermark_generation import JoinedSplits

RECORDS_A_FRAME = 1 << 17
"""The number of records after which a writer cuts frames, to bound its memory."""

_LEAST_FOLDED = 1 << 12
"""Parts with fewer records between two watermarks are not folded separately."""


class RecordWriter(Input):
    """Writes the elements of an edge that leaves a task as frames (Flink: ``RecordWriter``).
    ``operator`` is the name of the operator that emits them, for errors. With ``traces`` objects of
    one shape are written as columns."""

    keepsRecords = True

    def __init__(self, gate: Gate, operator: str, traces: bool = False) -> None:
        self._gate = gate
        self._operator = operator
        self._traces = traces
        self._values: list[Sequence[Any]] = []
        self._timestamps: list[Timestamps] = []
        self._count = 0
        self._marks = MarksBuilder()
        self._rows: list[FrameRow] = []
        self._sequence = 0
        self._slice = Slice(0, 0)
        self._written = 0
        self._last_timestamp = MIN_TIMESTAMP
        self._ticked: Sequence[int] = ()
        """The key groups that get a tick at the end of a slice."""

    def begin(self, part: Slice) -> None:
        self._slice = part
        self._sequence = self._written = 0
        self._last_timestamp = MIN_TIMESTAMP

    @property
    def report(self) -> EdgeReport:
        gate = self._gate
        return EdgeReport(gate.target, gate.name, self._written, self._last_timestamp)

    def processRecords(self, records: Records) -> None:
        self._written += len(records)
        self._values.append(records.values)
        self._timestamps.append(records.timestamps)
        self._count += len(records)
        if self._count >= RECORDS_A_FRAME:
            self._cut()

    def processFrame(self, frame: Frame) -> None:
        self._marks.addMarks(self._count, frame.marks)
        if len(frame.records):
            self.processRecords(frame.records)

    def processWatermark(self, timestamp: int) -> None:
        self._marks.addWatermark(self._count, timestamp)

    def processWatermarks(self, timestamps: Sequence[int]) -> None:
        self._marks.addWatermarks(self._count, timestamps)

    def processWatermarkStatus(self, status: WatermarkStatus) -> None:
        self._marks.addStatus(self._count, status)

    def beginClosing(self) -> None:
        """Mark what follows in the slice as for the batch's end, if the gate joins splits."""
        if self._gate.joinsSplits:
            self._write()
            self._sequence = CLOSING

    def tellSplits(self, joined: JoinedSplits) -> None:
        """Send the watermark and idleness of the key group's splits if the gate joins splits."""
        if self._gate.joinsSplits:
            self._marks.addWatermark(self._count, joined.watermark)
            status = WatermarkStatus.IDLE if joined.idle else WatermarkStatus.ACTIVE
            self._marks.addStatus(self._count, status)

    def rows(self) -> list[FrameRow]:
        """The frames cut since the last call."""
        rows, self._rows = self._rows, []
        return rows

    def finish(self) -> list[FrameRow]:
        """End the slice: cut the remaining records and return the frames not returned yet."""
        self._write()
        gate, part = self._gate, self._slice
        return self.rows() + [
            tick(gate.level, gate.target, group, part.number, part.clock) for group in self._ticked
        ]

    def trim(self) -> None:
        """Called between batches: drop caches."""

    def close(self) -> None:
        """Called at the end of a batch, or after an error: close what it has opened."""

    def _write(self) -> None:
        """Write everything that came so far."""
        self._cut()

    def _cut(self) -> None:
        values = self._uniform(_joined(self._values))
        timestamps = np.concatenate(self._timestamps) if self._timestamps else NO_TIMESTAMPS
        marks = self._marks.build()
        self._values, self._timestamps, self._count = [], [], 0
        self._marks = MarksBuilder()
        if len(timestamps):
            self._last_timestamp = max(self._last_timestamp, int(timestamps.max()))
        if len(values) or len(marks):
            self._partition(Records(values, timestamps), marks)

    def _uniform(self, values: Sequence[Any]) -> Sequence[Any]:
        """``values`` as columns, if functions are traced and all elements are of one shape."""
        if isinstance(values, RowColumns) or not self._traces:
            return values
        columns = uniform_columns(values)
        return values if columns is None else columns

    @abstractmethod
    def _partition(self, records: Records, marks: Marks) -> None:
        """Distribute a run of elements and marks over key groups."""

    def _add(self, key_group: int, frame: Frame) -> None:
        self._add_encoded(key_group, encode_frame(frame, self._operator))

    def _add_encoded(self, key_group: int, data: bytes) -> None:
        gate, part, sequence = self._gate, self._slice, self._sequence
        place = gate.level, gate.target, key_group, gate.index, part.number, sequence
        self._rows.append(FrameRow(*place, clock=part.clock, frame=data))
        self._sequence += 1


class KeyedRecordWriter(RecordWriter):
    """Sends each record to the key group of its key, and every watermark and status to all
    ``keyGroups``.

    ``fold`` folds the elements before the shuffle, for a window operator that would fold them with
    the same result. ``columns`` is the key selector over columns; None if functions are not traced.
    ``rules``: which keys are accepted.
    """

    def __init__(
        self,
        gate: Gate,
        operator: str,
        keySelector: Callable[[Any], Any],
        keyGroups: Sequence[int],
        fold: PaneFold | None = None,
        columns: ColumnFunction | None = None,
        rules: KeyRules = KEY_RULES,
    ) -> None:
        super().__init__(gate, operator, traces=columns is not None)
        self._keyGroups = keyGroups
        self._fold = fold
        self._folded: list[Records] = []
        """Folded runs, which are combined and written at the end of the slice."""
        self._watermark: int | None = None
        """The last watermark of the slice, in ms."""
        self._marks_among: list[Marks] = []
        self._keys = KeyColumn(keySelector, f"keyBy after {operator}", columns, rules)

    def begin(self, part: Slice) -> None:
        super().begin(part)
        self._watermark = None

    def trim(self) -> None:
        self._keys.trim()

    def _write(self) -> None:
        super()._write()
        self._write_folded()

    def _partition(self, records: Records, marks: Marks) -> None:
        before = self._watermark
        if len(marks):
            self._watermark = int(marks.watermarks[-1]) if marks.onlyWatermarks else None
        if self._fold and not self._follow(marks, records):
            last = self._fold.lastMarks(records.values, before, marks)
            if len(last) * _LEAST_FOLDED <= len(records):
                for part in Frame(records, marks).endingWith(last):
                    self._partition_run(part.records, part.marks.behind(len(part.records)))
                return
        self._partition_run(records, marks)

    def _partition_run(self, records: Records, marks: Marks) -> None:
        """Fold the run if all marks that count come after it, and distribute it."""
        if not self._folded or len(records):
            keys, hashes = self._keys.of(records.values)
            keyed = Records(records.values, records.timestamps, keys, hashes)
            folded = (
                self._fold.partials(keyed)
                if self._fold and len(keyed) and self._follow(marks, keyed)
                else None
            )
            if folded is None:
                self._write_folded()
                self._distribute(self._encoded(keyed), marks)
                return
            self._folded.append(folded)
        self._marks_among.append(marks)
        counts_here = len(marks) and not self._gate.folded
        if counts_here or sum(map(len, self._folded)) >= RECORDS_A_FRAME:
            self._write_folded()

    def _follow(self, marks: Marks, records: Records) -> bool:
        """Whether all marks that count come after all records."""
        return self._gate.folded or not len(marks) or int(marks.positions[0]) >= len(records)

    def _write_folded(self) -> None:
        runs, marks = self._folded, self._marks_among
        if not runs:
            return
        self._folded, self._marks_among = [], []
        if len(runs) > 1:
            assert self._fold is not None
            joined = self._fold.joined(runs)
            runs = runs if joined is None else [joined]
        *before, last = runs
        for run in before:
            self._distribute(run, NO_MARKS)
        # All marks come after the folded elements: a folded watermark counts at the end of the
        # batch
        self._distribute(last, Marks.joined(marks, len(last)))

    def _distribute(self, records: Records, marks: Marks) -> None:
        if len(self._keyGroups) == 1:
            self._add(self._keyGroups[0], Frame(records, marks))
        else:
            self._spread(records, marks)

    def _encoded(self, records: Records) -> Records:
        """``records`` with the key column dictionary-encoded, if that takes less space."""
        keys, values = records.keys, records.values
        if isinstance(keys, ColumnKeys) and isinstance(values, RowColumns):
            distinct = len(values.encoded(keys.column).dictionary)
            # The frame of each key group has all distinct keys, so encoding pays only if they are
            # few
            if distinct * len(self._keyGroups) * 2 <= len(values):
                values = values.withEncoded(keys.column)
                return Records(values, records.timestamps, keys.over(values), records.hashes)
        return records

    def _spread(self, records: Records, marks: Marks) -> None:
        count, hashes = len(self._keyGroups), records.hashes
        assert hashes is not None
        groups = (hashes.astype(np.uint64) * np.uint64(count)) >> np.uint64(32)
        groups = groups.astype(np.uint16)  # NumPy sorts these in a tenth of the time
        order = np.argsort(groups, kind="stable")
        bounds = np.searchsorted(groups[order], np.arange(count + 1)).tolist()
        ordered = records_at(records, order)
        if ordered.keys is None:
            ordered.hashes = None
        only_marks: bytes | None = None
        for group, (start, end) in zip(self._keyGroups, pairwise(bounds)):
            if start < end:
                # A mark follows the records of this group that preceded it in the whole run
                positions = np.searchsorted(order[start:end], marks.positions)
                self._add(group, Frame(ordered.slice(start, end), marks.at(positions)))
            elif len(marks):
                if only_marks is None:
                    none = Frame(ordered.slice(0, 0), marks.behind(0))
                    only_marks = encode_frame(none, self._operator)
                self._add_encoded(group, only_marks)


class BroadcastRecordWriter(RecordWriter):
    """Sends everything to every key group of the target."""

    def __init__(self, gate: Gate, operator: str, keyGroups: Sequence[int]) -> None:
        super().__init__(gate, operator)
        self._keyGroups = keyGroups

    def _partition(self, records: Records, marks: Marks) -> None:
        data = encode_frame(Frame(records, marks), self._operator)
        for group in self._keyGroups:
            self._add_encoded(group, data)


class SingleRecordWriter(RecordWriter):
    """Sends everything to the key group of an operator that runs in a single one."""

    def __init__(self, gate: Gate, operator: str, keyGroup: int, traces: bool) -> None:
        super().__init__(gate, operator, traces)
        self._keyGroup = keyGroup

    def processSplit(self, mark: SplitMark) -> None:
        self._marks.addSplit(self._count, mark)

    def _partition(self, records: Records, marks: Marks) -> None:
        _encode_texts(records.values)
        self._add(self._keyGroup, Frame(records, marks))


class SplitRecordWriter(KeyedRecordWriter):
    """Sends each record to the key group of its split, which ``splitOf`` returns, and every
    watermark and status to all ``keyGroups``. With ``ticks`` each key group gets a tick at the end
    of a slice, as the state of its splits may change without an element."""

    def __init__(
        self,
        gate: Gate,
        operator: str,
        splitOf: Callable[[Any], Any],
        keyGroups: Sequence[int],
        columns: ColumnFunction | None,
        ticks: bool,
        rules: KeyRules,
    ) -> None:
        super().__init__(gate, operator, splitOf, keyGroups, columns=columns)
        self._keys = KeyColumn(splitOf, f"splits after {operator}", columns, rules)
        self._ticked = keyGroups if ticks else ()

    def _partition(self, records: Records, marks: Marks) -> None:
        try:
            _, hashes = self._keys.of(records.values)
        except UnstableKeyError as error:
            raise unstable_split(self._operator, error.key) from None
        _encode_texts(records.values)
        self._spread(Records(records.values, records.timestamps, None, hashes), marks)


class MarkedSplitWriter(RecordWriter):
    """A ``SplitRecordWriter`` for a source that marks its splits."""

    def __init__(
        self, gate: Gate, operator: str, keyGroups: Sequence[int], ticks: bool, traces: bool
    ) -> None:
        super().__init__(gate, operator, traces)
        self._ticked = keyGroups if ticks else ()
        self._parts = [SingleRecordWriter(gate, operator, group, traces) for group in keyGroups]
        self._current = self._parts[0]

    def begin(self, part: Slice) -> None:
        super().begin(part)
        for writer in self._parts:
            writer.begin(part)

    def processSplit(self, mark: SplitMark) -> None:
        self._marks.addSplit(self._count, mark)

    def _partition(self, records: Records, marks: Marks) -> None:
        for segment in Frame(records, marks).segments():
            if isinstance(segment, Records):
                self._current.processRecords(segment)
            elif isinstance(segment, SplitMark):
                number = split_group(self._operator, segment.split, len(self._parts))
                self._current = self._parts[number]
                self._current.processSplit(segment)
            else:
                for writer in self._parts:
                    if isinstance(segment, WatermarkStatus):
                        writer.processWatermarkStatus(segment)
                    else:
                        writer.processWatermarks(segment)
        for writer in self._parts:
            self._rows += writer.finish()


class SinkRecordWriter(RecordWriter):
    """Sends records to a sink, without watermarks and statuses. ``columns`` converts the records if
    the sink writes columns; ``buckets`` adds their buckets if it writes into buckets."""

    def __init__(
        self,
        gate: Gate,
        operator: str,
        columns: ElementColumns | None,
        buckets: Buckets | None = None,
    ) -> None:
        super().__init__(gate, operator)
        self._columns = columns
        self._buckets = buckets

    def _partition(self, records: Records, marks: Marks) -> None:
        if not len(records):
            return
        columns = None if self._columns is None else self._columns.of(records.values)
        values = records.values if columns is None else columns
        if self._buckets is not None:
            values = self._buckets.added(records, columns)
        self._send(values, records.timestamps)

    def _send(self, values: Sequence[Any], timestamps: Timestamps) -> None:
        self._add(0, Frame(Records(values, timestamps), NO_MARKS))


class PartFileWriter(SinkRecordWriter):
    """Writes records to a file of the sink, and sends the file's name to the sink."""

    def __init__(
        self, gate: Gate, operator: str, columns: ElementColumns | None, files: PartFiles
    ) -> None:
        super().__init__(gate, operator, columns)
        self._files = files
        self._part: PartFile | None = None

    def close(self) -> None:
        part, self._part = self._part, None
        if part is not None:
            part.close()

    def _send(self, values: Sequence[Any], timestamps: Timestamps) -> None:
        if self._part is None:
            self._part = self._files.begun()
            # One file for all key groups: a task that runs again must not leave a mixture of files
            self._add_encoded(0, self._part.name.encode())
        self._part.append(values)


def _encode_texts(values: Sequence[Any]) -> None:
    """Encode texts in all tasks that read a source, rather than in the fewer after them."""
    if isinstance(values, RowColumns):
        values.encodeTexts()


def _joined(runs: list[Sequence[Any]]) -> Sequence[Any]:
    if len(runs) == 1:
        return runs[0]
    columns = [run for run in runs if isinstance(run, RowColumns)]
    if len(columns) == len(runs) and len({run.schema for run in columns}) == 1:
        return joined(columns)
    return list(chain.from_iterable(runs))
