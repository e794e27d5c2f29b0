"""Which windows over lifetimes a current-time increment closes, as plain functions of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import pairwise
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple

from flinkish.api.elements import MAX_TIMESTAMP
from flinkish.api.lifetime_windows import (
    CountByStartTimeWindows,
    HoppingLifetimeWindows,
    LifetimeWindows,
    SnapshotWindows,
)
from flinkish.api.stored_names import stored_as
from flinkish.api.temporal_events import TICK
from flinkish.api.windowing.windows import TimeWindow

OPEN = MAX_TIMESTAMP
"""The end of a lifetime whose end is not known yet."""


@stored_as("Lifetime")
class Lifetime(NamedTuple):
    """What is kept of an event."""

    start: int
    end: int
    payload: Any


@stored_as("LifetimeState")
class LifetimeState(NamedTuple):
    """What is kept of a key: the lifetimes that later windows need, in the order in which they came,
    and up to where windows have closed."""

    lifetimes: list[Lifetime]
    closedUntil: int | None


Members = tuple[TimeWindow, list[Lifetime]]


class LifetimeWindowLogic(ABC):
    """How the windows of one kind close. An *increment* at c says that nothing before c will
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
        # Windows without number would hold what is open for ever
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
    """Windows of so many starts."""

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
    """Each window that has some with the lifetimes that overlap it, in the order in which they came.
    Of the windows neither starts nor ends may fall."""
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
    """After an increment at infinity nothing is left."""
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
