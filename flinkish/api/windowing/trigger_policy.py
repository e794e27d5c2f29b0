"""Trigger policies: when a window by length and slide fires."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from flinkish.api.arguments import positive, positive_length
from flinkish.api.elements import MAX_TIMESTAMP
from flinkish.api.time import TimeLike
from flinkish.api.windowing.eviction_policy import Event, EvictionContext

T_contra = TypeVar("T_contra", contravariant=True)


class TriggerPolicyContext(ABC):
    """What a trigger policy can do and ask: all of it of the current key."""

    __slots__ = ()

    @abstractmethod
    def onTrigger(self, context: EvictionContext) -> bool:
        """Fire a window (Storm: ``TriggerHandler.onTrigger``). False if it has no events: then
        nobody is told of it."""

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
        """How many queued events are not after ``until``."""

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
        """What the eviction policy says of itself."""


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
        """Whether it goes by the elements' timestamps, and not by the clock."""

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


class CountTriggerPolicy(TriggerPolicy[object]):
    """Fires every ``count`` events (Storm: the same name)."""

    def __init__(self, count: int) -> None:
        self.count = positive(type(self).__name__, count)
        self.currentCount = 0

    def isEventTime(self) -> bool:
        return False

    def track(self, event: Event[object], context: TriggerPolicyContext) -> None:
        self.currentCount += 1
        if self.currentCount >= self.count:
            context.onTrigger(EvictionContext(context.currentProcessingTime()))

    def reset(self) -> None:
        self.currentCount = 0


class TimeTriggerPolicy(TriggerPolicy[object]):
    """Fires every ``slidingInterval`` on the clock while there are events (Storm: the same name).

    Windows end at whole multiples of the interval since the epoch, and fire once the clock is past
    the end, so that none of the events of that millisecond is missed.
    """

    def __init__(self, slidingInterval: TimeLike) -> None:
        self.slidingInterval = positive_length(
            f"{type(self).__name__}: slidingInterval", slidingInterval
        )

    def isEventTime(self) -> bool:
        return False

    def track(self, event: Event[object], context: TriggerPolicyContext) -> None:
        context.registerProcessingTimeTimer(aligned(event.timestamp, self.slidingInterval))

    def onProcessingTime(self, time: int, context: TriggerPolicyContext) -> None:
        context.onTrigger(EvictionContext(time))
        if context.getLatestEventTs() is not None:
            context.registerProcessingTimeTimer(time + self.slidingInterval)


class WatermarkCountTriggerPolicy(TriggerPolicy[object]):
    """Fires every ``count`` events that the watermark has reached (Storm: the same name)."""

    def __init__(self, count: int) -> None:
        self.count = positive(type(self).__name__, count)
        self.lastProcessedTs: int | None = None

    def isEventTime(self) -> bool:
        return True

    def track(self, event: Event[object], context: TriggerPolicyContext) -> None:
        context.registerWatermarkTimer(event.timestamp)

    def onWatermark(self, watermark: int, context: TriggerPolicyContext) -> None:
        ends = context.getSlidingCountTimestamps(self.lastProcessedTs, watermark, self.count)
        for end in ends:
            context.onTrigger(EvictionContext(end, slidingCount=self.count))
            self.lastProcessedTs = end


class WatermarkTimeTriggerPolicy(TriggerPolicy[object]):
    """Fires every ``slidingInterval`` of event time (Storm: the same name).

    Windows end at whole multiples of the interval. After an empty one comes the first that can have
    an event: there are no empty windows in between.
    """

    def __init__(self, slidingInterval: TimeLike) -> None:
        self.slidingInterval = positive_length(
            f"{type(self).__name__}: slidingInterval", slidingInterval
        )
        self.nextWindowEndTs: int | None = None

    def isEventTime(self) -> bool:
        return True

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
