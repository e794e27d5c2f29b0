"""The interval join of two keyed streams."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np

from flinkish.api.errors import MissingTimestampError
from flinkish.api.functions.join import JoinContext
from flinkish.api.output_tag import OutputTag
from flinkish.api.plan.two_input import IntervalJoinDescription
from flinkish.api.time.durations import fits_long, to_long
from flinkish.api.time.elements import earliest
from flinkish.runtime.operators.base import OperatorContext, StreamOperator
from flinkish.runtime.operators.contexts import ElementContext
from flinkish.runtime.operators.join_columns import (
    FARTHEST,
    JoinColumns,
    JoinRun,
    Pairs,
    pairs_of,
)
from flinkish.runtime.operators.keyed import TimerOperator, keyed_elements, keys_of
from flinkish.runtime.operators.output import TimestampedCollector
from flinkish.runtime.operators.timers import InternalTimerService
from flinkish.runtime.operators.two_input import TwoInputOperator
from flinkish.runtime.records.copies import copied, copied_mutable, handed_out, immutable
from flinkish.runtime.records.records import NO_TIMESTAMP, Records
from flinkish.runtime.state.backend import KeyedStateBackend, Timer
from flinkish.runtime.tracing.pair_function import PairFunction


class IntervalJoinOperator(TimerOperator, TwoInputOperator):
    """``intervalJoin`` (Flink: the class of this name).

    Each side buffers its elements until the watermark says that no partner can come any more. An
    element that comes after the watermark is late: it joins nothing. The partners of an element come in the order
    of their timestamps. Each pair has copies of its own of what can change, so it does not matter which of the two
    came later. Near the ends of time the sums of a timestamp and a bound wrap around, as Java's do: there an
    element may find no partners, or be removed with the next watermark.

    Elements that are columns are kept as columns and have no timers (``JoinColumns``), as long as those of the
    other side are. ``numEventTimeTimers`` counts one for each of them.
    """

    def __init__(self, context: OperatorContext, description: IntervalJoinDescription) -> None:
        super().__init__(context)
        self._function = description.function
        self._call = description.call
        self._pair_function = PairFunction(description.call)
        lower, upper = description.lower, description.upper
        width = max(upper - lower + 1, 1)
        backend = context.backend
        self._left = JoinBuffer(backend, "left", lower, upper, width, description.leftLateTag)
        self._right = JoinBuffer(
            backend, "right", to_long(-upper), to_long(-lower), width, description.rightLateTag
        )
        self._bounds = lower, upper
        self._joins_columns = max(abs(lower), abs(upper)) <= FARTHEST
        self._buffers = {buffer.name: buffer for buffer in (self._left, self._right)}
        self._context = PairContext(self)
        self._collector = TimestampedCollector(self.output)

    def open(self) -> None:
        self.openFunction(self._function)

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        super().restore(snapshot)
        if snapshot is not None and snapshot.get("bounds", self._bounds) != self._bounds:
            for buffer in self._buffers.values():
                buffer.rearrange(self.timers)

    def snapshot(self) -> dict[str, Any]:
        return {**super().snapshot(), "bounds": self._bounds}

    @cached_property
    def _computes(self) -> bool:
        """Whether the function may run over columns."""
        return self._pair_function.reason is None

    def processRecords1(self, records: Records) -> None:
        self._process(records, self._left, self._right)

    def processRecords2(self, records: Records) -> None:
        self._process(records, self._right, self._left)

    def advanceWatermark(self, timestamp: int) -> None:
        for buffer in self._buffers.values():
            buffer.columns.expire(timestamp)
        super().advanceWatermark(timestamp)

    def nextEventTimeTimer(self) -> int | None:
        times = [buffer.columns.nextDue() for buffer in self._buffers.values()]
        times.append(super().nextEventTimeTimer())
        return earliest(times)

    def numEventTimeTimers(self) -> int:
        in_columns = sum(len(buffer.columns) for buffer in self._buffers.values())
        return super().numEventTimeTimers() + in_columns

    def onEventTime(self, timer: Timer) -> None:
        self._buffers[timer.namespace].removeAt(timer.timestamp)

    def onProcessingTime(self, timer: Timer) -> None:
        """Never called: this operator registers no processing-time timers."""

    def _process(self, records: Records, own: JoinBuffer, other: JoinBuffer) -> None:
        self.metrics.numRecordsIn += len(records)
        if not self._process_columns(records, own, other):
            self._process_singly(records, own, other)
        self.output.flush()

    def _process_columns(self, records: Records, own: JoinBuffer, other: JoinBuffer) -> bool:
        """Join a run as columns. False if columns do not do, and nothing has been done."""
        if not (self._joins_columns and self.tracesFunctions and len(records)) or len(other):
            return False
        run = JoinRun.of(records)
        partners = None if run is None else other.columns.stored(run)
        if run is None or partners is None:
            return False
        late = run.timestamps < self.currentWatermark
        if late.any():
            if own.lateTag is not None:
                for position in np.flatnonzero(late).tolist():
                    timestamp = int(run.timestamps[position])
                    self.output.collectSide(own.lateTag.id, records.values[position], timestamp)
            run = run.kept(~late)
        if len(run):
            own.columns.add(run)
        for pairs in pairs_of(run, own.columns, partners):
            self._join_pairs(pairs, own is self._left)
        return True

    def _join_pairs(self, pairs: Pairs, isLeft: bool) -> None:
        if self._computes and self._emit_columns(pairs, isLeft):
            return
        backend, call = self.backend, self._call
        context, collector = self._context, self._collector
        value = None
        with self.userCodeOf(lambda: value):
            for key, value, time, partner, partner_time in pairs.singly():
                backend.currentKey = key
                if isLeft:
                    self._at(time, partner_time)
                    returned = call(value, partner, context, collector)
                else:
                    self._at(partner_time, time)
                    returned = call(partner, value, context, collector)
                if returned is not None:
                    collector.collectReturned(returned)

    def _emit_columns(self, pairs: Pairs, isLeft: bool) -> bool:
        """Emit what the function emits for ``pairs``, as columns; False if it has to be called."""
        own, others = pairs.columns()
        times, other_times = pairs.ownTimes, pairs.otherTimes
        results = (
            self._pair_function.results(own, others, times, other_times)
            if isLeft
            else self._pair_function.results(others, own, other_times, times)
        )
        if results is None:
            return False
        self.output.emitRecords(Records(results, np.maximum(times, other_times)))
        return True

    def _process_singly(self, records: Records, own: JoinBuffer, other: JoinBuffer) -> None:
        self._take_from_columns(records)
        backend, timers, watermark = self.backend, self.timers, self.currentWatermark
        join = self._join_left if own is self._left else self._join_right
        value = None
        with self.userCodeOf(lambda: value):
            for key, value, timestamp in keyed_elements(records):
                if timestamp == NO_TIMESTAMP:
                    raise MissingTimestampError(self.name, value)
                if timestamp < watermark:
                    if own.lateTag is not None:
                        self.output.collectSide(own.lateTag.id, value, timestamp)
                    continue
                backend.currentKey = key
                own.add(timestamp, copied(value))
                first, last = timestamp + own.lower, timestamp + own.upper
                if not (fits_long(first) and fits_long(last)):
                    first, last = to_long(first), to_long(last)
                for partner_timestamp, partners in other.between(first, last):
                    join(value, timestamp, handed_out(partners), partner_timestamp)
                timers.registerEventTimeTimer(own.name, own.cleanupTime(timestamp))

    def _take_from_columns(self, records: Records) -> None:
        """Keep the elements of both sides with the keys of ``records`` one by one from now on."""
        for buffer in self._buffers.values():
            if not len(buffer.columns):
                continue
            assert records.hashes is not None
            for key, timestamp, element in buffer.columns.taken(
                set(keys_of(records)), records.hashes
            ):
                self.backend.currentKey = key
                buffer.add(timestamp, element)
                self.timers.registerEventTimeTimer(buffer.name, buffer.cleanupTime(timestamp))

    def _join_left(self, value: Any, timestamp: int, partners: Sequence[Any], other: int) -> None:
        self._at(timestamp, other)
        call, context, collector = self._call, self._context, self._collector
        fixed = immutable(value)
        for partner in partners:
            one = value if fixed else copied_mutable(value)
            returned = call(one, partner, context, collector)
            if returned is not None:
                collector.collectReturned(returned)

    def _join_right(self, value: Any, timestamp: int, partners: Sequence[Any], other: int) -> None:
        self._at(other, timestamp)
        call, context, collector = self._call, self._context, self._collector
        fixed = immutable(value)
        for partner in partners:
            one = value if fixed else copied_mutable(value)
            returned = call(partner, one, context, collector)
            if returned is not None:
                collector.collectReturned(returned)

    def _at(self, left: int, right: int) -> None:
        context = self._context
        context.left, context.right = left, right
        context.elementTimestamp = self._collector.timestamp = max(left, right)


class JoinBuffer:
    """The elements of one side, to be found by timestamp.

    ``lower`` and ``upper``: how far from an element of this side its partners may lie, in ms. A
    map entry holds the elements of ``width`` ms, {timestamp: [elements]}; with the length of the
    interval as the width, a look-up reads two entries, however many elements there are.
    """

    def __init__(
        self,
        backend: KeyedStateBackend,
        name: str,
        lower: int,
        upper: int,
        width: int,
        lateTag: OutputTag[Any] | None,
    ) -> None:
        self.name = name
        self.lower = lower
        self.upper = upper
        self.lateTag = lateTag
        self._width = width
        self._backend = backend
        self._table = backend.mapTable(f"interval-join/{name}")
        self.columns = JoinColumns(backend.keyedColumnTable(f"interval-join/{name}"), lower, upper)

    def __len__(self) -> int:
        """How many keys have elements that are kept one by one."""
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
        """(timestamp, elements) of the current key from ``first`` to ``last``, both included, in order."""
        key, width, get = self._backend.currentKey, self._width, self._table.get
        found: list[tuple[int, list[Any]]] = []
        for bucket in range(first // width, last // width + 1):
            entry = get(key, None, bucket)
            if entry is not None:
                found += [item for item in entry.items() if first <= item[0] <= last]
        found.sort(key=itemgetter(0))
        return found

    def cleanupTime(self, timestamp: int) -> int:
        """The watermark (ms) at which no partner can come any more for an element at ``timestamp``."""
        return to_long(timestamp + self.upper) if self.upper > 0 else timestamp

    def rearrange(self, timers: InternalTimerService) -> None:
        """Find and remove by these bounds what was kept by others."""
        self.columns.rearrange()
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
        """Remove the elements of the current key with that clean-up time."""
        timestamp = to_long(cleanupTime - self.upper) if self.upper > 0 else cleanupTime
        key, bucket = self._backend.currentKey, timestamp // self._width
        elements = self._table.get(key, None, bucket)
        if elements is not None and elements.pop(timestamp, None) is not None:
            if elements:
                self._table.put(key, None, bucket, elements)
            else:
                self._table.remove(key, None, bucket)


class PairContext(ElementContext, JoinContext):
    """The context of a pair."""

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
