"""Typed expressions, which are evaluated over runs of rows as Arrow columns.

A function is a kernel: it takes the columns of its arguments, or scalars for constant arguments. An
expression that Flink evaluates for some rows only, such as a branch of CASE or the right side of
AND, is evaluated for just these rows, as it could fail for others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from flinkish.runtime.records.rows import python_values
from flinkish.table.data_types import BOOLEAN, DataType

Values: TypeAlias = "pa.Array | pa.Scalar"
Mask = NDArray[np.bool_]


class EvaluationError(Exception):
    """An expression has no value for the row at ``position`` of a run."""

    def __init__(self, message: str, position: int = 0, place: Place | None = None) -> None:
        super().__init__(message)
        self.message, self.position, self.place = message, position, place


@dataclass(frozen=True)
class Place:
    """A part of the text of a query, and its place."""

    line: int
    column: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


class Rows:
    """A run of rows: their columns, and the position of each row in the query's input run."""

    __slots__ = ("columns", "count", "positions")

    def __init__(
        self, columns: Sequence[pa.Array], count: int, positions: NDArray[np.intp] | None = None
    ) -> None:
        self.columns, self.count = columns, count
        self.positions = np.arange(count) if positions is None else positions

    def where(self, kept: Mask) -> Rows:
        """The rows for which ``kept`` is true."""
        mask = pa.array(kept)
        columns = [column.filter(mask) for column in self.columns]
        return Rows(columns, int(kept.sum()), self.positions[kept])

    def take(self, indices: NDArray[np.intp]) -> Rows:
        """The rows at ``indices``, in that order."""
        chosen = pa.array(indices)
        columns = [column.take(chosen) for column in self.columns]
        return Rows(columns, len(indices), self.positions[indices])

    def column(self, values: Values, kind: DataType) -> pa.Array:
        """Values of an expression as a column."""
        if isinstance(values, pa.Scalar):
            values = pa.repeat(values, self.count)
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        return values if values.type == kind.arrow else values.cast(kind.arrow)


