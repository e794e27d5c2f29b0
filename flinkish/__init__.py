"""A Flink-compatible DataStream API on PySpark."""

from types import ModuleType as _ModuleType

from flinkish.api.absent import absent_name as _absent_name
from flinkish.api.connectors.bucket_assigner import (
    BasePathBucketAssigner as BasePathBucketAssigner,
)
from flinkish.api.connectors.bucket_assigner import BucketAssigner as BucketAssigner
from flinkish.api.connectors.bucket_assigner import (
    DateTimeBucketAssigner as DateTimeBucketAssigner,
)
from flinkish.api.connectors.bulk_format import BulkWriterFactory as BulkWriterFactory
from flinkish.api.connectors.bulk_format import ParquetBulkWriters as ParquetBulkWriters
from flinkish.api.connectors.file_sink import FileSink as FileSink
from flinkish.api.connectors.file_source import FileSource as FileSource
from flinkish.api.connectors.jdbc_sink import JdbcConnectionOptions as JdbcConnectionOptions
from flinkish.api.connectors.jdbc_sink import JdbcExecutionOptions as JdbcExecutionOptions
from flinkish.api.connectors.jdbc_sink import JdbcSink as JdbcSink
from flinkish.api.connectors.jdbc_sink import JdbcSinkBuilder as JdbcSinkBuilder
from flinkish.api.connectors.jdbc_sink import PreparedStatement as PreparedStatement
from flinkish.api.connectors.kafka.avro import (
    ConfluentRegistryAvroDeserializationSchema as ConfluentRegistryAvroDeserializationSchema,
)
from flinkish.api.connectors.kafka.deserialization import (
    KafkaRecordDeserializationSchema as KafkaRecordDeserializationSchema,
)
from flinkish.api.connectors.kafka.offsets import OffsetResetStrategy as OffsetResetStrategy
from flinkish.api.connectors.kafka.offsets import OffsetsInitializer as OffsetsInitializer
from flinkish.api.connectors.kafka.records import ConsumerRecord as ConsumerRecord
from flinkish.api.connectors.kafka.records import MalformedKafkaRecord as MalformedKafkaRecord
from flinkish.api.connectors.kafka.records import ProducerRecord as ProducerRecord
from flinkish.api.connectors.kafka.records import TopicPartition as TopicPartition
from flinkish.api.connectors.kafka.serialization import KafkaPartitioner as KafkaPartitioner
from flinkish.api.connectors.kafka.serialization import (
    KafkaRecordSerializationSchema as KafkaRecordSerializationSchema,
)
from flinkish.api.connectors.kafka.serialization import KafkaSinkContext as KafkaSinkContext
from flinkish.api.connectors.kafka.sink import DeliveryGuarantee as DeliveryGuarantee
from flinkish.api.connectors.kafka.sink import KafkaSink as KafkaSink
from flinkish.api.connectors.kafka.sink import KafkaSinkBuilder as KafkaSinkBuilder
from flinkish.api.connectors.kafka.source import KafkaSource as KafkaSource
from flinkish.api.connectors.kafka.source import KafkaSourceBuilder as KafkaSourceBuilder
from flinkish.api.connectors.malformed_record import MalformedRecord as MalformedRecord
from flinkish.api.connectors.row_format import DefaultRollingPolicy as DefaultRollingPolicy
from flinkish.api.connectors.row_format import Encoder as Encoder
from flinkish.api.connectors.row_format import (
    OnCheckpointRollingPolicy as OnCheckpointRollingPolicy,
)
from flinkish.api.connectors.row_format import OutputFileConfig as OutputFileConfig
from flinkish.api.connectors.row_format import RollingPolicy as RollingPolicy
from flinkish.api.connectors.row_format import SimpleStringEncoder as SimpleStringEncoder
from flinkish.api.connectors.row_format import TextLineInputFormat as TextLineInputFormat
from flinkish.api.connectors.schemas import ByteArraySchema as ByteArraySchema
from flinkish.api.connectors.schemas import DeserializationSchema as DeserializationSchema
from flinkish.api.connectors.schemas import JsonDeserializationSchema as JsonDeserializationSchema
from flinkish.api.connectors.schemas import JsonSerializationSchema as JsonSerializationSchema
from flinkish.api.connectors.schemas import SerializationSchema as SerializationSchema
from flinkish.api.connectors.schemas import SimpleStringSchema as SimpleStringSchema
from flinkish.api.connectors.sink import DiscardingSink as DiscardingSink
from flinkish.api.connectors.sink import ForEachBatchDataFrameSink as ForEachBatchDataFrameSink
from flinkish.api.connectors.sink import ForEachBatchSink as ForEachBatchSink
from flinkish.api.connectors.sink import PrintSink as PrintSink
from flinkish.api.connectors.sink import Sink as Sink
from flinkish.api.connectors.sink_writer import CommitRequest as CommitRequest
from flinkish.api.connectors.sink_writer import Committer as Committer
from flinkish.api.connectors.sink_writer import CommitterInitContext as CommitterInitContext
from flinkish.api.connectors.sink_writer import CommittingSinkWriter as CommittingSinkWriter
from flinkish.api.connectors.sink_writer import SinkWriter as SinkWriter
from flinkish.api.connectors.sink_writer import SinkWriterContext as SinkWriterContext
from flinkish.api.connectors.sink_writer import SupportsCommitter as SupportsCommitter
from flinkish.api.connectors.sink_writer import WriterInitContext as WriterInitContext
from flinkish.api.connectors.source import DataGeneratorSource as DataGeneratorSource
from flinkish.api.connectors.source import NumberSequenceSource as NumberSequenceSource
from flinkish.api.connectors.source import RateLimiterStrategy as RateLimiterStrategy
from flinkish.api.connectors.source import Source as Source
from flinkish.api.environment.configuration import CheckpointConfig as CheckpointConfig
from flinkish.api.environment.configuration import CheckpointingMode as CheckpointingMode
from flinkish.api.environment.configuration import Configuration as Configuration
from flinkish.api.environment.configuration import ExecutionConfig as ExecutionConfig
from flinkish.api.environment.configuration import (
    ExternalizedCheckpointRetention as ExternalizedCheckpointRetention,
)
from flinkish.api.environment.configuration import RuntimeExecutionMode as RuntimeExecutionMode
from flinkish.api.environment.environment import (
    StreamExecutionEnvironment as StreamExecutionEnvironment,
)
from flinkish.api.environment.parameter_tool import ParameterTool as ParameterTool
from flinkish.api.environment.restart_strategies import RestartStrategies as RestartStrategies
from flinkish.api.environment.restart_strategies import (
    RestartStrategyConfiguration as RestartStrategyConfiguration,
)
from flinkish.api.environment.savepoint_settings import (
    SavepointRestoreSettings as SavepointRestoreSettings,
)
from flinkish.api.errors import ChangedAttributeWarning as ChangedAttributeWarning
from flinkish.api.errors import CheckpointStorageError as CheckpointStorageError
from flinkish.api.errors import CorruptCheckpointError as CorruptCheckpointError
from flinkish.api.errors import FlinkishError as FlinkishError
from flinkish.api.errors import IllegalArgumentError as IllegalArgumentError
from flinkish.api.errors import IllegalStateError as IllegalStateError
from flinkish.api.errors import IncompatibleCheckpointError as IncompatibleCheckpointError
from flinkish.api.errors import InternalError as InternalError
from flinkish.api.errors import InvalidProgramError as InvalidProgramError
from flinkish.api.errors import JavaNotFoundError as JavaNotFoundError
from flinkish.api.errors import JobExecutionError as JobExecutionError
from flinkish.api.errors import MalformedRecordError as MalformedRecordError
from flinkish.api.errors import MissingTimestampError as MissingTimestampError
from flinkish.api.errors import NotSupportedError as NotSupportedError
from flinkish.api.errors import ProducerFencedError as ProducerFencedError
from flinkish.api.errors import UnfitElementError as UnfitElementError
from flinkish.api.errors import UnstableKeyError as UnstableKeyError
from flinkish.api.errors import UserFunctionError as UserFunctionError
from flinkish.api.eventtime.arrival_time import ArrivalTimeStrategy as ArrivalTimeStrategy
from flinkish.api.eventtime.arrival_time import DeadLetter as DeadLetter
from flinkish.api.eventtime.arrival_time import DeadLetterReason as DeadLetterReason
from flinkish.api.eventtime.arrival_time import OrderingPolicy as OrderingPolicy
from flinkish.api.eventtime.clock import ManualClock as ManualClock
from flinkish.api.eventtime.clock import RelativeClock as RelativeClock
from flinkish.api.eventtime.watermarks import (
    AscendingTimestampsWatermarks as AscendingTimestampsWatermarks,
)
from flinkish.api.eventtime.watermarks import (
    BoundedOutOfOrdernessWatermarks as BoundedOutOfOrdernessWatermarks,
)
from flinkish.api.eventtime.watermarks import NoWatermarksGenerator as NoWatermarksGenerator
from flinkish.api.eventtime.watermarks import (
    SerializableTimestampAssigner as SerializableTimestampAssigner,
)
from flinkish.api.eventtime.watermarks import TimestampAssigner as TimestampAssigner
from flinkish.api.eventtime.watermarks import TimestampAssignerContext as TimestampAssignerContext
from flinkish.api.eventtime.watermarks import WatermarkGenerator as WatermarkGenerator
from flinkish.api.eventtime.watermarks import WatermarkGeneratorContext as WatermarkGeneratorContext
from flinkish.api.eventtime.watermarks import WatermarkOutput as WatermarkOutput
from flinkish.api.eventtime.watermarks import WatermarkStrategy as WatermarkStrategy
from flinkish.api.execution.client import CloseableIterator as CloseableIterator
from flinkish.api.execution.client import JobClient as JobClient
from flinkish.api.execution.client import JobExecutionResult as JobExecutionResult
from flinkish.api.execution.client import JobListener as JobListener
from flinkish.api.execution.client import JobStatus as JobStatus
from flinkish.api.execution.client import OperatorMetrics as OperatorMetrics
from flinkish.api.execution.executor import PipelineExecutor as PipelineExecutor
from flinkish.api.execution.executor import WebUI as WebUI
from flinkish.api.functions.accumulators import Accumulator as Accumulator
from flinkish.api.functions.accumulators import AverageAccumulator as AverageAccumulator
from flinkish.api.functions.accumulators import DoubleCounter as DoubleCounter
from flinkish.api.functions.accumulators import DoubleMaximum as DoubleMaximum
from flinkish.api.functions.accumulators import DoubleMinimum as DoubleMinimum
from flinkish.api.functions.accumulators import IntCounter as IntCounter
from flinkish.api.functions.accumulators import IntMaximum as IntMaximum
from flinkish.api.functions.accumulators import IntMinimum as IntMinimum
from flinkish.api.functions.accumulators import ListAccumulator as ListAccumulator
from flinkish.api.functions.accumulators import LongCounter as LongCounter
from flinkish.api.functions.accumulators import LongMaximum as LongMaximum
from flinkish.api.functions.accumulators import LongMinimum as LongMinimum
from flinkish.api.functions.accumulators import (
    SerializedListAccumulator as SerializedListAccumulator,
)
from flinkish.api.functions.accumulators import SimpleAccumulator as SimpleAccumulator
from flinkish.api.functions.async_function import AsyncFunction as AsyncFunction
from flinkish.api.functions.async_function import AsyncRetryPredicate as AsyncRetryPredicate
from flinkish.api.functions.async_function import AsyncRetryStrategies as AsyncRetryStrategies
from flinkish.api.functions.async_function import AsyncRetryStrategy as AsyncRetryStrategy
from flinkish.api.functions.async_function import ResultFuture as ResultFuture
from flinkish.api.functions.async_function import RetryPredicates as RetryPredicates
from flinkish.api.functions.async_function import RichAsyncFunction as RichAsyncFunction
from flinkish.api.functions.broadcast import BroadcastContext as BroadcastContext
from flinkish.api.functions.broadcast import BroadcastProcessFunction as BroadcastProcessFunction
from flinkish.api.functions.broadcast import BroadcastReadOnlyContext as BroadcastReadOnlyContext
from flinkish.api.functions.broadcast import BroadcastState as BroadcastState
from flinkish.api.functions.broadcast import KeyedBroadcastContext as KeyedBroadcastContext
from flinkish.api.functions.broadcast import (
    KeyedBroadcastProcessFunction as KeyedBroadcastProcessFunction,
)
from flinkish.api.functions.broadcast import (
    KeyedBroadcastReadOnlyContext as KeyedBroadcastReadOnlyContext,
)
from flinkish.api.functions.broadcast import (
    KeyedBroadcastTimerContext as KeyedBroadcastTimerContext,
)
from flinkish.api.functions.broadcast import KeyedStateFunction as KeyedStateFunction
from flinkish.api.functions.broadcast import ReadOnlyBroadcastState as ReadOnlyBroadcastState
from flinkish.api.functions.checkpointed import CheckpointedFunction as CheckpointedFunction
from flinkish.api.functions.checkpointed import (
    FunctionInitializationContext as FunctionInitializationContext,
)
from flinkish.api.functions.checkpointed import FunctionSnapshotContext as FunctionSnapshotContext
from flinkish.api.functions.checkpointed import OperatorStateStore as OperatorStateStore
from flinkish.api.functions.functions import AggregateFunction as AggregateFunction
from flinkish.api.functions.functions import Collector as Collector
from flinkish.api.functions.functions import FilterFunction as FilterFunction
from flinkish.api.functions.functions import FlatMapFunction as FlatMapFunction
from flinkish.api.functions.functions import KeySelector as KeySelector
from flinkish.api.functions.functions import MapFunction as MapFunction
from flinkish.api.functions.functions import Partitioner as Partitioner
from flinkish.api.functions.functions import ReduceFunction as ReduceFunction
from flinkish.api.functions.functions import RichAggregateFunction as RichAggregateFunction
from flinkish.api.functions.functions import RichFilterFunction as RichFilterFunction
from flinkish.api.functions.functions import RichFlatMapFunction as RichFlatMapFunction
from flinkish.api.functions.functions import RichFunction as RichFunction
from flinkish.api.functions.functions import RichMapFunction as RichMapFunction
from flinkish.api.functions.functions import RichReduceFunction as RichReduceFunction
from flinkish.api.functions.join import CoGroupFunction as CoGroupFunction
from flinkish.api.functions.join import FlatJoinFunction as FlatJoinFunction
from flinkish.api.functions.join import JoinContext as JoinContext
from flinkish.api.functions.join import JoinFunction as JoinFunction
from flinkish.api.functions.join import ProcessJoinFunction as ProcessJoinFunction
from flinkish.api.functions.join import RichCoGroupFunction as RichCoGroupFunction
from flinkish.api.functions.join import RichFlatJoinFunction as RichFlatJoinFunction
from flinkish.api.functions.join import RichJoinFunction as RichJoinFunction
from flinkish.api.functions.join import TaggedUnion as TaggedUnion
from flinkish.api.functions.process import KeyedProcessContext as KeyedProcessContext
from flinkish.api.functions.process import KeyedProcessFunction as KeyedProcessFunction
from flinkish.api.functions.process import KeyedTimerContext as KeyedTimerContext
from flinkish.api.functions.process import ProcessContext as ProcessContext
from flinkish.api.functions.process import ProcessFunction as ProcessFunction
from flinkish.api.functions.process import TimeDomain as TimeDomain
from flinkish.api.functions.process import TimerContext as TimerContext
from flinkish.api.functions.process import TimerService as TimerService
from flinkish.api.functions.runtime_context import KeyedStateStore as KeyedStateStore
from flinkish.api.functions.runtime_context import OpenContext as OpenContext
from flinkish.api.functions.runtime_context import RuntimeContext as RuntimeContext
from flinkish.api.functions.runtime_context import TaskInfo as TaskInfo
from flinkish.api.functions.sink_function import RichSinkFunction as RichSinkFunction
from flinkish.api.functions.sink_function import SinkFunction as SinkFunction
from flinkish.api.functions.source_function import RichSourceFunction as RichSourceFunction
from flinkish.api.functions.source_function import SourceFunction as SourceFunction
from flinkish.api.functions.state import AggregatingState as AggregatingState
from flinkish.api.functions.state import AggregatingStateDescriptor as AggregatingStateDescriptor
from flinkish.api.functions.state import ListState as ListState
from flinkish.api.functions.state import ListStateDescriptor as ListStateDescriptor
from flinkish.api.functions.state import MapEntry as MapEntry
from flinkish.api.functions.state import MapState as MapState
from flinkish.api.functions.state import MapStateDescriptor as MapStateDescriptor
from flinkish.api.functions.state import ReducingState as ReducingState
from flinkish.api.functions.state import ReducingStateDescriptor as ReducingStateDescriptor
from flinkish.api.functions.state import StateDescriptor as StateDescriptor
from flinkish.api.functions.state import ValueState as ValueState
from flinkish.api.functions.state import ValueStateDescriptor as ValueStateDescriptor
from flinkish.api.functions.ttl import StateTtlConfig as StateTtlConfig
from flinkish.api.functions.ttl import StateTtlConfigBuilder as StateTtlConfigBuilder
from flinkish.api.functions.ttl import StateVisibility as StateVisibility
from flinkish.api.functions.ttl import TtlTimeCharacteristic as TtlTimeCharacteristic
from flinkish.api.functions.ttl import UpdateType as UpdateType
from flinkish.api.functions.two_input import CoFlatMapFunction as CoFlatMapFunction
from flinkish.api.functions.two_input import CoMapFunction as CoMapFunction
from flinkish.api.functions.two_input import CoProcessFunction as CoProcessFunction
from flinkish.api.functions.two_input import KeyedCoProcessFunction as KeyedCoProcessFunction
from flinkish.api.functions.two_input import RichCoFlatMapFunction as RichCoFlatMapFunction
from flinkish.api.functions.two_input import RichCoMapFunction as RichCoMapFunction
from flinkish.api.functions.window import AllWindowFunction as AllWindowFunction
from flinkish.api.functions.window import ProcessAllWindowFunction as ProcessAllWindowFunction
from flinkish.api.functions.window import ProcessWindowFunction as ProcessWindowFunction
from flinkish.api.functions.window import RichAllWindowFunction as RichAllWindowFunction
from flinkish.api.functions.window import RichWindowFunction as RichWindowFunction
from flinkish.api.functions.window import WindowContext as WindowContext
from flinkish.api.functions.window import WindowFunction as WindowFunction
from flinkish.api.metrics import Counter as Counter
from flinkish.api.metrics import Histogram as Histogram
from flinkish.api.metrics import HistogramStatistics as HistogramStatistics
from flinkish.api.metrics import Meter as Meter
from flinkish.api.metrics import MetricGroup as MetricGroup
from flinkish.api.output_tag import OutputTag as OutputTag
from flinkish.api.program_classes import class_of_program as _class_of_program  # likewise
from flinkish.api.savepoint.bootstrap import (
    KeyedOperatorTransformation as KeyedOperatorTransformation,
)
from flinkish.api.savepoint.bootstrap import (
    OneInputOperatorTransformation as OneInputOperatorTransformation,
)
from flinkish.api.savepoint.bootstrap import OperatorTransformation as OperatorTransformation
from flinkish.api.savepoint.bootstrap import (
    StateBootstrapTransformation as StateBootstrapTransformation,
)
from flinkish.api.savepoint.bootstrap import (
    WindowedOperatorTransformation as WindowedOperatorTransformation,
)
from flinkish.api.savepoint.functions import (
    BroadcastStateBootstrapContext as BroadcastStateBootstrapContext,
)
from flinkish.api.savepoint.functions import (
    BroadcastStateBootstrapFunction as BroadcastStateBootstrapFunction,
)
from flinkish.api.savepoint.functions import (
    KeyedStateBootstrapContext as KeyedStateBootstrapContext,
)
from flinkish.api.savepoint.functions import (
    KeyedStateBootstrapFunction as KeyedStateBootstrapFunction,
)
from flinkish.api.savepoint.functions import KeyedStateReaderContext as KeyedStateReaderContext
from flinkish.api.savepoint.functions import KeyedStateReaderFunction as KeyedStateReaderFunction
from flinkish.api.savepoint.functions import StateBootstrapContext as StateBootstrapContext
from flinkish.api.savepoint.functions import StateBootstrapFunction as StateBootstrapFunction
from flinkish.api.savepoint.functions import WindowReaderContext as WindowReaderContext
from flinkish.api.savepoint.functions import WindowReaderFunction as WindowReaderFunction
from flinkish.api.savepoint.reader import OperatorIdentifier as OperatorIdentifier
from flinkish.api.savepoint.reader import SavepointReader as SavepointReader
from flinkish.api.savepoint.reader import WindowSavepointReader as WindowSavepointReader
from flinkish.api.savepoint.writer import SavepointWriter as SavepointWriter
from flinkish.api.stored_names import restored as _restored  # pickled by this name
from flinkish.api.streams.async_data_stream import AsyncDataStream as AsyncDataStream
from flinkish.api.streams.connected_streams import (
    BroadcastConnectedStream as BroadcastConnectedStream,
)
from flinkish.api.streams.connected_streams import BroadcastStream as BroadcastStream
from flinkish.api.streams.connected_streams import ConnectedStreams as ConnectedStreams
from flinkish.api.streams.data_stream import DataStream as DataStream
from flinkish.api.streams.data_stream import DataStreamSink as DataStreamSink
from flinkish.api.streams.data_stream import DataStreamSource as DataStreamSource
from flinkish.api.streams.data_stream import (
    SingleOutputStreamOperator as SingleOutputStreamOperator,
)
from flinkish.api.streams.data_stream_utils import DataStreamUtils as DataStreamUtils
from flinkish.api.streams.interval_join import IntervalJoin as IntervalJoin
from flinkish.api.streams.interval_join import IntervalJoined as IntervalJoined
from flinkish.api.streams.joined_streams import CoGroupedStreams as CoGroupedStreams
from flinkish.api.streams.joined_streams import JoinedStreams as JoinedStreams
from flinkish.api.streams.keyed_stream import KeyedStream as KeyedStream
from flinkish.api.streams.partition_window import MapPartitionFunction as MapPartitionFunction
from flinkish.api.streams.partition_window import Order as Order
from flinkish.api.streams.partition_window import PartitionWindowedStream as PartitionWindowedStream
from flinkish.api.streams.windowed_stream import AllWindowedStream as AllWindowedStream
from flinkish.api.streams.windowed_stream import WindowedStream as WindowedStream
from flinkish.api.time.durations import Duration as Duration
from flinkish.api.time.durations import Time as Time
from flinkish.api.time.durations import TimeUnit as TimeUnit
from flinkish.api.time.elements import StreamRecord as StreamRecord
from flinkish.api.time.elements import Watermark as Watermark
from flinkish.api.time.elements import WatermarkStatus as WatermarkStatus
from flinkish.api.types.row import Row as Row
from flinkish.api.types.row import row_of as _row_of
from flinkish.api.types.row import rowType as rowType
from flinkish.api.types.type_info import TypeInformation as TypeInformation
from flinkish.api.types.type_info import Types as Types
from flinkish.api.windowing.assigners import (
    DynamicEventTimeSessionWindows as DynamicEventTimeSessionWindows,
)
from flinkish.api.windowing.assigners import (
    DynamicProcessingTimeSessionWindows as DynamicProcessingTimeSessionWindows,
)
from flinkish.api.windowing.assigners import EventTimeSessionWindows as EventTimeSessionWindows
from flinkish.api.windowing.assigners import GlobalWindows as GlobalWindows
from flinkish.api.windowing.assigners import MergeCallback as MergeCallback
from flinkish.api.windowing.assigners import MergingWindowAssigner as MergingWindowAssigner
from flinkish.api.windowing.assigners import (
    ProcessingTimeSessionWindows as ProcessingTimeSessionWindows,
)
from flinkish.api.windowing.assigners import (
    SessionWindowTimeGapExtractor as SessionWindowTimeGapExtractor,
)
from flinkish.api.windowing.assigners import SlidingEventTimeWindows as SlidingEventTimeWindows
from flinkish.api.windowing.assigners import (
    SlidingProcessingTimeWindows as SlidingProcessingTimeWindows,
)
from flinkish.api.windowing.assigners import TumblingEventTimeWindows as TumblingEventTimeWindows
from flinkish.api.windowing.assigners import (
    TumblingProcessingTimeWindows as TumblingProcessingTimeWindows,
)
from flinkish.api.windowing.assigners import WindowAssigner as WindowAssigner
from flinkish.api.windowing.assigners import WindowAssignerContext as WindowAssignerContext
from flinkish.api.windowing.assigners import WindowStagger as WindowStagger
from flinkish.api.windowing.content_windows import ContentChange as ContentChange
from flinkish.api.windowing.content_windows import ContentChangeWindows as ContentChangeWindows
from flinkish.api.windowing.content_windows import ContentWindows as ContentWindows
from flinkish.api.windowing.evictors import CountEvictor as CountEvictor
from flinkish.api.windowing.evictors import DeltaEvictor as DeltaEvictor
from flinkish.api.windowing.evictors import EvictableElements as EvictableElements
from flinkish.api.windowing.evictors import EvictableIterator as EvictableIterator
from flinkish.api.windowing.evictors import Evictor as Evictor
from flinkish.api.windowing.evictors import EvictorContext as EvictorContext
from flinkish.api.windowing.evictors import TimeEvictor as TimeEvictor
from flinkish.api.windowing.evictors import TimestampedValue as TimestampedValue
from flinkish.api.windowing.triggers import ContinuousEventTimeTrigger as ContinuousEventTimeTrigger
from flinkish.api.windowing.triggers import (
    ContinuousProcessingTimeTrigger as ContinuousProcessingTimeTrigger,
)
from flinkish.api.windowing.triggers import CountTrigger as CountTrigger
from flinkish.api.windowing.triggers import DeltaFunction as DeltaFunction
from flinkish.api.windowing.triggers import DeltaTrigger as DeltaTrigger
from flinkish.api.windowing.triggers import EventTimeTrigger as EventTimeTrigger
from flinkish.api.windowing.triggers import NeverTrigger as NeverTrigger
from flinkish.api.windowing.triggers import OnMergeContext as OnMergeContext
from flinkish.api.windowing.triggers import ProcessingTimeoutTrigger as ProcessingTimeoutTrigger
from flinkish.api.windowing.triggers import ProcessingTimeTrigger as ProcessingTimeTrigger
from flinkish.api.windowing.triggers import PurgingTrigger as PurgingTrigger
from flinkish.api.windowing.triggers import Trigger as Trigger
from flinkish.api.windowing.triggers import TriggerContext as TriggerContext
from flinkish.api.windowing.triggers import TriggerResult as TriggerResult
from flinkish.api.windowing.windows import GlobalWindow as GlobalWindow
from flinkish.api.windowing.windows import TimeWindow as TimeWindow
from flinkish.api.windowing.windows import Window as Window

