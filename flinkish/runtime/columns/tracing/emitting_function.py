"""``EmittingFunction``: traces a function that emits any number of results, and runs it over
columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.plan.window_operator import WindowCall
from flinkish.api.windowing.windows import TimeWindow, Window
from flinkish.runtime.columns.tracing.checks import Collected, Positions
from flinkish.runtime.columns.tracing.emissions import (
    Channel,
    Emission,
    Emitted,
    Emitting,
    emitted_columns,
    follow_emitting,
)
from flinkish.runtime.columns.tracing.expression_run import Run
from flinkish.runtime.columns.tracing.expressions import Step, columns_read
from flinkish.runtime.columns.tracing.record_classes import Record
from flinkish.runtime.columns.tracing.stand_ins import (
    StandIn,
    called_context,
    traced_context,
)
from flinkish.runtime.columns.tracing.symbolic_values import Signature, beside, taken_apart
from flinkish.runtime.columns.tracing.symbols import Symbol
from flinkish.runtime.columns.tracing.trace import Trace, Traced
from flinkish.runtime.columns.tracing.traced_function import ElementwiseFunction
from flinkish.runtime.columns.tracing.traced_runs import (
    check_may_differ,
    check_timestamps,
    run_of,
)
from flinkish.runtime.columns.tracing.unsupported import Unsupported
from flinkish.runtime.columns.tracing.words import ROUNDS, Rounds, Split, check_rounds
from flinkish.runtime.records.records import Records, no_timestamps
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import tuple_shape
from flinkish.runtime.state.broadcast_state import BroadcastStates


class Loop(NamedTuple):
    """A loop over the words of a text."""

    split: Split
    steps: tuple[Step, ...]
    """The steps of an element, whatever its words; the others are those of the trace."""
    read: set[int]
    """The columns that are read for a word."""


class _Plan(NamedTuple):
    """The trace of what the function emits for a row: its results, and those for each side output
    by its id."""

    traced: Traced
    emitted: Mapping[str | None, Emission]
    loop: Loop | None = None
    """The loop over words in which all of that is emitted, if there is one."""


_Out: TypeAlias = "Emitting | Collected"
"""The collector of a function that is traced, or called for a check."""

Outputs: TypeAlias = dict[str | None, Emitted]
"""The results of a run, and those for each side output by its id."""


class EmittingFunction(ElementwiseFunction[_Plan]):
    """A function that gives its results to a collector, returns a list of them, or yields them."""

    hasTimestamps = False
    """Whether the first column behind the element's is its timestamp, which it may not have."""

    def __init__(
        self, function: Callable[..., Any], version: Callable[[], object] | None = None
    ) -> None:
        super().__init__(function, version)
        self._function = function

    @abstractmethod
    def _emit(self, function: Any, element: Any, extra: Sequence[Any], out: _Out) -> None:
        """Call ``function`` with ``element``, with what is made of ``extra``, the values of the columns
        behind the element's, and with ``out``. All are symbols if ``out`` is ``Emitting``."""

    def _call(self, element: Any, *extra: Any) -> Any:
        out = Collected()
        self._emit(self._function, element, extra, out)
        return _shown(out.results)

    def _emitted(self, elements: RowColumns, *extra: pa.Array) -> Outputs | None:
        """The results of calls with ``elements`` and ``extra``."""

        def effects(emitted: Outputs, positions: Positions) -> list[Any]:
            return [
                _shown({output: _results_at(each, position) for output, each in emitted.items()})
                for position in positions.tolist()
            ]

        return self.runs.counted(
            elements,
            lambda: self._computed(elements, extra),
            lambda emitted: self._difference(
                lambda positions: effects(emitted, positions), elements, extra
            ),
        )

    def _computed(self, elements: RowColumns, extra: Sequence[pa.Array]) -> Outputs | None:
        if elements.mayDiffer:
            return None
        known = beside(elements, extra)
        batch, plan = known.batch, self._traced(known)
        if plan is None:
            return None
        check_may_differ(plan.traced, batch)
        if self.hasTimestamps:
            check_timestamps(plan.traced, batch, batch.num_columns - self.signature.extra)
        run = run_of(batch)
        if plan.loop is None:
            return self._outputs(plan, run, batch)
        run.check(plan.loop.steps)
        words, elements_of = plan.loop.split.explode(run, batch, plan.loop.read)
        outputs = self._outputs(plan, run_of(words), words)
        return {
            output: Emitted(found.results, elements_of[found.positions])
            for output, found in outputs.items()
        }

    def _outputs(self, plan: _Plan, run: Run, batch: pa.RecordBatch) -> Outputs:
        run.check(plan.traced.steps)
        emitted = emitted_columns(plan.emitted, run, batch, np.arange(batch.num_rows))
        return {output: each.joined() for output, each in emitted.items()}

    def _follow(self, trace: Trace, element: Any, extra: Sequence[Symbol]) -> _Plan:
        columns = [part for argument in extra for part in taken_apart(trace, argument)[1]]
        rounds = trace.rounds = Rounds(1 + max(columns_read(*columns)))
        function = trace.callable_of(self._function)

        def call(out: Emitting) -> tuple[int]:
            rounds.begin()
            self._emit(function, element, extra, out)
            return (0,)

        traced, emitted = follow_emitting(trace, call, 1)
        if rounds.split is not None:
            return _of_loop(trace, rounds, traced, emitted)
        return _Plan(traced, {channel.sideOutput: each for channel, each in emitted.items()})


