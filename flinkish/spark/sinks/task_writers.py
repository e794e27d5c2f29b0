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
from dataclasses import dataclass, field
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
from flinkish.runtime.records.records import Records
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
class SinkBatch:
    """The properties of a batch and its sink that the writing workers need."""

    # It has the passwords
    payload: bytes = field(repr=False)
    uid: str
    name: str
    timeZone: str
    batchId: int
    run: JobRun | None
    parallelism: int

    def key(self, number: int) -> TaskKey | None:
        return None if self.run is None else TaskKey(self.run, f"sink {self.uid}", number)

    def sink(self) -> KafkaSink[object]:
        sink: KafkaSink[object] = pickle.loads(self.payload)
        return sink

    def written(
        self, writer: KafkaWriter, runs: Iterable[Records], key: TaskKey | None
    ) -> SendCounts:
        """Write with ``writer``, and keep it under ``key`` or close it."""
        with closed_on_error(writer):
            counts = writer.write(runs, self.batchId)
        if key is None:
            writer.close()
        else:
            OPEN_TASKS.keep(key, writer)
        return counts


@dataclass(frozen=True)
class SendTask:
    """Writes a task's part of a batch, and returns a ``WriterReport``."""

    batch: SinkBatch

    def __call__(self, parts: Iterable[Part], subtask: Subtask) -> bytes:
        batch = self.batch
        # The same key for all tasks: a worker has one producer, whichever parts of the batches it
        # gets
        key = batch.key(0)
        writer: KafkaWriter = (key and OPEN_TASKS.take(key)) or KafkaWriter(
            batch.sink(), batch.name, batch.timeZone
        )
        writer.beginTask(subtask.index, batch.parallelism)
        return _report(subtask.index, "", partial(batch.written, writer, runs_of(parts), key))


@dataclass(frozen=True)
class TransactionTask:
    """Writes a task's part of a batch in a transaction, and returns a ``WriterReport``. ``latest``
    has, by number, the identity of the last writer with that number."""

    batch: SinkBatch
    run: SinkRun
    latest: Mapping[int, str]

    def __call__(self, parts: Iterable[Part], subtask: Subtask) -> bytes:
        number, batch = subtask.index, self.batch
        key = batch.key(number)
        writer = self._writer(number, key)
        write = partial(batch.written, writer, runs_of(parts), key)
        return _report(number, writer.identity, write)

    def _writer(self, number: int, key: TaskKey | None) -> ExactlyOnceWriter:
        batch = self.batch
        writer: ExactlyOnceWriter | None = key and OPEN_TASKS.take(key)
        if writer is not None and writer.identity != self.latest.get(number):
            # Another worker has opened the transactional id since
            writer.close()
            writer = None
        return writer or ExactlyOnceWriter(
            batch.sink(), batch.name, batch.timeZone, self.run, number
        )


def _report(number: int, identity: str, write: Callable[[], SendCounts]) -> bytes:
    try:
        report = WriterReport(number, identity, write())
    except SendError as error:
        report = WriterReport(number, identity, None, str(error), dict(error.counts))
    return pickle.dumps(report)


class TaskWriters(WorkerSink):
    """The writers of one sink in the workers, for all guarantees but EXACTLY_ONCE."""

    def __init__(self, node: StreamNode, tasks: SinkTasks) -> None:
        assert isinstance(node.content, KafkaSink)
        self.parallelism = tasks.of(node)
        self._node = node
        self._payload = shipped_sink(node.name, node.content)
        self._run = tasks.run

    def writeTask(self, batchId: int, timeZone: str) -> SendTask | TransactionTask:
        return SendTask(self._batch(batchId, timeZone))

    def _batch(self, batchId: int, timeZone: str) -> SinkBatch:
        node = self._node
        return SinkBatch(
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

    def writeTask(self, batchId: int, timeZone: str) -> TransactionTask:
        batch = self._batch(batchId, timeZone)
        if self._sink_run is None:
            self._sink_run = begin_run(batch.sink(), self._identity(), self.parallelism)
        self._writes = True
        return TransactionTask(batch, self._sink_run, dict(self._latest))

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
