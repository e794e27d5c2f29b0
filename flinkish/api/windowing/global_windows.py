"""``GlobalWindows``: all elements of a key in one window, which only a trigger can fire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flinkish.api.arguments import instance
from flinkish.api.windowing.trigger import OnMergeContext, Trigger, TriggerContext, TriggerResult
from flinkish.api.windowing.window_assigner import WindowAssigner, WindowAssignerContext
from flinkish.api.windowing.windows import GlobalWindow, Window


class NeverTrigger(Trigger[object, Window]):
    """Never fires (Flink: ``GlobalWindows.NeverTrigger``)."""

    def onElement(
        self, element: object, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def onProcessingTime(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def onEventTime(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        pass

    def onMerge(self, window: Window, ctx: OnMergeContext) -> None:
        pass


class EndOfStreamTrigger(NeverTrigger):
    """Fires when the input ends (Flink: ``GlobalWindows.EndOfStreamTrigger``)."""

    def onElement(
        self, element: object, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        ctx.registerEventTimeTimer(window.maxTimestamp())
        return TriggerResult.CONTINUE

    def onEventTime(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE if time == window.maxTimestamp() else TriggerResult.CONTINUE


class GlobalWindows(WindowAssigner[object, GlobalWindow]):
    """Puts every element into the one global window (Flink: ``GlobalWindows``).

    By default it never fires: set a trigger, or let it fire at the end of the input.
    """

    def __init__(self, defaultTrigger: Trigger[Any, GlobalWindow] | None = None) -> None:
        mend = "Pass one, or call GlobalWindows.create() for one that never fires."
        trigger = NeverTrigger() if defaultTrigger is None else defaultTrigger
        self._default_trigger = instance("GlobalWindows", trigger, Trigger, mend)

    @staticmethod
    def create() -> GlobalWindows:
        """The assigner whose default trigger never fires."""
        return GlobalWindows()

    @staticmethod
    def createWithEndOfStreamTrigger() -> GlobalWindows:
        """The assigner whose default trigger fires at the end of the input."""
        return GlobalWindows(EndOfStreamTrigger())

    def assignWindows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> Sequence[GlobalWindow]:
        return (GlobalWindow.get(),)

    def getDefaultTrigger(self) -> Trigger[Any, GlobalWindow]:
        return self._default_trigger

    def isEventTime(self) -> bool:
        return False

    def windowType(self) -> type[Window]:
        return GlobalWindow
