"""``ColumnFunction``: traces a function that only computes, and runs it over the columns of a
run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from operator import attrgetter, itemgetter
from types import MethodType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.functions.checkpointed import CheckpointedFunction
from flinkish.api.types.fields import (
    WHOLE,
    Field,
    NamedField,
    PositionedField,
    WholeElement,
    field_read,
    position_of,
)
from flinkish.runtime.columns.tracing.checks import Positions, chosen, difference_of, elements_at
from flinkish.runtime.columns.tracing.column_runs import ColumnRuns, counting
from flinkish.runtime.columns.tracing.expressions import Column, Expression
from flinkish.runtime.columns.tracing.kernels import (
    NOT_EXACT,
    Run,
    Values,
    kind_of,
    nulls,
    of_arrow,
    to_arrow,
)
from flinkish.runtime.columns.tracing.objects import Made
from flinkish.runtime.columns.tracing.symbols import (
    CannotTell,
    Symbol,
    Unsupported,
    symbolic,
    taken_apart,
)
from flinkish.runtime.columns.tracing.trace import Trace, Traced
from flinkish.runtime.records.partly_read import Columns
from flinkish.runtime.records.rows import RowColumns, python_values
from flinkish.runtime.records.shapes import VALUE, Shape

_MOST_TRACES = 50
"""A function is traced at most this often, as its external constants change."""


def _called(
    self: ColumnFunction,
    values: RowColumns,
    timestamps: NDArray[np.int64] | None,
    columns: Callable[[Positions], Sequence[Any]],
    convert: Callable[[Any], Any] | None = None,
) -> str | None:
    """The first difference in a run; ``columns`` gives the computed results at some positions."""
    traced: Traced | None = self._traces.of(values)
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


class ColumnFunction:
    """A function of a value, or of a value and its timestamp, as kernels over columns.

    The function is traced at the first run of each schema. Wherever a result could differ from the
    function's own, methods return None, and the caller calls the function for each element.
    """

    def __init__(self, function: Callable[..., Any], arguments: int = 1) -> None:
        self._function = function
        self._arguments = arguments
        self.runs = ColumnRuns("ColumnFunction", function)
        self._traces = Traces(self._trace, self.runs)

    @property
    def reason(self) -> str | None:
        """Why the function is not traced; None if it can be, as far as known without input."""
        if isinstance(self._function, (NamedField, PositionedField, itemgetter, attrgetter)):
            return self._traces.reason
        return self._traces.reason or explored(self._function, self._arguments)

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
        traced: Traced | None = self._traces.of(values)
        if traced is None or traced.testsNone:
            return None
        return {number for number in traced.reading if number < len(values.schema)}

    def readsVariables(self, values: Sequence[Any]) -> bool:
        """Whether the function, traced for ``values``, reads variables that other code may write
        between two elements."""
        traced: Traced | None = self._traces.of(values) if isinstance(values, RowColumns) else None
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
        traced: Traced | None = self._traces.of(values)
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
        """For each of ``values`` whether the function's result is true."""
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
        traced: Traced | None = self._traces.of(values)
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


class Traces:
    """The traces of a function, by the schema of its input."""

    def __init__(self, trace: Callable[[RowColumns], Any], runs: ColumnRuns) -> None:
        self._trace = trace
        self._runs = runs
        self._found: list[tuple[Shape, list[pa.DataType], Any]] = []
        self._count = 0
        self._reason: str | None = None

    @property
    def reason(self) -> str | None:
        """Why the function is called for each element; None if no reason is known."""
        return self._runs.difference or self._reason

    def of(self, values: RowColumns) -> Any:
        """The trace for the schema of ``values``; None if the function cannot be traced."""
        if self._runs.difference is not None:
            return None
        shape, types = values.shape, values.schema.types
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
        """All traces, the latest first."""
        return [traced for _, _, traced in reversed(self._found) if traced is not None]

    def _traced(self, values: RowColumns) -> Any:
        if self._count >= _MOST_TRACES:
            self._reason = "has external constants that keep changing"
            return None
        self._count += 1
        try:
            return self._trace(values)
        except Unsupported as unsupported:
            self._reason = str(unsupported)
        except CannotTell:
            pass
        except Exception as error:
            # A user's class may raise anything when it is inspected; the general path still works
            self._reason = f"cannot be followed: {type(error).__name__}: {error}"
        return None


def column_of(shape: Shape, field: Field | None) -> int:
    """The index of the column that holds ``field`` of an element of ``shape``. Raises Unsupported
    if none does."""
    if shape.kind is None:
        if field in (*WHOLE, 0, "0"):
            return 0
        raise Unsupported("reads a field of a single value")
    if field is None or (shape.kind is dict and field not in shape.names):
        raise Unsupported("reads something that is not a field of the element")
    position: int | None
    if isinstance(field, str) and field in shape.names and shape.kind is not tuple:
        position = shape.names.index(field)
    else:
        position = position_of(field) if isinstance(field, str) else field
        there = position is not None and 0 <= position < len(shape.parts)
        if not there or (isinstance(field, str) and not issubclass(shape.kind, tuple)):
            raise Unsupported(f"reads the field {field!r}, which the elements do not have")
    assert position is not None
    if shape.parts[position].kind is not None:
        raise Unsupported("reads something that is not a field of the element")
    return sum(part.width for part in shape.parts[:position])


