"""``EventTimeTrigger`` and ``ProcessingTimeTrigger``: fire once a window's time has come."""

from __future__ import annotations

from flinkish.api.windowing.trigger import OnMergeContext, Trigger, TriggerContext, TriggerResult
from flinkish.api.windowing.windows import TimeWindow, Window


class EventTimeTrigger(Trigger[object, TimeWindow]):
    """Fires when the watermark passes the end of the window, and then for every late element (Flink:
    ``EventTimeTrigger``).

    The default of event-time windows, so it needs naming only inside another trigger:

    >>> from flinkish import EventTimeTrigger, PurgingTrigger
    >>> trigger = PurgingTrigger.of(EventTimeTrigger.create())
    """

    @staticmethod
    def create() -> EventTimeTrigger:
        """The trigger."""
        return EventTimeTrigger()

    def onElement(
        self, element: object, timestamp: int, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        end = window.maxTimestamp()
        if end <= ctx.getCurrentWatermark():
            return TriggerResult.FIRE
        ctx.registerEventTimeTimer(end)
        return TriggerResult.CONTINUE

    def onProcessingTime(self, time: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def onEventTime(self, time: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE if time == window.maxTimestamp() else TriggerResult.CONTINUE

    def clear(self, window: TimeWindow, ctx: TriggerContext) -> None:
        ctx.deleteEventTimeTimer(window.maxTimestamp())

    def canMerge(self) -> bool:
        return True

    def onMerge(self, window: TimeWindow, ctx: OnMergeContext) -> None:
        # a window already passed fires with the late element that made it
        if window.maxTimestamp() > ctx.getCurrentWatermark():
            ctx.registerEventTimeTimer(window.maxTimestamp())

    def windowType(self) -> type[Window]:
        return TimeWindow


class ProcessingTimeTrigger(Trigger[object, TimeWindow]):
    """Fires when the clock passes the end of the window (Flink: ``ProcessingTimeTrigger``): on Spark
    in the first batch whose timestamp is there. The default of processing-time windows.
    """

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        """The trigger."""
        return ProcessingTimeTrigger()

    def onElement(
        self, element: object, timestamp: int, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        ctx.registerProcessingTimeTimer(window.maxTimestamp())
        return TriggerResult.CONTINUE

    def onProcessingTime(self, time: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE

    def onEventTime(self, time: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: TimeWindow, ctx: TriggerContext) -> None:
        ctx.deleteProcessingTimeTimer(window.maxTimestamp())

    def canMerge(self) -> bool:
        return True

    def onMerge(self, window: TimeWindow, ctx: OnMergeContext) -> None:
        if window.maxTimestamp() > ctx.getCurrentProcessingTime():
            ctx.registerProcessingTimeTimer(window.maxTimestamp())

    def windowType(self) -> type[Window]:
        return TimeWindow
