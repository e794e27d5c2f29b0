"""Runs windows over lifetimes, those of each key apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flinkish.api.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Watermark
from flinkish.api.errors import InvalidProgramError, shown
from flinkish.api.functions import Collector
from flinkish.api.lifetime_windows import LifetimeWindowDescription
from flinkish.api.returned_results import results_of
from flinkish.api.temporal_events import EdgeEvent, EdgeType, IntervalEvent, PointEvent
from flinkish.api.windowing.windows import TimeWindow
from flinkish.runtime.elements import Records
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext
from flinkish.runtime.operators.keyed_operator import TimerOperator, keyed_elements
from flinkish.runtime.operators.timestamps_and_watermarks import WatermarkEmitter
from flinkish.runtime.output import Output
from flinkish.runtime.state.backend import Timer
from flinkish.runtime.windowing.lifetime_windows import (
    OPEN,
    Lifetime,
    LifetimeState,
    lifetime_window_logic,
)


class LifetimeWindowOperator(TimerOperator, OneInputOperator):
    """Lifetime windows. The state of a key is one entry; a queue of where the keys' open windows
    begin says how far the outgoing watermark may go."""

    def __init__(self, context: OperatorContext, description: LifetimeWindowDescription) -> None:
        super().__init__(context)
        self._description = description
        self._logic = lifetime_window_logic(description.windows)
        self._table = context.backend.table("lifetimes")
        self._open_windows = context.backend.timerQueue("open-windows")
        self._emitter = WatermarkEmitter(self.output)
        self._collector = ResultCollector(self.output, description)
        self._reached: set[Any] = set()

    def open(self) -> None:
        self.openFunction(self._description.function)

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        super().restore(snapshot)
        self._emitter.restore(MIN_TIMESTAMP if snapshot is None else snapshot["emitted"], False)

    def snapshot(self) -> dict[str, Any]:
        return {**super().snapshot(), "emitted": self._emitter.watermark}

    # ------------------------------------------------------------------ events

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        states: dict[Any, LifetimeState] = {}
        for key, event, _ in keyed_elements(records):
            if not isinstance(event, (PointEvent, IntervalEvent, EdgeEvent)):
                raise InvalidProgramError(
                    f"{self.name}: {shown(event)} has no lifetime. Turn the elements into"
                    " PointEvent, IntervalEvent or EdgeEvent with a map before the windows."
                )
            self.backend.currentKey = key
            if key not in states:
                states[key] = self._table.get(key, None) or LifetimeState([], None)
            if event.syncTime <= self.currentWatermark or not self._take(event, states[key]):
                self._drop(event)
        for key, state in states.items():
            self._keep(key, state)
        self.output.flush()

    def _take(self, event: Any, state: LifetimeState) -> bool:
        """Take the event into ``state``; False for an end of something that is not there."""
        end = OPEN if event.endTime is None else event.endTime
        lifetime = Lifetime(event.startTime, end, event.payload)
        if isinstance(event, EdgeEvent) and event.edgeType is EdgeType.End:
            return self._end(lifetime, state)
        if self._logic.inWindowToCome(lifetime, state.closedUntil):
            self._register(lifetime, state)
            state.lifetimes.append(lifetime)
        return True

    def _end(self, ended: Lifetime, state: LifetimeState) -> bool:
        """Set the end of a lifetime that is open; False if there is none of that start and payload.
        One that has not lasted is in no window."""
        if ended.start < ended.end and not self._logic.needsEnds:
            return True
        try:
            position = state.lifetimes.index(ended._replace(end=OPEN))
        except ValueError:
            return False
        if self._logic.inWindowToCome(ended, state.closedUntil):
            state.lifetimes[position] = ended
            self._register(ended, state)
        else:
            del state.lifetimes[position]
        return True

    def _drop(self, event: Any) -> None:
        if self._description.lateDataOutput is not None:
            self.output.collectSide(self._description.lateDataOutput, event, event.syncTime)
        else:
            self.metrics.numLateRecordsDropped += 1

    # ------------------------------------------------------------------ time

    def processWatermark(self, timestamp: int) -> None:
        self._reached.clear()
        self.currentWatermark = timestamp
        self._fire(self.timers.advanceWatermark, timestamp)
        self.output.flush()
        self._hand_on(timestamp)

    def processWatermarks(self, timestamps: Sequence[int]) -> None:
        for timestamp in timestamps:
            self.processWatermark(timestamp)

    def _hand_on(self, watermark: int) -> None:
        # An increment at c is Watermark(c - 1)
        if watermark == MAX_TIMESTAMP:
            held = watermark
        else:
            since = self._open_since()
            held = self._logic.heldBack(watermark + 1) - 1
            held = held if since is None else min(held, since - 1)
        self._emitter.emitWatermark(Watermark(held))

    def _open_since(self) -> int | None:
        """The earliest start of an open window. Entries of windows closed meanwhile are removed as
        they come up."""
        queue = self._open_windows
        while (first := queue.pollDue(MAX_TIMESTAMP)) is not None:
            state = self._table.get(first.key, None)
            if state is not None and self._logic.openSince(state) == first.timestamp:
                queue.add(first.timestamp, first.key, None)
                return first.timestamp
        return None

    def onEventTime(self, timer: Timer) -> None:
        self.timer = timer
        if timer.key in self._reached:
            return  # all that this watermark closes is closed
        self._reached.add(timer.key)
        state = self._table.get(timer.key, None)
        if state is None:
            return
        increment = min(self.timers.currentWatermark() + 1, MAX_TIMESTAMP)
        windows, left = self._logic.close(state, increment)
        for window, members in windows:
            self._apply(timer.key, window, members)
        for lifetime in left.lifetimes:
            self._register(lifetime, left)
        self._keep(timer.key, left)

    def onProcessingTime(self, timer: Timer) -> None:
        """There are no such timers."""

    def _register(self, lifetime: Lifetime, state: LifetimeState) -> None:
        """Set the timers for what ``lifetime`` closes."""
        for increment in self._logic.closings(lifetime, state.closedUntil):
            self.timers.registerEventTimeTimer(None, increment - 1)

    # ------------------------------------------------------------------ windows

    def _keep(self, key: Any, state: LifetimeState) -> None:
        if not state.lifetimes:
            self._table.remove(key, None)
            return
        self._table.put(key, None, state)
        since = self._logic.openSince(state)
        if since is not None:
            self._open_windows.add(since, key, None)

    def _apply(self, key: Any, window: TimeWindow, members: list[Lifetime]) -> None:
        events = [
            IntervalEvent(max(life.start, window.start), min(life.end, window.end), life.payload)
            for life in members
        ]
        self._collector.window = window
        # An apply call looks at no context
        call: Any = self._description.call
        for payload in results_of(
            call(key, window, None, events, self._collector), "the window function"
        ):
            self._collector.collect(payload)


class ResultCollector(Collector[Any]):
    """Makes an event of each result of ``window``."""

    __slots__ = ("_description", "_output", "window")

    window: TimeWindow

    def __init__(self, output: Output, description: LifetimeWindowDescription) -> None:
        self._output = output
        self._description = description

    def collect(self, value: Any) -> None:
        event = self._description.result(self.window, value)
        self._output.collect(event, event.startTime)
