"""Warns of late elements that operators drop, and of maps that return nothing but None."""

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


_LOG = logging.getLogger("flinkish")


def warn_of_late_elements(jobName: str, graph: JobGraph, metrics: MetricsTotals) -> None:
    """Log how many elements each operator of a job has dropped as late, and where they could go."""
    names = operator_names(graph)
    methods = {n.uid: n.operator.lateDataMethod for v in graph.vertices for n in v.operators}
    for operator in metrics.metrics().values():
        if count := operator.numLateRecordsDropped:
            method = methods.get(operator.uid)
            _LOG.warning(
                "%s: %s has dropped %d late element%s. A watermark strategy with a larger bound waits for them%s.",
                jobName,
                names.get(operator.uid, operator.name),
                count,
                "" if count == 1 else "s",
                "" if method is None else f", and {method} sends them to a side output",
            )
