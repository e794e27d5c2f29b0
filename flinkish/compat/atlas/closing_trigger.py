"""Triggers that fire a window once, when no element can come to it any more."""

from __future__ import annotations

from typing import Any

from flinkish.api.arguments import length_from_zero
from flinkish.api.errors import InvalidProgramError
from flinkish.api.time.durations import TimeLike
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.api.windowing.assigners import WindowAssigner
from flinkish.api.windowing.triggers import (
    OnMergeContext,
    ProcessingTimeTrigger,
    Trigger,
    TriggerContext,
    TriggerResult,
)
from flinkish.api.windowing.windows import TimeWindow, Window


class AfterAllowedLatenessTrigger(Trigger[object, TimeWindow]):
    """Fires when the watermark passes the end of the window by the allowed lateness, and only then.

    So lateness delays the one result of a window, where Flink's ``EventTimeTrigger`` gives one at
    the end and another for each late element. Use it with ``allowedLateness`` of the same length;
    Flink has no such trigger.

    >>> from flinkish import Time, TumblingEventTimeWindows
    >>> from flinkish.compat.atlas import AfterAllowedLatenessTrigger
    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(
    ...     lambda numbers: numbers.windowAll(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    ...     .allowedLateness(5).trigger(AfterAllowedLatenessTrigger.of(5))
    ...     .reduce(lambda a, b: a + b)
    ... )
    >>> harness.processElement(1, 3)
    >>> harness.processWatermark(12)
    >>> harness.processElement(2, 4)
    >>> harness.processWatermark(14)
    >>> harness.getOutput()
    [Watermark(timestamp=12), StreamRecord(value=3, timestamp=9), Watermark(timestamp=14)]
    """

    def __init__(self, allowedLateness: TimeLike) -> None:
        self.allowedLateness = length_from_zero(
            f"{type(self).__name__}: allowedLateness", allowedLateness
        )

    @staticmethod
    def of(allowedLateness: TimeLike) -> AfterAllowedLatenessTrigger:
        """The trigger for windows that wait so long for late elements."""
        return AfterAllowedLatenessTrigger(allowedLateness)

    def onElement(
        self, element: object, timestamp: int, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        ctx.registerEventTimeTimer(self._closing(window))
        return TriggerResult.CONTINUE

    def onProcessingTime(self, time: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def onEventTime(self, time: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE if time == self._closing(window) else TriggerResult.CONTINUE

    def clear(self, window: TimeWindow, ctx: TriggerContext) -> None:
        ctx.deleteEventTimeTimer(self._closing(window))

    def canMerge(self) -> bool:
        return True

    def onMerge(self, window: TimeWindow, ctx: OnMergeContext) -> None:
        ctx.registerEventTimeTimer(self._closing(window))

    def windowType(self) -> type[Window]:
        return TimeWindow

    def checkWindows(self, assigner: WindowAssigner[Any, Any], allowedLateness: int) -> None:
        if self.allowedLateness != allowedLateness or not assigner.isEventTime():
            raise InvalidProgramError(
                f"trigger: {self!r} fires when a window closes, but windows of {assigner!r}"
                f" have an allowed lateness of {allowedLateness} ms. Use it with event-time windows,"
                f" and call allowedLateness({self.allowedLateness}) too."
            )

    def _closing(self, window: TimeWindow) -> int:
        return min(window.maxTimestamp() + self.allowedLateness, MAX_TIMESTAMP)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.allowedLateness})"


class ProcessingTimeOrEndTrigger(ProcessingTimeTrigger):
    """Fires when the clock passes the end of the window, or when the input ends before. Flink drops windows of
    processing time that are open then."""

    def onElement(
        self, element: object, timestamp: int, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        ctx.registerEventTimeTimer(MAX_TIMESTAMP)
        return super().onElement(element, timestamp, window, ctx)

    def onEventTime(self, time: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE

    def clear(self, window: TimeWindow, ctx: TriggerContext) -> None:
        ctx.deleteEventTimeTimer(MAX_TIMESTAMP)
        super().clear(window, ctx)

    def onMerge(self, window: TimeWindow, ctx: OnMergeContext) -> None:
        ctx.registerEventTimeTimer(MAX_TIMESTAMP)
        super().onMerge(window, ctx)
