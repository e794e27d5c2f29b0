"""``PhasePath`` runs a function with keyed states over a run at once, in phases. For elements whose
keys columns cannot represent, ``ProcessPath`` calls the function, each in its place among the
others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from flinkish.api.functions.process import TimerService
from flinkish.runtime.columns.path import ColumnPath
from flinkish.runtime.columns.phase_check import PhaseCheck
from flinkish.runtime.columns.tracing.effects import (
    KeyedRun,
    Keys,
    Phased,
    Positions,
    Timers,
    Writes,
)
from flinkish.runtime.columns.tracing.folding import first_positions
from flinkish.runtime.columns.tracing.phase_fold import PhaseFold
from flinkish.runtime.columns.tracing.stand_ins import TIMER_CALLS
from flinkish.runtime.operators.keyed import KeyedOperator
from flinkish.runtime.operators.one_input import OnTimerOperator
from flinkish.runtime.records.frames import NO_MARKS, Frame, Marks
from flinkish.runtime.records.keys import encoded_keys
from flinkish.runtime.records.records import NO_RECORDS, Records, timestamps_of
from flinkish.runtime.records.rows import RowColumns, python_values
from flinkish.runtime.state.broadcast_state import BroadcastStates
from flinkish.runtime.state.table_states import (
    TableListState,
    TableMapState,
    TableValueState,
)

LEAST_ELEMENTS = 1 << 10
"""Smaller runs are processed element by element, which is faster."""

_BY_ENTRY = 4
"""How many times longer a run has to be if its elements are grouped by the entries of maps."""


class PhasePath(ColumnPath):
    """The path of one input of an operator; ``function`` processes the elements of that input.

    A run is left to the operator if the function has to be called for any element of it.
    """

    def __init__(
        self,
        operator: KeyedOperator,
        function: Callable[..., Any],
        timers: TimerService,
        named: object = None,
        broadcast: BroadcastStates | None = None,
    ) -> None:
        """``named``: the user's function, if ``function`` is a wrapper. ``broadcast``: the broadcast
        states that its context gives."""
        self.fold = PhaseFold(function, named, broadcast)
        self._operator = operator
        self._timers = timers

    def process(self, records: Records) -> bool:
        return self.processFrame(Frame(records, NO_MARKS))

    def processFrame(self, frame: Frame) -> bool:
        values, runs = frame.records.values, self.fold.runs
        least = LEAST_ELEMENTS * (_BY_ENTRY if self.fold.byEntry else 1)
        if not isinstance(values, RowColumns) or len(values) < least:
            runs.note(False)
            return False
        if not frame.marks.onlyWatermarks or self._fires(frame.marks):
            return False
        keys = encoded_keys(frame.records) if runs.worthTrying else None
        taken = keys is not None and self._processed(frame, values, keys)
        runs.note(taken, ofColumns=True)
        return taken

    def _fires(self, marks: Marks, timers: Timers | None = None) -> bool:
        """Whether a timer may fire among the elements: one that waits, or one of ``timers``."""
        if not len(marks):
            return False
        if timers is None:
            due = self._operator.nextEventTimeTimer()
            return due is not None and due <= int(marks.watermarks[-1])
        registered = (timers.positions < marks.positions[-1]) & (timers.calls == 0)
        return bool((timers.timestamps[registered] <= marks.watermarks[-1]).any())

    def _processed(self, frame: Frame, values: RowColumns, keys: pa.DictionaryArray) -> bool:
        records, marks = frame.records, frame.marks
        groups, distinct = _by_first(keys)
        watermarks = frame.watermarks(self._timers.currentWatermark())
        clock = self._timers.currentProcessingTime()
        run = KeyedRun(values, records.timestamps, watermarks, clock, keys, groups)
        runs = self.fold.runs
        with runs.working():
            hashes = records.hashes
            if hashes is not None:
                hashes = hashes[first_positions(groups, len(distinct))]
            phased = self.fold.processed(run, Keys(distinct, hashes))
        if phased is None or not self._fits(phased):
            return False
        if len(marks) and (
            len(phased.called) or _aside(phased) or self._fires(marks, phased.timers)
        ):
            return False
        if runs.due(values):
            with runs.checking():
                check = PhaseCheck(self.fold, run)
                difference = check.difference(self._operator.backend, distinct)
            if difference is not None:
                runs.leave(difference)
                return False
        effects = _Effects(phased, self._operator, self._timers, distinct)
        if len(marks):
            effects.until(None)
            self._operator.skipToWatermark(int(marks.watermarks[-1]))
            results, emitting = phased.emitted[None]
            places = np.searchsorted(emitting, marks.positions)
            emitted = (
                NO_RECORDS if results is None else Records(results, records.timestamps[emitting])
            )
            self._operator.output.emitFrame(Frame(emitted, marks.at(places)))
        else:
            self._emit(phased, records, values, effects)
        return True

    def _fits(self, phased: Phased) -> bool:
        """Whether the path can take the run."""
        return not len(phased.called)

    def _emit(
        self, phased: Phased, records: Records, values: RowColumns, effects: _Effects
    ) -> None:
        """Apply the effects, and emit the results."""
        effects.until(None)
        self._operator.output.emitOutputs(
            {
                sideOutput: Records(results, records.timestamps[emitting])
                for sideOutput, (results, emitting) in phased.emitted.items()
                if results is not None
            }
        )


class ProcessPath(PhasePath):
    """The path of a process function until its input ends; timers registered after that do not
    fire."""

    _operator: OnTimerOperator

    def __init__(
        self,
        operator: OnTimerOperator,
        function: Callable[..., Any],
        broadcast: BroadcastStates | None = None,
    ) -> None:
        super().__init__(operator, function, operator.timerService, broadcast=broadcast)

    def processFrame(self, frame: Frame) -> bool:
        return not self._operator.timers.inputEnded and super().processFrame(frame)

    def _fits(self, phased: Phased) -> bool:
        if not len(phased.called):
            return True
        return not _aside(phased) and not self._operator.output.reusesObjects

    def _emit(
        self, phased: Phased, records: Records, values: RowColumns, effects: _Effects
    ) -> None:
        if not len(phased.called):
            super()._emit(phased, records, values, effects)
            return
        output = self._operator.output
        output.flush()
        positions, called, times = self._called(phased, records, values, effects)
        effects.until(None)
        columns, emitting = phased.emitted[None]
        if columns is not None and called:
            order = np.argsort(np.concatenate([emitting, positions]), kind="stable")
            merged = [*columns.rows(), *called]
            timestamps = np.concatenate([records.timestamps[emitting], timestamps_of(times)])
            output.emitRecords(
                Records(list(map(merged.__getitem__, order.tolist())), timestamps[order])
            )
        elif columns is not None:
            output.emitRecords(Records(columns, records.timestamps[emitting]))
        elif called:
            output.emitRecords(Records(called, timestamps_of(times)))
        output.flush()

    def _called(
        self, phased: Phased, records: Records, values: RowColumns, effects: _Effects
    ) -> tuple[list[int], list[Any], list[int]]:
        """Call the function for the elements that cannot be vectorised. Returns, for each result,
        the position of its element, the result, and its timestamp."""
        operator, function = self._operator, self.fold.function
        backend, context, collector = operator.backend, operator.context, operator.collector
        keys = records.keys
        assert keys is not None
        positions: list[int] = []
        emitted: list[Any] = []
        times: list[int] = []
        context.domain = None
        element: Any = None
        places = phased.called
        elements = zip(
            places.tolist(), values.take(places).rows(), records.timestamps[places].tolist()
        )
        with operator.userCodeOf(lambda: element):
            for place, element, timestamp in elements:
                effects.until(place)
                backend.currentKey = keys[place]
                context.elementTimestamp = collector.timestamp = timestamp
                returned = function(element, context, collector)
                if returned is not None:
                    collector.collectReturned(returned)
                made, stamps = operator.output.taken()
                if made:
                    positions += [place] * len(made)
                    emitted += made
                    times += stamps
        return positions, emitted, times


class _Effects:
    """The writes to states and the timers of the vectorised elements of a run, applied step by
    step."""

    def __init__(
        self,
        phased: Phased,
        operator: KeyedOperator,
        timers: TimerService,
        distinct: Sequence[Any],
    ) -> None:
        self._writes = [_PendingWrites(writes, distinct) for writes in phased.writes]
        self._timers = zip(*(column.tolist() for column in phased.timers))
        self._timer = next(self._timers, None)
        self._backend = operator.backend
        self._calls = [getattr(timers, call) for call in TIMER_CALLS]
        self._distinct = distinct

    def until(self, place: int | None) -> None:
        """Apply the effects of the vectorised elements before ``place``; None: of all."""
        for writes in self._writes:
            writes.until(place)
        backend, calls, timer = self._backend, self._calls, self._timer
        while timer is not None and (place is None or timer[0] < place):
            backend.currentKey = self._distinct[timer[1]]
            calls[timer[3]](timer[2])
            timer = next(self._timers, None)
        self._timer = timer


class _PendingWrites:
    """The pending writes to a state."""

    def __init__(self, writes: Writes, distinct: Sequence[Any]) -> None:
        self._writes = writes
        self._keys = list(map(distinct.__getitem__, writes.groups.tolist()))
        self._done = 0

    def until(self, place: int | None) -> None:
        """Apply the writes of the elements before ``place``; None: of all."""
        begin, values = self._done, self._writes.values
        if begin == len(values):
            return
        end = len(values) if place is None else int(self._writes.positions.searchsorted(place))
        if begin < end:
            state = self._writes.state
            assert isinstance(state, (TableValueState, TableListState, TableMapState))
            state.store(zip(self._keys[begin:end], values[begin:end]))
            self._done = end


def _aside(phased: Phased) -> bool:
    """Whether there are results for side outputs."""
    return any(e.results is not None for output, e in phased.emitted.items() if output)


def _by_first(encoded: pa.DictionaryArray) -> tuple[Positions, Sequence[Any]]:
    """The number of each element's key, and the distinct keys, numbered in the order of their first
    occurrence."""
    codes = encoded.indices.to_numpy()
    first = first_positions(codes, len(encoded.dictionary))
    known = np.flatnonzero(first >= 0)
    order = known[np.argsort(first[known])]
    numbers = np.empty(len(first), dtype=np.intp)
    numbers[order] = np.arange(len(order))
    return numbers[codes], python_values(encoded.dictionary.take(pa.array(order)))
