"""``ProcessColumns``: a keyed process function over a run at once, with its state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.functions.process import TimerService
from flinkish.api.functions.state import ValueState
from flinkish.runtime.columns.process_check import ProcessCheck
from flinkish.runtime.columns.tracing.folding import first_positions
from flinkish.runtime.columns.tracing.process_fold import KeyedRun, Processed, ProcessFold
from flinkish.runtime.columns.tracing.symbols import Refusal
from flinkish.runtime.records.keys import ColumnKeys
from flinkish.runtime.records.records import Records, no_timestamps
from flinkish.runtime.records.rows import RowColumns, python_values
from flinkish.runtime.state.backend import KeyedStateBackend
from flinkish.runtime.state.table_states import TableValueState

LEAST_ELEMENTS = 1 << 10
"""Smaller runs are processed element by element, which is faster."""


class ProcessColumns:
    """Does for a whole run what ``processElement`` does for each element, if that can be
    vectorised."""

    def __init__(
        self,
        function: Callable[..., Any],
        backend: KeyedStateBackend,
        timers: TimerService,
        named: object = None,
    ) -> None:
        """``named``: the user's function, if ``function`` is a wrapper."""
        self._fold = ProcessFold(function, _default_of, named)
        self._backend = backend
        self._timers = timers

    @property
    def refused(self) -> bool:
        """Whether the function cannot be traced as a fold by key."""
        return self._fold.refused

    def _checked(
        self, processed: Processed, run: KeyedRun, distinct: Sequence[Any]
    ) -> Processed | None:
        """``processed``; None if a check of one key finds a difference."""
        difference = ProcessCheck(self._fold, run, self._timers.currentWatermark()).difference(
            self._backend, distinct
        )
        if difference is None:
            return processed
        self._fold.runs.leave(difference)
        return None

    def process(self, records: Records) -> Records | None:
        """Run the function over ``records``: update its states, register its timers and return its
        results. None, with nothing changed, if it has to be called for each element."""
        values, keys = records.values, records.keys
        columns = isinstance(values, RowColumns) and len(values) >= LEAST_ELEMENTS
        fits = columns and isinstance(keys, ColumnKeys)
        if not fits or not self._fold.runs.worthTrying:
            self._fold.runs.note(False, fits)
            return None
        assert isinstance(values, RowColumns)
        assert isinstance(keys, ColumnKeys)
        column, groups, distinct = by_first(values.encoded(keys.column))
        run = KeyedRun(values, records.timestamps, column, groups, len(distinct))

        hashes = records.hashes
        if hashes is not None:
            hashes = hashes[first_positions(groups, len(distinct))]

        def stored(state: ValueState[Any]) -> list[Any]:
            assert isinstance(state, TableValueState)
            return state.storedUnder(distinct, hashes)

        with self._fold.runs.working():
            processed = self._fold.processed(run, self._timers.currentWatermark(), stored)
        if processed is not None and self._fold.runs.due(values):
            with self._fold.runs.checking():
                processed = self._checked(processed, run, distinct)
        self._fold.runs.note(processed is not None, fits)
        if processed is None:
            return None
        backend = self._backend
        for new in processed.states:
            assert isinstance(new.state, TableValueState)
            new.state.store(zip(map(distinct.__getitem__, new.groups), new.values))
        for group, timestamp in processed.timers:
            backend.currentKey = distinct[group]
            self._timers.registerEventTimeTimer(timestamp)
        if processed.results is None:
            return Records([], no_timestamps(0))
        return Records(processed.results, records.timestamps[processed.emitting])


def by_first(
    encoded: pa.DictionaryArray,
) -> tuple[pa.Array, NDArray[np.intp], Sequence[Any]]:
    """``encoded``, the number of each element's key, and the distinct keys, numbered in the order
    of their first occurrence."""
    codes = encoded.indices.to_numpy()
    first = first_positions(codes, len(encoded.dictionary))
    known = np.flatnonzero(first >= 0)
    order = known[np.argsort(first[known])]
    numbers = np.empty(len(first), dtype=np.intp)
    numbers[order] = np.arange(len(order))
    return encoded, numbers[codes], python_values(encoded.dictionary.take(pa.array(order)))


def _default_of(state: ValueState[Any]) -> Any:
    """The default value of a state. Raises Refusal unless it is a plain value state."""
    if type(state) is not TableValueState:
        raise Refusal("uses a state whose values expire")
    return state.default
