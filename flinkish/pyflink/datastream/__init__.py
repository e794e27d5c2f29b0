"""PyFlink's ``pyflink.datastream``."""

from flinkish.pyflink.absent import absent_names
from flinkish.pyflink.datastream.async_data_stream import AsyncDataStream as AsyncDataStream
from flinkish.pyflink.datastream.async_retry_strategies import (
    AsyncRetryPredicate as AsyncRetryPredicate,
)
from flinkish.pyflink.datastream.async_retry_strategies import (
    AsyncRetryStrategy as AsyncRetryStrategy,
)
from flinkish.pyflink.datastream.checkpoint_config import CheckpointConfig as CheckpointConfig
from flinkish.pyflink.datastream.checkpoint_storage import CheckpointStorage as CheckpointStorage
from flinkish.pyflink.datastream.checkpoint_storage import (
    FileSystemCheckpointStorage as FileSystemCheckpointStorage,
)
from flinkish.pyflink.datastream.checkpoint_storage import (
    JobManagerCheckpointStorage as JobManagerCheckpointStorage,
)
from flinkish.pyflink.datastream.checkpointing_mode import CheckpointingMode as CheckpointingMode
from flinkish.pyflink.datastream.data_stream import (
    BroadcastConnectedStream as BroadcastConnectedStream,
)
from flinkish.pyflink.datastream.data_stream import BroadcastStream as BroadcastStream
from flinkish.pyflink.datastream.data_stream import ConnectedStreams as ConnectedStreams
from flinkish.pyflink.datastream.data_stream import DataStream as DataStream
from flinkish.pyflink.datastream.data_stream import DataStreamSink as DataStreamSink
from flinkish.pyflink.datastream.data_stream import KeyedStream as KeyedStream
from flinkish.pyflink.datastream.data_stream import WindowedStream as WindowedStream
from flinkish.pyflink.datastream.execution_mode import RuntimeExecutionMode as RuntimeExecutionMode
from flinkish.pyflink.datastream.externalized_checkpoint_retention import (
    ExternalizedCheckpointRetention as ExternalizedCheckpointRetention,
)
from flinkish.pyflink.datastream.functions import AggregateFunction as AggregateFunction
from flinkish.pyflink.datastream.functions import AsyncFunction as AsyncFunction
from flinkish.pyflink.datastream.functions import (
    BroadcastProcessFunction as BroadcastProcessFunction,
)
from flinkish.pyflink.datastream.functions import CoFlatMapFunction as CoFlatMapFunction
from flinkish.pyflink.datastream.functions import CoMapFunction as CoMapFunction
from flinkish.pyflink.datastream.functions import CoProcessFunction as CoProcessFunction
from flinkish.pyflink.datastream.functions import FilterFunction as FilterFunction
from flinkish.pyflink.datastream.functions import FlatMapFunction as FlatMapFunction
from flinkish.pyflink.datastream.functions import (
    KeyedBroadcastProcessFunction as KeyedBroadcastProcessFunction,
)
from flinkish.pyflink.datastream.functions import KeyedCoProcessFunction as KeyedCoProcessFunction
from flinkish.pyflink.datastream.functions import KeyedProcessFunction as KeyedProcessFunction
from flinkish.pyflink.datastream.functions import KeySelector as KeySelector
from flinkish.pyflink.datastream.functions import MapFunction as MapFunction
from flinkish.pyflink.datastream.functions import Partitioner as Partitioner
from flinkish.pyflink.datastream.functions import ProcessFunction as ProcessFunction
from flinkish.pyflink.datastream.functions import ProcessWindowFunction as ProcessWindowFunction
from flinkish.pyflink.datastream.functions import ReduceFunction as ReduceFunction
from flinkish.pyflink.datastream.functions import RuntimeContext as RuntimeContext
from flinkish.pyflink.datastream.functions import SinkFunction as SinkFunction
from flinkish.pyflink.datastream.functions import SourceFunction as SourceFunction
from flinkish.pyflink.datastream.functions import WindowFunction as WindowFunction
from flinkish.pyflink.datastream.output_tag import OutputTag as OutputTag
from flinkish.pyflink.datastream.slot_sharing_group import MemorySize as MemorySize
from flinkish.pyflink.datastream.slot_sharing_group import SlotSharingGroup as SlotSharingGroup
from flinkish.pyflink.datastream.state_backend import (
    EmbeddedRocksDBStateBackend as EmbeddedRocksDBStateBackend,
)
from flinkish.pyflink.datastream.state_backend import HashMapStateBackend as HashMapStateBackend
from flinkish.pyflink.datastream.state_backend import PredefinedOptions as PredefinedOptions
from flinkish.pyflink.datastream.state_backend import StateBackend as StateBackend
from flinkish.pyflink.datastream.stream_execution_environment import (
    StreamExecutionEnvironment as StreamExecutionEnvironment,
)
from flinkish.pyflink.datastream.time_domain import TimeDomain as TimeDomain
from flinkish.pyflink.datastream.timerservice import TimerService as TimerService
from flinkish.pyflink.datastream.window import CountWindow as CountWindow
from flinkish.pyflink.datastream.window import GlobalWindow as GlobalWindow
from flinkish.pyflink.datastream.window import MergingWindowAssigner as MergingWindowAssigner
from flinkish.pyflink.datastream.window import TimeWindow as TimeWindow
from flinkish.pyflink.datastream.window import Trigger as Trigger
from flinkish.pyflink.datastream.window import TriggerResult as TriggerResult
from flinkish.pyflink.datastream.window import Window as Window
from flinkish.pyflink.datastream.window import WindowAssigner as WindowAssigner

__getattr__ = absent_names(__name__)
