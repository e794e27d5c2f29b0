"""``ProcessCheck``: calls a keyed process function for some elements of a key, and compares the
effects with those computed over columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from flinkish.api.functions.state import ValueState
from flinkish.api.output_tag import OutputTag
from flinkish.runtime.columns.tracing.checks import Collected, chosen, difference_of, elements_at
from flinkish.runtime.columns.tracing.column_runs import ColumnRuns
from flinkish.runtime.columns.tracing.emissions import Emitted
from flinkish.runtime.columns.tracing.process_fold import KeyedRun, ProcessFold
from flinkish.runtime.records.records import NO_TIMESTAMP
from flinkish.runtime.state.backend import KeyedStateBackend
from flinkish.runtime.state.table_states import TableValueState

MOST_ELEMENTS = 16
"""How many elements of a key the function is called for, besides those picked by ``chosen``."""


Before: TypeAlias = Sequence[tuple[TableValueState, Any]]
"""States, each with its value before the check."""


class Checked(Protocol):
    """A vectorised function that can be checked."""

    @property
    def function(self) -> Callable[..., Any]: ...

    @property
    def runs(self) -> ColumnRuns: ...


F = TypeVar("F", bound=Checked)


class KeyCheck(Generic[F]):
    """A check for one key of a run: its elements, or a few of them if it has many, are processed
    apart from the run, over columns and one by one. Afterwards the states of the key are as
    before."""

    def __init__(self, fold: F, run: KeyedRun, watermark: int) -> None:
        self.fold = fold
        self.watermark = watermark
        seed = fold.runs.seed
        special = chosen(run.values, fold.runs.checks, seed)
        self.group = int(run.groups[special[seed % len(special)]])
        places = np.flatnonzero(run.groups == self.group)
        odd = special[run.groups[special] == self.group]
        if len(places) > MOST_ELEMENTS:
            places = np.union1d(places[:MOST_ELEMENTS], odd)
        groups = np.zeros(len(places), dtype=np.intp)
        keys = run.keys.take(pa.array(places))
        self.part = KeyedRun(run.values.take(places), run.timestamps[places], keys, groups, 1)
        self._elements = elements_at(run.values, places)

    def differenceOf(
        self, columns: Any, backend: KeyedStateBackend, key: Any, before: Before
    ) -> str | None:
        """How the called function differs from ``columns``: the states after the elements, the
        results with the elements' numbers, and the timers. ``before``: the states and their
        values."""

        def called(_: int) -> Any:
            backend.currentKey = key
            try:
                return self._called(key, [state for state, _ in before])
            finally:
                backend.currentKey = key
                for state, value in before:
                    state.clear() if value is None else state.update(value)

        def elements(_: int) -> Any:
            return key, self._elements

        return difference_of(np.zeros(1, np.intp), elements, lambda _: columns, called)

    def _called(self, key: Any, states: Sequence[TableValueState]) -> Any:
        function = self.fold.function
        timers: list[int] = []
        results: list[tuple[str, int, Any]] = []
        for number, (element, time) in enumerate(
            zip(self._elements, self.part.timestamps.tolist())
        ):
            out = Collected()
            context = CalledContext(out, key, time, self.watermark, timers)
            returned = function(element, context, out)
            if returned is not None:
                out.collectReturned(returned)
            for sideOutput, found in ((None, out.results), *out.sides.items()):
                results += [(sideOutput or "", number, result) for result in found]
        after = [state.storedUnder([key])[0] for state in states]
        return after, sorted(results, key=_by_output), list(dict.fromkeys(timers))


class ProcessCheck(KeyCheck[ProcessFold]):
    """Checks a function that is run as a fold."""

    def difference(self, backend: KeyedStateBackend, distinct: Sequence[Any]) -> str | None:
        """What differs; None if nothing does."""
        key = distinct[self.group]
        states: list[TableValueState] = []

        def stored(state: ValueState[Any]) -> list[Any]:
            assert isinstance(state, TableValueState)
            states.append(state)
            return state.storedUnder([key])

        processed = self.fold.processed(self.part, self.watermark, stored)
        if processed is None:
            return None
        before = [state.storedUnder([key])[0] for state in states]
        after = list(before)
        for new in processed.states:
            if new.groups:
                after[states.index(new.state)] = new.values[0]  # type: ignore[arg-type]
        emitted: dict[str | None, Emitted] = {None: Emitted(processed.results, processed.emitting)}
        columns = after, shown(emitted), [time for _, time in processed.timers]
        return self.differenceOf(columns, backend, key, list(zip(states, before)))


def shown(emitted: Mapping[str | None, Emitted]) -> list[tuple[str, int, Any]]:
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


def _by_output(result: tuple[str, int, Any]) -> str:
    return result[0]


class CalledContext:
    """The context, and the timer service, of a function that is called for a check."""

    def __init__(
        self, out: Collected, key: Any, timestamp: int, watermark: int, timers: list[int]
    ) -> None:
        self._out = out
        self._key = key
        self._timestamp = timestamp
        self._watermark = watermark
        self._timers = timers

    def timestamp(self) -> int | None:
        return None if self._timestamp == NO_TIMESTAMP else self._timestamp

    def getCurrentKey(self) -> Any:
        return self._key

    def timerService(self) -> CalledContext:
        return self

    def currentWatermark(self) -> int:
        return self._watermark

    def registerEventTimeTimer(self, timestamp: int) -> None:
        self._timers.append(timestamp)

    def output(self, outputTag: OutputTag[Any], value: Any) -> None:
        self._out.collectSide(outputTag.id, value)
