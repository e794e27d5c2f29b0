"""A single thread that looks at running jobs periodically, for the log, the progress bar and the widget of a
notebook."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

_LOG = logging.getLogger("flinkish")


class Following:
    """A call repeated every few seconds until it returns False, or until it is stopped."""

    def __init__(self, look: Callable[[], bool], seconds: float, due: float) -> None:
        self.look = look
        self.seconds = seconds
        self.due = due
        """The time (s of the monotonic clock) at which the next call is due."""

    def stop(self, timeout: float) -> None:
        """Stop the calls. Waits up to ``timeout`` seconds for one that is running."""
        _FOLLOWER.stop(self, timeout)


def follow(look: Callable[[], bool], seconds: float, first: float = 0.0) -> Following:
    """Call ``look`` after ``first`` seconds, and then every ``seconds`` as long as it returns True.

    An error that ``look`` raises is logged, and ends the calls.
    """
    following = Following(look, seconds, time.monotonic() + first)
    _FOLLOWER.add(following)
    return following


class _Follower:
    """Runs the thread as long as there is something to follow."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._followed: list[Following] = []
        self._looking: Following | None = None
        self._thread: threading.Thread | None = None

    def add(self, following: Following) -> None:
        with self._changed:
            self._followed.append(following)
            self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="flinkish follower", daemon=True
                )
                self._thread.start()

    def stop(self, following: Following, timeout: float) -> None:
        with self._changed:
            if following in self._followed:
                self._followed.remove(following)
                self._changed.notify_all()
            if threading.current_thread() is not self._thread:
                self._changed.wait_for(lambda: self._looking is not following, timeout)

    def _run(self) -> None:
        while (following := self._next()) is not None:
            try:
                goes_on = following.look()
            except Exception:
                _LOG.exception(
                    "The display of a running job has failed, and is not updated any more."
                )
                goes_on = False
            with self._changed:
                self._looking = None
                following.due = time.monotonic() + following.seconds
                if not goes_on and following in self._followed:
                    self._followed.remove(following)
                self._changed.notify_all()

    def _next(self) -> Following | None:
        """The next that is due, once it is; None if nothing is followed any more."""
        with self._changed:
            while self._followed:
                following = min(self._followed, key=lambda each: each.due)
                left = following.due - time.monotonic()
                if left <= 0:
                    self._looking = following
                    return following
                self._changed.wait(left)
            self._thread = None
            return None


_FOLLOWER = _Follower()
