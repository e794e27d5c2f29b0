"""Trigger policies, which say when a window fires, and eviction policies, which say which of the queued events it has.

A window by length and slide is a pair of them: the slide is a ``TriggerPolicy``, the length an ``EvictionPolicy``. Both
are Storm's, and both may be written by the user.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from time import time as clock
from typing import Generic, NamedTuple

from flinkish.api.arguments import length_from_zero, positive, positive_length
from flinkish.api.errors import IllegalStateError
from flinkish.api.stored_names import stored_as
from flinkish.api.time.durations import TimeLike
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.api.type_variables import T, T_contra


@stored_as("storm.Event")
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
    """The values that a trigger policy passes to the eviction policy of the window it fires."""

    referenceTime: int
    """The end of the window in ms; an event at exactly that time is in it."""
    currentCount: int | None = None
    """The number of queued events that are not after the end."""
    slidingCount: int | None = None
    """The number of events since the window before."""


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
        """The action that an eviction policy takes for an event."""

        EXPIRE = "EXPIRE"
        """It is removed from the queue."""
        PROCESS = "PROCESS"
        """It is in this window, and stays in the queue."""
        KEEP = "KEEP"
        """It is not in this window, but may be in a later one."""
        STOP = "STOP"
        """As ``KEEP``, and the same for all events after it, which are not asked about."""

    @abstractmethod
    def isEventTime(self) -> bool:
        """Whether it uses the timestamps of the elements, and not the clock."""

    def track(self, event: Event[T_contra]) -> None:
        """Called when an event has been queued, before the trigger policy is notified."""

    def setContext(self, context: EvictionContext) -> None:
        """Called when a window is about to fire, before ``evict``."""

    @abstractmethod
    def evict(self, event: Event[T_contra]) -> EvictionPolicy.Action:
        """Called for each queued event when a window fires, in the order in which they came."""

    def windowStart(self, end: int) -> int | None:
        """The start of a window that ends at ``end`` (ms); None if it depends on the events."""
        return None

    def expiresWithTime(self) -> bool:
        """Whether every event expires eventually if only the reference time advances.

        If not, windows that slide by time never end, so at the end of the input they stop
        with the first that has the last event.
        """
        return False


class _ByClock:
    def isEventTime(self) -> bool:
        return False


class _ByTimestamps:
    def isEventTime(self) -> bool:
        return True


class CountEvictionPolicy(_ByClock, EvictionPolicy[object]):
    """The last ``count`` events (Storm: the same name)."""

    def __init__(self, count: int) -> None:
        self.threshold = positive(type(self).__name__, count)
        self.currentCount = 0

    def track(self, event: Event[object]) -> None:
        self.currentCount += 1

    def evict(self, event: Event[object]) -> EvictionPolicy.Action:
        if self.currentCount > self.threshold:
            self.currentCount -= 1
            return EvictionPolicy.Action.EXPIRE
        return EvictionPolicy.Action.PROCESS


class WatermarkCountEvictionPolicy(_ByTimestamps, CountEvictionPolicy):
    """The last ``count`` events up to the reference time, in event time (Storm: the same name)."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.referenceTime: int | None = None
        self.processed = 0

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


class TimeEvictionPolicy(_ByClock, EvictionPolicy[object]):
    """The events of the last ``windowLength`` on the clock (Storm: the same name).

    One that is just ``windowLength`` old has expired: a window is ``(end - length, end]``. Without a context the
    reference time is the clock's.
    """

    def __init__(self, windowLength: TimeLike) -> None:
        self.windowLength = positive_length(f"{type(self).__name__}: windowLength", windowLength)
        self.referenceTime: int | None = None

    def setContext(self, context: EvictionContext) -> None:
        self.referenceTime = context.referenceTime

    def evict(self, event: Event[object]) -> EvictionPolicy.Action:
        now = round(clock() * 1000) if self.referenceTime is None else self.referenceTime
        if now - event.timestamp >= self.windowLength:
            return EvictionPolicy.Action.EXPIRE
        return EvictionPolicy.Action.PROCESS

    def windowStart(self, end: int) -> int | None:
        return end - self.windowLength

    def expiresWithTime(self) -> bool:
        return True


