"""Operators with one input: map, filter, flatMap, process, and keyed reduce."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flinkish.api.functions.adapt import results_of
from flinkish.api.functions.process import TimeDomain
from flinkish.api.plan.operators import (
    FlatMapDescription,
    KeyedProcessDescription,
    KeyedReduceDescription,
    ProcessDescription,
)
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext, UdfStreamOperator
from flinkish.runtime.operators.contexts import (
    ClockService,
    OperatorProcessContext,
    SimpleTimerService,
)
from flinkish.runtime.operators.keyed import KeyedOperator, TimerOperator, keyed_elements
from flinkish.runtime.operators.output import TimestampedCollector
from flinkish.runtime.records.copies import keeps_nothing
from flinkish.runtime.records.records import NO_TIMESTAMP, Records
from flinkish.runtime.state.accumulation import check_no_reduction
from flinkish.runtime.state.backend import Timer


class StreamMap(UdfStreamOperator, OneInputOperator):
    """``map`` (Flink: ``StreamMap``)."""

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        self.emitMapped(self._call, records)


class StreamFilter(UdfStreamOperator, OneInputOperator):
    """``filter`` (Flink: ``StreamFilter``)."""

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        held = not (keeps_nothing(self._call) and records.plain)
        if held and not records.immutable:
            self.collectElements(self._collect_kept, records)
            return
        truths = self._truths(self.mapped(self._call, records), records)
        if all(truths):
            self.output.emitRecords(records)
        elif any(truths):
            self.output.emitRecords(records.kept(truths))

    def _truths(self, verdicts: list[Any], records: Records) -> list[bool]:
        if set(map(type, verdicts)) <= {bool}:
            return verdicts
        truths: list[bool] = []
        with self.userCodeOf(lambda: records.values[len(truths)]):
            for verdict in verdicts:
                truths.append(bool(verdict))
        return truths

    def _collect_kept(self, value: Any, out: TimestampedCollector) -> None:
        """Collect a mutable value right after the function, which may have changed it."""
        if self._call(value):
            out.collect(value)


class StreamFlatMap(UdfStreamOperator, OneInputOperator):
    """``flatMap`` (Flink: ``StreamFlatMap``)."""

    def __init__(self, context: OperatorContext, description: FlatMapDescription) -> None:
        super().__init__(context, description)
        self._call = _collecting(description)

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        self.collectElements(self._call, records)


def _collecting(description: FlatMapDescription) -> Callable[[Any, Any], Any]:
    """The function, which collects its results if it returns or yields them."""
    if description.call is not None:
        return description.call
    iterate = description.iterate
    assert iterate is not None

    def collect(value: Any, out: TimestampedCollector) -> None:
        out.collectAll(results_of(iterate(value), tuples=True))

    return collect


class StreamInOrder(OneInputOperator):
    """Passes elements on; the chain orders them."""

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        self.output.emitRecords(records)


class ProcessOperator(UdfStreamOperator, OneInputOperator):
    """``process`` (Flink: ``ProcessOperator``)."""

    FIX = "Call keyBy(...) before process, and write a KeyedProcessFunction."

    def __init__(self, context: OperatorContext, description: ProcessDescription) -> None:
        super().__init__(context, description)
        self._context = OperatorProcessContext(self, ClockService(self, self.FIX))

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        self.processElements(self._call, self._context, self.collector, records)


class ProcessUnderKeyOperator(KeyedOperator, ProcessOperator):
    """A ``ProcessFunction`` on a keyed stream: it has keyed state, but no timers, as in Flink."""

    FIX = "Write a KeyedProcessFunction instead of the ProcessFunction."


class OnTimerOperator(TimerOperator):
    """A keyed operator whose function has an ``onTimer``. Subclasses set ``onTimer``."""

    onTimer: Callable[[int, Any, Any], Any]

    def __init__(self, context: OperatorContext) -> None:
        super().__init__(context)
        self.timerService = SimpleTimerService(self.timers, self.backend)
        self.context = OperatorProcessContext(self, self.timerService)

    def onEventTime(self, timer: Timer) -> None:
        self.timer = timer
        timestamp = timer.timestamp
        context = self.context
        context.elementTimestamp = self.collector.timestamp = timestamp
        context.domain = TimeDomain.EVENT_TIME
        returned = self.onTimer(timestamp, context, self.collector)
        if returned is not None:
            self.collector.collectReturned(returned)

    def onProcessingTime(self, timer: Timer) -> None:
        self.timer = timer
        context = self.context
        # As in Flink, results of the main output have no timestamp, but side outputs do
        context.elementTimestamp = timer.timestamp
        self.collector.timestamp = NO_TIMESTAMP
        context.domain = TimeDomain.PROCESSING_TIME
        returned = self.onTimer(timer.timestamp, context, self.collector)
        if returned is not None:
            self.collector.collectReturned(returned)

    def processRun(self, function: Callable[[Any, Any, Any], Any], records: Records) -> None:
        """Call ``function(value, context, collector)`` for every record, under its key."""
        self.metrics.numRecordsIn += len(records)
        self.context.domain = None
        self.processElements(function, self.context, self.collector, records)


class KeyedProcessOperator(UdfStreamOperator, OnTimerOperator, OneInputOperator):
    """``process`` of a keyed stream (Flink: ``KeyedProcessOperator``)."""

    def __init__(self, context: OperatorContext, description: KeyedProcessDescription) -> None:
        super().__init__(context, description)
        self.onTimer = _ignore if self._function is None else self._function.onTimer

    def processRecords(self, records: Records) -> None:
        self.processRun(self._call, records)


def _ignore(timestamp: int, context: Any, collector: Any) -> None:
    """A plain function has no ``onTimer``."""


REDUCED = "_op_state"
"""The state of reduced values; Flink's name."""


class StreamGroupedReduceOperator(UdfStreamOperator, KeyedOperator, OneInputOperator):
    """``reduce`` and the rolling aggregations of a keyed stream (Flink: the class of this name)."""

    def __init__(self, context: OperatorContext, description: KeyedReduceDescription) -> None:
        super().__init__(context, description)
        self._table = context.backend.table(REDUCED)
        self._batch = context.batch

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
