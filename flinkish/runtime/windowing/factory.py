"""Chooses the window operator for a description."""

from __future__ import annotations

from flinkish.api.window_operators import WindowOperatorDescription
from flinkish.runtime.operators.base import OperatorContext, StreamOperator
from flinkish.runtime.windowing.aligned_window_operator import AlignedWindowOperator
from flinkish.runtime.windowing.content_window_operator import ContentWindowOperator
from flinkish.runtime.windowing.evicting_window_operator import EvictingWindowOperator
from flinkish.runtime.windowing.session_window_operator import SessionWindowOperator
from flinkish.runtime.windowing.window_operator import WindowOperator


def create_window_operator(
    context: OperatorContext, description: WindowOperatorDescription
) -> StreamOperator:
    """The operator that does what ``description`` says, the fastest there is."""
    if description.isContent:
        return ContentWindowOperator(context, description)
    if description.evictor is not None:
        return EvictingWindowOperator(context, description)
    if description.isAligned:
        return AlignedWindowOperator(context, description)
    if description.isSession:
        return SessionWindowOperator(context, description)
    return WindowOperator(context, description)
