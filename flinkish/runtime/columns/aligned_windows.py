"""``AlignedWindowOperator``: tumbling and sliding event-time windows, a whole run at a time.

Windows are *aligned* when all keys share them: [12:00, 12:05) is the same window for every key. Then
numpy can compute the windows of a run of elements at once, and one lookup of due windows serves all
keys, where ``WindowOperator`` does both for each element and each key.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice, repeat
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.errors import ElementsNeededError, MissingTimestampError, shown
from flinkish.api.functions.adapt import reduce_call
from flinkish.api.functions.functions import AggregateFunction
from flinkish.api.functions.tagged import JoinCall
from flinkish.api.plan.windows import WindowOperatorDescription
from flinkish.api.time.durations import to_long
from flinkish.api.time.elements import earliest
from flinkish.api.windowing.windows import TimeWindow
from flinkish.runtime.columns.element_runs import (
    are_elements,
    are_tagged,
    elements_of,
    key_column,
    singly,
)
from flinkish.runtime.columns.panes import (
    AlignedWindows,
    PaneFold,
    Positions,
    accumulators_of,
)
from flinkish.runtime.columns.tracing.column_fold import ColumnFold
from flinkish.runtime.columns.tracing.column_function import may_be_traced
from flinkish.runtime.columns.tracing.pair_function import PairMap
from flinkish.runtime.columns.window_columns import WindowColumns
from flinkish.runtime.columns.window_functions import WindowFunctionPath
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext
from flinkish.runtime.operators.keyed import KeyedOperator
from flinkish.runtime.records.copies import all_immutable, copied, copied_values
from flinkish.runtime.records.keys import ColumnKeys, KeyHashes, KeyRuns, key_runs, taken
from flinkish.runtime.records.records import (
    NO_TIMESTAMP,
    Hashes,
    Records,
    Timestamps,
    no_timestamps,
)
from flinkish.runtime.records.rows import RowColumns, decoded, python_values
from flinkish.runtime.state.accumulation import check_no_accumulator, check_no_reduction
from flinkish.runtime.state.backend import Block
from flinkish.runtime.state.keyed_states import KeyedStates
from flinkish.runtime.windowing.window_contents import TABLE, part_join
from flinkish.runtime.windowing.window_contexts import ClockContext
from flinkish.runtime.windowing.window_functions import WindowFunctionRunner
from flinkish.runtime.windowing.window_lifetime import WindowLifetime


def aligned_contents(description: WindowOperatorDescription) -> AlignedContents:
    """The contents for the aggregation of ``description``."""
    aggregation = description.aggregation
    if aggregation is None:
        return ListedElements(copies=description.allowedLateness > 0)
    if isinstance(aggregation, AggregateFunction):
        return Accumulators(aggregation)
    return Reductions(reduce_call(aggregation))


class AlignedContents(ABC):
    """How elements are added to the blocks of a window, and read from them when it fires.

    A block maps keys to contents; as in Flink, None means that there are none.
    """

    @abstractmethod
    def add(self, blocks: Iterable[Block], keys: Iterable[Any], values: Iterable[Any]) -> None:
        """Add each value to the contents of its key in its block."""

    @abstractmethod
    def addRuns(
        self,
        blocks: Iterable[Block],
        keys: Iterable[Any],
        counts: Iterable[int],
        values: Iterator[Any],
    ) -> None:
        """For each key, add the next ``count`` of ``values`` to its contents in its block."""

    @abstractmethod
    def elements(self, contents: Any) -> Sequence[Any] | None:
        """The values of one key's contents for the window function, None if there are none."""


class Accumulators(AlignedContents):
    """One accumulator a key."""

    def __init__(self, function: AggregateFunction[Any, Any, Any]) -> None:
        self._function = function
        self._create = function.createAccumulator
        self._add = function.add
        self._result = function.getResult

    def add(self, blocks: Iterable[Block], keys: Iterable[Any], values: Iterable[Any]) -> None:
        add, create = self._add, self._create
        for block, key, value in zip(blocks, keys, values):
            kept = block.get(key)
            kept = add(value, create() if kept is None else kept)
            if kept is None:
                check_no_accumulator(self._function, "add")
            block[key] = kept

    def addRuns(
        self,
        blocks: Iterable[Block],
        keys: Iterable[Any],
        counts: Iterable[int],
        values: Iterator[Any],
    ) -> None:
        add, create = self._add, self._create
        for block, key, count in zip(blocks, keys, counts):
            kept = block.get(key)
            if kept is None:
                kept = create()
            for value in islice(values, count):
                kept = add(value, kept)
                if kept is None:
                    check_no_accumulator(self._function, "add")
            block[key] = kept

    def elements(self, contents: Any) -> Sequence[Any] | None:
        result = None if contents is None else self._result(contents)
        return None if result is None else (result,)


