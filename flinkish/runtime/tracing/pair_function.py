"""``PairFunction``: runs a function of two elements that only computes over the columns of many pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import tuple_shape
from flinkish.runtime.tracing.column_function import Traces, checked_run, refusal_of, results_of
from flinkish.runtime.tracing.kernels import kind_of
from flinkish.runtime.tracing.symbols import Symbol, symbolic
from flinkish.runtime.tracing.trace import Trace, Traced


class PairFunction:
    """A function of a left and a right element, a context and a collector, that gives the collector one
    result, as kernels over columns.

    Where a result could differ from what the function emits when it is called, the answer is None.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._traces = Traces(self._trace)

    @property
    def reason(self) -> str | None:
        """Why the function does not run as columns, None if it does, as far as its input is known."""
        return self._traces.reason or refusal_of(self._explore)

    def results(
        self,
        lefts: RowColumns,
        rights: RowColumns,
        leftTimes: NDArray[np.int64],
        rightTimes: NDArray[np.int64],
    ) -> RowColumns | None:
        """The results for pairs, as columns."""
        times = map(pa.array, (leftTimes, rightTimes))
        columns = [*lefts.batch.columns, *rights.batch.columns, *times]
        batch = pa.RecordBatch.from_arrays(columns, names=list(map(str, range(len(columns)))))
        pairs = RowColumns(batch, tuple_shape([lefts.shape, rights.shape]))
        traced: Traced | None = self._traces.of(pairs)
        run = None if traced is None else checked_run(traced, batch)
        return None if traced is None or run is None else results_of(traced, run, batch)

    def _trace(self, pairs: RowColumns) -> Traced:
        trace = Trace()
        symbols = [
            Symbol(trace, trace.expressions.column(number, kind_of(kind)))
            for number, kind in enumerate(pairs.batch.schema.types)
        ]
        left, right = pairs.shape.parts
        elements = (
            symbolic(trace, left, symbols[: left.width]),
            symbolic(trace, right, symbols[left.width : -2]),
        )
        context = PairTimes(trace, *symbols[-2:])
        return trace.follow_collected(self._function, *elements, context)

    def _explore(self) -> None:
        trace = Trace(exploring=True)
        left, right, left_time, right_time = (
            Symbol(trace, trace.expressions.column(number, "unknown")) for number in range(4)
        )
        trace.follow_collected(self._function, left, right, PairTimes(trace, left_time, right_time))


class PairTimes:
    """The context of a pair, whose timestamps are symbols."""

    def __init__(self, trace: Trace, left: Symbol, right: Symbol) -> None:
        self._trace = trace
        self._left = left
        self._right = right

    def getLeftTimestamp(self) -> Symbol:
        return self._left

    def getRightTimestamp(self) -> Symbol:
        return self._right

    def getTimestamp(self) -> Any:
        return self._trace.callable_of(max)(self._left, self._right)

    def __getattr__(self, attribute: str) -> Any:
        raise self._trace.refusal(f"uses {attribute} of its context")
