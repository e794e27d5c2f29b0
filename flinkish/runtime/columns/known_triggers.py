"""Which of Flink's triggers and assigners say when panes fire, and in which windows elements are,
without being asked for each element."""

from __future__ import annotations

from typing import Any

from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.api.windowing.assigners import (
    GlobalWindows,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowStagger,
)
from flinkish.api.windowing.triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
)
from flinkish.runtime.columns.panes import AlignedWindows
from flinkish.runtime.columns.tracing.column_function import may_be_traced

_MOST_WINDOWS = 32
"""In more windows, an element is added to them one by one."""

BY_PANE = (
    EventTimeTrigger,
    ProcessingTimeTrigger,
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    NeverTrigger,
    EndOfStreamTrigger,
)
"""The triggers that only register timers, until the window has ended: once they have seen one
element of a pane, the others up to the next watermark change nothing."""


def why_element_by_element(description: WindowOperatorDescription) -> str | None:
    """Why windows of the general layout are kept element by element. None: they are not."""
    assigner, (trigger, _, timeout) = description.assigner, nested(description.trigger)
    by_pane = type(trigger) in BY_PANE and timeout is None
    by_element = type(trigger) is CountTrigger or delta_trigger(description) is not None
    if type(assigner) in (SlidingProcessingTimeWindows, ProcessingTimeSessionWindows):
        known = by_pane
    elif type(assigner) is TumblingProcessingTimeWindows:
        # A timeout may be the cleanup timer too, and each firing registers that anew
        known = by_pane or (by_element and timeout is None)
    else:
        aligned = type(assigner) is GlobalWindows or aligned_windows(assigner) is not None
        known = aligned and (by_pane or by_element)
    return None if known else "has a trigger or an assigner that sees each element"


def delta_trigger(description: WindowOperatorDescription) -> DeltaTrigger[Any] | None:
    """The trigger, if it is a ``DeltaTrigger`` whose distances may be computed as columns."""
    trigger, _, timeout = nested(description.trigger)
    if type(trigger) is DeltaTrigger and timeout is None and may_be_traced(trigger._function):
        return trigger
    return None


def fires_with_timers(description: WindowOperatorDescription) -> bool:
    """Whether windows that are not kept element by element fire one by one, as timers are due."""
    return type(nested(description.trigger)[0]) in BY_PANE


def aligned_windows(assigner: Any) -> AlignedWindows | None:
    """The windows of an assigner that says by timestamps alone in which few windows elements are."""
    if (
        type(assigner) is SlidingEventTimeWindows
        and assigner.size <= _MOST_WINDOWS * assigner.slide
    ):
        return AlignedWindows(assigner.size, assigner.slide, assigner.offset)
    if type(assigner) is not TumblingEventTimeWindows:
        return None
    if assigner.windowStagger is not WindowStagger.ALIGNED:
        return None
    return AlignedWindows(assigner.size, assigner.size, assigner.offset)


def nested(trigger: Any) -> tuple[Any, bool, ProcessingTimeoutTrigger[Any, Any] | None]:
    """The trigger inside of others, whether one of these purges, and the timeout, if it has just
    one."""
    purges, timeout = False, None
    while True:
        if type(trigger) is PurgingTrigger:
            purges = True
        elif type(trigger) is ProcessingTimeoutTrigger and timeout is None:
            timeout = trigger
        else:
            return trigger, purges, timeout
        trigger = trigger._nested
