"""Tells when an input has been without elements for too long."""

from __future__ import annotations


class IdlenessTimer:
    """Counts elements, and looks from time to time whether there were any since the last look.

    The time without elements begins at the first look that finds none (Flink:
    ``WatermarksWithIdleness.IdlenessTimer``).
    """

    def __init__(self, timeout: int) -> None:
        self._timeout = timeout
        self._counter = 0
        self._last_counter = 0
        self._since: int | None = None

    def activity(self) -> None:
        """An element has come."""
        self._counter += 1

    def isIdle(self, now: int) -> bool:
        """Look, at the time ``now`` (ms)."""
        if self._counter != self._last_counter:
            self._last_counter = self._counter
            self._since = None
            return False
        if self._since is None:
            self._since = now
            return False
        return now - self._since > self._timeout

    def due(self) -> int | None:
        """When a look can find the input idle, if nothing comes; None if not begun."""
        return None if self._since is None else self._since + self._timeout + 1

    def snapshot(self) -> tuple[int, int, int | None]:
        """What ``restore`` takes."""
        return self._counter, self._last_counter, self._since

    def restore(self, snapshot: tuple[int, int, int | None]) -> None:
        """Go on from there."""
        self._counter, self._last_counter, self._since = snapshot
