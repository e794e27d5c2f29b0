"""``JobMonitor``: gathers what a job knows about itself, off the path of its batches.

The sinks tell it when a batch begins and ends, ``MetricsTotals`` has what the workers reported. How long
Spark took for the phases of a batch is in the progress of the query, which a thread of its own reads
once Spark has it: a call that returns a text.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from flinkish.api.execution.details import BatchDetails, ExceptionDetails, SourceDetails
from flinkish.runtime.metrics import MetricsTotals
from flinkish.spark.session.quiet_logs import quiet_py4j
from flinkish.spark.status.batch_history import BatchHistory

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_PROGRESS_SECONDS = 0.1
"""How long after a batch its progress is read; Spark commits the batch meanwhile."""

_TOTAL = "triggerExecution"


class JobMonitor:
    """Follows one run of a job. ``sources`` and ``sinks`` are the uids of their vertices."""

    def __init__(
        self,
        metrics: MetricsTotals,
        history: BatchHistory,
        sources: frozenset[str],
        sinks: frozenset[str],
    ) -> None:
        self.metrics = metrics
        self.history = history
        earlier = history.batches
        self.restored = earlier[-1].id if earlier else None
        """The last batch of earlier runs."""
        self.completed = 0
        """How many batches this run has finished."""
        self.readUpTo: list[SourceDetails] = []
        """How far each source is, in their order; empty before the first progress."""
        self._sources = sources
        self._sinks = sinks
        self._pending: dict[int, BatchDetails] = {}
        self._out = 0
        self._late = 0
        self._batch_ended = threading.Event()
        self._job_ended = threading.Event()
        self._lock = threading.Lock()

    def endBatch(self, number: int, began: float, stages: float, ended: float) -> None:
        """Called when the sinks have written a batch: when (s since the epoch) it came to them, had run
        through all stages, and was written."""
        loads = self.metrics.loads
        out = sum(n for (target, _), n in list(loads.edges.items()) if target in self._sinks)
        late = self.metrics.numLateRecordsDropped
        batch = BatchDetails(
            number,
            round(began * 1000),
            round((ended - began) * 1000),
            {"stages": round((stages - began) * 1000), "sinks": round((ended - stages) * 1000)},
            sum(loads.vertices[uid].lastRecords for uid in self._sources if uid in loads.vertices),
            out - self._out,
            late - self._late,
            max((load.skew for load in loads.vertices.values()), default=1.0),
        )
        self._out, self._late = out, late
        with self._lock:
            self._pending[number] = batch
        self.history.add(batch, whole=False)
        self.completed += 1
        self._batch_ended.set()

    def follow(self, query: StreamingQuery) -> None:
        """Read the progress of ``query`` from now on, in a thread."""
        threading.Thread(
            target=self._follow, args=(query,), name="flinkish progress", daemon=True
        ).start()

    def end(self, query: StreamingQuery, exception: ExceptionDetails | None) -> None:
        """Called when the job has ended."""
        self._job_ended.set()
        self._batch_ended.set()
        if exception is not None:
            self.history.addException(exception)
        if self._pending:
            with quiet_py4j(), suppress(Exception):
                self._read(query)
        with self._lock:
            pending, self._pending = self._pending, {}
        for batch in pending.values():
            self.history.add(batch, whole=True)

    def _follow(self, query: StreamingQuery) -> None:
        while not self._job_ended.is_set():
            self._batch_ended.wait()
            self._batch_ended.clear()
            while self._pending and not self._job_ended.wait(_PROGRESS_SECONDS):
                # If the JVM is gone, the thread that waits for the query notices.
                with quiet_py4j(), suppress(Exception):
                    self._read(query)

    def _read(self, query: StreamingQuery) -> None:
        progress = query.lastProgress
        if progress is None:
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
        spark = {phase: int(took) for phase, took in progress["durationMs"].items()}
        duration = spark.pop(_TOTAL, batch.duration)
        whole = replace(
            batch,
            startTime=round(datetime.fromisoformat(progress["timestamp"]).timestamp() * 1000),
            duration=duration,
            phases={**spark, **batch.phases},
            stateBytes=sum(_state_bytes(state) for state in progress["stateOperators"]),
        )
        self.history.add(whole, whole=True)
        self.readUpTo = [
            SourceDetails(
                *(_text(source[name]) for name in ("startOffset", "endOffset", "latestOffset"))
            )
            for source in progress["sources"]
        ]


def _state_bytes(state: Mapping[str, Any]) -> int:
    files = dict(state["customMetrics"]).get("rocksdbSstFileSize", 0)
    return int(state["memoryUsedBytes"]) + int(files)


def _text(offset: object) -> str | None:
    if offset is None or offset == "null":
        return None
    return offset if isinstance(offset, str) else json.dumps(offset)


def clock() -> int:
    """The time (ms since the epoch)."""
    return round(time.time() * 1000)
