"""Decides which windows over lifetimes a current-time increment closes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple

from flinkish.api.stored_names import stored_as
from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from flinkish.api.windowing.windows import TimeWindow
from flinkish.compat.streaminsight.events import TICK
from flinkish.compat.streaminsight.windows import (
    CountByStartTimeWindows,
    HoppingLifetimeWindows,
    LifetimeWindows,
    SnapshotWindows,
)

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
    reach: int | None = None
    """Where time alone places the windows: how long after its start, in ms, the first window of an event ends at the
    latest. An event that begins at an increment or later then changes no window that the increment closes."""

    @abstractmethod
    def closings(self, lifetime: Lifetime, closedUntil: int | None) -> Iterator[int]:
        """The first increments that close a window because of ``lifetime``."""

    def inWindowToCome(self, lifetime: Lifetime, closedUntil: int | None) -> bool:
        """Whether ``lifetime`` matters to a window that has not closed yet."""
        return any(True for _ in self.closings(lifetime, closedUntil))

    @abstractmethod
    def close(self, state: LifetimeState, increment: int) -> tuple[list[Members], LifetimeState]:
        """The windows that ``increment`` closes, and what is left."""

    def inWindowsToCome(self, lifetimes: list[Lifetime]) -> list[Lifetime]:
        """Those of ``lifetimes``, which last and begin after every increment so far, that are in a window."""
        return [life for life in lifetimes if self.inWindowToCome(life, None)]

    def closingsOf(self, state: LifetimeState) -> set[int]:
        """``closings`` of all lifetimes of a key."""
        lifetimes, closed_until = state
        return {end for life in lifetimes for end in self.closings(life, closed_until)}

    def changing(self, watermark: int, watermarks: Sequence[int]) -> Sequence[int]:
        """Those of rising ``watermarks``, all above ``watermark``, that may close a window or go out."""
        return watermarks

    def openSince(self, state: LifetimeState) -> int | None:
        """Where the open window of a key begins, if its result may yet begin before the
        increment."""
        return None

    def heldBack(self, increment: int) -> int:
        """The increment that goes out for ``increment``, whatever the keys have."""
        return increment


class HoppingLogic(LifetimeWindowLogic):
    def __init__(self, windows: HoppingLifetimeWindows) -> None:
        self._size, self._hop, self._offset = windows.size, windows.hop, windows.offset
        self.reach = self._size + self._hop

    def closings(self, lifetime: Lifetime, closedUntil: int | None) -> Iterator[int]:
        if self.inWindowToCome(lifetime, closedUntil):
            yield self._first_end_after(_since(lifetime.start, closedUntil))

    def inWindowToCome(self, lifetime: Lifetime, closedUntil: int | None) -> bool:
        start, end, _ = lifetime
        since = _since(start, closedUntil)
        return start < end and self._first_end_after(since) - self._size < end

    def inWindowsToCome(self, lifetimes: list[Lifetime]) -> list[Lifetime]:
        return lifetimes if self._hop <= self._size else super().inWindowsToCome(lifetimes)

    def closingsOf(self, state: LifetimeState) -> set[int]:
        lifetimes, closed_until = state
        least = MIN_TIMESTAMP if closed_until is None else closed_until
        first, hop = self._offset + self._size, self._hop
        starts = [life.start for life in lifetimes]
        ended = {((start if start > least else least) - first) // hop for start in starts}
        return {first + (number + 1) * hop for number in ended}

    def close(self, state: LifetimeState, increment: int) -> tuple[list[Members], LifetimeState]:
        lifetimes, closed_until = state
        # An open lifetime would be in infinitely many windows
        horizon = self._last_change(state) if increment == MAX_TIMESTAMP else OPEN
        coming = sorted(enumerate(lifetimes), key=lambda item: item[1].start)
        living: list[tuple[int, Lifetime]] = []
        windows: list[Members] = []
        end = position = 0
        while living or position < len(coming):
            if not living:
                end = self._first_end_after(_since(coming[position][1].start, closed_until))
            begin = end - self._size
            if end > increment or begin >= horizon:
                break
            came = position
            while position < len(coming) and coming[position][1].start < end:
                position += 1
            living += coming[came:position]
            living = [item for item in living if item[1].end > begin]
            living.sort(key=itemgetter(0))
            if living:
                windows.append((TimeWindow(begin, end), [life for _, life in living]))
            end += self._hop
        open_from = self._first_end_after(increment) - self._size
        left = [life for life in lifetimes if life.end > open_from]
        return windows, _left(left, increment, increment)

    def changing(self, watermark: int, watermarks: Sequence[int]) -> Sequence[int]:
        if self._hop > self._size:
            return watermarks
        found, place = [], bisect_left(watermarks, self._first_end_after(watermark + 1) - 1)
        while place < len(watermarks):
            found.append(watermarks[place])
            due = self._first_end_after(watermarks[place] + 1) - 1
            place = bisect_left(watermarks, due, place + 1)
        if watermarks and watermarks[-1] == MAX_TIMESTAMP and found[-1:] != [MAX_TIMESTAMP]:
            found.append(MAX_TIMESTAMP)
        return found

    def heldBack(self, increment: int) -> int:
        if increment == MAX_TIMESTAMP:
            return increment
        return min(increment, self._first_end_after(increment) - self._size)

    def _first_end_after(self, time: int) -> int:
        ended = (time - self._offset - self._size) // self._hop
        return self._offset + (ended + 1) * self._hop + self._size

    def _last_change(self, state: LifetimeState) -> int:
        return max(life.start + TICK if life.end == OPEN else life.end for life in state.lifetimes)


def _since(start: int, closedUntil: int | None) -> int:
    """From when on something that begins at ``start`` may be in a window that is not closed."""
    return start if closedUntil is None or start > closedUntil else closedUntil


class SnapshotLogic(LifetimeWindowLogic):
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
    if isinstance(windows, HoppingLifetimeWindows):
        return HoppingLogic(windows)
    if isinstance(windows, SnapshotWindows):
        return SnapshotLogic()
    if isinstance(windows, CountByStartTimeWindows):
        return CountByStartTimeLogic(windows)
    raise TypeError(f"unknown windows {windows!r}")
