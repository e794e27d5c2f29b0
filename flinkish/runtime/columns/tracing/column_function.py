"""``ColumnFunction`` and ``PairMap``: functions that only compute what they return, over the columns
of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.functions.checkpointed import CheckpointedFunction
from flinkish.runtime.columns.tracing.checks import Positions
from flinkish.runtime.columns.tracing.column_runs import A
from flinkish.runtime.columns.tracing.expression_run import Run
from flinkish.runtime.columns.tracing.expressions import Column
from flinkish.runtime.columns.tracing.externals import getter_of
from flinkish.runtime.columns.tracing.symbolic_values import Signature
from flinkish.runtime.columns.tracing.symbols import Symbol
from flinkish.runtime.columns.tracing.trace import Trace, Traced
from flinkish.runtime.columns.tracing.traced_function import ElementwiseFunction
from flinkish.runtime.columns.tracing.traced_runs import (
    ColumnsBeside,
    checked_run,
    pairs_of,
    results_of,
)
from flinkish.runtime.records.rows import RowColumns, python_values
from flinkish.runtime.records.shapes import VALUE


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


class _ReturningFunction(ElementwiseFunction[Traced]):
    """A function whose only effect is what it returns."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._function = function

    def _arguments(self, element: Any) -> Sequence[Any]:
        return element if self.signature.pairs else (element,)

    def _follow(self, trace: Trace, element: Any, extra: Sequence[Symbol]) -> Traced:
        return trace.follow(self._function, *self._arguments(element), *extra)

    def _call(self, element: Any, *extra: Any) -> Any:
        return self._function(*self._arguments(element), *extra)

    def _checked(
        self,
        values: Sequence[Any],
        timestamps: NDArray[np.int64] | None,
        evaluate: Callable[[Traced, Run, RowColumns], A | None],
        at: Callable[[A, Positions], Sequence[Any]],
        *,
        asTruth: bool = False,
    ) -> A | None:
        """What ``evaluate`` makes of the trace and run for ``values``, counted and checked. ``at``
        gives its results at some positions; ``asTruth``: only their truth matters."""

        def computed() -> A | None:
            if not isinstance(values, RowColumns) or not len(values) or values.mayDiffer:
                return None
            elements = self._with_timestamps(values, timestamps)
            traced = self._traced(elements)
            if traced is None:
                return None
            return evaluate(traced, checked_run(traced, elements.columns), elements)

        def differs(answer: A) -> str | None:
            assert isinstance(values, RowColumns)
            traced = self._traced(self._with_timestamps(values, timestamps))
            return self._difference(
                lambda positions: at(answer, positions),
                values,
                () if timestamps is None else (timestamps,),
                read=None if traced is None else traced.reading,
                call=(lambda *given: bool(self._call(*given))) if asTruth else self._call,
            )

        return self.runs.counted(values, computed, differs)

    def _with_timestamps(
        self, values: RowColumns, timestamps: NDArray[np.int64] | None = None
    ) -> RowColumns:
        """``values`` with the column of the second argument, if the function takes one."""
        if not self.signature.extra:
            return values
        times = np.zeros(len(values), np.int64) if timestamps is None else timestamps
        columns, added = values.columns, pa.array(times)
        if isinstance(columns, pa.RecordBatch):
            return RowColumns(columns.append_column("timestamp", added), values.shape)
        further = pa.RecordBatch.from_arrays([added], ["timestamp"])
        return RowColumns(ColumnsBeside((columns, None), (further, None)), values.shape)


class ColumnFunction(_ReturningFunction):
    """A function of a value, or of a value and its timestamp, as kernels over columns."""

    def __init__(self, function: Callable[..., Any], arguments: int = 1) -> None:
        super().__init__(function)
        self.signature = Signature(extra=arguments - 1)

    def _follow(self, trace: Trace, element: Any, extra: Sequence[Symbol]) -> Traced:
        # A getter that assigns timestamps names a column, and is not called with a timestamp
        getter = getter_of(trace, self._function)
        return super()._follow(trace, element, extra if getter is None else ())

    @property
    def takesTimestamps(self) -> bool:
        """Whether the function takes the element's timestamp as a second argument."""
        return self.signature.extra > 0

    def reads(self, values: RowColumns) -> set[int] | None:
        """The indices of the columns that the function reads of elements like ``values``; None if
        it cannot be traced, or if it may read any column."""
        traced = self._traced(self._with_timestamps(values))
        if traced is None or traced.testsNone:
            return None
        return {number for number in traced.reading if number < len(values.schema)}

    def readsVariables(self, values: RowColumns) -> bool:
        """Whether the function, traced for ``values``, reads variables that other code may write
        between two elements."""
        traced = self._traced(self._with_timestamps(values))
        return traced is not None and traced.readsVariables

    def passed(self, values: Sequence[Any]) -> int | None:
        """The index of the column of ``values`` that the function returns unchanged; None if there
        is none."""
        if not isinstance(values, RowColumns) or not len(values):
            return None
        number = self.passes(values)
        if number is None:
            return None
        column = values.arrow(number)
        return self.runs.counted(
            values,
            lambda: number,
            lambda _: self._difference(
                lambda positions: python_values(column.take(pa.array(positions))),
                values,
                read={number},
            ),
        )

    def passes(self, values: RowColumns) -> int | None:
        """``passed`` for elements like ``values``, without counting a run."""
        traced = self._traced(values)
        if traced is None or traced.shape != VALUE or traced.steps or traced.testsNone:
            return None
        column = traced.columns[0]
        return column.number if isinstance(column, Column) else None

    def results(
        self, values: Sequence[Any], timestamps: NDArray[np.int64] | None = None
    ) -> RowColumns | None:
        return self._checked(values, timestamps, results_of, _rows_at)

    def truths(self, values: Sequence[Any]) -> NDArray[np.bool_] | None:
        """Return a mask of the elements of ``values`` for which the function's result is true."""
        return self._checked(values, None, _mask_of, _values_at, asTruth=True)

    def integers(
        self, values: Sequence[Any], timestamps: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64] | None:
        """The results, if all of them are ints that fit into 64 bits."""
        return self._checked(values, timestamps, _integers_of, _values_at)


class PairMap(_ReturningFunction):
    """A function of a first and a second element as kernels over columns."""

    signature = Signature(pairs=True)

    def results(
        self,
        ones: RowColumns,
        firsts: Positions,
        twos: RowColumns,
        seconds: Positions,
    ) -> RowColumns | None:
        """The results, as columns, for the pairs of the elements of ``ones`` at ``firsts`` with
        those of ``twos`` at ``seconds``."""
        return self._checked(pairs_of(ones, firsts, twos, seconds), None, results_of, _rows_at)


def _mask_of(traced: Traced, run: Run, elements: RowColumns) -> NDArray[np.bool_] | None:
    return run.mask(traced.columns[0]) if traced.shape == VALUE else None


def _integers_of(traced: Traced, run: Run, elements: RowColumns) -> NDArray[np.int64] | None:
    computed = run.values(traced.columns[0])
    if traced.shape != VALUE or computed.kind != "int":
        return None
    integers: NDArray[np.int64] = computed.array(run.count)
    return integers


def _rows_at(results: RowColumns, positions: Positions) -> Sequence[Any]:
    return results.take(positions).rows()


def _values_at(results: NDArray[Any], positions: Positions) -> Sequence[Any]:
    values: list[Any] = results[positions].tolist()
    return values
