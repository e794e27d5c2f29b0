"""Warns of maps that return nothing but None."""

from __future__ import annotations

import inspect
import logging
from types import NoneType

from flinkish.api.connectors.sink import DiscardingSink
from flinkish.api.functions.adapt import named
from flinkish.api.plan.operators import MapDescription
from flinkish.deployment.status.operator_names import operator_names
from flinkish.graph.job_graph import JobGraph
from flinkish.runtime.metrics_totals import MetricsTotals

_LOG = logging.getLogger("flinkish")


class NullResults:
    """Warns once of each map of a job whose results are all None, unless its function says that it
    returns None, or nothing reads the results."""

    def __init__(self, graph: JobGraph) -> None:
        nodes = {node.uid: node for vertex in graph.vertices for node in vertex.nodes}
        self._names = operator_names(graph)
        self._calls = {
            uid: node.content.call
            for uid, node in nodes.items()
            if isinstance(node.content, MapDescription)
            and not all(
                isinstance(nodes[e.targetUid].content, DiscardingSink) for e in node.outputs
            )
            and not _returns_nothing(node.content.call)
        }

    def warn(self, metrics: MetricsTotals, least: int = 1) -> None:
        """Warn of the maps that have returned None for ``least`` elements or more, and nothing else."""
        for uid in list(self._calls):
            results = metrics.numNullResults(uid)
            if results >= least:
                _LOG.warning(
                    "%s: %s has returned None for each of its %d elements. Did the function forget return?",
                    self._names[uid],
                    named(self._calls[uid]),
                    results,
                )
                del self._calls[uid]


def _returns_nothing(call: object) -> bool:
    """Whether the annotation of a function says that it returns None."""
    annotations = getattr(inspect.unwrap(call), "__annotations__", {})  # type: ignore[arg-type]
    return annotations.get("return", call) in (None, NoneType, "None")
