"""``ArrivalTimeStrategy`` over runs of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.eventtime.arrival_time import DeadLetter, DeadLetterReason
from flinkish.api.plan.operators import ArrivalTimeDescription
from flinkish.runtime.columns.tracing.column_function import ColumnFunction, column_function
from flinkish.runtime.operators.arrival_time import (
    ArrivalOrder,
    ArrivalPartitions,
    ArrivalTimeOperator,
)
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.records.records import Records, Timestamps, visible_timestamp
from flinkish.runtime.records.shapes import VALUE


class Verdicts(NamedTuple):
    """The results for a run of elements: ``dropped`` has indices into ``REASONS``."""

    timestamps: Timestamps
    dropped: NDArray[np.int8]
    late: NDArray[np.bool_]
    outOfOrder: NDArray[np.bool_]


REASONS = (
    None,
    DeadLetterReason.EARLY,
    DeadLetterReason.LATE,
    DeadLetterReason.OUT_OF_ORDER,
)
_EARLY, _LATE, _OUT_OF_ORDER = 1, 2, 3

_FAR = 1 << 61
"""Sums and differences of times below this, in absolute value, fit into 64 bits."""


class ColumnArrivalOrder(ArrivalOrder):
    """An ``ArrivalOrder`` that checks runs of elements too."""

    @property
    def takesRuns(self) -> bool:
        """Whether ``arriveInOrder`` can check the next run: there are no substreams, and the sum of
        any two times fits into 64 bits."""
        own = self._substreams.of(None)
        times = (self._early, self._late, self._disorder, self.watermark, own)
        near = all(time is None or abs(time) < _FAR for time in times)
        return near and not self._independent and len(self._substreams) == (own is not None)

    def arriveInOrder(self, timestamps: Timestamps, arrivals: Timestamps, now: int) -> Verdicts:
        """``arrive`` for each element in order, without substreams, all read at ``now``."""
        self._seen = now
        latest = int(timestamps.max())
        if self.lastTimestamp is None or latest > self.lastTimestamp:
            self.lastTimestamp = latest
        last = int(arrivals.max())
        self._arrival = last if self._arrival is None else max(last, self._arrival)
        delay = arrivals - timestamps
        early = np.zeros(len(delay), np.bool_) if self._early is None else -delay > self._early
        late = np.zeros_like(early) if self._late is None else (delay > self._late) & ~early
        dropped = np.where(early, np.int8(_EARLY), np.int8(0))
        if self._drops_late:
            dropped[late] = _LATE
        elif self._late is not None:
            timestamps = np.where(late, arrivals - self._late, timestamps)
        left = dropped == 0
        # An element out of order does not advance the watermark, so a running maximum over the
        # others is the watermark before each element
        highest = np.maximum.accumulate(np.where(left, timestamps - self._disorder, -_FAR))
        before = self._lowest(None)
        lowest = np.empty_like(highest)
        lowest[0] = -_FAR if before is None else before
        np.maximum(highest[:-1], lowest[0], out=lowest[1:])
        out_of_order = left & (timestamps < lowest)
        if self._drops_disordered:
            dropped[out_of_order] = _OUT_OF_ORDER
        else:
            timestamps = np.where(out_of_order, lowest, timestamps)
        kept = timestamps[dropped == 0]
        if len(kept):
            self._advance(None, int(kept.max()))
        return Verdicts(timestamps, dropped, late, out_of_order)


class ColumnArrivalTime(ArrivalTimeOperator):
    """An ``ArrivalTimeOperator`` that judges a run of columns at once if its times are columns
    too."""

    _partitions: ArrivalPartitions[ColumnArrivalOrder]

    def __init__(self, context: OperatorContext, description: ArrivalTimeDescription) -> None:
        super().__init__(context, description)
        traces = self.tracesFunctions
        self._timestamp_columns = column_function(self._extract, 2, traces=traces)
        self._arrival_columns = column_function(self._arrival_time, 2, traces=traces)
        self._partition_columns = column_function(self._partition, traces=traces)

    def partitions(self, snapshot: Any) -> ArrivalPartitions[ColumnArrivalOrder]:
        return ArrivalPartitions(self._strategy, snapshot, ColumnArrivalOrder)

    def expectRecords(self, records: Records) -> None:
        known = self._partitions_of(records)
        if known is None:
            super().expectRecords(records)
            return
        for partition in known[0]:
            self._partitions.register(partition)

    def judge(self, records: Records) -> None:
        if not self._process_columns(records):
            super().judge(records)

    def _process_columns(self, records: Records) -> bool:
        """Process a run of columns; False if its elements have to be processed one by one."""
        if self._key is not None or not len(records):
            return False
        now = self.clock.getCurrentProcessingTime()
        arrivals: Timestamps | None = np.full(len(records), now, np.int64)
        if self._arrival_time is not None:
            arrivals = _integers(self._arrival_columns, records)
        timestamps = arrivals
        if self._extract is not None:
            timestamps = _integers(self._timestamp_columns, records)
        if timestamps is None or arrivals is None or not (_near(timestamps) and _near(arrivals)):
            return False
        partitions: Sequence[Any] = (None,)
        numbers = None
        if self._partition is not None:
            known = self._partitions_of(records)
            if known is None:
                return False
            partitions, numbers = known
        orders = [self._partitions.register(partition) for partition in partitions]
        if not all(order.takesRuns for order in orders):
            return False
        if numbers is None:
            verdicts = orders[0].arriveInOrder(timestamps, arrivals, now)
        else:
            verdicts = _of_partitions(orders, numbers, timestamps, arrivals, now)
        judged = self._judged(records, timestamps, arrivals, verdicts)
        if self._holds:
            number_of = np.array([order.number for order in orders], np.intp)
            of_each = np.zeros(len(records), np.intp) if numbers is None else numbers
            self._held.add(judged, number_of[of_each[verdicts.dropped == 0]])
        elif len(judged):
            self.output.emitRecords(judged)
        return True

    def _judged(
        self, records: Records, timestamps: Timestamps, arrivals: Timestamps, verdicts: Verdicts
    ) -> Records:
        """The elements that are not dropped, with their corrected timestamps."""
        dropped = np.flatnonzero(verdicts.dropped)
        self._late.inc(int(verdicts.late.sum()))
        self._out_of_order.inc(int(verdicts.outOfOrder.sum()))
        self._early.inc(int((verdicts.dropped == _EARLY).sum()))
        self._dropped.inc(len(dropped))
        judged = records.timed(verdicts.timestamps)
        if len(dropped):
            if self._dead_letters is not None:
                for i in dropped.tolist():
                    reason = REASONS[verdicts.dropped[i]]
                    assert reason is not None
                    timestamp = int(timestamps[i])
                    visible, arrival = visible_timestamp(timestamp), int(arrivals[i])
                    letter = DeadLetter(records.values[i], visible, arrival, reason)
                    self.output.collectSide(self._dead_letters, letter, timestamp)
            else:
                late = verdicts.dropped[dropped] != _EARLY
                self.metrics.numLateRecordsDropped += int(late.sum())
            judged = judged.kept(verdicts.dropped == 0)
        return judged

    def _partitions_of(self, records: Records) -> tuple[list[Any], NDArray[np.int32]] | None:
        """The partitions of a run, in order of first occurrence, and each element's index among
        them; None if the partition function has to be called for each element."""
        if self._partition_columns is None:
            return None
        found = self._partition_columns.results(records.values)
        if found is None or found.batch.num_columns != 1 or found.shape != VALUE:
            return None
        encoded = found.batch.column(0).dictionary_encode(null_encoding="encode")
        kind = encoded.dictionary.type
        if not (pa.types.is_string(kind) or pa.types.is_integer(kind)):
            return None
        return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()


def _integers(columns: ColumnFunction | None, records: Records) -> Timestamps | None:
    return None if columns is None else columns.integers(records.values, records.timestamps)


def _near(times: Timestamps) -> bool:
    return int(times.min()) > -_FAR and int(times.max()) < _FAR


def _of_partitions(
    orders: Sequence[ColumnArrivalOrder],
    numbers: NDArray[np.int32],
    timestamps: Timestamps,
    arrivals: Timestamps,
    now: int,
) -> Verdicts:
    """The verdicts for elements of several partitions, each judged by its partition's order."""
    count = len(timestamps)
    judged, dropped = np.empty(count, np.int64), np.empty(count, np.int8)
    late, out_of_order = np.empty((2, count), np.bool_)
    for number, order in enumerate(orders):
        members = np.flatnonzero(numbers == number)
        part = order.arriveInOrder(timestamps[members], arrivals[members], now)
        judged[members], dropped[members] = part.timestamps, part.dropped
        late[members], out_of_order[members] = part.late, part.outOfOrder
    return Verdicts(judged, dropped, late, out_of_order)
