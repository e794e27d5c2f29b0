"""Runs an ``ArrivalTimeStrategy``: checks timestamps, and generates the watermark."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import index
from typing import Any, Generic, NamedTuple, TypeVar

from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.api.eventtime.arrival_time import (
    ArrivalTimeStrategy,
    DeadLetter,
    DeadLetterReason,
    OrderingPolicy,
    TimeOfSome,
)
from flinkish.api.plan.operators import ArrivalTimeDescription
from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Watermark
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.watermark_assigner import WatermarkAssignerOperator
from flinkish.runtime.records.held_elements import HeldElements
from flinkish.runtime.records.records import Records, timestamps_of, visible_timestamp
from flinkish.runtime.reports import InputReport, split_name
from flinkish.runtime.time.watermark_generation import JoinedSplits


class SubstreamWatermarks:
    """One watermark for each key, in ms; each only rises. A heap finds the lowest."""

    def __init__(self, watermarks: dict[Any, int]) -> None:
        self._watermarks = watermarks
        self._order()

    def __len__(self) -> int:
        return len(self._watermarks)

    def of(self, key: Any) -> int | None:
        """The watermark of ``key``; None if it has none yet."""
        return self._watermarks.get(key)

    def advance(self, key: Any, watermark: int) -> int:
        """Raise the watermark of ``key`` to at least ``watermark``, and return it."""
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
        """The lowest of all watermarks, of which there must be one."""
        heap = self._heap
        while self._watermarks[heap[0][2]] != heap[0][0]:
            heapq.heappop(heap)
        return heap[0][0]

    def snapshot(self) -> dict[Any, int]:
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
    """Compares one element after another with the watermark, which only rises. All times are in ms.
    ``number``: the index of the input partition. ``snapshot``: the state to restore; None: a new
    one."""

    def __init__(
        self, strategy: ArrivalTimeStrategy[Any], number: int = 0, snapshot: Any = None
    ) -> None:
        self.number = number
        # __post_init__ has converted them to ms
        self._early: Any = strategy.earlyArrivalTolerance
        self._late: Any = strategy.lateArrivalTolerance
        self._disorder: Any = strategy.outOfOrderTolerance
        self._drops_late = strategy.lateArrivalPolicy is OrderingPolicy.DROP
        self._drops_disordered = strategy.outOfOrderPolicy is OrderingPolicy.DROP
        self._independent = strategy.independentSubstreams
        self._substreams = SubstreamWatermarks({} if snapshot is None else snapshot["substreams"])
        self.watermark: int | None = None if snapshot is None else snapshot["watermark"]
        """The lowest timestamp that may still come; None before the first element."""
        self._arrival: int | None = None if snapshot is None else snapshot["arrival"]
        self._seen: int = 0 if snapshot is None else snapshot["seen"]
        self.lastTimestamp: int | None = None
        """The highest timestamp that came in this batch; None before the first element."""

    def snapshot(self) -> Any:
        return {
            "substreams": self._substreams.snapshot(),
            "watermark": self.watermark,
            "arrival": self._arrival,
            "seen": self._seen,
        }

    def arrive(self, key: Any, timestamp: int, arrival: int, now: int) -> Verdict:
        """Check an element of the substream ``key`` that is read at ``now``."""
        self._seen = now
        if self.lastTimestamp is None or timestamp > self.lastTimestamp:
            self.lastTimestamp = timestamp
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
        """Advance the watermark to the estimated arrival time if nothing came until ``now``."""
        if self._arrival is not None and self._late is not None and now > self._seen:
            self._raise(self._arrival + now - self._seen - self._late)

    @property
    def estimates(self) -> bool:
        """Whether the watermark advances with the clock while no element comes."""
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
            # This arrival time holds for all keys: no key holds the watermark back any further.
            self._raise(min(own, self._arrival - self._late))

    def _raise(self, watermark: int) -> None:
        if self.watermark is None or watermark > self.watermark:
            self.watermark = watermark


Order = TypeVar("Order", bound=ArrivalOrder)


class ArrivalPartitions(Generic[Order]):
    """The input partitions of an ``ArrivalTimeStrategy``, each with a separate watermark.

    A partition counts from its first element on, or from the beginning of the batch with that
    element (``register``); before that it is not known. ``snapshot``: the state to restore; None: a
    new one.
    """

    def __init__(
        self, strategy: ArrivalTimeStrategy[Any], snapshot: Any, order: type[Order]
    ) -> None:
        self._strategy = strategy
        self._order = order
        self._orders: dict[Any, Order] = {
            partition: order(strategy, number, kept)
            for number, (partition, kept) in enumerate((snapshot or {}).items())
        }

    def snapshot(self) -> Any:
        return {partition: order.snapshot() for partition, order in self._orders.items()}

    def register(self, partition: Any) -> Order:
        """The order of ``partition``, which is registered if it is new."""
        order: Order | None = self._orders.get(partition)
        if order is None:
            order = self._orders[partition] = self._order(self._strategy, len(self._orders))
        return order

    def __len__(self) -> int:
        return len(self._orders)

    @property
    def watermark(self) -> int | None:
        """The lowest watermark of all partitions; None while one of them has none yet."""
        watermarks = [order.watermark for order in self._orders.values()]
        known = [watermark for watermark in watermarks if watermark is not None]
        return min(known) if known and len(known) == len(watermarks) else None

    def reports(self) -> Iterator[InputReport]:
        for number, (partition, order) in enumerate(self._orders.items()):
            watermark = MIN_TIMESTAMP if order.watermark is None else order.watermark - 1
            name = split_name(partition, number)
            yield InputReport(name, True, watermark, False, order.lastTimestamp)

    def estimate(self, now: int) -> None:
        """Advance the watermark of each partition without elements with the clock."""
        for order in self._orders.values():
            order.estimate(now)

    @property
    def estimates(self) -> bool:
        """Whether the watermark of a partition advances with the clock while no element comes."""
        return any(order.estimates for order in self._orders.values())


class ArrivalTimeOperator(WatermarkAssignerOperator):
    """Judges every element, and counts ``earlyElements``, ``lateElements``, ``outOfOrderElements``
    and ``droppedElements``. ``watermarkDelay`` is the clock minus the watermark, in ms."""

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
        self._early = self.metrics.counter("earlyElements")
        self._late = self.metrics.counter("lateElements")
        self._out_of_order = self.metrics.counter("outOfOrderElements")
        self._dropped = self.metrics.counter("droppedElements")
        self.metrics.gauge("watermarkDelay", self._watermark_delay)
        self._holds = strategy.holdsElements
        self.restore(None)

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        super().restore(snapshot)
        if snapshot is None:
            self._partitions = self.partitions(None)
            self._looked = self.clock.getCurrentProcessingTime()
        else:
            self._partitions = self.partitions(snapshot["partitions"])
            self._looked = snapshot["looked"]
        self._held = HeldElements(snapshot and snapshot.get("held"))

    def partitions(self, snapshot: Any) -> ArrivalPartitions[Any]:
        return ArrivalPartitions(self._strategy, snapshot, ArrivalOrder)

    def snapshot(self) -> dict[str, Any]:
        return {
            **super().snapshot(),
            "partitions": self._partitions.snapshot(),
            "looked": self._looked,
            "held": self._held.snapshot(),
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
        self.judge(records)
        # The watermark follows the run, or the slice, as with a periodic generator. No element is
        # below it, so windows give the same results, and downstream gets the run in one piece. A
        # partition that begins late in a slice is not behind what others have reached in it.
        self.output.flush()
        if not self.emitsAfterSlices:
            self._emit_watermark()

    def judge(self, records: Records) -> None:
        value: Any = None
        judged: list[Any] = []
        times: list[int] = []
        partitions: list[int] = []
        with self.userCodeOf(lambda: value):
            for value, timestamp in zip(records.values, records.timestamps.tolist()):
                kept = self._process_element(value, timestamp)
                if kept is not None:
                    judged.append(value)
                    times.append(kept[0])
                    partitions.append(kept[1])
        self._held.add(Records(judged, timestamps_of(times)), partitions)

    def _process_element(self, value: Any, came_with: int) -> tuple[int, int] | None:
        """Check an element. Returns its timestamp and the number of its partition if it is kept."""
        now = self.clock.getCurrentProcessingTime()
        arrival = self._time("arrivalTime", self._arrival_time, value, came_with, now)
        timestamp = self._time("timestampAssigner", self._extract, value, came_with, arrival)
        key = None if self._key is None else self._key(value)
        partition = None if self._partition is None else self._partition(value)
        order = self._order_of(value, partition)
        verdict = order.arrive(key, timestamp, arrival, now)
        self._late.inc(verdict.late)
        self._out_of_order.inc(verdict.outOfOrder)
        if verdict.dropped is None:
            if self._holds:
                return verdict.timestamp, order.number
            self.output.collect(value, verdict.timestamp)
            return None
        self._early.inc(verdict.dropped is DeadLetterReason.EARLY)
        self._dropped.inc()
        if self._dead_letters is not None:
            letter = DeadLetter(value, visible_timestamp(timestamp), arrival, verdict.dropped)
            self.output.collectSide(self._dead_letters, letter, timestamp)
        elif verdict.dropped is not DeadLetterReason.EARLY:
            self.metrics.numLateRecordsDropped += 1
        return None

    def _order_of(self, value: Any, partition: Any) -> ArrivalOrder:
        try:
            order: ArrivalOrder = self._partitions.register(partition)
        except TypeError:
            raise IllegalArgumentError(
                f"{self.name}: the input partition {shown(partition)} of the element {shown(value)}"
                " cannot be told from others, as it is not hashable. Let inputPartition, or"
                " withSplits of the source, give a number, a string or a tuple of them."
            ) from None
        return order

    def _time(
        self,
        name: str,
        extract: Callable[[Any, int], Any] | None,
        value: Any,
        came_with: int,
        otherwise: int,
    ) -> int:
        if extract is None:
            return otherwise
        time = extract(value, came_with)
        if time is None and isinstance(extract, TimeOfSome):
            return otherwise
        try:
            return time if type(time) is int else index(time)
        except TypeError:
            raise IllegalArgumentError(
                f"{self.name}: {name} gave {shown(time)} of type {type(time).__name__} for the"
                f" element {shown(value)}. Return int milliseconds since the epoch, such as"
                " int(seconds * 1000)."
            ) from None

    # ------------------------------------------------------------------ time

    def advanceProcessingTime(self, now: int) -> None:
        # In a batch the elements are processed before the clock can say that none came.
        if not self.emitsAfterSlices and 0 < self.autoWatermarkInterval <= now - self._looked:
            self.onPeriodicEmit()

    def onPeriodicEmit(self) -> None:
        self._looked = self.clock.getCurrentProcessingTime()
        if not self.inputEnded:
            self._partitions.estimate(self._looked)
        self._emit_watermark()
        self.emitEnd()

    def nextProcessingTimeTimer(self) -> int | None:
        if not self._partitions.estimates or self.emitter.watermark == MAX_TIMESTAMP:
            return None
        interval: Any = self._strategy.estimateInterval
        return self._looked + int(interval)

    def splits(self) -> Iterable[InputReport]:
        return () if self._partition is None else self._partitions.reports()

    def joinedSplits(self) -> JoinedSplits | None:
        if not len(self._partitions):
            return None
        watermark = self._partitions.watermark
        return self.emitter.joined((MIN_TIMESTAMP if watermark is None else watermark - 1, False))

    def _emit_watermark(self) -> None:
        watermark = self._partitions.watermark
        if watermark is not None:
            self._emit_reached(watermark - 1)
            self.emitter.emitWatermark(Watermark(watermark - 1))

    def emitEnd(self) -> None:
        if self.inputEnded:
            self._emit_reached(MAX_TIMESTAMP)
        super().emitEnd()

    def _emit_reached(self, watermark: int) -> None:
        # The emitted watermark only rises, even if a new partition has a lower one
        reached = self._held.reached(max(watermark, self.emitter.watermark))
        if reached is not None:
            self.output.emitRecords(reached)

    def _watermark_delay(self) -> float:
        watermark = self._partitions.watermark
        return 0 if watermark is None else self.clock.getCurrentProcessingTime() - watermark


def orders_by_partition(snapshot: Mapping[str, Any]) -> dict[Any, Any]:
    """The part of an operator's snapshot that belongs to each partition of the input."""
    held = HeldElements(snapshot.get("held")).byPartition()
    partitions = enumerate(snapshot["partitions"].items())
    return {partition: (order, held.get(number)) for number, (partition, order) in partitions}


def orders_of_partitions(states: Mapping[Any, Any]) -> dict[str, Any]:
    """The part of an operator's snapshot with the partitions in ``states``."""
    partitions = {partition: order for partition, (order, _) in states.items()}
    held = {number: waits for number, (_, waits) in enumerate(states.values())}
    return {"partitions": partitions, "held": HeldElements.ofPartitions(held).snapshot()}
