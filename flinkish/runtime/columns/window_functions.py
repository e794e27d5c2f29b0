"""The window function after an aggregation, run over the columns of all windows that fire."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.api.windowing.assigners import GlobalWindows
from flinkish.api.windowing.windows import GlobalWindow
from flinkish.runtime.columns.tracing.column_function import may_be_traced
from flinkish.runtime.columns.tracing.emissions import Emitted
from flinkish.runtime.columns.tracing.emitting_function import WindowFunctionColumns
from flinkish.runtime.operators.keyed import KeyedOperator
from flinkish.runtime.records.rows import RowColumns


def window_function_columns(description: WindowOperatorDescription) -> WindowFunctionColumns:
    """The window function of ``description``, which must have one, over columns."""
    assert description.call is not None
    globally = isinstance(description.assigner, GlobalWindows)
    return WindowFunctionColumns(description.call, GlobalWindow.get() if globally else None)


class WindowFunctionPath:
    """Does what ``WindowFunctionRunner`` does for each key and window for all of them at once."""

    def __init__(self, operator: KeyedOperator, description: WindowOperatorDescription) -> None:
        self._emits_contents = description.call is None
        self._columns: WindowFunctionColumns | None = None
        traces = operator.tracesFunctions and may_be_traced(description.function)
        if description.call is not None and traces:
            self._columns = window_function_columns(description)

    @property
    def possible(self) -> bool:
        """Whether ``process`` can ever succeed."""
        return self._emits_contents or self._columns is not None

    def process(
        self,
        results: RowColumns,
        keys: pa.Array,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
    ) -> Emitted | None:
        """Return the function's emissions for ``results``, the aggregation's result for each key
        and window. None, with nothing done, if the function has to be called for each."""
        if self._emits_contents:
            return Emitted(results, np.arange(len(results)))
        return None if self._columns is None else self._columns.results(results, keys, starts, ends)
