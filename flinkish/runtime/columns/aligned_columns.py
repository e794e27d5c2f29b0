"""The column path of aligned windows, for functions that can be traced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from flinkish.api.errors import ElementsNeededError, shown
from flinkish.api.functions.tagged import JoinCall
from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.api.windowing.windows import TimeWindow
from flinkish.runtime.columns.aligned_contents import WindowsByKey, each_block
from flinkish.runtime.columns.element_runs import (
    are_elements,
    are_tagged,
    elements_of,
    key_column,
    of_one_kind,
    singly,
    timestamps_of,
)
from flinkish.runtime.columns.eviction import Eviction
from flinkish.runtime.columns.panes import (
    AlignedWindows,
    PaneFold,
    Positions,
    accumulators_of,
)
from flinkish.runtime.columns.path import ColumnPath
from flinkish.runtime.columns.tracing.column_fold import ColumnFold
from flinkish.runtime.columns.tracing.column_function import PairMap, may_be_traced
from flinkish.runtime.columns.window_columns import WindowColumns
from flinkish.runtime.columns.window_functions import WindowFunctionPath
from flinkish.runtime.operators.keyed import KeyedOperator
from flinkish.runtime.records.keys import ColumnKeys, ComputedKeys, records_at
from flinkish.runtime.records.records import NO_RECORDS, Records, Timestamps, no_timestamps
from flinkish.runtime.records.rows import RowColumns, concatenated, decoded, python_values
from flinkish.runtime.windowing.window_contents import TABLE, part_join

_FEW_KEYS = 1_000

CallFunction = Callable[[TimeWindow, Iterable[tuple[Any, Any]]], None]
"""Calls the window function for each key of a window with its elements."""


class AlignedColumns(ColumnPath):
    """The aligned windows of an operator that are kept as columns; the others are kept key by key.

    A window is kept either here or in ``by_key``. ``note`` is called with each window that gets
    contents.
    """

    def __init__(
        self,
        operator: KeyedOperator,
        description: WindowOperatorDescription,
        by_key: WindowsByKey,
        note: Callable[[TimeWindow], None],
        call: CallFunction,
    ) -> None:
        self._operator = operator
        self._description = description
        self._windows = AlignedWindows.of(description)
        self._by_key = by_key
        self._note = note
        self._call = call
        fold = None if description.aggregation is None else ColumnFold(description.aggregation)
        eviction = None
        if description.evictor is not None:
            eviction = Eviction(description.evictor, fold, operator.tracesFunctions)
        self._fold = fold if eviction is None else None
        """What elements are folded with as they come."""
        table = operator.backend.columnTable(TABLE)
        self._columns = WindowColumns(table, self._fold, eviction)
        self._panes = None if self._fold is None else PaneFold(self._windows, self._fold)
        self._pairs = self._pair_map(description.call)
        self._function = WindowFunctionPath(operator, description)

    def __contains__(self, window: TimeWindow) -> bool:
        return window in self._columns

    def windows(self) -> list[TimeWindow]:
        """The windows that are columns."""
        return self._columns.windows()

    def size(self, window: TimeWindow) -> int:
        """An upper bound of the number of keys in ``window``: a key counts once in each run."""
        return self._columns.size(window)

    def holdMany(self, timestamps: Timestamps) -> bool:
        """Whether a window of one of these elements is columns with so many keys that moving it to
        ``by_key`` would cost more than adding a few elements as columns."""
        if not self._columns.windows():
            return False
        return any(
            self._columns.size(window) > _FEW_KEYS for window, _ in self._windows.split(timestamps)
        )

    def remove(self, window: TimeWindow) -> None:
        """Remove ``window`` with its contents."""
        self._columns.remove(window)

    def forget(self) -> None:
        """Drop the elements that are not settled yet."""
        self._columns.forget()

    # ------------------------------------------------------------------ elements

    def process(self, records: Records) -> bool:
        """Add the elements of windows that have not fired yet as columns."""
        values, keys = records.values, records.keys
        if not isinstance(values, RowColumns) or not isinstance(keys, (ColumnKeys, ComputedKeys)):
            return False
        if self._description.ofTwoStreams and self._description.evictor is not None:
            return False
        if self._panes is not None:
            if not (self._operator.tracesFunctions and self._panes.fold.follows(values)):
                return False
            folded = self._panes.partials(records, inWindows=True)
            if folded is not None and self._all_take(folded):
                self.processFolded(folded)
                return True
        rows: Records | None = None
        for window, positions in self._windows.split(records.timestamps):
            if window.maxTimestamp() <= self._operator.currentWatermark:
                continue
            if self._by_key.table.size(window):
                rows = rows or records.listed()
                self._by_key.add(window, rows, positions, self._by_key.copies(rows.values))
                continue
            part = records if positions is None else records_at(records, positions)
            self._columns.add(window, part)
            self._note(window)
        return True

    def _all_take(self, folded: Records) -> bool:
        """Whether the panes can be added as columns to every window that they belong to."""
        assert isinstance(folded.values, RowColumns)
        return all(
            window.maxTimestamp() <= self._operator.currentWatermark
            or self._takes(window, folded.values)
            for window, _ in self._windows.split(folded.timestamps)
        )

    def _takes(self, window: TimeWindow, folded: RowColumns) -> bool:
        """Settle ``window``; whether it is columns then, to which a folded run can be added."""
        self._settle(window)
        if self._by_key.table.size(window):
            return False
        return self._columns.takes(window, decoded(folded.batch).schema)

    def processFolded(self, records: Records) -> int:
        """Add accumulators of panes to the windows that have not fired yet. Returns the number of
        late elements: those whose windows have all fired."""
        values, counts, panes = records.values, records.counts, records.timestamps
        assert isinstance(values, RowColumns)
        assert counts is not None
        watermark = self._operator.currentWatermark
        for window, positions in self._windows.split(panes):
            if window.maxTimestamp() <= watermark:
                continue
            folded = values if positions is None else _at(values, positions)
            of_panes = panes if positions is None else panes[positions]
            one_pane = int(of_panes.min()) == int(of_panes.max())
            if not (
                self._takes(window, folded) and self._columns.addFolded(window, folded, one_pane)
            ):
                self.deoptimize(window)
                numbers = counts if positions is None else counts[positions]
                self._join(window, folded.batch, numbers.tolist())
            self._note(window)
        missed = panes + (self._windows.size - 1) <= watermark
        return int(counts[missed].sum())

    # ------------------------------------------------------------------ deoptimization

    def deoptimize(self, window: TimeWindow) -> None:
        """Deoptimize ``window``: move its contents, if they are columns, to ``by_key``, for
        good."""
        if window not in self._columns:
            return
        runs = self._columns.taken(window)
        if runs and are_tagged(runs[0]):
            keys, elements = singly(runs)
            self._add(window, keys, elements, no_timestamps(len(keys)))
            return
        for run in runs:
            if are_elements(run):
                keys = python_values(run.column(key_column(run)))
                self._add(window, keys, elements_of(run), timestamps_of(run))
            else:
                self._join(window, run)

    def _add(
        self,
        window: TimeWindow,
        keys: Sequence[Any],
        elements: Sequence[Any],
        timestamps: Timestamps,
    ) -> None:
        hashes = self._by_key.hashes.column(keys)
        self._by_key.add(window, Records(elements, timestamps, keys, hashes))

    def _join(
        self, window: TimeWindow, folded: pa.RecordBatch, counts: Sequence[int] | None = None
    ) -> None:
        """Add accumulators to a window that is kept key by key. ``counts``: how many elements were
        folded into each before the shuffle; None: the accumulators are the window's own, and their
        elements are gone.

        Only here does state kept as objects meet accumulators of columns. They are merged where
        that is proved to be exact; otherwise ElementsNeededError asks for the elements.
        """
        assert self._fold is not None
        schema = accumulators_of(folded).schema
        entries = list(self._columns.accumulators(folded))
        keys = [key for key, _ in entries]
        blocks, index = self._by_key.table.blocks(window, keys, self._by_key.hashes.column(keys))
        for number, (block, (key, accumulator)) in enumerate(
            zip(each_block(blocks, index), entries)
        ):
            kept = block.get(key)
            if kept is not None:
                joined = self._fold.joined(schema, kept, accumulator)
                if joined is None and counts is None:
                    joined = part_join(self._description.aggregation)(kept, accumulator)
                if joined is None and counts is not None and counts[number] == 1:
                    with self._operator.userCode(accumulator):
                        joined = self._fold.reduced(kept, accumulator)
                if joined is None:
                    raise ElementsNeededError(
                        f"{self._operator.name}: the window {window} keeps {shown(kept)} for the key {shown(key)}, to which"
                        " elements that were folded before the shuffle cannot be added."
                    )
                accumulator = joined
            block[key] = accumulator

    def _settle(self, window: TimeWindow) -> bool:
        """Fold the new elements of ``window``; False if it is (now) kept key by key."""
        if window not in self._columns:
            return False
        if self._columns.settle(window):
            return True
        self.deoptimize(window)
        return False

    def isSettled(self) -> bool:
        """Whether all elements are folded."""
        return not self._columns.unsettled()

    def settle(self) -> None:
        """Fold the elements that came since the last call, before a snapshot."""
        for window in self._columns.unsettled():
            self._settle(window)

    # ------------------------------------------------------------------ time

    def fire(self, window: TimeWindow, clears: bool) -> bool:
        """Emit the results of a window. False if it is kept key by key, or if the function has to
        be called for each key. ``clears``: the function's ``clear`` is to be called for each
        key."""
        if self._pairs is not None and self._fire_pairs(window, self._pairs):
            return True
        return not clears and self._fire_columns(window)

    def _fire_columns(self, window: TimeWindow) -> bool:
        """Emit the results of a window as columns. False if columns cannot hold its contents or
        results."""
        found = self.results([window])
        if found is None:
            return False
        self._operator.output.emitRecords(found)
        return True

    def results(self, windows: Sequence[TimeWindow]) -> Records | None:
        """The results of windows, in that order; None if one is kept key by key, or if columns cannot
        hold their contents or results."""
        if not (self._operator.tracesFunctions and self._function.possible):
            return None
        if not all(map(self._settle, windows)):
            return None
        contents = []
        for window in windows:
            folded = self._columns.folded(window)
            if folded is None:
                return None
            contents.append(folded)
        return self._results(windows, contents)

    def update(
        self, records: Records, windows: Sequence[tuple[TimeWindow, Positions]]
    ) -> Records | None:
        """Add elements to windows that have fired, each to those at its position. Returns the results
        with which the windows fire again, element by element. None, with nothing added, if a window
        is kept key by key, or if columns cannot hold the accumulators or results."""
        values, keys = records.values, records.keys
        if not isinstance(values, RowColumns) or not isinstance(keys, (ColumnKeys, ComputedKeys)):
            return None
        if self._fold is None or not (self._operator.tracesFunctions and self._function.possible):
            return None
        updates, contents = [], []
        for window, positions in windows:
            if self._by_key.table.size(window):
                return None
            known = window not in self._columns or self._settle(window)
            part = records_at(records, positions)
            found = self._columns.updates(window, part) if known else None
            if found is None:
                return None
            updates.append(found.slice(0, len(part)))
            contents.append(found.slice(len(part)))
        order = np.argsort(np.concatenate([positions for _, positions in windows]), kind="stable")
        results = self._results([window for window, _ in windows], updates, order)
        if results is None:
            return None
        for (window, _), folded in zip(windows, contents):
            self._columns.replace(window, folded)
            self._note(window)
        return results

    def _results(
        self,
        windows: Sequence[TimeWindow],
        contents: Sequence[pa.RecordBatch],
        order: Positions | None = None,
    ) -> Records | None:
        """The results of the rows of ``contents``, a folded run for each window; ``order``: the order
        of all rows. None if columns cannot hold the results."""
        if not of_one_kind(contents):
            return None
        together = concatenated(contents)
        counts = [folded.num_rows for folded in contents]
        starts, ends = (np.repeat(times, counts) for times in np.array(windows, dtype=np.int64).T)
        if order is not None:
            together, starts, ends = together.take(pa.array(order)), starts[order], ends[order]
        results = self._columns.results(together)
        if results is None:
            return None
        emitted = self._function.process(results, together.column(0), starts, ends)
        if emitted is None:
            return None
        if emitted.results is None:
            return NO_RECORDS
        return Records(emitted.results, ends[emitted.positions] - 1)

    def _pair_map(self, call: object) -> PairMap | None:
        """The join function, if it can be traced."""
        if not isinstance(call, JoinCall) or call.flat or not self._operator.tracesFunctions:
            return None
        return PairMap(call.pair) if may_be_traced(call.pair) else None

    def _fire_pairs(self, window: TimeWindow, pairs: PairMap) -> bool:
        """Join the elements of a window of columns: as columns if the function can be traced, else
        with a call for each pair. False if the window is kept key by key."""
        sides = self._columns.sides(window) if self._settle(window) else None
        if sides is None:
            return False
        computed = False
        for part in sides.pairs():
            results = pairs.results(*part.columns())
            if results is not None:
                timestamps = np.full(len(results), window.maxTimestamp(), dtype=np.int64)
                self._operator.output.emitRecords(Records(results, timestamps))
                computed = True
            elif computed:
                self._call(window, part.listed())
            else:
                self._call(window, sides.listed())
                break
        return True

    def items(self, window: TimeWindow) -> Iterator[tuple[Any, Any]] | None:
        """The keys of a window with their contents; None if it is kept key by key."""
        if self._settle(window):
            if self._fold is None:
                listed = self._columns.listed(window)
                if listed is not None:
                    return listed
            else:
                folded = self._columns.folded(window)
                if folded is not None:
                    return self._columns.accumulators(folded)
            self.deoptimize(window)
        return None


def _at(values: RowColumns, positions: Positions) -> RowColumns:
    """The values at ascending ``positions``, without a copy if the positions are contiguous."""
    first, last = int(positions[0]), int(positions[-1])
    if last - first + 1 == len(positions):
        return values.between(first, last + 1)
    return values.take(positions)
