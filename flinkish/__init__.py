"""A Flink-compatible DataStream API on PySpark."""

from flinkish.api.advance_time import (
    AdvanceTimeGenerationSettings,
    AdvanceTimeImportSettings,
    AdvanceTimePolicy,
    AdvanceTimeSettings,
    advanceTime,
)
from flinkish.api.all_windowed_stream import AllWindowedStream
from flinkish.api.arrival_time import (
    ArrivalTimeStrategy,
    DeadLetter,
    DeadLetterReason,
    OrderingPolicy,
)
from flinkish.api.broadcast_functions import (
    BroadcastContext,
    BroadcastProcessFunction,
    BroadcastReadOnlyContext,
    BroadcastState,
    KeyedBroadcastContext,
    KeyedBroadcastProcessFunction,
    KeyedBroadcastReadOnlyContext,
    KeyedBroadcastTimerContext,
    KeyedStateFunction,
    ReadOnlyBroadcastState,
)
from flinkish.api.clock import ManualClock, RelativeClock
from flinkish.api.co_functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    RichCoFlatMapFunction,
    RichCoMapFunction,
)
from flinkish.api.co_grouped_streams import CoGroupedStreams
from flinkish.api.config import CheckpointConfig, ExecutionConfig
from flinkish.api.configuration import CheckpointingMode, Configuration, RuntimeExecutionMode
from flinkish.api.connected_streams import (
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
)
from flinkish.api.connectors.file_sink import FileSink
from flinkish.api.connectors.file_source import FileSource
from flinkish.api.connectors.malformed_record import MalformedRecord
from flinkish.api.connectors.sink import ForEachBatchSink, PrintSink, Sink
from flinkish.api.connectors.source import DataGeneratorSource, Source
from flinkish.api.data_stream import DataStream
from flinkish.api.data_stream_sink import DataStreamSink
from flinkish.api.elements import StreamRecord, Watermark, WatermarkStatus
from flinkish.api.environment import StreamExecutionEnvironment
from flinkish.api.errors import (
    ChangedAttributeWarning,
    CheckpointStorageError,
    CorruptCheckpointError,
    FlinkishError,
    IllegalArgumentError,
    IllegalStateError,
    IncompatibleCheckpointError,
    InvalidProgramError,
    JavaNotFoundError,
    JobExecutionError,
    MalformedRecordError,
    MissingTimestampError,
    NotSupportedError,
    UnfitElementError,
    UnstableKeyError,
    UserFunctionError,
)
from flinkish.api.execution import PipelineExecutor
from flinkish.api.functions import (
    AggregateFunction,
    Collector,
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ReduceFunction,
    RichAggregateFunction,
    RichFilterFunction,
    RichFlatMapFunction,
    RichFunction,
    RichMapFunction,
    RichReduceFunction,
)
from flinkish.api.idle_advance import IdleAdvance
from flinkish.api.interval_join import IntervalJoin, IntervalJoined
from flinkish.api.job import (
    CloseableIterator,
    JobClient,
    JobExecutionResult,
    JobStatus,
    OperatorMetrics,
)
from flinkish.api.job_listener import JobListener
from flinkish.api.join_functions import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinContext,
    JoinFunction,
    ProcessJoinFunction,
    RichCoGroupFunction,
    RichFlatJoinFunction,
    RichJoinFunction,
)
from flinkish.api.joined_streams import JoinedStreams
from flinkish.api.keyed_stream import KeyedStream
from flinkish.api.lag_watermarks import LagWatermarks, unionWithLag
from flinkish.api.lifetime_changes import alterEventDuration, alterEventLifetime, shiftEventTime
from flinkish.api.lifetime_windows import (
    CountByStartTimeWindows,
    HoppingLifetimeWindows,
    LifetimeWindowedStream,
    LifetimeWindows,
    SnapshotWindows,
    TumblingLifetimeWindows,
)
from flinkish.api.metrics import Counter, Histogram, HistogramStatistics, Meter, MetricGroup
from flinkish.api.output_tag import OutputTag
from flinkish.api.partition_windowed_stream import (
    MapPartitionFunction,
    Order,
    PartitionWindowedStream,
)
from flinkish.api.policy_windows import (
    Count,
    PolicyWindow,
    PolicyWindowedStream,
    PolicyWindowFunction,
)
from flinkish.api.process_functions import (
    KeyedProcessContext,
    KeyedProcessFunction,
    KeyedTimerContext,
    ProcessContext,
    ProcessFunction,
    TimeDomain,
    TimerContext,
    TimerService,
)
from flinkish.api.row import Row, rowType
from flinkish.api.row import row_of as _row_of  # pickled by this name
from flinkish.api.runtime_context import KeyedStateStore, OpenContext, RuntimeContext, TaskInfo
from flinkish.api.single_output_stream_operator import DataStreamSource, SingleOutputStreamOperator
from flinkish.api.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from flinkish.api.state_ttl import (
    StateTtlConfig,
    StateTtlConfigBuilder,
    StateVisibility,
    TtlTimeCharacteristic,
    UpdateType,
)
from flinkish.api.stored_names import restored as _restored  # pickled by this name
from flinkish.api.tagged_streams import TaggedUnion
from flinkish.api.temporal_events import (
    EdgeEvent,
    EdgeType,
    IntervalEvent,
    PointEvent,
    TemporalEvent,
)
from flinkish.api.temporal_join import committed, temporalJoin
from flinkish.api.time import Duration, Time
from flinkish.api.types import TypeInformation, Types
from flinkish.api.watermarks import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    TimestampAssigner,
    TimestampAssignerContext,
    WatermarkGenerator,
    WatermarkGeneratorContext,
    WatermarkOutput,
    WatermarkStrategy,
)
from flinkish.api.window_functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    RichAllWindowFunction,
    RichWindowFunction,
    WindowContext,
    WindowFunction,
)
from flinkish.api.windowed_stream import WindowedStream
from flinkish.api.windowing.capped_session_windows import CappedSessionWindows
from flinkish.api.windowing.closing_trigger import AfterAllowedLatenessTrigger
from flinkish.api.windowing.content_windows import (
    ContentChange,
    ContentChangeWindows,
    ContentWindows,
)
from flinkish.api.windowing.continuous_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
)
from flinkish.api.windowing.count_trigger import CountTrigger
from flinkish.api.windowing.delta_function import DeltaFunction
from flinkish.api.windowing.delta_trigger import DeltaTrigger
from flinkish.api.windowing.eviction_policy import (
    CountEvictionPolicy,
    Event,
    EvictionContext,
    EvictionPolicy,
    TimeEvictionPolicy,
    WatermarkCountEvictionPolicy,
    WatermarkTimeEvictionPolicy,
)
from flinkish.api.windowing.evictor import (
    EvictableElements,
    EvictableIterator,
    Evictor,
    EvictorContext,
    TimestampedValue,
)
from flinkish.api.windowing.evictors import CountEvictor, DeltaEvictor, TimeEvictor
from flinkish.api.windowing.global_windows import GlobalWindows, NeverTrigger
from flinkish.api.windowing.processing_timeout_trigger import ProcessingTimeoutTrigger
from flinkish.api.windowing.purging_trigger import PurgingTrigger
from flinkish.api.windowing.session_windows import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
)
from flinkish.api.windowing.sliding_windows import (
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
)
from flinkish.api.windowing.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from flinkish.api.windowing.trigger import OnMergeContext, Trigger, TriggerContext, TriggerResult
from flinkish.api.windowing.trigger_policy import (
    CountTriggerPolicy,
    TimeTriggerPolicy,
    TriggerPolicy,
    TriggerPolicyContext,
    WatermarkCountTriggerPolicy,
    WatermarkTimeTriggerPolicy,
)
from flinkish.api.windowing.tumbling_windows import (
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from flinkish.api.windowing.window_assigner import (
    MergeCallback,
    MergingWindowAssigner,
    WindowAssigner,
    WindowAssignerContext,
)
from flinkish.api.windowing.window_stagger import WindowStagger
from flinkish.api.windowing.windows import GlobalWindow, TimeWindow, Window

__all__ = [
    "AdvanceTimeGenerationSettings",
    "AdvanceTimeImportSettings",
    "AdvanceTimePolicy",
    "AdvanceTimeSettings",
    "AfterAllowedLatenessTrigger",
    "AggregateFunction",
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AllWindowFunction",
    "AllWindowedStream",
    "ArrivalTimeStrategy",
    "AscendingTimestampsWatermarks",
    "BoundedOutOfOrdernessWatermarks",
    "BroadcastConnectedStream",
    "BroadcastContext",
    "BroadcastProcessFunction",
    "BroadcastReadOnlyContext",
    "BroadcastState",
    "BroadcastStream",
    "CappedSessionWindows",
    "ChangedAttributeWarning",
    "CheckpointConfig",
    "CheckpointStorageError",
    "CheckpointingMode",
    "CloseableIterator",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoGroupedStreams",
    "CoMapFunction",
    "CoProcessFunction",
    "Collector",
    "Configuration",
    "ConnectedStreams",
    "ContentChange",
    "ContentChangeWindows",
    "ContentWindows",
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CorruptCheckpointError",
    "Count",
    "CountByStartTimeWindows",
    "CountEvictionPolicy",
    "CountEvictor",
    "CountTrigger",
    "CountTriggerPolicy",
    "Counter",
    "DataGeneratorSource",
    "DataStream",
    "DataStreamSink",
    "DataStreamSource",
    "DeadLetter",
    "DeadLetterReason",
    "DeltaEvictor",
    "DeltaFunction",
    "DeltaTrigger",
    "Duration",
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EdgeEvent",
    "EdgeType",
    "Event",
    "EventTimeSessionWindows",
    "EventTimeTrigger",
    "EvictableElements",
    "EvictableIterator",
    "EvictionContext",
    "EvictionPolicy",
    "Evictor",
    "EvictorContext",
    "ExecutionConfig",
    "FileSink",
    "FileSource",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "FlinkishError",
    "ForEachBatchSink",
    "GlobalWindow",
    "GlobalWindows",
    "Histogram",
    "HistogramStatistics",
    "HoppingLifetimeWindows",
    "IdleAdvance",
    "IllegalArgumentError",
    "IllegalStateError",
    "IncompatibleCheckpointError",
    "IntervalEvent",
    "IntervalJoin",
    "IntervalJoined",
    "InvalidProgramError",
    "JavaNotFoundError",
    "JobClient",
    "JobExecutionError",
    "JobExecutionResult",
    "JobListener",
    "JobStatus",
    "JoinContext",
    "JoinFunction",
    "JoinedStreams",
    "KeySelector",
    "KeyedBroadcastContext",
    "KeyedBroadcastProcessFunction",
    "KeyedBroadcastReadOnlyContext",
    "KeyedBroadcastTimerContext",
    "KeyedCoProcessFunction",
    "KeyedProcessContext",
    "KeyedProcessFunction",
    "KeyedStateFunction",
    "KeyedStateStore",
    "KeyedStream",
    "KeyedTimerContext",
    "LagWatermarks",
    "LifetimeWindowedStream",
    "LifetimeWindows",
    "ListState",
    "ListStateDescriptor",
    "MalformedRecord",
    "MalformedRecordError",
    "ManualClock",
    "MapFunction",
    "MapPartitionFunction",
    "MapState",
    "MapStateDescriptor",
    "MergeCallback",
    "MergingWindowAssigner",
    "Meter",
    "MetricGroup",
    "MissingTimestampError",
    "NeverTrigger",
    "NoWatermarksGenerator",
    "NotSupportedError",
    "OnMergeContext",
    "OpenContext",
    "OperatorMetrics",
    "Order",
    "OrderingPolicy",
    "OutputTag",
    "PartitionWindowedStream",
    "Partitioner",
    "PipelineExecutor",
    "PointEvent",
    "PolicyWindow",
    "PolicyWindowFunction",
    "PolicyWindowedStream",
    "PrintSink",
    "ProcessAllWindowFunction",
    "ProcessContext",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ProcessingTimeSessionWindows",
    "ProcessingTimeTrigger",
    "ProcessingTimeoutTrigger",
    "PurgingTrigger",
    "ReadOnlyBroadcastState",
    "ReduceFunction",
    "ReducingState",
    "ReducingStateDescriptor",
    "RelativeClock",
    "RichAggregateFunction",
    "RichAllWindowFunction",
    "RichCoFlatMapFunction",
    "RichCoGroupFunction",
    "RichCoMapFunction",
    "RichFilterFunction",
    "RichFlatJoinFunction",
    "RichFlatMapFunction",
    "RichFunction",
    "RichJoinFunction",
    "RichMapFunction",
    "RichReduceFunction",
    "RichWindowFunction",
    "Row",
    "RuntimeContext",
    "RuntimeExecutionMode",
    "SessionWindowTimeGapExtractor",
    "SingleOutputStreamOperator",
    "Sink",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "SnapshotWindows",
    "Source",
    "StateDescriptor",
    "StateTtlConfig",
    "StateTtlConfigBuilder",
    "StateVisibility",
    "StreamExecutionEnvironment",
    "StreamRecord",
    "TaggedUnion",
    "TaskInfo",
    "TemporalEvent",
    "Time",
    "TimeDomain",
    "TimeEvictionPolicy",
    "TimeEvictor",
    "TimeTriggerPolicy",
    "TimeWindow",
    "TimerContext",
    "TimerService",
    "TimestampAssigner",
    "TimestampAssignerContext",
    "TimestampedValue",
    "Trigger",
    "TriggerContext",
    "TriggerPolicy",
    "TriggerPolicyContext",
    "TriggerResult",
    "TtlTimeCharacteristic",
    "TumblingEventTimeWindows",
    "TumblingLifetimeWindows",
    "TumblingProcessingTimeWindows",
    "TypeInformation",
    "Types",
    "UnfitElementError",
    "UnstableKeyError",
    "UpdateType",
    "UserFunctionError",
    "ValueState",
    "ValueStateDescriptor",
    "Watermark",
    "WatermarkCountEvictionPolicy",
    "WatermarkCountTriggerPolicy",
    "WatermarkGenerator",
    "WatermarkGeneratorContext",
    "WatermarkOutput",
    "WatermarkStatus",
    "WatermarkStrategy",
    "WatermarkTimeEvictionPolicy",
    "WatermarkTimeTriggerPolicy",
    "Window",
    "WindowAssigner",
    "WindowAssignerContext",
    "WindowContext",
    "WindowFunction",
    "WindowStagger",
    "WindowedStream",
    "advanceTime",
    "alterEventDuration",
    "alterEventLifetime",
    "committed",
    "rowType",
    "shiftEventTime",
    "temporalJoin",
    "unionWithLag",
]


def _spark_executor() -> "PipelineExecutor":
    # Spark is imported only when a job runs: the harness and the API need none of it.
    from flinkish.spark.executor import SparkPipelineExecutor

    return SparkPipelineExecutor()


StreamExecutionEnvironment.executorLoader = staticmethod(_spark_executor)
