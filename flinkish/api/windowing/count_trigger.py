"""``CountTrigger``: fires once a window has so many elements."""

from __future__ import annotations

from operator import add

from flinkish.api.arguments import integer
from flinkish.api.state import ReducingStateDescriptor
from flinkish.api.windowing.trigger import OnMergeContext, Trigger, TriggerContext, TriggerResult
from flinkish.api.windowing.windows import Window

_COUNT = ReducingStateDescriptor[int]("count", add)


class CountTrigger(Trigger[object, Window]):
    """Fires each time that ``maxCount`` more elements have come (Flink: ``CountTrigger``)."""

    def __init__(self, maxCount: int) -> None:
        self._max_count = integer("CountTrigger: maxCount", maxCount)

    @staticmethod
    def of(maxCount: int) -> CountTrigger:
        """A trigger that fires every ``maxCount`` elements."""
        return CountTrigger(maxCount)

    def onElement(
        self, element: object, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        count = ctx.getPartitionedState(_COUNT)
        count.add(1)
        if (count.get() or 0) >= self._max_count:
            count.clear()
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def onProcessingTime(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def onEventTime(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        ctx.getPartitionedState(_COUNT).clear()

    def canMerge(self) -> bool:
        return True

    def onMerge(self, window: Window, ctx: OnMergeContext) -> None:
        ctx.mergePartitionedState(_COUNT)

    def __repr__(self) -> str:
        return f"CountTrigger({self._max_count})"
