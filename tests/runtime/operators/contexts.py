"""The context of a single operator without keys."""

from __future__ import annotations

from flinkish.api.functions.runtime_context import TaskInfo
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.output import Output
from flinkish.runtime.state.heap import HeapKeyedStateBackend
from flinkish.runtime.time.clock import ProcessingTimeService


def operator_context(
    name: str, output: Output, clock: ProcessingTimeService, tracesFunctions: bool
) -> OperatorContext:
    """``tracesFunctions``: functions that only compute may run over columns."""
    return OperatorContext(
        "operator",
        name,
        HeapKeyedStateBackend({}),
        clock,
        output,
        TaskInfo(name),
        tracesFunctions=tracesFunctions,
    )
