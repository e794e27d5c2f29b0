"""``ContinuousEventTimeTrigger`` and ``ContinuousProcessingTimeTrigger``: fire at intervals."""

from __future__ import annotations

from flinkish.api.arguments import positive_length
from flinkish.api.elements import MIN_TIMESTAMP
from flinkish.api.errors import MissingTimestampError
from flinkish.api.java_long import remainder
from flinkish.api.state import ReducingState, ReducingStateDescriptor
from flinkish.api.time import TimeLike
from flinkish.api.windowing.trigger import OnMergeContext, Trigger, TriggerContext, TriggerResult
from flinkish.api.windowing.windows import Window

_FIRE_TIME = ReducingStateDescriptor[int]("fire-time", min)


class ContinuousEventTimeTrigger(Trigger[object, Window]):
    """Fires every interval of event time, and when the watermark passes the end of the window."""

    def __init__(self, interval: int) -> None:
        self._interval = interval

    @staticmethod
    def of(interval: TimeLike) -> ContinuousEventTimeTrigger:
        """A trigger that fires every ``interval``, counted from the epoch."""
        return ContinuousEventTimeTrigger(
            positive_length("ContinuousEventTimeTrigger: interval", interval)
        )

    def getInterval(self) -> int:
        """The interval in ms."""
        return self._interval

    def onElement(
        self, element: object, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        if window.maxTimestamp() <= ctx.getCurrentWatermark():
            return TriggerResult.FIRE
        ctx.registerEventTimeTimer(window.maxTimestamp())
        if timestamp == MIN_TIMESTAMP:
            raise MissingTimestampError("ContinuousEventTimeTrigger", element)
        fire_time = ctx.getPartitionedState(_FIRE_TIME)
        if fire_time.get() is None:
            self._register_next(
                timestamp - remainder(timestamp, self._interval), window, ctx, fire_time
            )
        return TriggerResult.CONTINUE

    def onEventTime(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        if time == window.maxTimestamp():
            return TriggerResult.FIRE
        fire_time = ctx.getPartitionedState(_FIRE_TIME)
        if fire_time.get() != time:
            return TriggerResult.CONTINUE
        fire_time.clear()
        self._register_next(time, window, ctx, fire_time)
        return TriggerResult.FIRE

    def onProcessingTime(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        # the timer at the end of the window is left, as in Flink: it does no harm
        fire_time = ctx.getPartitionedState(_FIRE_TIME)
        time = fire_time.get()
        if time is not None:
            ctx.deleteEventTimeTimer(time)
            fire_time.clear()

    def canMerge(self) -> bool:
        return True

    def onMerge(self, window: Window, ctx: OnMergeContext) -> None:
        ctx.mergePartitionedState(_FIRE_TIME)
        time = ctx.getPartitionedState(_FIRE_TIME).get()
        if time is not None:
            ctx.registerEventTimeTimer(time)

    def _register_next(
        self, time: int, window: Window, ctx: TriggerContext, fire_time: ReducingState[int]
    ) -> None:
        following = min(time + self._interval, window.maxTimestamp())
        fire_time.add(following)
        ctx.registerEventTimeTimer(following)

    def __repr__(self) -> str:
        return f"ContinuousEventTimeTrigger({self._interval})"


class ContinuousProcessingTimeTrigger(Trigger[object, Window]):
    """Fires every interval of the clock, and when the clock passes the end of the window."""

    def __init__(self, interval: int) -> None:
        self._interval = interval

    @staticmethod
    def of(interval: TimeLike) -> ContinuousProcessingTimeTrigger:
        """A trigger that fires every ``interval``, counted from the epoch."""
        return ContinuousProcessingTimeTrigger(
            positive_length("ContinuousProcessingTimeTrigger: interval", interval)
        )

    def getInterval(self) -> int:
        """The interval in ms."""
        return self._interval

    def onElement(
        self, element: object, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        fire_time = ctx.getPartitionedState(_FIRE_TIME)
        if fire_time.get() is None:
            now = ctx.getCurrentProcessingTime()
            self._register_next(now - remainder(now, self._interval), window, ctx, fire_time)
        return TriggerResult.CONTINUE

    def onEventTime(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def onProcessingTime(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        if time == window.maxTimestamp():
            return TriggerResult.FIRE
        fire_time = ctx.getPartitionedState(_FIRE_TIME)
        if fire_time.get() != time:
            return TriggerResult.CONTINUE
        fire_time.clear()
        self._register_next(time, window, ctx, fire_time)
        return TriggerResult.FIRE

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        fire_time = ctx.getPartitionedState(_FIRE_TIME)
        time = fire_time.get()
        if time is not None:
            ctx.deleteProcessingTimeTimer(time)
            fire_time.clear()

    def canMerge(self) -> bool:
        return True

    def onMerge(self, window: Window, ctx: OnMergeContext) -> None:
        ctx.mergePartitionedState(_FIRE_TIME)
        time = ctx.getPartitionedState(_FIRE_TIME).get()
        if time is not None:
            ctx.registerProcessingTimeTimer(time)

    def _register_next(
        self, time: int, window: Window, ctx: TriggerContext, fire_time: ReducingState[int]
    ) -> None:
        following = min(time + self._interval, window.maxTimestamp())
        fire_time.add(following)
        ctx.registerProcessingTimeTimer(following)

    def __repr__(self) -> str:
        return f"ContinuousProcessingTimeTrigger({self._interval})"
