"""Decides which windows over lifetimes a current-time increment closes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple

from flinkish.api.errors import InvalidProgramError, NotSupportedError, shown
from flinkish.api.functions.adapt import results_of
from flinkish.api.functions.functions import Collector
from flinkish.api.stored_names import stored_as
from flinkish.api.time.durations import fits_long
from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Watermark
from flinkish.api.windowing.windows import TimeWindow
from flinkish.compat.streaminsight.events import (
    TICK,
    EdgeEvent,
    EdgeType,
    IntervalEvent,
    PointEvent,
)
from flinkish.compat.streaminsight.lifetimes import LifetimeChangeDescription
from flinkish.compat.streaminsight.windows import (
    CountByStartTimeWindows,
    HoppingLifetimeWindows,
    LifetimeWindowDescription,
    LifetimeWindows,
    SnapshotWindows,
)
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext
from flinkish.runtime.operators.keyed import TimerOperator, keyed_elements
from flinkish.runtime.operators.output import Output
from flinkish.runtime.operators.watermark_assigner import WatermarkEmitter
from flinkish.runtime.records.copies import copied
from flinkish.runtime.records.records import Records
from flinkish.runtime.registry import register_operator
from flinkish.runtime.state.backend import Timer

OPEN = MAX_TIMESTAMP
"""The end of a lifetime whose end is not known yet."""


@stored_as("streaminsight.Lifetime")
class Lifetime(NamedTuple):
    """What is kept of an event."""

    start: int
    end: int
    payload: Any


@stored_as("streaminsight.LifetimeState")
class LifetimeState(NamedTuple):
    """What is kept of a key: the lifetimes that later windows need, in the order in which they came,
    and up to where windows have closed."""

    lifetimes: list[Lifetime]
    closedUntil: int | None


Members = tuple[TimeWindow, list[Lifetime]]


class LifetimeWindowLogic(ABC):
    """Decides how the windows of one kind close. An *increment* at c says that nothing before c will
    change."""

    needsEnds: ClassVar[bool] = True
    """Whether it matters where lifetimes end, beyond whether they have lasted at all."""

    @abstractmethod
    def closings(self, lifetime: Lifetime, closedUntil: int | None) -> Iterator[int]:
        """The first increments that close a window because of ``lifetime``."""

    def inWindowToCome(self, lifetime: Lifetime, closedUntil: int | None) -> bool:
        """Whether ``lifetime`` matters to a window that has not closed yet."""
        return any(True for _ in self.closings(lifetime, closedUntil))

    @abstractmethod
    def close(self, state: LifetimeState, increment: int) -> tuple[list[Members], LifetimeState]:
        """The windows that ``increment`` closes, and what is left."""

    def openSince(self, state: LifetimeState) -> int | None:
        """Where the open window of a key begins, if its result may yet begin before the
        increment."""
        return None

    def heldBack(self, increment: int) -> int:
        """The increment that goes out for ``increment``, whatever the keys have."""
        return increment


class HoppingLogic(LifetimeWindowLogic):
    """Windows of a grid."""

    def __init__(self, windows: HoppingLifetimeWindows) -> None:
        self._size, self._hop, self._offset = windows.size, windows.hop, windows.offset

    def closings(self, lifetime: Lifetime, closedUntil: int | None) -> Iterator[int]:
        since = lifetime.start if closedUntil is None else max(lifetime.start, closedUntil)
        end = self._first_end_after(since)
        if lifetime.start < lifetime.end and end - self._size < lifetime.end:
            yield end

    def close(self, state: LifetimeState, increment: int) -> tuple[list[Members], LifetimeState]:
        ends: set[int] = set()
        # An open lifetime would be in infinitely many windows
        horizon = self._last_change(state) if increment == MAX_TIMESTAMP else OPEN
        for lifetime in state.lifetimes:
            until = min(lifetime.end, horizon)
            for end in self.closings(lifetime, state.closedUntil):
                while end <= increment and end - self._size < until:
                    ends.add(end)
                    end += self._hop
        windows = [TimeWindow(end - self._size, end) for end in sorted(ends)]
        open_from = self._first_end_after(increment) - self._size
        left = [life for life in state.lifetimes if life.end > open_from]
        return with_members(windows, state.lifetimes), _left(left, increment, increment)

    def heldBack(self, increment: int) -> int:
        if increment == MAX_TIMESTAMP:
            return increment
        return min(increment, self._first_end_after(increment) - self._size)

    def _first_end_after(self, time: int) -> int:
        ended = (time - self._offset - self._size) // self._hop
        return self._offset + (ended + 1) * self._hop + self._size

    def _last_change(self, state: LifetimeState) -> int:
        return max(life.start + TICK if life.end == OPEN else life.end for life in state.lifetimes)


class SnapshotLogic(LifetimeWindowLogic):
    """Windows from change to change."""

    def closings(self, lifetime: Lifetime, closedUntil: int | None) -> Iterator[int]:
        for change in (lifetime.start, lifetime.end):
            if change != OPEN and (closedUntil is None or change > closedUntil):
                yield change

    def inWindowToCome(self, lifetime: Lifetime, closedUntil: int | None) -> bool:
        # What begins where a snapshot has closed closes none itself while its end is open
        return closedUntil is None or lifetime.end > closedUntil

    def close(self, state: LifetimeState, increment: int) -> tuple[list[Members], LifetimeState]:
        lifetimes, closed_until = state
        changes = {
            change
            for lifetime in lifetimes
            for change in (lifetime.start, lifetime.end)
            if change <= increment and change != OPEN
        }
        if closed_until is not None:
            changes = {closed_until, *(change for change in changes if change > closed_until)}
        windows = [TimeWindow(start, end) for start, end in pairwise(sorted(changes))]
        until = max(changes, default=closed_until)
        left = [life for life in lifetimes if until is None or life.end > until]
        return with_members(windows, lifetimes), _left(left, until, increment)

    def openSince(self, state: LifetimeState) -> int | None:
        since = state.closedUntil
        if since is not None and any(life.start <= since < life.end for life in state.lifetimes):
            return since
        return None


class CountByStartTimeLogic(LifetimeWindowLogic):
    """Windows over a number of starts."""

    needsEnds = False

    def __init__(self, windows: CountByStartTimeWindows) -> None:
        self._count = windows.count

    def closings(self, lifetime: Lifetime, closedUntil: int | None) -> Iterator[int]:
        lasts = lifetime.start < lifetime.end
        if lasts and (closedUntil is None or lifetime.start > closedUntil):
            yield lifetime.start + TICK

    def close(self, state: LifetimeState, increment: int) -> tuple[list[Members], LifetimeState]:
        lifetimes, closed_until = state
        starts = sorted({life.start for life in lifetimes if life.start < increment})
        windows = [
            TimeWindow(first, last + TICK)
            for first, last in zip(starts, starts[self._count - 1 :])
            if closed_until is None or last > closed_until
        ]
        points = [Lifetime(life.start, life.start + TICK, life) for life in lifetimes]
        members = [
            (window, [point.payload for point in inside])
            for window, inside in with_members(windows, points)
        ]
        needed = starts[-self._count :][1:] if len(starts) >= self._count else starts
        keep_from = needed[0] if needed else increment
        left = [life for life in lifetimes if life.start >= keep_from]
        return members, _left(left, starts[-1] if starts else closed_until, increment)


def with_members(windows: Iterable[TimeWindow], lifetimes: list[Lifetime]) -> list[Members]:
    """Each window that lifetimes overlap, with these, in the order in which they came.
    Neither the starts nor the ends of the windows may decrease."""
    coming = deque(sorted(enumerate(lifetimes), key=lambda item: item[1].start))
    living: list[tuple[int, Lifetime]] = []
    found = []
    for window in windows:
        while coming and coming[0][1].start < window.end:
            living.append(coming.popleft())
        living = [item for item in living if item[1].end > window.start]
        if living:
            found.append((window, [life for _, life in sorted(living, key=itemgetter(0))]))
    return found


def _left(lifetimes: list[Lifetime], closedUntil: int | None, increment: int) -> LifetimeState:
    """Keeps nothing after an increment at infinity."""
    return LifetimeState([] if increment == MAX_TIMESTAMP else lifetimes, closedUntil)


def lifetime_window_logic(windows: LifetimeWindows) -> LifetimeWindowLogic:
    """The logic of windows as the user describes them."""
    if isinstance(windows, HoppingLifetimeWindows):
        return HoppingLogic(windows)
    if isinstance(windows, SnapshotWindows):
        return SnapshotLogic()
    if isinstance(windows, CountByStartTimeWindows):
        return CountByStartTimeLogic(windows)
    raise TypeError(f"unknown windows {windows!r}")


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
            if max(self._logic.closings(lifetime, state.closedUntil), default=0) > MAX_TIMESTAMP:
                raise NotSupportedError(
                    f"{self.name}: a window of {shown(event)} would end after the largest timestamp,"
                    f" {MAX_TIMESTAMP}, so it would never close. Give the event another time."
                )
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
        """Never called: this operator registers no processing-time timers."""

    def _register(self, lifetime: Lifetime, state: LifetimeState) -> None:
        """Set the timers for what ``lifetime`` closes."""
        for increment in self._logic.closings(lifetime, state.closedUntil):
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

    def _apply(self, key: Any, window: TimeWindow, members: list[Lifetime]) -> None:
        events = [
            IntervalEvent(
                max(life.start, window.start), min(life.end, window.end), copied(life.payload)
            )
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
