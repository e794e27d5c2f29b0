"""``WindowOperator``: windows of any assigner under any trigger, element by element.

This is the general operator, which defines how windows behave. For the common cases there are
faster operators with the same results: ``SessionWindowOperator``, and in ``runtime/columns``
``AlignedWindowOperator`` and ``ColumnWindowOperator``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flinkish.api.errors import InvalidProgramError, MissingTimestampError, NotSupportedError
from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.api.time.durations import to_long
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.api.windowing.assigners import TumblingEventTimeWindows, TumblingWindows
from flinkish.api.windowing.triggers import TriggerResult
from flinkish.api.windowing.windows import TimeWindow
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext
from flinkish.runtime.operators.keyed import TimerOperator, keyed_elements
from flinkish.runtime.records.records import NO_TIMESTAMP, Records
from flinkish.runtime.state.backend import Timer
from flinkish.runtime.state.keyed_states import KeyedStates
from flinkish.runtime.windowing.merging_window_set import MergingWindowSet
from flinkish.runtime.windowing.window_contents import (
    MERGING_SETS,
    TimestampedContents,
    WindowContents,
    window_contents,
)
from flinkish.runtime.windowing.window_contexts import ClockContext, WindowTriggerContext
from flinkish.runtime.windowing.window_functions import window_function


class WindowOperator(TimerOperator, OneInputOperator):
    """Groups elements by key and window, and emits a group when a trigger says so (Flink:
    ``WindowOperator``).

    The elements with the same key and the same window are a *pane*. An assigner names the windows
    of an element, so one element may be in several panes. Each pane has contents in keyed state
    (the elements, or one accumulator for ``reduce`` and ``aggregate``), trigger state and timers.

    For every window of an element:

    1. A window is late once the watermark has reached its cleanup time, which is its last
       timestamp plus the allowed lateness. Late windows are skipped.
    2. The element is added to the pane, then ``Trigger.onElement`` is called. FIRE calls the window
       function with the contents, PURGE drops them.
    3. A timer is registered for the cleanup time.

    Timers call ``Trigger.onEventTime`` or ``onProcessingTime`` in the same way. The cleanup timer
    then removes the pane with everything that belongs to it: contents, trigger state, and the
    per-window state of the function. An element that is late itself, and whose windows were all
    skipped, goes to the late side output, or is counted in ``numLateRecordsDropped``.

    For the window [0, 1000) with an allowed lateness of 500 ms, the default trigger fires when the
    watermark reaches 999. An element at 700 that comes while the watermark is at 1200 is added, and
    the whole pane fires again. At watermark 1499 the pane is removed; from then on elements of
    that window are late.

    Results have the timestamp ``window.maxTimestamp()``, here 999. In processing time the clock
    takes the place of the watermark, there is no lateness, and the cleanup time is the window's
    last timestamp.

    Windows that merge keep their contents under a *state window* (``MergingWindowSet``), but
    trigger state and timers under the window itself.
    """

    def __init__(self, context: OperatorContext, description: WindowOperatorDescription) -> None:
        super().__init__(context)
        self._description = description
        # A copy, as each operator has its own stagger offset
        self._assigner = copy.copy(description.assigner)
        self._trigger = description.trigger
        self._lateness = description.allowedLateness
        self._late_tag = description.lateDataOutputTag
        self._event_time = self._assigner.isEventTime()
        timers = self.timers
        self._register_timer, self._delete_timer = (
            (timers.registerEventTimeTimer, timers.deleteEventTimeTimer)
            if self._event_time
            else (timers.registerProcessingTimeTimer, timers.deleteProcessingTimeTimer)
        )
        self._merges = description.merges
        self._is_tumbling = type(self._assigner) is TumblingEventTimeWindows
        self._latest: TimeWindow | None = None
        """The window of the last element, if windows are tumbling: often that of the next one."""

    def open(self) -> None:
        backend = self.backend
        self._contents: WindowContents = window_contents(self._description, backend)
        self._merging_sets = backend.table(MERGING_SETS) if self._merges else None
        self._open_windows: dict[Any, MergingWindowSet] = {}
        self._window_states = KeyedStates(backend, self.clock, sweeps=True, ofWindows=True)
        self._assigner_context = ClockContext(self.clock)
        self._trigger_context = WindowTriggerContext(self, self.timers, self._window_states)
        self._function = window_function(self, self._description, self._window_states)

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        super().restore(snapshot)
        if isinstance(self._assigner, TumblingWindows):
            self._assigner.staggerOffset = None if snapshot is None else snapshot["stagger"]
        self._latest = None
        known = (self._lateness,) if snapshot is None else snapshot.get("latenesses", ())
        self._latenesses = {*known, self._lateness}

    def snapshot(self) -> dict[str, Any]:
        stagger = getattr(self._assigner, "staggerOffset", None)
        return {**super().snapshot(), "stagger": stagger, "latenesses": sorted(self._latenesses)}

    # ------------------------------------------------------------------ elements

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        backend = self.backend
        value = None
        with self._keeping_windows(), self.userCodeOf(lambda: value):
            for key, value, timestamp in keyed_elements(records):
                backend.currentKey = key
                self._process_element(value, timestamp)
        self.output.flush()

    def _process_element(self, value: Any, timestamp: int) -> None:
        if timestamp == NO_TIMESTAMP and self._event_time:
            raise MissingTimestampError(self.name, value)
        windows = self._windows_of(value, timestamp)
        skipped = True
        if self._merges:
            merging_windows = self._merging_windows()
            for window in windows:
                actual = merging_windows.addWindow(window, self._merge)
                cleanup = self._cleanup_time(actual)
                if self._is_late(cleanup):
                    merging_windows.retireWindow(actual)
                    continue
                skipped = False
                state_window = merging_windows.getStateWindow(actual)
                self._add(value, timestamp, actual, state_window, cleanup)
        else:
            for window in windows:
                cleanup = self._cleanup_time(window)
                if not self._is_late(cleanup):
                    skipped = False
                    self._add(value, timestamp, window, window, cleanup)
        if skipped:
            self._drop_if_late(value, timestamp)

    def _windows_of(self, value: Any, timestamp: int) -> Collection[Any]:
        latest = self._latest
        if latest is not None and latest.start <= timestamp < latest.end:
            return (latest,)
        windows = self._assigner.assignWindows(value, timestamp, self._assigner_context)
        if self._is_tumbling:
            (self._latest,) = windows
        return windows

    def _drop_if_late(self, value: Any, timestamp: int) -> None:
        if not self._is_late(to_long(timestamp + self._lateness)):
            return
        if self._late_tag is not None:
            self.output.collectSide(self._late_tag.getId(), value, timestamp)
        else:
            self.metrics.numLateRecordsDropped += 1

    def _add(
        self, value: Any, timestamp: int, window: Any, state_window: Any, cleanup: int
    ) -> None:
        self._contents.add(state_window, value, timestamp)
        self._set_window(window)
        result = self._trigger.onElement(value, timestamp, window, self._trigger_context)
        if result is not TriggerResult.CONTINUE:
            self._obey(result, window, state_window)
        self._register_cleanup_timer(window, cleanup)

    def _merge(
        self,
        merge_result: Any,
        merged: Sequence[Any],
        state_window: Any,
        merged_state_windows: Sequence[Any],
    ) -> None:
        self._check_merge_result(merge_result)
        context = self._trigger_context
        self._set_window(merge_result)
        context.mergedWindows = merged
        self._trigger.onMerge(merge_result, context)
        for window in merged:
            self._set_window(window)
            self._trigger.clear(window, context)
            cleanup = self._cleanup_time(window)
            if cleanup != MAX_TIMESTAMP:
                self._delete_timer(window, cleanup)
        self._contents.merge(state_window, merged_state_windows)

    def _check_merge_result(self, window: Any) -> None:
        if self._event_time:
            end, now = window.maxTimestamp() + self._lateness, self.currentWatermark
        else:
            end, now = window.maxTimestamp(), self.clock.getCurrentProcessingTime()
        if to_long(end) > now:
            return
        if end > MAX_TIMESTAMP:
            raise NotSupportedError(
                f"{self.name}: windows were merged into {window}, and its end plus the allowed"
                f" lateness of {self._lateness} ms exceeds the largest timestamp, {MAX_TIMESTAMP}."
                " Choose a smaller allowedLateness."
            )
        kind = "watermark" if self._event_time else "clock"
        raise NotSupportedError(
            f"{self.name}: windows were merged into {window}, which has already ended, as the {kind}"
            f" is at {now}. mergeWindows must not make a window end earlier than its parts."
        )

    # ------------------------------------------------------------------ time

    def _fire(self, advance: Callable[[int], None], time: int) -> None:
        with self._keeping_windows():
            super()._fire(advance, time)

    def advanceProcessingTime(self, now: int) -> None:
        super().advanceProcessingTime(now)
        self._window_states.removeExpired(now)

    def onEventTime(self, timer: Timer) -> None:
        self._on_timer(timer, self._trigger.onEventTime, self._event_time)

    def onProcessingTime(self, timer: Timer) -> None:
        self._on_timer(timer, self._trigger.onProcessingTime, not self._event_time)

    def _on_timer(self, timer: Timer, ask: Any, is_window_time: bool) -> None:
        self.timer = timer
        window = state_window = timer.namespace
        merging_windows = None
        if self._merges:
            merging_windows = self._merging_windows()
            state_window = merging_windows.getStateWindow(window)
            if state_window is None:
                # The window has been removed, but its trigger did not delete this timer
                return
        self._set_window(window)
        result = ask(timer.timestamp, window, self._trigger_context)
        if result is not TriggerResult.CONTINUE:
            self._obey(result, window, state_window)
        if is_window_time:
            cleanup = self._cleanup_time(window)
            if timer.timestamp == cleanup:
                self._clear_all(window, state_window, merging_windows)
            elif len(self._latenesses) > 1 and self._was_cleanup(window, timer.timestamp):
                if timer.timestamp > cleanup:
                    self._clear_all(window, state_window, merging_windows)
                else:
                    self._register_cleanup_timer(window, cleanup)

    # ------------------------------------------------------------------ windows

    def _obey(self, result: TriggerResult, window: Any, state_window: Any) -> None:
        if not isinstance(result, TriggerResult):
            raise InvalidProgramError(
                f"{self.name}: {self._trigger!r} returned {result!r}, but a trigger must return a"
                " TriggerResult, such as TriggerResult.CONTINUE."
            )
        if result.isFire():
            self._fire_window(window, state_window)
        if result.isPurge():
            self._contents.clear(state_window)

    def _fire_window(self, window: Any, state_window: Any) -> None:
        elements = self._contents.elements(state_window)
        if elements is not None:
            self._function.process(self.backend.currentKey, window, elements)

    def _clear_all(
        self, window: Any, state_window: Any, merging_windows: MergingWindowSet | None
    ) -> None:
        self._contents.clear(state_window)
        self._trigger.clear(window, self._trigger_context)
        self._function.clear(window)
        if merging_windows is not None:
            merging_windows.retireWindow(window)

    def _set_window(self, window: Any) -> None:
        self._trigger_context.window = window
        self._window_states.namespace = window

    def _merging_windows(self) -> MergingWindowSet:
        """The open windows of the current key; only while ``_keeping_windows``."""
        key = self.backend.currentKey
        found = self._open_windows.get(key)
        if found is None:
            assert self._merging_sets is not None
            assigner: Any = self._assigner
            found = MergingWindowSet(assigner, self._merging_sets, self.backend)
            self._open_windows[key] = found
        return found

    @contextmanager
    def _keeping_windows(self) -> Iterator[None]:
        """Keep the open windows of keys until the end, and store them then."""
        try:
            yield
        finally:
            for windows in self._open_windows.values():
                windows.persist()
            self._open_windows.clear()

    # ------------------------------------------------------------------ lateness

    def _is_late(self, cleanup: int) -> bool:
        return self._event_time and cleanup <= self.currentWatermark

    def _cleanup_time(self, window: Any) -> int:
        end: int = window.maxTimestamp()
        return min(end + self._lateness, MAX_TIMESTAMP) if self._event_time else end

    def _was_cleanup(self, window: Any, time: int) -> bool:
        """Whether ``time`` is the cleanup time of ``window``, perhaps by a former lateness."""
        return time - window.maxTimestamp() in self._latenesses

    def _register_cleanup_timer(self, window: Any, time: int) -> None:
        if time != MAX_TIMESTAMP:  # the end of the input would come first
            self._register_timer(window, time)


class EvictingWindowOperator(WindowOperator):
    """A ``WindowOperator`` with an evictor (Flink: ``EvictingWindowOperator``).

    An evictor may remove any element before or after the window function sees them, so elements are
    kept with their timestamps and aggregated only when the pane fires. Evicted elements leave the
    state for good. As in Flink, the elements are written back after each firing, including changes
    that functions made to them.
    """

    def _fire_window(self, window: Any, state_window: Any) -> None:
        kept = self._contents.elements(state_window)
        if kept is not None:
            remaining = self._function.process(self.backend.currentKey, window, kept)
            assert isinstance(self._contents, TimestampedContents)
            self._contents.replace(state_window, remaining)
