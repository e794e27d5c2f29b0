"""``assignTimestampsAndWatermarks``: gives elements timestamps and runs a watermark generator."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import cloudpickle

from flinkish.api.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Watermark, WatermarkStatus
from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.api.operators import TimestampsAndWatermarksDescription
from flinkish.api.watermarks import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    TimestampAssigner,
    WatermarkOutput,
)
from flinkish.runtime.elements import Records, Timestamps, timestamps_of
from flinkish.runtime.field_access import field_read
from flinkish.runtime.idleness import IdlenessTimer
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext
from flinkish.runtime.output import Output
from flinkish.runtime.row_columns import integer_column


class TimestampsAndWatermarksOperator(OneInputOperator):
    """Flink's operator of this name.

    Watermarks from upstream end here, except the last one, which says that the input has ended.
    """

    def __init__(
        self, context: OperatorContext, description: TimestampsAndWatermarksDescription
    ) -> None:
        super().__init__(context)
        strategy = description.strategy
        assigner = strategy.timestampAssigner
        self._extract = (
            assigner.extractTimestamp if isinstance(assigner, TimestampAssigner) else assigner
        )
        self._field = None if self._extract is None else field_read(self._extract)
        self._strategy = strategy
        self._interval = context.autoWatermarkInterval
        self._emitter = WatermarkEmitter(self.output)
        self.restore(None)

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        super().restore(snapshot)
        timeout = self._strategy.idleTimeout
        self._idleness = None if timeout is None else IdlenessTimer(timeout)
        if snapshot is None:
            self._generator = self._strategy.createWatermarkGenerator()
            self._emitter.restore(MIN_TIMESTAMP, False)
            self._nextEmit = self.clock.getCurrentProcessingTime() + self._interval
        else:
            self._generator = cloudpickle.loads(snapshot["generator"])
            self._emitter.restore(*snapshot["emitter"])
            self._nextEmit = snapshot["nextEmit"]
            if self._idleness is not None:
                self._idleness.restore(snapshot["idleness"])

    def snapshot(self) -> dict[str, Any]:
        return {
            **super().snapshot(),
            "generator": cloudpickle.dumps(self._generator),
            "emitter": self._emitter.snapshot(),
            "nextEmit": self._nextEmit,
            "idleness": None if self._idleness is None else self._idleness.snapshot(),
        }

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        if self._idleness is None and type(self._generator) in _EMIT_ONLY_PERIODICALLY:
            self._process_run(records)
        else:
            self._process_singly(records)

    def _process_run(self, records: Records) -> None:
        """For generators that only note the highest timestamp: the whole run at once."""
        timestamps = self._timestamps(records)
        if len(records) and isinstance(self._generator, BoundedOutOfOrdernessWatermarks):
            self._generator.onEvent(None, int(timestamps.max()), self._emitter)
        self.output.emitRecords(Records(records.values, timestamps))

    def _timestamps(self, records: Records) -> Timestamps:
        if self._extract is None:
            return records.timestamps
        column = integer_column(records.values, self._field)
        if column is not None:
            return column
        extracted: list[Any] = []
        with self.userCodeOf(lambda: records.values[len(extracted)]):
            extracted.extend(map(self._extract, records.values, records.timestamps.tolist()))
        if set(map(type, extracted)) != {int}:
            extracted = [self._checked(timestamp) for timestamp in extracted]
        return timestamps_of(extracted)

    def _process_singly(self, records: Records) -> None:
        timestamps = records.timestamps.tolist()
        extract, on_event, emitter = self._extract, self._generator.onEvent, self._emitter
        collect, idleness = self.output.collect, self._idleness
        value: Any = None
        with self.userCodeOf(lambda: value):
            for value, timestamp in zip(records.values, timestamps):
                if extract is not None:
                    timestamp = extract(value, timestamp)
                    if type(timestamp) is not int:
                        timestamp = self._checked(timestamp)
                # Flink emits the element first: a watermark from onEvent comes after it.
                collect(value, timestamp)
                on_event(value, timestamp, emitter)
                if idleness is not None:
                    idleness.activity()
        self.output.flush()

    def processWatermark(self, timestamp: int) -> None:
        if timestamp == MAX_TIMESTAMP:
            self._emitter.emitWatermark(Watermark.MAX_WATERMARK)

    def processWatermarks(self, timestamps: Sequence[int]) -> None:
        self.processWatermark(timestamps[-1])

    def processWatermarkStatus(self, status: WatermarkStatus) -> None:
        """The status of the input ends here too: the generator decides."""

    def advanceProcessingTime(self, now: int) -> None:
        if self._interval > 0 and now >= self._nextEmit:
            self.onPeriodicEmit()
            self._nextEmit = now + self._interval

    @property
    def reportedWatermark(self) -> int:
        return self._emitter.watermark

    def onPeriodicEmit(self) -> None:
        if self._idleness is not None and self._idleness.isIdle(
            self.clock.getCurrentProcessingTime()
        ):
            self._emitter.markIdle()
            return
        with self.userCode("onPeriodicEmit()"):
            self._generator.onPeriodicEmit(self._emitter)

    def nextProcessingTimeTimer(self) -> int | None:
        if self._idleness is None or self._emitter.idle:
            return None
        due = self._idleness.due()
        return self._nextEmit if due is None else max(due, self._nextEmit)

    def _checked(self, timestamp: Any) -> int:
        try:
            return index(timestamp)
        except TypeError:
            raise IllegalArgumentError(
                f"{self.name}: the timestamp assigner gave {shown(timestamp)} of type"
                f" {type(timestamp).__name__}. Return int milliseconds since the epoch, such as"
                " int(seconds * 1000)."
            ) from None


_EMIT_ONLY_PERIODICALLY = (
    BoundedOutOfOrdernessWatermarks,
    AscendingTimestampsWatermarks,
    NoWatermarksGenerator,
)


class WatermarkEmitter(WatermarkOutput):
    """Lets only rising watermarks through, and statuses that change (Flink: the same name)."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self.watermark = MIN_TIMESTAMP
        self.idle = False

    def emitWatermark(self, watermark: Watermark) -> None:
        if watermark.timestamp > self.watermark:
            self.watermark = watermark.timestamp
            self.markActive()
            self._output.emitWatermark(watermark.timestamp)

    def markIdle(self) -> None:
        if not self.idle:
            self.idle = True
            self._output.emitWatermarkStatus(WatermarkStatus.IDLE)

    def markActive(self) -> None:
        if self.idle:
            self.idle = False
            self._output.emitWatermarkStatus(WatermarkStatus.ACTIVE)

    def snapshot(self) -> tuple[int, bool]:
        """What ``restore`` takes."""
        return self.watermark, self.idle

    def restore(self, watermark: int, idle: bool) -> None:
        """Go on from there."""
        self.watermark, self.idle = watermark, idle
