"""``DeltaTrigger``: fires once an element is far enough from the one that fired last."""

from __future__ import annotations

from typing import Generic, TypeVar

from flinkish.api.arguments import number
from flinkish.api.state import ValueStateDescriptor
from flinkish.api.types import TypeInformation
from flinkish.api.windowing.delta_function import DeltaLike, delta_call
from flinkish.api.windowing.trigger import Trigger, TriggerContext, TriggerResult
from flinkish.api.windowing.windows import Window

T = TypeVar("T")
X = TypeVar("X")


class DeltaTrigger(Trigger[T, Window], Generic[T]):
    """Fires on an element whose distance from the element that fired last (at first: from the
    window's first element) is above a threshold. It cannot merge (Flink: ``DeltaTrigger``)."""

    def __init__(
        self,
        threshold: float,
        deltaFunction: DeltaLike[T],
        stateType: TypeInformation[T] | None = None,
    ) -> None:
        self._threshold = number("DeltaTrigger: threshold", threshold)
        self._function = deltaFunction
        self._delta = delta_call("DeltaTrigger", deltaFunction)
        self._last_element = ValueStateDescriptor[T]("last-element", stateType)

    @staticmethod
    def of(
        threshold: float,
        deltaFunction: DeltaLike[X],
        stateType: TypeInformation[X] | None = None,
    ) -> DeltaTrigger[X]:
        """A trigger that fires where ``deltaFunction`` is greater than ``threshold``."""
        return DeltaTrigger(threshold, deltaFunction, stateType)

    def onElement(
        self, element: T, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        state = ctx.getPartitionedState(self._last_element)
        last = state.value()
        if last is None:
            state.update(element)
            return TriggerResult.CONTINUE
        if self._delta(last, element) > self._threshold:
            state.update(element)
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def onProcessingTime(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def onEventTime(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        ctx.getPartitionedState(self._last_element).clear()

    def __repr__(self) -> str:
        return f"DeltaTrigger({self._function!r}, {self._threshold})"
