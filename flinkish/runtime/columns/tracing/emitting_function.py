"""``EmittingFunction``: traces a function that emits any number of results, and runs it over
columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.functions.adapt import results_of
from flinkish.api.output_tag import OutputTag
from flinkish.api.plan.window_operator import WindowCall
from flinkish.api.windowing.windows import TimeWindow
from flinkish.runtime.columns.tracing.checks import Collected, chosen, difference_of, elements_at
from flinkish.runtime.columns.tracing.column_runs import counting, raises
from flinkish.runtime.columns.tracing.emissions import (
    Channel,
    ChannelEmissions,
    Emission,
    Emitted,
    EmittedColumns,
    Emitting,
)
from flinkish.runtime.columns.tracing.expressions import columns_read
from flinkish.runtime.columns.tracing.kernels import NOT_EXACT, Run
from flinkish.runtime.columns.tracing.stand_ins import ElementContextStandIn, WindowContextStandIn
from flinkish.runtime.columns.tracing.symbolic_elements import element_and_extra, unknown_symbols
from flinkish.runtime.columns.tracing.symbols import Record, Symbol
from flinkish.runtime.columns.tracing.trace import Step, Trace, Traced
from flinkish.runtime.columns.tracing.traced_function import TracedFunction
from flinkish.runtime.columns.tracing.traced_runs import has_nulls, run_of
from flinkish.runtime.columns.tracing.unsupported import Unsupported
from flinkish.runtime.columns.tracing.words import ROUNDS, Rounds, Split, check_rounds
from flinkish.runtime.records.records import NO_TIMESTAMP, Records, no_timestamps
from flinkish.runtime.records.rows import RowColumns, python_values


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

    def changed(self) -> bool:
        """Whether a guard fails."""
        return self.traced.changed()


Outputs: TypeAlias = dict[str | None, Emitted]
"""The results of a run, and those for each side output by its id."""


def _emissions_differ(
    self: EmittingFunction, emitted: Outputs, elements: RowColumns, *extra: pa.Array
) -> str | None:
    """The first difference in the results of a run; None if there is none."""
    positions = chosen(elements, self.runs.checks, self.runs.seed)
    found = elements_at(elements, positions)
    indices = pa.array(positions)
    others = list(zip(*(python_values(column.take(indices)) for column in extra)))

    def columns(number: int) -> Any:
        position = int(positions[number])
        outputs = {output: _results_at(e, position) for output, e in emitted.items()}
        return _shown(outputs.pop(None), outputs)

    def called(number: int) -> Any:
        out = Collected()
        self._collect(found[number], others[number], out)
        return _shown(out.results, out.sides)

    return difference_of(positions, found.__getitem__, columns, called)


def _results_at(emitted: Emitted, position: int) -> list[Any]:
    """The results of the element at ``position``."""
    if emitted.results is None:
        return []
    begin, end = np.searchsorted(emitted.positions, (position, position + 1))
    return emitted.results.between(int(begin), int(end)).anew().rows()


def _shown(results: list[Any], sides: Mapping[Any, list[Any]]) -> Any:
    """The results of an element, with those for side outputs if there are any."""
    aside = sorted((output, found) for output, found in sides.items() if found)
    return (results, *aside) if aside else results


class EmittingFunction(TracedFunction[_Plan]):
    """A function that gives its results to a collector, returns a list of them, or yields them."""

    @abstractmethod
    def _call(self, trace: Trace, element: Any, extra: list[Symbol], out: Emitting) -> None:
        """Call the function with symbols: ``element``, and ``extra`` for the columns after the
        element's."""

    @abstractmethod
    def _collect(self, element: Any, extra: Sequence[Any], out: Collected) -> None:
        """Call the function with Python values."""

    @abstractmethod
    def _width(self) -> int:
        """The number of columns that follow those of an element."""

    def _may_differ(self, traced: Traced, batch: pa.RecordBatch) -> bool:
        """Whether the function may take another branch for some row of ``batch`` than was
        traced."""
        return False

    def raisesFor(self, elements: RowColumns) -> bool:
        """Whether the function, which is called, raises an exception for some of ``elements``."""
        extra = [0] * self._width()
        return raises(lambda element: self._collect(element, extra, Collected()), elements)

    @counting(_emissions_differ)
    def _emitted(self, elements: RowColumns, *extra: pa.Array) -> Outputs | None:
        """The results of calls with ``elements`` and ``extra``."""
        if elements.mayDiffer:
            return None
        batch = elements.batch
        for number, column in enumerate(extra):
            batch = batch.append_column(f"extra {number}", column)
        plan = self._traces.of(RowColumns(batch, elements.shape))
        if plan is None or (plan.traced.testsNone and has_nulls(batch)):
            return None
        if self._may_differ(plan.traced, batch):
            return None
        run = run_of(batch)
        try:
            if plan.loop is None:
                return self._outputs(plan, run, batch)
            run.check(plan.loop.steps)
            words = plan.loop.split.explode(run, batch, plan.loop.read)
            outputs = self._outputs(plan, run_of(words.batch), words.batch)
            return {
                output: Emitted(found.results, words.positions[found.positions])
                for output, found in outputs.items()
            }
        except NOT_EXACT:
            return None

    def _outputs(self, plan: _Plan, run: Run, batch: pa.RecordBatch) -> Outputs:
        run.check(plan.traced.steps)
        outputs: Outputs = {}
        for output, emission in plan.emitted.items():
            emitted = EmittedColumns()
            emitted.add(emission, run, batch, np.arange(batch.num_rows))
            outputs[output] = emitted.joined()
        return outputs

    def _trace(self, values: RowColumns) -> _Plan:
        trace = Trace()
        return self._followed(trace, *element_and_extra(trace, values), len(values.schema))

    def _explore(self) -> None:
        trace, width = Trace(exploring=True), 1 + self._width()
        element, *extra = unknown_symbols(trace, width)
        self._followed(trace, element, extra, width)

    def _followed(self, trace: Trace, element: Any, extra: list[Symbol], width: int) -> _Plan:
        """``width``: the number of columns of ``element`` and ``extra`` together."""
        rounds = trace.rounds = Rounds(width)
        emissions = ChannelEmissions()

        def results() -> Emitting:
            rounds.begin()
            out = Emitting(trace)
            self._call(trace, element, extra, out)
            return out

        def noted() -> int:
            emissions.note(trace, results())
            return 0

        trace.follow_all(noted)
        traced = trace.follow_all(lambda: (0, *emissions.filled(trace, results())))
        emitted = emissions.emitted(iter(traced.columns[1:]))
        if rounds.split is not None:
            return _of_loop(trace, rounds, traced, emitted)
        return _Plan(traced, {channel.sideOutput: each for channel, each in emitted.items()})


