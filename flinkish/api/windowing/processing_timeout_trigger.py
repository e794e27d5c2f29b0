"""``ProcessingTimeoutTrigger``: makes another trigger fire after some time on the clock."""

from __future__ import annotations

from typing import Generic, TypeVar

from flinkish.api.arguments import instance, milliseconds
from flinkish.api.state import ValueStateDescriptor
from flinkish.api.time import TimeLike
from flinkish.api.windowing.trigger import Trigger, TriggerContext, TriggerResult
from flinkish.api.windowing.windows import Window

T = TypeVar("T")
W = TypeVar("W", bound=Window)
X = TypeVar("X")
V = TypeVar("V", bound=Window)

_TIMEOUT = ValueStateDescriptor[int]("timeout")


class ProcessingTimeoutTrigger(Trigger[T, W], Generic[T, W]):
    """Fires when the trigger in it does, or when a timeout has gone by on the clock since the
    first element, or since the last (Flink: ``ProcessingTimeoutTrigger``). It cannot merge.

    Any timer of the window, also one of the trigger in it, counts as the timeout: it fires, and
    purges if the trigger in it purges.
    """

    def __init__(
        self,
        nestedTrigger: Trigger[T, W],
        interval: TimeLike,
        resetTimerOnNewRecord: bool,
        shouldClearOnTimeout: bool,
    ) -> None:
        mend = "Pass the one to give a timeout, such as CountTrigger.of(3)."
        self._nested = instance("ProcessingTimeoutTrigger", nestedTrigger, Trigger, mend)
        self._interval = milliseconds("ProcessingTimeoutTrigger: timeout", interval)
        self._reset = resetTimerOnNewRecord
        self._clear_on_timeout = shouldClearOnTimeout

    @staticmethod
    def of(
        nestedTrigger: Trigger[X, V],
        timeout: TimeLike,
        resetTimerOnNewRecord: bool = False,
        shouldClearOnTimeout: bool = True,
    ) -> ProcessingTimeoutTrigger[X, V]:
        """``nestedTrigger`` with a timeout.

        ``resetTimerOnNewRecord``: count it from the last element. ``shouldClearOnTimeout``: clear
        the state of ``nestedTrigger`` when it is over.
        """
        return ProcessingTimeoutTrigger(
            nestedTrigger, timeout, resetTimerOnNewRecord, shouldClearOnTimeout
        )

    def onElement(
        self, element: T, timestamp: int, window: W, ctx: TriggerContext
    ) -> TriggerResult:
        result = self._nested.onElement(element, timestamp, window, ctx)
        if result.isFire():
            self.clear(window, ctx)
            return result
        state = ctx.getPartitionedState(_TIMEOUT)
        timeout = state.value()
        if timeout is not None and self._reset:
            ctx.deleteProcessingTimeTimer(timeout)
            state.clear()
            timeout = None
        if timeout is None:
            timeout = ctx.getCurrentProcessingTime() + self._interval
            state.update(timeout)
            ctx.registerProcessingTimeTimer(timeout)
        return result

    def onProcessingTime(self, time: int, window: W, ctx: TriggerContext) -> TriggerResult:
        return self._timed_out(self._nested.onProcessingTime(time, window, ctx), window, ctx)

    def onEventTime(self, time: int, window: W, ctx: TriggerContext) -> TriggerResult:
        return self._timed_out(self._nested.onEventTime(time, window, ctx), window, ctx)

    def clear(self, window: W, ctx: TriggerContext) -> None:
        state = ctx.getPartitionedState(_TIMEOUT)
        timeout = state.value()
        if timeout is not None:
            ctx.deleteProcessingTimeTimer(timeout)
            state.clear()
        self._nested.clear(window, ctx)

    def windowType(self) -> type[Window]:
        return self._nested.windowType()

    def _timed_out(self, nested: TriggerResult, window: W, ctx: TriggerContext) -> TriggerResult:
        if self._clear_on_timeout:
            self.clear(window, ctx)
        return TriggerResult.FIRE_AND_PURGE if nested.isPurge() else TriggerResult.FIRE

    def __repr__(self) -> str:
        return f"ProcessingTimeoutTrigger({self._nested!r})"
