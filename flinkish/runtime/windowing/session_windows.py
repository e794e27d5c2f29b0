"""``SessionWindowOperator``: event-time sessions under the default trigger, with few timers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flinkish.api.errors import MissingTimestampError
from flinkish.api.plan.windows import WindowOperatorDescription
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.records.elements import NO_TIMESTAMP
from flinkish.runtime.state.backend import Timer
from flinkish.runtime.windowing.window_lifetime import WindowLifetime
from flinkish.runtime.windowing.window_operator import WindowOperator


class SessionWindowOperator(WindowOperator):
    """A ``WindowOperator`` for ``EventTimeTrigger`` over sessions: the same results, but a session
    that grows leaves its timer where it is.

    Timers are under the *state window*, which stays while a session grows. One that is due before
    its session registers itself anew, for the time that the session has by then. So there always is
    one at or before the next thing to happen to a session; ``numEventTimeTimers`` counts those that
    ``WindowOperator`` would have.
    """

    def __init__(self, context: OperatorContext, description: WindowOperatorDescription) -> None:
        super().__init__(context, description)
        self._lifetime = WindowLifetime(description.allowedLateness)
        self._timer_count = 0
        self._woken = False
        """Whether a session that had fired has grown."""

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        super().restore(snapshot)
        self._timer_count = 0 if snapshot is None else snapshot["timers"]

    def snapshot(self) -> dict[str, Any]:
        return {**super().snapshot(), "timers": self._timer_count}

    def numEventTimeTimers(self) -> int:
        return self._timer_count

    # ------------------------------------------------------------------ elements

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

    def onEventTime(self, timer: Timer) -> None:
        self.timer = timer
        time, state_window = timer.timestamp, timer.namespace
        sessions = self._merging_windows()
        session = sessions.windowOf(state_window)
        if session is None:
            return  # it has become part of another
        expiry = self._lifetime.expiry(session)
        if time == session.maxTimestamp():
            self._timer_count -= 1
            self._fire_window(session, state_window)
        elif time == expiry:
            self._timer_count -= 1
        if time == expiry:
            self._contents.clear(state_window)
            self._function.clear(session)
            sessions.retireWindow(session)
            sessions.persist()
        else:
            self._wake(state_window, self._lifetime.due(session, time))

    def _wake(self, state_window: Any, time: int | None) -> None:
        if time is not None:
            self.timers.registerEventTimeTimer(state_window, time)
