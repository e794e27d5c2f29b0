"""``Queries``: makes the query of a job, once for its start and once for each restart."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import InitVar, dataclass, field, replace
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, Any, ClassVar

from flinkish.api.environment.configuration import ExecutionConfig
from flinkish.api.plan.transformations import SinkTransformation
from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.deployment.alignments import Alignments
from flinkish.deployment.status.batch_history import BatchHistory
from flinkish.deployment.task_settings import task_settings
from flinkish.graph.job_graph import JobGraph
from flinkish.graph.stream_graph import StreamGraph
from flinkish.runtime.kafka.planner import ConsumerGroup
from flinkish.runtime.metrics_totals import MetricsTotals
from flinkish.runtime.sinks.driver_results import DriverResults
from flinkish.runtime.task.store import JobRun
from flinkish.spark.checkpoint.plan import CheckpointPlan
from flinkish.spark.checkpoint.storage import CheckpointStorage, note_watermarks
from flinkish.spark.control import ControlStream
from flinkish.spark.open_tasks import close_open_tasks, job_run
from flinkish.spark.query_run import BatchRun, QueryRun, query_writer
from flinkish.spark.savepoint import JobSavepoints
from flinkish.spark.session.session import (
    SETTINGS_LOCK,
    default_parallelism,
    frame_settings,
    job_settings,
)
from flinkish.spark.sinks.batch_sinks import BatchSinks, sink_files
from flinkish.spark.sinks.delivery import Delivery, delivery_of
from flinkish.spark.sinks.task_writers import SinkTasks
from flinkish.spark.sources.function import END_OF_INPUT
from flinkish.spark.sources.plan_log import PlanLog
from flinkish.spark.sources.planned_offset import PlannedOffset
from flinkish.spark.sources.reader import SourceReader, SourceStream, check_aligned
from flinkish.spark.status.checkpoint_history import history_log
from flinkish.spark.status.query_monitor import QueryMonitor
from flinkish.spark.translation import translate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter


_LOG = logging.getLogger("flinkish")


@dataclass(eq=False, repr=False)
class Queries:
    """Creates the query of the job that ends in ``sinks``, once for its start and once for each
    restart. ``given``: the directory of the checkpoint, None if that is temporary. ``single``: it
    runs a single batch, the one that was planned last if that is not committed."""

    session: SparkSession
    config: ExecutionConfig
    storage: CheckpointStorage
    plan: CheckpointPlan
    sinks: InitVar[Sequence[SinkTransformation]]
    given: str | None
    name: str
    single: bool = False
    batch: ClassVar[bool] = False
    savepoints: JobSavepoints | None = field(default=None, init=False)
    """Writes savepoints of the job; set once a query is prepared."""

    def __post_init__(self, sinks: Sequence[SinkTransformation]) -> None:
        # A copy, as the user may change the environment for the next job
        self.config = config = copy(self.config)
        plan, logLevel = self.plan, logging.getLogger().getEffectiveLevel()
        self.graph = JobGraph(StreamGraph.of(sinks, plan.identities))
        plan.keepPlaces(self.graph)
        given = config.parallelism or plan.noted("parallelism")
        settings = task_settings(
            graph=self.graph,
            config=config,
            parallelism=given or default_parallelism(self.session),
            maxParallelism=plan.noted("maxParallelism"),
            keyGroups=plan.noted("keyGroups"),
            batch=self.batch,
            earlierHashes=plan.earlierHashes,
        )
        self.settings = replace(settings, logLevel=logLevel)
        self._files = sink_files(self.session, self.graph)
        self._alignments = Alignments(self.graph)
        self._results = DriverResults()
        history = BatchHistory(history_log(self.storage) if self.given else None)
        offsets = _group_offsets(self.graph, self.storage)
        self.monitor = QueryMonitor(self.graph, MetricsTotals(), history, offsets.batchCommitted)
        self._delivery: Delivery | None = None

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Prepare the session for starting a query inside the block: with the query's settings, and
        without another job that takes its name."""
        parallelism, local = self.settings.parallelism, self.storage.local is not None
        with SETTINGS_LOCK, job_settings(self.session, parallelism, local):
            yield

    def prepared(self) -> QueryRun | BatchRun:
        session, config = self.session, self.config
        run = job_run(session, self.given, self.graph)
        storage, graph = self.storage, self.graph
        frames, streams, control = self.frames(run)
        bounded = [vertex.uid for vertex in graph.sources if vertex.source.bounded]
        ended = {uid: streams[uid] for uid in bounded}
        self.monitor.plans = {
            uid: stream.plan for uid, stream in streams.items() if stream.plan is not None
        }
        sinks = self._sinks(run, streams)
        self._delivery = delivery = delivery_of(session, storage, sinks)
        self.savepoints = self._savepoints(streams)
        unbounded = len(bounded) < len(graph.sources)
        interval = None if self.single else config.triggerIntervalOf(unbounded)
        writer = query_writer(frames, delivery, self.storage.child("query"), interval)
        if self.name.strip():
            writer = writer.queryName(_query_name(session, self.name))
        at_end = ExitStack()
        at_end.callback(sinks.close)
        at_end.callback(close_open_tasks, session, run, self.graph)
        rows = any(stream.decoder.takesRows for stream in streams.values())
        start = writer.start if rows else partial(_started_of_frames, session, writer)
        return QueryRun(
            begin=start,
            bounded=tuple(s.path or "" for s in ended.values() if not s.endsItself),
            logs=tuple(s.plan for s in ended.values() if s.plan is not None and not s.whole),
            planned=frozenset(
                u for u, s in ended.items() if s.planner is not None and s.plan is None
            ),
            unbounded=unbounded,
            storage=storage,
            control=control,
            sinks=sinks,
            delivery=delivery,
            atEnd=at_end.close,
            single=self.single,
        )

    def restarted(self, needsElements: bool) -> QueryRun | BatchRun:
        """Start a query that continues from the checkpoint. ``needsElements``: from now on elements
        are not folded before a shuffle."""
        if needsElements:
            self.settings = replace(self.settings, foldsBeforeShuffle=False)
        with self.starting():
            run = self.prepared()
            run.start()
            return run

    def _last_batch(self) -> int | None:
        return None if self._delivery is None else self._delivery.lastBatch()

    def writeSavepoint(self, directory: str, batch: int) -> None:
        """Write a savepoint of a committed batch of the job, which is not running."""
        with self.starting():
            _, streams, _ = self.frames(None)
        self._savepoints(streams).writeBatch(directory, batch, self.name)

    def frames(
        self, run: JobRun | None
    ) -> tuple[DataFrame, dict[str, SourceStream], ControlStream]:
        """The frames for the sinks of the job as a streaming DataFrame, with the sources and the
        control stream of the query."""
        session, storage, graph = self.session, self.storage, self.graph
        aligned = self._alignments.ofSource
        positions = self.plan.positions
        reader = SourceReader(
            session, storage, self.config, alignments=aligned, positions=positions
        )
        with self.settings.classes.current():
            sources = reader.streams(graph)
            check_aligned(sources, aligned)
            whole = all(stream.whole or stream.endsItself for stream in sources.values())
            control = ControlStream(storage, endWithFirstBatch=whole)
            signals = control.stream(session)
            frames = translate(graph, sources, signals, self.settings, self._files, run)
        return frames, sources, control

    def _savepoints(self, streams: Mapping[str, SourceStream]) -> JobSavepoints:
        return JobSavepoints(
            session=self.session,
            storage=self.storage,
            plan=self.plan,
            graph=self.graph,
            settings=self.settings,
            sources=streams,
            lastBatch=self._last_batch,
        )

    def _sinks(self, run: JobRun | None, streams: Mapping[str, SourceStream]) -> BatchSinks:
        unplanned = {uid for uid, stream in streams.items() if stream.planner is None}
        uncertain = frozenset(
            vertex.uid
            for vertex in self.graph.sinks
            if any(edge.source.uid in unplanned for edge in vertex.inputs)
        )
        return BatchSinks(
            vertices=self.graph.sinks,
            metrics=self.monitor.metrics,
            plan=self.plan,
            storage=self.storage,
            files=self._files,
            tasks=SinkTasks(run, self.settings.parallelism, uncertain),
            results=self._results,
            elementsHidden=self.config.elementsHiddenInErrors,
            batchBegan=self.monitor.beginBatch,
            batchEnded=self._end_batch,
        )

    def _end_batch(self, number: int, began: float, stages: float, ended: float) -> None:
        self.monitor.endBatch(number, began, stages, ended)
        local = self.storage.local
        if self._alignments.ofSource and local is not None:
            note_watermarks(local, self._alignments.watermarks(self.monitor.metrics))


