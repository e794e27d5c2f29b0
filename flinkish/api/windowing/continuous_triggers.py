"""``ContinuousEventTimeTrigger`` and ``ContinuousProcessingTimeTrigger``: fire at intervals."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

from flinkish.api.arguments import positive_length
from flinkish.api.elements import MIN_TIMESTAMP
from flinkish.api.errors import MissingTimestampError
from flinkish.api.java_long import remainder
from flinkish.api.state import ReducingStateDescriptor
from flinkish.api.time import TimeLike
from flinkish.api.windowing.trigger import OnMergeContext, Trigger, TriggerContext, TriggerResult
from flinkish.api.windowing.windows import Window

_FIRE_TIME = ReducingStateDescriptor[int]("fire-time", min)
"""The next time to fire at, for which there is a timer; of merged windows the earliest."""


class _ContinuousTrigger(Trigger[object, Window]):
    """Fires every interval of a time, which the subclass tells, and at the end of the window."""

    def __init__(self, interval: int) -> None:
        self._interval = interval

    @classmethod
    def of(cls, interval: TimeLike) -> Self:
        """A trigger that fires every ``interval`` (ms if it is an int), counted from the epoch.

        Raises IllegalArgumentError unless it is above 0.
        """
        return cls(positive_length(f"{cls.__name__}: interval", interval))

    def getInterval(self) -> int:
        """The interval in ms."""
        return self._interval

    def onEventTime(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def onProcessingTime(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        # the timer at the end of the window is left, as in Flink: it does no harm
        fire_time = ctx.getPartitionedState(_FIRE_TIME)
        time = fire_time.get()
        if time is not None:
            self._delete(time, ctx)
            fire_time.clear()

    def canMerge(self) -> bool:
        return True

    def onMerge(self, window: Window, ctx: OnMergeContext) -> None:
        ctx.mergePartitionedState(_FIRE_TIME)
        time = ctx.getPartitionedState(_FIRE_TIME).get()
        if time is not None:
            self._register(time, ctx)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._interval})"

    def _begin(self, time: int, window: Window, ctx: TriggerContext) -> None:
        """An element has come at ``time``: the first of a window begins its intervals."""
        if ctx.getPartitionedState(_FIRE_TIME).get() is None:
            self._register_next(time - remainder(time, self._interval), window, ctx)

    def _fire_at(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        """A timer of the window is due."""
        if time == window.maxTimestamp():
            return TriggerResult.FIRE
        fire_time = ctx.getPartitionedState(_FIRE_TIME)
        if fire_time.get() != time:
            return TriggerResult.CONTINUE
        fire_time.clear()
        self._register_next(time, window, ctx)
        return TriggerResult.FIRE

    def _register_next(self, time: int, window: Window, ctx: TriggerContext) -> None:
        following = min(time + self._interval, window.maxTimestamp())
        ctx.getPartitionedState(_FIRE_TIME).add(following)
        self._register(following, ctx)

    @abstractmethod
    def _register(self, time: int, ctx: TriggerContext) -> None:
        """Register a timer."""

    @abstractmethod
    def _delete(self, time: int, ctx: TriggerContext) -> None:
        """Delete a timer."""


class ContinuousEventTimeTrigger(_ContinuousTrigger):
    """Fires every interval of event time, and when the watermark passes the end of the window (Flink:
    ``ContinuousEventTimeTrigger``).

    >>> from flinkish import Time
    >>> ContinuousEventTimeTrigger.of(Time.minutes(1))
    ContinuousEventTimeTrigger(60000)
    """

    def onElement(
        self, element: object, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        if window.maxTimestamp() <= ctx.getCurrentWatermark():
            return TriggerResult.FIRE
        ctx.registerEventTimeTimer(window.maxTimestamp())
        if timestamp == MIN_TIMESTAMP:
            raise MissingTimestampError("ContinuousEventTimeTrigger", element)
        self._begin(timestamp, window, ctx)
        return TriggerResult.CONTINUE

    def onEventTime(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return self._fire_at(time, window, ctx)

    def _register(self, time: int, ctx: TriggerContext) -> None:
        ctx.registerEventTimeTimer(time)

    def _delete(self, time: int, ctx: TriggerContext) -> None:
        ctx.deleteEventTimeTimer(time)


class ContinuousProcessingTimeTrigger(_ContinuousTrigger):
    """Fires every interval of the clock, and when the clock passes the end of the window (Flink:
    ``ContinuousProcessingTimeTrigger``): on Spark in the first batch whose timestamp is there."""

    def onElement(
        self, element: object, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        self._begin(ctx.getCurrentProcessingTime(), window, ctx)
        return TriggerResult.CONTINUE

    def onProcessingTime(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return self._fire_at(time, window, ctx)

    def _register(self, time: int, ctx: TriggerContext) -> None:
        ctx.registerProcessingTimeTimer(time)

    def _delete(self, time: int, ctx: TriggerContext) -> None:
        ctx.deleteProcessingTimeTimer(time)
