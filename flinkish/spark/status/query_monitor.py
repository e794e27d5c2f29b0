"""``QueryMonitor``: adds to the reports of tasks what Spark knows about a job.

The durations of the phases of a batch, and how far its sources have been read, are in the progress
of the query. A separate thread reads that once Spark has it: a call that returns a string.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from flinkish.api.errors import FlinkishError
from flinkish.api.execution.details import BatchDetails, ExceptionDetails, SourceDetails
from flinkish.api.execution.read_progress import UNKNOWN_BACKLOG, SourceBacklog
from flinkish.deployment.status.batch_history import BatchHistory
from flinkish.deployment.status.job_monitor import JobMonitor
from flinkish.graph.job_graph import JobGraph
from flinkish.runtime.metrics_totals import MetricsTotals
from flinkish.spark.session.quiet_logs import quiet_py4j
from flinkish.spark.sources.plan_log import PlanLog
from flinkish.spark.sources.planned_offset import PlannedOffset

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_PROGRESS_SECONDS = 0.1
"""The time after a batch until its progress is read; Spark commits the batch meanwhile."""

_LONGEST_READ_SECONDS = 10.0
"""The maximum time that the end of a job waits for the progress of its last batch."""

_TOTAL = "triggerExecution"


class QueryMonitor(JobMonitor):
    """Follows a run of a job. ``committed`` gets each batch's progress, in a thread."""

    def __init__(
        self,
        graph: JobGraph,
        metrics: MetricsTotals,
        history: BatchHistory,
        committed: Callable[[Mapping[str, Any]], None],
    ) -> None:
        super().__init__(graph, metrics, history)
        self._order = [vertex.uid for vertex in graph.sources]
        self._committed = committed
        self.plans: Mapping[str, str] = {}
        """The directories of the plan logs of sources, by the uid of their vertex."""
        self._before: dict[str, int] = {}
        """The amount of each source that earlier runs have read, by the uid of its vertex."""
        self._query: StreamingQuery | None = None
        self._following: threading.Thread | None = None
        self._pending: dict[int, BatchDetails] = {}
        self._batch_ended = threading.Event()
        self._job_ended = threading.Event()
        self._lock = threading.Lock()

    def _note(self, batch: BatchDetails) -> None:
        with self._lock:
            self._pending[batch.id] = batch
        self.history.add(batch, whole=False)
        self._batch_ended.set()

    def follow(self, query: StreamingQuery | None) -> None:
        """Read the progress of ``query``, in a thread; a batch query (None) has none."""
        if query is None:
            return
        first, self._query = self._query is None, query
        if first:
            self._following = threading.Thread(
                target=self._follow, name="flinkish progress", daemon=True
            )
            self._following.start()

    def end(self, jobName: str, exception: ExceptionDetails | None) -> None:
        self._job_ended.set()
        self._batch_ended.set()
        if self._following is not None:
            self._following.join(_LONGEST_READ_SECONDS)
        if self._pending:
            with quiet_py4j(), suppress(Exception):
                self._read()
        with self._lock:
            pending, self._pending = self._pending, {}
        for batch in pending.values():
            self.history.add(batch, whole=True)
        super().end(jobName, exception)

    def _follow(self) -> None:
        while not self._job_ended.is_set():
            self._batch_ended.wait()
            self._batch_ended.clear()
            while self._pending and not self._job_ended.wait(_PROGRESS_SECONDS):
                # If the JVM is gone, the thread that waits for the query notices.
                with quiet_py4j(), suppress(Exception):
                    self._read()

    def _read(self) -> None:
        query = self._query
        progress = None if query is None else query.lastProgress
        if query is None or progress is None:
            return
        last = progress["batchId"]
        if last in self._pending:
            self._take(progress)
        if any(number < last for number in self._pending):
            for progress in query.recentProgress:
                self._take(progress)
            with self._lock:
                given_up = [self._pending.pop(n) for n in list(self._pending) if n < last]
            for batch in given_up:
                self.history.add(batch, whole=True)

    def _take(self, progress: Mapping[str, Any]) -> None:
        with self._lock:
            batch = self._pending.pop(progress["batchId"], None)
        if batch is None:
            return
        self._committed(progress)
        spark = {phase: int(took) for phase, took in progress["durationMs"].items()}
        duration = spark.pop(_TOTAL, batch.duration)
        whole = replace(
            batch,
            startTime=round(datetime.fromisoformat(progress["timestamp"]).timestamp() * 1000),
            duration=duration,
            phases={**spark, **batch.phases},
        )
        self.history.add(whole, whole=True)
        # Spark lists the sources in the order of the graph, followed by the control stream
        if len(progress["sources"]) == len(self._order) + 1:
            self.readUpTo = {
                uid: SourceDetails(
                    startOffset=_text(source["startOffset"]),
                    endOffset=_text(source["endOffset"]),
                    latestOffset=_text(source["latestOffset"]),
                    backlog=self._backlog(uid, source),
                )
                for uid, source in zip(self._order, progress["sources"])
            }

    def _backlog(self, uid: str, source: Mapping[str, Any]) -> SourceBacklog:
        """The planned backlog of a source after a batch."""
        try:
            backlog = self._logged(uid, source["endOffset"])
            before = self._before.get(uid)
            if before is None:
                earlier = self._logged(uid, source["startOffset"]).progress
                before = self._before[uid] = 0 if earlier is None else earlier.done
        except FlinkishError:
            # The batch is done anyway; if the job needs the log, the job raises the error itself
            return UNKNOWN_BACKLOG
        read = backlog.progress
        if read is None:
            return backlog
        return replace(backlog, progress=replace(read, before=max(before, read.before)))

    def _logged(self, uid: str, offset: object) -> SourceBacklog:
        """The backlog of a source at one of Spark's offsets."""
        planned = PlannedOffset.of(offset)
        if planned is not None and planned.whole is not None:
            return planned.whole.backlog
        if uid not in self.plans or planned is None or not planned.number:
            return UNKNOWN_BACKLOG
        return PlanLog(self.plans[uid]).backlog(planned.number)


def _text(offset: object) -> str | None:
    if offset is None or offset == "null":
        return None
    planned = PlannedOffset.of(offset)
    if planned is not None:
        return planned.shown()
    return offset if isinstance(offset, str) else json.dumps(offset)
