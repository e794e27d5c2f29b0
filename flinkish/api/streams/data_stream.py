"""``DataStream``: a stream of elements, and the methods that apply operators to it.

Building a stream runs nothing: each method adds a transformation to the plan, and ``env.execute()`` runs
the job.
"""

from __future__ import annotations

import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, Self, overload

from flinkish.api.absent import AbsentMethods
from flinkish.api.arguments import MAX_KEY_GROUPS, instance, number, positive, text, whole_number
from flinkish.api.connectors.sink import (
    DiscardingSink,
    ForEachBatchDataFrameSink,
    ForEachBatchSink,
    ForEachPartitionSink,
    PrintSink,
    Sink,
)
from flinkish.api.display.holds import STUCK_MILLIS, waits_for
from flinkish.api.display.notebook import in_notebook
from flinkish.api.display.tables import Elements
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError, shown
from flinkish.api.eventtime.arrival_time import ArrivalTimeStrategy
from flinkish.api.eventtime.watermarks import WatermarkStrategy
from flinkish.api.execution.client import (
    CloseableIterator,
    CollectResultIterator,
    JobClient,
)
from flinkish.api.functions.adapt import (
    filter_call,
    flat_map_calls,
    function_of,
    key_call,
    map_call,
    partition_call,
)
from flinkish.api.functions.functions import (
    Collector,
    FilterLike,
    FlatMapLike,
    KeySelectorLike,
    MapLike,
    PartitionerLike,
)
from flinkish.api.functions.process import ProcessLike
from flinkish.api.functions.sink_function import SinkCall, SinkFunction, SinkFunctionLike
from flinkish.api.functions.state import MapStateDescriptor
from flinkish.api.output_tag import OutputTag
from flinkish.api.plan.operators import (
    ArrivalTimeDescription,
    FilterDescription,
    FlatMapDescription,
    InOrderDescription,
    MapDescription,
    OperatorDescription,
    TimestampsAndWatermarksDescription,
    process_description,
)
from flinkish.api.plan.output_types import key_type, output_type
from flinkish.api.plan.partitioning import (
    ArbitraryPartitioning,
    BroadcastPartitioning,
    Partitioning,
)
from flinkish.api.plan.transformations import (
    OneInputTransformation,
    PartitionTransformation,
    SideOutputTransformation,
    SinkTransformation,
    SourceTransformation,
    Transformation,
    UnionTransformation,
    check_bounded,
)
from flinkish.api.tracebacks import short_traceback
from flinkish.api.type_variables import K, R, T, T_co, X
from flinkish.api.types.fields import Field, TupleOfFields
from flinkish.api.types.type_info import TypeInformation
from flinkish.api.windowing.assigners import GlobalWindows, WindowAssigner
from flinkish.api.windowing.windows import GlobalWindow, W

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from flinkish.api.environment.configuration import ExecutionConfig
    from flinkish.api.environment.environment import StreamExecutionEnvironment
    from flinkish.api.streams.connected_streams import (
        BroadcastConnectedStream,
        BroadcastStream,
        ConnectedStreams,
    )
    from flinkish.api.streams.joined_streams import CoGroupedStreams, JoinedStreams
    from flinkish.api.streams.keyed_stream import KeyedStream
    from flinkish.api.streams.partition_window import PartitionWindowedStream
    from flinkish.api.streams.windowed_stream import AllWindowedStream


class TransformationSettings:
    """The settings of an operator or a sink; they change this object and return it."""

    _transformation: Transformation

    def name(self, name: str) -> Self:
        """Name the operator or sink; errors, metrics and the plan show it."""
        self._transformation.name = instance("name", name, str, "Pass a string.")
        return self

    def uid(self, uid: str) -> Self:
        """Give the operator or sink an identity that stays the same when the job changes; the
        checkpoint stores the state of an operator under it."""
        self._transformation.uid = text("uid", uid)
        return self

    def setDescription(self, description: str) -> Self:
        """Describe the operator or sink in the plan."""
        self._transformation.description = instance(
            "setDescription", description, str, "Pass a string."
        )
        return self

    def disableChaining(self) -> Self:
        """Accepted for ported jobs, without effect: unchained operators would only be slower."""
        return self

    def slotSharingGroup(self, slotSharingGroup: object) -> Self:
        """Accepted for ported jobs: Spark has no slots. Size its executors instead."""
        return self


