"""Says of each function of a plan whether it runs over columns, and if not, why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import singledispatch
from typing import Any, NamedTuple

from flinkish.api.eventtime.watermarks import TimestampAssigner, WatermarkGeneratorContext
from flinkish.api.functions.tagged import JoinCall, Tagger
from flinkish.api.plan.operators import (
    ArrivalTimeDescription,
    AsyncWaitDescription,
    FilterDescription,
    FlatMapDescription,
    KeyedProcessDescription,
    KeyedReduceDescription,
    MapDescription,
    OperatorDescription,
    ProcessDescription,
    TimestampsAndWatermarksDescription,
)
from flinkish.api.plan.two_input import IntervalJoinDescription, TwoInputDescription
from flinkish.api.plan.windows import (
    CONTENT_LAYOUT,
    EVICTING_LAYOUT,
    SESSION_LAYOUT,
    AlignedLayout,
    WindowOperatorDescription,
)
from flinkish.api.windowing.assigners import EventTimeSessionWindows
from flinkish.runtime.operators.base import may_be_traced
from flinkish.runtime.time.clock import ProcessingTimeService
from flinkish.runtime.time.watermarks import emits_only_periodically
from flinkish.runtime.tracing.column_fold import ColumnFold
from flinkish.runtime.tracing.column_function import ColumnFunction
from flinkish.runtime.tracing.emitting_function import (
    FlatMapColumns,
    ProcessFunctionColumns,
    WindowFunctionColumns,
)
from flinkish.runtime.tracing.event_fold import EventFold
from flinkish.runtime.tracing.pair_function import PairFunction, PairMap
from flinkish.runtime.tracing.process_fold import ProcessFold
from flinkish.runtime.windowing.window_functions import overrides_clear

DISABLED = "is not traced (disableFunctionTracing)"
CHECKPOINTED = "is a CheckpointedFunction, whose attributes come with the key group"


class _Explained(NamedTuple):
    """A function of an operator, and what gives the reason against columns."""

    name: str
    reason: Callable[[], str | None]
    function: Any = None
    each: str = "element by element"
    """How it is called otherwise."""


def explained(description: OperatorDescription, enabled: bool) -> Iterator[str]:
    """A line for each function of an operator."""
    for name, reason, function, each in _functions_of(description):
        if not may_be_traced(function):
            yield explanation(name, CHECKPOINTED, each)
        else:
            yield explanation(name, reason() if enabled else DISABLED, each)


def explained_key(selector: Callable[[Any], Any], enabled: bool) -> str:
    """A line for a key selector."""
    return explanation("key selector", ColumnFunction(selector).reason if enabled else DISABLED)


def explanation(name: str, reason: str | None, each: str = "element by element") -> str:
    """The line for a function that runs over columns, or does not for that reason.

    >>> explanation("key selector", "calls print (line 3)")
    'key selector element by element, as it calls print (line 3)'
    """
    way = "over columns" if reason is None else f"{each}, as it {reason}"
    return f"{name} {way}".lstrip()


@singledispatch
def _functions_of(description: OperatorDescription) -> Iterator[_Explained]:
    """The functions of an operator."""
    if description.userFunctions:
        yield _Explained("", lambda: f"is of an operator without columns, {description.kind}")


@_functions_of.register
def _(description: MapDescription) -> Iterator[_Explained]:
    if not isinstance(description.function, Tagger):
        yield _Explained("", lambda: ColumnFunction(description.call).reason, description.call)


@_functions_of.register
def _(description: FilterDescription) -> Iterator[_Explained]:
    yield _Explained("", lambda: ColumnFunction(description.call).reason, description.call)


@_functions_of.register
def _(description: FlatMapDescription) -> Iterator[_Explained]:
    call, iterate = description.call, description.iterate
    yield _Explained("", lambda: FlatMapColumns(call, iterate).reason, iterate or call)


@_functions_of.register
def _(description: ProcessDescription) -> Iterator[_Explained]:
    yield _Explained("", lambda: ProcessFunctionColumns(description.call).reason, description.call)


@_functions_of.register
def _(description: KeyedProcessDescription) -> Iterator[_Explained]:
    yield _Explained("", lambda: ProcessFold(description.call).reason, description.call)


@_functions_of.register
def _(description: KeyedReduceDescription) -> Iterator[_Explained]:
    yield _Explained("", lambda: "gives what there is after each element")


@_functions_of.register
def _(description: AsyncWaitDescription) -> Iterator[_Explained]:
    yield _Explained("", lambda: "is asynchronous")


@_functions_of.register
def _(description: TwoInputDescription) -> Iterator[_Explained]:
    yield _Explained("", lambda: "has two inputs")


@_functions_of.register
def _(description: IntervalJoinDescription) -> Iterator[_Explained]:
    yield _Explained("", lambda: PairFunction(description.call).reason, description.call)


@_functions_of.register
def _(description: ArrivalTimeDescription) -> Iterator[_Explained]:
    for name, time in (
        ("timestamp assigner", description.timestampCall),
        ("arrival time", description.arrivalCall),
    ):
        if time is not None:
            yield _Explained(name, _timestamps_of(time), time)


@_functions_of.register
def _(description: TimestampsAndWatermarksDescription) -> Iterator[_Explained]:
    assigner = description.strategy.timestampAssigner
    if isinstance(assigner, TimestampAssigner):
        assigner = assigner.extractTimestamp
    if assigner is not None:
        yield _Explained("timestamp assigner", _timestamps_of(assigner), assigner)
    generator = description.strategy.createWatermarkGenerator(
        WatermarkGeneratorContext(ProcessingTimeService())
    )
    if not emits_only_periodically(generator):
        yield _Explained("watermark generator", lambda: EventFold(generator).reason)


def _timestamps_of(assigner: Callable[[Any, int], Any]) -> Callable[[], str | None]:
    return lambda: ColumnFunction(assigner, 2).reason


@_functions_of.register
def _(description: WindowOperatorDescription) -> Iterator[_Explained]:
    aggregation, call, function = (
        description.aggregation,
        description.call,
        description.function,
    )
    if aggregation is not None:
        yield _Explained(
            "aggregation",
            lambda: _against_columns(description) or ColumnFold(aggregation).reason,
        )
    if isinstance(call, JoinCall):
        yield _Explained("join function", lambda: _against_join(description, call))
    elif call is not None:
        yield _Explained(
            "window function",
            lambda: _against_call(description),
            function,
            "window by window",
        )


def _against_columns(description: WindowOperatorDescription) -> str | None:
    """Why the windows are not kept as columns, if they are not."""
    layout = description.layout
    if isinstance(layout, AlignedLayout):
        return None
    if layout == SESSION_LAYOUT:
        if type(description.assigner) is EventTimeSessionWindows:
            return None
        return "has windows whose gap depends on the element"
    if layout == EVICTING_LAYOUT:
        return "has an evictor, which sees elements"
    if layout == CONTENT_LAYOUT:
        return "has windows that begin and end with elements"
    return "has a trigger or an assigner that sees each element"


def _against_call(description: WindowOperatorDescription) -> str | None:
    """Why the window function is called for each window, if it is."""
    if description.aggregation is None:
        return "is given all elements of a window"
    if overrides_clear(description.function):
        return "has a clear() of its own"
    assert description.call is not None
    return _against_columns(description) or WindowFunctionColumns(description.call).reason


def _against_join(description: WindowOperatorDescription, join: JoinCall) -> str | None:
    """Why a join function is called for each pair, if it is."""
    if not isinstance(description.layout, AlignedLayout):
        return "joins windows that are kept element by element"
    return "may emit no result, or several" if join.flat else PairMap(join.pair).reason
