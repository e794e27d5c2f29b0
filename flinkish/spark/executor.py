"""Runs the jobs of an environment on Spark."""

from __future__ import annotations

import atexit
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from flinkish.api.connectors.sink import DataFrameSink
from flinkish.api.connectors.source import Source
from flinkish.api.environment.configuration import ExecutionConfig
from flinkish.api.environment.environment import StreamExecutionEnvironment
from flinkish.api.errors import FlinkishError
from flinkish.api.plan.transformations import SinkTransformation
from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.api.savepoint.queries import StateQuery
from flinkish.api.savepoint.writer import SavepointChanges
from flinkish.api.streams.data_stream import DataStream
from flinkish.deployment.alignments import Alignments
from flinkish.deployment.brokers import ask_brokers
from flinkish.deployment.explained_plan import explained_plan
from flinkish.deployment.interrupts import plain_interrupts
from flinkish.deployment.restarts import restart_backoff
from flinkish.deployment.runtime_mode import runs_as_batch
from flinkish.deployment.savepoint.metadata import check_streams
from flinkish.deployment.status.batch_history import BatchHistory
from flinkish.deployment.status.job_details import JobDetailsView
from flinkish.deployment.task_settings import task_settings
from flinkish.graph.job_graph import JobGraph
from flinkish.graph.job_plan import JobPlan
from flinkish.graph.stream_graph import StreamGraph
from flinkish.runtime.kafka.group import ConsumerGroup
from flinkish.runtime.metrics_totals import MetricsTotals
from flinkish.runtime.sinks.driver_results import DriverResults
from flinkish.runtime.sinks.part_files import PartFiles
from flinkish.runtime.task.plan import TaskSettings
from flinkish.runtime.task.stage import METRICS
from flinkish.runtime.task.store import JobRun
from flinkish.spark.batch_run import BatchRun
from flinkish.spark.checkpoint.plan import CheckpointPlan
from flinkish.spark.checkpoint.retention import CheckpointRetention
from flinkish.spark.checkpoint.shared_directory import check_shared
from flinkish.spark.checkpoint.storage import CheckpointStorage
from flinkish.spark.checkpoint_state import restore_path
from flinkish.spark.control import ControlStream
from flinkish.spark.failures import session_error
from flinkish.spark.job import SparkJobClient
from flinkish.spark.open_tasks import close_open_tasks, job_run
from flinkish.spark.profiled_batches import spark_ui
from flinkish.spark.query_run import JobSources, QueryRun, query_writer
from flinkish.spark.savepoint import JobSavepoints, SparkSavepoint
from flinkish.spark.savepoint_state import read_savepoint, write_savepoint
from flinkish.spark.session.drivers import driver_of
from flinkish.spark.session.quiet_logs import quiet_py4j
from flinkish.spark.session.session import (
    SETTINGS_LOCK,
    batch_settings,
    default_parallelism,
    frame_settings,
    job_settings,
    set_job_settings,
)
from flinkish.spark.session.workers import prepared_session
from flinkish.spark.sinks.batch_sinks import BatchSinks, sink_files, to_columns
from flinkish.spark.sinks.columns import sink_schema
from flinkish.spark.sinks.delivery import Delivery, delivery_of
from flinkish.spark.sinks.task_writers import SinkTasks
from flinkish.spark.sources.aligned_watermarks import note_watermarks
from flinkish.spark.sources.function import END_OF_INPUT
from flinkish.spark.sources.group_offsets import GroupOffsets
from flinkish.spark.sources.reader import (
    SourceReader,
    SourceStream,
    check_aligned,
    reads_planned,
)
from flinkish.spark.status.checkpoint_history import history_log
from flinkish.spark.status.query_monitor import QueryMonitor
from flinkish.spark.translation import translate, translate_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter


_LOG = logging.getLogger("flinkish")


