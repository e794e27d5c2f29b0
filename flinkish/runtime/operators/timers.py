"""``InternalTimerService``: the timers of an operator, in event time and in processing time.

A timer is a triple (key, namespace, timestamp) in one of the two time domains. Timers belong to a
key because a callback works on the state of its key, and to a namespace because one key may have
several windows: the window operator uses the window as the namespace, a process function always
None.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from operator import index
from typing import Any

from flinkish.api.errors import shown
from flinkish.api.time.durations import fits_long
from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from flinkish.runtime.state.backend import KeyedStateBackend, Timer
from flinkish.runtime.time.clock import ProcessingTimeService

EVENT_TIMERS, PROCESSING_TIMERS = "timers/event", "timers/processing"
"""The names of an operator's timer queues."""


def timer_timestamp(time: int) -> int:
    """``time`` as the timestamp (ms) of a timer that a user function registers or deletes. Raises
    TypeError unless it is an integer, and ValueError unless it fits into 64 bits."""
    if type(time) is int and MIN_TIMESTAMP <= time <= MAX_TIMESTAMP:
        return time
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
    """Receives the callbacks of timers (Flink: ``Triggerable``). The current key of the backend is
    that of the timer during a callback."""

    @abstractmethod
    def onEventTime(self, timer: Timer) -> None:
        """Called when the watermark has reached the timer."""

    def onProcessingTime(self, timer: Timer) -> None:
        """Called when the clock has reached the timer; never if there are no such timers."""


MOST_NOTED = 1 << 12
"""The most keys whose latest timers are noted; with more, most of them register few timers."""


@dataclass(eq=False, repr=False)
class InternalTimerService:
    """Registers, deletes and fires the timers of an operator (Flink: ``InternalTimerService``).

    Registering and deleting apply to the current key of the backend. Timers form a set: registering
    one twice has no further effect, and neither has deleting one that is not registered.

    When the watermark advances to t, every event-time timer with a timestamp <= t fires, lowest
    timestamp first, each under its own key. A timer that a callback registers at or below t fires
    in the same sweep, so a timer is never one watermark late. For example, with timers at 10 and 30
    and a callback that registers the time + 5, a watermark of 20 fires 10, 15 and 20; the timer
    that 20 registers waits at 25. Processing-time timers fire likewise, by the clock.

    Timers are kept in the queues of the state backend, so they are checkpointed with the state.
    """

    _backend: KeyedStateBackend
    _clock: ProcessingTimeService
    _target: Triggerable
    _batch: bool

    def __post_init__(self) -> None:
        self._event = self._backend.timerQueue(EVENT_TIMERS)
        self._processing = self._backend.timerQueue(PROCESSING_TIMERS)
        self.latest: dict[Any, int] = {}
        """For each key the timestamp of the event-time timer that it registered last, while that is
        pending. A function often registers the same timer for one element after another, such as
        one for the end of the minute; this saves a look-up in the queue."""
        self._watermark = MIN_TIMESTAMP
        self.inputEnded = False
        """Whether the input has ended in BATCH: as in Flink, later timers do not fire."""

    def currentProcessingTime(self) -> int:
        return self._clock.getCurrentProcessingTime()

    def currentWatermark(self) -> int:
        return self._watermark

    def initializeWatermark(self, watermark: int) -> None:
        """Set the watermark on restore, without firing timers."""
        self._watermark = watermark
        self.inputEnded = False
        self.latest.clear()

    def registerEventTimeTimer(self, namespace: object, timestamp: int) -> None:
        """Call ``onEventTime`` when the watermark reaches ``timestamp``."""
        key = self._backend.currentKey
        self._event.add(timestamp, key, namespace)
        latest = self.latest
        if namespace is None and (len(latest) < MOST_NOTED or key in latest):
            latest[key] = timestamp

    def registerProcessingTimeTimer(self, namespace: object, timestamp: int) -> None:
        """Call ``onProcessingTime`` when the clock reaches ``timestamp``."""
        self._processing.add(timestamp, self._backend.currentKey, namespace)

    def deleteEventTimeTimer(self, namespace: object, timestamp: int) -> None:
        key = self._backend.currentKey
        self._event.remove(timestamp, key, namespace)
        self.latest.pop(key, None)

    def deleteProcessingTimeTimer(self, namespace: object, timestamp: int) -> None:
        self._processing.remove(timestamp, self._backend.currentKey, namespace)

    def advanceWatermark(self, watermark: int) -> None:
        """Set the watermark and fire every event-time timer it has reached."""
        self._watermark = watermark
        self.inputEnded = self._batch and watermark == MAX_TIMESTAMP
        latest = self.latest
        while (timer := self._event.pollDue(watermark)) is not None:
            self._backend.currentKey = timer.key
            latest.pop(timer.key, None)
            self._target.onEventTime(timer)

    def advanceProcessingTime(self, now: int) -> None:
        """Fire every processing-time timer that the clock, now at ``now``, has reached."""
        while (timer := self._processing.pollDue(now)) is not None:
            self._backend.currentKey = timer.key
            self._target.onProcessingTime(timer)

    def nextEventTimeTimer(self) -> int | None:
        """A lower bound (ms) of all event-time timers; None if there are none."""
        return self._event.nextTimestamp()

    def nextProcessingTimeTimer(self) -> int | None:
        """A lower bound (ms) of all processing-time timers; None if there are none."""
        return self._processing.nextTimestamp()

    def numEventTimeTimers(self) -> int:
        return len(self._event)

    def numProcessingTimeTimers(self) -> int:
        return len(self._processing)