class Reductions(AlignedContents):
    """One reduced value a key."""

    def __init__(self, reduce: Callable[[Any, Any], Any]) -> None:
        self._reduce = reduce

    def add(self, blocks: Iterable[Block], keys: Iterable[Any], values: Iterable[Any]) -> None:
        reduce = self._reduce
        for block, key, value in zip(blocks, keys, values):
            so_far = block.get(key)
            kept = value if so_far is None else reduce(so_far, value)
            block[key] = kept
            if kept is None:
                check_no_reduction(so_far, value)

    def addRuns(
        self,
        blocks: Iterable[Block],
        keys: Iterable[Any],
        counts: Iterable[int],
        values: Iterator[Any],
    ) -> None:
        reduce = self._reduce
        for block, key, count in zip(blocks, keys, counts):
            kept = block.get(key)
            for value in islice(values, count):
                if kept is None:
                    kept = value
                else:
                    so_far, kept = kept, reduce(kept, value)
                    if kept is None:
                        check_no_reduction(so_far, value)
            block[key] = kept

    def elements(self, contents: Any) -> Sequence[Any] | None:
        return None if contents is None else (contents,)


class ListedElements(AlignedContents):
    """All elements of a key; ``copies`` says that they are needed again after the window fired."""

    def __init__(self, copies: bool) -> None:
        self._copies = copies

    def add(self, blocks: Iterable[Block], keys: Iterable[Any], values: Iterable[Any]) -> None:
        for block, key, value in zip(blocks, keys, values):
            kept = block.get(key)
            if kept is None:
                block[key] = [value]
            else:
                kept.append(value)

    def addRuns(
        self,
        blocks: Iterable[Block],
        keys: Iterable[Any],
        counts: Iterable[int],
        values: Iterator[Any],
    ) -> None:
        for block, key, count in zip(blocks, keys, counts):
            kept = block.get(key)
            if kept is None:
                kept = block[key] = []
            kept.extend(islice(values, count))

    def elements(self, contents: Any) -> Sequence[Any] | None:
        listed: Sequence[Any] = contents
        return list(listed) if self._copies and type(listed) is list else listed


