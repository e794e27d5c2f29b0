"""Runs the jobs of an environment on Spark."""

from __future__ import annotations

import queue
import shutil
import tempfile
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from flinkish.api.connectors.sink import CollectSink, DataFrameSink
from flinkish.api.connectors.source import Source
from flinkish.api.data_stream import DataStream
from flinkish.api.environment import StreamExecutionEnvironment
from flinkish.api.job import CloseableIterator
from flinkish.api.transformations import SinkTransformation
from flinkish.graph.job_graph import JobGraph
from flinkish.graph.plan import JobPlan
from flinkish.graph.stream_graph import StreamGraph
from flinkish.runtime.metrics_report import MetricsTotals
from flinkish.runtime.task_plan import TaskSettings
from flinkish.spark.checkpoint import check_compatible, parallelism_of
from flinkish.spark.control import ControlStream
from flinkish.spark.job import JobSources, SparkJobClient, query_writer
from flinkish.spark.session import job_settings, session_for, set_job_settings
from flinkish.spark.sink_columns import sink_schema
from flinkish.spark.sinks import BatchSinks, to_columns
from flinkish.spark.sources import SourceReader, SourceStream
from flinkish.spark.storage import CheckpointStorage
from flinkish.spark.translation import translate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")


class SparkPipelineExecutor:
    """Translates and starts jobs (Flink: a ``PipelineExecutor``)."""

    def executeAsync(
        self,
        environment: StreamExecutionEnvironment,
        sinks: Sequence[SinkTransformation],
        jobName: str,
    ) -> SparkJobClient:
        """Start the job that ends in ``sinks``."""
        return self._start(environment, sinks, jobName, lambda values: None)

    def collect(
        self,
        environment: StreamExecutionEnvironment,
        stream: DataStream[T],
        sinks: Sequence[SinkTransformation],
        jobName: str,
    ) -> CloseableIterator[T]:
        """Start the job that ends in ``sinks``, and hand ``stream``'s elements back."""
        collected = SinkTransformation("Collect", CollectSink(), stream.getTransformation())
        results: queue.SimpleQueue[Any] = queue.SimpleQueue()
        client = self._start(environment, [*sinks, collected], jobName, results.put)
        client.whenEnded(lambda error: results.put(_End(error)))
        return CollectedIterator(client, results)

    def toDataFrame(
        self, environment: StreamExecutionEnvironment, stream: DataStream[Any], schema: Any
    ) -> DataFrame:
        """``stream`` as a streaming DataFrame."""
        sink = SinkTransformation("toDataFrame", DataFrameSink(schema), stream.getTransformation())
        directory = environment.getCheckpointConfig().getCheckpointStorage()
        directory = directory or tempfile.mkdtemp(prefix="flinkish-")
        session = session_for(environment._sparkSession)
        # The query is the user's and starts later, so the session keeps what it will need.
        storage = CheckpointStorage(session, directory)
        set_job_settings(session, _parallelism(environment, storage))
        frames, graph, *_ = self._frames(session, environment, [sink], storage)
        columns = sink_schema(graph.sinks[0].head)
        assert columns is not None
        return to_columns(frames.filter(frames["target"] != "metrics"), columns)

    def plan(
        self, environment: StreamExecutionEnvironment, sinks: Sequence[SinkTransformation]
    ) -> JobPlan:
        """The plan of the job that ends in ``sinks``."""
        return JobPlan(JobGraph(StreamGraph.of(sinks)))

    def _start(
        self,
        environment: StreamExecutionEnvironment,
        sinks: Sequence[SinkTransformation],
        jobName: str,
        collected: Callable[[list[Any]], None],
    ) -> SparkJobClient:
        config = environment.getConfig()
        given = environment.getCheckpointConfig().getCheckpointStorage()
        directory = given or tempfile.mkdtemp(prefix="flinkish-")

        def clean_up() -> None:
            if given is None:
                shutil.rmtree(directory, ignore_errors=True)

        try:
            session = session_for(environment._sparkSession)
            storage = CheckpointStorage(session, directory)
            parallelism = _parallelism(environment, storage)
            with job_settings(session, parallelism, storage.isLocal):
                frames, graph, sources, control = self._frames(session, environment, sinks, storage)
                metrics = MetricsTotals()
                batch_sinks = BatchSinks([v.head for v in graph.sinks], metrics, collected)
                checkpoint = storage.child("query")
                writer = query_writer(frames, batch_sinks, checkpoint, config.triggerInterval)
                return SparkJobClient(
                    jobName,
                    writer,
                    sources,
                    control,
                    batch_sinks,
                    metrics,
                    directory,
                    clean_up,
                )
        except BaseException:
            clean_up()
            raise

    def _frames(
        self,
        session: SparkSession,
        environment: StreamExecutionEnvironment,
        sinks: Sequence[SinkTransformation],
        storage: CheckpointStorage,
    ) -> tuple[DataFrame, JobGraph, JobSources, ControlStream]:
        config = environment.getConfig()
        graph = JobGraph(StreamGraph.of(sinks))
        parallelism = int(session.conf.get("spark.sql.shuffle.partitions") or 200)
        _, key_groups = parallelism_of(storage)
        settings = TaskSettings(
            config.maxParallelism or key_groups or max(parallelism * KEY_GROUPS_A_TASK, 1),
            parallelism,
            graph.levels,
            config.autoWatermarkInterval,
        )
        check_compatible(storage, graph, settings)
        reader = SourceReader(session, storage, config.elementsPerBatch)
        sources = {v.uid: reader.streamOf(_source(v.head.content), v.uid) for v in graph.sources}
        whole = all(stream.whole for stream in sources.values())
        control = ControlStream(storage, endWithFirstBatch=whole)
        frames = translate(graph, sources, control.stream(session), settings)
        return frames, graph, _job_sources(graph, sources), control


KEY_GROUPS_A_TASK = 4
"""Key groups for each shuffle partition, if the user does not say how many."""


def _parallelism(environment: StreamExecutionEnvironment, storage: CheckpointStorage) -> int | None:
    """What the user said, else what the checkpoint was begun with; None: Spark's setting."""
    begun, _ = parallelism_of(storage)
    return environment.getConfig().parallelism or begun


class _End:
    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class CollectedIterator(CloseableIterator[T]):
    """Hands out elements as batches bring them."""

    def __init__(self, client: SparkJobClient, results: queue.SimpleQueue[Any]) -> None:
        self._client = client
        self._results = results
        self._values: list[T] = []

    def __next__(self) -> T:
        while not self._values:
            item = self._results.get()
            if isinstance(item, _End):
                self._results.put(item)
                if item.error is not None:
                    raise item.error
                raise StopIteration
            self._values = item[::-1]
        return self._values.pop()

    def close(self) -> None:
        self._values = []
        self._client.cancel()


def _job_sources(graph: JobGraph, streams: dict[str, SourceStream]) -> JobSources:
    bounded = [v for v in graph.sources if _source(v.head.content).bounded]
    paths = tuple(streams[vertex.uid].path or "" for vertex in bounded)
    return JobSources(paths, unbounded=len(bounded) < len(graph.sources))


def _source(content: Any) -> Source[Any]:
    assert isinstance(content, Source)
    return content
