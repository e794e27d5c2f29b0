"""The interval join of two keyed streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from flinkish.api.errors import MissingTimestampError
from flinkish.api.functions.join import JoinContext
from flinkish.api.output_tag import OutputTag
from flinkish.api.plan.two_input import IntervalJoinDescription
from flinkish.api.time.durations import fits_long, to_long
from flinkish.runtime.operators.base import OperatorContext, StreamOperator, UdfStreamOperator
from flinkish.runtime.operators.contexts import ElementContext
from flinkish.runtime.operators.keyed import TimerOperator, keyed_elements
from flinkish.runtime.operators.timers import InternalTimerService
from flinkish.runtime.operators.two_input import TwoInputOperator
from flinkish.runtime.records.copies import copied, copied_mutable, handed_out, immutable
from flinkish.runtime.records.records import NO_TIMESTAMP, Records
from flinkish.runtime.state.backend import KeyedStateBackend, Timer


class IntervalJoinOperator(UdfStreamOperator, TimerOperator, TwoInputOperator):
    """``intervalJoin`` (Flink: the class of this name).

    Each side buffers its elements until the watermark says that they can have no further partner.
    An element below the watermark is late: it is joined with nothing. An element is joined with its
    partners in the order of their timestamps. Each pair gets its own copies of mutable elements, so
    it does not matter which of the two came later. Near the ends of the range the sum of a
    timestamp and a bound wraps around, as in Java: there an element may find no partners, or be
    removed with the next watermark.
    """

    def __init__(self, context: OperatorContext, description: IntervalJoinDescription) -> None:
        super().__init__(context, description)
        self.call = description.call
        lower, upper = description.lower, description.upper
        width = max(upper - lower + 1, 1)
        backend = context.backend
        late = description.leftLateTag, description.rightLateTag
        self.left = JoinBuffer(backend, "left", lower, upper, width, late[0])
        lower_of_right, upper_of_right = to_long(-upper), to_long(-lower)
        self.right = JoinBuffer(backend, "right", lower_of_right, upper_of_right, width, late[1])
        self._bounds = lower, upper
        self._buffers = {buffer.name: buffer for buffer in (self.left, self.right)}
        self.context = PairContext(self)

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        super().restore(snapshot)
        if snapshot is not None and snapshot.get("bounds", self._bounds) != self._bounds:
            self.rearrange()

    def rearrange(self) -> None:
        """Re-index elements stored under other bounds, and remove those that have expired."""
        for buffer in self._buffers.values():
            buffer.rearrange(self.timers)

    def snapshot(self) -> dict[str, Any]:
        return {**super().snapshot(), "bounds": self._bounds}

    def processRecords1(self, records: Records) -> None:
        self.process(records, self.left, self.right)

    def processRecords2(self, records: Records) -> None:
        self.process(records, self.right, self.left)

    def onEventTime(self, timer: Timer) -> None:
        self._buffers[timer.namespace].removeAt(timer.timestamp)

    def process(self, records: Records, own: JoinBuffer, other: JoinBuffer) -> None:
        self.metrics.numRecordsIn += len(records)
        backend, timers, watermark = self.backend, self.timers, self.currentWatermark
        is_left = own is self.left
        value = None
        with self.userCodeOf(lambda: value):
            for key, value, timestamp in keyed_elements(records):
                if timestamp == NO_TIMESTAMP:
                    raise MissingTimestampError(self.name, value)
                if timestamp < watermark:
                    if own.lateTag is not None:
                        self.output.collectSide(own.lateTag.id, value, timestamp)
                    else:
                        self.metrics.numLateRecordsDropped += 1
                    continue
                backend.currentKey = key
                own.add(timestamp, copied(value))
                first, last = timestamp + own.lower, timestamp + own.upper
                if not (fits_long(first) and fits_long(last)):
                    first, last = to_long(first), to_long(last)
                for partner_timestamp, partners in other.between(first, last):
                    pair = timestamp, partner_timestamp
                    self.setPair(*(pair if is_left else pair[::-1]))
                    self._join(value, handed_out(partners), is_left)
                timers.registerEventTimeTimer(own.name, own.cleanupTime(timestamp))
        self.output.flush()

    def _join(self, value: Any, partners: Sequence[Any], isLeft: bool) -> None:
        call, context, collector = self.call, self.context, self.collector
        fixed = immutable(value)
        for partner in partners:
            one = value if fixed else copied_mutable(value)
            if isLeft:
                returned = call(one, partner, context, collector)
            else:
                returned = call(partner, one, context, collector)
            if returned is not None:
                collector.collectReturned(returned)

    def setPair(self, left: int, right: int) -> None:
        """Set the timestamps of the next pair, for its context and its results."""
        context = self.context
        context.left, context.right = left, right
        context.elementTimestamp = self.collector.timestamp = max(left, right)


@dataclass(eq=False, repr=False)
class JoinBuffer:
    """The elements of one side by timestamp. ``lower`` and ``upper``: the bounds of an element's
    partners, relative to its timestamp, in ms. A map entry holds the elements of ``width`` ms,
    {timestamp: [elements]}; with the length of the interval as the width, a look-up reads two
    entries, however many elements there are.
    """

    _backend: KeyedStateBackend
    name: str
    lower: int
    upper: int
    _width: int
    lateTag: OutputTag[Any] | None

    def __post_init__(self) -> None:
        self.tableName = f"interval-join/{self.name}"
        self._table = self._backend.mapTable(self.tableName)

    def __len__(self) -> int:
        """The number of keys whose elements are kept one by one."""
        return len(self._table)

    def add(self, timestamp: int, element: Any) -> None:
        """Keep an element of the current key."""
        key, bucket = self._backend.currentKey, timestamp // self._width
        elements = self._table.get(key, None, bucket)
        if elements is None:
            elements = {timestamp: [element]}
        elif timestamp in elements:
            elements[timestamp].append(element)
        else:
            elements[timestamp] = [element]
        self._table.put(key, None, bucket, elements)

    def between(self, first: int, last: int) -> list[tuple[int, list[Any]]]:
        """(timestamp, elements) of the current key from ``first`` up to and with ``last``."""
        key, width, get = self._backend.currentKey, self._width, self._table.get
        found: list[tuple[int, list[Any]]] = []
        for bucket in range(first // width, last // width + 1):
            entry = get(key, None, bucket)
            if entry is not None:
                found += [item for item in entry.items() if first <= item[0] <= last]
        found.sort(key=itemgetter(0))
        return found

    def cleanupTime(self, timestamp: int) -> int:
        """The watermark (ms) from which on an element at ``timestamp`` has no more partners."""
        return to_long(timestamp + self.upper) if self.upper > 0 else timestamp

    def rearrange(self, timers: InternalTimerService) -> None:
        """Re-index elements stored under other bounds, and remove those that have expired."""
        for key, _ in list(self._table.maps()):
            self._backend.currentKey = key
            kept = [
                entry for _, entries in self._table.items(key, None) for entry in entries.items()
            ]
            self._table.clear(key, None)
            for timestamp, elements in kept:
                for element in elements:
                    self.add(timestamp, element)
                timers.registerEventTimeTimer(self.name, self.cleanupTime(timestamp))

    def removeAt(self, cleanupTime: int) -> None:
        """Remove the elements of the current key whose clean-up time is ``cleanupTime``."""
        timestamp = to_long(cleanupTime - self.upper) if self.upper > 0 else cleanupTime
        key, bucket = self._backend.currentKey, timestamp // self._width
        elements = self._table.get(key, None, bucket)
        if elements is not None and elements.pop(timestamp, None) is not None:
            if elements:
                self._table.put(key, None, bucket, elements)
            else:
                self._table.remove(key, None, bucket)


class PairContext(ElementContext, JoinContext):
    __slots__ = ("left", "right")

    def __init__(self, operator: StreamOperator) -> None:
        super().__init__(operator)
        self.left = self.right = NO_TIMESTAMP

    def getLeftTimestamp(self) -> int:
        return self.left

    def getRightTimestamp(self) -> int:
        return self.right

    def getTimestamp(self) -> int:
        return self.elementTimestamp
