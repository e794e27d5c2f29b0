"""``StreamExecutionEnvironment``: creates the sources of a job, and runs it."""

from __future__ import annotations

import atexit
import logging
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, overload

from flinkish.api.absent import AbsentMethods
from flinkish.api.arguments import instance, text, whole_number
from flinkish.api.connectors.file_source import FileSource
from flinkish.api.connectors.function_source import FunctionSource
from flinkish.api.connectors.sink import PrintSink
from flinkish.api.connectors.source import (
    CollectionSource,
    DataFrameSource,
    NumberSequenceSource,
    SocketSource,
    Source,
    SplitLike,
    check_column,
)
from flinkish.api.connectors.table_source import ArrowStream, TableSource, is_table, refuse_table
from flinkish.api.display.holds import warn_of_silence
from flinkish.api.display.notebook import graph_html
from flinkish.api.display.progress_bar import ProgressBar, progress_bar
from flinkish.api.environment.configuration import CheckpointConfig, Configuration
from flinkish.api.environment.settings import EnvironmentSettings
from flinkish.api.errors import (
    FlinkishError,
    IllegalArgumentError,
    IllegalStateError,
    InvalidProgramError,
    NotSupportedError,
    shown,
)
from flinkish.api.eventtime.arrival_time import ArrivalTimeStrategy
from flinkish.api.eventtime.watermarks import WatermarkStrategy
from flinkish.api.execution.cells import cell_run, warn_of_copies
from flinkish.api.execution.client import (
    CollectResultIterator,
    JobClient,
    JobExecutionResult,
    JobListener,
)
from flinkish.api.execution.executor import PipelineExecutor, Plan, WebUI
from flinkish.api.execution.left_running import warn_if_left_running
from flinkish.api.functions.source_function import SourceFunctionLike
from flinkish.api.plan.operators import SourceWatermarksDescription
from flinkish.api.plan.transformations import (
    SinkTransformation,
    SourceTransformation,
    Transformation,
)
from flinkish.api.streams.data_stream import DataStream, DataStreamSource
from flinkish.api.tracebacks import short_traceback, shows_all_frames
from flinkish.api.type_variables import T
from flinkish.api.types.row import Row
from flinkish.api.types.type_info import TypeInformation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_LOG = logging.getLogger("flinkish")

_WEB_PORT = 8081
"""Flink's default."""