class BatchQueries(Queries):
    """Creates the batch query of a job in BATCH mode; a restart begins from the start of the input."""

    batch = True

    def prepared(self) -> BatchRun:
        session, graph, settings = self.session, self.graph, self.settings
        reader = SourceReader(session, self.storage, self.config, batch=True)
        with settings.classes.current():
            sources = reader.streams(graph)
            control = session.range(1).selectExpr(f"'{END_OF_INPUT}' AS value")
            frames = translate(graph, sources, control, settings, self._files)
        return BatchRun(session, frames, self._sinks(None, sources))


def _started_of_frames(session: SparkSession, writer: DataStreamWriter) -> StreamingQuery:
    with frame_settings(session):
        return writer.start()


def warn_of_open_windows(graph: JobGraph, streams: Mapping[str, SourceStream]) -> None:
    """Warn of windows that a user's query leaves open when it stops before the end of the input has come."""
    unended = [
        vertex.head.name
        for vertex in graph.sources
        for stream in (streams[vertex.uid],)
        if not (vertex.source.bounded and (stream.whole or stream.endsItself))
    ]
    windows = [
        node.name
        for vertex in graph.vertices
        for node in vertex.operators
        if isinstance(node.operator, WindowOperatorDescription)
        and node.operator.assigner.isEventTime()
    ]
    if unended and windows:
        _LOG.warning(
            "toDataFrame: the end of %s does not reach a query of your own, so one that stops, as with"
            " trigger(availableNow=True), leaves out the windows of %s that are open then. They come when the query"
            " goes on with later elements, or from env.execute() with forEachBatchDataFrame(...), over bounded input.",
            ", ".join(unended),
            ", ".join(windows),
        )


