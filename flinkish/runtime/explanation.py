"""Says of each function of a plan whether it runs over columns, and if not, why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from flinkish.api.eventtime.watermarks import TimestampAssigner, WatermarkGeneratorContext
from flinkish.api.functions.tagged import JoinCall, Tagger
from flinkish.api.plan.operators import (
    FilterDescription,
    IntervalJoinDescription,
    KeyedProcessDescription,
    MapDescription,
    OperatorDescription,
    TimestampsAndWatermarksDescription,
)
from flinkish.api.plan.windows import AlignedLayout, WindowOperatorDescription
from flinkish.runtime.time.clock import ProcessingTimeService
from flinkish.runtime.time.watermarks import emits_only_periodically
from flinkish.runtime.tracing.column_fold import ColumnFold
from flinkish.runtime.tracing.column_function import ColumnFunction
from flinkish.runtime.tracing.event_fold import EventFold
from flinkish.runtime.tracing.pair_function import PairFunction, PairMap
from flinkish.runtime.tracing.process_fold import ProcessFold

DISABLED = "is not traced (disableFunctionTracing)"


def explained(description: OperatorDescription, enabled: bool) -> Iterator[str]:
    """A line for each function of an operator that can run over columns."""
    for name, reason in _functions(description):
        yield explanation(name, reason() if enabled else DISABLED)


def explained_key(selector: Callable[[Any], Any], enabled: bool) -> str:
    """A line for a key selector."""
    return explanation("key selector", ColumnFunction(selector).reason if enabled else DISABLED)


def explanation(name: str, reason: str | None) -> str:
    """The line for a function that runs over columns, or does not for that reason.

    >>> explanation("key selector", "calls print (line 3)")
    'key selector element by element, as it calls print (line 3)'
    """
    way = "over columns" if reason is None else f"element by element, as it {reason}"
    return f"{name} {way}".lstrip()


def _functions(
    description: OperatorDescription,
) -> Iterator[tuple[str, Callable[[], str | None]]]:
    """The functions of an operator by name, with what gives the reason against columns."""
    if isinstance(description, MapDescription):
        if isinstance(description.function, Tagger):
            return
        call = description.call
        yield "", lambda: ColumnFunction(call).reason
    elif isinstance(description, FilterDescription):
        verdict = description.call
        yield "", lambda: ColumnFunction(verdict).reason
    elif isinstance(description, TimestampsAndWatermarksDescription):
        assigner = description.strategy.timestampAssigner
        if isinstance(assigner, TimestampAssigner):
            assigner = assigner.extractTimestamp
        if assigner is not None:
            extract = assigner
            yield "timestamp assigner", lambda: ColumnFunction(extract, 2).reason
        generator = description.strategy.createWatermarkGenerator(
            WatermarkGeneratorContext(ProcessingTimeService())
        )
        if not emits_only_periodically(generator):
            yield "watermark generator", lambda: EventFold(generator).reason
    elif isinstance(description, KeyedProcessDescription):
        process = description.call
        yield "", lambda: ProcessFold(process).reason
    elif isinstance(description, IntervalJoinDescription):
        join = description.call
        yield "", lambda: PairFunction(join).reason
    elif isinstance(description, WindowOperatorDescription):
        aggregation = description.aggregation
        if aggregation is not None and isinstance(description.layout, AlignedLayout):
            yield "aggregation", lambda: ColumnFold(aggregation).reason
        joins = description.call
        if isinstance(joins, JoinCall) and isinstance(description.layout, AlignedLayout):
            yield "join function", lambda: _reason_of(joins)


def _reason_of(join: JoinCall) -> str | None:
    return "may emit no result, or several" if join.flat else PairMap(join.pair).reason
