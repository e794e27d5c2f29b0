"""Runs the jobs of an environment in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from flinkish.api.environment.environment import StreamExecutionEnvironment
from flinkish.api.errors import NotSupportedError
from flinkish.api.plan.transformations import SinkTransformation
from flinkish.api.savepoint.queries import StateQuery
from flinkish.api.savepoint.writer import SavepointChanges
from flinkish.api.streams.data_stream import DataStream
from flinkish.deployment.brokers import ask_brokers
from flinkish.deployment.explained_plan import explained_plan
from flinkish.deployment.savepoint.files import SavepointDirectory
from flinkish.deployment.savepoint.metadata import check_streams
from flinkish.deployment.task_settings import runs_as_batch, task_settings
from flinkish.graph.identities import NO_IDENTITIES
from flinkish.graph.job_graph import JobGraph
from flinkish.graph.job_plan import JobPlan
from flinkish.graph.stream_graph import StreamGraph
from flinkish.local.job import LocalJob, LocalJobClient
from flinkish.local.savepoint import LocalSavepoint
from flinkish.local.savepoint_state import SavedRows, write_changed_savepoint


class LocalPipelineExecutor:
    """Starts jobs in threads of this process (Flink: ``LocalExecutor``)."""

    def executeAsync(
        self,
        environment: StreamExecutionEnvironment,
        sinks: Sequence[SinkTransformation],
        jobName: str,
    ) -> LocalJobClient:
        config = environment.getConfig()
        begin = environment.getSavepointRestoreSettings()
        path = begin.getRestorePath()
        savepoint = None if path is None else LocalSavepoint(path)
        stream_graph = StreamGraph.of(
            sinks, NO_IDENTITIES if savepoint is None else savepoint.metadata.identities
        )
        batch = runs_as_batch(stream_graph, config.runtimeMode)
        if savepoint is not None:
            check_streams(batch)
        ask_brokers(stream_graph)
        graph = JobGraph(stream_graph)
        # One by default: the elements of all keys stay in order
        parallelism = config.parallelism or 1
        settings = task_settings(graph, config, parallelism, batch=batch)
        if savepoint is not None:
            with settings.classes.current():
                savepoint.restore(graph, settings, begin.allowNonRestoredState())
        return LocalJobClient(jobName, LocalJob(jobName, graph, settings, config, savepoint))

    def toDataFrame(
        self, environment: StreamExecutionEnvironment, stream: DataStream[Any], schema: Any
    ) -> NoReturn:
        raise NotSupportedError(
            "toDataFrame: a DataFrame is Spark's, and this job runs without Spark. Leave"
            " setLocalExecution out, or call executeAndCollect()."
        )

    def readSavepoint(
        self, environment: StreamExecutionEnvironment, savepointPath: str, query: StateQuery
    ) -> SavedRows:
        return SavedRows(SavepointDirectory("SavepointReader.read", savepointPath), query)

    def writeSavepoint(
        self,
        environment: StreamExecutionEnvironment,
        changes: SavepointChanges,
        savepointPath: str,
    ) -> None:
        write_changed_savepoint(environment.getConfig(), changes, savepointPath)

    def plan(
        self, environment: StreamExecutionEnvironment, sinks: Sequence[SinkTransformation]
    ) -> JobPlan:
        enabled = environment.getConfig().isFunctionTracingEnabled()
        return explained_plan(JobGraph(StreamGraph.of(sinks)), enabled)
