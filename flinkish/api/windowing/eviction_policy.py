"""Eviction policies: which of the queued events belong to a window that a trigger policy fires.

A window by length and slide is a pair of policies: the slide is a ``TriggerPolicy``, the length an
``EvictionPolicy``. Both are Storm's, and both may be written by the user.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import Generic, NamedTuple, TypeVar

from flinkish.api.arguments import length_from_zero, positive, positive_length
from flinkish.api.errors import IllegalStateError
from flinkish.api.stored_names import stored_as
from flinkish.api.time import TimeLike

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


@stored_as("Event")
class Event(NamedTuple, Generic[T]):
    """A queued element (Storm: ``Event``)."""

    value: T
    timestamp: int
    """In event time the element's timestamp, in processing time the clock when it came, in ms."""

    def get(self) -> T:
        """The element."""
        return self.value

    def getTimestamp(self) -> int:
        """The timestamp in ms."""
        return self.timestamp


@dataclass(frozen=True)
class EvictionContext:
    """What a trigger policy tells the eviction policy of the window it fires."""

    referenceTime: int
    """The end of the window in ms; an event at just that time is in it."""
    currentCount: int | None = None
    """How many queued events are not after the end."""
    slidingCount: int | None = None
    """How many events further than the window before."""


class EvictionPolicy(ABC, Generic[T_contra]):
    """Says which events a window has (Storm: ``EvictionPolicy``).

    There is one for each key, copied from the one that the job is given. What it keeps in its
    attributes is checkpointed with the job, so that must be picklable. When the last event of the
    key has left the queue, it begins anew.

    This one gives each window the events with the tag of the newest:

    >>> class SameTag(EvictionPolicy[tuple[str, int]]):
    ...     tag = ""
    ...     def isEventTime(self):
    ...         return False
    ...     def track(self, event):
    ...         self.tag = event.value[0]
    ...     def evict(self, event):
    ...         same = event.value[0] == self.tag
    ...         return EvictionPolicy.Action.PROCESS if same else EvictionPolicy.Action.EXPIRE
    """

    class Action(Enum):
        """What becomes of an event."""

        EXPIRE = "EXPIRE"
        """It leaves the queue for good."""
        PROCESS = "PROCESS"
        """It is in this window, and stays in the queue."""
        KEEP = "KEEP"
        """It is not in this window, but may be in a later one."""
        STOP = "STOP"
        """As ``KEEP``, and the same for all events after it, which are not asked about."""

    @abstractmethod
    def isEventTime(self) -> bool:
        """Whether it goes by the elements' timestamps, and not by the clock."""

    def track(self, event: Event[T_contra]) -> None:
        """Called when an event has been queued, before the trigger policy is told."""

    def setContext(self, context: EvictionContext) -> None:
        """Called when a window is about to fire, before ``evict``."""

    @abstractmethod
    def evict(self, event: Event[T_contra]) -> EvictionPolicy.Action:
        """Called for each queued event when a window fires, in the order in which they came."""

    def windowStart(self, end: int) -> int | None:
        """Where a window that ends at ``end`` (ms) begins, None if that depends on the events."""
        return None

    def expiresWithTime(self) -> bool:
        """Whether each event expires in the end if only the reference time rises.

        If not, windows that slide by time go on for ever, so at the end of the input they stop
        with the first that has the last event.
        """
        return False


class CountEvictionPolicy(EvictionPolicy[object]):
    """The last ``count`` events (Storm: the same name)."""

    def __init__(self, count: int) -> None:
        self.threshold = positive(type(self).__name__, count)
        self.currentCount = 0

    def isEventTime(self) -> bool:
        return False

    def track(self, event: Event[object]) -> None:
        self.currentCount += 1

    def evict(self, event: Event[object]) -> EvictionPolicy.Action:
        if self.currentCount > self.threshold:
            self.currentCount -= 1
            return EvictionPolicy.Action.EXPIRE
        return EvictionPolicy.Action.PROCESS


class WatermarkCountEvictionPolicy(CountEvictionPolicy):
    """The last ``count`` events up to the reference time, in event time (Storm: the same name)."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.referenceTime: int | None = None
        self.processed = 0

    def isEventTime(self) -> bool:
        return True

    def track(self, event: Event[object]) -> None:
        """Which events count is known only when a window fires."""

    def setContext(self, context: EvictionContext) -> None:
        self.referenceTime = context.referenceTime
        if context.currentCount is not None:
            self.currentCount = context.currentCount
        else:
            self.currentCount = self.processed + (context.slidingCount or 0)
        self.processed = 0

    def evict(self, event: Event[object]) -> EvictionPolicy.Action:
        if (
            event.timestamp > _known(self, self.referenceTime)
            or self.processed >= self.currentCount
        ):
            return EvictionPolicy.Action.KEEP
        action = super().evict(event)
        if action is EvictionPolicy.Action.PROCESS:
            self.processed += 1
        return action


class TimeEvictionPolicy(EvictionPolicy[object]):
    """The events of the last ``windowLength`` on the clock (Storm: the same name).

    One that is just ``windowLength`` old has expired: a window is ``(end - length, end]``.
    """

    def __init__(self, windowLength: TimeLike) -> None:
        self.windowLength = positive_length(f"{type(self).__name__}: windowLength", windowLength)
        self.referenceTime: int | None = None

    def isEventTime(self) -> bool:
        return False

    def setContext(self, context: EvictionContext) -> None:
        self.referenceTime = context.referenceTime

    def evict(self, event: Event[object]) -> EvictionPolicy.Action:
        if _known(self, self.referenceTime) - event.timestamp >= self.windowLength:
            return EvictionPolicy.Action.EXPIRE
        return EvictionPolicy.Action.PROCESS

    def windowStart(self, end: int) -> int | None:
        return end - self.windowLength

    def expiresWithTime(self) -> bool:
        return True


class WatermarkTimeEvictionPolicy(TimeEvictionPolicy):
    """The events of the last ``windowLength`` of event time (Storm: the same name).

    With a ``lag`` the scan stops at an event more than that after the window's end, on the
    assumption that none behind it is early enough: Storm does so. Without one all are looked at.
    """

    def __init__(self, windowLength: TimeLike, lag: TimeLike | None = None) -> None:
        super().__init__(windowLength)
        self.lag = None if lag is None else length_from_zero(f"{type(self).__name__}: lag", lag)

    def isEventTime(self) -> bool:
        return True

    def evict(self, event: Event[object]) -> EvictionPolicy.Action:
        age = _known(self, self.referenceTime) - event.timestamp
        if age >= self.windowLength:
            return EvictionPolicy.Action.EXPIRE
        if age >= 0:
            return EvictionPolicy.Action.PROCESS
        if self.lag is not None and age < -self.lag:
            return EvictionPolicy.Action.STOP
        return EvictionPolicy.Action.KEEP


def _known(policy: EvictionPolicy[object], referenceTime: int | None) -> int:
    if referenceTime is None:
        raise IllegalStateError(
            f"{type(policy).__name__}: evict needs a reference time. Call setContext(context) first."
        )
    return referenceTime
