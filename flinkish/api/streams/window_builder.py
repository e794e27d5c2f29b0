"""The settings of a window operator, checked as they are set; shared by the windowed streams."""

from __future__ import annotations

import warnings
from typing import Any, Generic, Self

from flinkish.api.arguments import instance
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError
from flinkish.api.functions.adapt import reduce_call
from flinkish.api.functions.functions import AggregateFunction, RichFunction
from flinkish.api.output_tag import OutputTag
from flinkish.api.plan.window_operator import WindowCall, WindowOperatorDescription
from flinkish.api.short_lengths import length_of_user
from flinkish.api.time.durations import TimeLike
from flinkish.api.type_variables import T
from flinkish.api.windowing.assigners import MergingWindowAssigner, WindowAssigner
from flinkish.api.windowing.content_windows import ContentWindows
from flinkish.api.windowing.evictors import CountEvictor, Evictor
from flinkish.api.windowing.triggers import CountTrigger, EventTimeTrigger, PurgingTrigger, Trigger
from flinkish.api.windowing.windows import W


class WindowSettings(Generic[T, W]):
    """The settings of windows of elements of type ``T``: they change this object and return it. Those
    that do not fit together raise InvalidProgramError (Flink: ``WindowOperatorBuilder``)."""

    def __init__(self, windowAssigner: WindowAssigner[T, W]) -> None:
        fix = "Pass one, such as TumblingEventTimeWindows.of(Time.seconds(5))."
        self._assigner = instance("window", windowAssigner, WindowAssigner, fix)
        self._trigger: Trigger[Any, Any] = windowAssigner.getDefaultTrigger()
        self._evictor: Evictor[Any, Any] | None = None
        self._lateness = 0
        self._late_tag: OutputTag[T] | None = None

    def trigger(self, trigger: Trigger[T, W]) -> Self:
        """Set the trigger that decides when windows fire, instead of the assigner's default.

        Raises InvalidProgramError if it cannot work with the assigner's windows.
        """
        instance("trigger", trigger, Trigger, "Pass one, such as CountTrigger.of(3).")
        self._check_merging(trigger)
        self._trigger = trigger
        return self

    def evictor(self, evictor: Evictor[T, W]) -> Self:
        """Set an evictor, which removes elements when a window fires. The state then holds all elements
        of a window instead of one accumulator."""
        fix = "Pass one, such as CountEvictor.of(3)."
        self._evictor = instance("evictor", evictor, Evictor, fix)
        return self

    def allowedLateness(self, lateness: TimeLike) -> Self:
        """Keep event-time windows for ``lateness`` (ms if an int) after the watermark has passed
        them: elements that come meanwhile fire them again. By default 0.

        Raises IllegalArgumentError if it is negative.
        """
        milliseconds = length_of_user("allowedLateness", lateness)
        if milliseconds < 0:
            raise IllegalArgumentError(
                f"allowedLateness: {milliseconds} ms is negative. Pass 0 to drop late elements, or"
                " how long to wait for them."
            )
        if milliseconds and not self._assigner.isEventTime():
            warnings.warn(
                f"allowedLateness has no effect on {self._assigner!r}: its windows do not end with"
                " the watermark, so no element is late. Leave it out, or use event-time windows.",
                stacklevel=2,
            )
        self._lateness = milliseconds
        return self

    def _counting(self, size: int, slide: int | None) -> Self:
        """Count windows: the global window with a count trigger, and an evictor if they slide, as in Flink."""
        if slide is None:
            return self.trigger(PurgingTrigger.of(CountTrigger.of(size)))
        return self.evictor(CountEvictor.of(size)).trigger(CountTrigger.of(slide))

    def _reducing(
        self, function: Any, windowFunction: Any, call: WindowCall | None
    ) -> WindowOperatorDescription:
        """An operator that reduces elements as they come."""
        _check_plain("reduce", function, "ReduceFunction")
        reduce_call(function)
        return self._build(function, windowFunction, call)

    def _aggregating(
        self, function: Any, windowFunction: Any, call: WindowCall | None
    ) -> WindowOperatorDescription:
        """An operator that aggregates elements as they come."""
        fix = "Pass one, with createAccumulator, add and getResult."
        instance("aggregate", function, AggregateFunction, fix)
        _check_plain("aggregate", function, "AggregateFunction")
        merges = isinstance(self._assigner, MergingWindowAssigner)
        if merges and type(function).merge is AggregateFunction.merge:
            raise InvalidProgramError(
                f"aggregate: windows of {self._assigner!r} merge, but {type(function).__name__} has"
                " no merge(a, b). Implement it, or use a window assigner that does not merge."
            )
        return self._build(function, windowFunction, call)

    def _build(
        self, aggregation: Any, windowFunction: Any, call: WindowCall | None
    ) -> WindowOperatorDescription:
        """An operator; without ``aggregation`` it keeps the elements and hands all of them to the
        window function."""
        self._check_merging(self._trigger)
        self._check_window_type()
        self._trigger.checkWindows(self._assigner, self._lateness)
        self._check_content()
        return WindowOperatorDescription(
            assigner=self._assigner,
            trigger=self._trigger,
            evictor=self._evictor,
            allowedLateness=self._lateness,
            lateDataOutputTag=self._late_tag,
            aggregation=aggregation,
            function=windowFunction,
            call=call,
        )

    def _check_merging(self, trigger: Trigger[Any, Any]) -> None:
        if isinstance(self._assigner, MergingWindowAssigner) and not trigger.canMerge():
            raise InvalidProgramError(
                f"trigger: windows of {self._assigner!r} merge, but {trigger!r} does not support"
                " merging. Use a trigger that can merge (its canMerge() is true), or a window"
                " assigner that does not merge."
            )

    def _check_window_type(self) -> None:
        made, wanted = self._assigner.windowType(), self._trigger.windowType()
        if made is not None and not issubclass(made, wanted):
            raise InvalidProgramError(
                f"window: {self._trigger!r} works on a {wanted.__name__}, but"
                f" {self._assigner!r} makes a {made.__name__}, which has no end to wait for. Use a"
                " trigger for it, such as CountTrigger.of(3), or a window assigner of time windows."
            )

    def _check_content(self) -> None:
        own = type(self._trigger) is EventTimeTrigger and self._evictor is None
        if isinstance(self._assigner, ContentWindows) and (self._lateness or not own):
            raise InvalidProgramError(
                f"window: {self._assigner!r} itself says what is in a window and when it is complete."
                " Leave out trigger, evictor and allowedLateness; for late elements let the watermark"
                " keep further behind."
            )


def _check_plain(method: str, function: object, plain: str) -> None:
    if isinstance(function, RichFunction):
        raise InvalidProgramError(
            f"{method}: {type(function).__name__} is a RichFunction, which has no life cycle inside a window's"
            f" state. Use a plain {plain}, and put what needs open(), close() or the runtime context into the"
            f" window function: {method}(function, windowFunction)."
        )
