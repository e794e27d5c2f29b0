"""When event-time windows fire and go, under the default trigger."""

from __future__ import annotations

from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.api.windowing.windows import Window


class WindowLifetime:
    """The times of event-time windows under ``EventTimeTrigger``, with an allowed lateness: they
    fire at their end and go at their expiry."""

    __slots__ = ("_lateness",)

    def __init__(self, allowedLateness: int) -> None:
        self._lateness = allowedLateness

    def expiry(self, window: Window) -> int | None:
        """When ``window`` goes; None if it never does, as the job ends before."""
        end = window.maxTimestamp()
        time = end + self._lateness
        if time < MAX_TIMESTAMP:
            return time
        return end if end == MAX_TIMESTAMP else None

    def isLate(self, window: Window, watermark: int) -> bool:
        """Whether ``window`` has gone."""
        return min(window.maxTimestamp() + self._lateness, MAX_TIMESTAMP) <= watermark

    def due(self, window: Window, now: int) -> int | None:
        """When something next happens to ``window`` after ``now``; None if nothing does."""
        end = window.maxTimestamp()
        if end > now:
            return end
        expiry = self.expiry(window)
        return expiry if expiry is not None and expiry > now else None

    def timers(self, window: Window, watermark: int) -> int:
        """How many timers ``WindowOperator`` has of ``window``: that of the trigger and that of the
        cleanup, which are one if they are due together."""
        end, expiry = window.maxTimestamp(), self.expiry(window)
        return (end > watermark) + (expiry is not None and expiry != end)
