"""Decides whether a job runs as a batch or as a stream, by the requested mode and its sources."""

from __future__ import annotations

from flinkish.api.connectors.source import Source
from flinkish.api.environment.configuration import RuntimeExecutionMode
from flinkish.api.errors import InvalidProgramError
from flinkish.graph.stream_graph import StreamGraph


def runs_as_batch(graph: StreamGraph, mode: RuntimeExecutionMode) -> bool:
    """Whether the job is a batch. Raises InvalidProgramError for BATCH with an unbounded source."""
    if mode is RuntimeExecutionMode.STREAMING:
        return False
    unbounded = [
        node.name for node in graph if isinstance(node.content, Source) and not node.content.bounded
    ]
    if unbounded and mode is RuntimeExecutionMode.BATCH:
        raise InvalidProgramError(
            f"setRuntimeMode(BATCH): {', '.join(unbounded)} has no end, and a batch begins its work with"
            " the end of its input. Bound the source, or write setRuntimeMode(STREAMING) or AUTOMATIC."
        )
    return not unbounded
