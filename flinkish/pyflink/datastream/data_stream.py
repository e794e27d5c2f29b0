"""``DataStream`` and its kin."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast

from flinkish.api.arguments import instance, positive, whole_number
from flinkish.api.connectors.sink import Sink as CoreSinkKind
from flinkish.api.errors import InvalidProgramError, NotSupportedError
from flinkish.api.execution.client import CloseableIterator as CoreIterator
from flinkish.api.streams.connected_streams import BroadcastStream as CoreBroadcastStream
from flinkish.api.streams.connected_streams import ConnectedStreams as CoreConnectedStreams
from flinkish.api.streams.data_stream import DataStream as CoreStream
from flinkish.api.streams.data_stream import DataStreamSink as CoreSink
from flinkish.api.streams.data_stream import SingleOutputStreamOperator
from flinkish.api.streams.keyed_stream import KeyedStream as CoreKeyedStream
from flinkish.api.streams.windowed_stream import with_null_keys
from flinkish.api.tracebacks import short_traceback
from flinkish.pyflink.absent import AbsentMethods, absent_names
from flinkish.pyflink.common.arguments import declared_type_or_none, milliseconds, user_function
from flinkish.pyflink.common.execution_config import ExecutionConfig
from flinkish.pyflink.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation, Types
from flinkish.pyflink.common.types import created_row
from flinkish.pyflink.common.watermark_strategy import WatermarkStrategy
from flinkish.pyflink.datastream import adapters
from flinkish.pyflink.datastream.connectors.base import Sink
from flinkish.pyflink.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    NullByteKeySelector,
    Partitioner,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from flinkish.pyflink.datastream.output_tag import OutputTag
from flinkish.pyflink.datastream.slot_sharing_group import SlotSharingGroup
from flinkish.pyflink.datastream.state import AggregateAdapter, MapStateDescriptor
from flinkish.pyflink.datastream.window import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    Trigger,
    WindowAssigner,
)

if TYPE_CHECKING:
    from flinkish.pyflink.datastream.stream_execution_environment import (
        StreamExecutionEnvironment,
    )

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CloseableIterator",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "KeyedStream",
    "WindowedStream",
]


class _InPlan(AbsentMethods, ABC):
    """Base of what has a name and an identity in the plan: operators and sinks."""

    @abstractmethod
    def _operator(self, method: str) -> SingleOutputStreamOperator[Any] | CoreSink[Any]:
        """The operator or sink of flinkish's own, for ``method``."""

    def name(self, name: str) -> Self:
        """Name the operator or sink."""
        self._operator("name").name(name)
        return self

    def uid(self, uid: str) -> Self:
        """Give the operator or sink an identity, under which its state is stored."""
        self._operator("uid").uid(uid)
        return self

    def set_uid_hash(self, uid_hash: str) -> Self:
        """``uid(uid_hash)``."""
        return self.uid(uid_hash)

    def set_description(self, description: str) -> Self:
        """Describe the operator or sink in the plan."""
        self._operator("set_description").setDescription(description)
        return self

    def disable_chaining(self) -> Self:
        """Accepted for ported jobs."""
        return self

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> Self:
        """Accepted for ported jobs: Spark has no slots."""
        return self


class DataStreamSink(_InPlan):
    """The end of a stream in a sink (PyFlink: ``DataStreamSink``)."""

    def __init__(self, sink: CoreSink[Any]) -> None:
        self._sink = sink

    def _operator(self, method: str) -> CoreSink[Any]:
        return self._sink

    def set_parallelism(self, parallelism: int) -> DataStreamSink:
        """Set how many tasks write to a sink of your own; for flinkish's file and Kafka sinks Spark
        decides."""
        self._sink.setParallelism(parallelism)
        return self


