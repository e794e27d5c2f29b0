"""The end of a batch: writes its elements to the sinks and passes its metrics to the job."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import InitVar, dataclass
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StringType, StructField, StructType

from flinkish.api.connectors.file_sink import FileSink
from flinkish.api.connectors.jdbc_sink import JdbcSink
from flinkish.api.connectors.sink import (
    DiscardingSink,
    ForEachBatchDataFrameSink,
    ForEachBatchSink,
    PrintSink,
    Sink,
)
from flinkish.api.display.progress_bar import clear_progress
from flinkish.api.errors import NotSupportedError, hide_elements, said_by
from flinkish.deployment.sink_columns import line_writer, part_files, sink_buckets, written_schema
from flinkish.graph.job_graph import JobGraph, JobVertex
from flinkish.graph.stream_graph import StreamNode
from flinkish.runtime.attribute_changes import AttributeWarnings
from flinkish.runtime.batch_writers import batch_writer, is_written_in_batches, is_written_in_tasks
from flinkish.runtime.closing import close_all
from flinkish.runtime.kafka.exactly_once import check_prefixes
from flinkish.runtime.metrics_totals import MetricsTotals
from flinkish.runtime.records.frames import decode_frame
from flinkish.runtime.records.user_code import mapped, user_code_of, user_method_of
from flinkish.runtime.reports import decode_reports, sink_report
from flinkish.runtime.sinks.batch_writer import BatchWriter, SendCounts, SendError
from flinkish.runtime.sinks.buckets import BUCKET
from flinkish.runtime.sinks.driver_results import DriverResults
from flinkish.runtime.sinks.part_files import PartFiles
from flinkish.runtime.task.stage import METRICS
from flinkish.runtime.task_logs import log_again
from flinkish.spark.checkpoint.plan import CheckpointPlan
from flinkish.spark.checkpoint.storage import CheckpointStorage, Directory
from flinkish.spark.frame_rows import frame_rows
from flinkish.spark.profiled_batches import profiled_jobs
from flinkish.spark.session.drivers import driver_of
from flinkish.spark.session.quiet_logs import BatchAbortedError, quiet_py4j
from flinkish.spark.session.session import JOB_SETTINGS, TIME_ZONE, row_settings
from flinkish.spark.sinks.frame_decoding import LinesFunction, columns_of_frames
from flinkish.spark.sinks.jdbc_tasks import JdbcTasks
from flinkish.spark.sinks.sink_tasks import WorkerSink, written_by_workers
from flinkish.spark.sinks.task_writers import SinkTasks, task_writers
from flinkish.spark.sinks.user_sinks import UserSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_INTERRUPTED = (
    "py4j.protocol.Py4JJavaError: An error occurred while calling the sinks of a job that was stopped"
    "\n: java.lang.InterruptedException"
)
"""The message from which Spark recognises that a query was stopped and did not fail."""

_SAID = 500

_POLL_SECONDS = 0.01

_TIMES = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}

_WRITTEN = {
    "csv": {
        "escape": '"',
        "ignoreLeadingWhiteSpace": "false",
        "ignoreTrailingWhiteSpace": "false",
        **_TIMES,
    },
    "json": {"ignoreNullFields": "false", **_TIMES},
}
"""Options that make Spark's writers, if a sink needs them, write like the workers."""

_PARALLEL = (FileSink, ForEachBatchDataFrameSink)


def sink_files(session: SparkSession, graph: JobGraph) -> dict[str, PartFiles]:
    """The sinks whose files the operators' tasks write, into local directories, by uid; those of
    Parquet with Spark's default codec."""
    files = {}
    snappy = session.conf.get("spark.sql.parquet.compression.codec") == "snappy"
    for vertex in graph.sinks:
        node = vertex.head
        if isinstance(node.content, FileSink):
            if node.content.format == "parquet" and not snappy:
                continue
            directory = Directory(session, node.content.path).local
            found = directory and part_files(node, str(directory), JOB_SETTINGS[TIME_ZONE])
            if found:
                files[node.uid] = found
    return files