def _of_loop(
    trace: Trace,
    rounds: Rounds,
    traced: Traced,
    emitted: Mapping[Any, Emission],
) -> _Plan:
    """The plan of a function that emits in a loop over words. Raises Unsupported if it emits
    outside of it, or if the loop does not do the same for each word."""
    assert rounds.split is not None
    nothing = Emission(None, ())
    if any(each.slots and channel.round is None for channel, each in emitted.items()):
        raise Unsupported("emits within a loop over words, and outside of it")
    outputs = [channel.sideOutput for channel in emitted if channel.round == 0]
    for output in outputs:
        of_rounds = [emitted.get(Channel(output, n), nothing).slots for n in range(ROUNDS)]
        check_rounds(trace, rounds, of_rounds)
    if any(c.round is not None and c.sideOutput not in outputs for c in emitted):
        raise Unsupported("has a loop over words whose rounds differ")
    of_first = {output: emitted[Channel(output, 0)] for output in outputs}
    steps = [step for step in traced.steps if not rounds.later(*step.expressions)]
    own = [step for step in steps if not rounds.inLoop(*step.expressions)]
    asked = [part for each in of_first.values() for slot in each.slots for part in slot]
    asked += [part for step in steps for part in step.expressions]
    return _Plan(
        traced._replace(steps=tuple(steps)),
        {None: nothing, **of_first},
        Loop(rounds.split, tuple(own), columns_read(*asked)),
    )


class ElementFunction(EmittingFunction):
    """A function whose results have the timestamp of their element."""

    hasTimestamps = True
    signature = Signature(extra=3)

    def process(
        self, records: Records, watermark: int, clock: int
    ) -> dict[str | None, Records] | None:
        """The function's results for ``records`` at ``watermark``, when the processing time is
        ``clock``, and those for each side output by its id."""
        values, timestamps = records.values, records.timestamps
        if not isinstance(values, RowColumns) or not len(values):
            self.runs.note(False)
            return None
        times = (
            pa.array(np.full(len(values), time, dtype=np.int64)) for time in (watermark, clock)
        )
        emitted = self._emitted(values, pa.array(timestamps), *times)
        if emitted is None:
            return None
        return {
            output: Records([], no_timestamps(0))
            if found.results is None
            else Records(found.results, timestamps[found.positions])
            for output, found in emitted.items()
        }


class FlatMapColumns(ElementFunction):
    """``call(value, out)``, or ``iterate(value)``, which returns or yields its results."""

    def __init__(
        self, call: Callable[[Any, Any], Any] | None, iterate: Callable[[Any], Any] | None
    ) -> None:
        function = iterate or call
        assert function is not None
        super().__init__(function)
        self._iterates = iterate is not None

    def _emit(self, function: Any, element: Any, extra: Sequence[Any], out: _Out) -> None:
        returned = function(element) if self._iterates else function(element, out)
        out.collectReturned(returned, tuples=True, wrote=not self._iterates)


