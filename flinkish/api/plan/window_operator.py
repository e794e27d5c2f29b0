"""The description of a window operator: assigner, trigger, evictor, lateness and function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

from flinkish.api.functions.adapt import checked_callable, takes
from flinkish.api.functions.functions import AggregateFunction, Collector, Function, ReduceLike
from flinkish.api.functions.window import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowContext,
    WindowFunction,
)
from flinkish.api.output_tag import OutputTag
from flinkish.api.plan.operators import OperatorDescription
from flinkish.api.plan.state_form import accumulators
from flinkish.api.windowing.assigners import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    GlobalWindows,
    MergingWindowAssigner,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
    WindowStagger,
)
from flinkish.api.windowing.content_windows import ContentWindows
from flinkish.api.windowing.evictors import Evictor
from flinkish.api.windowing.triggers import (
    EventTimeTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    Trigger,
)


@dataclass(frozen=True)
class WindowLayout:
    """How a window operator keeps its windows.

    The layout determines which operator runs a description. A checkpoint stores its ``name``: state
    kept in one layout cannot be read in another.
    """

    name: str


@dataclass(frozen=True)
class AlignedLayout(WindowLayout):
    """All keys share their windows, and the watermark alone fires them: a window is one unit of work,
    whatever the number of its keys. Windows of ``size`` ms begin at ``offset`` and every ``slide`` before
    and after it; tumbling windows are those whose slide is their size. The name is another with an
    evictor, as the state then has all elements.
    """

    name: str = field(default="aligned", kw_only=True)

    size: int
    slide: int
    offset: int


CONTENT_LAYOUT = WindowLayout("content")
"""The elements in the order of their timestamps, which determine where windows begin and end."""

EVICTING_LAYOUT = WindowLayout("evicting")
"""All elements with their timestamps, for an evictor."""

SESSION_LAYOUT = WindowLayout("session")
"""Sessions that the watermark alone fires."""

GENERAL_LAYOUT = WindowLayout("general")
"""Each window of each key separately, for any assigner and trigger."""


def window_layout(
    assigner: WindowAssigner[Any, Any],
    trigger: Trigger[Any, Any],
    evictor: Evictor[Any, Any] | None,
) -> WindowLayout:
    """The layout for windows of ``assigner`` that ``trigger`` fires: the fastest that gives the
    results of the general one."""
    if isinstance(assigner, ContentWindows):
        return CONTENT_LAYOUT
    if type(trigger) is EventTimeTrigger:
        name = AlignedLayout.name if evictor is None else EVICTING_LAYOUT.name
        if type(assigner) is SlidingEventTimeWindows:
            return AlignedLayout(assigner.size, assigner.slide, assigner.offset, name=name)
        if type(assigner) is TumblingEventTimeWindows:
            if assigner.windowStagger is WindowStagger.ALIGNED:
                return AlignedLayout(assigner.size, assigner.size, assigner.offset, name=name)
        elif evictor is None and type(assigner) in _SESSIONS:
            return SESSION_LAYOUT
    return GENERAL_LAYOUT if evictor is None else EVICTING_LAYOUT


_SESSIONS = EventTimeSessionWindows, DynamicEventTimeSessionWindows


@dataclass(frozen=True)
class WindowOperatorDescription(OperatorDescription):
    """A window operator.

    ``aggregation`` folds elements as they come; without one they are kept. ``function`` is the
    user's window function and ``call`` the way to call it; without one, the result of
    ``aggregation`` is emitted. ``ofTwoStreams``: the elements are those of a join or a coGroup.
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
    ofTwoStreams: bool = False

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
    def lateDataMethod(self) -> str | None:
        return None if self.ofTwoStreams else "sideOutputLateData(tag)"

    @property
    def merges(self) -> bool:
        """Whether windows merge, as sessions do."""
        return isinstance(self.assigner, MergingWindowAssigner)

    @property
    def firesOnce(self) -> bool:
        """Whether a window fires only at its end, with all its elements: then the order in which
        they came does not matter."""
        at_end = type(self.trigger) in (EventTimeTrigger, ProcessingTimeTrigger)
        return at_end and self.evictor is None and self.allowedLateness == 0

    @cached_property
    def layout(self) -> WindowLayout:
        """How the operator keeps its windows."""
        return window_layout(self.assigner, self.trigger, self.evictor)

    @property
    def stateLayout(self) -> str:
        return self.layout.name

    @property
    def stateContents(self) -> str:
        # Another trigger may wait for timers that this one did not register for open windows
        return f"{self._entries} in {self._windows}{_under(self.trigger)}"

    @property
    def _entries(self) -> str:
        """The kind of entry in the state of one window."""
        if self.ofTwoStreams:
            return "elements of two streams"
        if self.aggregation is None or self.evictor is not None or self.layout == CONTENT_LAYOUT:
            return "elements"
        if isinstance(self.aggregation, AggregateFunction):
            return accumulators(self.aggregation)
        return "reduced values"

    @property
    def _windows(self) -> str:
        """The kind of the windows, among those of one layout: windows that merge are looked up
        differently from those that do not, and timers of one time domain do not fire in the
        other."""
        time = "event time" if self.assigner.isEventTime() else "processing time"
        if isinstance(self.assigner, GlobalWindows):
            return "global windows"
        if self.evictor is not None and isinstance(self.layout, AlignedLayout):
            return f"aligned windows of {time}"
        return f"windows of {time} that merge" if self.merges else f"windows of {time}"


