"""``RelativeClock``: the processing-time clock as user code sees it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from flinkish.api.arguments import integer, time_in_millis


class RelativeClock(ABC):
    """A clock in ms since the epoch that never goes back (Flink: ``RelativeClock``).

    On Spark it stands still during a batch, and shows the same time when the batch is run again.
    """

    __slots__ = ()

    @abstractmethod
    def relativeTimeMillis(self) -> int:
        """The time in ms."""

    def relativeTimeNanos(self) -> int:
        """The time in ns, with a resolution of 1 ms."""
        return self.relativeTimeMillis() * 1_000_000


class ManualClock(RelativeClock):
    """A clock that is set by hand, for tests (Flink: ``ManualClock``)."""

    __slots__ = ("_now",)

    def __init__(self, now: int = 0) -> None:
        self._now = time_in_millis("ManualClock", now)

    def relativeTimeMillis(self) -> int:
        return self._now

    def advanceTime(self, milliseconds: int) -> None:
        """Advance the clock by that many ms."""
        self._now += integer("ManualClock.advanceTime", milliseconds)
