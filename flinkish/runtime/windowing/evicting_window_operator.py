"""``EvictingWindowOperator``: a window operator that keeps the elements and lets an evictor choose."""

from __future__ import annotations

from typing import Any

from flinkish.api.window_operators import WindowOperatorDescription
from flinkish.api.windowing.evictor import EvictableElements
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.windowing.element_fold import element_fold
from flinkish.runtime.windowing.window_contents import TimestampedContents
from flinkish.runtime.windowing.window_contexts import WindowEvictorContext
from flinkish.runtime.windowing.window_operator import WindowOperator


class EvictingWindowOperator(WindowOperator):
    """A ``WindowOperator`` with an evictor (Flink: the same name).

    What is evicted leaves the state. A window left empty still fires, as it does in Flink: the
    reduction of nothing is None, its aggregate that of a new accumulator.
    """

    def __init__(self, context: OperatorContext, description: WindowOperatorDescription) -> None:
        super().__init__(context, description)
        assert description.evictor is not None
        self._evictor = description.evictor
        self._evictor_context = WindowEvictorContext(self)
        self._fold = element_fold(description.aggregation)

    def _fire_window(self, window: Any, state_window: Any) -> None:
        kept = self._contents.elements(state_window)
        if kept is None:
            return
        remaining = list(kept)
        elements = EvictableElements(remaining)
        self._evictor.evictBefore(elements, len(remaining), window, self._evictor_context)
        values = [element.value for element in remaining]
        self._function.process(self.backend.currentKey, window, self._fold(values))
        self._evictor.evictAfter(elements, len(remaining), window, self._evictor_context)
        assert isinstance(self._contents, TimestampedContents)
        self._contents.replace(state_window, remaining)