class AlignedWindowOperator(KeyedOperator, OneInputOperator):
    """A ``WindowOperator`` for aligned windows under ``EventTimeTrigger``: the same results, but a
    run of elements is added to one window after another.

    There are no timers: which windows are due follows from the set of open windows, which all keys
    share. ``numEventTimeTimers`` reports the number that ``WindowOperator`` would have. Only an
    element for a window that has fired already, within the allowed lateness, is handled by
    itself, as it fires the window again.

    A window has blocks of its own in state, read when it fires and removed when it expires.
    """

    def __init__(self, context: OperatorContext, description: WindowOperatorDescription) -> None:
        super().__init__(context)
        self._description = description
        self._assigner = description.assigner
        self._assigner_context = ClockContext(self.clock)
        self._windows = AlignedWindows.of(description)
        self._lateness = description.allowedLateness
        self._lifetime = WindowLifetime(description.allowedLateness)
        self._late_tag = description.lateDataOutputTag
        self._contents = aligned_contents(description)
        aggregation = description.aggregation
        self._fold = None if aggregation is None else ColumnFold(aggregation)
        self._shares = aggregation is not None and self._windows.overlap
        """Whether several windows aggregate an element, and the function may change its arguments."""
        self._copies = False
        self._panes = None if self._fold is None else PaneFold(self._windows, self._fold)
        self._pairs = self._pair_map(description.call)

    def open(self) -> None:
        self._table = self.backend.windowTable(TABLE)
        self._hashes = KeyHashes()
        self._columns = WindowColumns(self.backend.columnTable(TABLE), self._fold)
        self._window_states = KeyedStates(self.backend, self.clock, sweeps=True)
        self._function = WindowFunctionRunner(self, self._description, self._window_states)
        self._function_path = WindowFunctionPath(self, self._description)

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        super().restore(snapshot)
        self._columns.forget()
        self._open_windows: set[TimeWindow] = {*self._table.windows(), *self._columns.windows()}
        self._next_due = self._earliest_due()
        self._remove_expired()

    # ------------------------------------------------------------------ elements

    def processRecords(self, records: Records) -> None:
        if records.counts is not None:
            self.metrics.numRecordsIn += int(records.counts.sum())
            self.metrics.numLateRecordsDropped += self._process_folded(records)
            return
        self.metrics.numRecordsIn += len(records)
        timestamps = records.timestamps
        if len(timestamps) == 0:
            return
        lowest = int(timestamps.min())
        if lowest == NO_TIMESTAMP:
            raise MissingTimestampError(self.name, records.values[int(timestamps.argmin())])
        if not self._windows.fit(timestamps):
            self._process_singly(_of_rows(records), np.arange(len(records)), added=False)
            return
        behind = self._behind(timestamps, lowest)
        if self._process_columns(records):
            if behind is not None:
                self._process_singly(records, np.flatnonzero(behind), added=True)
            return
        self._copies = self._shares and not all_immutable(records.values)
        runs = key_runs(records) if behind is None else None
        if runs is not None:
            self._process_runs(runs)
            return
        records = _of_rows(records)
        for window, positions in self._windows.split(timestamps):
            if window.maxTimestamp() > self.currentWatermark:
                self._add(window, records, positions)
        if behind is not None:
            self._process_singly(records, np.flatnonzero(behind), added=True)

    def _process_columns(self, records: Records) -> bool:
        """Add the elements of windows that have not fired yet as columns. False if they cannot be vectorised."""
        values, keys = records.values, records.keys
        if not isinstance(values, RowColumns) or not isinstance(keys, ColumnKeys):
            return False
        if self._panes is not None:
            if not (self.tracesFunctions and self._panes.fold.follows(values)):
                return False
            folded = self._panes.of(records)
            if folded is not None and self._all_take(folded):
                self._process_folded(folded)
                return True
        rows: Records | None = None
        for window, positions in self._windows.split(records.timestamps):
            if window.maxTimestamp() <= self.currentWatermark:
                continue
            if self._table.size(window):
                rows = rows or _of_rows(records)
                self._add(window, rows, positions)
                continue
            members = values if positions is None else values.take(positions)
            self._columns.add(window, members, keys.over(members))
            self._note(window)
        return True

    def _all_take(self, folded: Records) -> bool:
        """Whether every window that the panes are in keeps columns to which they can be added."""
        assert isinstance(folded.values, RowColumns)
        return all(
            window.maxTimestamp() <= self.currentWatermark or self._takes(window, folded.values)
            for window, _ in self._windows.split(folded.timestamps)
        )

    def _takes(self, window: TimeWindow, folded: RowColumns) -> bool:
        """Whether ``window``, with all that came before, keeps columns to which a folded run can be added."""
        self._settle(window)
        if self._table.size(window):
            return False
        return self._columns.takes(window, decoded(folded.batch).schema)

    def _process_folded(self, records: Records) -> int:
        """Add accumulators of panes to the windows that have not fired yet. Returns how many elements
        were in windows that have all fired."""
        values, counts, panes = records.values, records.counts, records.timestamps
        assert isinstance(values, RowColumns)
        assert counts is not None
        for window, positions in self._windows.split(panes):
            if window.maxTimestamp() <= self.currentWatermark:
                continue
            folded = values if positions is None else _at(values, positions)
            of_panes = panes if positions is None else panes[positions]
            one_pane = int(of_panes.min()) == int(of_panes.max())
            if not (
                self._takes(window, folded) and self._columns.addFolded(window, folded, one_pane)
            ):
                self._keep_by_key(window)
                numbers = counts if positions is None else counts[positions]
                self._join(window, folded.batch, numbers.tolist())
            self._note(window)
        missed = panes + (self._windows.size - 1) <= self.currentWatermark
        return int(counts[missed].sum())

    def _join(
        self, window: TimeWindow, folded: pa.RecordBatch, counts: Sequence[int] | None = None
    ) -> None:
        """Add accumulators to a window that is kept key by key. ``counts``: of how many elements each was folded before the
        shuffle; None: they are those of the window itself, whose elements nobody has.

        This is the one place where state kept as objects meets what columns made. They are joined where that is proved to
        be exact; else the elements have to come.
        """
        assert self._fold is not None
        schema = accumulators_of(folded).schema
        entries = list(self._columns.accumulators(folded))
        keys = [key for key, _ in entries]
        blocks, index = self._table.blocks(window, keys, self._hashes.column(keys))
        for number, (block, (key, accumulator)) in enumerate(zip(_each(blocks, index), entries)):
            kept = block.get(key)
            if kept is not None:
                joined = self._fold.joined(schema, kept, accumulator)
                if joined is None and counts is None:
                    joined = part_join(self._description.aggregation)(kept, accumulator)
                if joined is None and counts is not None and counts[number] == 1:
                    with self.userCode(accumulator):
                        joined = self._fold.reduced(kept, accumulator)
                if joined is None:
                    raise ElementsNeededError(
                        f"{self.name}: the window {window} keeps {shown(kept)} for the key {shown(key)}, to which"
                        " elements that were folded before the shuffle cannot be added."
                    )
                accumulator = joined
            block[key] = accumulator

    def _settle(self, window: TimeWindow) -> bool:
        """Fold what came to a window of columns; False if it is kept key by key now, or was before."""
        if window not in self._columns:
            return False
        if self._columns.settle(window):
            return True
        self._keep_by_key(window)
        return False

    def _keep_by_key(self, window: TimeWindow) -> None:
        """Keep the contents of a window of columns key by key from now on."""
        runs = self._columns.taken(window)
        if runs and are_tagged(runs[0]):
            keys, elements = singly(runs)
            hashes = self._hashes.column(keys)
            timestamps = no_timestamps(len(elements))
            self._add(window, Records(elements, timestamps, keys, hashes), None)
            return
        for run in runs:
            if are_elements(run):
                values = elements_of(run)
                keys = python_values(run.column(key_column(run)))
                hashes = self._hashes.column(keys)
                self._add(window, Records(values, no_timestamps(len(values)), keys, hashes), None)
            else:
                self._join(window, run)

    def snapshot(self) -> dict[str, Any]:
        assert not self._columns.unsettled(), "onPeriodicEmit comes first"
        return super().snapshot()

    def onPeriodicEmit(self) -> None:
        for window in self._columns.unsettled():
            self._settle(window)

    def _process_runs(self, runs: KeyRuns) -> None:
        """Add records that are ordered by key, and not late, to their windows key by key."""
        values: Sequence[Any] = runs.values
        if self._windows.overlap:
            values = list(values)
        for window, positions in self._windows.split(runs.timestamps):
            keys, counts, hashes = runs.of(positions)
            members = values if positions is None else taken(values, positions)
            if window in self._columns:
                self._keep_by_key(window)
            if self._copies:
                members = copied_values(members)
            blocks, index = self._table.blocks(window, keys, hashes)
            remaining = members.passing() if isinstance(members, RowColumns) else iter(members)
            with self._naming(members, remaining):
                self._contents.addRuns(_each(blocks, index), keys, counts.tolist(), remaining)
            self._note(window)

    def _behind(self, timestamps: Timestamps, lowest: int) -> NDArray[np.bool_] | None:
        """Which elements have a window that has fired already, or are late; None if none has."""
        watermark = self.currentWatermark
        gaps = self._windows.gaps(timestamps)
        if gaps is None and lowest > watermark:
            return None
        behind = self._windows.firstEnds(timestamps) - 1 <= watermark
        if gaps is not None:
            # Java's sum wraps around, and so does numpy's: with a lateness near the end of its
            # range an element of no window counts as late
            late = timestamps + np.int64(self._lateness) <= watermark
            behind = np.where(gaps, late, behind)
        return behind if behind.any() else None

    def _add(self, window: TimeWindow, records: Records, positions: Positions | None) -> None:
        """Add the records at ``positions``, or all, to a window that has not fired yet."""
        keys, values, hashes = records.keys, records.values, records.hashes
        assert keys is not None
        assert hashes is not None
        if window in self._columns:
            self._keep_by_key(window)
        if positions is not None:
            keys, values, hashes = (
                taken(keys, positions),
                taken(values, positions),
                hashes[positions],
            )
        if self._copies:
            values = copied_values(values)
        blocks, index = self._table.blocks(window, keys, hashes)
        remaining = iter(values)
        with self._naming(values, remaining):
            self._contents.add(_each(blocks, index), keys, remaining)
        self._note(window)

    def _naming(
        self, values: Sequence[Any], remaining: Iterator[Any]
    ) -> AbstractContextManager[None]:
        """Names the element in an error of a user function: the number of ``values`` that are left
        tells which one it was."""
        return self.userCodeOf(lambda: values[len(values) - sum(1 for _ in remaining) - 1])

    def _process_singly(self, records: Records, positions: Positions, added: bool) -> None:
        """Add elements one by one; ``added`` says that windows yet to fire have them already."""
        values, keys, hashes = records.values, records.keys, records.hashes
        assert keys is not None
        assert hashes is not None
        lifetime, watermark = self._lifetime, self.currentWatermark
        for i in positions.tolist():
            value, timestamp = values[i], int(records.timestamps[i])
            with self.userCode(value):
                skipped = True
                for window in self._assigner.assignWindows(
                    value, timestamp, self._assigner_context
                ):
                    if lifetime.isLate(window, watermark):
                        continue
                    skipped = False
                    if window.maxTimestamp() <= watermark:
                        self._add_and_fire(window, keys[i], value, hashes[i : i + 1])
                    elif not added:
                        self._add_singly(window, keys[i], value, hashes[i : i + 1])
                if skipped and to_long(timestamp + self._lateness) <= watermark:
                    self._drop(value, timestamp)
        self.output.flush()

    def _add_singly(self, window: TimeWindow, key: Any, value: Any, key_hash: Hashes) -> Any:
        if window in self._columns:
            self._keep_by_key(window)
        blocks, index = self._table.blocks(window, (key,), key_hash)
        block = blocks[index[0]]
        self._contents.add((block,), (key,), (copied(value) if self._shares else value,))
        self._note(window)
        return block[key]

    def _add_and_fire(self, window: TimeWindow, key: Any, value: Any, key_hash: Hashes) -> None:
        elements = self._contents.elements(self._add_singly(window, key, value, key_hash))
        if elements is not None:
            self.backend.currentKey = key
            self._window_states.namespace = window
            self._function.process(key, window, elements)

    def _drop(self, value: Any, timestamp: int) -> None:
        if self._late_tag is not None:
            self.output.collectSide(self._late_tag.getId(), value, timestamp)
        else:
            self.metrics.numLateRecordsDropped += 1

    # ------------------------------------------------------------------ time

    def processWatermark(self, timestamp: int) -> None:
        before, self.currentWatermark = self.currentWatermark, timestamp
        if self._next_due is not None and self._next_due <= timestamp:
            self._fire_due(before, timestamp)
            self._next_due = self._earliest_due()
        self.output.emitWatermark(timestamp)

    def advanceProcessingTime(self, now: int) -> None:
        super().advanceProcessingTime(now)
        self._window_states.removeExpired(now)

    def _fire_due(self, before: int, now: int) -> None:
        expiry_of = self._lifetime.expiry
        due = []
        for window in self._open_windows:
            end, expiry = window.maxTimestamp(), expiry_of(window)
            if before < end <= now:
                due.append((end, window))
            if expiry is not None and end != expiry <= now:
                due.append((expiry, window))
        for time, window in sorted(due):
            last = time == expiry_of(window)
            if time == window.maxTimestamp():
                self._fire_window(window, last)
            elif self._function.clears:
                self._clear(window)
            if last:
                self._table.remove(window)
                self._columns.remove(window)
                self._open_windows.remove(window)

    def _remove_expired(self) -> None:
        """Remove the windows that have fired and were kept for a larger allowed lateness than the present one."""
        now, expiry_of = self.currentWatermark, self._lifetime.expiry
        expiries = ((window, expiry_of(window)) for window in self._open_windows)
        for window in [w for w, expiry in expiries if expiry is not None and expiry <= now]:
            if self._function.clears:
                self._clear(window)
            self._table.remove(window)
            self._columns.remove(window)
            self._open_windows.remove(window)

    def _fire_window(self, window: TimeWindow, last: bool) -> None:
        if self._pairs is not None and self._fire_pairs(window, self._pairs):
            return
        clears = last and self._function.clears
        if not clears and self._fire_columns(window):
            return
        backend, function, contents_of = self.backend, self._function, self._contents.elements
        self._window_states.namespace = window
        items = self._items(window)
        # Elements of columns are made anew for each window that fires
        own = window in self._columns or (last and not self._windows.overlap)
        key = None
        with self.userCodeOf(lambda: (key, window)):
            for key, contents in items:
                backend.currentKey = key
                elements = contents_of(contents)
                if elements is not None:
                    function.process(key, window, elements, own)
                if clears:
                    function.clear(window)

    def _fire_columns(self, window: TimeWindow) -> bool:
        """Emit the results of a window as columns. False if its contents or results are none."""
        if not (self.tracesFunctions and self._settle(window)):
            return False
        folded = self._columns.folded(window)
        results = None if folded is None else self._columns.results(folded)
        if folded is None or results is None:
            return False
        starts, ends = (np.full(len(results), time, dtype=np.int64) for time in window)
        emitted = self._function_path.process(results, folded.column(0), starts, ends)
        if emitted is None:
            return False
        if emitted.results is not None:
            timestamps = np.full(len(emitted.results), window.maxTimestamp(), dtype=np.int64)
            self.output.emitRecords(Records(emitted.results, timestamps))
        return True

    def _pair_map(self, call: object) -> PairMap | None:
        """The function of a join, if it may run over columns."""
        if not isinstance(call, JoinCall) or call.flat or not self.tracesFunctions:
            return None
        return PairMap(call.pair) if may_be_traced(call.pair) else None

    def _fire_pairs(self, window: TimeWindow, pairs: PairMap) -> bool:
        """Join what is in a window of columns: as columns where the function runs over them, else with a call for each
        pair. False if the window is kept key by key."""
        sides = self._columns.sides(window) if self._settle(window) else None
        if sides is None:
            return False
        self._window_states.namespace = window
        computed = False
        for part in sides.pairs():
            results = pairs.results(*part.columns())
            if results is not None:
                timestamps = np.full(len(results), window.maxTimestamp(), dtype=np.int64)
                self.output.emitRecords(Records(results, timestamps))
                computed = True
            elif computed:
                self._process_listed(window, part.listed())
            else:
                self._process_listed(window, sides.listed())
                break
        return True

    def _process_listed(self, window: TimeWindow, listed: Iterator[tuple[Any, Any]]) -> None:
        key = None
        with self.userCodeOf(lambda: (key, window)):
            for key, elements in listed:
                self.backend.currentKey = key
                self._function.process(key, window, elements)

    def _items(self, window: TimeWindow) -> Iterator[tuple[Any, Any]]:
        """The keys of a window with their contents."""
        if self._settle(window):
            if self._fold is None:
                listed = self._columns.listed(window)
                if listed is not None:
                    return listed
            else:
                folded = self._columns.folded(window)
                if folded is not None:
                    return self._columns.accumulators(folded)
            self._keep_by_key(window)
        return self._table.items(window)

    def _clear(self, window: TimeWindow) -> None:
        self._window_states.namespace = window
        for key, _ in self._items(window):
            self.backend.currentKey = key
            with self.userCode((key, window)):
                self._function.clear(window)

    # ------------------------------------------------------------------ windows

    def _note(self, window: TimeWindow) -> None:
        """Note that ``window`` has contents now."""
        if window not in self._open_windows:
            self._open_windows.add(window)
            due = self._lifetime.due(window, self.currentWatermark)
            if due is not None and (self._next_due is None or due < self._next_due):
                self._next_due = due

    def _earliest_due(self) -> int | None:
        due, now = self._lifetime.due, self.currentWatermark
        return earliest(due(window, now) for window in self._open_windows)

    # ------------------------------------------------------------------ what is pending

    def nextEventTimeTimer(self) -> int | None:
        return self._next_due

    def numEventTimeTimers(self) -> int:
        timers, now = self._lifetime.timers, self.currentWatermark
        return sum(
            (self._table.size(window) + self._columns.size(window)) * timers(window, now)
            for window in self._open_windows
        )


def _of_rows(records: Records) -> Records:
    """Records with rows made of their columns once, as a row may be in several windows."""
    return Records(
        list(records.values), records.timestamps, list(records.keys or ()), records.hashes
    )


def _at(values: RowColumns, positions: Positions) -> RowColumns:
    """The values at ascending ``positions``; no copy where these follow one another."""
    first, last = int(positions[0]), int(positions[-1])
    if last - first + 1 == len(positions):
        return values.between(first, last + 1)
    return values.take(positions)


def _each(blocks: Sequence[Block], index: Iterable[int]) -> Iterator[Block]:
    """The block of every index."""
    return repeat(blocks[0]) if len(blocks) == 1 else map(blocks.__getitem__, index)
