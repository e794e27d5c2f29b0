"""``AlignedWindowOperator``: tumbling and sliding event-time windows, a whole run at a time.

Windows are *aligned* when all keys share them: [12:00, 12:05) is the same window for every key.
Then numpy can compute the windows of a run of elements at once, and one lookup of due windows
serves all keys, where ``WindowOperator`` does both for each element and each key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flinkish.api.errors import MissingTimestampError
from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.api.time.durations import to_long
from flinkish.api.windowing.windows import TimeWindow
from flinkish.runtime.columns.aligned_columns import AlignedColumns
from flinkish.runtime.columns.aligned_contents import WindowsByKey
from flinkish.runtime.columns.panes import AlignedWindows, Positions
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext
from flinkish.runtime.operators.keyed import KeyedOperator
from flinkish.runtime.records.frames import Frame, Marks
from flinkish.runtime.records.keys import KeyRuns, key_runs, records_at
from flinkish.runtime.records.records import NO_TIMESTAMP, Hashes, Records, Timestamps
from flinkish.runtime.state.keyed_states import KeyedStates
from flinkish.runtime.windowing.window_contexts import ClockContext
from flinkish.runtime.windowing.window_functions import window_function
from flinkish.runtime.windowing.window_lifetime import WindowLifetime

LEAST_LATE = 64
"""Fewer late elements at a time are processed one by one, which is faster."""


class AlignedWindowOperator(KeyedOperator, OneInputOperator):
    """A ``WindowOperator`` for aligned windows under ``EventTimeTrigger``, with the same results.
    It adds a run of elements to one window after another.

    It registers no timers: the set of open windows, which all keys share, says which are due.
    ``numEventTimeTimers`` reports the number that ``WindowOperator`` would have. An element of a
    window that has fired already, within the allowed lateness, fires the window again.

    A window is kept either by key (``WindowsByKey``) or as columns (``AlignedColumns``). Before
    elements are added to it by key, ``AlignedColumns.deoptimize`` moves its contents there.
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
        self._rewrites = description.evictor is not None and description.allowedLateness > 0
        """Whether a window keeps what an evictor leaves, to fire again."""

    def open(self) -> None:
        description = self._description
        self._by_key = WindowsByKey(self, description)
        self._columns = AlignedColumns(
            self, description, self._by_key, self._note, self._process_listed
        )
        self._window_states = KeyedStates(self.backend, self.clock, sweeps=True, ofWindows=True)
        self._function = window_function(self, description, self._window_states)

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        super().restore(snapshot)
        self._columns.forget()
        if self._description.evictor is not None:
            self._by_key.adopt()
        self._open_windows: set[TimeWindow] = {
            *self._by_key.table.windows(),
            *self._columns.windows(),
        }
        self._due: list[tuple[int, TimeWindow]] = []
        """A heap of the open windows, by when they fire or expire next."""
        for window in self._open_windows:
            self._await(window)
        self._remove_expired()

    # ------------------------------------------------------------------ elements

    def processRecords(self, records: Records) -> None:
        if records.counts is not None:
            self.metrics.numRecordsIn += int(records.counts.sum())
            self.metrics.numLateRecordsDropped += self._columns.processFolded(records)
            return
        self.metrics.numRecordsIn += len(records)
        timestamps = records.timestamps
        if len(timestamps) == 0:
            return
        lowest = int(timestamps.min())
        if lowest == NO_TIMESTAMP:
            raise MissingTimestampError(self.name, records.values[int(timestamps.argmin())])
        if not self._windows.fit(timestamps):
            self._process_singly(records.listed(), np.arange(len(records)), added=False)
            return
        behind = self._behind(timestamps, lowest)
        self._add(records, inTime=behind is None)
        if behind is not None:
            self._process_late(records, np.flatnonzero(behind))

    def processFrame(self, frame: Frame) -> None:
        """Add elements together that come before and after watermarks at which windows fire: those of a
        window that fires have all come before, but for late ones."""
        if not self._takes_frame(frame):
            super().processFrame(frame)
            return
        self.metrics.numRecordsIn += len(frame.records)
        behind = self._behind_marks(frame)
        if not len(behind):
            self._add(frame.records, inTime=True)
            self._pass(frame, behind)
        elif not self._windows.overlap:
            in_time = np.delete(np.arange(len(frame.records)), behind)
            if len(in_time):
                self._add(records_at(frame.records, in_time), inTime=True)
            self._pass(frame, behind)
        else:
            # An element may be late for one of its windows, and in time for the next
            ends = self._windows.allEnds(frame.records.timestamps)
            for part in frame.endingWith(
                np.unique(np.searchsorted(frame.marks.watermarks, ends - 1))
            ):
                behind = self._behind_marks(part)
                if len(part.records):
                    self._add(part.records, inTime=not len(behind))
                self._pass(part, behind)

    def _behind_marks(self, frame: Frame) -> Positions:
        """The elements of which a window has fired when they come."""
        last = self._windows.firstEnds(frame.records.timestamps) - 1
        return np.flatnonzero(last <= frame.watermarks(self.currentWatermark))

    def _pass(self, frame: Frame, behind: Positions) -> None:
        """Pass the watermarks of a frame, with the elements at ``behind`` in their places."""
        *before, left = frame.watermarksBefore(behind)
        starts = [place for place, watermarks in enumerate(before) if watermarks or not place]
        for start, end in zip(starts, [*starts[1:], len(behind)]):
            self.processWatermarks(before[start])
            self._process_late(frame.records, behind[start:end])
        self.processWatermarks(left)

    def _takes_frame(self, frame: Frame) -> bool:
        timestamps = frame.records.timestamps
        return (
            frame.records.counts is None
            and frame.marks.onlyWatermarks
            and len(timestamps) > 0
            and int(timestamps.min()) != NO_TIMESTAMP
            and self._windows.slide <= self._windows.size
            and self._windows.fit(timestamps)
        )

    def _add(self, records: Records, inTime: bool) -> None:
        """Add elements to their windows that have not fired; ``inTime``: none of theirs has."""
        columns = records.unlisted
        if columns is not None and self._columns.holdMany(records.timestamps):
            records = columns
        if self._columns.process(records):
            return
        copies = self._by_key.copies(records.values)
        runs = key_runs(records) if inTime else None
        if runs is not None:
            self._process_runs(runs, copies)
            return
        records = records.listed()
        for window, positions in self._windows.split(records.timestamps):
            if window.maxTimestamp() > self.currentWatermark:
                self._columns.deoptimize(window)
                self._by_key.add(window, records, positions, copies)
                self._note(window)

    def snapshot(self) -> dict[str, Any]:
        assert self._columns.isSettled(), "onPeriodicEmit comes first"
        return super().snapshot()

    def onPeriodicEmit(self) -> None:
        self._columns.settle()

    def _process_runs(self, runs: KeyRuns, copies: bool) -> None:
        """Add records that are ordered by key, none of them late, to their windows key by key."""
        values: Sequence[Any] = runs.values
        if self._windows.overlap:
            values = list(values)
        for window, positions in self._windows.split(runs.timestamps):
            self._columns.deoptimize(window)
            self._by_key.addRuns(window, runs, values, positions, copies)
            self._note(window)

    def _behind(self, timestamps: Timestamps, lowest: int) -> NDArray[np.bool_] | None:
        """Return a mask of the elements that are late or whose window has fired already; None if
        there are none."""
        watermark = self.currentWatermark
        gaps = self._windows.gaps(timestamps)
        if gaps is None and lowest > watermark:
            return None
        behind = self._windows.firstEnds(timestamps) - 1 <= watermark
        if gaps is not None:
            # Java's sum wraps around, and so does NumPy's: with a lateness near the end of its
            # range, an element that is in no window counts as late
            late = timestamps + np.int64(self._lateness) <= watermark
            behind = np.where(gaps, late, behind)
        return behind if behind.any() else None

    def _process_late(self, records: Records, positions: Positions) -> None:
        """Add elements of which a window has fired to those that have; the others have them."""
        if len(positions) >= LEAST_LATE:
            late, watermark = records_at(records, positions), self.currentWatermark
            every = np.arange(len(positions))
            firing = [
                (window, every if places is None else places)
                for window, places in self._windows.split(late.timestamps)
                if window.maxTimestamp() <= watermark
                and not self._lifetime.isLate(window, watermark)
            ]
            results = self._columns.update(late, firing) if firing else None
            if results is not None:
                if len(results):
                    self.output.emitRecords(results)
                updated = np.concatenate([places for _, places in firing])
                positions = np.delete(positions, updated)
        self._process_singly(records, positions, added=True)

    def _process_singly(self, records: Records, positions: Positions, added: bool) -> None:
        """Add elements one by one; ``added``: the windows that have not fired have them already."""
        values, keys, hashes = records.values, records.keys, records.hashes
        assert keys is not None
        assert hashes is not None
        lifetime, watermark = self._lifetime, self.currentWatermark
        for i in positions.tolist():
            value, timestamp = values[i], int(records.timestamps[i])
            of_key = keys[i], value, records.timestamps[i : i + 1], hashes[i : i + 1]
            with self.userCode(value):
                skipped = True
                for window in self._assigner.assignWindows(
                    value, timestamp, self._assigner_context
                ):
                    if lifetime.isLate(window, watermark):
                        continue
                    skipped = False
                    if window.maxTimestamp() <= watermark:
                        self._add_and_fire(window, *of_key)
                    elif not added:
                        self._add_singly(window, *of_key)
                if skipped and to_long(timestamp + self._lateness) <= watermark:
                    self._drop(value, timestamp)
        self.output.flush()

    def _add_singly(
        self, window: TimeWindow, key: Any, value: Any, timestamps: Timestamps, key_hash: Hashes
    ) -> Any:
        self._columns.deoptimize(window)
        contents = self._by_key.addOne(window, key, value, timestamps, key_hash)
        self._note(window)
        return contents

    def _add_and_fire(
        self, window: TimeWindow, key: Any, value: Any, timestamps: Timestamps, key_hash: Hashes
    ) -> None:
        contents = self._add_singly(window, key, value, timestamps, key_hash)
        elements = self._by_key.elements(contents)
        if elements is not None:
            self.backend.currentKey = key
            self._window_states.namespace = window
            left = self._function.process(key, window, elements)
            if self._rewrites:
                self._by_key.replace(window, {key: left})

    def _drop(self, value: Any, timestamp: int) -> None:
        if self._late_tag is not None:
            self.output.collectSide(self._late_tag.getId(), value, timestamp)
        else:
            self.metrics.numLateRecordsDropped += 1

    # ------------------------------------------------------------------ time

    def processWatermark(self, timestamp: int) -> None:
        self.currentWatermark = timestamp
        while self._due and self._due[0][0] <= timestamp:
            self._fire_due(*heappop(self._due))
        self.output.emitWatermark(timestamp)

    def processWatermarks(self, timestamps: Sequence[int]) -> None:
        if not timestamps or not self._fire_together(timestamps):
            super().processWatermarks(timestamps)

    def _fire_together(self, timestamps: Sequence[int]) -> bool:
        """Fire all windows that are due, if there are several and all are columns."""
        until, due = timestamps[-1], []
        while self._due and self._due[0][0] <= until:
            due.append(heappop(self._due))
        firing = [window for time, window in due if time == window.maxTimestamp()]
        together = len(firing) > 1 and not (self._function.clears or self._rewrites)
        results = self._columns.results(firing) if together else None
        if results is None:
            for each in due:
                heappush(self._due, each)
            return False
        for _, window in due:
            expiry = self._lifetime.expiry(window)
            if expiry is not None and expiry <= until:
                self._remove(window)
            elif expiry is not None:
                heappush(self._due, (expiry, window))
        self.skipToWatermark(until)
        places = np.searchsorted(results.timestamps, timestamps, side="right")
        self.output.emitFrame(Frame(results, Marks.of(places, timestamps)))
        return True

    def advanceProcessingTime(self, now: int) -> None:
        super().advanceProcessingTime(now)
        self._window_states.removeExpired(now)

    def _fire_due(self, time: int, window: TimeWindow) -> None:
        expiry = self._lifetime.expiry(window)
        last = time == expiry
        if time == window.maxTimestamp():
            self._fire_window(window, last)
        elif self._function.clears:
            self._clear(window)
        if last:
            self._remove(window)
        elif expiry is not None:
            heappush(self._due, (expiry, window))

    def _remove_expired(self) -> None:
        """Remove the fired windows that only a larger allowed lateness, since reduced, had kept."""
        now, expiry_of = self.currentWatermark, self._lifetime.expiry
        expiries = ((window, expiry_of(window)) for window in self._open_windows)
        for window in [w for w, expiry in expiries if expiry is not None and expiry <= now]:
            if self._function.clears:
                self._clear(window)
            self._remove(window)

    def _remove(self, window: TimeWindow) -> None:
        self._by_key.table.remove(window)
        self._columns.remove(window)
        self._open_windows.remove(window)

    def _fire_window(self, window: TimeWindow, last: bool) -> None:
        clears = last and self._function.clears
        if self._rewrites:
            self._columns.deoptimize(window)
        elif self._columns.fire(window, clears):
            return
        backend, function, contents_of = self.backend, self._function, self._by_key.elements
        self._window_states.namespace = window
        items = self._items(window)
        # Columns are converted to new objects for each window that fires
        own = window in self._columns or (last and not self._windows.overlap)
        key: Any = None
        left: dict[Any, Any] = {}
        with self.userCodeOf(lambda: (key, window)):
            for key, contents in items:
                backend.currentKey = key
                elements = contents_of(contents)
                if elements is not None:
                    remaining = function.process(key, window, elements, own)
                    if self._rewrites:
                        left[key] = remaining
                if clears:
                    function.clear(window)
        if left:
            self._by_key.replace(window, left)

    def _process_listed(self, window: TimeWindow, listed: Iterable[tuple[Any, Any]]) -> None:
        self._window_states.namespace = window
        key = None
        with self.userCodeOf(lambda: (key, window)):
            for key, elements in listed:
                self.backend.currentKey = key
                self._function.process(key, window, elements)

    def _items(self, window: TimeWindow) -> Iterator[tuple[Any, Any]]:
        """The keys of a window with their contents."""
        items = self._columns.items(window)
        return self._by_key.table.items(window) if items is None else items

    def _clear(self, window: TimeWindow) -> None:
        self._window_states.namespace = window
        for key, _ in self._items(window):
            self.backend.currentKey = key
            with self.userCode((key, window)):
                self._function.clear(window)

    # ------------------------------------------------------------------ windows

    def _note(self, window: TimeWindow) -> None:
        """Open ``window``, which has contents now."""
        if window not in self._open_windows:
            self._open_windows.add(window)
            self._await(window)

    def _await(self, window: TimeWindow) -> None:
        due = self._lifetime.due(window, self.currentWatermark)
        if due is not None:
            heappush(self._due, (due, window))

    # ------------------------------------------------------------------ pending timers

    def nextEventTimeTimer(self) -> int | None:
        return self._due[0][0] if self._due else None

    def numEventTimeTimers(self) -> int:
        timers, now = self._lifetime.timers, self.currentWatermark
        return sum(
            (self._by_key.table.size(window) + self._columns.size(window)) * timers(window, now)
            for window in self._open_windows
        )
