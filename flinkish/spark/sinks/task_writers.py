"""Writes a batch to a ``KafkaSink`` in the workers, with a producer that each keeps open for the next batch.

A batch ends when the brokers have its records. With EXACTLY_ONCE each writer has a transaction for what it gets of a
batch, which is the same when the batch comes again, whichever worker it is in; with other guarantees a batch that comes
again is written again.
"""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import pyarrow as pa

from flinkish.api.connectors.kafka.sink import DeliveryGuarantee, KafkaSink
from flinkish.api.errors import JobExecutionError, hide_elements
from flinkish.deployment.vertex_plans import shipped_sink
from flinkish.graph.stream_graph import StreamNode
from flinkish.runtime.closing import closed_on_error
from flinkish.runtime.kafka.exactly_once import ExactlyOnceWriter, begin_run
from flinkish.runtime.kafka.transactions import SinkRun
from flinkish.runtime.kafka.writer import FencedError, KafkaWriter
from flinkish.runtime.records.frames import decode_frame
from flinkish.runtime.records.records import Records
from flinkish.runtime.sinks.batch_writer import SendCounts, SendError
from flinkish.runtime.task.store import OPEN_TASKS, JobRun, TaskKey
from flinkish.spark.placement import balanced_integers
from flinkish.spark.sinks.user_sinks import frames_of, runs_of
from flinkish.spark.stage_run import this_subtask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row


FEW_ELEMENTS = 10_000
"""With EXACTLY_ONCE the driver writes batches of no more elements: it is done before workers have begun. A batch that
comes again must be written by the same writers, so a version with another number doubles the batch in which it
takes over."""

_WRITER = "writer"

_SENT = pa.schema(
    [
        ("received", pa.int64()),
        ("sent", pa.int64()),
        ("backPressuredMillis", pa.int64()),
        (_WRITER, pa.int32()),
        ("identity", pa.string()),
        ("failure", pa.string()),
        ("errors", pa.string()),
    ]
)

_COLUMNS = (
    "received long, sent long, backPressuredMillis long, writer int, identity string, failure string,"
    " errors string"
)
"""What a task tells of a writer: what it has done, which one it is, and the records that were refused."""


@dataclass(frozen=True)
class SinkTasks:
    """The tasks in which workers write. Without a ``run`` nothing stays open between batches. ``uncertain`` are the
    uids of the sinks that get elements straight from a source which Spark may divide among tasks in another way when a
    batch comes again."""

    run: JobRun | None
    parallelism: int
    uncertain: frozenset[str]


@dataclass(frozen=True)
class SinkBatch:
    """A batch for the workers that write it, with what they need to know of the sink."""

    # It has the passwords
    payload: bytes = field(repr=False)
    uid: str
    name: str
    timeZone: str
    batchId: int
    tasks: SinkTasks
    elementsHidden: bool

    def key(self, number: int) -> TaskKey | None:
        """What a worker keeps a writer by."""
        run = self.tasks.run
        return None if run is None else TaskKey(run, f"sink {self.uid}", number)

    def sink(self) -> KafkaSink[object]:
        """The sink, as the workers get it."""
        sink: KafkaSink[object] = pickle.loads(self.payload)
        return sink


@dataclass(frozen=True)
class SendFunction:
    """Rows of frames to ``SendCounts``, for ``mapInArrow``."""

    batch: SinkBatch

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        batch = self.batch
        hide_elements(batch.elementsHidden)
        runs = runs_of(batches)
        if runs is None:
            return
        # The same for all tasks: a worker has one producer, whichever parts of the batches it gets
        key = batch.key(0)
        writer: KafkaWriter = (key and OPEN_TASKS.take(key)) or KafkaWriter(
            batch.sink(), batch.name, batch.timeZone
        )
        index = this_subtask().index
        writer.beginTask(index, max(batch.tasks.parallelism, index + 1))
        yield _sent(index, "", lambda: _written(writer, runs, batch.batchId, key))


@dataclass(frozen=True)
class TransactionFunction:
    """Rows of frames, each with the number of its writer, to ``SendCounts`` and the identity of each writer, for
    ``mapInArrow``. ``latest`` has the identity of the writer that each number had last."""

    batch: SinkBatch
    run: SinkRun
    latest: Mapping[int, str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        hide_elements(self.batch.elementsHidden)
        for number, rows in groupby(_rows(batches), itemgetter(0)):
            runs = (decode_frame(data).records for _, data in rows)
            key = self.batch.key(number)
            try:
                writer = self._writer(number, key)
                write = partial(_written, writer, runs, self.batch.batchId, key)
                sent = _sent(number, writer.identity, write)
            except FencedError as error:
                # The driver knows the classes of errors that users see
                raise JobExecutionError(str(error)) from None
            yield sent

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


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, bytes]]:
    for batch in batches:
        yield from zip(batch.column(_WRITER).to_pylist(), batch.column("frame").to_pylist())


def _written(
    writer: KafkaWriter, runs: Iterator[Records], batchId: int, key: TaskKey | None
) -> SendCounts:
    with closed_on_error(writer):
        counts = writer.write(runs, batchId)
    if key is None:
        writer.close()
    else:
        OPEN_TASKS.keep(key, writer)
    return counts