class SparkPipelineExecutor:
    """Translates and starts jobs (Flink: a ``PipelineExecutor``)."""

    def executeAsync(
        self,
        environment: StreamExecutionEnvironment,
        sinks: Sequence[SinkTransformation],
        jobName: str,
    ) -> SparkJobClient:
        """Start the job that ends in ``sinks``."""
        config = environment.getConfig()
        stream_graph = StreamGraph.of(sinks)
        batch = runs_as_batch(stream_graph, config.runtimeMode)
        # A batch has no checkpoints, as in Flink
        given = None if batch else environment.getCheckpointConfig().getCheckpointStorage()
        with plain_interrupts(), quiet_py4j():
            session = prepared_session(environment._sparkSession)
            driver = driver_of(session)
            if driver.reachesWorkers:
                ask_brokers(stream_graph)
            directory, clean_up = _checkpoint_directory(session, given)
            at_end = ExitStack()
            at_end.callback(clean_up)
            try:
                at_end.enter_context(driver.quietLoggers())
                storage = CheckpointStorage(session, directory)
                storage.create()
                plan = CheckpointPlan(storage)
                parallelism = _parallelism(session, environment, plan)
                retention = None
                if given is not None:
                    kept = environment.getCheckpointConfig().getExternalizedCheckpointRetention()
                    retention = CheckpointRetention(session, storage, kept)
                savepoint = _savepoint(session, environment, plan, sinks, storage, batch)
                graph, settings = _graph(config, sinks, plan, parallelism, batch)
                if not batch or reads_planned(graph):
                    check_shared(session, storage)
                queries = (_Batches if batch else _Queries)(
                    session, config, storage, plan, graph, settings, given, jobName
                )
                with queries.starting():
                    _bring(session, savepoint, environment, graph, settings, storage)
                    plan.goOn(session, graph, settings)
                    run = queries.prepared()
                    view = JobDetailsView(
                        graph=graph,
                        settings=settings,
                        monitor=queries.monitor,
                        config=config,
                        directory=given,
                        checkpointed=not batch,
                        engineUI=spark_ui(session),
                    )
                    return SparkJobClient(
                        name=jobName,
                        session=session,
                        run=run,
                        restart=queries.restarted,
                        backoff=restart_backoff(config.getRestartStrategy()),
                        monitor=queries.monitor,
                        view=view,
                        savepoints=queries.savepoints,
                        checkpoint=given,
                        elementsHidden=config.elementsHiddenInErrors,
                        cleanUp=at_end.close,
                        retention=retention,
                    )
            except BaseException as error:
                at_end.close()
                known = isinstance(error, (FlinkishError, KeyboardInterrupt))
                if known or not driver.isGone():
                    raise
                raise driver.goneError() from None

    def toDataFrame(
        self, environment: StreamExecutionEnvironment, stream: DataStream[Any], schema: Any
    ) -> DataFrame:
        """``stream`` as a streaming DataFrame."""
        sink = SinkTransformation("toDataFrame", DataFrameSink(schema), stream.getTransformation())
        given = environment.getCheckpointConfig().getCheckpointStorage()
        session = prepared_session(environment._sparkSession)
        directory, clean_up = _checkpoint_directory(session, given)
        # Only the user knows when the query ends, so the directory is removed at exit.
        atexit.register(clean_up)
        driver_of(session).quietState()
        # The query starts later, so these settings stay in the session.
        storage = CheckpointStorage(session, directory)
        storage.create()
        plan = CheckpointPlan(storage)
        parallelism = _parallelism(session, environment, plan)
        set_job_settings(session, parallelism)
        config = environment.getConfig()
        savepoint = _savepoint(session, environment, plan, [sink], storage)
        graph, settings = _graph(config, [sink], plan, parallelism)
        # The query is the user's, so flinkish cannot run a batch again element by element
        settings = replace(settings, foldsBeforeShuffle=False)
        check_shared(session, storage)
        _bring(session, savepoint, environment, graph, settings, storage)
        plan.goOn(session, graph, settings)
        run = job_run(session, given, graph)
        alignments = Alignments(graph)
        with settings.classes.current():
            frames, streams, _ = _frames(
                session, config, storage, plan, graph, settings, {}, run, alignments
            )
        _warn_of_open_windows(graph, streams)
        columns = sink_schema(graph.sinks[0].head)
        assert columns is not None
        return to_columns(frames.filter(frames["target"] != METRICS), columns)

    def readSavepoint(
        self, environment: StreamExecutionEnvironment, savepointPath: str, query: StateQuery
    ) -> DataFrame:
        """The answer of ``query`` as a DataFrame."""
        with plain_interrupts(), quiet_py4j():
            session = prepared_session(environment._sparkSession)
            return read_savepoint(session, savepointPath, query)

    def writeSavepoint(
        self,
        environment: StreamExecutionEnvironment,
        changes: SavepointChanges,
        savepointPath: str,
    ) -> None:
        """Write the savepoint that ``changes`` describe."""
        config = environment.getConfig()
        with plain_interrupts(), quiet_py4j():
            session = prepared_session(environment._sparkSession)
            with driver_of(session).quietLoggers():
                try:
                    write_savepoint(session, config, changes, savepointPath)
                except Exception as error:
                    raise session_error(session, error, config.elementsHiddenInErrors) from None

    def plan(
        self, environment: StreamExecutionEnvironment, sinks: Sequence[SinkTransformation]
    ) -> JobPlan:
        """The plan of the job that ends in ``sinks``."""
        enabled = environment.getConfig().isFunctionTracingEnabled()
        return explained_plan(JobGraph(StreamGraph.of(sinks)), enabled)


