"""``ColumnFunction``: runs a function that only computes over the columns of a whole run of elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import VALUE, Shape
from flinkish.runtime.tracing.expressions import Column, Expression
from flinkish.runtime.tracing.kernels import (
    Inexact,
    Run,
    Values,
    kind_of,
    of_arrow,
    to_arrow,
)
from flinkish.runtime.tracing.symbols import CannotTell, Refusal, Symbol, symbolic
from flinkish.runtime.tracing.trace import Trace, Traced

_MOST_TRACES = 50
"""A function whose surroundings change more often is not traced again."""


class ColumnFunction:
    """A function of a value, or of a value and its timestamp, as kernels over columns.

    It is traced when it first meets columns of a schema. Where a result could differ from what the
    function returns when it is called for each element, the answer is None, and the caller calls it.
    """

    def __init__(self, function: Callable[..., Any], arguments: int = 1) -> None:
        self._function = function
        self._arguments = arguments
        self._traces = Traces(self._trace)

    @property
    def reason(self) -> str | None:
        """Why the function does not run as columns, None if it does, as far as its input is known."""
        return self._traces.reason or explored(self._function, self._arguments)

    def results(
        self, values: Sequence[Any], timestamps: NDArray[np.int64] | None = None
    ) -> RowColumns | None:
        """The results for ``values``, as columns."""
        found = self._computed(values, timestamps)
        if found is None:
            return None
        traced, run, batch = found
        try:
            columns = [_column(run, batch, expression) for expression in traced.columns]
        except Inexact:
            return None
        names = list(traced.shape.columnNames)
        results = pa.RecordBatch.from_arrays(columns, names=names)
        return RowColumns(results, traced.shape)

    def truths(self, values: Sequence[Any]) -> NDArray[np.bool_] | None:
        """For which of ``values`` the function returns what is true."""
        found = self._computed(values, None)
        if found is None or found[0].shape != VALUE:
            return None
        traced, run, _ = found
        try:
            return run.mask(traced.columns[0])
        except Inexact:
            return None

    def integers(
        self, values: Sequence[Any], timestamps: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64] | None:
        """The results if all are of the type int."""
        found = self._computed(values, timestamps)
        if found is None or found[0].shape != VALUE:
            return None
        traced, run, _ = found
        try:
            computed = run.values(traced.columns[0])
            if computed.kind != "int":
                return None
            integers: NDArray[np.int64] = computed.array(run.count)
        except Inexact:
            return None
        return integers

    def _computed(
        self, values: Sequence[Any], timestamps: NDArray[np.int64] | None
    ) -> tuple[Traced, Run, pa.RecordBatch] | None:
        """What was traced for ``values``, over a run of them in which all steps can be taken."""
        if not isinstance(values, RowColumns) or not len(values):
            return None
        traced: Traced | None = self._traces.of(values)
        if traced is None:
            return None
        batch = values.batch
        if traced.testsNone and any(column.null_count for column in batch.columns):
            return None
        run = run_of(batch, timestamps)
        try:
            run.check(traced.steps)
        except Inexact:
            return None
        return traced, run, batch

    def _trace(self, values: RowColumns) -> Traced:
        trace = Trace()
        element = symbolic_element(trace, values)
        if self._arguments == 1:
            return trace.follow(self._function, element)
        timestamp = Symbol(trace, trace.expressions.column(values.batch.num_columns, "int"))
        return trace.follow(self._function, element, timestamp)


class Traces:
    """What a function was found to compute, by the schema of its input."""

    def __init__(self, trace: Callable[[RowColumns], Any]) -> None:
        self._trace = trace
        self._found: list[tuple[Shape, list[pa.DataType], Any]] = []
        self._count = 0
        self.reason: str | None = None

    def of(self, values: RowColumns) -> Any:
        """What was traced for the schema of ``values``, None if the function cannot be traced."""
        shape, types = values.shape, values.batch.schema.types
        for number, (other_shape, other_types, traced) in enumerate(self._found):
            if other_types == types and other_shape == shape:
                if traced is None or not traced.changed():
                    return traced
                del self._found[number]
                break
        traced = self._traced(values)
        self._found.append((shape, types, traced))
        return traced

    def all(self) -> list[Any]:
        """All that was traced."""
        return [traced for _, _, traced in reversed(self._found) if traced is not None]

    def _traced(self, values: RowColumns) -> Any:
        if self._count >= _MOST_TRACES:
            self.reason = "reads values outside of it that keep changing"
            return None
        self._count += 1
        try:
            return self._trace(values)
        except Refusal as refusal:
            self.reason = str(refusal)
        except CannotTell:
            pass
        return None


def explored(function: Callable[..., Any], arguments: int) -> str | None:
    """Why ``function`` cannot be traced whatever it is called with, None if that is not certain."""
    trace = Trace(exploring=True)
    unknown = [
        Symbol(trace, trace.expressions.column(number, "unknown")) for number in range(arguments)
    ]
    try:
        trace.follow(function, *unknown)
    except Refusal as refusal:
        return str(refusal)
    except CannotTell:
        pass
    return None


def symbolic_element(trace: Trace, values: RowColumns) -> Any:
    """A symbolic element of ``values``."""
    symbols = [
        Symbol(trace, trace.expressions.column(number, kind_of(kind)))
        for number, kind in enumerate(values.batch.schema.types)
    ]
    return symbolic(trace, values.shape, symbols)


def run_of(batch: pa.RecordBatch, timestamps: NDArray[np.int64] | None = None) -> Run:
    """The rows of ``batch`` as a run; the timestamps are a column behind the others."""
    columns: dict[int, Values] = {}

    def column(number: int) -> Values:
        known = columns.get(number)
        if known is None:
            if number == batch.num_columns:
                assert timestamps is not None
                known = Values("int", timestamps)
            else:
                known = of_arrow(batch.column(number))
            columns[number] = known
        return known

    return Run(batch.num_rows, column)


def _column(run: Run, batch: pa.RecordBatch, expression: Expression) -> pa.Array:
    if isinstance(expression, Column) and expression.number < batch.num_columns:
        return batch.column(expression.number)  # also with nulls
    return to_arrow(run.array(expression))