class StreamExecutionEnvironment(EnvironmentSettings, AbsentMethods):
    """Builds jobs and runs them (Flink: ``StreamExecutionEnvironment``).

    ``execute`` runs a job, ``executeAndCollect`` of a stream returns its elements, and
    ``explain`` shows what would run:

    >>> env = StreamExecutionEnvironment.getExecutionEnvironment()
    >>> sink = env.fromElements(1, 2, 3).map(lambda n: n * n).print()
    >>> print(env.explain())  # doctest: +ELLIPSIS
    Stage 0 (sources)
      Source: Collection Source -> Map  [CollectionSource-...]
        Map: over columns, where its elements are columns
        FORWARD to Print to Std. Out
    Sinks
      Print to Std. Out  [PrintSink-...]
    """

    executorLoader: ClassVar[Callable[[], PipelineExecutor] | None] = None
    """Creates the executor that runs jobs; ``flinkish`` sets it to the Spark one."""

    localExecutorLoader: ClassVar[Callable[[], PipelineExecutor] | None] = None
    """Creates the executor of local execution; ``flinkish`` sets it."""

    webUILoader: ClassVar[Callable[[str, int, str | None, str | None], WebUI] | None] = None
    """Starts a web page at a host and port, with a token; ``flinkish`` sets it to its own."""

    contextConfiguration: ClassVar[Configuration | None] = None
    """Options of all environments, set by the command line; options that a program sets take
    precedence."""

    contextWebUI: ClassVar[WebUI | None] = None
    """A web page for the jobs of all environments, besides each environment's own page."""

    def __init__(
        self,
        sparkSession: SparkSession | Configuration | None = None,
        configuration: Configuration | None = None,
    ) -> None:
        super().__init__()
        if isinstance(sparkSession, Configuration):
            sparkSession, configuration = None, sparkSession
        if sparkSession is not None and not hasattr(type(sparkSession), "readStream"):
            raise InvalidProgramError(
                f"StreamExecutionEnvironment: {shown(sparkSession)} is not a SparkSession. Pass"
                " SparkSession.builder.getOrCreate(), or nothing for a local one."
            )
        self._sparkSession = sparkSession
        self._sinks: list[SinkTransformation] = []
        self._planned = False
        """Whether the program has asked for the plan of the job."""
        self._cells: dict[tuple[str, int], int] = {}
        """The lines of a notebook that have added sinks, each with the number of the run of its
        cell."""
        self._listeners: list[JobListener] = []
        self._collecting: list[CollectResultIterator[Any]] = []
        self._webUI: WebUI | None = None
        if self.contextConfiguration is not None:
            self.configure(self.contextConfiguration)
        if configuration is not None:
            self.configure(configuration)

    @staticmethod
    def createRemoteEnvironment(*arguments: object) -> NoReturn:
        """Not supported: the cluster is Spark's."""
        raise NotSupportedError(
            "createRemoteEnvironment is not supported: the cluster is Spark's. Use"
            " getExecutionEnvironment(SparkSession.builder.master(url).getOrCreate())."
        )

    @classmethod
    def getExecutionEnvironment(
        cls, sparkSession: SparkSession | Configuration | None = None
    ) -> StreamExecutionEnvironment:
        """An environment on ``sparkSession``, else on the active session, else on a new local one.
        A Configuration may be passed in its place, as in Flink.

        Spark is not started before the first job.
        """
        return cls(sparkSession)

    @classmethod
    def createLocalEnvironment(
        cls,
        parallelism: int | Configuration | None = None,
        configuration: Configuration | None = None,
    ) -> StreamExecutionEnvironment:
        """An environment of that parallelism, else of ``getDefaultLocalParallelism()``, on the
        active Spark session or a new local one."""
        if isinstance(parallelism, Configuration):
            parallelism, configuration = None, parallelism
        if parallelism is None:
            parallelism = cls.getDefaultLocalParallelism()
        environment = cls().setParallelism(parallelism)
        if configuration is not None:
            environment.configure(configuration)
        return environment

    @classmethod
    def createLocalEnvironmentWithWebUI(
        cls, configuration: Configuration | None = None
    ) -> StreamExecutionEnvironment:
        """``createLocalEnvironment`` with a web page at the port ``rest.port`` of the configuration,
        8081 if it has none."""
        environment = cls.createLocalEnvironment(configuration)
        port = _WEB_PORT if configuration is None else configuration.get("rest.port", _WEB_PORT)
        environment.enableWebUI(int(port))
        return environment

    # ------------------------------------------------------------------ sources

    def fromSource(
        self,
        source: Source[T],
        watermarkStrategy: WatermarkStrategy[T] | ArrivalTimeStrategy[T] | None = None,
        sourceName: str | None = None,
        typeInfo: TypeInformation[T] | None = None,
    ) -> DataStreamSource[T]:
        """A stream of any source, with timestamps and watermarks from the start if a strategy is
        given: separately for each split, if the source has several (``Source.withSplits``)."""
        fix = "Pass one, such as FileSource.forLines(path), or call addSource(function)."
        instance("fromSource", source, Source, fix)
        if watermarkStrategy is not None:
            fix = "Pass one, such as WatermarkStrategy.noWatermarks(), or leave it out."
            if not isinstance(watermarkStrategy, ArrivalTimeStrategy):
                instance("fromSource", watermarkStrategy, WatermarkStrategy, fix)
        if source.hasSplits and watermarkStrategy is None:
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
        if not source.hasSplits or isinstance(watermarkStrategy, ArrivalTimeStrategy):
            assigned = stream.assignTimestampsAndWatermarks(watermarkStrategy)
        else:
            assigned = stream._transform(
                SourceWatermarksDescription(watermarkStrategy, source.splitOf)
            )
        return DataStreamSource(self, assigned.getTransformation(), transformation)

    def addSource(
        self,
        function: SourceFunctionLike[T],
        sourceName: str = "Custom Source",
        typeInfo: TypeInformation[T] | None = None,
        bounded: bool = False,
    ) -> DataStreamSource[T]:
        """A stream of the elements that a SourceFunction or ``f(context)`` emits; it runs in one
        process.

        ``bounded``: whether ``run`` returns without being cancelled. If so, a job on Spark ends
        with it, and reads full batches; otherwise a batch takes the elements that have arrived.

        Deprecated, as in Flink: a SourceFunction has no position, so after a failure or a restart
        it starts over and emits its elements again. ``fromSource`` with a ``Source`` of your own
        continues where it was.

        Raises InvalidProgramError if ``function`` is neither, NotSupportedError for a
        CheckpointedFunction.
        """
        if isinstance(function, Source):
            raise InvalidProgramError(
                f"addSource: {type(function).__name__} is a Source and not a SourceFunction. Write"
                " fromSource(source, strategy, name)."
            )
        text("addSource: sourceName", sourceName)
        if typeInfo is not None:
            instance("addSource: typeInfo", typeInfo, TypeInformation, "Pass one, or leave it out.")
        return self.fromSource(FunctionSource(function, bounded), None, sourceName, typeInfo)

    @overload
    def fromElements(
        self, typeInfo: TypeInformation[T] | type[T], /, *elements: T
    ) -> DataStreamSource[T]: ...

    @overload
    def fromElements(self, *elements: T) -> DataStreamSource[T]: ...

    def fromElements(self, *elements: Any) -> DataStreamSource[Any]:
        """A stream of the given elements; their type may be passed first."""
        typeInfo = elements[0] if elements and _is_type(elements[0]) else None
        values = elements if typeInfo is None else elements[1:]
        if len(values) == 1:
            refuse_table("fromElements", values[0])
        if not values:
            raise IllegalArgumentError(
                "fromElements: pass at least one element, or fromCollection([])."
            )
        return self.fromCollection(values, typeInfo)

    @overload
    def fromData(
        self, elements: list[T], typeInfo: TypeInformation[T] | type[T] | None = None, /
    ) -> DataStreamSource[T]: ...

    @overload
    def fromData(
        self, typeInfo: TypeInformation[T] | type[T], /, *elements: T
    ) -> DataStreamSource[T]: ...

    @overload
    def fromData(self, *elements: T) -> DataStreamSource[T]: ...

    def fromData(self, *elements: Any) -> DataStreamSource[Any]:
        """``fromElements`` by its newer name; the type may come first. One list, alone or before
        the type, is a collection of elements, as in Flink."""
        if len(elements) == 2 and isinstance(elements[0], list) and _is_type(elements[1]):
            return self.fromCollection(*elements)
        if elements:
            refuse_table("fromData", elements[0])
        if len(elements) == 1 and isinstance(elements[0], list):
            return self.fromCollection(elements[0])
        return self.fromElements(*elements)

    def fromCollection(
        self, collection: Iterable[T], typeInfo: TypeInformation[T] | type[T] | None = None
    ) -> DataStreamSource[T]:
        """A stream of the elements of ``collection``, in order. An iterator is read to its end at
        once."""
        refuse_table("fromCollection", collection)
        fix = "Pass a list of the elements, or call fromElements(...)."
        instance("fromCollection", collection, Iterable, fix)
        values = collection if isinstance(collection, Sequence) else tuple(collection)
        given = None if typeInfo is None else TypeInformation.of(typeInfo)
        return self.fromSource(CollectionSource(values), None, "Collection Source", given)

    def fromSequence(self, start: int, end: int) -> DataStreamSource[int]:
        """A stream of the integers from ``start`` to ``end``, both included."""
        return self.fromSource(NumberSequenceSource(start, end), None, "Sequence Source")

    def generateSequence(self, start: int, end: int) -> DataStreamSource[int]:
        """``fromSequence`` by its older name."""
        return self.fromSequence(start, end)

    def fromDataFrame(
        self,
        dataframe: DataFrame | ArrowStream,
        timestamp: str | None = None,
        watermarkStrategy: WatermarkStrategy[Row] | ArrivalTimeStrategy[Row] | None = None,
        split: SplitLike | None = None,
    ) -> DataStreamSource[Row]:
        """The rows of a Spark DataFrame, static or streaming, from any of Spark's connectors; or of a table
        in memory: a DataFrame of pandas or Polars, a Table of pyarrow, or any other object with
        ``__arrow_c_stream__``. For pandas, a named index becomes a column, and NaN becomes None.

        ``timestamp`` names the column that is the element's timestamp: a timestamp (floored to the
        millisecond), a date (midnight in UTC), or integer ms since 1970. A column of another type
        raises InvalidProgramError. ``split`` is the column, such as Kafka's ``partition``, or a
        function of the row, that identifies the row's split of the source; each split gets a
        separate watermark (see ``Source.withSplits``).
        """
        source: DataFrameSource | TableSource
        given = hasattr(dataframe, "__arrow_c_stream__") or is_table(dataframe)
        if given and not hasattr(dataframe, "isStreaming"):
            source = TableSource.of(dataframe, timestamp)
            columns = source.table.schema.names
        else:
            source = DataFrameSource(dataframe, timestamp)  # type: ignore[arg-type]
            columns = source.dataframe.columns
        if isinstance(split, str):
            check_column("to tell the splits by", split, columns)
        if split is not None:
            source = source.withSplits(split)
        return self.fromSource(source, watermarkStrategy, "DataFrame Source")

    def readTextFile(self, filePath: str) -> DataStreamSource[str]:
        """The lines of a text file or of the files of a directory."""
        return self.fromSource(FileSource.forLines(filePath), None, "Text File Source")

    def socketTextStream(
        self, hostname: str, port: int, delimiter: str = "\n", maxRetry: int = 0
    ) -> DataStreamSource[str]:
        """The lines that arrive over a socket. As in Flink, lines after the last checkpoint are
        lost with the connection, and bytes that are not UTF-8 become U+FFFD. Other delimiters and
        retries raise NotSupportedError."""
        if delimiter != "\n" or maxRetry:
            raise NotSupportedError(
                "socketTextStream: Spark's socket source reads lines and does not connect again."
                " Leave delimiter and maxRetry out, and split lines with flatMap."
            )
        return self.fromSource(SocketSource(hostname, port), None, "Socket Stream")

    # ------------------------------------------------------------------ running

    @short_traceback
    def execute(self, jobName: str | None = None) -> JobExecutionResult:
        """Run the job to its end. Without ``jobName`` its name is that of the option ``pipeline.name``.

        Raises ``UserFunctionError`` if a function raises, ``JobExecutionError`` if Spark fails, and
        others of ``flinkish.api.errors`` for what they say; a batch that failed is not committed.
        """
        with self._progress(jobName) as bar, bar.toldWhenInterrupted():
            bar.client = client = self._start(jobName)
            try:
                result = client.getJobExecutionResult()
            except Exception as error:
                for listener in self._listeners:
                    listener.onJobExecuted(None, error)
                raise
        for listener in self._listeners:
            listener.onJobExecuted(result, None)
        return result

    @short_traceback
    def executeAsync(self, jobName: str | None = None) -> JobClient:
        """Start the job and return a handle on it. In a notebook a warning names a job that an
        earlier run of the cell left running, and at the end of the program one names a job that still runs, as it
        ends with the program: wait for its ``getJobExecutionResult()``."""
        with self._progress(jobName):
            client = self._start(jobName)
        warn_if_left_running(client)
        return client

    def _progress(self, jobName: object) -> AbstractContextManager[ProgressBar]:
        """Shows what the job does, from its start, while the block waits for it."""
        return progress_bar(str(jobName or self.getConfiguration().get("pipeline.name", "job")))

    def _start(self, jobName: str | None) -> JobClient:
        given = jobName
        if jobName is None:
            jobName = self.getConfiguration().get("pipeline.name", "Flink Streaming Job")
        if not isinstance(jobName, str):
            raise NotSupportedError(
                f"execute: {shown(jobName)} is not a job's name. A StreamGraph cannot be run: call"
                " execute(jobName) on the environment whose streams end in sinks."
            )
        text("execute: jobName", jobName or "-")
        if not self._sinks:
            raise IllegalStateError(
                "execute: the job has no sinks, so it would do nothing. End a stream in print(),"
                " sinkTo(sink) or forEachBatch(function), or call executeAndCollect(). Each execute"
                " takes the sinks that there are: the next one runs those added since."
            )
        checkpoints = self.getCheckpointConfig()
        directory = checkpoints.getCheckpointStorage()
        if self.isLocalExecution():
            if checkpoints.isCheckpointingEnabled() or directory is not None:
                _warn_of_checkpoints(directory)
        elif checkpoints.isCheckpointingEnabled() and directory is None:
            _LOG.warning(
                "Nothing of the job %s survives this program, as its checkpoints have no directory: write"
                " env.getCheckpointConfig().setCheckpointStorage(directory).",
                jobName,
            )
        sinks, self._sinks = self._sinks, []
        collecting, self._collecting = self._collecting, []
        try:
            client = self._executor().executeAsync(self, sinks, jobName)
        except Exception as error:
            for listener in self._listeners:
                listener.onJobSubmitted(None, error)
            if isinstance(error, FlinkishError) and not shows_all_frames():
                # The message says what to fix; the frames of flinkish would not help
                error.with_traceback(None)
            raise
        # Nobody else can cancel the job before the program has its client
        with client.cancelledOnInterrupt():
            for results in collecting:
                results.setJobClient(client)
            for web in (self._webUI, self.contextWebUI):
                if web is not None:
                    web.addJob(client)
            warn_of_silence(client)
            warn_of_copies(client, given)
            for listener in self._listeners:
                listener.onJobSubmitted(client, None)
        return client

    def enableWebUI(
        self,
        port: int = 0,
        host: str = "127.0.0.1",
        token: str | None = None,
        archive: str | None = None,
    ) -> WebUI:
        """Start a web page for the jobs that this environment runs from now on, and return it: open
        its ``url`` in a browser.

        The page is served on this machine only, on a free port if ``port`` is 0. The url contains a
        token, which is needed to stop a job, and on another ``host`` to see anything. A new token
        is generated if none is given.

        ``archive``: a directory that keeps finished jobs, so that the pages of later programs show
        them too (Flink: ``jobmanager.archive.fs.dir``).
        """
        whole_number("enableWebUI: port", port, 0, 65535)
        text("enableWebUI: host", host)
        if token is not None:
            text("enableWebUI: token", token)
        if archive is not None:
            text("enableWebUI: archive", archive)
        if self._webUI is not None:
            self._webUI.close()
            self._webUI = None
        loader = type(self).webUILoader
        if loader is None:
            raise IllegalStateError("no web page is registered: import flinkish, not flinkish.api.")
        self._webUI = loader(host, port, token, archive)
        return self._webUI

    def registerJobListener(self, jobListener: JobListener) -> None:
        """Notify ``jobListener`` when jobs start and end."""
        instance("registerJobListener", jobListener, JobListener, "Derive yours from it.")
        self._listeners.append(jobListener)

    def getJobListeners(self) -> list[JobListener]:
        """The registered listeners."""
        return list(self._listeners)

    def clearJobListeners(self) -> None:
        """Remove all listeners."""
        self._listeners.clear()

    def registerCollectIterator(self, iterator: CollectResultIterator[Any]) -> None:
        """Give ``iterator`` the client of the next job: called by ``collectAsync``."""
        self._collecting.append(iterator)

    def getTransformations(self) -> list[Transformation]:
        """The sinks of the job so far, from which all its other parts can be reached."""
        return list(self._sinks)

    def close(self) -> None:
        """Does nothing, for ported jobs; the SparkSession is yours and stays open."""

    def getExecutionPlan(self) -> str:
        """The plan of the job as JSON, similar to Flink's."""
        return self._plan().asJson()

    def explain(self) -> str:
        """The plan of the job as text: stages, operators, and the edges between them.

        A line for each user function says whether it runs over columns where its input is columns
        (rows of files and tables, and the results of functions over columns), and if not, why.
        """
        return self._plan().asText()

    def _repr_html_(self) -> str:
        if not self._sinks:
            return "<p>The job has no sinks yet.</p>"
        return graph_html(self._plan().asSvg())

    def _plan(self) -> Plan:
        self._planned = True
        return self._executor().plan(self, self._sinks)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Inside the block a job has only the sinks added there, and a separate checkpoint, so
        that a preview does not become part of the job being built."""
        kept = self._sinks, self._collecting, self._config, self._checkpointConfig
        self._sinks, self._collecting, self._config = [], [], copy(self._config)
        self._checkpointConfig = CheckpointConfig(self._config)
        try:
            yield
        finally:
            self._sinks, self._collecting, self._config, self._checkpointConfig = kept

    def _graph_html(self, stream: DataStream[Any]) -> str:
        """A drawing of the graph that leads to ``stream``."""
        sink = SinkTransformation("...", PrintSink(), stream.getTransformation())
        return graph_html(self._executor().plan(self, [sink]).asSvg())

    def _executor(self) -> PipelineExecutor:
        local = self.isLocalExecution()
        loader = type(self).localExecutorLoader if local else type(self).executorLoader
        if loader is None:
            raise IllegalStateError("no executor is registered: import flinkish, not flinkish.api.")
        return loader()

    def _add_sink(self, sink: SinkTransformation) -> None:
        _warn_of_a_cell_run_again(self, sink.name)
        self._sinks.append(sink)
        _with_sinks.add(self)

    def _to_data_frame(self, stream: DataStream[Any], schema: Any) -> DataFrame:
        return self._executor().toDataFrame(self, stream, schema)


def _is_type(value: object) -> bool:
    return isinstance(value, (type, TypeInformation))


@cache
def _warn_of_checkpoints(directory: str | None) -> None:
    """Warn, once for each directory, that local execution takes no checkpoints."""
    _LOG.warning(
        "Local execution takes no checkpoints%s: a job that is started again begins anew. Leave setLocalExecution out to"
        " have them, or write a savepoint with triggerSavepoint(directory) of the JobClient.",
        "" if directory is None else f", and does not use {directory}",
    )


_with_sinks: weakref.WeakSet[StreamExecutionEnvironment] = weakref.WeakSet()


@atexit.register
def _warn_of_forgotten_sinks() -> None:
    if hasattr(sys, "last_value"):
        return  # an error has ended the program
    for environment in _with_sinks:
        names = [sink.name for sink in environment._sinks]
        if names and not environment._planned:
            _LOG.warning(
                "The job was not run: execute() was not called after %s was added. End the program in env.execute().",
                ", ".join(names),
            )


def _warn_of_a_cell_run_again(environment: StreamExecutionEnvironment, sink: str) -> None:
    """Warn when a notebook cell is run again and so adds its sinks a second time before any job has
    run."""
    run = cell_run()
    if run is None:
        return
    if not environment._sinks:
        environment._cells.clear()
    if environment._cells.setdefault(run.place, run.number) != run.number:
        environment._cells[run.place] = run.number
        _LOG.warning(
            "%s was added again, as its cell was run again: the next execute() runs both. Make a new environment in the cell"
            " to begin anew.",
            sink,
        )