class ProcessFunctionColumns(ElementFunction):
    """``call(value, ctx, out)`` of a function without state and timers."""

    def __init__(
        self, call: Callable[[Any, Any, Any], Any], broadcast: BroadcastStates | None = None
    ) -> None:
        """``broadcast``: the broadcast states that its context gives."""
        super().__init__(call, None if broadcast is None else broadcast.versions)
        self._broadcast = broadcast

    def _emit(self, function: Any, element: Any, extra: Sequence[Any], out: _Out) -> None:
        context: Any = (
            traced_context(out, extra, self._broadcast)
            if isinstance(out, Emitting)
            else called_context(out, extra, self._broadcast, [])
        )
        out.collectReturned(function(element, context, out))


class PairFunction(EmittingFunction):
    """A function of a left and a right element, a context and a collector."""

    signature = Signature(extra=2, pairs=True)

    def results(
        self,
        lefts: RowColumns,
        rights: RowColumns,
        leftTimes: NDArray[np.int64],
        rightTimes: NDArray[np.int64],
    ) -> Emitted | None:
        """The function's emissions for pairs of the elements of ``lefts`` and ``rights``."""
        columns = [*lefts.batch.columns, *rights.batch.columns]
        batch = pa.RecordBatch.from_arrays(columns, names=list(map(str, range(len(columns)))))
        pairs = RowColumns(batch, tuple_shape([lefts.shape, rights.shape]))
        emitted = self._emitted(pairs, pa.array(leftTimes), pa.array(rightTimes))
        return None if emitted is None else emitted[None]

    def _emit(self, function: Any, element: Any, extra: Sequence[Any], out: _Out) -> None:
        left, right = extra
        members = {"getLeftTimestamp": lambda: left, "getRightTimestamp": lambda: right}
        context: Any
        if isinstance(out, Emitting):
            latest = out.trace.callable_of(max)
            members["getTimestamp"] = lambda: latest(left, right)
            context = StandIn(out.trace, "context", **members)
        else:
            context = SimpleNamespace(**members, getTimestamp=lambda: max(left, right))
        out.collectReturned(function(*element, context, out))


class WindowFunctionColumns(EmittingFunction):
    """The window function after an aggregation, called with the one result of a key and window.

    The function may use the key, the start and end of the window, and the result. ``window``: the
    one window of all elements, if they are not TimeWindows.
    """

    signature = Signature(extra=3)

    def __init__(self, call: WindowCall, window: Window | None = None) -> None:
        super().__init__(call)
        self._window = window

    def results(
        self,
        results: RowColumns,
        keys: pa.Array,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
    ) -> Emitted | None:
        """Return the function's emissions for ``results``, the aggregation's result for each key
        and window."""
        emitted = self._emitted(results, keys, pa.array(starts), pa.array(ends))
        return None if emitted is None else emitted[None]

    def _emit(self, function: Any, element: Any, extra: Sequence[Any], out: _Out) -> None:
        key, start, end = extra
        context: Any
        if isinstance(out, Emitting):
            times = ("start", "end")
            window = self._window or Record(out.trace, TimeWindow, times, (start, end))
            context = StandIn(out.trace, "context", window=lambda: window)
        else:
            window = self._window or TimeWindow(start, end)
            context = SimpleNamespace(window=lambda: window)
        out.collectReturned(function(key, window, context, (element,), out), wrote=False)


def _results_at(emitted: Emitted, position: int) -> list[Any]:
    if emitted.results is None:
        return []
    begin, end = np.searchsorted(emitted.positions, (position, position + 1))
    return emitted.results.between(int(begin), int(end)).anew().rows()


def _shown(results: Mapping[str | None, list[Any]]) -> Any:
    """The results of an element, with those for side outputs if there are any."""
    aside = sorted((output, found) for output, found in results.items() if output and found)
    return (results[None], *aside) if aside else results[None]
