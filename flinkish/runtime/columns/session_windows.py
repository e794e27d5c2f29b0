"""``SessionWindowOperator``: event-time sessions under the default trigger, a run at a time where it can be.

To understand sessions, read ``MergingWindowSet`` first: it says which windows of a key are open, and
under which of them their contents are stored. ``SessionColumns`` does the same for a run of elements at once.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import cached_property
from typing import Any

import numpy as np

from flinkish.api.errors import MissingTimestampError
from flinkish.api.plan.windows import WindowOperatorDescription
from flinkish.api.time.elements import earliest
from flinkish.api.windowing.assigners import EventTimeSessionWindows
from flinkish.runtime.columns.panes import Positions
from flinkish.runtime.columns.session_columns import (
    FARTHEST,
    OpenSession,
    OpenSessions,
    SessionColumns,
)
from flinkish.runtime.columns.tracing.column_fold import ColumnFold
from flinkish.runtime.columns.tracing.emissions import Emitted
from flinkish.runtime.columns.window_functions import WindowFunctionPath
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.keyed import keys_of
from flinkish.runtime.records.keys import ColumnKeys
from flinkish.runtime.records.records import NO_TIMESTAMP, Hashes, Records
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.state.backend import Timer
from flinkish.runtime.windowing.window_contents import TABLE
from flinkish.runtime.windowing.window_lifetime import WindowLifetime
from flinkish.runtime.windowing.window_operator import WindowOperator


class _Firing:
    """Sessions of columns that fire, up to where they have."""

    def __init__(self, sessions: OpenSessions, function: WindowFunctionPath) -> None:
        self._sessions = sessions
        self._function = function
        self._fired = 0
        self.lasts = sessions.ends - 1
        """When each fires."""

    def advance(self, until: int) -> tuple[int, int]:
        """The positions of those that fire next, at or before ``until``."""
        start = self._fired
        self._fired = int(np.searchsorted(self.lasts, until, side="right"))
        return start, self._fired

    @cached_property
    def emitted(self) -> Emitted | None:
        """What all of them emit; None if functions have to be called for each."""
        sessions = self._sessions
        results = sessions.results()
        if results is None:
            return None
        return self._function.process(results, sessions.keys, sessions.starts, sessions.ends)

    def records(self, emitted: Emitted, start: int, end: int) -> Records | None:
        """What those from ``start`` to before ``end`` emit; None if nothing."""
        first, last = np.searchsorted(emitted.positions, (start, end)).tolist()
        if emitted.results is None or first == last:
            return None
        timestamps = self.lasts[emitted.positions[first:last]]
        return Records(emitted.results.between(first, last), timestamps)

    def between(self, start: int, end: int) -> OpenSessions:
        """The sessions from ``start`` to before ``end``."""
        return self._sessions.at(np.arange(start, end))


class SessionWindowOperator(WindowOperator):
    """A ``WindowOperator`` for sessions under ``EventTimeTrigger``: the same results, but a session
    that grows leaves its timer where it is.

    ``WindowOperator`` deletes a timer and registers another with each element that extends a
    session. Here a timer belongs to the *state window*, which stays the same. When it is due and
    the session has grown meanwhile, it is registered again for the end that the session has by
    then. With a gap of 10 ms and elements at 0, 6 and 12, a timer at 9 finds the session [0, 22)
    and is moved to 21, where the session fires.

    So a session always has a timer at or before the time when it fires or expires.
    ``numEventTimeTimers`` reports the number of timers that ``WindowOperator`` would have.

    Sessions of a fixed gap whose elements are columns, with a function that only computes, are kept as
    columns too and have no timers (``SessionColumns``). A key for which that cannot be is kept as above.
    """

    def __init__(self, context: OperatorContext, description: WindowOperatorDescription) -> None:
        super().__init__(context, description)
        self._lifetime = WindowLifetime(description.allowedLateness)
        self._timer_count = 0
        self._woken = False
        """Whether the current element extended a session that had fired already."""
        aggregation, assigner = description.aggregation, description.assigner
        self._fold = None if aggregation is None else ColumnFold(aggregation)
        self._gap = None
        if type(assigner) is EventTimeSessionWindows:
            self._gap = assigner.sessionTimeout

    def open(self) -> None:
        super().open()
        self._function_path = WindowFunctionPath(self, self._description)
        self._columns = None
        if self._fold is not None:
            rows = self.backend.keyedColumnTable(TABLE)
            self._columns = SessionColumns(
                rows, self._fold, self._gap or 0, self._description.allowedLateness
            )
        self._adds_columns = self._gap is not None and not self._function.clears
        self._firing: list[_Firing] = []

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        super().restore(snapshot)
        if self._columns is not None and len(self._columns) and not self._adds_columns:
            # The job before this one had a fixed gap, or a function without clear()
            self._keep_singly(self._columns.takenAll())
        count = 0 if snapshot is None else snapshot["timers"]
        # None after a change of the key groups: a session has one timer at least
        self._timer_count = self.timers.numEventTimeTimers() if count is None else count
        if snapshot is not None and snapshot.get("lateness", self._lateness) != self._lateness:
            self._timer_count = self._timers_of_sessions()

    def snapshot(self) -> dict[str, Any]:
        return {**super().snapshot(), "timers": self._timer_count, "lateness": self._lateness}

    def _timers_of_sessions(self) -> int:
        """The timers that ``WindowOperator`` would have for what is kept one by one."""
        timers, now = self._lifetime.timers, self.currentWatermark
        kept = () if self._merging_sets is None else self._merging_sets.entries()
        return sum(timers(window, now) for *_, sessions in kept for window, _ in sessions)

    def numEventTimeTimers(self) -> int:
        return max(self._timer_count, 0)

    def nextEventTimeTimer(self) -> int | None:
        times = [super().nextEventTimeTimer()]
        if self._columns is not None:
            times.append(self._columns.nextDue())
        return earliest(times)

    # ------------------------------------------------------------------ elements

    def processRecords(self, records: Records) -> None:
        singly = self._process_columns(records)
        if singly is None:
            if self._columns is not None and len(self._columns):
                self._keep_apart(set(keys_of(records)), records.hashes)
            super().processRecords(records)
            return
        self.metrics.numRecordsIn += len(records) - len(singly)
        if len(singly):
            super().processRecords(_at(records, singly))

    def _process_columns(self, records: Records) -> Positions | None:
        """Add elements as columns. Returns the positions of those that are left; None if all are."""
        columns, gap = self._columns, self._gap
        if columns is None or gap is None or not (self._adds_columns and self.tracesFunctions):
            return None
        if not len(records):
            return None
        lowest, highest = int(records.timestamps.min()), int(records.timestamps.max())
        margin = gap + self._description.allowedLateness
        if lowest < -FARTHEST or highest + margin > FARTHEST:
            return None
        sets = self._merging_sets
        assert sets is not None
        added = columns.add(
            records,
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

    def _keep_apart(self, keys: Set[Any], hashes: Hashes | None) -> None:
        """Keep the sessions of ``keys`` one by one from now on; ``hashes`` are theirs, and may be others too."""
        assert self._columns is not None
        assert hashes is not None
        self._keep_singly(self._columns.taken(keys, hashes))

    def _keep_singly(self, taken: Sequence[OpenSession]) -> None:
        """Keep sessions that were columns one by one."""
        assert self._merging_sets is not None
        sessions: dict[Any, list[Any]] = {}
        for session in taken:
            key, window = session.key, session.window
            self.backend.currentKey = key
            sessions.setdefault(key, []).append((window, window))
            self._contents.put(window, session.accumulator)
            self._wake(window, self._lifetime.due(window, self.currentWatermark))
        for key, windows in sessions.items():
            self._merging_sets.put(key, None, tuple(windows))

    def _process_element(self, value: Any, timestamp: int) -> None:
        if timestamp == NO_TIMESTAMP:
            raise MissingTimestampError(self.name, value)
        (window,) = self._assigner.assignWindows(value, timestamp, self._assigner_context)
        sessions = self._merging_windows()
        session = sessions.addWindow(window, self._merge)
        if self._is_late(session):
            sessions.retireWindow(session)
            self._drop_if_late(value, timestamp)
        else:
            if sessions.isNew:
                self._timer_count += self._lifetime.timers(session, self.currentWatermark)
            self._add(value, timestamp, session, sessions.getStateWindow(session))
        sessions.persist()

    def _add(self, value: Any, timestamp: int, window: Any, state_window: Any) -> None:
        self._contents.add(state_window, value, timestamp)
        if window.maxTimestamp() <= self.currentWatermark:
            self._fire_window(window, state_window)
        if self._woken or window == state_window:
            self._woken = False
            self._wake(state_window, self._lifetime.due(window, self.currentWatermark))

    def _merge(
        self,
        merge_result: Any,
        merged: Sequence[Any],
        state_window: Any,
        merged_state_windows: Sequence[Any],
    ) -> None:
        self._check_merge_result(merge_result)
        for window in merged:
            self._timer_count -= self._lifetime.timers(window, self.currentWatermark)
            if window.maxTimestamp() <= self.currentWatermark:
                self._woken = True
        if merged_state_windows:
            self._contents.merge(state_window, merged_state_windows)

    # ------------------------------------------------------------------ time

    def processWatermark(self, timestamp: int) -> None:
        before, self.currentWatermark = self.currentWatermark, timestamp
        due = None if self._columns is None else self._columns.due(before, timestamp)
        if due is not None:
            self._timer_count -= due.timers
            self._firing = [_Firing(sessions, self._function_path) for sessions in due.firing]
        self._fire(self.timers.advanceWatermark, timestamp)
        self._fire_columns(timestamp)
        self._firing = []
        self.output.emitWatermark(timestamp)

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
        self.timer = timer
        time, state_window = timer.timestamp, timer.namespace
        sessions = self._merging_windows()
        session = sessions.windowOf(state_window)
        if session is None:
            return  # merged into another session, which has a timer of its own
        expiry = self._lifetime.expiry(session)
        if time == session.maxTimestamp():
            self._timer_count -= 1
            self._fire_window(session, state_window)
        elif time == expiry:
            self._timer_count -= 1
        if expiry is not None and time >= expiry:
            self._contents.clear(state_window)
            self._function.clear(session)
            sessions.retireWindow(session)
            sessions.persist()
        else:
            self._wake(state_window, self._lifetime.due(session, time))

    def _wake(self, state_window: Any, time: int | None) -> None:
        if time is not None:
            self.timers.registerEventTimeTimer(state_window, time)


def _at(records: Records, positions: Positions) -> Records:
    """The records at ``positions``, which are columns with a column as key."""
    if len(positions) == len(records):
        return records
    values, keys, hashes = records.values, records.keys, records.hashes
    assert isinstance(values, RowColumns)
    assert isinstance(keys, ColumnKeys)
    assert hashes is not None
    members = values.take(positions)
    return Records(members, records.timestamps[positions], keys.over(members), hashes[positions])
