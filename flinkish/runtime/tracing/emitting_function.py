"""``EmittingFunction``: a function that emits any number of results, over the columns of many calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.plan.windows import WindowCall
from flinkish.api.windowing.windows import TimeWindow
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.tracing.column_function import (
    Traces,
    has_nulls,
    refusal_of,
    run_of,
    symbolic_element,
)
from flinkish.runtime.tracing.emissions import Emissions, Emitted, EmittedColumns, Emitting, Slot
from flinkish.runtime.tracing.kernels import NOT_EXACT, kind_of
from flinkish.runtime.tracing.symbols import Record, Symbol
from flinkish.runtime.tracing.trace import Trace, Traced


class _Plan(NamedTuple):
    """What the function emits of a row."""

    traced: Traced
    slots: tuple[Slot, ...]
    emissions: Emissions

    def changed(self) -> bool:
        """Whether something that the function reads from outside is another value now."""
        return self.traced.changed()


class EmittingFunction(ABC):
    """A function that gives its results to a collector, returns a list of them, or yields them.

    Where the results could differ from those of calls one by one, the answer is None, and the caller calls it.
    """

    def __init__(self) -> None:
        self._traces = Traces(self._plan)

    @property
    def reason(self) -> str | None:
        """Why the function does not run as columns, None if it does, as far as its input is known."""
        return self._traces.reason or refusal_of(self._explore)

    @abstractmethod
    def _call(self, trace: Trace, element: Any, extra: list[Symbol], out: Emitting) -> None:
        """Call the function with ``element`` and what the columns behind those of the element stand for."""

    @abstractmethod
    def _width(self) -> int:
        """How many columns there are behind those of an element."""

    def _emitted(self, elements: RowColumns, *extra: pa.Array) -> Emitted | None:
        """What the calls with ``elements`` and ``extra`` emit."""
        if elements.mayDiffer:
            return None
        batch = elements.batch
        for number, column in enumerate(extra):
            batch = batch.append_column(f"extra {number}", column)
        plan: _Plan | None = self._traces.of(RowColumns(batch, elements.shape))
        if plan is None or (plan.traced.testsNone and has_nulls(batch)):
            return None
        run = run_of(batch)
        emitted = EmittedColumns()
        try:
            run.check(plan.traced.steps)
            emitted.add(plan.slots, plan.emissions.shape, run, batch, np.arange(len(elements)))
        except NOT_EXACT:
            return None
        return emitted.joined()

    def _plan(self, elements: RowColumns) -> _Plan:
        schema = elements.batch.schema
        width = len(schema) - self._width()

        def arguments(trace: Trace) -> tuple[Any, list[Symbol]]:
            element = symbolic_element(
                trace, RowColumns(elements.batch.select(range(width)), elements.shape)
            )
            numbers = range(width, len(schema))
            columns = (trace.expressions.column(n, kind_of(schema.types[n])) for n in numbers)
            return element, [Symbol(trace, column) for column in columns]

        return self._followed(Trace(), arguments)

    def _explore(self) -> None:
        """Raises Refusal if the function cannot run as columns, whatever its input."""

        def arguments(trace: Trace) -> tuple[Any, list[Symbol]]:
            numbers = range(1 + self._width())
            columns = (trace.expressions.column(number, "unknown") for number in numbers)
            element, *extra = (Symbol(trace, column) for column in columns)
            return element, extra

        self._followed(Trace(exploring=True), arguments)

    def _followed(
        self, trace: Trace, arguments: Callable[[Trace], tuple[Any, list[Symbol]]]
    ) -> _Plan:
        element, extra = arguments(trace)
        emissions = Emissions()

        def results() -> list[Any]:
            out = Emitting(trace)
            self._call(trace, element, extra, out)
            return out.results

        def noted() -> int:
            emissions.note(trace, results())
            return 0

        trace.follow_all(noted)
        traced = trace.follow_all(lambda: (0, *emissions.filled(trace, results())))
        columns = iter(traced.columns[1:])
        return _Plan(traced, emissions.slots(columns), emissions)


class WindowFunctionColumns(EmittingFunction):
    """The window function behind an aggregation, called with the one result of a key and window.

    It may use its key, the start and end of its window, and the result.
    """

    def __init__(self, call: WindowCall) -> None:
        super().__init__()
        self._function = call

    def results(
        self,
        results: RowColumns,
        keys: pa.Array,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
    ) -> Emitted | None:
        """What the function emits of ``results`` of the aggregation, one a window."""
        return self._emitted(results, keys, pa.array(starts), pa.array(ends))

    def _width(self) -> int:
        return 3

    def _call(self, trace: Trace, element: Any, extra: list[Symbol], out: Emitting) -> None:
        key, start, end = extra
        window = Record(trace, TimeWindow, ("start", "end"), (start, end))
        function = trace.callable_of(self._function)
        returned = function(key, window, _WindowContext(trace, window), (element,), out)
        out.collectReturned(returned, wrote=False)


class _WindowContext:
    """Stands for the context of a window function."""

    def __init__(self, trace: Trace, window: Record) -> None:
        self._trace = trace
        self._window = window

    def window(self) -> Record:
        return self._window

    def __getattr__(self, attribute: str) -> Any:
        raise self._trace.refusal(f"uses {attribute} of its context")
