"""``ArrivalTimeStrategy`` at work: checks timestamps against arrival, and makes the watermark."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import index
from typing import Any, NamedTuple

from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.api.eventtime.arrival_time import (
    ArrivalTimeStrategy,
    DeadLetter,
    DeadLetterReason,
    OrderingPolicy,
)
from flinkish.api.plan.operators import ArrivalTimeDescription
from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Watermark, WatermarkStatus
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext
from flinkish.runtime.operators.timestamps import WatermarkEmitter
from flinkish.runtime.records.records import Records, visible_timestamp
from flinkish.runtime.reports import InputReport, split_name


class SubstreamWatermarks:
    """A watermark a key, in ms: each only rises. A heap that forgets lazily knows the lowest."""

    def __init__(self, watermarks: dict[Any, int]) -> None:
        self._watermarks = watermarks
        self._order()

    def __len__(self) -> int:
        return len(self._watermarks)

    def of(self, key: Any) -> int | None:
        """The watermark of ``key``, None if it has none yet."""
        return self._watermarks.get(key)

    def advance(self, key: Any, watermark: int) -> int:
        """Raise that of ``key``, unless it is there already; gives what it is then."""
        known = self._watermarks.get(key)
        if known is not None and known >= watermark:
            return known
        self._watermarks[key] = watermark
        self._entries += 1
        heapq.heappush(self._heap, (watermark, self._entries, key))
        if len(self._heap) > 2 * len(self._watermarks) + 16:
            self._order()
        return watermark

    def lowest(self) -> int:
        """The lowest of all; there must be one."""
        heap = self._heap
        while self._watermarks[heap[0][2]] != heap[0][0]:
            heapq.heappop(heap)
        return heap[0][0]

    def snapshot(self) -> dict[Any, int]:
        """What ``__init__`` takes."""
        return dict(self._watermarks)

    def _order(self) -> None:
        self._heap = [(w, i, key) for i, (key, w) in enumerate(self._watermarks.items())]
        self._entries = len(self._heap)
        heapq.heapify(self._heap)


class Verdict(NamedTuple):
    """The result of a check: the element is emitted with ``timestamp``, or dropped for a reason."""

    timestamp: int
    dropped: DeadLetterReason | None = None
    late: bool = False
    outOfOrder: bool = False


class ArrivalOrder:
    """Holds one element after another against the watermark, which only rises. All times in ms.

    It goes on from ``snapshot``, or begins if that is None.
    """

    def __init__(self, strategy: ArrivalTimeStrategy[Any], snapshot: Any = None) -> None:
        # __post_init__ has made them ms
        self._early: Any = strategy.earlyArrivalTolerance
        self._late: Any = strategy.lateArrivalTolerance
        self._disorder: Any = strategy.outOfOrderTolerance
        self._drops_late = strategy.lateArrivalPolicy is OrderingPolicy.DROP
        self._drops_disordered = strategy.outOfOrderPolicy is OrderingPolicy.DROP
        self._independent = strategy.independentSubstreams
        self._substreams = SubstreamWatermarks({} if snapshot is None else snapshot["substreams"])
        self.watermark: int | None = None if snapshot is None else snapshot["watermark"]
        """The lowest timestamp that may still come, None before the first element."""
        self._arrival: int | None = None if snapshot is None else snapshot["arrival"]
        self._seen: int = 0 if snapshot is None else snapshot["seen"]

    def snapshot(self) -> Any:
        """What ``__init__`` takes."""
        return {
            "substreams": self._substreams.snapshot(),
            "watermark": self.watermark,
            "arrival": self._arrival,
            "seen": self._seen,
        }

    def arrive(self, key: Any, timestamp: int, arrival: int, now: int) -> Verdict:
        """Check an element of the substream ``key`` that is read at ``now``."""
        self._seen = now
        self._arrival = arrival if self._arrival is None else max(arrival, self._arrival)
        if self._early is not None and timestamp - arrival > self._early:
            return Verdict(timestamp, DeadLetterReason.EARLY)
        late = self._late is not None and arrival - timestamp > self._late
        if late:
            if self._drops_late:
                return Verdict(timestamp, DeadLetterReason.LATE, late)
            timestamp = arrival - self._late
        lowest = self._lowest(key)
        out_of_order = lowest is not None and timestamp < lowest
        if out_of_order:
            if self._drops_disordered:
                return Verdict(timestamp, DeadLetterReason.OUT_OF_ORDER, late, out_of_order)
            timestamp = lowest  # type: ignore[assignment]  # it is out of order, so there is one
        self._advance(key, timestamp)
        return Verdict(timestamp, None, late, out_of_order)

    def estimate(self, now: int) -> None:
        """Let the watermark follow the estimated arrival time, if nothing has come until ``now``."""
        if self._arrival is not None and self._late is not None and now > self._seen:
            self._raise(self._arrival + now - self._seen - self._late)

    @property
    def estimates(self) -> bool:
        """Whether the watermark follows the clock while nothing comes."""
        return self._arrival is not None and self._late is not None

    def _lowest(self, key: Any) -> int | None:
        """The lowest timestamp that an element of ``key`` may have."""
        own = self._substreams.of(key)
        if own is None or self.watermark is None:
            return self.watermark
        return max(own, self.watermark)

    def _advance(self, key: Any, timestamp: int) -> None:
        assert self._arrival is not None
        own = self._substreams.advance(key, timestamp - self._disorder)
        if self._independent:
            self._raise(self._arrival - self._late)
            return
        self._raise(self._substreams.lowest())
        if self._late is not None and len(self._substreams) > 1:
            # Time has come to this arrival for all keys: others hold back no further than that.
            self._raise(min(own, self._arrival - self._late))

    def _raise(self, watermark: int) -> None:
        if self.watermark is None or watermark > self.watermark:
            self.watermark = watermark


class ArrivalPartitions:
    """The input partitions of an ``ArrivalTimeStrategy``, each with a watermark of its own.

    A partition counts from its first element, or from the beginning of the batch that has it
    (``register``): nothing is known of one that has sent nothing. It goes on from ``snapshot``, or
    begins if that is None.
    """

    def __init__(self, strategy: ArrivalTimeStrategy[Any], snapshot: Any = None) -> None:
        self._strategy = strategy
        self._orders: dict[Any, ArrivalOrder] = {
            partition: ArrivalOrder(strategy, order)
            for partition, order in (snapshot or {}).items()
        }

    def snapshot(self) -> Any:
        """What ``__init__`` takes."""
        return {partition: order.snapshot() for partition, order in self._orders.items()}

    def register(self, partition: Any) -> ArrivalOrder:
        """The order of ``partition``, which counts from now on."""
        order = self._orders.get(partition)
        if order is None:
            order = self._orders[partition] = ArrivalOrder(self._strategy)
        return order

    @property
    def watermark(self) -> int | None:
        """The lowest of all partitions, None while one of them has none yet."""
        watermarks = [order.watermark for order in self._orders.values()]
        known = [watermark for watermark in watermarks if watermark is not None]
        return min(known) if known and len(known) == len(watermarks) else None

    def reports(self) -> Iterator[InputReport]:
        """The watermark of each partition."""
        for number, (partition, order) in enumerate(self._orders.items()):
            watermark = MIN_TIMESTAMP if order.watermark is None else order.watermark - 1
            yield InputReport(split_name(partition, number), True, watermark, False)

    def estimate(self, now: int) -> None:
        """Let the watermark of each partition that nothing has come from follow the clock."""
        for order in self._orders.values():
            order.estimate(now)

    @property
    def estimates(self) -> bool:
        """Whether the watermark of a partition follows the clock while nothing comes."""
        return any(order.estimates for order in self._orders.values())


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

    def splits(self) -> Iterable[InputReport]:
        return () if self._partition is None else self._partitions.reports()

    def _emit_watermark(self) -> None:
        watermark = self._partitions.watermark
        if watermark is not None:
            self._emitter.emitWatermark(Watermark(watermark - 1))

    def _watermark_delay(self) -> float:
        watermark = self._partitions.watermark
        return 0 if watermark is None else self.clock.getCurrentProcessingTime() - watermark