def _sent(number: int, identity: str, write: Callable[[], SendCounts]) -> pa.RecordBatch:
    """What ``write`` has done. Records that were refused are told, as an error of a task has no room for counts."""
    found: dict[str, object]
    try:
        found = write()._asdict()
    except SendError as error:
        found = {"failure": str(error), "errors": json.dumps(dict(error.counts))}
    return pa.RecordBatch.from_pylist([{**found, _WRITER: number, "identity": identity}], _SENT)


def _total(rows: Sequence[Row]) -> SendCounts:
    """The sum of what tasks have done. Raises SendError if records were refused."""
    failures = [row for row in rows if row["failure"] is not None]
    if failures:
        errors: Counter[str] = Counter()
        for row in failures:
            errors.update(json.loads(row["errors"]))
        raise SendError(failures[0]["failure"], errors)
    counts = [SendCounts(*(row[name] or 0 for name in SendCounts._fields)) for row in rows]
    return SendCounts(*map(sum, zip(SendCounts(0, 0, 0), *counts)))


class TaskWriters:
    """The writers of one sink in the workers, for all guarantees but EXACTLY_ONCE."""

    def __init__(self, node: StreamNode, tasks: SinkTasks, elementsHidden: bool) -> None:
        assert isinstance(node.content, KafkaSink)
        self._node = node
        self._payload = shipped_sink(node.name, node.content)
        self._tasks = tasks
        self._hidden = elementsHidden

    def write(self, frame: DataFrame, batchId: int, timeZone: str, elements: int) -> SendCounts:
        """Write the ``elements`` that ``frame`` has for this sink."""
        rows = frame
        if self._tasks.parallelism == 1:
            # One task has one order, also of what comes straight from several parts of a source
            rows = rows.coalesce(1)
        function = SendFunction(self._batch(batchId, timeZone))
        found = frames_of(rows, self._node.uid).mapInArrow(function.__call__, _COLUMNS).collect()
        return _total(found)

    def _batch(self, batchId: int, timeZone: str) -> SinkBatch:
        node = self._node
        return SinkBatch(
            self._payload, node.uid, node.name, timeZone, batchId, self._tasks, self._hidden
        )

    def close(self) -> None:
        """Called when the job has ended."""


class TransactionWriters(TaskWriters):
    """The writers of one sink with EXACTLY_ONCE: as many as the job has parallelism, and one on the driver.

    What an operator emits goes to the writer of its key group, and what comes straight from a planned source to that of
    its slice. What Spark reads itself may be cut otherwise when a batch comes again: it has one writer. ``identity``
    gives that of the checkpoint.
    """

    def __init__(
        self, node: StreamNode, tasks: SinkTasks, elementsHidden: bool, identity: Callable[[], str]
    ) -> None:
        super().__init__(node, tasks, elementsHidden)
        self._identity = identity
        self._writers = 1 if node.uid in tasks.uncertain else tasks.parallelism
        self._run: SinkRun | None = None
        self._latest: dict[int, str] = {}
        self._own: ExactlyOnceWriter | None = None
        """The writer of this process, behind those of the workers."""

    def write(self, frame: DataFrame, batchId: int, timeZone: str, elements: int) -> SendCounts:
        batch = self._batch(batchId, timeZone)
        run = self._run
        if run is None:
            run = self._run = begin_run(batch.sink(), self._identity(), self._writers + 1)
        if elements <= FEW_ELEMENTS:
            return self._write_here(frame, batch, run)
        function = TransactionFunction(batch, run, self._latest)
        rows = self._placed(frame).mapInArrow(function.__call__, _COLUMNS).collect()
        self._latest |= {row[_WRITER]: row["identity"] for row in rows}
        return _total(rows)

    def _placed(self, frame: DataFrame) -> DataFrame:
        """The rows for the sink, those of each writer in one partition, and in order."""
        from pyspark.sql import functions as F

        writers = self._writers
        writer = F.pmod(F.col("slice"), F.lit(writers)).cast("int").alias(_WRITER)
        found = frame.filter(F.col("target") == self._node.uid)
        placed = found.select(writer, "gate", "slice", "sequence", "frame")
        if writers == 1:
            placed = placed.coalesce(1)
        else:
            places = F.array(*map(F.lit, balanced_integers(writers, writers)))
            placed = placed.repartition(writers, F.element_at(places, F.col(_WRITER) + 1))
        return placed.sortWithinPartitions(_WRITER, "gate", "slice", "sequence")

    def _write_here(self, frame: DataFrame, batch: SinkBatch, run: SinkRun) -> SendCounts:
        found = frames_of(frame.coalesce(1), self._node.uid).select("frame").toArrow()
        if self._own is None:
            number = self._writers
            self._own = ExactlyOnceWriter(batch.sink(), batch.name, batch.timeZone, run, number)
        frames = found.column(0).to_pylist()
        return self._own.write((decode_frame(data).records for data in frames), batch.batchId)

    def close(self) -> None:
        if self._own is not None:
            self._own.close()


def task_writers(
    node: StreamNode, tasks: SinkTasks, elementsHidden: bool, identity: Callable[[], str]
) -> TaskWriters:
    """The writers of a ``KafkaSink``."""
    assert isinstance(node.content, KafkaSink)
    if node.content.deliveryGuarantee is DeliveryGuarantee.EXACTLY_ONCE:
        return TransactionWriters(node, tasks, elementsHidden, identity)
    return TaskWriters(node, tasks, elementsHidden)