class CloseableIterator:
    """Iterates over the results of a job (PyFlink: ``CloseableIterator``)."""

    def __init__(self, results: Iterator[Any], close: Callable[[], None]) -> None:
        self._results = results
        self._close = close

    def __iter__(self) -> Self:
        return self

    @short_traceback
    def __next__(self) -> Any:
        """The next result."""
        return next(self._results)

    next = __next__

    def close(self) -> None:
        """Stop the job, if it still runs."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class DataStream(_InPlan):
    """A stream of elements (PyFlink: ``DataStream``)."""

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        stream: CoreStream[Any],
        type_info: TypeInformation | None = None,
    ) -> None:
        self._environment = environment
        self.core = stream
        """The stream as flinkish's own."""
        self._type = type_info or Types.PICKLED_BYTE_ARRAY()

    # ------------------------------------------------------------------ the operator itself

    def _stream_for(self, method: str) -> CoreStream[Any]:
        """The stream for a method that a KeyedStream has not."""
        return self.core

    def _operator(self, method: str) -> SingleOutputStreamOperator[Any]:
        stream = self._stream_for(method)
        if not isinstance(stream, SingleOutputStreamOperator):
            raise InvalidProgramError(
                f"{method}: the stream is no operator's. Call it on the result of map, process and the"
                " like."
            )
        return stream

    def get_name(self) -> str:
        """The operator's name."""
        return self._operator("get_name").getName()

    def set_parallelism(self, parallelism: int) -> DataStream:
        """With 1, run a keyed operator as one task; any other number appears in the plan only."""
        self._operator("set_parallelism").setParallelism(parallelism)
        return self

    def set_max_parallelism(self, max_parallelism: int) -> DataStream:
        """Accepted for ported jobs."""
        self._operator("set_max_parallelism").setMaxParallelism(max_parallelism)
        return self

    def force_non_parallel(self) -> DataStream:
        """``set_parallelism(1)``."""
        return self.set_parallelism(1)

    def set_buffer_timeout(self, timeout_millis: int) -> DataStream:
        """Accepted for ported jobs."""
        self._operator("set_buffer_timeout").setBufferTimeout(timeout_millis)
        return self

    def start_new_chain(self) -> DataStream:
        """Accepted for ported jobs."""
        return self

    def get_type(self) -> TypeInformation:
        """The type of the elements."""
        return self._type

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment that the stream belongs to."""
        return self._environment

    def get_execution_config(self) -> ExecutionConfig:
        """The settings of the job."""
        return self._environment.get_config()

    # ------------------------------------------------------------------ element by element

    def map(
        self,
        func: Callable[[Any], Any] | MapFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Turn each element into one result."""
        adapted: Any
        user_function("map", func, MapFunction, function="lambda value: value + 1")
        declared_type_or_none("map: output_type", output_type)
        if isinstance(func, MapFunction):
            adapted = adapters.MapAdapter(self._dependencies, func, output_type)
        else:
            adapted = adapters.Call(self._dependencies, func, adapters.conversion(output_type))
        return self._result(self.core.map(adapted), output_type)

    def flat_map(
        self,
        func: Callable[[Any], Any] | FlatMapFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Turn each element into any number of results."""
        adapted: Any
        user_function("flat_map", func, FlatMapFunction, function="lambda value: [value]")
        declared_type_or_none("flat_map: output_type", output_type)
        if isinstance(func, FlatMapFunction):
            adapted = adapters.FlatMapAdapter(self._dependencies, func, output_type)
        else:
            adapted = adapters.FlatCall(self._dependencies, func, adapters.conversion(output_type))
        return self._result(self.core.flatMap(adapted), output_type)

    def filter(self, func: Callable[[Any], bool] | FilterFunction) -> DataStream:
        """Keep the elements for which ``func`` is true."""
        adapted: Any
        user_function("filter", func, FilterFunction, function="lambda value: value > 0")
        if isinstance(func, FilterFunction):
            adapted = adapters.FilterAdapter(self._dependencies, func)
        else:
            adapted = adapters.Call(self._dependencies, func)
        return self._result(self.core.filter(adapted), self._type)

    def process(
        self, func: ProcessFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Call a ProcessFunction for every element."""
        # PyFlink also takes a KeyedProcessFunction, which then has neither key nor timers
        user_function("process", func, ProcessFunction, KeyedProcessFunction)
        declared_type_or_none("process: output_type", output_type)
        adapter = adapters.ProcessAdapter(self._dependencies, func, output_type)
        return self._result(self.core.process(adapter), output_type)

    def project(self, *field_indexes: int) -> DataStream:
        """Keep the fields at those positions, as tuples."""
        stream, kind = self._stream_for("project"), self._type
        if not isinstance(kind, (TupleTypeInfo, RowTypeInfo)):
            raise InvalidProgramError(
                "project: only streams of tuples or rows have fields. Declare their type."
            )
        types = kind.get_field_types()
        output_type = Types.TUPLE([types[index] for index in field_indexes])
        return self._result(stream.project(*field_indexes), output_type)

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """Set timestamps and watermarks."""
        instance(
            "assign_timestamps_and_watermarks",
            watermark_strategy,
            WatermarkStrategy,
            "Pass one such as WatermarkStrategy.for_monotonous_timestamps()"
            ".with_timestamp_assigner(assigner).",
        )
        stream = self.core.assignTimestampsAndWatermarks(watermark_strategy.core)
        return self._result(stream, self._type)

    # ------------------------------------------------------------------ streams

    def key_by(
        self,
        key_selector: Callable[[Any], Any] | KeySelector,
        key_type: TypeInformation | None = None,
    ) -> KeyedStream:
        """Partition by key."""
        user_function("key_by", key_selector, KeySelector, function="lambda value: value[0]")
        declared_type_or_none("key_by: key_type", key_type)
        selector = adapters.KeyCall(self._dependencies, key_selector, key_type)
        keyed = self.core.keyBy(selector)
        if key_type in (None, Types.PICKLED_BYTE_ARRAY()):
            keyed = with_null_keys(keyed)  # in PyFlink a pickled None is a key like any other
        return KeyedStream(self._environment, keyed, self._type, selector, key_type)

    def union(self, *streams: DataStream) -> DataStream:
        """Merge with other streams."""
        for stream in streams:
            instance("union", stream, DataStream, "Pass streams: first.union(second, third).")
        others = [stream.core for stream in streams]
        return DataStream(self._environment, self.core.union(*others), self._type)

    def connect(self, ds: Any) -> Any:
        """Connect with another stream, or with a broadcast one."""
        if isinstance(ds, BroadcastStream):
            return BroadcastConnectedStream(self, ds)
        instance("connect", ds, DataStream, "Pass another stream, or other.broadcast(descriptor).")
        return ConnectedStreams(self, ds)

    def window_all(self, window_assigner: WindowAssigner) -> AllWindowedStream:
        """Divide the whole stream into windows."""
        _check_assigner("window_all", window_assigner)
        return AllWindowedStream(self, window_assigner)

    def shuffle(self) -> DataStream:
        """The same stream, as the distribution over tasks does not affect results."""
        return self._same(self._stream_for("shuffle").shuffle())

    def rescale(self) -> DataStream:
        """The same stream, like ``shuffle``."""
        return self._same(self._stream_for("rescale").rescale())

    def rebalance(self) -> DataStream:
        """The same stream, like ``shuffle``."""
        return self._same(self._stream_for("rebalance").rebalance())

    def forward(self) -> DataStream:
        """The same stream, like ``shuffle``."""
        return self._same(self._stream_for("forward").forward())

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> Any:
        """Send every element to every task, for the broadcast state pattern; without descriptors the same
        stream, as an operator sees every element once."""
        stream = self._stream_for("broadcast")
        if broadcast_state_descriptor is None:
            return self._same(stream.broadcast())
        descriptors = (broadcast_state_descriptor, *other_broadcast_state_descriptors)
        for descriptor in descriptors:
            fix = "Pass one such as MapStateDescriptor(name, key_type, value_type)."
            instance("broadcast", descriptor, MapStateDescriptor, fix)
        first, *others = (descriptor.core for descriptor in descriptors)
        return BroadcastStream(stream.broadcast(first, *others))

    def partition_custom(
        self,
        partitioner: Callable[[Any, int], int] | Partitioner,
        key_selector: Callable[[Any], Any] | KeySelector,
    ) -> DataStream:
        """The same stream, like ``shuffle``."""
        stream = self._stream_for("partition_custom")
        user_function(
            "partition_custom", partitioner, Partitioner, function="lambda key, count: key % count"
        )
        user_function(
            "partition_custom", key_selector, KeySelector, function="lambda value: value[0]"
        )
        partition = partitioner.partition if isinstance(partitioner, Partitioner) else partitioner
        selector = adapters.KeyCall(self._dependencies, key_selector, None)
        return self._same(stream.partitionCustom(partition, selector))

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """The operator's side output of that tag."""
        _check_tag("get_side_output", output_tag)
        stream = self._operator("get_side_output").getSideOutput(output_tag.core)
        return DataStream(self._environment, stream, output_tag.type_info)

    # ------------------------------------------------------------------ sinks

    def sink_to(self, sink: Sink | CoreSinkKind[Any]) -> DataStreamSink:
        """Send the elements to ``sink``, which may also be one of flinkish's, or your own."""
        stream = self.core
        if isinstance(sink, CoreSinkKind):
            return DataStreamSink(stream.sinkTo(sink))
        fix = 'Pass one such as flinkish.FileSink.forCsv("/out"), or call print().'
        instance("sink_to", sink, Sink, fix)
        writable = sink.writable(self._type)
        if writable is not None:
            stream = stream.map(adapters.Call(self._dependencies, writable)).name("Writable")
        return DataStreamSink(stream.sinkTo(sink.core))

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print the elements in the driver, in Flink's text."""
        texts = self.core.map(adapters.Call(self._dependencies, self._type.text_of)).name("Text")
        return DataStreamSink(texts.print(sink_identifier or ""))

    def for_each_batch(self, function: Callable[[list[Any], int], None]) -> DataStreamSink:
        """Call ``function(elements, batch_id)`` in the driver for each batch with elements."""
        return DataStreamSink(self.core.forEachBatch(function))

    def for_each_partition(self, function: Callable[[Iterator[Any]], object]) -> DataStreamSink:
        """Call ``function(elements)`` in the workers for each task and batch with elements, with an iterator
        over them, each at least once."""
        return DataStreamSink(self.core.forEachPartition(function))

    @short_traceback
    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> Any:
        """Run the job and iterate over the elements, or return a list of ``limit`` of them."""
        name = job_execution_name or "DataStream Collect"
        stream = self._collected()
        if limit is not None:
            return stream.executeAndCollect(name, limit)
        results: CoreIterator[Any] = stream.executeAndCollect(name)
        return CloseableIterator(results, results.close)

    # ------------------------------------------------------------------ building

    @property
    def _dependencies(self) -> Any:
        return self._environment.dependencies

    def _collected(self) -> CoreStream[Any]:
        return self.core

    def _same(self, stream: CoreStream[Any]) -> DataStream:
        return DataStream(self._environment, stream, self._type)

    def _result(
        self, stream: SingleOutputStreamOperator[Any], output_type: TypeInformation | None
    ) -> DataStream:
        core = None if output_type is None else output_type.core
        if core is not None:
            stream.returns(core)
        return DataStream(self._environment, stream, output_type)


class KeyedStream(DataStream):
    """A stream partitioned by key (PyFlink: ``KeyedStream``)."""

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        stream: CoreKeyedStream[Any, Any],
        type_info: TypeInformation,
        selector: adapters.KeyCall,
        key_type: TypeInformation | None,
    ) -> None:
        super().__init__(environment, stream, type_info)
        self.keyed_core = stream
        """The keyed stream as flinkish's own."""
        self._selector = selector
        self._key_type = key_type or Types.PICKLED_BYTE_ARRAY()

    def reduce(self, func: Callable[[Any, Any], Any] | ReduceFunction) -> DataStream:
        """Combine the elements of each key; in BATCH mode only the last result is emitted."""
        adapted: Any
        user_function("reduce", func, ReduceFunction, function="lambda a, b: a + b")
        if isinstance(func, ReduceFunction):
            adapted = adapters.ReduceAdapter(self._dependencies, func, self._type)
        else:
            adapted = adapters.Call(self._dependencies, func, adapters.conversion(self._type))
        return self._result(self.keyed_core.reduce(adapted), self._type)

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """The rolling sum of a field, or of the elements."""
        return self._accumulated("sum", position_to_sum)

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """The rolling minimum of a field, or of the elements."""
        return self._accumulated("min", position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """The rolling maximum of a field, or of the elements."""
        return self._accumulated("max", position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """The element with the lowest field so far."""
        return self._accumulated("min_by", position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """The element with the highest field so far."""
        return self._accumulated("max_by", position_to_max_by)

    def _accumulated(self, kind: str, position: int | str) -> DataStream:
        if not isinstance(position, (int, str)):
            raise TypeError(f"{kind}: {position!r} is no field. Pass its position or its name.")
        return self.reduce(adapters.FieldReduction(kind, position))

    def process(  # type: ignore[override]
        self, func: KeyedProcessFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Call a KeyedProcessFunction for every element."""
        user_function("process", func, KeyedProcessFunction, ProcessFunction)
        declared_type_or_none("process: output_type", output_type)
        adapter: Any
        if isinstance(func, ProcessFunction):
            adapter = adapters.ProcessAdapter(self._dependencies, func, output_type)
        else:
            adapter = adapters.KeyedProcessAdapter(self._dependencies, func, output_type)
        return self._result(self.keyed_core.process(adapter), output_type)

    def window(self, window_assigner: WindowAssigner) -> WindowedStream:
        """Divide the elements of each key into windows."""
        _check_assigner("window", window_assigner)
        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Windows of ``size`` elements of a key, every ``slide`` elements."""
        positive("count_window: size", size)
        whole_number("count_window: slide", slide)
        if slide:
            return WindowedStream(self, CountSlidingWindowAssigner(size, slide))
        return WindowedStream(self, CountTumblingWindowAssigner(size))

    def union(self, *streams: DataStream) -> DataStream:
        return self._values().union(*(_unkeyed(stream) for stream in streams))

    def _values(self) -> DataStream:
        return DataStream(self._environment, self.core, self._type)

    def _collected(self) -> CoreStream[Any]:
        # As in PyFlink, whose keyed streams are streams of keys with values
        select, names = self._selector.of_user, ["f0", "f1"]
        return self.core.map(
            adapters.Call(
                self._dependencies, lambda value: created_row(names, [select(value), value])
            )
        )

    def broadcast(self, *args: Any) -> Any:
        return self._stream_for("broadcast")

    def _stream_for(self, method: str) -> CoreStream[Any]:
        raise InvalidProgramError(
            f"{method}: a KeyedStream has no {method}. Call it before key_by, or on what comes of it."
        )


def _check_assigner(method: str, given: object) -> None:
    fix = "Pass one such as TumblingEventTimeWindows.of(Time.seconds(5))."
    instance(method, given, WindowAssigner, fix)


def _check_tag(method: str, given: object) -> None:
    instance(method, given, OutputTag, 'Pass one such as OutputTag("late", Types.INT()).')


def _unkeyed(stream: DataStream) -> DataStream:
    return stream._values() if isinstance(stream, KeyedStream) else stream


_A = TypeVar("_A", bound=Function)
_P = TypeVar("_P", bound=Function)


class _Windows(AbsentMethods, ABC, Generic[_A, _P]):
    """The base of windows with and without keys; ``_A`` and ``_P`` are the types of the functions that
    they apply and process."""

    _input: DataStream
    _function_kinds: ClassVar[tuple[type[Any], ...]]
    _adapter: ClassVar[type[Any]]
    _pass_through: ClassVar[type[Any]]
    """A function that emits the elements of a window."""

    def __init__(self, window_assigner: WindowAssigner) -> None:
        self._assigner = window_assigner
        self._trigger: Trigger | None = None
        self._lateness: int | None = None
        self._late_tag: OutputTag | None = None

    def trigger(self, trigger: Trigger) -> Self:
        """Set the trigger."""
        if isinstance(self._assigner, CountSlidingWindowAssigner):
            raise NotSupportedError(
                "trigger: count windows fire when they are full. Use GlobalWindows with a CountTrigger."
            )
        instance("trigger", trigger, Trigger, "Pass one such as CountTrigger.of(3).")
        self._trigger = trigger
        return self

    def allowed_lateness(self, time_ms: int) -> Self:
        """Set how late elements may be, in ms."""
        self._lateness = milliseconds("allowed_lateness", time_ms)
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> Self:
        """Send elements that are too late to a side output."""
        _check_tag("side_output_late_data", output_tag)
        self._late_tag = output_tag
        return self

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment that the stream belongs to."""
        return self._input.get_execution_environment()

    def get_input_type(self) -> TypeInformation:
        """The type of the elements."""
        return self._input.get_type()

    def reduce(
        self,
        reduce_function: Callable[[Any, Any], Any] | ReduceFunction,
        window_function: _A | _P | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Reduce the elements of a window to one, for ``window_function`` if there is one."""
        user_function("reduce", reduce_function, ReduceFunction, function="lambda a, b: a + b")
        self._check("reduce", window_function, output_type)
        given = reduce_function
        reduce = given.reduce if isinstance(given, ReduceFunction) else given
        reduced = adapters.Call(
            self._input._dependencies, reduce, adapters.conversion(self.get_input_type())
        )
        if isinstance(self._assigner, CountSlidingWindowAssigner):
            kind = output_type or self.get_input_type()
            return self._counted(window_function, adapters.Reduced(reduced), kind)
        if window_function is None:
            kind = output_type or self.get_input_type()
            return self._input._result(self._windowed().reduce(reduced), kind)
        adapter = self._adapted(window_function, output_type)
        return self._input._result(self._windowed().reduce(reduced, adapter), output_type)

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: _A | _P | None = None,
        accumulator_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Aggregate the elements of a window, for ``window_function`` if there is one."""
        user_function("aggregate", aggregate_function, AggregateFunction)
        declared_type_or_none("aggregate: accumulator_type", accumulator_type)
        self._check("aggregate", window_function, output_type)
        if isinstance(self._assigner, CountSlidingWindowAssigner):
            return self._counted(
                window_function, adapters.Aggregated(aggregate_function), output_type
            )
        aggregate = AggregateAdapter(aggregate_function, accumulator_type)
        adapter = self._adapted(window_function, output_type)
        return self._input._result(self._windowed().aggregate(aggregate, adapter), output_type)

    def apply(self, window_function: _A, output_type: TypeInformation | None = None) -> DataStream:
        """Hand the elements of a window to a WindowFunction, or an AllWindowFunction."""
        return self._collected("apply", window_function, output_type)

    def process(
        self, process_window_function: _P, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Hand the elements of a window to a ProcessWindowFunction, or a ProcessAllWindowFunction."""
        return self._collected("process", process_window_function, output_type)

    def _check(
        self, method: str, function: Function | None, output_type: TypeInformation | None
    ) -> None:
        if function is not None:
            user_function(method, function, *self._function_kinds)
        declared_type_or_none(f"{method}: output_type", output_type)

    def _collected(
        self, method: str, function: Function, output_type: TypeInformation | None
    ) -> DataStream:
        user_function(method, function, *self._function_kinds)
        declared_type_or_none(f"{method}: output_type", output_type)
        if isinstance(self._assigner, CountSlidingWindowAssigner):
            return self._counted(function, adapters.whole_list, output_type)
        adapter = self._adapted(function, output_type)
        return self._input._result(self._windowed().process(adapter), output_type)

    def _counted(
        self, function: Function | None, folded: Any, output_type: TypeInformation | None
    ) -> DataStream:
        stream, assigner = self._keyed(), cast(CountSlidingWindowAssigner, self._assigner)
        size, slide = assigner.window_size, assigner.window_slide
        chosen = self._pass_through() if function is None else function
        adapter = adapters.CountWindowAdapter(
            stream._dependencies, chosen, output_type, size, slide, folded
        )
        return stream._result(stream.keyed_core.process(adapter), output_type)

    def _adapted(self, function: Function | None, output_type: TypeInformation | None) -> Any:
        chosen = self._pass_through() if function is None else function
        return self._adapter(self._input._dependencies, chosen, output_type)

    def _windowed(self) -> Any:
        """The windowed stream of flinkish's own."""
        windowed = self._divided()
        if self._trigger is not None:
            windowed = windowed.trigger(self._trigger.core)
        if self._lateness is not None:
            windowed = windowed.allowedLateness(self._lateness)
        if self._late_tag is not None:
            windowed = windowed.sideOutputLateData(self._late_tag.core)
        return windowed

    @abstractmethod
    def _divided(self) -> Any:
        """The stream divided by the assigner."""

    @abstractmethod
    def _keyed(self) -> KeyedStream:
        """The stream partitioned by the key under which count windows are kept."""


class WindowedStream(_Windows[WindowFunction, ProcessWindowFunction]):
    """The windows of a keyed stream (PyFlink: ``WindowedStream``)."""

    _function_kinds = (WindowFunction, ProcessWindowFunction)
    _adapter = adapters.WindowAdapter
    _pass_through = adapters.PassThrough

    def __init__(self, keyed_stream: KeyedStream, window_assigner: WindowAssigner) -> None:
        super().__init__(window_assigner)
        self._input: KeyedStream = keyed_stream

    def _divided(self) -> Any:
        return self._input.keyed_core.window(self._assigner.core)

    def _keyed(self) -> KeyedStream:
        return self._input


class AllWindowedStream(_Windows[AllWindowFunction, ProcessAllWindowFunction]):
    """The windows of a whole stream (PyFlink: ``AllWindowedStream``)."""

    _function_kinds = (AllWindowFunction, ProcessAllWindowFunction)
    _adapter = adapters.AllWindowAdapter
    _pass_through = adapters.PassThroughAll

    def __init__(self, data_stream: DataStream, window_assigner: WindowAssigner) -> None:
        super().__init__(window_assigner)
        self._input = data_stream

    def _divided(self) -> Any:
        return self._input.core.windowAll(self._assigner.core)

    def _keyed(self) -> KeyedStream:
        return self._input.key_by(NullByteKeySelector())


class ConnectedStreams(AbsentMethods):
    """Two streams for an operator with two inputs (PyFlink: ``ConnectedStreams``)."""

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        self.stream1 = stream1
        self.stream2 = stream2

    def key_by(
        self,
        key_selector1: Callable[[Any], Any] | KeySelector,
        key_selector2: Callable[[Any], Any] | KeySelector,
        key_type: TypeInformation | None = None,
    ) -> ConnectedStreams:
        """Partition both by key."""
        return ConnectedStreams(
            _unkeyed(self.stream1).key_by(key_selector1, key_type),
            _unkeyed(self.stream2).key_by(key_selector2, key_type),
        )

    def map(self, func: CoMapFunction, output_type: TypeInformation | None = None) -> DataStream:
        """Turn each element of either stream into one result."""
        user_function("map", func, CoMapFunction)
        declared_type_or_none("map: output_type", output_type)
        adapter = adapters.CoMapAdapter(self._dependencies, func, output_type)
        return self.stream1._result(self._connected().map(adapter), output_type)

    def flat_map(
        self, func: CoFlatMapFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Turn each element of either stream into any number of results."""
        user_function("flat_map", func, CoFlatMapFunction)
        declared_type_or_none("flat_map: output_type", output_type)
        adapter = adapters.CoFlatMapAdapter(self._dependencies, func, output_type)
        return self.stream1._result(self._connected().flatMap(adapter), output_type)

    def process(
        self,
        func: CoProcessFunction | KeyedCoProcessFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Call a process function for the elements of both streams."""
        user_function("process", func, CoProcessFunction, KeyedCoProcessFunction)
        declared_type_or_none("process: output_type", output_type)
        keyed = all(isinstance(s, KeyedStream) for s in (self.stream1, self.stream2))
        adapter: Any
        if keyed and isinstance(func, KeyedCoProcessFunction):
            adapter = adapters.KeyedCoProcessAdapter(self._dependencies, func, output_type)
        else:
            adapter = adapters.CoProcessAdapter(self._dependencies, func, output_type)
        return self.stream1._result(self._connected().process(adapter), output_type)

    @property
    def _dependencies(self) -> Any:
        return self.stream1._dependencies

    def _connected(self) -> CoreConnectedStreams[Any, Any]:
        return self.stream1.core.connect(self.stream2.core)


class BroadcastStream(AbsentMethods):
    """A stream whose elements go to every task (PyFlink: ``BroadcastStream``)."""

    def __init__(self, stream: CoreBroadcastStream[Any]) -> None:
        self.core = stream


class BroadcastConnectedStream(AbsentMethods):
    """A stream connected with a broadcast one (PyFlink: ``BroadcastConnectedStream``)."""

    def __init__(self, stream: DataStream, broadcast_stream: BroadcastStream) -> None:
        self._first = stream
        self._second = broadcast_stream

    def process(
        self,
        func: BroadcastProcessFunction | KeyedBroadcastProcessFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Call a process function for the elements of both streams."""
        user_function("process", func, BroadcastProcessFunction, KeyedBroadcastProcessFunction)
        declared_type_or_none("process: output_type", output_type)
        adapter: Any
        if isinstance(func, KeyedBroadcastProcessFunction):
            adapter = adapters.KeyedBroadcastAdapter(self._first._dependencies, func, output_type)
        else:
            adapter = adapters.BroadcastAdapter(self._first._dependencies, func, output_type)
        connected = self._first.core.connect(self._second.core)
        return self._first._result(connected.process(adapter), output_type)


__getattr__ = absent_names(__name__)