@dataclass(frozen=True)
class Expression(ABC):
    """A part of a query that has a value for each row."""

    type: DataType

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions that this one contains."""
        return ()

    @property
    def mayFail(self) -> bool:
        """Whether the evaluation may fail for some rows."""
        return any(part.mayFail for part in self.parts)

    @abstractmethod
    def evaluate(self, rows: Rows) -> Values:
        """The values for all rows, as a column, or as a scalar if they are all the same."""


@dataclass(frozen=True)
class ColumnRead(Expression):
    """A column of the rows."""

    index: int

    def evaluate(self, rows: Rows) -> Values:
        return rows.columns[self.index]


@dataclass(frozen=True)
class Literal(Expression):
    """A constant."""

    value: Any

    def evaluate(self, rows: Rows) -> Values:
        return pa.scalar(self.value, self.type.arrow)


@dataclass(frozen=True)
class Call(Expression):
    """A function of other expressions."""

    name: str
    arguments: tuple[Expression, ...]
    kernel: Kernel
    place: Place | None = None
    fails: bool = False
    """Whether the function itself may fail."""

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.arguments

    @property
    def mayFail(self) -> bool:
        return self.fails or super().mayFail

    def evaluate(self, rows: Rows) -> Values:
        values = [argument.evaluate(rows) for argument in self.arguments]
        try:
            return self.kernel(self, *values)
        except EvaluationError as error:
            if error.place is not None:
                raise
            if rows.count == 0:
                return pa.nulls(0, self.type.arrow)
            at = int(rows.positions[error.position])
            raise EvaluationError(error.message, at, self.place) from None


Kernel = Callable[..., Values]
"""``kernel(call, *values)``: the call has the type of the result and the types of the arguments."""


@dataclass(frozen=True)
class Case(Expression):
    """``CASE``: the result of the first condition that is true."""

    conditions: tuple[Expression, ...]
    results: tuple[Expression, ...]
    """One more than there are conditions: the last is the result of ELSE."""

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (*self.conditions, *self.results)

    def evaluate(self, rows: Rows) -> Values:
        open_ = np.ones(rows.count, bool)
        found: Values = pa.nulls(rows.count, self.type.arrow)
        for condition, result in zip((*self.conditions, Literal(BOOLEAN, True)), self.results):
            chosen = open_ & truths_where(condition, rows, open_)
            if chosen.any():
                found = replaced(found, chosen, result, rows, self.type)
            open_ &= ~chosen
            if not open_.any():
                break
        return found


@dataclass(frozen=True)
class Coalesce(Expression):
    """The first argument that is not NULL."""

    arguments: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.arguments

    def evaluate(self, rows: Rows) -> Values:
        found = rows.column(self.arguments[0].evaluate(rows), self.type)
        for argument in self.arguments[1:]:
            missing = nulls(found)
            if not missing.any():
                break
            found = replaced(found, missing, argument, rows, self.type)
        return found


@dataclass(frozen=True)
class Connection(Expression):
    """``AND`` or ``OR``: the second condition is evaluated only for rows that the first does not
    decide."""

    first: Expression
    second: Expression
    decides: bool
    """The value of the first condition that decides: False for AND."""

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.first, self.second)

    def evaluate(self, rows: Rows) -> Values:
        connect = pc.or_kleene if self.decides else pc.and_kleene
        first = self.first.evaluate(rows)
        if not self.second.mayFail:
            return connect(first, self.second.evaluate(rows))
        first = rows.column(first, BOOLEAN)
        truths = truth_values(first) if self.decides else truth_values(pc.invert(first))
        if truths.all():
            return first
        constant = pa.repeat(pa.scalar(self.decides), rows.count)
        return connect(first, replaced(constant, ~truths, self.second, rows, BOOLEAN))


def truth_values(values: Values, count: int = 1) -> Mask:
    """A mask of the rows for which a condition is true and not NULL."""
    if isinstance(values, pa.Scalar):
        return np.full(count, values.as_py() is True)
    return np.asarray(values.fill_null(False).to_numpy(zero_copy_only=False), bool)


def nulls(values: pa.Array) -> Mask:
    """A mask of the NULL values."""
    return np.asarray(values.is_null().to_numpy(zero_copy_only=False), bool)


def truths_where(condition: Expression, rows: Rows, open_: Mask) -> Mask:
    """A mask of the rows for which a condition is true, which is evaluated for the rows in
    ``open_`` only."""
    if open_.all() or not condition.mayFail:
        return truth_values(condition.evaluate(rows), rows.count)
    found = np.zeros(rows.count, bool)
    some = rows.where(open_)
    found[open_] = truth_values(condition.evaluate(some), some.count)
    return found


def replaced(
    values: Values, chosen: Mask, expression: Expression, rows: Rows, kind: DataType
) -> pa.Array:
    """``values``, replaced by the values of ``expression`` where ``chosen`` is true."""
    if chosen.all():
        return rows.column(expression.evaluate(rows), kind)
    if not expression.mayFail and not pa.types.is_nested(kind.arrow):
        return pc.if_else(pa.array(chosen), rows.column(expression.evaluate(rows), kind), values)
    some = rows.where(chosen)
    results = some.column(expression.evaluate(some), kind)
    # Positions into the values followed by the results
    indices = np.arange(rows.count)
    indices[chosen] = rows.count + np.arange(some.count)
    return pa.concat_arrays([values, results]).take(pa.array(indices))


# ---------------------------------------------------------------------- row by row


class Missing(Exception):
    """A function has no value for its arguments, and the query must fail."""


def lists_of(values: Sequence[Values]) -> tuple[list[Iterable[Any]], int | None]:
    """The Python values of columns and scalars, and the number of rows, None if all are scalars."""
    count = next((len(column) for column in values if not isinstance(column, pa.Scalar)), None)
    columns: list[Iterable[Any]] = [
        repeat(plain(column)) if isinstance(column, pa.Scalar) else python_values(column)
        for column in values
    ]
    return columns, count


def plain(scalar: pa.Scalar) -> Any:
    """The Python value of a scalar."""
    return python_values(pa.repeat(scalar, 1))[0]


@dataclass(frozen=True)
class RowByRow:
    """The kernel of a Python function that is called for each row. With ``nulls`` the function is
    called with None too, otherwise the result is None if an argument is None. ``typed``: the
    function gets the call as its first argument."""

    function: Callable[..., Any]
    nulls: bool = False
    typed: bool = False

    def __call__(self, call: Call, *values: Values) -> Values:
        columns, count = lists_of(values)
        rows: Iterator[tuple[Any, ...]] = zip(*columns) if columns else iter([()])
        if count is None:
            rows = iter([next(rows)])
        results = pa.array(list(self._results(call, rows)), call.type.arrow)
        return results[0] if count is None else results

    def _results(self, call: Call, rows: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        function, nulls = self.function, self.nulls
        if self.typed:
            function = _bound(function, call)
        position = 0
        try:
            for position, arguments in enumerate(rows):  # noqa: B007  # the error names it
                if not nulls and None in arguments:
                    yield None
                else:
                    yield function(*arguments)
        except Missing as missing:
            raise EvaluationError(str(missing), position) from None


def _bound(function: Callable[..., Any], call: Call) -> Callable[..., Any]:
    return lambda *arguments: function(call, *arguments)


@dataclass(frozen=True)
class Arrow:
    """The kernel of an Arrow function."""

    name: str

    def __call__(self, call: Call, *values: Values) -> Values:
        return getattr(pc, self.name)(*values)
