"""Runs the jobs of an environment on Spark."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flinkish.api.connectors.sink import DataFrameSink
from flinkish.api.environment.environment import StreamExecutionEnvironment
from flinkish.api.errors import FlinkishError
from flinkish.api.plan.transformations import SinkTransformation
from flinkish.api.savepoint.queries import StateQuery
from flinkish.api.savepoint.writer import SavepointChanges
from flinkish.api.streams.data_stream import DataStream
from flinkish.deployment.brokers import ask_brokers
from flinkish.deployment.explained_plan import explained_plan
from flinkish.deployment.interrupts import plain_interrupts
from flinkish.deployment.savepoint.metadata import check_streams
from flinkish.deployment.task_settings import runs_as_batch
from flinkish.graph.job_graph import JobGraph
from flinkish.graph.job_plan import JobPlan
from flinkish.graph.stream_graph import StreamGraph
from flinkish.runtime.task.stage import METRICS
from flinkish.spark.checkpoint.plan import CheckpointPlan
from flinkish.spark.checkpoint.retention import CheckpointRetention
from flinkish.spark.checkpoint.shared_directory import check_shared
from flinkish.spark.checkpoint.storage import CheckpointStorage
from flinkish.spark.checkpoint_state import restore_path
from flinkish.spark.failures import session_error
from flinkish.spark.job import SparkJobClient
from flinkish.spark.open_tasks import job_run
from flinkish.spark.queries import BatchQueries, Queries, warn_of_open_windows
from flinkish.spark.savepoint import SparkSavepoint
from flinkish.spark.savepoint_state import read_savepoint, write_savepoint
from flinkish.spark.session.drivers import driver_of, prepared_session
from flinkish.spark.session.quiet_logs import quiet_py4j
from flinkish.spark.session.session import set_job_settings
from flinkish.spark.sinks.batch_sinks import sink_schema, to_columns
from flinkish.spark.sources.reader import reads_planned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkPipelineExecutor:
    """Translates and starts jobs (Flink: a ``PipelineExecutor``)."""

    def executeAsync(
        self,
        environment: StreamExecutionEnvironment,
        sinks: Sequence[SinkTransformation],
        jobName: str,
    ) -> SparkJobClient:
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
                retention = None
                if given is not None:
                    kept = environment.getCheckpointConfig().getExternalizedCheckpointRetention()
                    retention = CheckpointRetention(session, storage, kept)
                savepoint = _savepoint(session, environment, plan, sinks, storage, jobName, batch)
                queries = (BatchQueries if batch else Queries)(
                    session, config, storage, plan, sinks, given, jobName
                )
                if not batch or reads_planned(queries.graph):
                    check_shared(session, storage)
                with queries.starting():
                    _bring(savepoint, environment, queries)
                    return SparkJobClient(queries, at_end.close, retention)
            except BaseException as error:
                at_end.close()
                known = isinstance(error, (FlinkishError, KeyboardInterrupt))
                if known or not driver.isGone():
                    raise
                raise driver.goneError() from None

    def toDataFrame(
        self, environment: StreamExecutionEnvironment, stream: DataStream[Any], schema: Any
    ) -> DataFrame:
        sink = SinkTransformation("toDataFrame", DataFrameSink(schema), stream.getTransformation())
        given = environment.getCheckpointConfig().getCheckpointStorage()
        session = prepared_session(environment._sparkSession)
        directory, clean_up = _checkpoint_directory(session, given)
        # Only the user knows when the query ends, so the directory is removed at exit.
        atexit.register(clean_up)
        driver_of(session).quietState()
        storage = CheckpointStorage(session, directory)
        storage.create()
        plan = CheckpointPlan(storage)
        savepoint = _savepoint(session, environment, plan, [sink], storage)
        config = environment.getConfig()
        queries = Queries(session, config, storage, plan, [sink], given, "")
        # The query starts later, so these settings stay in the session.
        set_job_settings(session, queries.settings.parallelism)
        # The query is the user's, so flinkish cannot run a batch again element by element
        queries.settings = replace(queries.settings, foldsBeforeShuffle=False)
        check_shared(session, storage)
        _bring(savepoint, environment, queries)
        frames, streams, _ = queries.frames(job_run(session, given, queries.graph))
        warn_of_open_windows(queries.graph, streams)
        columns = sink_schema(queries.graph.sinks[0].head)
        assert columns is not None
        return to_columns(frames.filter(frames["target"] != METRICS), columns)

    def readSavepoint(
        self, environment: StreamExecutionEnvironment, savepointPath: str, query: StateQuery
    ) -> DataFrame:
        with plain_interrupts(), quiet_py4j():
            session = prepared_session(environment._sparkSession)
            return read_savepoint(session, savepointPath, query)

    def writeSavepoint(
        self, environment: StreamExecutionEnvironment, changes: SavepointChanges, savepointPath: str
    ) -> None:
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
        enabled = environment.getConfig().isFunctionTracingEnabled()
        return explained_plan(JobGraph(StreamGraph.of(sinks)), enabled)


def _savepoint(
    session: SparkSession,
    environment: StreamExecutionEnvironment,
    plan: CheckpointPlan,
    sinks: Sequence[SinkTransformation],
    storage: CheckpointStorage,
    jobName: str | None = None,
    batch: bool = False,
) -> SparkSavepoint | None:
    """The savepoint that a job without a checkpoint begins from, if any."""
    begin = environment.getSavepointRestoreSettings()
    if not begin.restoreSavepoint() or not plan.isNew:
        return None
    check_streams(batch)
    path = restore_path(session, environment.getConfig(), sinks, begin, storage, jobName)
    savepoint = SparkSavepoint(session, path)
    plan.beginFrom(savepoint.metadata)
    return savepoint


def _bring(
    savepoint: SparkSavepoint | None, environment: StreamExecutionEnvironment, queries: Queries
) -> None:
    """Write the state of ``savepoint``, if any, into the checkpoint, and then its plan, which ends that."""
    session, graph, settings = queries.session, queries.graph, queries.settings
    if savepoint is not None:
        allowed = environment.getSavepointRestoreSettings().allowNonRestoredState()
        try:
            with settings.classes.current():
                savepoint.bring(graph, settings, allowed, queries.storage)
        except Exception as error:
            hidden = environment.getConfig().elementsHiddenInErrors
            raise session_error(session, error, hidden) from None
    queries.plan.goOn(session, graph, settings)


def _checkpoint_directory(
    session: SparkSession, given: str | None
) -> tuple[str, Callable[[], None]]:
    """The directory of the checkpoint, and a function that removes it if it is a temporary one."""
    if given is not None:
        return given, lambda: None
    place = driver_of(session).temporaryPlace()
    return place.uri, place.remove
