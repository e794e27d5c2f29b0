"""A Flink-compatible DataStream API on PySpark."""

from flinkish.api.connectors.sink import FileSink, ForEachBatchSink, PrintSink, Sink
from flinkish.api.connectors.source import DataGeneratorSource, FileSource, Source
from flinkish.api.data_stream import (
    DataStream,
    DataStreamSink,
    DataStreamSource,
    SingleOutputStreamOperator,
)
from flinkish.api.elements import StreamRecord, Watermark, WatermarkStatus
from flinkish.api.environment import StreamExecutionEnvironment
from flinkish.api.functions import (
    AggregateFunction,
    Collector,
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    ReduceFunction,
    RichFilterFunction,
    RichFlatMapFunction,
    RichMapFunction,
)
from flinkish.api.keyed_stream import KeyedStream
from flinkish.api.output_tag import OutputTag
from flinkish.api.time import Duration, Time
from flinkish.api.types import Types
from flinkish.api.watermarks import (
    TimestampAssigner,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
