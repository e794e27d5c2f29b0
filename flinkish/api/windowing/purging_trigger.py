"""``PurgingTrigger``: makes another trigger drop the contents of a window when it fires."""

from __future__ import annotations

from typing import Generic, TypeVar

from flinkish.api.arguments import instance
from flinkish.api.windowing.trigger import OnMergeContext, Trigger, TriggerContext, TriggerResult
from flinkish.api.windowing.windows import Window

T = TypeVar("T")
W = TypeVar("W", bound=Window)
X = TypeVar("X")
V = TypeVar("V", bound=Window)


class PurgingTrigger(Trigger[T, W], Generic[T, W]):
    """Whenever the trigger in it fires, fires and purges (Flink: ``PurgingTrigger``)."""

    def __init__(self, nestedTrigger: Trigger[T, W]) -> None:
        mend = "Pass the one to purge after, such as CountTrigger.of(3)."
        self._nested = instance("PurgingTrigger", nestedTrigger, Trigger, mend)

    @staticmethod
    def of(nestedTrigger: Trigger[X, V]) -> PurgingTrigger[X, V]:
        """The purging form of ``nestedTrigger``."""
        return PurgingTrigger(nestedTrigger)

    def getNestedTrigger(self) -> Trigger[T, W]:
        """The trigger in it."""
        return self._nested

    def onElement(
        self, element: T, timestamp: int, window: W, ctx: TriggerContext
    ) -> TriggerResult:
        return _purging(self._nested.onElement(element, timestamp, window, ctx))

    def onProcessingTime(self, time: int, window: W, ctx: TriggerContext) -> TriggerResult:
        return _purging(self._nested.onProcessingTime(time, window, ctx))

    def onEventTime(self, time: int, window: W, ctx: TriggerContext) -> TriggerResult:
        return _purging(self._nested.onEventTime(time, window, ctx))

    def clear(self, window: W, ctx: TriggerContext) -> None:
        self._nested.clear(window, ctx)

    def canMerge(self) -> bool:
        return self._nested.canMerge()

    def onMerge(self, window: W, ctx: OnMergeContext) -> None:
        self._nested.onMerge(window, ctx)

    def windowType(self) -> type[Window]:
        return self._nested.windowType()

    def __repr__(self) -> str:
        return f"PurgingTrigger({self._nested!r})"


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.isFire() else result
