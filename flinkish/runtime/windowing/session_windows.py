"""``SessionWindowOperator``: event-time sessions under the default trigger.

To understand sessions, read ``MergingWindowSet`` first: it says which windows of a key are open,
and under which of them their contents are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flinkish.api.errors import MissingTimestampError
from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.api.windowing.windows import TimeWindow
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.records.records import NO_TIMESTAMP
from flinkish.runtime.state.backend import Timer
from flinkish.runtime.windowing.window_lifetime import WindowLifetime
from flinkish.runtime.windowing.window_operator import WindowOperator


class SessionWindowOperator(WindowOperator):
    """A ``WindowOperator`` for sessions under ``EventTimeTrigger``, with the same results. It does
    not move the timer of a session that grows.

    ``WindowOperator`` deletes a timer and registers another with each element that extends a
    session. Here a timer belongs to the *state window*, which stays the same. If the session has
    grown by the time the timer is due, the timer is registered again for the session's end at that
    time. With a gap of 10 ms and elements at 0, 6 and 12, a timer at 9 finds the session [0, 22)
    and is moved to 21, when the session fires.

    So a session always has a timer at or before the time when it fires or expires.
    ``numEventTimeTimers`` reports the number of timers that ``WindowOperator`` would have.
    """

    def __init__(self, context: OperatorContext, description: WindowOperatorDescription) -> None:
        super().__init__(context, description)
        self._lifetime = WindowLifetime(description.allowedLateness)
        self._timer_count = 0
        self._woken = False
        """Whether the current element extended a session that had fired already."""

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        super().restore(snapshot)
        self._timer_count = 0 if snapshot is None else self._restored_timers(snapshot)

    def _restored_timers(self, snapshot: dict[str, Any]) -> int:
        if snapshot.get("lateness", self._lateness) != self._lateness:
            return self._timers_of_sessions()
        count: int | None = snapshot["timers"]
        # None after key groups were redistributed: a session has at least one timer
        return self.timers.numEventTimeTimers() if count is None else count

    def snapshot(self) -> dict[str, Any]:
        return {**super().snapshot(), "timers": self._timer_count, "lateness": self._lateness}

    def _timers_of_sessions(self) -> int:
        """The number of timers that ``WindowOperator`` would have for the sessions."""
        timers, now = self._lifetime.timers, self.currentWatermark
        kept = () if self._merging_sets is None else self._merging_sets.entries()
        return sum(timers(window, now) for *_, sessions in kept for window, _ in sessions)

    def numEventTimeTimers(self) -> int:
        return max(self._timer_count, 0)

    # ------------------------------------------------------------------ elements

    def _process_element(self, value: Any, timestamp: int) -> None:
        if timestamp == NO_TIMESTAMP:
            raise MissingTimestampError(self.name, value)
        (window,) = self._assigner.assignWindows(value, timestamp, self._assigner_context)
        sessions = self._merging_windows()
        session = sessions.addWindow(window, self._merge)
        if self._is_late(self._cleanup_time(session)):
            sessions.retireWindow(session)
            self._drop_if_late(value, timestamp)
        else:
            if sessions.isNew:
                self._timer_count += self._lifetime.timers(session, self.currentWatermark)
            self._add_to_session(value, timestamp, session, sessions.getStateWindow(session))

    def _add_to_session(self, value: Any, timestamp: int, window: Any, state_window: Any) -> None:
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

    def keepOpen(self, key: Any, sessions: Sequence[tuple[TimeWindow, TimeWindow, Any]]) -> None:
        """Store open sessions of ``key``, each with its state window and its contents. The key has no
        other sessions, and their timers have been counted already."""
        assert self._merging_sets is not None
        self.backend.currentKey = key
        for window, state_window, contents in sessions:
            self._contents.put(state_window, contents)
            self._wake(state_window, self._lifetime.due(window, self.currentWatermark))
        self._merging_sets.put(key, None, tuple(session[:2] for session in sessions))

    # ------------------------------------------------------------------ time

    def onEventTime(self, timer: Timer) -> None:
        self.timer = timer
        time, state_window = timer.timestamp, timer.namespace
        sessions = self._merging_windows()
        session = sessions.windowOf(state_window)
        if session is None:
            return  # merged into another session, which has its own timer
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
        else:
            self._wake(state_window, self._lifetime.due(session, time))

    def _wake(self, state_window: Any, time: int | None) -> None:
        if time is not None:
            self.timers.registerEventTimeTimer(state_window, time)
