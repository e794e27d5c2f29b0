"""The column path of sessions, for functions that can be traced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from functools import cached_property
from typing import Any

import numpy as np

from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.api.time.elements import earliest
from flinkish.api.windowing.assigners import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
)
from flinkish.runtime.columns.element_lists import ElementLists
from flinkish.runtime.columns.open_sessions import OpenSession, OpenSessions
from flinkish.runtime.columns.panes import Positions
from flinkish.runtime.columns.session_columns import SessionColumns
from flinkish.runtime.columns.session_runs import FARTHEST
from flinkish.runtime.columns.tracing.column_fold import ColumnFold
from flinkish.runtime.columns.tracing.column_function import ColumnFunction, column_function
from flinkish.runtime.columns.tracing.emissions import Emitted
from flinkish.runtime.columns.window_functions import WindowFunctionPath
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.keyed import keys_of
from flinkish.runtime.records.frames import Frame, Marks
from flinkish.runtime.records.keys import records_at
from flinkish.runtime.records.records import Hashes, Records, Timestamps, untimed
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.state.backend import Timer
from flinkish.runtime.windowing.session_windows import SessionWindowOperator
from flinkish.runtime.windowing.window_contents import TABLE


class _Firing:
    """Sessions of columns that are due, of which some have fired."""

    def __init__(self, sessions: OpenSessions, function: WindowFunctionPath) -> None:
        self._sessions = sessions
        self._function = function
        self._fired = 0
        self.lasts = sessions.ends - 1
        """The timestamp at which each fires."""

    def advance(self, until: int) -> tuple[int, int]:
        """The range of positions of the next sessions to fire, at or before ``until``."""
        start = self._fired
        self._fired = int(np.searchsorted(self.lasts, until, side="right"))
        return start, self._fired

    @cached_property
    def emitted(self) -> Emitted | None:
        """The results of all these sessions; None if functions have to be called for each."""
        sessions = self._sessions
        results = sessions.results()
        if results is None:
            return None
        return self._function.process(results, sessions.keys, sessions.starts, sessions.ends)

    def records(self, emitted: Emitted, start: int, end: int) -> Records | None:
        """The results of the sessions from ``start`` to before ``end``; None if they emit
        nothing."""
        first, last = np.searchsorted(emitted.positions, (start, end)).tolist()
        if emitted.results is None or first == last:
            return None
        timestamps = self.lasts[emitted.positions[first:last]]
        return Records(emitted.results.between(first, last), timestamps)

    def frame(self, emitted: Emitted, watermarks: Sequence[int]) -> Frame:
        """The results of all sessions, with the watermarks at which they fire."""
        records = self.records(emitted, 0, len(self._sessions)) or untimed([])
        places = np.searchsorted(records.timestamps, watermarks, side="right")
        return Frame(records, Marks.of(places, watermarks))

    def between(self, start: int, end: int) -> OpenSessions:
        """The sessions from ``start`` to before ``end``."""
        return self._sessions.at(np.arange(start, end))


class ColumnSessionWindows(SessionWindowOperator):
    """A ``SessionWindowOperator`` that keeps sessions as columns, without timers
    (``SessionColumns``), if their elements are columns and the functions can be traced: the
    aggregation, if there is one, and the gap extractor of a dynamic gap.

    The sessions of a key are kept either there or one by one. ``_deoptimize`` moves the sessions of
    a key that columns cannot represent to the operator.
    """

    def __init__(self, context: OperatorContext, description: WindowOperatorDescription) -> None:
        super().__init__(context, description)
        aggregation, assigner = description.aggregation, description.assigner
        self._fold = ElementLists() if aggregation is None else ColumnFold(aggregation)
        self._gap: int | ColumnFunction | None = None
        if type(assigner) is EventTimeSessionWindows:
            self._gap = assigner.sessionTimeout
        elif type(assigner) is DynamicEventTimeSessionWindows:
            self._gap = column_function(assigner._gap, traces=self.tracesFunctions)

    def open(self) -> None:
        super().open()
        self._function_path = WindowFunctionPath(self, self._description)
        rows = self.backend.keyedColumnTable(TABLE)
        dynamic = isinstance(self._gap, ColumnFunction)
        self._columns = SessionColumns(rows, self._fold, self._description.allowedLateness, dynamic)
        self._adds_columns = self._gap is not None and not self._function.clears
        self._firing: list[_Firing] = []

    def _restored_timers(self, snapshot: dict[str, Any]) -> int:
        if len(self._columns) and not self._adds_columns:
            # The job before this one had another assigner, or a function without clear()
            self._deoptimize(self._columns.takenAll())
        return super()._restored_timers(snapshot)

    def _timers_of_sessions(self) -> int:
        return super()._timers_of_sessions() + self._columns.timers(self.currentWatermark)

    def nextEventTimeTimer(self) -> int | None:
        return earliest([super().nextEventTimeTimer(), self._columns.nextDue()])

    # ------------------------------------------------------------------ elements

    def processRecords(self, records: Records) -> None:
        singly = self._process_columns(records, np.full(len(records), self.currentWatermark))
        if singly is None:
            if len(self._columns):
                self._keep_apart(set(keys_of(records)), records.hashes)
            super().processRecords(records)
            return
        self.metrics.numRecordsIn += len(records) - len(singly)
        if len(singly):
            super().processRecords(records_at(records, singly))

    def processFrame(self, frame: Frame) -> None:
        """Add the elements together; those to add one by one in their place among the watermarks."""
        records, singly = frame.records, None
        if frame.marks.onlyWatermarks:
            singly = self._process_columns(records, frame.watermarks(self.currentWatermark))
        if singly is None:
            super().processFrame(frame)
            return
        self.metrics.numRecordsIn += len(records) - len(singly)
        apart = records_at(records, singly).listed()
        *before, left = frame.watermarksBefore(singly)
        for number, watermarks in enumerate(before):
            self.processWatermarks(watermarks)
            super().processRecords(apart.slice(number, number + 1))
        self.processWatermarks(left)

    def _process_columns(self, records: Records, watermarks: Timestamps) -> Positions | None:
        """Add elements as columns; ``watermarks``: the watermark before each. Returns the positions of
        those to add one by one; None: all."""
        if not (self._adds_columns and self.tracesFunctions and len(records)):
            return None
        if not isinstance(records.values, RowColumns):
            return None
        ends = self._ends(records)
        if ends is None:
            return None
        sets = self._merging_sets
        assert sets is not None
        added = self._columns.add(
            records,
            ends,
            watermarks,
            self.currentWatermark,
            (lambda key: sets.get(key, None) is not None) if len(sets) else None,
        )
        if added is None:
            return None
        self._timer_count += added.timers
        if added.apart:
            self._keep_apart(added.apart, records.hashes)
        if self._late_tag is None:
            self.metrics.numLateRecordsDropped += len(added.late)
            return added.left
        return np.sort(np.concatenate([added.left, added.late]))

    def _ends(self, records: Records) -> Timestamps | None:
        """The end of each element's own window; None if the gap extractor has to be called for each
        element, or if a time comes too near to the ends of 64 bits."""
        timestamps, gap = records.timestamps, self._gap
        gaps: Timestamps | None = None
        if isinstance(gap, int):
            gaps = np.array([gap])
        elif gap is not None:
            gaps = gap.integers(records.values)
        if gaps is None or int(gaps.min()) <= 0:
            return None
        longest = int(gaps.max()) + self._description.allowedLateness
        if int(timestamps.min()) < -FARTHEST or int(timestamps.max()) + longest > FARTHEST:
            return None
        return timestamps + gaps

    def _keep_apart(self, keys: Set[Any], hashes: Hashes | None) -> None:
        """Keep the sessions of ``keys`` one by one from now on; ``hashes`` include those of
        ``keys``."""
        assert hashes is not None
        self._deoptimize(self._columns.taken(keys, hashes))

    def _deoptimize(self, taken: Iterable[OpenSession]) -> None:
        """Move sessions that were columns to the operator."""
        sessions: dict[Any, list[OpenSession]] = {}
        for session in taken:
            sessions.setdefault(session.key, []).append(session)
        for key, of_key in sessions.items():
            self.keepOpen(key, [(s.window, s.stateWindow, s.accumulator) for s in of_key])

    # ------------------------------------------------------------------ time

    def processWatermark(self, timestamp: int) -> None:
        before, self.currentWatermark = self.currentWatermark, timestamp
        self._note_due(before, timestamp)
        self._fire(self.timers.advanceWatermark, timestamp)
        self._fire_columns(timestamp)
        self._firing = []
        self.output.emitWatermark(timestamp)

    def processWatermarks(self, timestamps: Sequence[int]) -> None:
        """Fire the sessions of columns that are due together, if no session kept one by one is."""
        timer = super().nextEventTimeTimer()
        if not timestamps or (timer is not None and timer <= timestamps[-1]):
            super().processWatermarks(timestamps)
            return
        self._note_due(self.currentWatermark, timestamps[-1])
        together = len(self._firing) == 1 and self.tracesFunctions
        emitted = self._firing[0].emitted if together else None
        if emitted is not None:
            self.skipToWatermark(timestamps[-1])
            self.output.emitFrame(self._firing[0].frame(emitted, timestamps))
        elif not self._firing:
            self.skipToWatermark(timestamps[-1])
            self.output.emitWatermarks(timestamps)
        else:
            for timestamp in timestamps:
                self.skipToWatermark(timestamp)
                self._fire_columns(timestamp)
                self.output.emitWatermark(timestamp)
        self._firing = []

    def _note_due(self, before: int, until: int) -> None:
        """Note the sessions of columns that fire after the watermark ``before``, at or before
        ``until``."""
        due = self._columns.due(before, until)
        if due is not None:
            self._timer_count -= due.timers
            self._firing = [_Firing(sessions, self._function_path) for sessions in due.firing]

    def _fire_columns(self, until: int) -> None:
        """Fire the sessions of columns that end at or before ``until``."""
        for firing in self._firing:
            start, end = firing.advance(until)
            if start == end:
                continue
            emitted = firing.emitted if self.tracesFunctions else None
            if emitted is not None:
                records = firing.records(emitted, start, end)
                if records is not None:
                    self.output.emitRecords(records)
                continue
            for session in firing.between(start, end).singly():
                self.backend.currentKey = session.key
                with self.userCode((session.key, session.window)):
                    elements = self._contents.elementsOf(session.accumulator)
                    if elements is not None:
                        self._function.process(session.key, session.window, elements)

    def onEventTime(self, timer: Timer) -> None:
        self._fire_columns(timer.timestamp - 1)
        self.backend.currentKey = timer.key
        super().onEventTime(timer)