def _under(trigger: Trigger[Any, Any]) -> str:
    """The class of a trigger in words; empty for a trigger that fires at the end of a window. A
    PurgingTrigger registers the timers of its nested trigger."""
    if isinstance(trigger, PurgingTrigger):
        return _under(trigger.getNestedTrigger())
    if type(trigger) in (EventTimeTrigger, ProcessingTimeTrigger):
        return ""
    parts = getattr(trigger, "__dict__", {}).values()
    nested = [_under(part) for part in parts if isinstance(part, Trigger)]
    return f" under {type(trigger).__qualname__}{''.join(nested)}"


WindowCall: TypeAlias = Callable[[Any, Any, WindowContext[Any], Iterable[Any], Collector[Any]], Any]


def process_call(function: Any) -> WindowCall:
    """How to call the function of ``process(...)`` on keyed windows."""
    call: Any = function.process if isinstance(function, ProcessWindowFunction) else function
    if _writes("process", call, 3, "a ProcessWindowFunction or f(key, context, elements[, out])"):
        return lambda key, window, context, elements, out: call(key, context, elements, out)
    return lambda key, window, context, elements, out: call(key, context, elements)


def apply_call(function: Any) -> WindowCall:
    """How to call the function of ``apply(...)`` on keyed windows."""
    call: Any = function.apply if isinstance(function, WindowFunction) else function
    if _writes("apply", call, 3, "a WindowFunction or f(key, window, elements[, out])"):
        return lambda key, window, context, elements, out: call(key, window, elements, out)
    return lambda key, window, context, elements, out: call(key, window, elements)


def process_all_call(function: Any) -> WindowCall:
    """How to call the function of ``process(...)`` on ``windowAll``."""
    call: Any = function.process if isinstance(function, ProcessAllWindowFunction) else function
    if _writes("process", call, 2, "a ProcessAllWindowFunction or f(context, elements[, out])"):
        return lambda key, window, context, elements, out: call(context, elements, out)
    return lambda key, window, context, elements, out: call(context, elements)


def apply_all_call(function: Any) -> WindowCall:
    """How to call the function of ``apply(...)`` on ``windowAll``."""
    call: Any = function.apply if isinstance(function, AllWindowFunction) else function
    if _writes("apply", call, 2, "an AllWindowFunction or f(window, elements[, out])"):
        return lambda key, window, context, elements, out: call(window, elements, out)
    return lambda key, window, context, elements, out: call(window, elements)


def window_function_call(function: Any) -> WindowCall:
    """How to call the window function of ``reduce`` or ``aggregate``: a plain callable gets the
    context, or the window if the name or type of its second parameter says so."""
    if isinstance(function, WindowFunction) or _asks_for_window(function, 1):
        return apply_call(function)
    return process_call(function)


def all_window_function_call(function: Any) -> WindowCall:
    """How to call the window function of ``reduce`` or ``aggregate`` on ``windowAll``."""
    if isinstance(function, AllWindowFunction) or _asks_for_window(function, 0):
        return apply_all_call(function)
    return process_all_call(function)


def _asks_for_window(function: Any, position: int) -> bool:
    """Whether a plain function names its parameter at ``position`` a window, or annotates it as
    one."""
    if isinstance(function, Function) or not callable(function) or isinstance(function, type):
        return False
    try:
        parameter = list(inspect.signature(function).parameters.values())[position]
    except (TypeError, ValueError, IndexError):
        return False
    annotation = parameter.annotation
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return parameter.name.lower() in _WINDOW_NAMES or name.rpartition(".")[2].endswith("Window")


_WINDOW_NAMES = ("w", "win", "window", "time_window", "timewindow", "global_window", "globalwindow")


def _writes(method: str, call: Any, arguments: int, wanted: str) -> bool:
    """Whether ``call`` takes ``out`` after its ``arguments``."""
    checked_callable(method, call, wanted, arguments, arguments + 1)
    return not takes(call, arguments)