@dataclass(eq=False, repr=False)
class BatchSinks:
    """Writes each batch to all sinks of a job; the function of ``foreachBatch``.

    A batch that failed or was not committed comes again with its id, and is written again: files of
    that id are replaced; the driver's own sinks get the elements of a batch only once within one
    run. ``files`` are the sinks that operators' tasks write, by uid; ``tasks`` the tasks in which
    workers write the other sinks, and ``results`` counts the elements that come to the driver.
    ``batchBegan`` is called when a batch comes, before it runs through the stages; ``batchEnded``
    with the id of a batch, and the times (s since the epoch) at which it came, had run through all
    stages, and was written.
    """

    vertices: InitVar[Sequence[JobVertex]]
    metrics: MetricsTotals
    plan: CheckpointPlan
    storage: InitVar[CheckpointStorage]
    files: Mapping[str, PartFiles]
    tasks: InitVar[SinkTasks]
    results: DriverResults
    elementsHidden: bool
    batchBegan: Callable[[], None]
    batchEnded: Callable[[int, float, float, float], None]

    def __post_init__(
        self, vertices: Sequence[JobVertex], storage: CheckpointStorage, tasks: SinkTasks
    ) -> None:
        sinks = [vertex.head for vertex in vertices]
        self._sinks = {node.uid: node for node in sinks}
        for each in self.files.values():
            each.clear()
        self._parallel = {
            node.uid: sink_schema(node)
            for node in sinks
            if isinstance(node.content, _PARALLEL) and node.uid not in self.files
        }
        """The columns of the sinks that separate Spark jobs write; None: lines of text."""
        self._workers: dict[str, WorkerSink] = {}
        """The sinks that workers write in the Spark job that collects the rest."""
        for vertex in vertices:
            sink = _worker_sink(vertex, tasks, self.plan, storage)
            if sink is not None:
                self._workers[vertex.uid] = sink
        check_prefixes(node.content for node in sinks)
        self._writers: dict[str, BatchWriter] = {}
        self._changes = AttributeWarnings()
        self._refusing = threading.Event()
        self._stopped: Callable[[], bool] = bool
        self._cancelled = False
        self._thread: int | None = None
        self.refused = threading.Event()
        """Set when a batch is refused: the one before is committed."""
        self.failure: BaseException | None = None
        """The first error of a sink, which ended the job."""

    def refuseBatches(self, stopped: Callable[[], bool]) -> None:
        """Finish the current batch and write no further one; that waits for ``stopped``."""
        self._stopped = stopped
        self._refusing.set()

    def cancel(self, stopped: Callable[[], bool]) -> None:
        """Write nothing any more."""
        self._cancelled = True
        self.refuseBatches(stopped)

    @property
    def isCaller(self) -> bool:
        """Whether the caller is a sink of the job, which cannot wait for the end of its own batch."""
        return self._thread == threading.get_ident()

    def __call__(self, frame: DataFrame, batchId: int) -> None:
        with quiet_py4j():
            hide_elements(self.elementsHidden)
            self._thread = threading.get_ident()
            try:
                if self._refusing.is_set():
                    self.refused.set()
                    raise BatchAbortedError
                self._write_batch(frame, batchId)
            except BaseException as error:
                # Whatever the error is, the JVM waits for an answer. It must be short: Spark
                # searches it for an interruption, and overflows its stack on one with a Java stack
                # trace.
                if self._refusing.is_set() and (self._cancelled or self.refused.is_set()):
                    # Once Spark knows that the query was stopped, it logs no error
                    while not self._stopped():
                        time.sleep(_POLL_SECONDS)
                    raise BatchAbortedError(_INTERRUPTED) from None
                self.failure = self.failure or error
                said = said_by(error).partition("\n")[0]
                raise BatchAbortedError(f"batch {batchId}: {said[:_SAID]}") from None
            finally:
                self._thread = None

    def _write_batch(self, frame: DataFrame, batchId: int) -> None:
        from pyspark.sql import functions as F

        began = time.time()
        self.batchBegan()
        # After the batches of the run that the savepoint comes from, which has written to the same
        # sinks
        number = batchId + self.plan.firstBatch
        if self._workers:
            zone, hidden = _time_zone(frame), self.elementsHidden
            frame = written_by_workers(frame, self._workers, number, hidden, zone)
        if self._parallel:
            frame = frame.persist()
        try:
            rows = frame
            if self._parallel:
                by_other_jobs = F.col("target").isin(list(self._parallel))
                content = F.when(~by_other_jobs, F.col("frame"))
                rows = frame.withColumn("frame", content)
            by_target: dict[str, list[Any]] = {}
            in_order = attrgetter("gate", "slice", "sequence")
            for row in sorted(frame_rows(self._collected(rows)), key=in_order):
                by_target.setdefault(row.target, []).append(row.frame)
            collected = time.time()
            found = [decode_reports(data) for data in by_target.get(METRICS, ())]
            for uid, files in self.files.items():
                if uid in by_target:
                    if self._cancelled:
                        raise BatchAbortedError
                    files.publish([data.decode() for data in by_target[uid]], number)
            for uid in self._parallel:
                if uid in by_target:
                    if self._cancelled:
                        raise BatchAbortedError
                    self._write_parallel(self._sinks[uid], frame, number)
            counts: dict[str, SendCounts] = {}
            self.results.beginBatch()
            for uid, sink in self._workers.items():
                with self._counted(uid):
                    counted = sink.finish(number, by_target.pop(uid, ()))
                if counted is not None:
                    counts[uid] = counted
            for uid, node in self._sinks.items():
                if uid not in by_target or uid in self._parallel or uid in self.files:
                    continue
                runs = [decode_frame(data).records for data in by_target[uid]]
                if is_written_in_batches(node.content):
                    if self._cancelled:
                        raise BatchAbortedError
                    counts[uid] = self._writer(node, frame).write(runs, number)
                else:
                    if not isinstance(node.content, DiscardingSink):
                        self.results.add(node.name, sum(map(len, runs)))
                    values = [value for run in runs for value in run.values]
                    if self._cancelled:
                        raise BatchAbortedError
                    self._write(node.content, node.name, values, number)
            for reports, changes in found:
                self.metrics.add(reports)
                log_again(record for report in reports for record in report.logs)
                self._changes.warn(changes)
            self.metrics.add(sink_report(u, self._sinks[u].name, n) for u, n in counts.items())
            self.plan.noteStates(self.metrics.states)
            ended = time.time()
            self.metrics.endBatch(round(ended * 1000))
            self.batchEnded(batchId, began, collected, ended)
        finally:
            if self._parallel:
                frame.unpersist()

    @contextmanager
    def _counted(self, uid: str) -> Iterator[None]:
        """Counts refused records before the batch fails."""
        try:
            yield
        except SendError as error:
            name, nothing = self._sinks[uid].name, SendCounts(0, 0, 0)
            self.metrics.add([sink_report(uid, name, nothing, error.counts)])
            raise

    def _collected(self, rows: DataFrame) -> list[Any]:
        if not self.metrics.profiler.begin():
            return rows.collect()
        with profiled_jobs(rows.sparkSession):
            return rows.collect()

    def close(self) -> None:
        for files in self.files.values():
            files.clear()
        close_all([*self._workers.values(), *self._writers.values()])

    def _writer(self, node: StreamNode, frame: DataFrame) -> BatchWriter:
        """The writer of a sink, opened with its first batch."""
        assert is_written_in_batches(node.content)
        writer = self._writers.get(node.uid)
        if writer is None:
            zone = _time_zone(frame)
            job = self.plan.jobIdentity
            writer = batch_writer(node.content, node.name, node.uid, job, zone)
            self._writers[node.uid] = writer
        return writer

    def _write(self, sink: object, name: str, values: list[Any], batchId: int) -> None:
        if isinstance(sink, ForEachBatchSink):
            with user_code_of(name, partial(list, values)):
                sink.function(values, batchId)
        elif isinstance(sink, PrintSink):
            self._print(sink, name, values)
        else:
            raise NotSupportedError(
                f"{type(sink).__name__} is not a sink that flinkish can write on Spark. Write its"
                " createWriter(context), or use a FileSink, print(), forEachBatch(function), or"
                " toDataFrame() and Spark's writers."
            )

    def _print(self, sink: PrintSink, name: str, values: list[Any]) -> None:
        clear_progress()
        stream = sys.stderr if sink.standardError else sys.stdout
        prefix = f"{sink.identifier}> " if sink.identifier else ""
        lines = "".join(mapped(name, lambda value: f"{prefix}{value}\n", values))

        def write() -> None:
            stream.write(lines)
            stream.flush()

        sink.inItsCell(write)

    def _write_parallel(self, node: StreamNode, frame: DataFrame, batchId: int) -> None:
        sink = node.content
        rows = frame.filter(frame["target"] == node.uid).sortWithinPartitions(
            "gate", "slice", "sequence"
        )
        schema = self._parallel[node.uid]
        if isinstance(sink, ForEachBatchDataFrameSink):
            assert schema is not None
            with (
                row_settings(frame.sparkSession),
                user_method_of(node.name, f"function of batch {batchId}"),
            ):
                sink.function(to_columns(rows, schema), batchId)
            return
        assert isinstance(sink, FileSink)
        options = sink.options
        writer = line_writer(node, _time_zone(frame))
        if writer is not None:
            bucketed = sink.bucketAssigner is not None
            lines = LinesFunction(writer, self.elementsHidden, bucketed)
            written, format_ = rows.mapInArrow(lines.__call__, lines.schema), "text"
            options = {}
        else:
            assert schema is not None
            written, format_ = to_columns(rows, schema), sink.format
            options = {**_WRITTEN.get(format_, {}), **options}
        # One directory for each batch: a batch that comes again replaces exactly what it wrote
        # before.
        target = f"{sink.path}/batch={batchId}"
        table = written.write.format(format_).options(**options).mode("overwrite")
        if sink.bucketAssigner is not None:
            # If a batch comes again, all its buckets are removed, also those that it does not fill
            # again
            table = table.partitionBy(BUCKET).option("partitionOverwriteMode", "static")
        table.save(target)


