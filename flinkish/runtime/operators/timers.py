"""The timers of an operator, in both time domains."""

from __future__ import annotations

from abc import ABC, abstractmethod
from operator import index

from flinkish.api.errors import shown
from flinkish.api.time.durations import fits_long
from flinkish.api.time.elements import MIN_TIMESTAMP
from flinkish.runtime.state.backend import KeyedStateBackend, Timer
from flinkish.runtime.time.clock import ProcessingTimeService


def timer_timestamp(time: int) -> int:
    """``time``, which a user's function wants a timer at.

    Raises TypeError or ValueError for what is no timestamp: a float would live on as a timer that never
    matches, and beyond 64 bits there is none.
    """
    try:
        timestamp = index(time)
    except TypeError:
        raise TypeError(
            f"a timer at {shown(time)} of type {type(time).__name__} (pass an integer, in ms since the"
            " epoch)"
        ) from None
    if not fits_long(timestamp):
        raise ValueError(
            f"a timer at {timestamp} (timestamps lie between -2**63 and 2**63 - 1 ms; pass"
            " min(time, 2**63 - 1) for a timer at the end of the input)"
        )
    return timestamp


class Triggerable(ABC):
    """Whom the timers call (Flink: ``Triggerable``). The current key is set beforehand."""

    @abstractmethod
    def onEventTime(self, timer: Timer) -> None:
        """Called when the watermark has reached the timer."""

    @abstractmethod
    def onProcessingTime(self, timer: Timer) -> None:
        """Called when the clock has reached the timer."""


class InternalTimerService:
    """Registers, deletes and fires timers of (key, namespace) (Flink: the same name).

    Registering and deleting work under the current key of the backend. Timers fire lowest
    timestamp first; one that a callback registers at or below the time reached fires in the same
    sweep.
    """

    def __init__(
        self,
        name: str,
        backend: KeyedStateBackend,
        clock: ProcessingTimeService,
        target: Triggerable,
    ) -> None:
        self._backend = backend
        self._clock = clock
        self._target = target
        self._event = backend.timerQueue(f"{name}/event")
        self._processing = backend.timerQueue(f"{name}/processing")
        self._watermark = MIN_TIMESTAMP

    def currentProcessingTime(self) -> int:
        """The clock, in ms."""
        return self._clock.getCurrentProcessingTime()

    def currentWatermark(self) -> int:
        """The watermark, in ms."""
        return self._watermark

    def initializeWatermark(self, watermark: int) -> None:
        """Set the watermark on restore, firing nothing."""
        self._watermark = watermark

    def registerEventTimeTimer(self, namespace: object, timestamp: int) -> None:
        """Call ``onEventTime`` when the watermark reaches ``timestamp``."""
        self._event.add(timestamp, self._backend.currentKey, namespace)

    def registerProcessingTimeTimer(self, namespace: object, timestamp: int) -> None:
        """Call ``onProcessingTime`` when the clock reaches ``timestamp``."""
        self._processing.add(timestamp, self._backend.currentKey, namespace)

    def deleteEventTimeTimer(self, namespace: object, timestamp: int) -> None:
        """Delete the timer, if it is there."""
        self._event.remove(timestamp, self._backend.currentKey, namespace)

    def deleteProcessingTimeTimer(self, namespace: object, timestamp: int) -> None:
        """Delete the timer, if it is there."""
        self._processing.remove(timestamp, self._backend.currentKey, namespace)

    def advanceWatermark(self, watermark: int) -> None:
        """Set the watermark and fire every event-time timer it has reached."""
        self._watermark = watermark
        while (timer := self._event.pollDue(watermark)) is not None:
            self._backend.currentKey = timer.key
            self._target.onEventTime(timer)

    def advanceProcessingTime(self, now: int) -> None:
        """Fire every processing-time timer that the clock, now at ``now``, has reached."""
        while (timer := self._processing.pollDue(now)) is not None:
            self._backend.currentKey = timer.key
            self._target.onProcessingTime(timer)

    def nextEventTimeTimer(self) -> int | None:
        """No event-time timer is earlier than this; None if there are none."""
        return self._event.nextTimestamp()

    def nextProcessingTimeTimer(self) -> int | None:
        """No processing-time timer is earlier than this; None if there are none."""
        return self._processing.nextTimestamp()

    def numEventTimeTimers(self) -> int:
        """How many event-time timers are pending."""
        return len(self._event)

    def numProcessingTimeTimers(self) -> int:
        """How many processing-time timers are pending."""
        return len(self._processing)
