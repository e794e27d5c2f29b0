"""Writes a batch to a ``KafkaSink`` in the workers, with a producer that each keeps open for the next batch.

For all guarantees but EXACTLY_ONCE. A batch ends when the brokers have its records. One that comes again is
written again.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from flinkish.api.connectors.kafka.sink import KafkaSink
from flinkish.api.errors import hide_elements
from flinkish.deployment.vertex_plans import shipped_sink
from flinkish.graph.stream_graph import StreamNode
from flinkish.runtime.closing import closed_on_error
from flinkish.runtime.kafka.writer import KafkaWriter
from flinkish.runtime.sinks.batch_writer import SendCounts
from flinkish.runtime.task.store import OPEN_TASKS, JobRun, TaskKey
from flinkish.spark.sinks.user_sinks import frames_of, runs_of
from flinkish.spark.stage_run import this_subtask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_COUNTS = "received long, sent long"


@dataclass(frozen=True)
class SinkTasks:
    """The tasks in which workers write. Without a ``run`` nothing stays open between batches."""

    run: JobRun | None
    parallelism: int


@dataclass(frozen=True)
class SendFunction:
    """Rows of frames to ``SendCounts``, for ``mapInArrow``."""

    # It has the passwords
    payload: bytes = field(repr=False)
    uid: str
    name: str
    timeZone: str
    batchId: int
    tasks: SinkTasks
    elementsHidden: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        hide_elements(self.elementsHidden)
        runs = runs_of(batches)
        if runs is None:
            return
        # The same for all tasks: a worker has one producer, whichever parts of the batches it gets
        key = None if self.tasks.run is None else TaskKey(self.tasks.run, f"sink {self.uid}", 0)
        writer: KafkaWriter = (key and OPEN_TASKS.take(key)) or self._opened()
        index = this_subtask().index
        with closed_on_error(writer):
            writer.beginTask(index, max(self.tasks.parallelism, index + 1))
            counts = writer.write(runs, self.batchId)
        if key is None:
            writer.close()
        else:
            OPEN_TASKS.keep(key, writer)
        yield pa.RecordBatch.from_pylist([counts._asdict()])

    def _opened(self) -> KafkaWriter:
        sink: KafkaSink[object] = pickle.loads(self.payload)
        return KafkaWriter(sink, self.name, "", self.timeZone)


class TaskWriters:
    """The writers of one sink in the workers."""

    def __init__(self, node: StreamNode, tasks: SinkTasks, elementsHidden: bool) -> None:
        assert isinstance(node.content, KafkaSink)
        self._node = node
        self._payload = shipped_sink(node.name, node.content)
        self._tasks = tasks
        self._hidden = elementsHidden

    def write(self, frame: DataFrame, batchId: int, timeZone: str) -> SendCounts:
        """Write the elements that ``frame`` has for this sink."""
        node = self._node
        function = SendFunction(
            self._payload, node.uid, node.name, timeZone, batchId, self._tasks, self._hidden
        )
        rows = frame
        if self._tasks.parallelism == 1:
            # One task has one order, also of what comes straight from several parts of a source
            rows = rows.coalesce(1)
        found = frames_of(rows, node.uid).mapInArrow(function.__call__, _COUNTS).collect()
        return SendCounts(sum(row[0] for row in found), sum(row[1] for row in found))