_CLASHING = frozenset(("Counter", "Order", "Window"))
"""Names left out of ``import *``, as collections, typing and pyspark.sql have them too, or programs define such
classes. Row stays, which most jobs of Flink's need."""

__all__ = sorted(
    name
    for name, value in vars().items()
    if not (name.startswith("_") or name in _CLASHING or isinstance(value, _ModuleType))
)

__version__: str


def _spark_executor() -> "PipelineExecutor":
    # Spark is imported only when a job runs: the harness and the API need none of it.
    from flinkish.spark.executor import SparkPipelineExecutor

    return SparkPipelineExecutor()


def _local_executor() -> "PipelineExecutor":
    from flinkish.local.executor import LocalPipelineExecutor

    return LocalPipelineExecutor()


def _web_ui(host: str, port: int, token: str | None, archive: str | None) -> "WebUI":
    from flinkish.web.server import WebServer

    return WebServer(host, port, token, archive)


StreamExecutionEnvironment.executorLoader = staticmethod(_spark_executor)
StreamExecutionEnvironment.localExecutorLoader = staticmethod(_local_executor)
StreamExecutionEnvironment.webUILoader = staticmethod(_web_ui)


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise _absent_name(name)
    # importlib.metadata takes a quarter of the time of importing flinkish
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("flinkish")
    except PackageNotFoundError:  # a source tree on the path, as Spark's workers may have it
        return "unknown"
