"""The description of a window operator: assigner, trigger, evictor, lateness and function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from flinkish.api.errors import InvalidProgramError, shown
from flinkish.api.functions.adapt import positional_arity, takes
from flinkish.api.functions.functions import AggregateFunction, Collector, ReduceLike
from flinkish.api.functions.window import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowContext,
    WindowFunction,
)
from flinkish.api.output_tag import OutputTag
from flinkish.api.plan.operators import OperatorDescription
from flinkish.api.windowing.assigners import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    MergingWindowAssigner,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
    WindowStagger,
)
from flinkish.api.windowing.content_windows import ContentWindows
from flinkish.api.windowing.evictors import Evictor
from flinkish.api.windowing.triggers import EventTimeTrigger, ProcessingTimeTrigger, Trigger


@dataclass(frozen=True)
class WindowOperatorDescription(OperatorDescription):
    """All of a window operator.

    ``aggregation`` folds elements as they come; without one they are kept. ``function`` is the
    user's window function and ``call`` the way to call it; without one, what ``aggregation`` gives
    is emitted as it is.
    """

    kind: ClassVar[str] = "WindowOperator"

    keyed: bool = field(default=True, init=False)

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


WindowCall: TypeAlias = Callable[[Any, Any, WindowContext[Any], Iterable[Any], Collector[Any]], Any]


def process_call(function: Any) -> WindowCall:
    """Of ``process(...)`` on keyed windows."""
    call: Any = function.process if isinstance(function, ProcessWindowFunction) else function
    if _writes("process", call, 3, "a ProcessWindowFunction or f(key, context, elements[, out])"):
        return lambda key, window, context, elements, out: call(key, context, elements, out)
    return lambda key, window, context, elements, out: call(key, context, elements)


def apply_call(function: Any) -> WindowCall:
    """Of ``apply(...)`` on keyed windows."""
    call: Any = function.apply if isinstance(function, WindowFunction) else function
    if _writes("apply", call, 3, "a WindowFunction or f(key, window, elements[, out])"):
        return lambda key, window, context, elements, out: call(key, window, elements, out)
    return lambda key, window, context, elements, out: call(key, window, elements)


def process_all_call(function: Any) -> WindowCall:
    """Of ``process(...)`` on ``windowAll``."""
    call: Any = function.process if isinstance(function, ProcessAllWindowFunction) else function
    if _writes("process", call, 2, "a ProcessAllWindowFunction or f(context, elements[, out])"):
        return lambda key, window, context, elements, out: call(context, elements, out)
    return lambda key, window, context, elements, out: call(context, elements)


def apply_all_call(function: Any) -> WindowCall:
    """Of ``apply(...)`` on ``windowAll``."""
    call: Any = function.apply if isinstance(function, AllWindowFunction) else function
    if _writes("apply", call, 2, "an AllWindowFunction or f(window, elements[, out])"):
        return lambda key, window, context, elements, out: call(window, elements, out)
    return lambda key, window, context, elements, out: call(window, elements)


def window_function_call(function: Any) -> WindowCall:
    """Of the function after ``reduce`` or ``aggregate``: a plain callable gets the context."""
    if isinstance(function, WindowFunction):
        return apply_call(function)
    return process_call(function)


def all_window_function_call(function: Any) -> WindowCall:
    """The same on ``windowAll``."""
    if isinstance(function, AllWindowFunction):
        return apply_all_call(function)
    return process_all_call(function)


def _writes(method: str, call: Any, arguments: int, wanted: str) -> bool:
    """Whether ``call`` takes ``out`` after its ``arguments``."""
    if callable(call) and not isinstance(call, type):
        if takes(call, arguments):
            return False
        if takes(call, arguments + 1):
            return True
        reason = f"it takes {positional_arity(call)} arguments"
    else:
        reason = "it is not a function"
    raise InvalidProgramError(f"{method}: {shown(call)} will not do, as {reason}. Pass {wanted}.")
