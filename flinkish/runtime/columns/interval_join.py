"""The interval join of runs of columns."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from flinkish.api.plan.two_input import IntervalJoinDescription
from flinkish.api.time.elements import earliest
from flinkish.runtime.columns.join_columns import FARTHEST, JoinColumns, JoinRun, Pairs, pairs_of
from flinkish.runtime.columns.tracing.emitting_function import PairFunction
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.interval_join import IntervalJoinOperator, JoinBuffer
from flinkish.runtime.operators.keyed import keys_of
from flinkish.runtime.records.records import Records


class ColumnIntervalJoin(IntervalJoinOperator):
    """An ``IntervalJoinOperator`` that keeps runs of columns as columns, without timers
    (``JoinColumns``), as long as the elements of the other side are columns too.

    ``numEventTimeTimers`` counts one timer for each stored element, as ``IntervalJoinOperator``
    would have. Before an element is joined singly, its key is deoptimized: all stored elements of
    the key move to the operator.
    """

    def __init__(self, context: OperatorContext, description: IntervalJoinDescription) -> None:
        super().__init__(context, description)
        self._pair_function = PairFunction(description.call)
        bounds = description.lower, description.upper
        self._joins_columns = self.tracesFunctions and max(map(abs, bounds)) <= FARTHEST
        self._columns = {
            buffer.name: JoinColumns(
                context.backend.keyedColumnTable(buffer.tableName), buffer.lower, buffer.upper
            )
            for buffer in (self.left, self.right)
        }

    @cached_property
    def _computes(self) -> bool:
        """Whether the function can be traced."""
        return self._pair_function.reason is None

    def rearrange(self) -> None:
        for columns in self._columns.values():
            columns.rearrange()
        super().rearrange()

    def process(self, records: Records, own: JoinBuffer, other: JoinBuffer) -> None:
        if self._process_columns(records, own, other):
            self.metrics.numRecordsIn += len(records)
            self.output.flush()
        else:
            self._deoptimize(records)
            super().process(records, own, other)

    def advanceWatermark(self, timestamp: int) -> None:
        for columns in self._columns.values():
            columns.expire(timestamp)
        super().advanceWatermark(timestamp)

    def nextEventTimeTimer(self) -> int | None:
        times = [columns.nextDue() for columns in self._columns.values()]
        return earliest([*times, super().nextEventTimeTimer()])

    def numEventTimeTimers(self) -> int:
        return super().numEventTimeTimers() + sum(map(len, self._columns.values()))

    def _process_columns(self, records: Records, own: JoinBuffer, other: JoinBuffer) -> bool:
        """Join a run as columns. False, with nothing done, if its elements have to be joined one by
        one."""
        if not (self._joins_columns and len(records)) or len(other):
            return False
        run = JoinRun.of(records)
        partners = None if run is None else self._columns[other.name].stored(run)
        if run is None or partners is None:
            return False
        late = run.timestamps < self.currentWatermark
        if late.any():
            if own.lateTag is not None:
                for position in np.flatnonzero(late).tolist():
                    timestamp = int(run.timestamps[position])
                    self.output.collectSide(own.lateTag.id, records.values[position], timestamp)
            else:
                self.metrics.numLateRecordsDropped += int(late.sum())
            run = run.kept(~late)
        columns = self._columns[own.name]
        if len(run):
            columns.add(run)
        for pairs in pairs_of(run, columns, partners):
            self._join_pairs(pairs, own is self.left)
        return True

    def _join_pairs(self, pairs: Pairs, isLeft: bool) -> None:
        if self._computes and self._emit_columns(pairs, isLeft):
            return
        backend, call = self.backend, self.call
        context, collector = self.context, self.collector
        value = None
        with self.userCodeOf(lambda: value):
            for key, value, time, partner, partner_time in pairs.singly():
                backend.currentKey = key
                if isLeft:
                    self.setPair(time, partner_time)
                    returned = call(value, partner, context, collector)
                else:
                    self.setPair(partner_time, time)
                    returned = call(partner, value, context, collector)
                if returned is not None:
                    collector.collectReturned(returned)

    def _emit_columns(self, pairs: Pairs, isLeft: bool) -> bool:
        """Emit the function's results for ``pairs`` as columns; False if it has to be called for
        each."""
        own, others = pairs.columns()
        times, other_times = pairs.ownTimes, pairs.otherTimes
        emitted = (
            self._pair_function.results(own, others, times, other_times)
            if isLeft
            else self._pair_function.results(others, own, other_times, times)
        )
        if emitted is None:
            return False
        if emitted.results is not None:
            timestamps = np.maximum(times, other_times)[emitted.positions]
            self.output.emitRecords(Records(emitted.results, timestamps))
        return True

    def _deoptimize(self, records: Records) -> None:
        """Move the stored elements of both sides that have a key of ``records`` to the operator."""
        for buffer in (self.left, self.right):
            columns = self._columns[buffer.name]
            if not len(columns):
                continue
            assert records.hashes is not None
            for key, timestamp, element in columns.taken(set(keys_of(records)), records.hashes):
                self.backend.currentKey = key
                buffer.add(timestamp, element)
                self.timers.registerEventTimeTimer(buffer.name, buffer.cleanupTime(timestamp))