def _warn_of_open_windows(graph: JobGraph, streams: Mapping[str, SourceStream]) -> None:
    """Warn of windows that a user's query leaves open when it stops before the end of the input has come."""
    unended = [
        vertex.head.name
        for vertex in graph.sources
        for stream in (streams[vertex.uid],)
        if not (_source(vertex.head.content).bounded and (stream.whole or stream.endsItself))
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


class _Queries:
    """Creates the query of a job, once for its start and once for each restart."""

    def __init__(
        self,
        session: SparkSession,
        config: ExecutionConfig,
        storage: CheckpointStorage,
        plan: CheckpointPlan,
        graph: JobGraph,
        settings: TaskSettings,
        given: str | None,
        jobName: str,
    ) -> None:
        self._session = session
        # A copy, as the user may change the environment for the next job
        self._config = copy(config)
        self._storage = storage
        self._plan = plan
        self._graph = graph
        self._settings = settings
        self._given = given
        self._name = jobName
        self._files = sink_files(session, graph)
        self._alignments = Alignments(graph)
        self._results = DriverResults()
        history = BatchHistory(history_log(storage) if given else None)
        offsets = _group_offsets(graph, storage)
        self.monitor = QueryMonitor(graph, MetricsTotals(), history, offsets.batchCommitted)
        self._delivery: Delivery | None = None
        self.savepoints: JobSavepoints | None = None
        """Writes savepoints of the job; set once a query is prepared."""

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Prepare the session for starting a query inside the block: with the query's settings, and
        without another job that takes its name."""
        parallelism, local = self._settings.parallelism, self._storage.isLocal
        with SETTINGS_LOCK, job_settings(self._session, parallelism, local):
            yield

    def prepared(self) -> QueryRun | BatchRun:
        """A query that continues from the checkpoint."""
        session, config, metrics = self._session, self._config, self.monitor.metrics
        run = job_run(session, self._given, self._graph)
        storage, plan, graph, settings = self._storage, self._plan, self._graph, self._settings
        with settings.classes.current():
            frames, streams, control = _frames(
                session, config, storage, plan, graph, settings, self._files, run, self._alignments
            )
        sources = _job_sources(graph, streams)
        self.monitor.plans = {
            uid: stream.plan for uid, stream in streams.items() if stream.plan is not None
        }
        sinks = self._sinks(run, streams)
        self._delivery = delivery = delivery_of(session, storage, sinks)
        self.savepoints = JobSavepoints(
            session=session,
            storage=storage,
            plan=plan,
            graph=graph,
            settings=settings,
            sources=streams,
            lastBatch=self._last_batch,
        )
        unbounded = not all(_source(vertex.head.content).bounded for vertex in graph.sources)
        interval = config.triggerIntervalOf(unbounded)
        writer = query_writer(frames, delivery, self._storage.child("query"), interval)
        if self._name.strip():
            writer = writer.queryName(_query_name(session, self._name))
        at_end = ExitStack()
        at_end.callback(sinks.close)
        at_end.callback(close_open_tasks, session, run, self._graph)
        rows = any(stream.decoder.takesRows for stream in streams.values())
        start = writer.start if rows else partial(_started_of_frames, session, writer)
        return QueryRun(
            start=start,
            sources=sources,
            storage=storage,
            control=control,
            sinks=sinks,
            delivery=delivery,
            metrics=metrics,
            cleanUp=at_end.close,
        )

    def restarted(self, needsElements: bool) -> QueryRun | BatchRun:
        """Start a query that continues from the checkpoint. ``needsElements``: from now on elements
        are not folded before a shuffle."""
        if needsElements:
            self._settings = replace(self._settings, foldsBeforeShuffle=False)
        with self.starting():
            run = self.prepared()
            run.start()
            return run

    def _last_batch(self) -> int | None:
        return None if self._delivery is None else self._delivery.lastBatch()

    def _sinks(self, run: JobRun | None, streams: Mapping[str, SourceStream]) -> BatchSinks:
        unplanned = {uid for uid, stream in streams.items() if stream.planner is None}
        uncertain = frozenset(
            vertex.uid
            for vertex in self._graph.sinks
            if any(edge.source.uid in unplanned for edge in vertex.inputs)
        )
        return BatchSinks(
            vertices=self._graph.sinks,
            metrics=self.monitor.metrics,
            plan=self._plan,
            storage=self._storage,
            files=self._files,
            tasks=SinkTasks(run, self._settings.parallelism, uncertain),
            results=self._results,
            elementsHidden=self._config.elementsHiddenInErrors,
            batchBegan=self.monitor.beginBatch,
            batchEnded=self._end_batch,
        )

    def _end_batch(self, number: int, began: float, stages: float, ended: float) -> None:
        self.monitor.endBatch(number, began, stages, ended)
        local = self._storage.localPath
        if self._alignments.ofSource and local is not None:
            note_watermarks(local, self._alignments.watermarks(self.monitor.metrics))


class _Batches(_Queries):
    """Creates the batch query of a job in BATCH mode; a restart begins from the start of the input."""

    def prepared(self) -> BatchRun:
        session, config = self._session, self._config
        reader = SourceReader(
            session, self._storage, config.elementsPerBatch, config.elementsHiddenInErrors, True
        )
        graph, settings = self._graph, self._settings
        with settings.classes.current():
            sources = {
                v.uid: reader.streamOf(_source(v.head.content), v.uid) for v in graph.sources
            }
            control = session.range(1).selectExpr(f"'{END_OF_INPUT}' AS value")
            frames = translate_batch(graph, sources, control, settings, self._files)
        return BatchRun(
            session, frames, self._sinks(None, sources), partial(batch_settings, session)
        )


def _started_of_frames(session: SparkSession, writer: DataStreamWriter) -> StreamingQuery:
    """Start a query over frames only."""
    with frame_settings(session):
        return writer.start()


def _savepoint(
    session: SparkSession,
    environment: StreamExecutionEnvironment,
    plan: CheckpointPlan,
    sinks: Sequence[SinkTransformation],
    storage: CheckpointStorage,
    batch: bool = False,
) -> SparkSavepoint | None:
    """The savepoint that a job begins from, None if it has a checkpoint already."""
    path = environment.getSavepointRestoreSettings().getRestorePath()
    if path is None or not plan.isNew:
        return None
    check_streams(batch)
    config = environment.getConfig()
    savepoint = SparkSavepoint(session, restore_path(session, config, sinks, path, storage))
    plan.beginFrom(savepoint.metadata)
    return savepoint


def _bring(
    session: SparkSession,
    savepoint: SparkSavepoint | None,
    environment: StreamExecutionEnvironment,
    graph: JobGraph,
    settings: TaskSettings,
    storage: CheckpointStorage,
) -> None:
    """Write the state of ``savepoint`` into the checkpoint before its plan: a checkpoint with a plan is one to
    continue from."""
    if savepoint is None:
        return
    allowed = environment.getSavepointRestoreSettings().allowNonRestoredState()
    try:
        with settings.classes.current():
            savepoint.bring(savepoint.restoration(graph, settings, allowed), storage)
    except Exception as error:
        hidden = environment.getConfig().elementsHiddenInErrors
        raise session_error(session, error, hidden) from None


def _graph(
    config: ExecutionConfig,
    sinks: Sequence[SinkTransformation],
    plan: CheckpointPlan,
    parallelism: int,
    batch: bool = False,
) -> tuple[JobGraph, TaskSettings]:
    graph = JobGraph(StreamGraph.of(sinks, plan.identities))
    plan.keepPlaces(graph)
    settings = task_settings(
        graph=graph,
        config=config,
        parallelism=parallelism,
        maxParallelism=plan.maxParallelism,
        keyGroups=plan.keyGroups,
        batch=batch,
        earlierHashes=plan.earlierHashes,
    )
    return graph, replace(settings, logLevel=logging.getLogger().getEffectiveLevel())


def _frames(
    session: SparkSession,
    config: ExecutionConfig,
    storage: CheckpointStorage,
    plan: CheckpointPlan,
    graph: JobGraph,
    settings: TaskSettings,
    files: Mapping[str, PartFiles],
    run: JobRun | None,
    alignments: Alignments,
) -> tuple[DataFrame, dict[str, SourceStream], ControlStream]:
    """The frames for the sinks of ``graph`` as a streaming DataFrame, with the sources and the
    control stream of the query."""
    aligned, hidden = alignments.ofSource, config.elementsHiddenInErrors
    reader = SourceReader(
        session,
        storage,
        config.elementsPerBatch,
        hidden,
        alignments=aligned,
        positions=plan.positions,
    )
    sources = {v.uid: reader.streamOf(_source(v.head.content), v.uid) for v in graph.sources}
    check_aligned(sources, aligned)
    whole = all(stream.whole or stream.endsItself for stream in sources.values())
    control = ControlStream(storage, endWithFirstBatch=whole)
    frames = translate(
        graph=graph,
        sources=sources,
        control=control.stream(session),
        settings=settings,
        files=files,
        run=run,
    )
    return frames, sources, control


def _checkpoint_directory(
    session: SparkSession, given: str | None
) -> tuple[str, Callable[[], None]]:
    """The directory of the checkpoint, and a function that removes it if it is a temporary one."""
    if given is not None:
        return given, lambda: None
    place = driver_of(session).temporaryPlace()
    return place.uri, place.remove


def _group_offsets(graph: JobGraph, storage: CheckpointStorage) -> GroupOffsets:
    groups = {v.uid: ConsumerGroup.of(v.head.content) for v in graph.sources}
    return GroupOffsets(
        {
            uid: (group, f"{storage.localPath}/sources/{uid}/plan")
            for uid, group in groups.items()
            if group is not None
        }
    )


def _parallelism(
    session: SparkSession, environment: StreamExecutionEnvironment, plan: CheckpointPlan
) -> int:
    """The parallelism set by the user, else that of the checkpoint, else that of the session."""
    given = environment.getConfig().parallelism or plan.parallelism
    return given or default_parallelism(session)


def _query_name(session: SparkSession, jobName: str) -> str:
    """The name of the job, with a number if the session has an active query of that name."""
    taken = {query.name for query in session.streams.active}
    names = chain([jobName], (f"{jobName} ({number})" for number in count(2)))
    return next(name for name in names if name not in taken)


def _job_sources(graph: JobGraph, streams: dict[str, SourceStream]) -> JobSources:
    bounded = [v for v in graph.sources if _source(v.head.content).bounded]
    ended = [streams[vertex.uid] for vertex in bounded]
    paths = tuple(stream.path or "" for stream in ended if not stream.endsItself)
    logs = tuple(stream.log for stream in ended if stream.log is not None)
    planned = frozenset(
        vertex.uid
        for vertex, stream in zip(bounded, ended)
        if stream.planner is not None and stream.plan is None
    )
    return JobSources(paths, logs, planned, unbounded=len(bounded) < len(graph.sources))


def _source(content: Any) -> Source[Any]:
    assert isinstance(content, Source)
    return content
