"""The description of a window operator: assigner, trigger, evictor, lateness and function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from flinkish.api.functions import AggregateFunction, ReduceLike
from flinkish.api.operators import OperatorDescription
from flinkish.api.output_tag import OutputTag
from flinkish.api.window_calls import WindowCall
from flinkish.api.windowing.content_windows import ContentWindows
from flinkish.api.windowing.evictor import Evictor
from flinkish.api.windowing.session_windows import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
)
from flinkish.api.windowing.sliding_windows import SlidingEventTimeWindows
from flinkish.api.windowing.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from flinkish.api.windowing.trigger import Trigger
from flinkish.api.windowing.tumbling_windows import TumblingEventTimeWindows
from flinkish.api.windowing.window_assigner import MergingWindowAssigner, WindowAssigner
from flinkish.api.windowing.window_stagger import WindowStagger


@dataclass(frozen=True)
class WindowOperatorDescription(OperatorDescription):
    """All of a window operator.

    ``aggregation`` folds elements as they come; without one they are kept. ``function`` is the
    user's window function and ``call`` the way to call it; without one, what ``aggregation`` gives
    is emitted as it is.
    """

    kind: ClassVar[str] = "WindowOperator"

    keyed: ClassVar[bool] = True

    assigner: WindowAssigner[Any, Any]
    trigger: Trigger[Any, Any]
    evictor: Evictor[Any, Any] | None = None
    allowedLateness: int = 0
    lateDataOutputTag: OutputTag[Any] | None = None
    aggregation: ReduceLike[Any] | AggregateFunction[Any, Any, Any] | None = None
    function: Any = None
    call: WindowCall | None = None

    @property
    def name(self) -> str:
        return type(self.assigner).__name__

    @property
    def description(self) -> str:
        """The operator in one line, as Flink describes it."""
        evictor = () if self.evictor is None else (type(self.evictor).__name__,)
        functions = [
            type(function).__name__
            for function in (self.aggregation, self.function)
            if function is not None
        ]
        parts = (repr(self.assigner), type(self.trigger).__name__, *evictor, *functions)
        return f"Window({', '.join(parts)})"

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        own = (self.aggregation, self.function, self.assigner, self.trigger, self.evictor)
        return tuple(function for function in own if function is not None)

    @property
    def merges(self) -> bool:
        """Whether windows merge, as sessions do."""
        return isinstance(self.assigner, MergingWindowAssigner)

    @property
    def firesOnce(self) -> bool:
        """Whether a window fires at its end alone, with all that is in it: then it does not matter in
        what order that came."""
        at_end = type(self.trigger) in (EventTimeTrigger, ProcessingTimeTrigger)
        return at_end and self.evictor is None and self.allowedLateness == 0

    @property
    def stateLayout(self) -> str:
        if self.isContent:
            return "content"
        if self.evictor is not None:
            return "evicting"
        if self.isAligned:
            return "aligned"
        return "session" if self.isSession else "general"

    @property
    def isContent(self) -> bool:
        """Whether windows follow from what is in them."""
        return isinstance(self.assigner, ContentWindows)

    @property
    def isAligned(self) -> bool:
        """Whether all keys share their windows and fire with the watermark alone: then a window is
        one unit of work, whatever the number of its keys."""
        assigner = self.assigner
        fixed = type(assigner) is SlidingEventTimeWindows or (
            type(assigner) is TumblingEventTimeWindows
            and assigner.windowStagger is WindowStagger.ALIGNED
        )
        return fixed and type(self.trigger) is EventTimeTrigger and self.evictor is None

    @property
    def isSession(self) -> bool:
        """Whether sessions fire with the watermark alone."""
        sessions = (EventTimeSessionWindows, DynamicEventTimeSessionWindows)
        return (
            type(self.assigner) in sessions
            and type(self.trigger) is EventTimeTrigger
            and self.evictor is None
        )