def _of_loop(
    trace: Trace,
    rounds: Rounds,
    traced: Traced,
    emitted: Mapping[Channel, Emission],
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

    def _width(self) -> int:
        return 3

    def _may_differ(self, traced: Traced, batch: pa.RecordBatch) -> bool:
        # ctx.timestamp() of an element without one is None
        timestamp = batch.num_columns - self._width()
        return timestamp in traced.reading and bool(
            (batch.column(timestamp).to_numpy() == NO_TIMESTAMP).any()
        )


class FlatMapColumns(ElementFunction):
    """``call(value, out)``, or ``iterate(value)``, which returns or yields its results."""

    def __init__(
        self, call: Callable[[Any, Any], Any] | None, iterate: Callable[[Any], Any] | None
    ) -> None:
        super().__init__(iterate or call)
        self._function = call
        self._iterate = iterate

    def _call(self, trace: Trace, element: Any, extra: list[Symbol], out: Emitting) -> None:
        if self._iterate is not None:
            returned = trace.callable_of(self._iterate)(element)
        else:
            returned = trace.callable_of(self._function)(element, out)
        out.collectReturned(returned, tuples=True, wrote=self._iterate is None)

    def _collect(self, element: Any, extra: Sequence[Any], out: Collected) -> None:
        if self._iterate is not None:
            out.collectAll(results_of(self._iterate(element), tuples=True))
        elif self._function is not None:
            out.collectReturned(self._function(element, out), tuples=True)


class ProcessFunctionColumns(ElementFunction):
    """``call(value, ctx, out)`` of a function without state and timers."""

    def __init__(self, call: Callable[[Any, Any, Any], Any]) -> None:
        super().__init__(call)
        self._function = call

    def _call(self, trace: Trace, element: Any, extra: list[Symbol], out: Emitting) -> None:
        context = ElementContextStandIn(trace, out, *extra)
        out.collectReturned(trace.callable_of(self._function)(element, context, out))

    def _collect(self, element: Any, extra: Sequence[Any], out: Collected) -> None:
        out.collectReturned(self._function(element, _CalledContext(out, *extra), out))


class _CalledContext:
    """The context, and the timer service, of a process function that is called for a check."""

    def __init__(self, out: Collected, timestamp: int, watermark: int, clock: int) -> None:
        self._out = out
        self._timestamp = timestamp
        self._watermark = watermark
        self._clock = clock

    def timestamp(self) -> int | None:
        return None if self._timestamp == NO_TIMESTAMP else self._timestamp

    def timerService(self) -> _CalledContext:
        return self

    def currentWatermark(self) -> int:
        return self._watermark

    def currentProcessingTime(self) -> int:
        return self._clock

    def output(self, outputTag: OutputTag[Any], value: Any) -> None:
        self._out.collectSide(outputTag.id, value)


class WindowFunctionColumns(EmittingFunction):
    """The window function after an aggregation, called with the one result of a key and window.

    The function may use the key, the start and end of the window, and the result.
    """

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._function = call

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

    def _width(self) -> int:
        return 3

    def _call(self, trace: Trace, element: Any, extra: list[Symbol], out: Emitting) -> None:
        key, start, end = extra
        window = Record(trace, TimeWindow, ("start", "end"), (start, end))
        function = trace.callable_of(self._function)
        returned = function(key, window, WindowContextStandIn(trace, window), (element,), out)
        out.collectReturned(returned, wrote=False)

    def _collect(self, element: Any, extra: Sequence[Any], out: Collected) -> None:
        key, start, end = extra
        window = TimeWindow(start, end)
        context: Any = _CalledWindow(window)
        out.collectAll(results_of(self._function(key, window, context, (element,), out)))


class _CalledWindow:
    """The context of a window function that is called for a check."""

    def __init__(self, window: TimeWindow) -> None:
        self._window = window

    def window(self) -> TimeWindow:
        return self._window
