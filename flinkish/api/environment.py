"""``StreamExecutionEnvironment``: where a job begins and from where it is started."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from flinkish.api.config import CheckpointConfig, ExecutionConfig
from flinkish.api.connectors.file_source import FileSource
from flinkish.api.connectors.source import (
    CollectionSource,
    DataFrameSource,
    SequenceSource,
    SocketSource,
    Source,
    SplitLike,
)
from flinkish.api.data_stream import DataStream, DataStreamSource
from flinkish.api.errors import IllegalArgumentError, IllegalStateError
from flinkish.api.execution import PipelineExecutor
from flinkish.api.job import CloseableIterator, JobClient, JobExecutionResult
from flinkish.api.operators import SourceWatermarksDescription
from flinkish.api.row import Row
from flinkish.api.time import TimeLike
from flinkish.api.transformations import SinkTransformation, SourceTransformation
from flinkish.api.types import TypeInformation
from flinkish.api.watermarks import WatermarkStrategy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")


class StreamExecutionEnvironment:
    """Builds jobs and runs them (Flink: ``StreamExecutionEnvironment``).

    ``execute`` runs a job, ``executeAndCollect`` of a stream hands its elements back, and
    ``explain`` shows what would run:

    >>> env = StreamExecutionEnvironment.getExecutionEnvironment()
    >>> sink = env.fromElements(1, 2, 3).map(lambda n: n * n).print()
    >>> print(env.explain())  # doctest: +ELLIPSIS
    Stage 0 (sources)
      Source: Collection Source -> Map  [CollectionSource-...]
        FORWARD to Print to Std. Out
    Sinks
      Print to Std. Out  [PrintSink-...]
    """

    executorLoader: ClassVar[Callable[[], PipelineExecutor] | None] = None
    """Makes the executor that runs jobs; ``flinkish`` sets it to the Spark one."""

    def __init__(self, sparkSession: SparkSession | None = None) -> None:
        self._sparkSession = sparkSession
        self._config = ExecutionConfig()
        self._checkpointConfig = CheckpointConfig()
        self._sinks: list[SinkTransformation] = []

    @classmethod
    def getExecutionEnvironment(
        cls, sparkSession: SparkSession | None = None
    ) -> StreamExecutionEnvironment:
        """An environment on ``sparkSession``, else on the active session, else on a new local one.

        Nothing is started before a job is.
        """
        return cls(sparkSession)

    # ------------------------------------------------------------------ settings

    def getConfig(self) -> ExecutionConfig:
        """The settings of the job."""
        return self._config

    def getCheckpointConfig(self) -> CheckpointConfig:
        """Where and how the job is checkpointed."""
        return self._checkpointConfig

    def setParallelism(self, parallelism: int) -> StreamExecutionEnvironment:
        """How many tasks keyed operators run in: Spark's shuffle partitions of the job.

        A checkpoint keeps the number it was begun with.
        """
        self._config.setParallelism(parallelism)
        return self

    def getParallelism(self) -> int | None:
        """The parallelism, or None if Spark's setting decides."""
        return self._config.parallelism

    def setMaxParallelism(self, maxParallelism: int) -> StreamExecutionEnvironment:
        """The number of key groups. A checkpoint keeps the number it was begun with."""
        self._config.setMaxParallelism(maxParallelism)
        return self

    def getMaxParallelism(self) -> int | None:
        """The number of key groups, or None if flinkish decides."""
        return self._config.maxParallelism

    def enableCheckpointing(
        self, checkpointStorage: str | int | None = None
    ) -> StreamExecutionEnvironment:
        """Keep checkpoints in the directory ``checkpointStorage``, to go on from there.

        Flink's interval (an int, ms) is accepted and without effect: every batch is a checkpoint.
        """
        if isinstance(checkpointStorage, str):
            self._checkpointConfig.setCheckpointStorage(checkpointStorage)
        return self

    def setTriggerInterval(self, interval: TimeLike) -> StreamExecutionEnvironment:
        """Begin a batch at most every ``interval``; 0 (the default): as soon as there is data."""
        self._config.setTriggerInterval(interval)
        return self

    # ------------------------------------------------------------------ sources

    def fromSource(
        self,
        source: Source[T],
        watermarkStrategy: WatermarkStrategy[T] | None = None,
        sourceName: str | None = None,
        typeInfo: TypeInformation[T] | None = None,
    ) -> DataStreamSource[T]:
        """A stream of any source, with timestamps and watermarks from the start if a strategy is
        given: for each split by itself, if the source has several (``Source.withSplits``)."""
        if source.splitOf is not None and watermarkStrategy is None:
            raise IllegalArgumentError(
                "fromSource: a source of several splits needs a WatermarkStrategy here, since later"
                " on the splits are one stream. Pass WatermarkStrategy.noWatermarks() if the job"
                " has no event time."
            )
        name = sourceName or type(source).__name__
        transformation = SourceTransformation(f"Source: {name}", source)
        transformation.outputType = typeInfo
        stream: DataStreamSource[T] = DataStreamSource(self, transformation)
        if watermarkStrategy is None:
            return stream
        if source.splitOf is None:
            assigned = stream.assignTimestampsAndWatermarks(watermarkStrategy)
        else:
            assigned = stream._transform(
                SourceWatermarksDescription(watermarkStrategy, source.splitOf)
            )
        return DataStreamSource(self, assigned.getTransformation())

    def fromElements(self, *elements: T) -> DataStreamSource[T]:
        """A stream of those elements."""
        if not elements:
            raise IllegalArgumentError(
                "fromElements: pass at least one element, or fromCollection([])."
            )
        return self.fromCollection(elements)

    def fromData(self, *elements: T) -> DataStreamSource[T]:
        """``fromElements`` by its newer name."""
        return self.fromElements(*elements)

    def fromCollection(
        self, collection: Sequence[T], typeInfo: TypeInformation[T] | None = None
    ) -> DataStreamSource[T]:
        """A stream of the elements of ``collection``, in order."""
        values = collection if isinstance(collection, Sequence) else tuple(collection)
        return self.fromSource(CollectionSource(values), None, "Collection Source", typeInfo)

    def fromSequence(self, start: int, end: int) -> DataStreamSource[int]:
        """The numbers from ``start`` to ``end``, both included."""
        if start > end:
            raise IllegalArgumentError(f"fromSequence: start {start} is greater than end {end}.")
        return self.fromSource(SequenceSource(start, end), None, "Sequence Source")

    def fromDataFrame(
        self,
        dataframe: DataFrame,
        timestamp: str | None = None,
        watermarkStrategy: WatermarkStrategy[Row] | None = None,
        split: SplitLike | None = None,
    ) -> DataStreamSource[Row]:
        """The rows of a Spark DataFrame, static or streaming, from any of Spark's connectors.

        ``timestamp`` names the column (a timestamp, or integer ms) that is the element's timestamp.
        ``split`` names the column that says which split of the source a row is of, such as Kafka's
        ``partition``: each gets a watermark of its own (see ``Source.withSplits``).
        """
        source = DataFrameSource(dataframe, timestamp)
        if isinstance(split, str) and split not in dataframe.columns:
            raise IllegalArgumentError(
                f"fromDataFrame: there is no column {split!r} to tell the splits by; the columns"
                f" are {', '.join(dataframe.columns)}."
            )
        if split is not None:
            source = source.withSplits(split)
        return self.fromSource(source, watermarkStrategy, "DataFrame Source")

    def readTextFile(self, filePath: str) -> DataStreamSource[str]:
        """The lines of a text file or of the files of a directory."""
        return self.fromSource(FileSource.forLines(filePath), None, "Text File Source")

    def socketTextStream(self, hostname: str, port: int) -> DataStreamSource[str]:
        """The lines that come over a socket. What came between two checkpoints is lost with the
        connection, as in Flink."""
        return self.fromSource(SocketSource(hostname, port), None, "Socket Stream")

    # ------------------------------------------------------------------ running

    def execute(self, jobName: str = "Flink Streaming Job") -> JobExecutionResult:
        """Run the job to its end.

        Raises the user function's error if one raises, with the batch that failed not committed.
        """
        return self.executeAsync(jobName).getJobExecutionResult()

    def executeAsync(self, jobName: str = "Flink Streaming Job") -> JobClient:
        """Start the job and return a handle on it."""
        if not self._sinks:
            raise IllegalStateError(
                "execute: the job has no sinks, so it would do nothing. End a stream in print(),"
                " sinkTo(sink) or forEachBatch(function), or call executeAndCollect()."
            )
        sinks, self._sinks = self._sinks, []
        return self._executor().executeAsync(self, sinks, jobName)

    def getExecutionPlan(self) -> str:
        """The plan of the job as JSON, in the manner of Flink's."""
        return self._executor().plan(self, self._sinks).asJson()

    def explain(self) -> str:
        """The plan of the job as text: stages, operators, and what goes from which to which."""
        return self._executor().plan(self, self._sinks).asText()

    def _executor(self) -> PipelineExecutor:
        loader = type(self).executorLoader
        if loader is None:
            raise IllegalStateError("no executor is registered: import flinkish, not flinkish.api.")
        return loader()

    def _addSink(self, sink: SinkTransformation) -> None:
        self._sinks.append(sink)

    def _collect(self, stream: DataStream[T], jobName: str) -> CloseableIterator[T]:
        sinks, self._sinks = self._sinks, []
        return self._executor().collect(self, stream, sinks, jobName)

    def _toDataFrame(self, stream: DataStream[Any], schema: Any) -> DataFrame:
        return self._executor().toDataFrame(self, stream, schema)