class DataStreamSink(TransformationSettings, AbsentMethods, Generic[T]):
    """The end of a stream in a sink, which can be named (Flink: ``DataStreamSink``)."""

    def __init__(self, transformation: SinkTransformation) -> None:
        self._transformation = transformation

    def setParallelism(self, parallelism: int) -> Self:
        """Set how many tasks write to a ``JdbcSink``, ``forEachPartition`` or a sink of the user's
        own, at most the job's parallelism. For other sinks Spark decides."""
        self._transformation.parallelism = positive("setParallelism", parallelism, MAX_KEY_GROUPS)
        return self

    def setMaxParallelism(self, maxParallelism: int) -> Self:
        """Accepted for ported jobs; a sink has no key groups."""
        positive("setMaxParallelism", maxParallelism, MAX_KEY_GROUPS)
        return self


class PartitioningMethods(ABC, Generic[T_co]):
    """The methods of ``DataStream`` that choose a task for each element, except ``keyBy``."""

    @abstractmethod
    def _partition(self, partitioning: Partitioning) -> DataStream[T_co]:
        """This stream with that partitioning."""

    @overload
    def broadcast(self) -> DataStream[T_co]: ...

    @overload
    def broadcast(
        self,
        descriptor: MapStateDescriptor[Any, Any],
        /,
        *broadcastStateDescriptors: MapStateDescriptor[Any, Any],
    ) -> BroadcastStream[T_co]: ...

    def broadcast(
        self, *broadcastStateDescriptors: MapStateDescriptor[Any, Any]
    ) -> DataStream[T_co] | BroadcastStream[T_co]:
        """With descriptors, send every element to every task, for the broadcast state pattern:
        ``stream.connect(rules.broadcast(descriptor)).process(f)``.

        Without descriptors, return the same stream: an operator without keys runs in one task and sees
        every element once, so there is nothing to send.
        """
        from flinkish.api.streams.connected_streams import BroadcastStream

        for descriptor in broadcastStateDescriptors:
            fix = "Broadcast state is a map: pass a MapStateDescriptor."
            instance("broadcast", descriptor, MapStateDescriptor, fix)
        if not broadcastStateDescriptors:
            return self._partition(ArbitraryPartitioning("BROADCAST"))
        everywhere = self._partition(BroadcastPartitioning())
        return BroadcastStream(
            everywhere.getExecutionEnvironment(),
            everywhere.getTransformation(),
            broadcastStateDescriptors,
        )

    def rebalance(self) -> DataStream[T_co]:
        """The same stream, as the distribution of elements over tasks does not affect results."""
        return self._partition(ArbitraryPartitioning("REBALANCE"))

    def rescale(self) -> DataStream[T_co]:
        """The same stream, like ``rebalance``."""
        return self._partition(ArbitraryPartitioning("RESCALE"))

    def shuffle(self) -> DataStream[T_co]:
        """The same stream, like ``rebalance``."""
        return self._partition(ArbitraryPartitioning("SHUFFLE"))

    def forward(self) -> DataStream[T_co]:
        """The same stream, like ``rebalance``."""
        return self._partition(ArbitraryPartitioning("FORWARD"))

    def global_(self) -> DataStream[T_co]:
        """The same stream, like ``rebalance`` (Flink: ``global``, which Python keeps)."""
        return self._partition(ArbitraryPartitioning("GLOBAL"))

    def partitionCustom(
        self, partitioner: PartitionerLike[K], keySelector: KeySelectorLike[T_co, K] | Field
    ) -> DataStream[T_co]:
        """The same stream, like ``rebalance``; ``partitioner(key, numPartitions)`` is checked, but not
        called."""
        partition_call(partitioner)
        key_call(keySelector)
        return self._partition(ArbitraryPartitioning("CUSTOM"))