def to_columns(rows: DataFrame, schema: StructType) -> DataFrame:
    """Decode rows of frames of columns to rows of ``schema``, the schema of those columns."""
    # The DataFrame may belong to a streaming query of the user
    return rows.mapInArrow(driver_of(rows.sparkSession).travelling(columns_of_frames), schema)


def _worker_sink(
    vertex: JobVertex, tasks: SinkTasks, plan: CheckpointPlan, storage: CheckpointStorage
) -> WorkerSink | None:
    """The sink of ``vertex`` if workers write it in the Spark job that collects the rest, else None."""
    node = vertex.head
    if isinstance(node.content, Sink) and node.content.isUsers:
        return UserSink(node, storage, tasks.of(node))
    if not is_written_in_tasks(node.content):
        return None
    if isinstance(node.content, JdbcSink):
        return JdbcTasks(vertex, plan.jobIdentity, tasks.of(node))
    return task_writers(node, tasks, lambda: plan.jobIdentity)


def _time_zone(frame: DataFrame) -> str:
    return frame.sparkSession.conf.get(TIME_ZONE) or JOB_SETTINGS[TIME_ZONE]


def sink_schema(node: StreamNode) -> StructType | None:
    """The columns that a sink writes, including that of its buckets; None if it writes no columns.
    Raises InvalidProgramError if it needs columns and the elements' type does not give them."""
    schema = written_schema(node)
    struct = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    assert struct is None or isinstance(struct, StructType)
    if struct is None or sink_buckets(node) is None:
        return struct
    return StructType([*struct.fields, StructField(BUCKET, StringType())])
