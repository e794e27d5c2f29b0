"""Writes a batch to a ``KafkaSink`` in the workers, with a producer that each keeps open for the next batch.

For all guarantees but EXACTLY_ONCE. A batch ends when the brokers have its records. One that comes again is
written again.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from flinkish.api.connectors.kafka.sink import KafkaSink
from flinkish.deployment.vertex_plans import shipped_sink
from flinkish.graph.stream_graph import StreamNode
from flinkish.runtime.closing import closed_on_error
from flinkish.runtime.kafka.writer import KafkaWriter
from flinkish.runtime.sinks.batch_writer import SendCounts, total_counts
from flinkish.runtime.task.plan import Subtask
from flinkish.runtime.task.store import OPEN_TASKS, JobRun, TaskKey
from flinkish.spark.sinks.sink_tasks import Part, WorkerSink, runs_of


@dataclass(frozen=True)
class SinkTasks:
    """The tasks in which workers write. Without a ``run`` nothing stays open between batches."""

    run: JobRun | None
    parallelism: int

    def of(self, node: StreamNode) -> int:
        """In how many of them a sink is written."""
        return min(node.parallelism or self.parallelism, self.parallelism)


@dataclass(frozen=True)
class SendTask:
    """Writes with a ``TaskWriter``, and tells ``SendCounts``."""

    # It has the passwords
    payload: bytes = field(repr=False)
    uid: str
    name: str
    timeZone: str
    batchId: int
    run: JobRun | None
    parallelism: int

    def __call__(self, parts: Iterable[Part], subtask: Subtask) -> bytes:
        # The same for all tasks: a worker has one producer, whichever parts of the batches it gets
        key = None if self.run is None else TaskKey(self.run, f"sink {self.uid}", 0)
        writer: KafkaWriter = (key and OPEN_TASKS.take(key)) or self._opened()
        with closed_on_error(writer):
            writer.beginTask(subtask.index, self.parallelism)
            counts = writer.write(runs_of(parts), self.batchId)
        if key is None:
            writer.close()
        else:
            OPEN_TASKS.keep(key, writer)
        return pickle.dumps(counts)

    def _opened(self) -> KafkaWriter:
        sink: KafkaSink[object] = pickle.loads(self.payload)
        return KafkaWriter(sink, self.name, "", self.timeZone)


class TaskWriters(WorkerSink):
    """The writers of one sink in the workers."""

    def __init__(self, node: StreamNode, tasks: SinkTasks) -> None:
        assert isinstance(node.content, KafkaSink)
        self.parallelism = tasks.of(node)
        self._node = node
        self._payload = shipped_sink(node.name, node.content)
        self._run = tasks.run

    def writeTask(self, batchId: int, timeZone: str) -> SendTask:
        node = self._node
        return SendTask(
            self._payload, node.uid, node.name, timeZone, batchId, self._run, self.parallelism
        )

    def finish(self, batchId: int, reports: Sequence[bytes]) -> SendCounts | None:
        return total_counts(reports)