class WatermarkTimeEvictionPolicy(_ByTimestamps, TimeEvictionPolicy):
    """The events of the last ``windowLength`` of event time (Storm: the same name).

    With a ``lag`` the scan stops at an event more than that after the window's end, on the
    assumption that none behind it is early enough: Storm does so. Without one all are looked at.
    """

    def __init__(self, windowLength: TimeLike, lag: TimeLike | None = None) -> None:
        super().__init__(windowLength)
        self.lag = None if lag is None else length_from_zero(f"{type(self).__name__}: lag", lag)

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


class TriggerPolicyContext(ABC):
    """The context of a trigger policy: everything in it concerns the current key."""

    __slots__ = ()

    @abstractmethod
    def onTrigger(self, context: EvictionContext) -> bool:
        """Fire a window (Storm: ``TriggerHandler.onTrigger``). False if it has no events; then the bolt is not
        called."""

    @abstractmethod
    def registerWatermarkTimer(self, time: int) -> None:
        """Call ``onWatermark`` when the watermark has reached ``time`` (ms)."""

    @abstractmethod
    def registerProcessingTimeTimer(self, time: int) -> None:
        """Call ``onProcessingTime`` when the clock is past ``time`` (ms)."""

    @abstractmethod
    def currentProcessingTime(self) -> int:
        """The clock, in ms."""

    @abstractmethod
    def getEventCount(self, until: int) -> int:
        """The number of queued events that are not after ``until``."""

    @abstractmethod
    def getEarliestEventTs(self, after: int | None, until: int) -> int | None:
        """The lowest timestamp in the queue after ``after`` and not after ``until``, or None."""

    @abstractmethod
    def getLatestEventTs(self) -> int | None:
        """The highest timestamp in the queue, or None if the queue is empty."""

    @abstractmethod
    def getSlidingCountTimestamps(
        self, after: int | None, until: int, slidingCount: int
    ) -> Sequence[int]:
        """Of the queued events after ``after`` and not after ``until``, in the order in which they
        came: at each ``slidingCount``-th, the highest timestamp so far."""

    @abstractmethod
    def expiresWithTime(self) -> bool:
        """The ``expiresWithTime`` of the eviction policy."""


class TriggerPolicy(ABC, Generic[T_contra]):
    """Says when a window fires (Storm: ``TriggerPolicy``).

    There is one for each key, copied from the one that the job is given. What it keeps in its
    attributes is checkpointed with the job, so that must be picklable. When the last event of the
    key has left the queue, it begins anew.

    *The watermark has reached t* means here, as in Storm, that no event before t will come: that
    is Flink's ``Watermark(t - 1)``.

    This one fires at each event that is marked:

    >>> class Marked(TriggerPolicy[tuple[str, bool]]):
    ...     def isEventTime(self):
    ...         return False
    ...     def track(self, event, context):
    ...         if event.value[1]:
    ...             context.onTrigger(EvictionContext(context.currentProcessingTime()))
    """

    @abstractmethod
    def isEventTime(self) -> bool:
        """Whether it uses the timestamps of the elements, and not the clock."""

    def start(self) -> None:
        """Called before all else, when a task starts or is restored, on the policy that is then
        copied for each key."""

    def shutdown(self) -> None:
        """Called when the task ends, as often as ``start``: on the policy itself, not on the copies."""

    @abstractmethod
    def track(self, event: Event[T_contra], context: TriggerPolicyContext) -> None:
        """Called when an event has been queued."""

    def onWatermark(self, watermark: int, context: TriggerPolicyContext) -> None:
        """Called when the watermark, now ``watermark``, has reached a time that was registered;
        once, however many there are. ``watermark`` is 2**63 - 1 at the end of the input."""

    def onProcessingTime(self, time: int, context: TriggerPolicyContext) -> None:
        """Called when the clock is past the registered ``time``."""

    def reset(self) -> None:
        """Called each time after a window has fired, empty or not."""


class CountTriggerPolicy(_ByClock, TriggerPolicy[object]):
    """Fires every ``count`` events (Storm: the same name)."""

    def __init__(self, count: int) -> None:
        self.count = positive(type(self).__name__, count)
        self.currentCount = 0

    def track(self, event: Event[object], context: TriggerPolicyContext) -> None:
        self.currentCount += 1
        if self.currentCount >= self.count:
            context.onTrigger(EvictionContext(context.currentProcessingTime()))

    def reset(self) -> None:
        self.currentCount = 0


