"""Evaluates the trace of a function over the rows of a batch."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.runtime.columns.tracing.expression_run import Run
from flinkish.runtime.columns.tracing.expressions import Column, Expression
from flinkish.runtime.columns.tracing.trace import Traced
from flinkish.runtime.columns.tracing.values import Inexact, Values, nulls, of_arrow, to_arrow
from flinkish.runtime.records.partly_read import Columns
from flinkish.runtime.records.records import NO_TIMESTAMP
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import tuple_shape


class ColumnsBeside:
    """The columns of several batches side by side: elements with further columns, or pairs of
    elements. A column is gathered when it is first read, as a function may read few of many."""

    def __init__(self, *sources: tuple[Columns, pa.Array | None]) -> None:
        """``sources``: batches, each with the positions of the rows; None: all."""
        self.sources = sources
        self._places = [
            (number, column)
            for number, (columns, _) in enumerate(sources)
            for column in range(columns.num_columns)
        ]
        types = chain.from_iterable(columns.schema.types for columns, _ in sources)
        self.schema = pa.schema([(str(number), kind) for number, kind in enumerate(types)])
        columns, positions = sources[0]
        self.num_rows = columns.num_rows if positions is None else len(positions)
        self.num_columns = len(self._places)
        self._taken: dict[int, pa.Array] = {}

    def column(self, i: int) -> pa.Array:
        if i not in self._taken:
            source, number = self._places[i]
            columns, positions = self.sources[source]
            column = columns.column(number)
            self._taken[i] = column if positions is None else column.take(positions)
        return self._taken[i]

    def take(self, indices: pa.Array) -> ColumnsBeside:
        return ColumnsBeside(
            *(
                (columns, indices if positions is None else positions.take(indices))
                for columns, positions in self.sources
            )
        )

    def filter(self, mask: pa.Array) -> ColumnsBeside:
        return self.take(pa.array(np.flatnonzero(mask)))

    def slice(self, offset: int, length: int) -> ColumnsBeside:
        return self.take(pa.array(np.arange(offset, offset + length)))


def pairs_of(
    ones: RowColumns, firsts: NDArray[np.intp], twos: RowColumns, seconds: NDArray[np.intp]
) -> RowColumns:
    """The pairs of the elements of ``ones`` at ``firsts`` with those of ``twos`` at ``seconds``."""
    columns = ColumnsBeside((ones.columns, pa.array(firsts)), (twos.columns, pa.array(seconds)))
    return RowColumns(columns, tuple_shape([ones.shape, twos.shape]))


def columns_at_hand(batch: Columns) -> Iterable[pa.Array]:
    """The columns of ``batch`` that need neither be read nor gathered."""
    if isinstance(batch, ColumnsBeside):
        return chain.from_iterable(columns_at_hand(columns) for columns, _ in batch.sources)
    return batch.columns if isinstance(batch, pa.RecordBatch) else ()


def run_of(batch: Columns) -> Run:
    columns: dict[int, Values] = {}

    def column(number: int) -> Values:
        known = columns.get(number)
        if known is None:
            known = columns[number] = of_arrow(batch.column(number))
        return known

    return Run(batch.num_rows, column)


def checked_run(traced: Traced, batch: Columns) -> Run:
    """The rows of ``batch`` as a run. Raises one of ``NOT_EXACT`` if Python might raise an error, or
    take another branch, for one."""
    check_may_differ(traced, batch)
    run = run_of(batch)
    run.check(traced.steps)
    return run


def check_may_differ(traced: Traced, batch: Columns) -> None:
    """Raises Inexact if the function may take another branch for some row than was traced."""
    if traced.testsNone and any(nulls(batch.column(n)) for n in range(batch.num_columns)):
        raise Inexact


def check_timestamps(traced: Traced, batch: pa.RecordBatch, number: int) -> None:
    """Raises Inexact if the function reads the column ``number``, a timestamp, and an element has
    none: Python gets None."""
    if number in traced.reading and (batch.column(number).to_numpy() == NO_TIMESTAMP).any():
        raise Inexact


def results_of(traced: Traced, run: Run, elements: RowColumns) -> RowColumns:
    """Evaluate ``traced`` over ``run``, that of ``elements``. Raises one of ``NOT_EXACT`` if Python's
    results may differ."""
    columns = [column_of_run(run, elements.columns, each) for each in traced.columns]
    results = pa.RecordBatch.from_arrays(columns, names=list(traced.shape.columnNames))
    return RowColumns(results, traced.shape)


def column_of_run(run: Run, batch: Columns, expression: Expression) -> pa.Array:
    """The values of ``expression`` in ``run``, that of ``batch``, as a column."""
    if isinstance(expression, Column):
        return batch.column(expression.number)  # also with nulls
    return to_arrow(run.array(expression))
