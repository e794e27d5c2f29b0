"""``ColumnFunction``: traces a function that only computes, and runs it over the columns of a
run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.functions.checkpointed import CheckpointedFunction
from flinkish.api.types.fields import NamedField, PositionedField, field_read
from flinkish.runtime.columns.tracing.checks import Positions, chosen, difference_of, elements_at
from flinkish.runtime.columns.tracing.column_runs import counting, raises
from flinkish.runtime.columns.tracing.expressions import Column
from flinkish.runtime.columns.tracing.kernels import NOT_EXACT, Run, kind_of
from flinkish.runtime.columns.tracing.symbolic_elements import (
    column_of,
    following_getters,
    symbolic_element,
    unknown_symbols,
)
from flinkish.runtime.columns.tracing.symbols import Symbol
from flinkish.runtime.columns.tracing.trace import Traced
from flinkish.runtime.columns.tracing.traced_function import TracedFunction
from flinkish.runtime.columns.tracing.traced_runs import checked_run, results_of
from flinkish.runtime.records.partly_read import Columns
from flinkish.runtime.records.rows import RowColumns, python_values
from flinkish.runtime.records.shapes import VALUE


def _called(
    self: ColumnFunction,
    values: RowColumns,
    timestamps: NDArray[np.int64] | None,
    columns: Callable[[Positions], Sequence[Any]],
    convert: Callable[[Any], Any] | None = None,
) -> str | None:
    """The first difference in a run; ``columns`` gives the computed results at some positions."""
    traced = self._traces.of(values)
    if traced is None:
        return None
    positions = chosen(values, self.runs.checks, self.runs.seed, traced.reading)
    elements = elements_at(values, positions, traced.reading)
    times: list[tuple[int, ...]] = [()] * len(positions)
    if self._arguments > 1 and timestamps is not None:
        times = [(time,) for time in timestamps[positions].tolist()]

    def called(number: int) -> Any:
        result = self._function(elements[number], *times[number])
        return result if convert is None else convert(result)

    over = columns(positions)
    return difference_of(positions, elements.__getitem__, over.__getitem__, called)


def _results_differ(
    self: ColumnFunction,
    results: RowColumns,
    values: RowColumns,
    timestamps: NDArray[np.int64] | None = None,
) -> str | None:
    return _called(self, values, timestamps, lambda at: results.take(at).rows())


def _truths_differ(
    self: ColumnFunction, truths: NDArray[np.bool_], values: RowColumns
) -> str | None:
    return _called(self, values, None, lambda at: truths[at].tolist(), bool)


def _integers_differ(
    self: ColumnFunction,
    integers: NDArray[np.int64],
    values: RowColumns,
    timestamps: NDArray[np.int64] | None = None,
) -> str | None:
    return _called(self, values, timestamps, lambda at: integers[at].tolist())


def _passed_differ(
    self: ColumnFunction, number: int, values: RowColumns, passed: int
) -> str | None:
    column = values.arrow(number)
    return _called(self, values, None, lambda at: python_values(column.take(pa.array(at))))


def may_be_traced(function: object) -> bool:
    """Whether an operator may trace ``function``, a method or an object of a user's class. A
    CheckpointedFunction may not be: its results depend on attributes that differ between key
    groups."""
    return not isinstance(getattr(function, "__self__", function), CheckpointedFunction)


def column_function(
    function: Callable[..., Any] | None, arguments: int = 1, *, traces: bool
) -> ColumnFunction | None:
    """``function`` over columns; None if there is none, or if it may not be traced."""
    if function is None or not traces or not may_be_traced(function):
        return None
    return ColumnFunction(function, arguments)


class ColumnFunction(TracedFunction[Traced]):
    """A function of a value, or of a value and its timestamp, as kernels over columns."""

    def __init__(self, function: Callable[..., Any], arguments: int = 1) -> None:
        super().__init__(function)
        self._function = function
        self._arguments = arguments

    @property
    def takesTimestamps(self) -> bool:
        """Whether the function takes the element's timestamp as a second argument."""
        return self._arguments > 1

    def raisesFor(self, values: RowColumns) -> bool:
        """Whether the function, which is called, raises an exception for some of ``values``."""
        return raises(lambda element: self._function(*(element, 0)[: self._arguments]), values)

    def reads(self, values: RowColumns) -> set[int] | None:
        """The indices of the columns that the function reads of elements like ``values``; None if
        it cannot be traced, or if it may read any column."""
        traced = self._traces.of(values)
        if traced is None or traced.testsNone:
            return None
        return {number for number in traced.reading if number < len(values.schema)}

    def readsVariables(self, values: Sequence[Any]) -> bool:
        """Whether the function, traced for ``values``, reads variables that other code may write
        between two elements."""
        traced = self._traces.of(values) if isinstance(values, RowColumns) else None
        return traced is not None and traced.readsVariables

    def passed(self, values: Sequence[Any]) -> int | None:
        """The index of the column of ``values`` that the function returns unchanged; None if there
        is none."""
        if not isinstance(values, RowColumns) or not len(values):
            return None
        number = self.passes(values)
        return None if number is None else self._passing(values, number)

    @counting(_passed_differ)
    def _passing(self, values: RowColumns, number: int) -> int | None:
        """``number``, counted and checked as a run."""
        return number

    def passes(self, values: RowColumns) -> int | None:
        """``passed`` for elements like ``values``, without counting a run."""
        traced = self._traces.of(values)
        if traced is None or traced.shape != VALUE or traced.steps or traced.testsNone:
            return None
        column = traced.columns[0]
        passes = isinstance(column, Column) and column.number < len(values.schema)
        return column.number if passes else None  # type: ignore[union-attr]

    @counting(_results_differ)
    def results(
        self, values: Sequence[Any], timestamps: NDArray[np.int64] | None = None
    ) -> RowColumns | None:
        """The results for ``values``, as columns."""
        found = self._computed(values, timestamps)
        if found is None:
            return None
        return results_of(*found)

    @counting(_truths_differ)
    def truths(self, values: Sequence[Any]) -> NDArray[np.bool_] | None:
        """Return a mask of the elements of ``values`` for which the function's result is true."""
        found = self._computed(values, None)
        if found is None or found[0].shape != VALUE:
            return None
        traced, run, _ = found
        try:
            return run.mask(traced.columns[0])
        except NOT_EXACT:
            return None

    @counting(_integers_differ)
    def integers(
        self, values: Sequence[Any], timestamps: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64] | None:
        """The results, if all of them are ints that fit into 64 bits."""
        found = self._computed(values, timestamps)
        if found is None or found[0].shape != VALUE:
            return None
        traced, run, _ = found
        try:
            computed = run.values(traced.columns[0])
            if computed.kind != "int":
                return None
            integers: NDArray[np.int64] = computed.array(run.count)
        except NOT_EXACT:
            return None
        return integers

    def _computed(
        self, values: Sequence[Any], timestamps: NDArray[np.int64] | None
    ) -> tuple[Traced, Run, Columns] | None:
        """The trace for ``values``, and the run, once no step of it can raise an error."""
        if not isinstance(values, RowColumns) or not len(values) or values.mayDiffer:
            return None
        traced = self._traces.of(values)
        run = None if traced is None else checked_run(traced, values.columns, timestamps)
        return None if traced is None or run is None else (traced, run, values.columns)

    def _trace(self, values: RowColumns) -> Traced:
        trace = following_getters()
        element = symbolic_element(trace, values)
        if isinstance(self._function, (itemgetter, attrgetter)):
            return trace.follow(_itself, self._function(element))
        if isinstance(self._function, (NamedField, PositionedField)):
            number = column_of(values.shape, field_read(self._function))
            column = trace.expressions.column(number, kind_of(values.schema.types[number]))
            return trace.follow(_itself, Symbol(trace, column))
        if self._arguments == 1:
            return trace.follow(self._function, element)
        timestamp = Symbol(trace, trace.expressions.column(len(values.schema), "int"))
        return trace.follow(self._function, element, timestamp)

    def _explore(self) -> None:
        if not isinstance(self._function, (NamedField, PositionedField, itemgetter, attrgetter)):
            trace = following_getters(exploring=True)
            trace.follow(self._function, *unknown_symbols(trace, self._arguments))


def _itself(value: Any) -> Any:
    return value
