"""A single window operator, driven with runs of records, on any state backend."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from flinkish import OutputTag
from flinkish.api.functions.runtime_context import TaskInfo
from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.api.time.elements import WatermarkStatus
from flinkish.runtime.columns.aligned_windows import AlignedWindowOperator
from flinkish.runtime.columns.panes import PaneFold
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.output import Input, Output
from flinkish.runtime.records.keys import ColumnKeys, ComputedKeys, KeyHashes
from flinkish.runtime.records.records import Records, timestamps_of
from flinkish.runtime.records.rows import RowColumns, encoded, encoded_tuples
from flinkish.runtime.state.heap import HeapKeyedStateBackend
from flinkish.runtime.state.page_store import DictPageStore
from flinkish.runtime.state.paged_backend import PagedKeyedStateBackend
from flinkish.runtime.time.clock import ProcessingTimeService
from flinkish.runtime.windowing.window_operator import WindowOperator

LATE: OutputTag[Any] = OutputTag("late")
SIDE: OutputTag[Any] = OutputTag("side")

Element = tuple[Any, Any, int]
"""(key, value, timestamp)."""


_PART = "a part"
"""The second part of keys that are tuples."""


def _without_part(value: Any) -> Any:
    """``value`` with texts instead of the keys that are tuples."""
    if type(value) is tuple and len(value) == 2 and type(value[1]) is str and value[1] == _PART:
        return value[0]
    return type(value)(map(_without_part, value)) if type(value) in (tuple, list) else value


class Recorder(Input):
    """Keeps what comes, as (label, value, timestamp)."""

    def __init__(self, label: str, kept: list[tuple[Any, ...]]) -> None:
        self._label = label
        self._kept = kept

    def processRecords(self, records: Records) -> None:
        for value, timestamp in zip(records.values, records.timestamps.tolist()):
            self._kept.append((self._label, _without_part(value), timestamp))

    def processWatermark(self, timestamp: int) -> None:
        if self._label == "main":
            self._kept.append(("watermark", timestamp))

    def processWatermarkStatus(self, status: WatermarkStatus) -> None:
        pass


class WindowOperatorDriver:
    """Runs a description on an operator of that kind. ``columns``: the values, (key, number) each,
    come as columns with the key in one of them, or as a part of
    computed tuples where state is ``paged``; ``folds``: folded as before a shuffle, where that can be.
    """

    def __init__(
        self,
        kind: type[AlignedWindowOperator | WindowOperator],
        description: WindowOperatorDescription,
        paged: bool = False,
        columns: bool = False,
        folds: bool = False,
    ) -> None:
        self._kind = kind
        self._description = description
        self._paged = paged
        self._columns = columns
        self._fold = PaneFold.before(description) if folds else None
        self.numberType = pa.int64()
        """The type of the numbers, as columns."""
        self._state: Any = DictPageStore() if paged else {}
        self._directory: Any = None
        self._clock = ProcessingTimeService()
        self.output: list[tuple[Any, ...]] = []
        self.rowsFolded = self.rowsJoined = 0
        """The folded rows: of the two parts, and of both as one."""
        self._start(None)

    def process(self, elements: Sequence[Element]) -> None:
        """A run of records comes in."""
        texts = pa.array([key for key, _, _ in elements], pa.string())
        keys: Sequence[Any] = [(key, _PART) if self._paged else key for key, _, _ in elements]
        values: Sequence[Any] = [value for _, value, _ in elements]
        timestamps = timestamps_of([timestamp for _, _, timestamp in elements])
        hashes = KeyHashes().column(keys)
        if self._columns:
            numbers = pa.array([number for _, number in values], self.numberType)
            values = RowColumns(pa.RecordBatch.from_pydict({"key": texts, "number": numbers}))
            parts = list(map(encoded, (texts, pa.array([_PART] * len(elements)))))
            keys = ComputedKeys(encoded_tuples(parts)) if self._paged else ColumnKeys(values, 0)
        records = Records(values, timestamps, keys, hashes)
        if self._fold is not None and elements:
            records = self._folded(records) or records
        self.operator.processRecords(records)
        self.operator.output.flush()

    def _folded(self, records: Records) -> Records | None:
        """``records`` folded in two parts, and these as one."""
        assert self._fold is not None
        half = len(records) // 2
        halves = records.slice(0, half), records.slice(half, len(records))
        parts = [self._fold.partials(part) for part in halves if len(part)]
        folded = [part for part in parts if part is not None]
        if not folded or len(folded) < len(parts):
            return None
        joined = self._fold.joined(folded)
        if joined is not None:
            self.rowsFolded += sum(map(len, folded))
            self.rowsJoined += len(joined)
        return joined

    def watermark(self, timestamp: int) -> None:
        """A watermark comes in."""
        self.operator.processWatermark(timestamp)

    def restart(
        self,
        description: WindowOperatorDescription | None = None,
        kind: type[WindowOperator] | None = None,
    ) -> None:
        """Go on from a snapshot, in an operator made anew, of another ``description`` or ``kind`` if there is one."""
        self._description = description or self._description
        self._kind = kind or self._kind
        self.operator.onPeriodicEmit()
        snapshot = pickle.loads(pickle.dumps(self.operator.snapshot()))
        if self._paged:
            self._directory = self._backend.flush()
        else:
            self._state = pickle.loads(pickle.dumps(self._backend.contents))
        self._start(snapshot)

    def _start(self, snapshot: Any) -> None:
        output = Output()
        for label, side in (("main", None), ("late", LATE.getId()), ("side", SIDE.getId())):
            output.connect(Recorder(label, self.output), side)
        self._backend: Any = (
            PagedKeyedStateBackend("window") if self._paged else HeapKeyedStateBackend(self._state)
        )
        context = OperatorContext(
            "window", "Window", self._backend, self._clock, output, TaskInfo("Window")
        )
        self.operator = self._kind(context, self._description)
        self.operator.open()
        if self._paged:
            self._backend.load(self._state, self._directory)
        self.operator.restore(snapshot)

    def advanceClock(self, now: int) -> None:
        """The processing-time clock reaches ``now``."""
        self._clock.advanceTo(now)
        self.operator.advanceProcessingTime(now)

    def numEntries(self) -> int:
        """Entries of keyed state."""
        return self._backend.numEntries()
