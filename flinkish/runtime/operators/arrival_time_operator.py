"""``assignTimestampsAndWatermarks`` by event time and arrival time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

from flinkish.api.arrival_time import ArrivalTimeDescription, DeadLetter, DeadLetterReason
from flinkish.api.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Watermark, WatermarkStatus
from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.runtime.arrival_order import ArrivalOrder
from flinkish.runtime.arrival_partitions import ArrivalPartitions
from flinkish.runtime.elements import Records, visible_timestamp
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext
from flinkish.runtime.operators.timestamps_and_watermarks import WatermarkEmitter


class ArrivalTimeOperator(OneInputOperator):
    """Judges every element, and counts what it finds: ``earlyElements``, ``lateElements``,
    ``outOfOrderElements`` and ``droppedElements``; the gauge ``watermarkDelay`` is the clock less the
    watermark in ms.

    Watermarks from upstream end here, except the last one.
    """

    def __init__(self, context: OperatorContext, description: ArrivalTimeDescription) -> None:
        super().__init__(context)
        strategy = description.strategy
        self._strategy = strategy
        self._extract = description.timestampCall
        self._arrival_time = description.arrivalCall
        self._key = description.substreamCall
        self._partition = description.partitionCall
        self.looksAhead = self._partition is not None
        tag = strategy.deadLetters
        self._dead_letters = None if tag is None else tag.getId()
        self._interval = context.autoWatermarkInterval
        self._emits_after_slices = context.emitsAfterSlices
        self._early = self.metrics.counter("earlyElements")
        self._late = self.metrics.counter("lateElements")
        self._out_of_order = self.metrics.counter("outOfOrderElements")
        self._dropped = self.metrics.counter("droppedElements")
        self.metrics.gauge("watermarkDelay", self._watermark_delay)
        self._emitter = WatermarkEmitter(self.output)
        self.restore(None)

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        super().restore(snapshot)
        if snapshot is None:
            self._partitions = ArrivalPartitions(self._strategy)
            self._emitter.restore(MIN_TIMESTAMP, False)
            self._looked = self.clock.getCurrentProcessingTime()
        else:
            # Checkpoints had one order before there were partitions
            one = {None: snapshot["order"]} if "order" in snapshot else None
            self._partitions = ArrivalPartitions(self._strategy, one or snapshot["partitions"])
            self._emitter.restore(*snapshot["emitter"])
            self._looked = snapshot["looked"]

    def snapshot(self) -> dict[str, Any]:
        return {
            **super().snapshot(),
            "partitions": self._partitions.snapshot(),
            "emitter": self._emitter.snapshot(),
            "looked": self._looked,
        }

    # ------------------------------------------------------------------ elements

    def expectRecords(self, records: Records) -> None:
        # All partitions of a batch are known before its first element comes: none runs ahead.
        assert self._partition is not None
        partitions = self.mapped(self._partition, records)
        for value, partition in zip(records.values, partitions):
            self._order_of(value, partition)

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        value: Any = None
        with self.userCodeOf(lambda: value):
            for value, timestamp in zip(records.values, records.timestamps.tolist()):
                self._process_element(value, timestamp)
        # After the run, as of a periodic generator: no element is below the watermark, so no window
        # can tell, and downstream has a run and not as many as there are elements.
        self.output.flush()
        self._emit_watermark()

    def _process_element(self, value: Any, came_with: int) -> None:
        now = self.clock.getCurrentProcessingTime()
        arrival = self._time("arrivalTime", self._arrival_time, value, came_with, now)
        timestamp = self._time("timestampAssigner", self._extract, value, came_with, arrival)
        key = None if self._key is None else self._key(value)
        partition = None if self._partition is None else self._partition(value)
        verdict = self._order_of(value, partition).arrive(key, timestamp, arrival, now)
        self._late.inc(verdict.late)
        self._out_of_order.inc(verdict.outOfOrder)
        if verdict.dropped is None:
            self.output.collect(value, verdict.timestamp)
            return
        self._early.inc(verdict.dropped is DeadLetterReason.EARLY)
        self._dropped.inc()
        if self._dead_letters is not None:
            letter = DeadLetter(value, visible_timestamp(timestamp), arrival, verdict.dropped)
            self.output.collectSide(self._dead_letters, letter, timestamp)

    def _order_of(self, value: Any, partition: Any) -> ArrivalOrder:
        try:
            return self._partitions.register(partition)
        except TypeError:
            raise IllegalArgumentError(
                f"{self.name}: the input partition {shown(partition)} of the element {shown(value)}"
                " cannot be told from others, as it is not hashable. Let inputPartition, or"
                " withSplits of the source, give a number, a string or a tuple of them."
            ) from None

    def _time(
        self,
        name: str,
        extract: Callable[[Any, int], int] | None,
        value: Any,
        came_with: int,
        otherwise: int,
    ) -> int:
        if extract is None:
            return otherwise
        time = extract(value, came_with)
        try:
            return time if type(time) is int else index(time)
        except TypeError:
            raise IllegalArgumentError(
                f"{self.name}: {name} gave {shown(time)} of type {type(time).__name__} for the"
                f" element {shown(value)}. Return int milliseconds since the epoch, such as"
                " int(seconds * 1000)."
            ) from None

    # ------------------------------------------------------------------ time

    def processWatermark(self, timestamp: int) -> None:
        if timestamp == MAX_TIMESTAMP:
            self._emitter.emitWatermark(Watermark.MAX_WATERMARK)

    def processWatermarks(self, timestamps: Sequence[int]) -> None:
        self.processWatermark(timestamps[-1])

    def processWatermarkStatus(self, status: WatermarkStatus) -> None:
        """The status of the input ends here too: without elements time goes on by the clock."""

    def advanceProcessingTime(self, now: int) -> None:
        # In a batch the elements come first: they were there before the clock says that none came.
        if not self._emits_after_slices and 0 < self._interval <= now - self._looked:
            self.onPeriodicEmit()

    def onPeriodicEmit(self) -> None:
        self._looked = self.clock.getCurrentProcessingTime()
        self._partitions.estimate(self._looked)
        self._emit_watermark()

    def nextProcessingTimeTimer(self) -> int | None:
        if not self._partitions.estimates or self._emitter.watermark == MAX_TIMESTAMP:
            return None
        interval: Any = self._strategy.estimateInterval
        return self._looked + int(interval)

    @property
    def reportedWatermark(self) -> int:
        return self._emitter.watermark

    def _emit_watermark(self) -> None:
        watermark = self._partitions.watermark
        if watermark is not None:
            self._emitter.emitWatermark(Watermark(watermark - 1))

    def _watermark_delay(self) -> float:
        watermark = self._partitions.watermark
        return 0 if watermark is None else self.clock.getCurrentProcessingTime() - watermark
