"""``advanceTime``: current-time increments between events, made of them or imported."""

from __future__ import annotations

from typing import Any

from flinkish.api.advance_time import AdvanceTimeDescription
from flinkish.api.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Watermark, WatermarkStatus
from flinkish.api.errors import MissingTimestampError
from flinkish.api.temporal_events import EdgeEvent, IntervalEvent, PointEvent
from flinkish.runtime.current_time import IncrementGeneration, ViolationPolicy
from flinkish.runtime.elements import NO_TIMESTAMP, Records
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.timestamps_and_watermarks import WatermarkEmitter
from flinkish.runtime.operators.two_input import TwoInputOperator

_SHAPES = (PointEvent, IntervalEvent, EdgeEvent)


class AdvanceTimeOperator(TwoInputOperator):
    """Events on the first input, time to import on the second, if that is connected."""

    def __init__(self, context: OperatorContext, description: AdvanceTimeDescription) -> None:
        super().__init__(context)
        self._description = description
        self._emitter = WatermarkEmitter(self.output)
        self.restore(None)

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        super().restore(snapshot)
        known = {} if snapshot is None else snapshot
        settings = self._description.generation
        self._generation = (
            None if settings is None else IncrementGeneration(settings, known.get("generation"))
        )
        self._policy = ViolationPolicy(self._description.policy, known.get("violations"))
        self._emitter.restore(known.get("emitted", MIN_TIMESTAMP), False)

    def snapshot(self) -> dict[str, Any]:
        return {
            **super().snapshot(),
            "generation": None if self._generation is None else self._generation.snapshot(),
            "violations": self._policy.snapshot(),
            "emitted": self._emitter.watermark,
        }

    @property
    def reportedWatermark(self) -> int:
        return self._emitter.watermark

    def processRecords1(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        for value, timestamp in zip(records.values, records.timestamps.tolist()):
            event = value
            if not isinstance(value, _SHAPES):
                if timestamp == NO_TIMESTAMP:
                    raise MissingTimestampError(self.name, value)
                event = PointEvent(timestamp, value)
            # An increment at c is Watermark(c - 1)
            admitted = self._policy.admit(event, self._emitter.watermark + 1)
            if admitted is not None:
                unchanged = admitted is event
                self.output.collect(value if unchanged else admitted, admitted.syncTime)
            elif self._description.violations is not None:
                self.output.collectSide(self._description.violations, value, event.syncTime)
            else:
                self.metrics.numLateRecordsDropped += 1
            increment = None if self._generation is None else self._generation.after(event)
            if increment is not None:
                self._emitter.emitWatermark(Watermark(increment - 1))
        self.output.flush()

    def processRecords2(self, records: Records) -> None:
        """Of the imported stream only the time counts."""

    def processInputWatermark(self, index: int, timestamp: int) -> None:
        if index == 1:
            self._emitter.emitWatermark(Watermark(timestamp))
        elif timestamp == MAX_TIMESTAMP:
            settings = self._description.generation
            if settings is not None and settings.advanceToInfinityOnShutdown:
                self._emitter.emitWatermark(Watermark.MAX_WATERMARK)

    def processInputWatermarkStatus(self, index: int, status: WatermarkStatus) -> None:
        """A stream without events does not advance, idle or not: nobody is to wait for less."""
