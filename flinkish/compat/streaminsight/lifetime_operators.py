"""The operators of windows over lifetimes and of changes of lifetimes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from flinkish.api.errors import InvalidProgramError, NotSupportedError, shown
from flinkish.api.functions.adapt import results_of
from flinkish.api.functions.functions import Collector
from flinkish.api.time.durations import fits_long
from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Watermark
from flinkish.api.windowing.windows import TimeWindow
from flinkish.compat.streaminsight.events import (
    EdgeEvent,
    EdgeType,
    IntervalEvent,
    PointEvent,
    part_of_interval,
)
from flinkish.compat.streaminsight.lifetime_columns import (
    ClosingPoints,
    lifetimes_by_key,
    starts_of,
)
from flinkish.compat.streaminsight.lifetime_logic import (
    OPEN,
    Lifetime,
    LifetimeState,
    Members,
    lifetime_window_logic,
)
from flinkish.compat.streaminsight.lifetimes import LifetimeChangeDescription
from flinkish.compat.streaminsight.windows import LifetimeWindowDescription
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext
from flinkish.runtime.operators.keyed import TimerOperator, keyed_elements, keys_of
from flinkish.runtime.operators.output import Output
from flinkish.runtime.operators.watermark_assigner import WatermarkEmitter
from flinkish.runtime.records.copies import copied
from flinkish.runtime.records.frames import Frame
from flinkish.runtime.records.records import Records
from flinkish.runtime.registry import register_operator
from flinkish.runtime.state.backend import Timer


class LifetimeChangeOperator(OneInputOperator):
    """``shiftEventTime``, ``alterEventLifetime`` and ``alterEventDuration``, without state."""

    def __init__(self, context: OperatorContext, description: LifetimeChangeDescription) -> None:
        super().__init__(context)
        self._shift, self._change = description.shift, description.change

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        element: Any = None
        with self.userCodeOf(lambda: element):
            for element in records.values:
                event = self._change(element)
                if event is not None:
                    if not fits_long(event.syncTime):
                        raise NotSupportedError(
                            f"{self.name}: {shown(element)} would be at {event.syncTime} ms, which 64 bits do not"
                            " hold."
                        )
                    self.output.collect(event, event.syncTime)
        self.output.flush()

    def processWatermark(self, timestamp: int) -> None:
        self.processWatermarks((timestamp,))

    def processWatermarks(self, timestamps: Sequence[int]) -> None:
        self.skipToWatermark(timestamps[-1])
        self.output.emitWatermarks([self._shifted(timestamp) for timestamp in timestamps])

    def _shifted(self, timestamp: int) -> int:
        if timestamp == MAX_TIMESTAMP:
            return timestamp
        return min(max(timestamp + self._shift, MIN_TIMESTAMP), MAX_TIMESTAMP - 1)


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
        self._points: ClosingPoints | None = None
        """While the watermarks of a frame are processed, its points."""
        self._closed: dict[Any, tuple[Timer, list[Members]]] = {}
        """By key the windows that the watermarks at hand close, and the timer that says so."""
        self._shared: dict[int, IntervalEvent[Any]] = {}
        """While watermarks are processed, the events that windows may share, as they neither can change nor are cut:
        by the identity of their lifetimes."""
        self._sharing: list[Lifetime] = []
        """Their lifetimes, kept so that no other gets the identity of one."""

    def open(self) -> None:
        self.openFunction(self._description.function)

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        super().restore(snapshot)
        self._emitter.restore(MIN_TIMESTAMP if snapshot is None else snapshot["emitted"], False)

    def snapshot(self) -> dict[str, Any]:
        return {**super().snapshot(), "emitted": self._emitter.watermark}

    # ------------------------------------------------------------------ events

    def processFrame(self, frame: Frame) -> None:
        """Add the events together that come before and after increments, if those close the same windows either
        way."""
        if not (frame.marks.onlyWatermarks and self._take_all(frame)):
            super().processFrame(frame)
            return
        self.metrics.numRecordsIn += len(frame.records)
        self.output.flush()
        self.processWatermarks(frame.marks.watermarks.tolist())

    def _take_all(self, frame: Frame) -> bool:
        """Take all events of a frame that are not late, key by key. False, with nothing done, if events place the
        windows, or if some have no known end or would be in windows that do not close."""
        reach, events = self._logic.reach, frame.records.values
        if reach is None or not len(events):
            return False
        starts = starts_of(events)
        if starts is None:
            return False
        late = starts <= frame.watermarks(self.currentWatermark)
        dropped = int(late.sum())
        if int(starts.max()) + reach > MAX_TIMESTAMP:
            return False
        if dropped and self._description.lateDataOutput is not None:
            return False  # they keep their place among the increments
        self.metrics.numLateRecordsDropped += dropped
        keys = list(keys_of(frame.records))
        self._points = ClosingPoints.of(self._description.windows, frame, keys, starts, ~late)
        if self._points is None:
            self._add(lifetimes_by_key(keys, events, ~late), None)
        return True

    def _add(self, lifetimes: Mapping[Any, list[Lifetime]], closedUntil: int | None) -> None:
        """Add lifetimes by key. ``closedUntil``: up to where windows have closed, if it is known."""
        for key, added in lifetimes.items():
            self.backend.currentKey = key
            state = self._table.get(key, None) or LifetimeState([], None)
            if closedUntil is not None:
                state = state._replace(closedUntil=closedUntil)
            new = self._logic.inWindowsToCome(added)
            self._register(LifetimeState(new, state.closedUntil))
            state.lifetimes.extend(new)
            self._keep(key, state)

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
            if max(self._logic.closings(lifetime, state.closedUntil), default=0) > MAX_TIMESTAMP:
                raise NotSupportedError(
                    f"{self.name}: a window of {shown(event)} would end after the largest timestamp,"
                    f" {MAX_TIMESTAMP}, so it would never close. Give the event another time."
                )
            self._register(LifetimeState([lifetime], state.closedUntil))
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
            self._register(LifetimeState([ended], state.closedUntil))
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
        self._advance((timestamp,))
        self._forget_shared()

    def processWatermarks(self, timestamps: Sequence[int]) -> None:
        changing = self._logic.changing(self.currentWatermark, timestamps)
        if self._logic.reach is None:
            parts = [[each] for each in changing]
        else:
            # What an increment at infinity closes depends on what is left then: on the events that have not ended
            parts = [[each for each in changing if each < MAX_TIMESTAMP]]
            parts += [[each] for each in changing[-1:] if each == MAX_TIMESTAMP]
        for number, part in enumerate(parts):
            if part:
                self._advance(part)
            if self._points is not None and not number:
                # Before an increment at infinity, which closes their windows
                self._add(self._points.staying, self._points.increment)
                self._points = None
        self._forget_shared()
        if timestamps and timestamps[-1] > self.currentWatermark:
            self.skipToWatermark(timestamps[-1])

    def _advance(self, watermarks: Sequence[int]) -> None:
        """Pass rising watermarks: each key closes at once what they close, and the results of each come before it."""
        self._closed.clear()
        self.currentWatermark = watermarks[-1]
        self._fire(self.timers.advanceWatermark, watermarks[-1])
        closing = {} if self._points is None else self._points.closing
        closed_by: list[list[tuple[Timer, TimeWindow, list[Lifetime], slice | None]]] = [
            [] for _ in watermarks
        ]
        for timer, windows in self._closed.values():
            for window, members in windows:
                place = bisect_left(watermarks, window.maxTimestamp())
                points = closing.pop((timer.key, window), None)
                closed_by[place].append((timer, window, members, points))
        for (key, window), points in closing.items():
            timer = Timer(window.maxTimestamp(), key, None)
            closed_by[bisect_left(watermarks, timer.timestamp)].append((timer, window, [], points))
        if closing:
            for closed in closed_by:
                closed.sort(key=lambda each: each[1].end)
        for watermark, closed in zip(watermarks, closed_by):
            with self.userCodeOf(lambda: self.timer):
                for each in closed:
                    self._apply(*each)
            self.output.flush()
            self._hand_on(watermark)
        self._closed.clear()

    def _forget_shared(self) -> None:
        self._shared, self._sharing = {}, []

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
        if timer.key in self._closed:
            return  # all that this watermark closes is closed
        state = self._table.get(timer.key, None)
        if state is None:
            return
        increment = min(self.timers.currentWatermark() + 1, MAX_TIMESTAMP)
        windows, left = self._logic.close(state, increment)
        self._closed[timer.key] = timer, windows
        self._register(left)
        self._keep(timer.key, left)

    def _register(self, state: LifetimeState) -> None:
        """Set the timers for what the lifetimes of ``state`` close."""
        for increment in self._logic.closingsOf(state):
            if increment <= MAX_TIMESTAMP:  # not so where it is still open when the input ends
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

    def _apply(
        self,
        timer: Timer,
        window: TimeWindow,
        members: list[Lifetime],
        points: slice | None,
    ) -> None:
        events: list[Any] = list(map(self._shared.get, map(id, members)))
        if not all(events):
            events = [e or self._event(life, window) for e, life in zip(events, members)]
        if points is not None and self._points is not None:
            events += self._points.inWindow(points)
        self.timer, self.backend.currentKey = timer, timer.key
        self._collector.window = window
        # An apply call looks at no context
        call: Any = self._description.call
        for payload in results_of(
            call(timer.key, window, None, events, self._collector), "the window function"
        ):
            self._collector.collect(payload)

    def _event(self, life: Lifetime, window: TimeWindow) -> IntervalEvent[Any]:
        """``life`` as an event that is cut to ``window``."""
        start, end = max(life.start, window.start), min(life.end, window.end)
        event = part_of_interval(start, end, copied(life.payload))
        if event.payload is life.payload and start == life.start and end == life.end:
            self._sharing.append(life)
            self._shared[id(life)] = event
        return event


class ResultCollector(Collector[Any]):
    """Emits each result of ``window`` as an event."""

    __slots__ = ("_description", "_output", "window")

    window: TimeWindow

    def __init__(self, output: Output, description: LifetimeWindowDescription) -> None:
        self._output = output
        self._description = description

    def collect(self, value: Any) -> None:
        event = self._description.result(self.window, value)
        self._output.collect(event, event.startTime)


register_operator(LifetimeChangeDescription, LifetimeChangeOperator)
register_operator(LifetimeWindowDescription, LifetimeWindowOperator)
