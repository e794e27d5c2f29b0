"""Operators with two inputs: the base class, and coMap, coFlatMap and coProcess, keyed or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flinkish.api.plan.two_input import CoProcessDescription
from flinkish.api.time.elements import WatermarkStatus
from flinkish.runtime.operators.base import OperatorContext, StreamOperator, UdfStreamOperator
from flinkish.runtime.operators.contexts import ClockService, OperatorProcessContext
from flinkish.runtime.operators.keyed import KeyedOperator
from flinkish.runtime.operators.one_input import OnTimerOperator
from flinkish.runtime.operators.output import Input
from flinkish.runtime.records.records import Records
from flinkish.runtime.time.watermark_generation import IndexedCombinedWatermarkStatus


class TwoInputOperator(StreamOperator):
    """An operator with two inputs (Flink: ``TwoInputStreamOperator``). Its watermark is the lower
    of the two; an idle input does not hold it back."""

    def __init__(self, context: OperatorContext) -> None:
        super().__init__(context)
        self._combined = IndexedCombinedWatermarkStatus(2)
        self._inputs = (
            OperatorInput(self, 0, self.processRecords1),
            OperatorInput(self, 1, self.processRecords2),
        )

    @property
    def inputs(self) -> tuple[Input, ...]:
        return self._inputs

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        super().restore(snapshot)
        self._combined.restore(None if snapshot is None else snapshot.get("combinedWatermark"))

    def snapshot(self) -> dict[str, Any]:
        return {**super().snapshot(), "combinedWatermark": self._combined.snapshot()}

    def processRecords1(self, records: Records) -> None:
        raise NotImplementedError

    def processRecords2(self, records: Records) -> None:
        raise NotImplementedError

    def processInputWatermark(self, index: int, timestamp: int) -> None:
        self._combined.setWatermark(index, timestamp)
        if self._combined.updateCombinedWatermark():
            self.advanceWatermark(self._combined.combinedWatermark)

    def processInputWatermarkStatus(self, index: int, status: WatermarkStatus) -> None:
        was_idle = self._combined.idle
        self._combined.areIdle[index] = status.isIdle()
        if self._combined.updateCombinedWatermark():
            self.advanceWatermark(self._combined.combinedWatermark)
        if self._combined.idle != was_idle:
            self.output.emitWatermarkStatus(status)


@dataclass(eq=False)
class OperatorInput(Input):
    """One of the inputs of an operator."""

    operator: TwoInputOperator
    index: int
    process: Callable[[Records], None]

    def processRecords(self, records: Records) -> None:
        self.process(records)

    def processWatermark(self, timestamp: int) -> None:
        self.operator.processInputWatermark(self.index, timestamp)

    def processWatermarkStatus(self, status: WatermarkStatus) -> None:
        self.operator.processInputWatermarkStatus(self.index, status)


class CoStreamMap(UdfStreamOperator, TwoInputOperator):
    """``ConnectedStreams.map`` (Flink: ``CoStreamMap``)."""

    def processRecords1(self, records: Records) -> None:
        self._process(self._function.map1, records)

    def processRecords2(self, records: Records) -> None:
        self._process(self._function.map2, records)

    def _process(self, call: Callable[[Any], Any], records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        self.emitMapped(call, records)


class KeyedCoStreamMap(KeyedOperator, CoStreamMap):
    """``map`` where both streams are keyed."""


class CoStreamFlatMap(UdfStreamOperator, TwoInputOperator):
    """``ConnectedStreams.flatMap`` (Flink: ``CoStreamFlatMap``)."""

    def processRecords1(self, records: Records) -> None:
        self._process(self._function.flatMap1, records)

    def processRecords2(self, records: Records) -> None:
        self._process(self._function.flatMap2, records)

    def _process(self, call: Callable[[Any, Any], Any], records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        self.collectElements(call, records)


class KeyedCoStreamFlatMap(KeyedOperator, CoStreamFlatMap):
    """``flatMap`` where both streams are keyed."""


class CoProcessOperator(UdfStreamOperator, TwoInputOperator):
    """``ConnectedStreams.process`` without keys (Flink: ``CoProcessOperator``)."""

    def __init__(self, context: OperatorContext, description: CoProcessDescription) -> None:
        super().__init__(context, description)
        fix = "Call keyBy(key1, key2) before process, and write a KeyedCoProcessFunction."
        self._context = OperatorProcessContext(self, ClockService(self, fix))

    def processRecords1(self, records: Records) -> None:
        self._process(self._function.processElement1, records)

    def processRecords2(self, records: Records) -> None:
        self._process(self._function.processElement2, records)

    def _process(self, call: Callable[[Any, Any, Any], Any], records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        self.processElements(call, self._context, self.collector, records)


class KeyedCoProcessOperator(UdfStreamOperator, OnTimerOperator, TwoInputOperator):
    """``ConnectedStreams.process`` where both streams are keyed (``KeyedCoProcessOperator``)."""

    def __init__(self, context: OperatorContext, description: CoProcessDescription) -> None:
        super().__init__(context, description)
        self.onTimer = description.function.onTimer

    def processRecords1(self, records: Records) -> None:
        self.processRun(self._function.processElement1, records)

    def processRecords2(self, records: Records) -> None:
        self.processRun(self._function.processElement2, records)
