"""``JobMonitor``: gathers the status of a job outside the path of its batches.

The engine calls it when a batch has ended, and ``MetricsTotals`` has the reports of the tasks.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from flinkish.api.execution.details import (
    BatchDetails,
    ExceptionDetails,
    OperatorBatch,
    SourceDetails,
)
from flinkish.deployment.status.batch_history import BATCHES_KEPT, BatchHistory
from flinkish.deployment.status.element_warnings import NullResults, warn_of_late_elements
from flinkish.graph.job_graph import JobGraph
from flinkish.runtime.metrics_totals import MetricsTotals

_ENOUGH_RESULTS = 100
"""The number of None results before a warning is logged, unless the job has ended."""


class JobMonitor:
    """Follows one run of a job."""

    def __init__(self, graph: JobGraph, metrics: MetricsTotals, history: BatchHistory) -> None:
        self._graph = graph
        self.metrics = metrics
        self.history = history
        self._null_results = NullResults(graph)
        earlier = history.batches
        self.restored = earlier[-1].id if earlier else None
        """The last batch before this run, or before its last restart."""
        self.numRestarts = 0
        """The number of times that the job failed and was restarted."""
        self.completed = 0
        """The number of batches that this run has finished."""
        self.batchSince: int | None = None
        """The time (ms) at which the current batch began; None if none runs."""
        self.readUpTo: dict[str, SourceDetails] = {}
        """The progress of each source, by the uid of its vertex."""
        self.stateBytes: int | None = None
        """The size of the state after the last batch, if the engine knows it exactly."""
        self.operatorBatches: dict[int, Mapping[str, OperatorBatch]] = {}
        """The work of each operator in the last batches, by their ids."""
        self._began = clock()
        self._sources = frozenset(vertex.uid for vertex in graph.sources)
        self._sinks = frozenset(vertex.uid for vertex in graph.sinks)
        self._out = 0
        self._late = 0

    def beginBatch(self) -> None:
        self.batchSince = clock()

    def endBatch(self, number: int, began: float, stages: float, ended: float) -> None:
        """Called when the sinks have written a batch, with the times (s since the epoch) at which
        it reached them, had run through all stages, and was written."""
        loads = self.metrics.loads
        out = sum(n for (target, _), n in list(loads.edges.items()) if target in self._sinks)
        late = self.metrics.numLateRecordsDropped
        batch = BatchDetails(
            id=number,
            startTime=round(began * 1000),
            duration=round((ended - began) * 1000),
            phases={
                "stages": round((stages - began) * 1000),
                "sinks": round((ended - stages) * 1000),
            },
            recordsIn=sum(
                loads.vertices[uid].lastRecords for uid in self._sources if uid in loads.vertices
            ),
            recordsOut=out - self._out,
            lateRecordsDropped=late - self._late,
            skew=max((load.skew for load in loads.vertices.values()), default=1.0),
            stateBytes=self.metrics.stateBytes if self.stateBytes is None else self.stateBytes,
            openWindows=self.metrics.numOpenWindows,
            inputLag=self.metrics.inputs.furthestApart(),
            run=self._began,
        )
        self.operatorBatches[number] = self.metrics.lastBatch
        while len(self.operatorBatches) > BATCHES_KEPT:
            del self.operatorBatches[next(iter(self.operatorBatches))]
        self._out, self._late = out, late
        self.metrics.profiler.endBatch(number)
        self._note(batch)
        self._null_results.warn(self.metrics, _ENOUGH_RESULTS)
        self.completed += 1
        self.batchSince = None

    def restart(self, exception: ExceptionDetails) -> None:
        """Called when the job has failed, and restarts from its last batch."""
        self.numRestarts += 1
        self._began = clock()
        self.batchSince = None
        self.history.addException(exception)
        batches = self.history.batches
        self.restored = batches[-1].id if batches else None

    def noteRestarts(self, error: BaseException) -> None:
        """Note in the error that ends the job how often it was restarted before."""
        if restarts := self.numRestarts:
            error.add_note(
                f"The job was restarted {restarts} time{'s' if restarts > 1 else ''} before."
            )

    def end(self, jobName: str, exception: ExceptionDetails | None) -> None:
        """Called when the job has ended: says which operators have dropped late elements."""
        if exception is not None:
            self.history.addException(exception)
        self.history.flush()
        self._null_results.warn(self.metrics)
        warn_of_late_elements(jobName, self._graph, self.metrics)

    def _note(self, batch: BatchDetails) -> None:
        self.history.add(batch, whole=True)


def clock() -> int:
    """The time (ms since the epoch)."""
    return round(time.time() * 1000)