def _itself(value: Any) -> Any:
    return value


def following_getters(exploring: bool = False) -> Trace:
    """A trace that also follows field getters and bound methods that the function refers to."""
    trace = Trace(exploring, standIn=lambda value: _getter(trace, value))
    return trace


def _getter(trace: Trace, value: Any) -> Callable[..., Any] | None:
    if isinstance(value, (NamedField, PositionedField)):
        field = field_read(value)
        return lambda element: _field_of(trace, element, field)
    if isinstance(value, (MethodType, WholeElement)):
        return lambda *arguments: trace.callable_of(value)(*arguments)
    if isinstance(value, itemgetter):
        return value
    if isinstance(value, attrgetter):
        hidden = any(name.startswith("_") for name in value.__reduce__()[1])
        return None if hidden else value
    return None


def _field_of(trace: Trace, element: Any, field: Field | None) -> Any:
    if trace.exploring and isinstance(element, Symbol):
        return element
    if isinstance(element, Symbol) and element._traced_kind == "opaque":
        raise trace.unsupported(
            "reads a field of a single value"
        )  # which may be a list or a struct
    shape, columns = taken_apart(trace, element)
    return Symbol(trace, columns[column_of(shape, field)])


def explored(function: Callable[..., Any], arguments: int) -> str | None:
    """Why ``function`` cannot be traced whatever its arguments; None if that is not certain."""
    trace = following_getters(exploring=True)
    unknown = [
        Symbol(trace, trace.expressions.column(number, "unknown")) for number in range(arguments)
    ]
    return why_unsupported(lambda: trace.follow(function, *unknown))


def raises(call: Callable[[Any], object], values: RowColumns) -> bool:
    """Whether ``call`` raises an exception for some of ``values``."""
    try:
        for element in values.rows():
            call(element)
    except Exception:
        return True
    return False


def why_unsupported(follow: Callable[[], object]) -> str | None:
    """Why ``follow``, which traces a function, does not support it; None if it does."""
    try:
        follow()
    except Unsupported as unsupported:
        return str(unsupported)
    except CannotTell:
        pass
    except Exception as error:
        return f"cannot be followed: {type(error).__name__}: {error}"
    return None


def symbolic_element(trace: Trace, values: RowColumns) -> Any:
    """A symbolic element of ``values``."""
    return symbolic(trace, values.shape, column_symbols(trace, values.schema.types))


def column_symbols(trace: Trace, types: Sequence[pa.DataType], begin: int = 0) -> list[Symbol]:
    """A value of each column from ``begin`` on, by their Arrow types."""
    numbers = range(begin, len(types))
    return [_column_symbol(trace, number, types[number]) for number in numbers]


def _column_symbol(trace: Trace, number: int, kind: pa.DataType) -> Symbol:
    column = trace.expressions.column(number, kind_of(kind))
    made = _class_of_column(kind)
    return Symbol(trace, column) if made is None else Made(trace, column, made)


def _class_of_column(kind: pa.DataType) -> type[Any] | None:
    """The class of the values that ``python_values`` makes of a column, if it is one of those."""
    types = pa.types
    if types.is_decimal(kind):
        return Decimal
    if types.is_date(kind):
        return date
    for is_kind, made in (
        (types.is_timestamp, datetime),
        (types.is_duration, timedelta),
        (types.is_time, time),
    ):
        if is_kind(kind):
            return None if kind.unit == "ns" else made  # pandas has classes of its own for those
    return None


def run_of(batch: Columns, timestamps: NDArray[np.int64] | None = None) -> Run:
    """The rows of ``batch`` as a run; the timestamps are the column after the last of ``batch``."""
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


def has_nulls(batch: Columns) -> bool:
    """Whether there is a null in any column."""
    return any(nulls(batch.column(number)) for number in range(batch.num_columns))


def checked_run(
    traced: Traced, batch: Columns, timestamps: NDArray[np.int64] | None = None
) -> Run | None:
    """The rows of ``batch`` as a run; None if Python might raise an error, or take another branch,
    for one."""
    if traced.testsNone and has_nulls(batch):
        return None
    run = run_of(batch, timestamps)
    try:
        run.check(traced.steps)
    except NOT_EXACT:
        return None
    return run


def results_of(traced: Traced, run: Run, batch: Columns) -> RowColumns | None:
    """Evaluate ``traced`` over a run of the rows of ``batch``; None if Python's results may
    differ."""
    try:
        columns = [_column(run, batch, expression) for expression in traced.columns]
    except NOT_EXACT:
        return None
    results = pa.RecordBatch.from_arrays(columns, names=list(traced.shape.columnNames))
    return RowColumns(results, traced.shape)


def _column(run: Run, batch: Columns, expression: Expression) -> pa.Array:
    if isinstance(expression, Column) and expression.number < batch.num_columns:
        return batch.column(expression.number)  # also with nulls
    return to_arrow(run.array(expression))
