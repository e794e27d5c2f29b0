"""Evaluates the trace of a function over the rows of a batch."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.runtime.columns.tracing.expressions import Column, Expression
from flinkish.runtime.columns.tracing.kernels import (
    NOT_EXACT,
    Run,
    Values,
    nulls,
    of_arrow,
    to_arrow,
)
from flinkish.runtime.columns.tracing.trace import Traced
from flinkish.runtime.records.partly_read import Columns
from flinkish.runtime.records.rows import RowColumns


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
