"""``PhaseCheck``: calls a function with keyed states for some elements of a key, and compares the
effects with those computed over columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from flinkish.api.functions.state import State
from flinkish.runtime.columns.tracing.checks import (
    Collected,
    chosen,
    difference_of,
    elements_at,
)
from flinkish.runtime.columns.tracing.effects import KeyedRun, Keys, Writes
from flinkish.runtime.columns.tracing.emissions import Emitted
from flinkish.runtime.columns.tracing.phase_fold import PhaseFold
from flinkish.runtime.columns.tracing.stand_ins import called_context
from flinkish.runtime.state.backend import KeyedStateBackend
from flinkish.runtime.state.table_states import TableListState, TableMapState, TableValueState

MOST_ELEMENTS = 16
"""The number of elements of a key for which the function is called, besides those picked by
``chosen``."""


class PhaseCheck:
    """A check for one key of a run: its elements, or a few of them if it has many, are processed
    apart from the run, over columns and one by one. Afterwards the states of the key are as
    before."""

    def __init__(self, fold: PhaseFold, run: KeyedRun) -> None:
        self._fold = fold
        seed = fold.runs.seed
        special = chosen(run.values, fold.runs.checks, seed)
        self._group = int(run.groups[special[seed % len(special)]])
        places = np.flatnonzero(run.groups == self._group)
        odd = special[run.groups[special] == self._group]
        if len(places) > MOST_ELEMENTS:
            places = np.union1d(places[:MOST_ELEMENTS], odd)
        groups = np.zeros(len(places), dtype=np.intp)
        keys = run.keys.take(pa.array(places))
        self._part = KeyedRun(
            run.values.take(places),
            run.timestamps[places],
            run.watermarks[places],
            run.clock,
            keys,
            groups,
        )
        self._elements = elements_at(run.values, places)

    def difference(self, backend: KeyedStateBackend, distinct: Sequence[Any]) -> str | None:
        """Describe the difference in the states after the elements, the results with the elements'
        numbers, and the timers; None if nothing differs, or if columns cannot represent the key."""
        key = distinct[self._group]
        phased = self._fold.processed(self._part, Keys([key], None))
        if phased is None or len(phased.called):
            return None
        backend.currentKey = key
        states = self._fold.states
        before = [_contents(state, key) for state in states]
        for writes in phased.writes:
            held = before[states.index(writes.state)]
            if held is not None and _clears(writes, held):
                return None  # clearing and setting the state again would change the order of keys

        def restored(effects: Callable[[Any], tuple[Any, Any]]) -> Any:
            try:
                backend.currentKey = key
                done = effects(key)
                backend.currentKey = key
                return [_contents(state, key) for state in states], *done
            finally:
                backend.currentKey = key
                for state, contents in zip(states, before):
                    _restore(state, contents)

        def columns(key: Any) -> tuple[Any, Any]:
            for writes in phased.writes:
                assert isinstance(writes.state, (TableValueState, TableListState, TableMapState))
                writes.state.store((key, value) for value in writes.values)
            timers = phased.timers.calls.tolist(), phased.timers.timestamps.tolist()
            return _shown(phased.emitted), list(zip(*timers))

        return difference_of(
            1,
            lambda _: (key, self._elements),
            lambda _: restored(columns),
            lambda _: restored(self._called),
        )

    def _called(self, key: Any) -> tuple[Any, Any]:
        function = self._fold.function
        timers: list[tuple[int, int]] = []
        results: list[tuple[str, int, Any]] = []
        times, watermarks = self._part.timestamps.tolist(), self._part.watermarks.tolist()
        for number, (element, time) in enumerate(zip(self._elements, times)):
            out = Collected()
            columns = time, watermarks[number], self._part.clock, key
            context = called_context(out, columns, self._fold.broadcast, timers)
            returned = function(element, context, out)
            if returned is not None:
                out.collectReturned(returned)
            for sideOutput, found in out.results.items():
                results += [(sideOutput or "", number, result) for result in found]
        return sorted(results, key=_by_output), _changing(timers)


def _contents(state: State, key: Any) -> Any:
    """Return the contents of a state for ``key``, the current key; for a map its entries. None if
    it is empty."""
    if isinstance(state, TableMapState):
        return _in_order(state.entries())
    if isinstance(state, TableListState):
        return state.get() or None
    assert isinstance(state, TableValueState)
    return state.storedUnder([key])[0]


def _clears(writes: Writes, before: Any) -> bool:
    """Whether ``writes`` remove something of what a state held before."""
    if None in writes.values or not isinstance(writes.state, TableMapState):
        return None in writes.values
    held = dict(before)
    return any(len(entry) == 1 and entry[0] in held for entry in writes.values)


def _in_order(entries: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]] | None:
    """The entries of a map, which come in any order if it is big; None if there are none."""
    return sorted(map(tuple, entries), key=_hash_of_key) or None


def _hash_of_key(entry: tuple[Any, Any]) -> int:
    return hash(entry[0])


def _restore(state: State, contents: Any) -> None:
    """Let a state hold ``contents`` for the current key again."""
    if contents is None:
        state.clear()
    elif isinstance(state, TableMapState):
        kept = dict(contents)
        for entry in list(state.entries()):
            if entry.getKey() not in kept:
                state.remove(entry.getKey())
        state.putAll(kept)
    else:
        assert isinstance(state, (TableValueState, TableListState))
        state.update(contents)


def _shown(emitted: Mapping[str | None, Emitted]) -> list[tuple[str, int, Any]]:
    """Results, as a check compares them: each with its output and the number of its element."""
    return sorted(
        (
            (sideOutput or "", number, result)
            for sideOutput, (results, emitting) in emitted.items()
            if results is not None
            for number, result in zip(emitting.tolist(), results.rows())
        ),
        key=_by_output,
    )


def _changing(timers: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """``timers``, each with the index of the call in ``TIMER_CALLS``, without those that change
    nothing."""
    latest: dict[tuple[int, int], int] = {}
    changing = []
    for call, time in timers:
        timer = call // 2, time
        if latest.get(timer) != call:
            latest[timer] = call
            changing.append((call, time))
    return changing


def _by_output(result: tuple[str, int, Any]) -> str:
    return result[0]
