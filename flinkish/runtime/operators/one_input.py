"""Operators with one input: map, filter, flatMap, process, and keyed reduce."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flinkish.api.functions.adapt import results_of
from flinkish.api.functions.process import TimeDomain
from flinkish.api.functions.tagged import Tagger
from flinkish.api.plan.operators import (
    FilterDescription,
    FlatMapDescription,
    InOrderDescription,
    KeyedProcessDescription,
    KeyedReduceDescription,
    MapDescription,
    ProcessDescription,
)
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext, may_be_traced
from flinkish.runtime.operators.contexts import (
    ClockService,
    OperatorProcessContext,
    SimpleTimerService,
)
from flinkish.runtime.operators.keyed import KeyedOperator, TimerOperator, keyed_elements
from flinkish.runtime.operators.output import TimestampedCollector
from flinkish.runtime.operators.process_columns import ProcessColumns
from flinkish.runtime.records.copies import copied_results, keeps_nothing
from flinkish.runtime.records.records import NO_TIMESTAMP, Records
from flinkish.runtime.records.tagged_columns import TaggedColumns
from flinkish.runtime.state.accumulation import check_no_reduction
from flinkish.runtime.state.backend import Timer
from flinkish.runtime.tracing.column_function import ColumnFunction
from flinkish.runtime.tracing.emitting_function import (
    ElementFunction,
    FlatMapColumns,
    ProcessFunctionColumns,
)


class StatelessOperator(OneInputOperator):
    """The base of operators with one user function, which it opens."""

    def __init__(self, context: OperatorContext, function: object) -> None:
        super().__init__(context)
        self._function = function

    def open(self) -> None:
        self.openFunction(self._function)


class StreamMap(StatelessOperator):
    """``map`` (Flink: ``StreamMap``)."""

    def __init__(self, context: OperatorContext, description: MapDescription) -> None:
        super().__init__(context, description.function)
        self._call = description.call
        self._columns: TaggedColumns | ColumnFunction | None = self.traced(self._call)
        if isinstance(description.function, Tagger) and self.tracesFunctions:
            self._columns = TaggedColumns(description.function.tag)

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        columns = None if self._columns is None else self._columns.results(records.values)
        if columns is None:
            self.emitMapped(self._call, records)
        else:
            self.output.emitRecords(records.mapped(columns))


class StreamFilter(StatelessOperator):
    """``filter`` (Flink: ``StreamFilter``)."""

    def __init__(self, context: OperatorContext, description: FilterDescription) -> None:
        super().__init__(context, description.function)
        self._call = description.call
        self._columns = self.traced(self._call)
        self._collector = TimestampedCollector(self.output)

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        truths = None if self._columns is None else self._columns.truths(records.values)
        if truths is not None:
            self._emit_kept(truths, records)
            return
        held = not (keeps_nothing(self._call) and records.plain)
        if held and not records.immutable:
            self.collectElements(self._collect_kept, self._collector, records)
            return
        truths = np.array(self._truths(self.mapped(self._call, records), records), dtype=bool)
        self._emit_kept(truths, records)

    def _emit_kept(self, kept: NDArray[np.bool_], records: Records) -> None:
        if kept.all():
            self.output.emitRecords(records)
        elif kept.any():
            self.output.emitRecords(records.kept(kept))

    def _truths(self, verdicts: list[Any], records: Records) -> list[bool]:
        if set(map(type, verdicts)) <= {bool}:
            return verdicts
        truths: list[bool] = []
        with self.userCodeOf(lambda: records.values[len(truths)]):
            for verdict in verdicts:
                truths.append(bool(verdict))
        return truths

    def _collect_kept(self, value: Any, out: TimestampedCollector) -> None:
        """For values that can change: as they are when the function has looked at them."""
        if self._call(value):
            out.collect(value)


class StreamFlatMap(StatelessOperator):
    """``flatMap`` (Flink: ``StreamFlatMap``)."""

    def __init__(self, context: OperatorContext, description: FlatMapDescription) -> None:
        super().__init__(context, description.function)
        self._call = description.call
        self._iterate = description.iterate
        self._collector = TimestampedCollector(self.output)
        self._columns: FlatMapColumns | None = None
        if self.tracesFunctions and may_be_traced(self._iterate or self._call):
            self._columns = FlatMapColumns(self._call, self._iterate)

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        if self.emitsColumns(self._columns, records):
            return
        if self._iterate is not None:
            self._process_iterables(self._iterate, records)
        elif self._call is not None:
            self.collectElements(self._call, self._collector, records)

    def _process_iterables(self, iterate: Callable[[Any], Any], records: Records) -> None:
        if self.output.reusesObjects:
            self.collectElements(
                lambda value, out: out.collectAll(results_of(iterate(value), tuples=True)),
                self._collector,
                records,
            )
            return
        lists = self.mapped(
            lambda value: copied_results(results_of(iterate(value), tuples=True)), records
        )
        counts = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        values = list(chain.from_iterable(lists))
        self.output.emitRecords(Records(values, np.repeat(records.timestamps, counts)))


class StreamInOrder(OneInputOperator):
    """Passes elements on; the chain takes care of their order."""

    def __init__(self, context: OperatorContext, description: InOrderDescription) -> None:
        super().__init__(context)

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        self.output.emitRecords(records)


class ProcessOperator(OneInputOperator):
    """``process`` (Flink: ``ProcessOperator``)."""

    FIX = "Call keyBy(...) before process, and write a KeyedProcessFunction."

    def __init__(self, context: OperatorContext, description: ProcessDescription) -> None:
        super().__init__(context)
        self._function = description.function
        self._call = description.call
        self._context = OperatorProcessContext(self, ClockService(self, self.FIX))
        self._collector = TimestampedCollector(self.output)
        self._columns: ElementFunction | None = None
        if self.tracesFunctions and may_be_traced(self._call):
            self._columns = ProcessFunctionColumns(self._call)

    def open(self) -> None:
        self.openFunction(self._function)

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        if not self.emitsColumns(self._columns, records):
            self.processElements(self._call, self._context, self._collector, records)


class ProcessUnderKeyOperator(KeyedOperator, ProcessOperator):
    """A ``ProcessFunction`` on a keyed stream: it has keyed state, but no timers, as in Flink."""

    FIX = "Write a KeyedProcessFunction instead of the ProcessFunction."


OnTimer = Callable[[int, Any, Any], Any]


class OnTimerOperator(TimerOperator):
    """A keyed operator whose function has an ``onTimer``. Subclasses set ``onTimer``."""

    onTimer: OnTimer

    def __init__(self, context: OperatorContext) -> None:
        super().__init__(context)
        self.timerService = SimpleTimerService(self.timers, self.backend)
        self.context = OperatorProcessContext(self, self.timerService)
        self.collector = TimestampedCollector(self.output)

    def onEventTime(self, timer: Timer) -> None:
        self.timer = timer
        timestamp = timer.timestamp
        context = self.context
        context.elementTimestamp = self.collector.timestamp = timestamp
        context.domain = TimeDomain.EVENT_TIME
        self.collector.collectReturned(self.onTimer(timestamp, context, self.collector))

    def onProcessingTime(self, timer: Timer) -> None:
        self.timer = timer
        context = self.context
        # In Flink too, only the main output goes without a timestamp
        context.elementTimestamp = timer.timestamp
        self.collector.timestamp = NO_TIMESTAMP
        context.domain = TimeDomain.PROCESSING_TIME
        self.collector.collectReturned(self.onTimer(timer.timestamp, context, self.collector))

    def processRun(self, function: Callable[[Any, Any, Any], Any], records: Records) -> None:
        """Call ``function(value, context, collector)`` for every record, under its key."""
        self.metrics.numRecordsIn += len(records)
        self.context.domain = None
        self.processElements(function, self.context, self.collector, records)


class KeyedProcessOperator(OnTimerOperator, OneInputOperator):
    """``process`` of a keyed stream (Flink: ``KeyedProcessOperator``)."""

    def __init__(self, context: OperatorContext, description: KeyedProcessDescription) -> None:
        super().__init__(context)
        self._function = description.function
        self._call = description.call
        if description.function is not None:
            self.onTimer = description.function.onTimer
        else:
            self.onTimer = _ignore
        self._columns: ProcessColumns | None = None
        if self.tracesFunctions and may_be_traced(self._call):
            self._columns = ProcessColumns(self._call, self.backend, self.timerService)

    def open(self) -> None:
        self.openFunction(self._function)

    def processRecords(self, records: Records) -> None:
        results = None
        if self._columns is not None and not self.timers.inputEnded:
            results = self._columns.process(records)
        if results is None:
            self.processRun(self._call, records)
            return
        self.metrics.numRecordsIn += len(records)
        if len(results):
            self.output.emitRecords(results)

    def processWatermark(self, timestamp: int) -> None:
        self.advanceWatermark(timestamp)


def _ignore(timestamp: int, context: Any, collector: Any) -> None:
    """A plain function has no ``onTimer``."""


class KeyedStreamMap(KeyedOperator, StreamMap):
    """``KeyedStream.map``."""


class KeyedStreamFilter(KeyedOperator, StreamFilter):
    """``KeyedStream.filter``."""


class KeyedStreamFlatMap(KeyedOperator, StreamFlatMap):
    """``KeyedStream.flatMap``."""


class StreamGroupedReduceOperator(KeyedOperator, OneInputOperator):
    """``reduce`` and the rolling aggregations of a keyed stream (Flink: the class of this name)."""

    def __init__(self, context: OperatorContext, description: KeyedReduceDescription) -> None:
        super().__init__(context)
        self._function = description.function
        self._call = description.call
        self._table = context.backend.table("_op_state")
        self._batch = context.batch

    def open(self) -> None:
        self.openFunction(self._function)

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        backend, table, reduce = self.backend, self._table, self._call
        # A run has far fewer keys than elements: each key's value is read and written once
        reduced: dict[Any, Any] = {}
        collect = self.output.collect
        element: Any = None
        with self.userCodeOf(lambda: element):
            for key, element, timestamp in keyed_elements(records):
                value = element
                so_far = reduced[key] if key in reduced else table.get(key, None)
                if so_far is not None:
                    backend.currentKey = key
                    value = reduce(so_far, element)
                    if value is None:
                        check_no_reduction(so_far, element)
                reduced[key] = value
                if not self._batch:
                    collect(value, timestamp)
        for key, value in reduced.items():
            if value is None:
                table.remove(key, None)
            else:
                table.put(key, None, value)
        self.output.flush()

    def processWatermark(self, timestamp: int) -> None:
        if self._batch and timestamp == MAX_TIMESTAMP:
            for *_, value in self._table.entries():
                self.output.collect(value, MAX_TIMESTAMP)
            self.output.flush()
        super().processWatermark(timestamp)
