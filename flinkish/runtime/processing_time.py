"""The processing-time clock of a task. It only moves when it is told to.

The harness steps it by hand; on Spark it is the batch's timestamp, so that a replayed batch sees
the clock it saw before.
"""

from __future__ import annotations

from flinkish.api.clock import RelativeClock


class ProcessingTimeService(RelativeClock):
    """A clock in ms (Flink: ``ProcessingTimeService``)."""

    __slots__ = ("_now",)

    def __init__(self, now: int = 0) -> None:
        self._now = now

    def getCurrentProcessingTime(self) -> int:
        """The time now, in ms since the epoch."""
        return self._now

    def relativeTimeMillis(self) -> int:
        return self._now

    def begin(self, now: int) -> None:
        """Set the time of another batch, which may be earlier: that of a retried one."""
        self._now = now

    def advanceTo(self, now: int) -> None:
        """Set the time; it never goes back."""
        self._now = max(self._now, now)
