"""Says for each function of a plan whether it runs over columns, and if not, why."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from flinkish.api.eventtime.watermarks import TimestampAssigner, WatermarkGeneratorContext
from flinkish.api.functions.tagged import JoinCall, Tagger
from flinkish.api.plan import operators as plan
from flinkish.api.plan.two_input import (
    BroadcastProcessDescription,
    CoProcessDescription,
    IntervalJoinDescription,
    TwoInputDescription,
)
from flinkish.api.plan.window_operator import (
    CONTENT_LAYOUT,
    EVICTING_LAYOUT,
    GENERAL_LAYOUT,
    SESSION_LAYOUT,
    AlignedLayout,
    WindowOperatorDescription,
)
from flinkish.api.windowing.assigners import DynamicEventTimeSessionWindows, EventTimeSessionWindows
from flinkish.runtime.columns.delta_firings import DeltaFirings
from flinkish.runtime.columns.evicting_windows import why_evicted_element_by_element
from flinkish.runtime.columns.eviction import Eviction
from flinkish.runtime.columns.known_triggers import (
    delta_trigger,
    fires_with_timers,
    why_element_by_element,
)
from flinkish.runtime.columns.rolling_reduce import why_rolling_unsupported
from flinkish.runtime.columns.tracing.column_fold import ColumnFold
from flinkish.runtime.columns.tracing.column_function import ColumnFunction, PairMap, may_be_traced
from flinkish.runtime.columns.tracing.emitting_function import (
    ElementFunction,
    FlatMapColumns,
    PairFunction,
    ProcessFunctionColumns,
)
from flinkish.runtime.columns.tracing.event_fold import EventFold
from flinkish.runtime.columns.tracing.phase_fold import PhaseFold
from flinkish.runtime.columns.window_functions import window_function_columns
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.state.broadcast_state import BroadcastStates
from flinkish.runtime.time.clock import ProcessingTimeService
from flinkish.runtime.time.watermark_generation import emits_only_periodically
from flinkish.runtime.windowing.window_functions import overrides_clear

DISABLED = "is not traced (disableFunctionTracing)"
UNKNOWN = ", where its elements are columns"
STATES = ", if its states turn out to hold counts, sums, extremes and last values"
CHECKPOINTED = "is a CheckpointedFunction, whose attributes come with the key group"


class _Explained(NamedTuple):
    """A function of an operator, and a call for why it does not run over columns."""

    name: str
    reason: Callable[[], str | None]
    function: Any = None
    each: str = "element by element"
    """How the function is called if it does not run over columns."""
    condition: str = ""
    """The condition on which the function runs over columns, if that is not known yet."""


def explained(
    description: plan.OperatorDescription, enabled: bool, elements: RowColumns | None = None
) -> Iterator[str]:
    """A line for each function of an operator. ``elements`` is typical input of the operator, as
    columns on which the functions are tried. None: the input is not known to be columns."""
    for name, reason, function, each, condition in _functions_of(description, elements):
        if not may_be_traced(function):
            yield explanation(name, CHECKPOINTED, each)
        else:
            yield explanation(name, reason() if enabled else DISABLED, each, condition)


def explained_key(
    selector: Callable[[Any], Any], enabled: bool, elements: RowColumns | None = None
) -> str:
    reason = _reason(ColumnFunction(selector), elements) if enabled else DISABLED
    return explanation("key selector", reason, condition=_condition(elements))


def explanation(
    name: str, reason: str | None, each: str = "element by element", condition: str = ""
) -> str:
    """The line for a function that runs over columns under ``condition``, or does not for
    ``reason``.

    >>> explanation("key selector", "calls print (line 3)")
    'key selector element by element, as it calls print (line 3)'
    """
    way = f"over columns{condition}" if reason is None else f"{each}, as it {reason}"
    return f"{name} {way}".lstrip()


def elements_behind(
    description: plan.OperatorDescription, elements: RowColumns | None
) -> RowColumns | None:
    """The output of an operator for typical elements; None if that is not known to be columns."""
    if elements is None or isinstance(
        description, (plan.FilterDescription, plan.TimestampsAndWatermarksDescription)
    ):
        return elements
    results: Any = None
    if isinstance(description, plan.MapDescription):
        results = _untold(ColumnFunction(description.call)).results(elements)
    elif isinstance(description, (plan.FlatMapDescription, plan.ProcessDescription)):
        emitted = _emitted(_emitting(description), elements)
        results = None if emitted is None else emitted[None].values
    elif isinstance(description, WindowOperatorDescription) and description.call is None:
        fold = _untold(ColumnFold(description.aggregation))
        folded = _folded(fold, elements)
        results = None if folded is None else fold.results(folded)
    return results if isinstance(results, RowColumns) and len(results) else None


def _condition(elements: RowColumns | None) -> str:
    return UNKNOWN if elements is None else ""


def _reason(function: Any, elements: RowColumns | None) -> str | None:
    """Why a function does not run over columns. None: it does, as far as its elements are known."""
    if elements is None:
        return function.reason  # type: ignore[no-any-return]
    _untold(function)
    if isinstance(function, ColumnFunction):
        times = np.zeros(len(elements), dtype=np.int64)
        answer: Any = function.results(elements, times if function.takesTimestamps else None)
    elif isinstance(function, ColumnFold):
        answer = _folded(function, elements)
    else:
        answer = _emitted(function, elements)
    if answer is not None:
        return None
    # A parser raises an exception for typical texts, which says nothing of others
    tells = isinstance(function, (ColumnFunction, ElementFunction))
    if tells and function.reason is None and function.raisesFor(elements):
        return None
    return function.reason or "computes what columns would not give exactly"


def _untold(function: Any) -> Any:
    """``function``, which does not check its first runs against Python: it is only tried here."""
    function.runs.checks = 0
    return function


def _folded(fold: ColumnFold, elements: RowColumns) -> pa.RecordBatch | None:
    return fold.fold(elements, np.zeros(len(elements), dtype=np.intp), 1)


def _emitted(function: ElementFunction, elements: RowColumns) -> dict[str | None, Records] | None:
    times = np.arange(1, len(elements) + 1, dtype=np.int64)
    return function.process(Records(elements, times), 0, 0)


def _emitting(description: plan.FlatMapDescription | plan.ProcessDescription) -> ElementFunction:
    function: ElementFunction = (
        FlatMapColumns(description.call, description.iterate)
        if isinstance(description, plan.FlatMapDescription)
        else ProcessFunctionColumns(description.call)
    )
    return _untold(function)  # type: ignore[no-any-return]


def _functions_of(
    description: plan.OperatorDescription, elements: RowColumns | None
) -> Iterator[_Explained]:
    match description:
        case (
            plan.MapDescription(function=function, call=call)
            | plan.FilterDescription(function=function, call=call)
        ):
            if not isinstance(function, Tagger):
                yield _element_function("", ColumnFunction(call), call, elements)
        case plan.FlatMapDescription():
            own = description.iterate or description.call
            yield _element_function("", _emitting(description), own, elements)
        case plan.ProcessDescription(call=call):
            yield _element_function("", _emitting(description), call, elements)
        case plan.KeyedProcessDescription(call=call):
            yield _Explained("", lambda: PhaseFold(call).reason, call, condition=STATES)
        case plan.KeyedReduceDescription(function=function, call=call):
            reason = partial(why_rolling_unsupported, description)
            yield _Explained("", reason, function or call, condition=UNKNOWN)
        case plan.AsyncWaitDescription():
            yield _Explained("", lambda: "is asynchronous")
        case plan.ArrivalTimeDescription():
            yield from _of_arrival_time(description, elements)
        case plan.TimestampsAndWatermarksDescription():
            yield from _of_timestamps(description, elements)
        case WindowOperatorDescription():
            yield from _of_windows(description, elements)
        case TwoInputDescription():
            yield from _of_two_inputs(description)
        case _ if description.userFunctions:
            yield _Explained("", lambda: f"is of an operator without columns, {description.kind}")


def _of_two_inputs(description: TwoInputDescription) -> Iterator[_Explained]:
    match description:
        case CoProcessDescription(function=function) if description.keyed:
            for number in (1, 2):
                call = getattr(function, f"processElement{number}")
                reason = partial(getattr, PhaseFold(call), "reason")
                yield _Explained(f"input {number}", reason, call, condition=STATES)
        case CoProcessDescription():
            yield _Explained("", lambda: "has two inputs and no keys")
        case BroadcastProcessDescription():
            call, broadcast = description.function.processElement, BroadcastStates("", ())
            fold: type[PhaseFold | ProcessFunctionColumns]
            fold, condition = (
                (PhaseFold, STATES) if description.keyed else (ProcessFunctionColumns, UNKNOWN)
            )
            reason = partial(getattr, fold(call, broadcast=broadcast), "reason")
            yield _Explained("input 1", reason, call, condition=condition)
            yield _Explained("input 2", lambda: "is given broadcast elements")
        case IntervalJoinDescription(call=call):
            yield _Explained("", lambda: PairFunction(call).reason, call, condition=UNKNOWN)
        case _:
            yield _Explained("", lambda: "has two inputs")


def _of_arrival_time(
    description: plan.ArrivalTimeDescription, elements: RowColumns | None
) -> Iterator[_Explained]:
    for name, time in (
        ("timestamp assigner", description.timestampCall),
        ("arrival time", description.arrivalCall),
    ):
        if time is not None:
            yield _element_function(name, ColumnFunction(time, 2), time, elements)


def _of_timestamps(
    description: plan.TimestampsAndWatermarksDescription, elements: RowColumns | None
) -> Iterator[_Explained]:
    assigner = description.strategy.timestampAssigner
    if isinstance(assigner, TimestampAssigner):
        assigner = assigner.extractTimestamp
    if assigner is not None:
        function = ColumnFunction(assigner, 2)
        yield _element_function("timestamp assigner", function, assigner, elements)
    generator = description.strategy.createWatermarkGenerator(
        WatermarkGeneratorContext(ProcessingTimeService())
    )
    if not emits_only_periodically(generator):
        yield _Explained(
            "watermark generator", lambda: EventFold(generator).reason, condition=UNKNOWN
        )


def _element_function(
    name: str, traced: Any, function: Any, elements: RowColumns | None
) -> _Explained:
    """A function called with each element. ``traced``: what runs over columns."""
    return _Explained(
        name, lambda: _reason(traced, elements), function, condition=_condition(elements)
    )


def _of_windows(
    description: WindowOperatorDescription, elements: RowColumns | None
) -> Iterator[_Explained]:
    aggregation, call = description.aggregation, description.call
    if aggregation is not None:
        yield _Explained(
            "aggregation",
            lambda: _against_columns(description) or _reason(ColumnFold(aggregation), elements),
            condition=_condition(elements),
        )
    if isinstance(call, JoinCall):
        yield _Explained(
            "join function", lambda: _against_join(description, call), condition=UNKNOWN
        )
    elif call is not None:
        reason = partial(_against_call, description)
        function = description.function
        yield _Explained("window function", reason, function, "window by window", UNKNOWN)


def _against_columns(description: WindowOperatorDescription) -> str | None:
    """Why the windows are not kept as columns. None: they are."""
    layout = description.layout
    if isinstance(layout, AlignedLayout):
        return None if description.evictor is None else _against_evictor(description)
    if layout == SESSION_LAYOUT:
        return _against_sessions(description.assigner)
    if layout == EVICTING_LAYOUT:
        return why_evicted_element_by_element(description)
    if layout == CONTENT_LAYOUT:
        return "has windows that begin and end with elements"
    return why_element_by_element(description) or _against_delta(description)


def _against_delta(description: WindowOperatorDescription) -> str | None:
    """Why the distances of a DeltaTrigger are computed by calls. None: they are not."""
    trigger = delta_trigger(description)
    reason = None if trigger is None else DeltaFirings(trigger).reason
    return None if reason is None else f"has a trigger that {reason}"


def _against_sessions(assigner: Any) -> str | None:
    """Why sessions are not kept as columns. None: they are."""
    if type(assigner) is EventTimeSessionWindows:
        return None
    if type(assigner) is not DynamicEventTimeSessionWindows:
        return "has an assigner that sees each element"
    reason = ColumnFunction(assigner._gap).reason if may_be_traced(assigner._gap) else CHECKPOINTED
    return None if reason is None else f"has a gap extractor that {reason}"


def _against_evictor(description: WindowOperatorDescription) -> str | None:
    assert description.evictor is not None
    if description.allowedLateness:
        return "has an evictor, and windows that may fire again"
    return Eviction(description.evictor, None, tracesFunctions=True).reason


def _against_call(description: WindowOperatorDescription) -> str | None:
    """Why the window function is called for each window. None: it is not."""
    if description.aggregation is None:
        return "is given all elements of a window"
    if overrides_clear(description.function):
        return "overrides clear()"
    if description.layout == GENERAL_LAYOUT and fires_with_timers(description):
        return "is called as timers fire"
    return _against_columns(description) or window_function_columns(description).reason


def _against_join(description: WindowOperatorDescription, join: JoinCall) -> str | None:
    """Why a join function is called for each pair. None: it is not."""
    if not isinstance(description.layout, AlignedLayout) or description.evictor is not None:
        return "joins windows that are kept element by element"
    return "may emit no result, or several" if join.flat else PairMap(join.pair).reason


_MOMENT = datetime.datetime(2026, 1, 2, 3, 4, 5)


def typical_elements(schema: pa.Schema) -> RowColumns:
    """Two rows with the columns of ``schema``, without nulls.

    >>> typical_elements(pa.schema({"n": pa.int64(), "s": pa.string()})).rows()
    [Row(n=1, s='a'), Row(n=2, s='b')]
    """
    arrays = [pa.array([_value(kind, at) for at in (1, 2)], kind) for kind in schema.types]
    return RowColumns(pa.RecordBatch.from_arrays(arrays, names=schema.names))


def _value(kind: pa.DataType, number: int) -> Any:
    """The first or the second typical value of a type."""
    types = pa.types
    if types.is_boolean(kind):
        return number == 1
    if types.is_integer(kind):
        return number
    if types.is_floating(kind):
        return number + 0.5
    if types.is_string(kind) or types.is_large_string(kind):
        return " ab"[number]
    if types.is_decimal(kind):
        return Decimal(number)
    if types.is_timestamp(kind):
        return _MOMENT.replace(year=2025 + number)
    if types.is_date(kind):
        return _MOMENT.replace(year=2025 + number).date()
    if types.is_duration(kind):
        return datetime.timedelta(seconds=number)
    if types.is_binary(kind) or types.is_large_binary(kind):
        return b" ab"[number : number + 1]
    if types.is_struct(kind):
        return {field.name: _value(field.type, number) for field in kind}
    if types.is_map(kind):
        return [(_value(kind.key_type, number), _value(kind.item_type, number))]
    if types.is_list(kind) or types.is_large_list(kind):
        return [_value(kind.value_type, number)]
    return None
