"""``WindowFunctionRunner``: calls the window function, or emits the contents if there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flinkish.api.functions.adapt import results_of
from flinkish.api.functions.runtime_context import KeyedStateStore
from flinkish.api.functions.tagged import Sides
from flinkish.api.functions.window import ProcessAllWindowFunction, ProcessWindowFunction
from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.runtime.operators.keyed import KeyedOperator
from flinkish.runtime.operators.output import TimestampedCollector
from flinkish.runtime.records.copies import handed_out
from flinkish.runtime.state.keyed_states import KeyedStates
from flinkish.runtime.windowing.window_contexts import MergingWindowStateStore, WindowProcessContext


class WindowFunctionRunner:
    """Runs the window function of an operator, of any form (Flink: ``InternalWindowFunction``).

    ``window_states`` holds per-window state; the operator sets its namespace to the window before a
    call. Results have the timestamp ``window.maxTimestamp()``.
    """

    def __init__(
        self,
        operator: KeyedOperator,
        description: WindowOperatorDescription,
        window_states: KeyedStates,
    ) -> None:
        function = description.function
        window_state: KeyedStateStore = window_states
        if description.merges:
            window_state = MergingWindowStateStore(function, description.assigner)
        self._function = function
        self._call = description.call
        self._output = operator.output
        self._collector = TimestampedCollector(operator.output)
        self._context = WindowProcessContext(operator, window_state, operator.states)
        self._clears = overrides_clear(function)
        operator.openFunction(function)

    @property
    def clears(self) -> bool:
        """Whether the function has a ``clear`` to call when a window is removed."""
        return self._clears

    def process(self, key: Any, window: Any, elements: Sequence[Any], own: bool = False) -> None:
        """Call the function with the ``elements`` of a window that fires, and emit its results. The
        function gets copies, unless nobody else reads the elements afterwards (``own``)."""
        if self._call is None:
            timestamp, collect = window.maxTimestamp(), self._output.collect
            for element in elements:
                collect(element, timestamp)
            return
        if not own:
            if isinstance(elements, Sides):
                elements = Sides(*map(list, map(handed_out, elements)))
            else:
                elements = handed_out(elements)
        collector = self._collector
        collector.timestamp = window.maxTimestamp()
        self._context.current = window
        for result in results_of(
            self._call(key, window, self._context, elements, collector), "the window function"
        ):
            collector.collect(result)

    def clear(self, window: Any) -> None:
        """Let the function clear its per-window state, as ``window`` is removed."""
        if self._clears:
            self._context.current = window
            self._function.clear(self._context)


def overrides_clear(function: object) -> bool:
    """Whether a window function overrides ``clear``."""
    return (
        isinstance(function, ProcessWindowFunction)
        and type(function).clear is not ProcessWindowFunction.clear
    ) or (
        isinstance(function, ProcessAllWindowFunction)
        and type(function).clear is not ProcessAllWindowFunction.clear
    )
