"""Says at the end of a job which operators have dropped late elements."""

from __future__ import annotations

import logging

from flinkish.deployment.status.operator_names import operator_names
from flinkish.graph.job_graph import JobGraph
from flinkish.runtime.metrics_totals import MetricsTotals

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
