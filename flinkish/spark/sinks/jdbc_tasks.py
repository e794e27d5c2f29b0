"""Writes a batch to a ``JdbcSink`` in the workers, with a connection for each task while it writes.

So there are never more connections than the sink has tasks. A task records by key group what it has
written, as a key group has the same elements when a batch comes again, in any number of tasks. That
does not hold for elements that come straight from a source: another cluster divides them
differently. An exactly-once sink with such elements is one task, which records all of them at once.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from flinkish.api.connectors.jdbc_sink import JdbcSink
from flinkish.deployment.vertex_plans import shipped_sink
from flinkish.graph.job_graph import JobVertex
from flinkish.runtime.sinks.batch_writer import SendCounts, total
from flinkish.runtime.sinks.jdbc_writer import JdbcWriter
from flinkish.runtime.task.plan import Subtask
from flinkish.spark.sinks.sink_tasks import Part, WorkerSink


@dataclass(frozen=True)
class JdbcWriteTask:
    """Writes parts of a batch in one transaction, and reports ``SendCounts``. ``sources`` are the
    gates with elements straight from a source."""

    # It contains the passwords
    payload: bytes = field(repr=False)
    name: str
    job: str
    uid: str
    batchId: int
    sources: frozenset[int]

    def __call__(self, parts: Iterable[Part], subtask: Subtask) -> bytes:
        sink: JdbcSink[Any] = pickle.loads(self.payload)
        with closing(JdbcWriter(sink, self.name, self.job, self.uid)) as writer:
            named = ((self._writer(part), part.runs) for part in parts)
            return pickle.dumps(writer.writeParts(named, self.batchId))

    def _writer(self, part: Part) -> str:
        return f"{part.gate}" if part.gate in self.sources else f"{part.gate}-{part.slice}"


class JdbcTasks(WorkerSink):
    """A ``JdbcSink`` that workers write. ``job`` is the same in runs from checkpoints."""

    def __init__(self, vertex: JobVertex, job: str, parallelism: int) -> None:
        node = vertex.head
        assert isinstance(node.content, JdbcSink)
        self._sources = frozenset(e.gate for e in vertex.inputs if e.source.head.isSource)
        self.parallelism = 1 if self._sources and node.content.exactlyOnce else parallelism
        self._sink = node.content
        self._name, self._uid, self._job = node.name, node.uid, job
        self._payload = shipped_sink(node.name, node.content)
        self._prepared = False

    def writeTask(self, batchId: int, timeZone: str) -> JdbcWriteTask:
        if not self._prepared:
            JdbcWriter(self._sink, self._name, self._job, self._uid).prepared().close()
            self._prepared = True
        return JdbcWriteTask(
            self._payload, self._name, self._job, self._uid, batchId, self._sources
        )

    def finish(self, batchId: int, reports: Sequence[bytes]) -> SendCounts | None:
        return total([pickle.loads(report) for report in reports])