def _group_offsets(graph: JobGraph, storage: CheckpointStorage) -> GroupOffsets:
    groups = {v.uid: ConsumerGroup.of(v.head.content) for v in graph.sources}
    return GroupOffsets(
        {
            uid: (group, f"{storage.local}/sources/{uid}/plan")
            for uid, group in groups.items()
            if group is not None
        }
    )


def _query_name(session: SparkSession, jobName: str) -> str:
    """The name of the job, with a number if the session has an active query of that name."""
    taken = {query.name for query in session.streams.active}
    names = chain([jobName], (f"{jobName} ({number})" for number in count(2)))
    return next(name for name in names if name not in taken)


class GroupOffsets:
    """Commits the steps that Spark has committed. ``groups`` has the consumer groups of sources by
    uid, each with the directory of the source's plan log, if it has one."""

    def __init__(self, groups: Mapping[str, tuple[ConsumerGroup, str]]) -> None:
        self._groups = groups
        self._committed: dict[str, int] = {}

    def batchCommitted(self, progress: Mapping[str, Any]) -> None:
        """Called with the progress of each finished batch."""
        if not self._groups:
            return
        for source in progress["sources"]:
            offset = PlannedOffset.of(source["endOffset"])
            if offset is None or not offset.number or offset.source not in self._groups:
                continue
            if self._committed.get(offset.source) != offset.number:
                group, log = self._groups[offset.source]
                whole = offset.whole
                group.commit(PlanLog(log).read(offset.number) if whole is None else whole.step)
                self._committed[offset.source] = offset.number
