"""The column path of ``reduce``, ``sum``, ``min`` and ``max`` of a keyed stream: a running result
for each element of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flinkish.api.functions.aggregations import FieldAggregator
from flinkish.api.functions.functions import Collector
from flinkish.api.functions.state import ValueState, ValueStateDescriptor
from flinkish.api.plan.operators import KeyedReduceDescription
from flinkish.runtime.columns.path import WithColumns
from flinkish.runtime.columns.phase_columns import PhasePath
from flinkish.runtime.columns.tracing.column_function import may_be_traced
from flinkish.runtime.columns.tracing.phase_fold import PhaseFold
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.contexts import ClockService
from flinkish.runtime.operators.one_input import REDUCED, StreamGroupedReduceOperator
from flinkish.runtime.state.table_states import TableValueState


class RollingReduction:
    """A keyed reduction as a process function with one state. ``call`` may be the ``reduce`` of a
    built-in aggregation, which the tracer knows."""

    state: ValueState[Any]

    def __init__(self, call: Callable[[Any, Any], Any]) -> None:
        self._call = call

    def processElement(self, value: Any, ctx: Any, out: Collector[Any]) -> None:
        so_far = self.state.value()
        reduced = value if so_far is None else self._call(so_far, value)
        self.state.update(reduced)
        out.collect(reduced)


def why_rolling_unsupported(description: KeyedReduceDescription) -> str | None:
    """Why the function is called for each element; None if it can be traced, as far as known
    without input."""
    function = description.function
    if isinstance(function, FieldAggregator) and function.method not in ("sum", "min", "max"):
        return "gives the best element so far of each key"
    return PhaseFold(RollingReduction(description.call).processElement).reason


class ColumnGroupedReduce(WithColumns, StreamGroupedReduceOperator):
    """``StreamGroupedReduceOperator`` with its path, except in BATCH, where only a key's last
    result counts."""

    def __init__(self, context: OperatorContext, description: KeyedReduceDescription) -> None:
        super().__init__(context, description)
        if self.tracesFunctions and not context.batch and may_be_traced(description.call):
            function = RollingReduction(description.call)
            function.state = TableValueState(self.states, ValueStateDescriptor(REDUCED))
            self.path = PhasePath(
                self,
                function.processElement,
                ClockService(self, "Call process, with a KeyedProcessFunction."),
                description.function or description.call,
            )