class TimeTriggerPolicy(_ByClock, TriggerPolicy[object]):
    """Fires every ``slidingInterval`` on the clock while there are events (Storm: the same name).

    Windows end at whole multiples of the interval since the epoch, and fire once the clock is past
    the end, so that none of the events of that millisecond is missed. At the end of the input those
    that are open fire at once.
    """

    def __init__(self, slidingInterval: TimeLike) -> None:
        self.slidingInterval = positive_length(
            f"{type(self).__name__}: slidingInterval", slidingInterval
        )
        self.ended = False

    def track(self, event: Event[object], context: TriggerPolicyContext) -> None:
        context.registerProcessingTimeTimer(aligned(event.timestamp, self.slidingInterval))
        context.registerWatermarkTimer(MAX_TIMESTAMP)

    def onWatermark(self, watermark: int, context: TriggerPolicyContext) -> None:
        self.ended = True
        end = aligned(context.currentProcessingTime(), self.slidingInterval)
        while context.getLatestEventTs() is not None:
            context.onTrigger(EvictionContext(end))
            if not context.expiresWithTime():
                break
            end += self.slidingInterval

    def onProcessingTime(self, time: int, context: TriggerPolicyContext) -> None:
        if self.ended:
            return
        context.onTrigger(EvictionContext(time))
        if context.getLatestEventTs() is not None:
            context.registerProcessingTimeTimer(time + self.slidingInterval)


class WatermarkCountTriggerPolicy(_ByTimestamps, TriggerPolicy[object]):
    """Fires every ``count`` events that the watermark has reached (Storm: the same name)."""

    def __init__(self, count: int) -> None:
        self.count = positive(type(self).__name__, count)
        self.lastProcessedTs: int | None = None

    def track(self, event: Event[object], context: TriggerPolicyContext) -> None:
        context.registerWatermarkTimer(event.timestamp)

    def onWatermark(self, watermark: int, context: TriggerPolicyContext) -> None:
        ends = context.getSlidingCountTimestamps(self.lastProcessedTs, watermark, self.count)
        for end in ends:
            context.onTrigger(EvictionContext(end, slidingCount=self.count))
            self.lastProcessedTs = end


class WatermarkTimeTriggerPolicy(_ByTimestamps, TriggerPolicy[object]):
    """Fires every ``slidingInterval`` of event time (Storm: the same name).

    Windows end at whole multiples of the interval. After an empty one comes the first that can have
    an event: there are no empty windows in between.
    """

    def __init__(self, slidingInterval: TimeLike) -> None:
        self.slidingInterval = positive_length(
            f"{type(self).__name__}: slidingInterval", slidingInterval
        )
        self.nextWindowEndTs: int | None = None

    def track(self, event: Event[object], context: TriggerPolicyContext) -> None:
        end = aligned(event.timestamp, self.slidingInterval)
        if self.nextWindowEndTs is not None:
            end = max(end, self.nextWindowEndTs)
        context.registerWatermarkTimer(end)

    def onWatermark(self, watermark: int, context: TriggerPolicyContext) -> None:
        end = self.nextWindowEndTs
        following = self._first_end(None, watermark, context) if end is None else end
        while following is not None and following <= watermark:
            end = following
            if context.onTrigger(EvictionContext(end, context.getEventCount(end))):
                following = None if self._is_last(end, watermark, context) else self._next(end)
            else:
                following = self._first_end(end, watermark, context)
        self.nextWindowEndTs = end if following is None else following
        if following is not None:
            context.registerWatermarkTimer(following)

    def _next(self, end: int) -> int:
        return end + self.slidingInterval

    def _first_end(
        self, after: int | None, watermark: int, context: TriggerPolicyContext
    ) -> int | None:
        earliest = context.getEarliestEventTs(after, watermark)
        return None if earliest is None else aligned(earliest, self.slidingInterval)

    def _is_last(self, end: int, watermark: int, context: TriggerPolicyContext) -> bool:
        if watermark < MAX_TIMESTAMP or context.expiresWithTime():
            return False
        latest = context.getLatestEventTs()
        return latest is None or end >= latest


def aligned(time: int, interval: int) -> int:
    """The first multiple of ``interval`` that is not before ``time``."""
    return time + -time % interval