class DataStream(PartitioningMethods[T_co], AbsentMethods):
    """A stream of elements of type ``T`` (Flink: ``DataStream``).

    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(lambda lines: lines.flatMap(str.split).filter(str.isalpha))
    >>> harness.processElement("to be, or")
    >>> [record.value for record in harness.getOutput()]
    ['to', 'or']
    """

    def __init__(
        self, environment: StreamExecutionEnvironment, transformation: Transformation
    ) -> None:
        self._environment = environment
        self._transformation = transformation

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self.getType()}] of {self._transformation.name!r}"

    def getExecutionEnvironment(self) -> StreamExecutionEnvironment:
        """The environment that the stream belongs to."""
        return self._environment

    def getTransformation(self) -> Transformation:
        """The transformation whose output this stream is."""
        return self._transformation

    def getId(self) -> int:
        """The id of the transformation whose output this stream is."""
        return self._transformation.id

    def getParallelism(self) -> int | None:
        """The parallelism set on the operator or the environment, None for Spark's default."""
        return self._transformation.parallelism or self._environment.getParallelism()

    def getExecutionConfig(self) -> ExecutionConfig:
        """The settings of the job."""
        return self._environment.getConfig()

    def getType(self) -> TypeInformation[T_co]:
        """The type of the elements: the one given with ``returns`` or ``outputType``, else that of the
        function's annotations, else that of the source; PICKLED_BYTE_ARRAY if it is unknown.

        >>> from flinkish import StreamExecutionEnvironment
        >>> numbers = StreamExecutionEnvironment().fromElements(("JFK", 7))
        >>> print(numbers.getType())
        Tuple<String, Long>
        """
        return output_type(self._transformation)

    # ------------------------------------------------------------------ element by element

    def map(
        self, mapper: MapLike[T_co, R], outputType: TypeInformation[R] | None = None
    ) -> SingleOutputStreamOperator[R]:
        """Turn each element into one result, which keeps its timestamp. ``mapper`` is a MapFunction or
        ``f(value)``."""
        return self._transform(MapDescription(function_of(mapper), map_call(mapper)), outputType)

    def filter(self, filter: FilterLike[T_co]) -> SingleOutputStreamOperator[T_co]:  # noqa: A002
        """Keep the elements for which ``filter``, a FilterFunction or ``f(value)``, returns true."""
        return self._transform(FilterDescription(function_of(filter), filter_call(filter)))

    @overload
    def flatMap(
        self,
        flatMapper: FlatMapLike[T_co, R],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    @overload
    def flatMap(
        self,
        flatMapper: Callable[[T_co, Collector[R]], Iterable[R] | None],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    def flatMap(
        self, flatMapper: Any, outputType: TypeInformation[Any] | None = None
    ) -> SingleOutputStreamOperator[Any]:
        """Turn each element into any number of results, which keep its timestamp.

        ``f(value)`` returns or yields them; ``f(value, out)`` or a FlatMapFunction can also write them to
        ``out``.
        """
        call, iterate = flat_map_calls(flatMapper)
        description = FlatMapDescription(function_of(flatMapper), call, iterate)
        return self._transform(description, outputType)

    def process(
        self,
        processFunction: ProcessLike[T_co, R],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]:
        """Call a ProcessFunction or ``f(value, ctx, out)`` for every element. The context has the
        timestamp, the current times, and side outputs. Results keep the timestamp."""
        return self._transform(process_description(processFunction), outputType)

    def project(self, *fields: int) -> SingleOutputStreamOperator[tuple[Any, ...]]:
        """Keep the fields at those positions, as tuples in that order."""
        if not fields:
            raise IllegalArgumentError("project: pass the position of at least one field, from 0.")
        for field in fields:
            whole_number("project: position", field)
        return self.map(TupleOfFields(fields)).name("Projection")

    def assignTimestampsAndWatermarks(
        self, watermarkStrategy: WatermarkStrategy[T_co] | ArrivalTimeStrategy[T_co]
    ) -> SingleOutputStreamOperator[T_co]:
        """Set timestamps and watermarks by ``watermarkStrategy``.

        An ``ArrivalTimeStrategy``, which Flink does not have, may also drop elements. Directly after a
        source it uses the splits of the source.
        """
        if isinstance(watermarkStrategy, ArrivalTimeStrategy):
            strategy = watermarkStrategy
            if strategy.inputPartition is None:
                strategy = replace(strategy, inputPartition=_split_of(self._transformation))
            return self._transform(ArrivalTimeDescription(strategy))
        return self._transform(TimestampsAndWatermarksDescription(watermarkStrategy))

    # ------------------------------------------------------------------ several streams

    def union(self, *streams: DataStream[R]) -> DataStream[T_co | R]:
        """Merge this stream with ``streams`` of the same environment. Timestamps stay; the watermark is the
        lowest of the inputs that are not idle."""
        if not streams:
            raise IllegalArgumentError("union: pass at least one other stream.")
        for stream in streams:
            if not isinstance(stream, DataStream):
                raise IllegalArgumentError(
                    f"union: {shown(stream)} of type {type(stream).__name__} is not a stream. Pass"
                    " DataStreams of one environment."
                )
            self._check_environment("union", stream.getExecutionEnvironment())
        inputs = [stream._transformation for stream in (self, *streams)]
        return DataStream(self._environment, UnionTransformation(inputs))

    @overload
    def connect(self, dataStream: DataStream[R]) -> ConnectedStreams[T_co, R]: ...

    @overload
    def connect(self, dataStream: BroadcastStream[R]) -> BroadcastConnectedStream[T_co, R]: ...

    def connect(self, dataStream: Any) -> Any:
        """Connect with another stream of any type, for an operator with two inputs; or with a
        ``BroadcastStream``, for the broadcast state pattern."""
        from flinkish.api.streams.connected_streams import (
            BroadcastConnectedStream,
            BroadcastStream,
            ConnectedStreams,
        )

        if isinstance(dataStream, BroadcastStream):
            return BroadcastConnectedStream(self._environment, self, dataStream)
        if isinstance(dataStream, DataStream):
            return ConnectedStreams(self._environment, self, dataStream)
        raise InvalidProgramError(f"connect: pass a stream, not {dataStream!r}.")

    def join(self, otherStream: DataStream[R]) -> JoinedStreams[T_co, R]:
        """Join elements that have the same key and window as those of ``otherStream``:
        ``a.join(b).where(key).equalTo(key).window(assigner).apply(f)``."""
        from flinkish.api.streams.joined_streams import JoinedStreams

        return JoinedStreams(self, otherStream)

    def coGroup(self, otherStream: DataStream[R]) -> CoGroupedStreams[T_co, R]:
        """Group all elements of both streams that have the same key and window:
        ``a.coGroup(b).where(key).equalTo(key).window(assigner).apply(f)``."""
        from flinkish.api.streams.joined_streams import CoGroupedStreams

        return CoGroupedStreams(self, otherStream)

    # ------------------------------------------------------------------ windows

    def windowAll(self, assigner: WindowAssigner[T_co, W]) -> AllWindowedStream[T_co, W]:
        """Divide the whole stream into windows, without keys, in one task."""
        from flinkish.api.streams.windowed_stream import AllWindowedStream

        return AllWindowedStream(self, assigner)

    def countWindowAll(
        self, size: int, slide: int | None = None
    ) -> AllWindowedStream[T_co, GlobalWindow]:
        """Windows of ``size`` elements of the whole stream; with ``slide``, a window of the last ``size``
        elements after every ``slide`` elements."""
        return self.windowAll(GlobalWindows.create())._counting(size, slide)

    def fullWindowPartition(self) -> PartitionWindowedStream[T_co]:
        """Process all elements together at the end of the input: those of each key on a keyed stream,
        otherwise of the whole stream."""
        from flinkish.api.streams.partition_window import PartitionWindowedStream

        return PartitionWindowedStream(self)

    # ------------------------------------------------------------------ partitioning

    @overload
    def keyBy(
        self, key: KeySelectorLike[T_co, K], keyType: TypeInformation[K] | None = None
    ) -> KeyedStream[T_co, K]: ...

    @overload
    def keyBy(
        self, key: Field, keyType: TypeInformation[Any] | None = None
    ) -> KeyedStream[T_co, Any]: ...

    def keyBy(
        self, key: Any, keyType: TypeInformation[Any] | None = None
    ) -> KeyedStream[T_co, Any]:
        """Partition by key: ``f(element)``, a KeySelector, or a field by its name (``"origin"``),
        position (``0`` or ``"f0"``) or path (``"airport.code"``). Timestamps stay.

        Raises InvalidProgramError if the type of the elements has no such field. When the job runs,
        an element without the field raises UnfitElementError. A key whose hash differs between processes,
        such as an object with the default hash, raises UnstableKeyError.
        """
        from flinkish.api.streams.keyed_stream import KeyedStream

        if keyType is not None:
            fix = "Pass one, or a function for a key of several fields: lambda e: (e[0], e[1])."
            instance("keyBy: keyType", keyType, TypeInformation, fix)
        found = key_type(key, self.getType()) if keyType is None else keyType
        return KeyedStream(self._environment, self._transformation, key_call(key), keyType, found)

    # ------------------------------------------------------------------ sinks

    def sinkTo(self, sink: Sink[T_co]) -> DataStreamSink[T_co]:
        """Send the elements to ``sink``."""
        fix = (
            "Pass one, such as FileSink.forCsv(directory), or call addSink(function) for each element,"
            " or forEachBatch(function)."
        )
        return self._sink("Writer", instance("sinkTo", sink, Sink, fix))

    def addSink(self, sinkFunction: SinkFunctionLike[T_co]) -> DataStreamSink[T_co]:
        """Call a SinkFunction, ``f(value)`` or ``f(value, context)`` with each element, in the
        workers.

        Deprecated, as in Flink: a batch that is run again after a failure calls it again, so that
        each element comes at least once. ``sinkTo`` with a ``Sink`` of your own can do better.

        Raises InvalidProgramError for anything else, such as a ``Sink``.
        """
        if isinstance(sinkFunction, Sink):
            raise InvalidProgramError(
                f"addSink: {type(sinkFunction).__name__} is a Sink and not a SinkFunction. Write sinkTo(sink)."
            )
        called = self._transform(process_description(SinkCall(sinkFunction)))
        kind = type(sinkFunction).__name__ if isinstance(sinkFunction, SinkFunction) else "Function"
        return called.name(f"Sink: {kind}")._sink("Sink", DiscardingSink())

    def print(self, sinkIdentifier: str = "") -> DataStreamSink[T_co]:
        """Print the elements in the driver, each with ``sinkIdentifier> `` in front if given."""
        return self._sink("Print to Std. Out", PrintSink(sinkIdentifier))

    def printToErr(self, sinkIdentifier: str = "") -> DataStreamSink[T_co]:
        """Like ``print``, to standard error."""
        return self._sink("Print to Std. Err", PrintSink(sinkIdentifier, standardError=True))

    def forEachBatch(self, function: Callable[[list[T_co], int], None]) -> DataStreamSink[T_co]:
        """Call ``function(elements, batchId)`` in the driver for each batch with elements. A batch that is
        run again after a crash has the same id."""
        return self._sink("For Each Batch", ForEachBatchSink(function))

    def forEachPartition(
        self, function: Callable[[Iterator[T_co]], object]
    ) -> DataStreamSink[T_co]:
        """Call ``function(elements)`` in the workers, once for each task and batch that has elements, with an
        iterator over them in their order; what it returns is ignored, and so is what it leaves in the
        iterator. A batch that is run again after a failure calls it again, so that each element comes at
        least once; ``sinkTo`` with a ``Sink`` of your own and a committer can do better."""
        return self._sink("For Each Partition", ForEachPartitionSink(function))

    def forEachBatchDataFrame(
        self,
        function: Callable[[DataFrame, int], None],
        schema: str | StructType | None = None,
    ) -> DataStreamSink[T_co]:
        """Call ``function(df, batchId)`` in the driver for each batch with elements: ``df`` is a Spark
        DataFrame of them, which Spark's writers write from the workers, in parallel. A batch that is run
        again after a crash has the same id. ``schema``: the columns, by default those of the stream's
        type."""
        return self._sink("For Each Batch", ForEachBatchDataFrameSink(function, schema))

    @overload
    def executeAndCollect(self, jobName: str = ...) -> CloseableIterator[T_co]: ...

    @overload
    def executeAndCollect(self, jobName: int) -> list[T_co]: ...

    @overload
    def executeAndCollect(self, jobName: str, limit: int) -> list[T_co]: ...

    @short_traceback
    def executeAndCollect(
        self, jobName: str | int = "DataStream Collect", limit: int | None = None
    ) -> CloseableIterator[T_co] | list[T_co]:
        """Run the job and iterate over the elements of this stream as they arrive.

        With a ``limit``, given alone or after the name, return a list of that many elements at most.
        The job stops then, and also when the iterator is closed or garbage collected.
        """
        if isinstance(jobName, int):
            return self.executeAndCollect("DataStream Collect", jobName)
        if limit is not None:
            positive("executeAndCollect: limit", limit)
        with self._running(jobName) as (iterator, _):
            if limit is None:
                return iterator
            with iterator:
                return list(islice(iterator, limit))

    def collectAsync(self) -> CloseableIterator[T_co]:
        """An iterator over the elements of this stream, for a job that may have other sinks, too:
        ``results = stream.collectAsync()``, ``env.executeAsync()``, then iterate."""
        results: CollectResultIterator[T_co] = CollectResultIterator()
        self._sink("Collect", ForEachBatchSink(results.collect))
        self._environment.registerCollectIterator(results)
        return results

    @contextmanager
    def _running(
        self, jobName: str, *, alone: bool = False
    ) -> Iterator[tuple[CloseableIterator[T_co], JobClient]]:
        """The elements of this stream in a job, whose progress is shown until the block ends. ``alone``: without the
        other sinks and the checkpoint of the environment."""
        environment = self._environment
        with environment._progress(jobName) as bar:
            with environment._alone() if alone else nullcontext():
                iterator = self.collectAsync()
                bar.client = client = environment._start(jobName)
            # The job lives as long as the iterator; at exit it ends with the program anyway.
            weakref.finalize(iterator, client.cancelSoon).atexit = False
            yield iterator, client

    # ------------------------------------------------------------------ inspecting

    @short_traceback
    def preview(self, n: int = 20, seconds: float = 10.0) -> Elements[T_co]:
        """The first ``n`` elements, or those that arrive within ``seconds`` after the first batch;
        also of an unbounded stream. They come from a separate job, which is then stopped: it leaves
        the other sinks and the checkpoint of the environment alone. If no element arrives, the
        table says what event time waits for."""
        positive("preview: n", n)
        if number("preview: seconds", seconds) <= 0:
            raise IllegalArgumentError(f"preview: seconds is {seconds}, but must be above 0.")
        with self._running("preview", alone=True) as (iterator, client), iterator:
            stop = _StopAfter(client, seconds)
            threading.Thread(target=stop.run, daemon=True).start()
            elements = list(islice(iterator, n))
            complete = len(elements) < n and not stop.timedOut.is_set()
        waitsFor = None if elements or complete else stop.waitsFor
        return Elements(elements, self._columns(), complete, waitsFor)

    @short_traceback
    def display(self, n: int = 20, seconds: float = 10.0) -> None:
        """Show the elements of ``preview`` as a table: in the cell of a notebook, else as text."""
        elements = self.preview(n, seconds)
        if in_notebook():
            from IPython.display import display

            display(elements)
        else:
            print(elements.toText())

    @short_traceback
    def collectAsPandas(self, limit: int | None = None) -> pd.DataFrame:
        """Run the stream to its end, or to ``limit`` elements, and return a pandas DataFrame with a
        column for each field. Like ``preview`` it runs a separate job. An unbounded stream without a limit raises
        IllegalArgumentError."""
        return self._collected("collectAsPandas", limit).toPandas()

    @short_traceback
    def collectAsArrow(self, limit: int | None = None) -> pa.Table:
        """``collectAsPandas``, but as an Arrow table."""
        return self._collected("collectAsArrow", limit).toArrow()

    def _collected(self, method: str, limit: int | None) -> Elements[T_co]:
        if limit is None:
            fix = f"Pass a limit, as in {method}(1000), or look at what comes with preview()."
            check_bounded(method, self._transformation, fix)
        else:
            positive("limit", limit)
        with self._running("DataStream Collect", alone=True) as (iterator, _), iterator:
            return Elements(islice(iterator, limit), self._columns())

    def _columns(self) -> list[str] | None:
        """The field names of the elements' type, None if it has no fields."""
        elements = self.getType()
        return list(elements.getFieldNames()) if elements.isComposite() else None

    def _repr_html_(self) -> str:
        kind = escape(f"{type(self).__name__} of {self.getType()}")
        return f"<p>{kind}</p>{self._environment._graph_html(self)}"

    def toDataFrame(self, schema: str | StructType | None = None) -> DataFrame:
        """The stream as a streaming Spark DataFrame, for Spark SQL.

        Its columns are the fields of the stream's type (``getType``): those of a tuple are ``f0``,
        ``f1`` and so on; elements without fields are one column ``value``. ``schema`` (a StructType or a
        DDL string) sets other columns; elements are then tuples, Rows, dicts or dataclasses with those
        fields. An element that does not fit raises an error that names the field. Raises
        InvalidProgramError if neither the type nor ``schema`` gives columns.

        You start the query yourself, so flinkish cannot signal to it that the input has ended or that
        timers are due: the last windows of a source that takes several batches (files, long sequences)
        stay open, and processing time advances only with new data. The session keeps the settings that
        the query needs (RocksDB state, UTC, shuffle partitions).
        """
        return self._environment._to_data_frame(self, schema)

    # ------------------------------------------------------------------ building

    def _check_environment(self, method: str, environment: StreamExecutionEnvironment) -> None:
        """Raise InvalidProgramError for a stream of another environment: one job cannot read both."""
        if environment is not self._environment:
            raise InvalidProgramError(
                f"{method}: the two streams come from different environments. Make both from one"
                " StreamExecutionEnvironment."
            )

    def _transform(
        self, operator: OperatorDescription, outputType: TypeInformation[Any] | None = None
    ) -> SingleOutputStreamOperator[Any]:

        transformation = OneInputTransformation(operator, self._transformation)
        transformation.outputType = outputType
        return SingleOutputStreamOperator(self._environment, transformation)

    def _partition(self, partitioning: Partitioning) -> DataStream[T_co]:
        return DataStream(
            self._environment, PartitionTransformation(partitioning, self._transformation)
        )

    def _sink(self, name: str, sink: Sink[T_co]) -> DataStreamSink[T_co]:
        transformation = SinkTransformation(name, sink, self._transformation)
        self._environment._add_sink(transformation)
        return DataStreamSink(transformation)


_SAME_ELEMENTS = (FilterDescription, InOrderDescription, TimestampsAndWatermarksDescription)


class _StopAfter:
    """Cancels a job ``seconds`` after its first batch, unless it has ended by then."""

    def __init__(self, client: JobClient, seconds: float) -> None:
        self.timedOut = threading.Event()
        self.waitsFor: str | None = None
        """A description of what event time waited for when the job was cancelled."""
        self._client = client
        self._seconds = seconds

    def run(self) -> None:
        until: float | None = None
        while not self._client.getJobStatus().isGloballyTerminalState():
            details = self._client.getJobDetails()
            if until is None and details.completedBatches:
                until = time.monotonic() + self._seconds
            if until is not None and time.monotonic() >= until:
                stuck = min(STUCK_MILLIS, round(self._seconds * 1000 / 2))
                self.waitsFor = waits_for(details, stuck)
                self.timedOut.set()
                self._client.cancelSoon()
                return
            time.sleep(_POLL_SECONDS)


_POLL_SECONDS = 0.1


def _split_of(transformation: Transformation) -> Callable[[Any], Any] | None:
    """The function from element to split of the source of ``transformation``, None if its elements are
    not those of the source any more."""
    while isinstance(transformation, (OneInputTransformation, PartitionTransformation)):
        if isinstance(transformation, OneInputTransformation) and not isinstance(
            transformation.operator, _SAME_ELEMENTS
        ):
            return None
        (transformation,) = transformation.inputs
    if isinstance(transformation, SourceTransformation):
        return transformation.source.splitOf
    return None


class SingleOutputStreamOperator(TransformationSettings, DataStream[T_co]):
    """The output of an operator, which can be named and has side outputs (Flink:
    ``SingleOutputStreamOperator``)."""

    def getName(self) -> str:
        """The operator's name."""
        return self._transformation.name

    def setUidHash(self, uidHash: str) -> Self:
        """Restore the state that a savepoint has under ``uidHash``: the uid that was generated for
        the operator while the job gave it none. ``explain()`` and the errors of a restart show it.
        Give the operator a ``uid`` too, under which its state is stored from now on."""
        self._transformation.uidHash = text("setUidHash", uidHash)
        return self

    def setParallelism(self, parallelism: int) -> Self:
        """With 1, run a keyed operator as one task, whose results are in the order of its input
        across all keys; likewise the watermark strategy of a source with splits, across all splits.
        Any other number appears in the plan only; the environment's parallelism applies."""
        self._transformation.parallelism = positive("setParallelism", parallelism, MAX_KEY_GROUPS)
        return self

    def setMaxParallelism(self, maxParallelism: int) -> Self:
        """Accepted for ported jobs; the number of key groups is that of the environment."""
        self._transformation.maxParallelism = positive(
            "setMaxParallelism", maxParallelism, MAX_KEY_GROUPS
        )
        return self

    def returns(self, typeInfo: TypeInformation[T_co] | type[T_co]) -> Self:
        """Declare the type of the elements, which a lambda cannot: ``Types.STRING()``, or a Python type
        such as ``str``, ``list[int]`` or a dataclass (Flink: ``Class`` and ``TypeHint``)."""
        self._transformation.outputType = TypeInformation.of(typeInfo)
        return self

    def forceNonParallel(self) -> Self:
        """``setParallelism(1)``. An operator without keys or splits is one task anyway."""
        return self.setParallelism(1)

    def setBufferTimeout(self, timeoutMillis: int) -> Self:
        """Accepted for ported jobs: elements travel a batch at a time."""
        whole_number("setBufferTimeout", timeoutMillis, -1)
        return self

    def startNewChain(self) -> Self:
        """Accepted for ported jobs, like ``disableChaining``."""
        return self

    def addMetricVariable(self, key: str, value: str) -> Self:
        """Accepted for ported jobs: metrics go by the operator's name, without variables."""
        return self

    def enableAsyncState(self) -> Self:
        """Accepted for ported jobs: state is read a page at a time, so there is no waiting."""
        return self

    def getSideOutput(self, sideOutputTag: OutputTag[X]) -> DataStream[X]:
        """The operator's side output of that tag."""
        fix = "Pass the one that the operator emits to."
        return self._side_output(sideOutputTag, self._transformation, fix)

    def _side_output(
        self, tag: OutputTag[X], transformation: Transformation, fix: str
    ) -> DataStream[X]:
        instance("getSideOutput", tag, OutputTag, fix)
        return DataStream(self._environment, SideOutputTransformation(tag, transformation))


class DataStreamSource(SingleOutputStreamOperator[T_co]):
    """The output of a source, with its watermarks (Flink: ``DataStreamSource``)."""

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        transformation: Transformation,
        source: Transformation | None = None,
    ) -> None:
        super().__init__(environment, transformation)
        self._source = source or transformation

    def getSideOutput(self, sideOutputTag: OutputTag[X]) -> DataStream[X]:
        """The source's side output of that tag, such as that of its malformed records."""
        fix = "Pass the one that the source was given, as in withMalformedRecords(tag)."
        return self._side_output(sideOutputTag, self._source, fix)
