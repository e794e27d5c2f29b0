"""``ColumnRuns``: a run is counted as taken over columns, or as done element by element."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from flinkish.runtime.columns.tracing.column_fold import ColumnFold
from flinkish.runtime.columns.tracing.column_function import ColumnFunction
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import row_shape
from tests.column_counts import counted_runs


def rows(**columns):
    batch = pa.RecordBatch.from_pydict(columns)
    return RowColumns(batch, row_shape(list(columns)))


def test_a_run_over_columns_is_counted():
    doubled = ColumnFunction(lambda r: r.x * 2)
    assert list(doubled.results(rows(x=[1, 2]))) == [2, 4]
    assert (doubled.runs.taken, doubled.runs.elements) == (1, 0)


def test_a_run_that_does_not_fit_is_counted_apart():
    doubled = ColumnFunction(lambda r: r.x * 2)
    assert doubled.results(rows(x=[1, None])) is None
    assert doubled.results([1, 2]) is None
    assert (doubled.runs.taken, doubled.runs.elements) == (0, 2)


def test_a_function_that_is_called_for_run_after_run_is_tried_seldom():
    def divided(r):
        try:
            return 8 // r.x
        except ZeroDivisionError:
            return 0

    function = ColumnFunction(divided)
    tried = [
        function.runs.worthTrying for _ in range(32) if function.results(rows(x=[2, 0])) is None
    ]
    assert tried == [*[True] * 7, *([True] + [False] * 7) * 3, True]
    # Elements that are no columns, and small runs, do not count
    assert function.results([1, 2]) is None
    assert list(function.results(rows(x=[2, 4]))) == [4, 2]
    assert list(function.results(rows(x=[8, 4]))) == [1, 2]


def test_all_functions_are_counted_by_their_kind_while_a_test_counts():
    fold = ColumnFold(lambda a, b: a if a.x > b.x else b)
    groups = np.zeros(2, dtype=np.intp)
    with counted_runs() as runs:
        assert fold.fold(rows(x=[1, 2]), groups, 1) is not None
        assert fold.fold(rows(x=[1.0, float("nan")]), groups, 1) is None
        ColumnFunction(lambda r: r.x).truths(rows(x=[1]))
    assert fold.fold(rows(x=[1, 2]), groups, 1) is not None
    assert dict(runs.taken) == {"ColumnFold": 1, "ColumnFunction": 1}
    assert dict(runs.elements) == {"ColumnFold": 1}
