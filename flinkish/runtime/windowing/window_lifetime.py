"""``WindowLifetime``: when event-time windows under the default trigger fire and are removed."""

from __future__ import annotations

from dataclasses import dataclass

from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.api.windowing.windows import Window


@dataclass(eq=False, repr=False, slots=True)
class WindowLifetime:
    """The times at which event-time windows under ``EventTimeTrigger`` fire and are removed.

    A window fires at its last timestamp, and expires ``allowedLateness`` ms later. Operators
    without a timer for each pane compute the number of timers that ``WindowOperator`` would have
    from this class.
    """

    _lateness: int

    def expiry(self, window: Window) -> int | None:
        """The time at which ``window`` is removed; None if the end of the input comes first."""
        end = window.maxTimestamp()
        time = end + self._lateness
        if time < MAX_TIMESTAMP:
            return time
        return end if end == MAX_TIMESTAMP else None

    def isLate(self, window: Window, watermark: int) -> bool:
        return min(window.maxTimestamp() + self._lateness, MAX_TIMESTAMP) <= watermark

    def due(self, window: Window, now: int) -> int | None:
        """The time at which ``window`` next fires or expires after ``now``; None if never."""
        end = window.maxTimestamp()
        if end > now:
            return end
        expiry = self.expiry(window)
        return expiry if expiry is not None and expiry > now else None

    def timers(self, window: Window, watermark: int) -> int:
        """The number of timers that ``WindowOperator`` would have for a pane of ``window``: one to
        fire and one to clean up, or a single one where both are due at the same time."""
        end, expiry = window.maxTimestamp(), self.expiry(window)
        return (end > watermark) + (expiry is not None and expiry != end)
