"""Operators over connected streams: map, flatMap and process, with and without keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flinkish.api.process_operators import (
    CoFlatMapDescription,
    CoMapDescription,
    CoProcessDescription,
    KeyedCoProcessDescription,
)
from flinkish.runtime.elements import Records
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.keyed_operator import KeyedOperator
from flinkish.runtime.operators.keyed_process_operator import OnTimerOperator
from flinkish.runtime.operators.process_context import ClockService, OperatorProcessContext
from flinkish.runtime.operators.two_input import TwoInputOperator
from flinkish.runtime.output import TimestampedCollector


class CoStreamMap(TwoInputOperator):
    """``ConnectedStreams.map`` (Flink: ``CoStreamMap``)."""

    def __init__(self, context: OperatorContext, description: CoMapDescription) -> None:
        super().__init__(context)
        self._function = description.function

    def open(self) -> None:
        self.openFunction(self._function)

    def processRecords1(self, records: Records) -> None:
        self._process(self._function.map1, records)

    def processRecords2(self, records: Records) -> None:
        self._process(self._function.map2, records)

    def _process(self, call: Callable[[Any], Any], records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        self.emitMapped(call, records)


class KeyedCoStreamMap(KeyedOperator, CoStreamMap):
    """``map`` where both streams are keyed."""


class CoStreamFlatMap(TwoInputOperator):
    """``ConnectedStreams.flatMap`` (Flink: ``CoStreamFlatMap``)."""

    def __init__(self, context: OperatorContext, description: CoFlatMapDescription) -> None:
        super().__init__(context)
        self._function = description.function
        self._collector = TimestampedCollector(self.output)

    def open(self) -> None:
        self.openFunction(self._function)

    def processRecords1(self, records: Records) -> None:
        self._process(self._function.flatMap1, records)

    def processRecords2(self, records: Records) -> None:
        self._process(self._function.flatMap2, records)

    def _process(self, call: Callable[[Any, Any], Any], records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        self.collectElements(call, self._collector, records)


class KeyedCoStreamFlatMap(KeyedOperator, CoStreamFlatMap):
    """``flatMap`` where both streams are keyed."""


class CoProcessOperator(TwoInputOperator):
    """``ConnectedStreams.process`` without keys (Flink: ``CoProcessOperator``)."""

    def __init__(self, context: OperatorContext, description: CoProcessDescription) -> None:
        super().__init__(context)
        self._function = description.function
        mend = "Call keyBy(key1, key2) before process, and write a KeyedCoProcessFunction."
        self._context = OperatorProcessContext(self, ClockService(self, mend))
        self._collector = TimestampedCollector(self.output)

    def open(self) -> None:
        self.openFunction(self._function)

    def processRecords1(self, records: Records) -> None:
        self._process(self._function.processElement1, records)

    def processRecords2(self, records: Records) -> None:
        self._process(self._function.processElement2, records)

    def _process(self, call: Callable[[Any, Any, Any], Any], records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        self.processElements(call, self._context, self._collector, records)


class KeyedCoProcessOperator(OnTimerOperator, TwoInputOperator):
    """``ConnectedStreams.process`` where both streams are keyed (``KeyedCoProcessOperator``)."""

    def __init__(self, context: OperatorContext, description: KeyedCoProcessDescription) -> None:
        super().__init__(context)
        self._function = description.function
        self.onTimer = description.function.onTimer

    def open(self) -> None:
        self.openFunction(self._function)

    def processRecords1(self, records: Records) -> None:
        self.processRun(self._function.processElement1, records)

    def processRecords2(self, records: Records) -> None:
        self.processRun(self._function.processElement2, records)
