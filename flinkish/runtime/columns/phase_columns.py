"""``PhasePath`` runs a keyed process function over a run at once, in phases. For elements whose
keys columns cannot represent it calls the function, each in its place among the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flinkish.api.functions.state import State, ValueState
from flinkish.runtime.columns.path import ColumnPath
from flinkish.runtime.columns.process_check import KeyCheck, shown
from flinkish.runtime.columns.process_columns import LEAST_ELEMENTS, by_first
from flinkish.runtime.columns.tracing.folding import first_positions
from flinkish.runtime.columns.tracing.phase_fold import SOMETHING, Keys, Phased, PhaseFold, Writes
from flinkish.runtime.columns.tracing.process_fold import KeyedRun
from flinkish.runtime.columns.tracing.symbols import Refusal
from flinkish.runtime.operators.one_input import OnTimerOperator
from flinkish.runtime.records.keys import ColumnKeys
from flinkish.runtime.records.records import Records, timestamps_of
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.state.table_states import TableListState, TableMapState, TableValueState


class TableStates:
    """A function's states, which are kept in tables."""

    def check(self, state: State) -> None:
        """Raises Refusal unless ``state`` is a plain value, list or map state."""
        if type(state) not in (TableValueState, TableListState, TableMapState):
            raise Refusal("uses a state whose values expire, or which reduces")

    def default(self, state: ValueState[Any]) -> Any:
        """The default value of ``state``."""
        assert isinstance(state, TableValueState)
        return state.default

    def stored(self, state: State, keys: Keys) -> list[Any]:
        """What ``state`` holds for each key: its value, or ``SOMETHING`` if a list or map is not
        empty."""
        if isinstance(state, TableMapState):
            return [None if empty else SOMETHING for empty in state.areEmpty(keys.values)]
        assert isinstance(state, (TableValueState, TableListState))
        stored = state.storedUnder(keys.values, keys.hashes)
        if isinstance(state, TableListState):
            return [None if kept is None else SOMETHING for kept in stored]
        return stored


class PhasePath(ColumnPath):
    """The path of one input of an operator; ``function`` processes the elements of that input."""

    def __init__(self, operator: OnTimerOperator, function: Callable[..., Any]) -> None:
        self.fold = PhaseFold(function, TableStates())
        self._operator = operator

    def process(self, records: Records) -> bool:
        values, keys = records.values, records.keys
        operator = self._operator
        columns = isinstance(values, RowColumns) and len(values) >= LEAST_ELEMENTS
        fits = columns and isinstance(keys, ColumnKeys) and not operator.timers.inputEnded
        taken = fits and self.fold.runs.worthTrying
        if taken:
            assert isinstance(values, RowColumns)
            assert isinstance(keys, ColumnKeys)
            taken = self._processed(records, values, keys)
        self.fold.runs.note(taken, fits)
        return taken

    def _processed(self, records: Records, values: RowColumns, keys: ColumnKeys) -> bool:
        column, groups, distinct = by_first(values.encoded(keys.column))
        run = KeyedRun(values, records.timestamps, column, groups, len(distinct))
        watermark = self._operator.timerService.currentWatermark()
        runs = self.fold.runs
        with runs.working():
            hashes = records.hashes
            if hashes is not None:
                hashes = hashes[first_positions(groups, len(distinct))]
            phased = self.fold.processed(run, watermark, Keys(distinct, hashes))
        if phased is not None and len(phased.called):
            aside = any(e.results is not None for output, e in phased.emitted.items() if output)
            if aside or self._operator.output.reusesObjects:
                return False
        if phased is not None and runs.due(values):
            with runs.checking():
                difference = PhaseCheck(self.fold, run, watermark).difference(
                    self._operator, distinct
                )
            if difference is not None:
                runs.leave(difference)
                return False
        if phased is None:
            return False
        self._apply(phased, records, values, distinct)
        return True

    def _apply(
        self, phased: Phased, records: Records, values: RowColumns, distinct: Sequence[Any]
    ) -> None:
        output = self._operator.output
        effects = _Effects(phased, self._operator, distinct)
        if not len(phased.called):
            effects.until(None)
            output.emitOutputs(
                {
                    sideOutput: Records(results, records.timestamps[emitting])
                    for sideOutput, (results, emitting) in phased.emitted.items()
                    if results is not None
                }
            )
            return
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

    def __init__(self, phased: Phased, operator: OnTimerOperator, distinct: Sequence[Any]) -> None:
        self._writes = [_StateWrites(writes, distinct) for writes in phased.writes]
        self._timers = zip(*(column.tolist() for column in phased.timers))
        self._timer = next(self._timers, None)
        self._operator = operator
        self._distinct = distinct

    def until(self, place: int | None) -> None:
        """Apply the effects of the vectorised elements before ``place``; None: of all."""
        for writes in self._writes:
            writes.until(place)
        backend, register = self._operator.backend, self._operator.timers.registerEventTimeTimer
        timer = self._timer
        while timer is not None and (place is None or timer[0] < place):
            backend.currentKey = self._distinct[timer[1]]
            register(None, timer[2])
            timer = next(self._timers, None)
        self._timer = timer


class _StateWrites:
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
            assert isinstance(self._writes.state, TableValueState)
            self._writes.state.store(zip(self._keys[begin:end], values[begin:end]))
            self._done = end


class PhaseCheck(KeyCheck[PhaseFold]):
    """Checks a function that is run in phases."""

    def difference(self, operator: OnTimerOperator, distinct: Sequence[Any]) -> str | None:
        """What differs; None if nothing does, or if columns cannot represent the key."""
        key, backend = distinct[self.group], operator.backend
        phased = self.fold.processed(self.part, self.watermark, Keys([key], None))
        if phased is None or len(phased.called):
            return None
        values = [s for s in self.fold.states if isinstance(s, TableValueState)]
        before = [state.storedUnder([key])[0] for state in values]
        after = list(before)
        for writes in phased.writes:
            number = values.index(writes.state)  # type: ignore[arg-type]
            if None in writes.values and before[number] is not None:
                return None  # clearing and setting the state again would change the order of keys
            after[number] = writes.values[-1]
        columns = after, shown(phased.emitted), phased.timers.timestamps.tolist()
        return self.differenceOf(columns, backend, key, list(zip(values, before)))
