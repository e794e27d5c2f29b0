"""``ColumnWindowOperator``: a ``WindowOperator`` that takes whole runs where the trigger is one of
Flink's, which says when a pane fires without being asked for each element."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.functions.state import StateDescriptor
from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from flinkish.api.windowing.assigners import SlidingProcessingTimeWindows
from flinkish.api.windowing.evictors import TimestampedValue
from flinkish.api.windowing.triggers import COUNT, ContinuousEventTimeTrigger, CountTrigger
from flinkish.api.windowing.windows import TimeWindow
from flinkish.runtime.columns.delta_firings import DeltaFirings
from flinkish.runtime.columns.known_triggers import (
    BY_PANE,
    aligned_windows,
    delta_trigger,
    nested,
    why_element_by_element,
)
from flinkish.runtime.columns.pane_segments import RunPanes, Segments
from flinkish.runtime.columns.panes import Positions
from flinkish.runtime.columns.tracing.column_fold import ColumnFold
from flinkish.runtime.columns.tracing.folding import first_positions, last_positions
from flinkish.runtime.columns.window_functions import WindowFunctionPath
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.records.keys import encoded_keys, records_at
from flinkish.runtime.records.records import NO_TIMESTAMP, Records, Timestamps
from flinkish.runtime.records.rows import RowColumns, bounds_of, by_code, concatenated
from flinkish.runtime.state.backend import StateTable
from flinkish.runtime.windowing.pane_elements import LEAST_COLUMNS, PaneElements
from flinkish.runtime.windowing.window_contents import TABLE
from flinkish.runtime.windowing.window_operator import WindowOperator

LEAST_ELEMENTS = 1 << 8
"""Smaller runs are processed element by element, which is faster."""

_ELEMENTS_A_PANE = 2
"""With fewer elements for each pane, reading and writing the panes costs more than folding saves."""

_MOST_ROWS = 1 << 22
"""So many rows, one for each element and window, are processed at once."""

_ELEMENTS_A_ROUND = 128
"""With fewer elements for each round of panes that keep their contents, computing the accumulator
before each element is faster."""


class ColumnWindowOperator(WindowOperator):
    """A ``WindowOperator`` that processes the elements of a run pane by pane, where their timestamps
    say in which windows they are, or the clock, and the trigger is one of Flink's that need not be
    asked for each (``BY_PANE``), a ``CountTrigger``, also with a timeout, or a ``DeltaTrigger``; all
    also under a ``PurgingTrigger``.

    State is laid out as in ``WindowOperator``, which takes over at any run: contents and counts of
    the panes of a run are read, folded as columns, and written back.
    """

    def __init__(self, context: OperatorContext, description: WindowOperatorDescription) -> None:
        super().__init__(context, description)
        aggregation, assigner = description.aggregation, description.assigner
        trigger, self._purges, self._timeout = nested(description.trigger)
        self._by_pane = type(trigger) in BY_PANE
        delta = delta_trigger(description)
        self._delta = None if delta is None else DeltaFirings(delta)
        self._possible = why_element_by_element(description) is None and (
            delta is None or self.tracesFunctions
        )
        self._every = max(trigger._max_count, 1) if type(trigger) is CountTrigger else None
        self._needs_times = type(trigger) is ContinuousEventTimeTrigger
        folds = aggregation is not None and description.evictor is None
        self._fold = ColumnFold(aggregation) if folds else None
        self._aligned = aligned_windows(assigner)

    def open(self) -> None:
        super().open()
        self._function_path = WindowFunctionPath(self, self._description)

    # ------------------------------------------------------------------ elements

    def processRecords(self, records: Records) -> None:
        windows = self._aligned
        most = _MOST_ROWS if windows is None else max(1, _MOST_ROWS * windows.slide // windows.size)
        if len(records) <= most:
            self._process_run(records)
            return
        for start in range(0, len(records), most):
            self._process_run(records.slice(start, min(start + most, len(records))))

    def _process_run(self, records: Records) -> None:
        apart = self._apart(records)
        ahead = records
        if apart is not None and len(apart):
            ahead = records_at(records, np.delete(np.arange(len(records)), apart))
        if apart is None or not self._process_columns(ahead):
            super().processRecords(records)
            return
        self.metrics.numRecordsIn += len(ahead)
        if len(apart):
            super().processRecords(records_at(records, apart))

    def _apart(self, records: Records) -> Positions | None:
        """The elements to process one by one, as their windows are late or, with timers, have
        ended; their results, if any, are the only ones of the run. None: all elements."""
        if not self._possible or len(records) < LEAST_ELEMENTS:
            return None
        values, timestamps, windows = records.values, records.timestamps, self._aligned
        if not isinstance(values, RowColumns) or values.mayDiffer:
            return None
        if self._fold is not None and not (self.tracesFunctions and self._fold.follows(values)):
            return None
        none = np.zeros(0, dtype=np.intp)
        lowest, highest = int(timestamps.min()), int(timestamps.max())
        if windows is None:
            return None if self._needs_times and lowest == NO_TIMESTAMP else none
        if (
            not windows.fit(timestamps)
            or highest - lowest > MAX_TIMESTAMP
            or self.currentWatermark == MAX_TIMESTAMP
        ):
            return None
        ended = self.currentWatermark - (0 if self._by_pane else self._lateness)
        if ended < lowest and windows.slide <= windows.size:
            return none
        if windows.size == windows.slide:
            return np.flatnonzero(windows.firstEnds(timestamps) - 1 <= ended)
        elements, starts = windows.containing(timestamps, self._cleaned_up)
        if bool((starts + windows.size - 1 <= ended).any()):
            return None  # in windows that fire at once, and in others
        return np.flatnonzero(np.bincount(elements, minlength=len(timestamps)) == 0)

    @property
    def _cleaned_up(self) -> int:
        """Up to this time (ms) windows have been cleaned up."""
        return max(self.currentWatermark - self._lateness, MIN_TIMESTAMP)

    def _process_columns(self, records: Records) -> bool:
        """Process elements that are not late. False, with nothing done, if they have to be
        processed one by one."""
        if not len(records):
            return False
        starts = None
        if self._aligned is not None:
            elements, starts = self._aligned.containing(records.timestamps, self._cleaned_up)
            if self._aligned.size != self._aligned.slide:
                records = records_at(records, elements)
        values, panes = records.values, self._panes(records, starts)
        if panes is None or len(panes) * _ELEMENTS_A_PANE > len(records):
            return False
        assert isinstance(values, RowColumns)
        if not self._by_pane:
            return self._process_firing(records, panes)
        segments = Segments.whole(panes)
        of_windows = self._in_all_windows(panes)
        if self._merges:
            of_windows = [self._merged(panes, values)]
        if self._fold is None:
            for each in of_windows:
                self._append(records, each)
        elif not self._accumulate(values, of_windows, segments):
            return False
        if not self._merges:
            for key, time, windows in zip(
                panes.keys, panes.timestamps.tolist(), zip(*(each.windows for each in of_windows))
            ):
                self.backend.currentKey = key
                for window in windows:
                    self._await_end(window, time)
        return True

    def _process_firing(self, records: Records, panes: RunPanes) -> bool:
        """``_process_columns`` where panes fire at elements."""
        values = records.values
        lasts: list[Any] | None = None
        assert isinstance(values, RowColumns)
        if self._every is not None:
            counts = [count or 0 for count in panes.stored(self._table_of(COUNT))]
            segments = Segments.every(self._every, panes, np.array(counts))
        else:
            assert self._delta is not None
            last_fired = self._table_of(self._delta.trigger._last_element)
            found = self._delta.segments(values, panes, panes.stored(last_fired))
            if found is None:
                return False
            segments, lasts = found
        if self._fold is None:
            taken = self._list(records, panes, segments)
        else:
            taken = self._aggregate(values, panes, segments)
        if taken and lasts is not None:
            panes.store(last_fired, lasts)
        return taken

    def _in_all_windows(self, panes: RunPanes) -> list[RunPanes]:
        """The panes of each window in which the elements are."""
        if type(self._assigner) is not SlidingProcessingTimeWindows:
            return [panes]
        windows = self._windows_of(None, NO_TIMESTAMP)
        return [replace(panes, windows=[window] * len(panes)) for window in windows]

    def _merged(self, panes: RunPanes, values: RowColumns) -> RunPanes:
        """Add the windows of the panes to the sessions of their keys, with their timers. Returns the
        panes with their state windows."""
        state_windows: list[Any] = []
        with self._keeping_windows(), self.userCodeOf(lambda: values[0]):
            for key, window, time in zip(panes.keys, panes.windows, panes.timestamps.tolist()):
                self.backend.currentKey = key
                sessions = self._merging_windows()
                actual = sessions.addWindow(window, self._merge)
                state_windows.append(sessions.getStateWindow(actual))
                self._await_end(actual, time)
        return replace(panes, windows=state_windows)

    def _panes(self, records: Records, starts: Timestamps | None) -> RunPanes | None:
        """The panes of the elements, each in the window that begins at its ``starts``; None: in that
        of the assigner. None if the keys are no column."""
        encoded = encoded_keys(records)
        if encoded is None:
            return None
        if starts is None:
            time = int(records.timestamps[0])
            windows: list[Any] = [*self._windows_of(None, time), None]
            return RunPanes.of(encoded, records, records.timestamps, 1, lambda _: windows[0])
        assert self._aligned is not None
        low, slide, size = int(starts.min()), self._aligned.slide, self._aligned.size
        numbers = (starts - low) // slide

        def window_of(number: int) -> TimeWindow:
            start = low + number * slide
            return TimeWindow(start, start + size)

        return RunPanes.of(encoded, records, numbers, int(numbers.max()) + 1, window_of)

    # ------------------------------------------------------------------ aggregated panes

    def _accumulate(
        self, values: RowColumns, ofWindows: Sequence[RunPanes], segments: Segments
    ) -> bool:
        """Fold the elements into the panes of each window, where none fires. False, with nothing
        done, if a function has to be called for each element."""
        contents: list[list[Any]] = []
        assert self._fold is not None
        for panes in ofWindows:
            folded = self._folded(values, segments, panes.stored(self.backend.table(TABLE)))
            if folded is None:
                return False
            contents.append(self._fold.accumulators(folded))
        for panes, accumulators in zip(ofWindows, contents):
            self._write(panes, accumulators, segments)
        return True

    def _aggregate(self, values: RowColumns, panes: RunPanes, segments: Segments) -> bool:
        """Fold the elements into the panes, and emit what fires. False, with nothing done, if a
        function has to be called for each element."""
        fold, firing = self._fold, segments.firing
        assert fold is not None
        kept = panes.stored(self.backend.table(TABLE))
        if self._purges or not len(firing):
            folded = self._folded(values, segments, kept)
        elif len(values) < int(segments.counts.max()) * _ELEMENTS_A_ROUND:
            folded = self._folded_running(values, panes, segments, kept)
        else:
            folded = self._folded_in_rounds(values, panes, segments, kept)
        if folded is None:
            return False
        results = None
        if len(firing):
            results = fold.results(folded.take(pa.array(segments.groups[firing])))
            if results is None:
                return False
        after: list[Any] = fold.accumulators(folded.take(pa.array(segments.lasts)))
        if self._purges and len(firing):
            after = [each if left else None for each, left in zip(after, segments.left.tolist())]
        self._write(panes, after, segments)
        if results is not None and not self._emit(results, panes, firing):
            calls = zip(
                panes.groups[firing].tolist(), firing.tolist(), ((result,) for result in results)
            )
            self._call(panes, values, calls, own=True)
        return True

    def _folded(
        self, values: RowColumns, segments: Segments, kept: Sequence[Any]
    ) -> pa.RecordBatch | None:
        """The accumulator of each segment; the first of a pane begins with what was ``kept``. None
        if columns cannot represent them."""
        assert self._fold is not None
        count = int(segments.lasts[-1]) + 1
        begun = self._begun(values, kept, segments.firsts, count)
        return None if begun is None else self._fold.fold(values, segments.groups, count, *begun)

    def _folded_in_rounds(
        self, values: RowColumns, panes: RunPanes, segments: Segments, kept: Sequence[Any]
    ) -> pa.RecordBatch | None:
        """As ``_folded``, but each segment begins with the accumulator of the one before: the first
        segments of all panes are folded, then the second ones, and so on."""
        assert self._fold is not None
        rounds, active = int(segments.counts.max()), np.arange(len(panes))
        begun = self._begun(values, kept, active, len(panes))
        if begun is None:
            return None
        order = by_code(segments.rounds, rounds)
        ordered, groups = values.take(order), panes.groups[order]
        ends = np.cumsum(np.bincount(segments.rounds)).tolist()
        numbers = np.empty(len(panes), dtype=np.intp)
        places = np.empty(int(segments.lasts[-1]) + 1, dtype=np.intp)
        found: list[pa.RecordBatch] = []
        start = done = 0
        for number, end in enumerate(ends):
            numbers[active] = np.arange(len(active))
            folded = self._fold.fold(
                ordered.between(start, end), numbers[groups[start:end]], len(active), *begun
            )
            if folded is None:
                return None
            found.append(folded)
            places[segments.firsts[active] + number] = done + np.arange(len(active))
            start, done = end, done + len(active)
            stays = segments.counts[active] > number + 1
            active, begun = active[stays], (folded.filter(pa.array(stays)), None)
        return concatenated(found).take(pa.array(places))

    def _folded_running(
        self, values: RowColumns, panes: RunPanes, segments: Segments, kept: Sequence[Any]
    ) -> pa.RecordBatch | None:
        """As ``_folded_in_rounds``, for panes with so many segments that rounds would be short."""
        assert self._fold is not None
        count, firing = len(panes), segments.firing
        begun = self._begun(values, kept, np.arange(count), count)
        if begun is None:
            return None
        folded = self._fold.foldAfter(values, panes.groups, count, firing, *begun)
        if folded is None:
            return None
        places = np.empty(int(segments.lasts[-1]) + 1, dtype=np.intp)
        places[segments.lasts] = len(firing) + np.arange(count)
        places[segments.groups[firing]] = np.arange(len(firing))
        return folded.take(pa.array(places))

    def _begun(
        self, values: RowColumns, kept: Sequence[Any], places: Positions, count: int
    ) -> tuple[pa.RecordBatch | None, NDArray[np.bool_] | None] | None:
        """The accumulators with which ``count`` groups begin, and a mask of those that have one:
        the groups at ``places`` for which a pane has something ``kept``. None if columns cannot
        represent them."""
        assert self._fold is not None
        present = np.array([each is not None for each in kept])
        if not present.any():
            return None, None
        begun = self._fold.folded([each for each in kept if each is not None], values)
        if begun is None:
            return None
        started, rows = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.intp)
        started[places[present]] = True
        rows[places[present]] = np.arange(begun.num_rows)
        return begun.take(pa.array(rows)), started

    def _emit(self, results: RowColumns, panes: RunPanes, firing: Positions) -> bool:
        """Emit what the window function does for ``results``, with which the panes fire at the
        elements at ``firing``. False, with nothing done, if it has to be called for each."""
        fired = panes.groups[firing]
        starts, ends = panes.bounds
        emitted = self._function_path.process(
            results, panes.keyColumn.take(pa.array(fired)), starts[fired], ends[fired]
        )
        if emitted is not None and emitted.results is not None:
            lasts = np.array([window.maxTimestamp() for window in panes.windows])
            timestamps = lasts[fired[emitted.positions]]
            self.output.emitRecords(Records(emitted.results, timestamps))
        return emitted is not None

    # ------------------------------------------------------------------ listed panes

    def _append(self, records: Records, panes: RunPanes) -> None:
        """Add the elements to the panes, which list them, where none fires."""
        table, values, times = self.backend.table(TABLE), records.values, None
        assert isinstance(values, RowColumns)
        ordered, bounds = values.take(panes.order), bounds_of(panes.sizes).tolist()
        if self._description.evictor is not None:
            times = records.timestamps[panes.order]
        kept = panes.stored(table)
        if len(values) < LEAST_COLUMNS * len(panes):
            parts = ordered.parts(bounds) if times is None else stamped(ordered, times, bounds)
            panes.store(table, map(added, kept, parts))
            return
        contents = list(map(PaneElements.of, kept))
        columns = [ordered.values(number) for number in range(len(ordered.schema))]
        if times is not None:
            columns.append(times.tolist())
        for elements, (first, last) in zip(contents, pairwise(bounds)):
            of_pane = [column[first:last] for column in columns]
            elements.addColumns(of_pane, last - first, ordered.shape, times is not None)
        panes.store(table, contents)

    def _list(self, records: Records, panes: RunPanes, segments: Segments) -> bool:
        """Add the elements to the panes, which list them, and call the function for those that
        fire. False, with nothing done, if they have to be processed one by one."""
        values = records.values
        assert isinstance(values, RowColumns)
        kept = self._lists(panes)
        parts = list(values.take(panes.order).parts(segments.bounds))
        firing = segments.firing

        def calls() -> Iterator[tuple[int, int, list[Any]]]:
            for pane, element, segment in zip(
                panes.groups[firing].tolist(), firing.tolist(), segments.groups[firing].tolist()
            ):
                elements = added(kept[pane], parts[segment])
                kept[pane] = None if self._purges else elements
                yield pane, element, elements if self._purges else list(elements)

        self._call(panes, values, calls(), own=self._purges)
        self._add_last(kept, parts, segments)
        self._write(panes, kept, segments)
        return True

    def _lists(self, panes: RunPanes) -> list[list[Any] | None]:
        """What is kept of each pane as a list, for panes that fire at elements."""
        kept = panes.stored(self.backend.table(TABLE))
        return [list(each) if isinstance(each, PaneElements) else each for each in kept]

    def _add_last(self, kept: list[Any], parts: Sequence[list[Any]], segments: Segments) -> None:
        """Add to each pane the elements since it last fired."""
        for pane, segment in enumerate(segments.lasts.tolist()):
            if segments.left[pane]:
                kept[pane] = added(kept[pane], parts[segment])

    def _call(
        self,
        panes: RunPanes,
        values: RowColumns,
        calls: Iterable[tuple[int, int, Sequence[Any]]],
        own: bool,
    ) -> None:
        """Call the window function for each of ``calls``: the number of a pane, the position of the
        element at which it fires, and the elements that the function gets. ``own``: nobody else
        reads these."""
        backend, keys, windows, element = self.backend, panes.keys, panes.windows, 0
        with self.userCodeOf(lambda: values[element]):
            for pane, place, elements in calls:
                element = place
                backend.currentKey = keys[pane]
                self._set_window(windows[pane])
                self._function.process(keys[pane], windows[pane], elements, own)
        self.output.flush()

    # ------------------------------------------------------------------ state

    def _table_of(self, descriptor: StateDescriptor[Any]) -> StateTable:
        """The table of a state of the trigger."""
        self._window_states.of(descriptor)
        return self.backend.table(self._window_states.tableOf(descriptor))

    def _write(self, panes: RunPanes, contents: Sequence[Any], segments: Segments) -> None:
        """Store the contents of the panes, the trigger's state, and their timers."""
        panes.store(self.backend.table(TABLE), contents)
        if self._every is not None and self._timeout is None:
            panes.store(self._table_of(COUNT), [left or None for left in segments.left.tolist()])
        if not self._by_pane:
            for key, window in zip(panes.keys, panes.windows):
                self.backend.currentKey = key
                self._register_cleanup_timer(window, self._cleanup_time(window))
        if self._timeout is not None:
            self._await_timeouts(panes, segments)

    def _await_end(self, window: Any, time: int) -> None:
        """Let a trigger that need not see each element see one of ``window``, at ``time``, and
        register the cleanup timer."""
        self._set_window(window)
        self._trigger.onElement(None, time, window, self._trigger_context)
        self._register_cleanup_timer(window, self._cleanup_time(window))

    def _await_timeouts(self, panes: RunPanes, segments: Segments) -> None:
        """Let the trigger see one element of each pane since it last fired; the others change
        nothing more, as the clock stands still."""
        assert self._timeout is not None
        counts, context, left = self._table_of(COUNT), self._trigger_context, segments.left.tolist()
        fired = (segments.counts + (segments.left == 0) > 1).tolist()
        if self._timeout._reset:
            seen = last_positions(panes.groups, len(panes))
        else:
            count = int(segments.lasts[-1]) + 1
            seen = first_positions(segments.groups, count)[segments.lasts]
        for pane in np.argsort(seen).tolist():
            key, window = panes.keys[pane], panes.windows[pane]
            self.backend.currentKey = key
            self._set_window(window)
            if fired[pane]:
                self._trigger.clear(window, context)
            if left[pane] > 1:
                counts.put(key, window, left[pane] - 1)
            if left[pane]:
                self._trigger.onElement(None, int(panes.timestamps[pane]), window, context)


def added(kept: Any, elements: list[Any]) -> Any:
    """``elements`` behind those that are ``kept``, if any are."""
    if kept is None:
        return elements
    kept += elements
    return kept


def stamped(
    values: RowColumns, timestamps: Timestamps, bounds: Sequence[int]
) -> list[list[TimestampedValue[Any]]]:
    """The elements of each part between ``bounds``, with their timestamps."""
    times = iter(timestamps.tolist())
    return [[*map(TimestampedValue, part, times)] for part in values.parts(bounds)]
