"""Writes a batch to a ``KafkaSink`` in the workers; each keeps its producer open for the next
batch.

A batch ends when the brokers have its records. With EXACTLY_ONCE each writer has a transaction for
its part of a batch, which is the same when the batch comes again, in any worker; with other
guarantees a batch that comes again is written again.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from flinkish.api.connectors.kafka.sink import DeliveryGuarantee, KafkaSink
from flinkish.deployment.vertex_plans import shipped_sink
from flinkish.graph.stream_graph import StreamNode
from flinkish.runtime.closing import closed_on_error
from flinkish.runtime.kafka.client import LOG
from flinkish.runtime.kafka.exactly_once import ExactlyOnceWriter, begin_run, end_run
from flinkish.runtime.kafka.transactions import SinkRun, in_time
from flinkish.runtime.kafka.writer import KafkaWriter
from flinkish.runtime.sinks.batch_writer import SendCounts, SendError, total
from flinkish.runtime.task.plan import Subtask
from flinkish.runtime.task.store import OPEN_TASKS, JobRun, TaskKey
from flinkish.spark.sinks.sink_tasks import Part, WorkerSink, runs_of

_END_SECONDS = 5.0
"""How long a job that ends waits until its open transactions are aborted."""


@dataclass(frozen=True)
class SinkTasks:
    """The tasks in which workers write. Without a ``run`` nothing stays open between batches.
    ``uncertain`` are the uids of the sinks with elements straight from a source that Spark may
    divide differently among tasks when a batch comes again."""

    run: JobRun | None
    parallelism: int
    uncertain: frozenset[str]

    def of(self, node: StreamNode) -> int:
        """The number of tasks that write a sink."""
        return min(node.parallelism or self.parallelism, self.parallelism)


class WriterReport(NamedTuple):
    """A writer's report of a batch to the driver: what it has sent, its identity, and the refused
    records, as the error of a task has no room for counts."""

    number: int
    identity: str
    counts: SendCounts | None
    failure: str = ""
    errors: Mapping[str, int] = {}


@dataclass(frozen=True)
class SendTask:
    """Writes a task's part of a batch, and returns a ``WriterReport``. With a ``sinkRun`` it writes
    in a transaction; ``latest`` then has, by number, the identity of the last writer with that
    number."""

    # It has the passwords
    payload: bytes = field(repr=False)
    uid: str
    name: str
    timeZone: str
    batchId: int
    run: JobRun | None
    parallelism: int
    sinkRun: SinkRun | None = None
    latest: Mapping[int, str] = field(default_factory=dict)

    def __call__(self, parts: Iterable[Part], subtask: Subtask) -> bytes:
        number, key = subtask.index, None
        if self.run is not None:
            # Without transactions the same key for all tasks: a worker has one producer, whichever
            # parts of the batches it gets
            key = TaskKey(self.run, f"sink {self.uid}", number if self.sinkRun else 0)
        writer = self._writer(key, number)
        identity = writer.identity if isinstance(writer, ExactlyOnceWriter) else ""
        try:
            with closed_on_error(writer):
                counts = writer.write(runs_of(parts), self.batchId)
            if key is None:
                writer.close()
            else:
                OPEN_TASKS.keep(key, writer)
            report = WriterReport(number, identity, counts)
        except SendError as error:
            report = WriterReport(number, identity, None, str(error), dict(error.counts))
        return pickle.dumps(report)

    def _writer(self, key: TaskKey | None, number: int) -> KafkaWriter:
        kept: KafkaWriter | None = key and OPEN_TASKS.take(key)
        if isinstance(kept, ExactlyOnceWriter) and kept.identity != self.latest.get(number):
            # Another worker has opened the transactional id since
            kept.close()
            kept = None
        if self.sinkRun is not None:
            return kept or ExactlyOnceWriter(*self._sink(), self.sinkRun, number)
        writer = kept or KafkaWriter(*self._sink())
        writer.beginTask(number, self.parallelism)
        return writer

    def _sink(self) -> tuple[KafkaSink[object], str, str]:
        return pickle.loads(self.payload), self.name, self.timeZone


class TaskWriters(WorkerSink):
    """The writers of one sink in the workers, for all guarantees but EXACTLY_ONCE."""

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
        """Raises SendError if records were refused."""
        found: list[WriterReport] = [pickle.loads(report) for report in reports]
        failed = [report for report in found if report.counts is None]
        if failed:
            errors: Counter[str] = Counter()
            for report in failed:
                errors.update(report.errors)
            raise SendError(failed[0].failure, errors)
        self._note(found)
        return total([report.counts for report in found if report.counts is not None])

    def _note(self, reports: Sequence[WriterReport]) -> None:
        """Called when all writers have written a batch."""


class TransactionWriters(TaskWriters):
    """The writers of one sink with EXACTLY_ONCE, one for each of its tasks.

    Elements of an operator go to the writer of its key group, and elements straight from a planned
    source to the writer of their slice. A source that Spark reads may be divided differently when a
    batch comes again, so it has one writer. ``identity`` returns the identity of the checkpoint.
    """

    def __init__(self, node: StreamNode, tasks: SinkTasks, identity: Callable[[], str]) -> None:
        super().__init__(node, tasks)
        if node.uid in tasks.uncertain:
            self.parallelism = 1
        self._identity = identity
        self._sink_run: SinkRun | None = None
        self._writes = False
        """Whether a batch has begun that has not been written."""
        self._latest: dict[int, str] = {}

    def writeTask(self, batchId: int, timeZone: str) -> SendTask:
        if self._sink_run is None:
            sink = pickle.loads(self._payload)
            self._sink_run = begin_run(sink, self._identity(), self.parallelism)
        self._writes = True
        task = super().writeTask(batchId, timeZone)
        return replace(task, sinkRun=self._sink_run, latest=dict(self._latest))

    def close(self) -> None:
        """Abort the transactions of tasks that were killed: readers would wait until they time out."""
        if not self._writes or self._sink_run is None:
            return
        sink = self._node.content
        assert isinstance(sink, KafkaSink)
        try:
            in_time(partial(end_run, sink, self._sink_run), _END_SECONDS)
        except Exception as error:
            why = str(error) or "the brokers do not answer"
            left = (
                "%s: transactions with the prefix %s may be open until transaction.timeout.ms (%s)"
            )
            LOG.warning(left, self._node.name, sink.transactionalIdPrefix, why)

    def _note(self, reports: Sequence[WriterReport]) -> None:
        self._writes = False
        self._latest |= {report.number: report.identity for report in reports}


def task_writers(node: StreamNode, tasks: SinkTasks, identity: Callable[[], str]) -> TaskWriters:
    assert isinstance(node.content, KafkaSink)
    if node.content.deliveryGuarantee is DeliveryGuarantee.EXACTLY_ONCE:
        return TransactionWriters(node, tasks, identity)
    return TaskWriters(node, tasks)
