"""``WindowFunctionRunner``: calls the window function, or emits the contents if there is none;
``EvictingFunctionRunner`` does so with the elements that an evictor leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flinkish.api.errors import UnfitElementError, shown
from flinkish.api.functions.adapt import results_of
from flinkish.api.functions.runtime_context import KeyedStateStore
from flinkish.api.functions.tagged import Sides
from flinkish.api.functions.window import ProcessAllWindowFunction, ProcessWindowFunction
from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.api.windowing.evictors import EvictableElements
from flinkish.runtime.operators.keyed import KeyedOperator
from flinkish.runtime.operators.output import TimestampedCollector
from flinkish.runtime.records.copies import handed_out
from flinkish.runtime.state.keyed_states import KeyedStates
from flinkish.runtime.windowing.window_contents import element_fold
from flinkish.runtime.windowing.window_contexts import (
    MergingWindowStateStore,
    WindowEvictorContext,
    WindowProcessContext,
)


def window_function(
    operator: KeyedOperator, description: WindowOperatorDescription, window_states: KeyedStates
) -> WindowFunctionRunner:
    """The runner for the window function of ``description``."""
    kind = WindowFunctionRunner if description.evictor is None else EvictingFunctionRunner
    return kind(operator, description, window_states)


class WindowFunctionRunner:
    """Runs the window function of an operator, of any form (Flink: ``InternalWindowFunction``).
    ``window_states`` holds per-window state; the operator sets its namespace to the window before a
    call. Results have the timestamp ``window.maxTimestamp()``."""

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
        self.clears = overrides_clear(function)
        """Whether the function has a ``clear`` to call when a window is removed."""
        operator.openFunction(function)

    def process(
        self, key: Any, window: Any, elements: Sequence[Any], own: bool = False
    ) -> Sequence[Any] | None:
        """Call the function with the ``elements`` of a window that fires, and emit its results. The
        function gets copies, unless nobody else reads the elements afterwards (``own``). Returns
        the elements that an evictor leaves in the window; None: all stay as they are."""
        if self._call is None:
            timestamp, collect = window.maxTimestamp(), self._output.collect
            for element in elements:
                collect(element, timestamp)
            return None
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
        return None

    def clear(self, window: Any) -> None:
        """Let the function clear its per-window state, as ``window`` is removed."""
        if self.clears:
            self._context.current = window
            self._function.clear(self._context)


class Evicted(list[Any]):
    """The values of a pane that an evictor leaves, where it has been asked already."""


class EvictingFunctionRunner(WindowFunctionRunner):
    """A ``WindowFunctionRunner`` for elements with their timestamps (``TimestampedValue``), which an
    evictor may remove before or after the function sees them.

    A pane whose elements are all evicted still fires, as in Flink: ``reduce`` then yields None,
    ``aggregate`` the result of a new accumulator.
    """

    def __init__(
        self,
        operator: KeyedOperator,
        description: WindowOperatorDescription,
        window_states: KeyedStates,
    ) -> None:
        super().__init__(operator, description, window_states)
        assert description.evictor is not None
        self._evictor = description.evictor
        self._evictor_context = WindowEvictorContext(operator)
        self._fold = element_fold(description.aggregation)

    def process(
        self, key: Any, window: Any, elements: Sequence[Any], own: bool = False
    ) -> Sequence[Any] | None:
        if isinstance(elements, Evicted):
            return super().process(key, window, self._fold(elements), own=True)
        remaining = list(elements)
        evictable = EvictableElements(remaining)
        self._evict("evictBefore", evictable, window)
        values = [element.value for element in remaining]
        super().process(key, window, self._fold(values), own=True)
        self._evict("evictAfter", evictable, window)
        return remaining

    def _evict(self, method: str, elements: EvictableElements[Any], window: Any) -> None:
        evict = getattr(self._evictor, method)
        returned = evict(elements, len(elements), window, self._evictor_context)
        if returned is not None:
            raise UnfitElementError(
                f"{type(self._evictor).__name__}.{method} returned {shown(returned)}, which would have no effect. Remove"
                " elements in place, such as elements.removeIf(predicate), and return nothing."
            )


def overrides_clear(function: object) -> bool:
    return any(
        isinstance(function, kind) and type(function).clear is not kind.clear
        for kind in (ProcessWindowFunction, ProcessAllWindowFunction)
    )
