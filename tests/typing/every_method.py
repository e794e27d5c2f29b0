"""The types that a type checker infers for every method of streams that the other files here do not
call; ``make lint`` checks them. Nothing here is run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, assert_type

from pyspark.sql import DataFrame

from flinkish import (
    AllWindowedStream,
    BroadcastConnectedStream,
    BroadcastStream,
    CheckpointingMode,
    CloseableIterator,
    CoGroupedStreams,
    Configuration,
    ConnectedStreams,
    DataGeneratorSource,
    DataStream,
    DataStreamSink,
    DataStreamSource,
    ExecutionConfig,
    FileSink,
    FileSource,
    GlobalWindow,
    IntervalJoined,
    JobClient,
    JobExecutionResult,
    JoinedStreams,
    KeyedStream,
    ListStateDescriptor,
    MapStateDescriptor,
    Order,
    OutputTag,
    PartitionWindowedStream,
    Row,
    SavepointRestoreSettings,
    SingleOutputStreamOperator,
    StreamExecutionEnvironment,
    Time,
    TimeWindow,
    TumblingEventTimeWindows,
    TypeInformation,
    Types,
    ValueStateDescriptor,
    WindowedStream,
)
from flinkish.api.display.tables import Elements

Pair = tuple[str, int]
LATE = OutputTag[Pair]("late")
HOUR = TumblingEventTimeWindows.of(Time.hours(1))


def sources(env: StreamExecutionEnvironment, table: DataFrame) -> None:
    assert_type(env.fromData("a", "b"), DataStreamSource[str])
    assert_type(env.fromData(["a", "b"]), DataStreamSource[str])
    assert_type(env.fromElements(Types.LONG(), 1, 2), DataStreamSource[int])
    assert_type(env.fromCollection(iter([1.5]), float), DataStreamSource[float])
    assert_type(env.fromSource(FileSource.forLines("in")), DataStreamSource[str])
    assert_type(env.fromSource(FileSource.forCsv("in", "a int")), DataStreamSource[Row])
    assert_type(env.fromSource(DataGeneratorSource(str)), DataStreamSource[str])
    assert_type(env.fromDataFrame(table), DataStreamSource[Row])
    assert_type(env.generateSequence(1, 2), DataStreamSource[int])
    assert_type(env.socketTextStream("localhost", 1), DataStreamSource[str])


def environments(env: StreamExecutionEnvironment) -> None:
    assert_type(StreamExecutionEnvironment.createLocalEnvironment(2), StreamExecutionEnvironment)
    assert_type(env.setParallelism(2).setMaxParallelism(8), StreamExecutionEnvironment)
    assert_type(env.enableCheckpointing("directory"), StreamExecutionEnvironment)
    assert_type(env.enableCheckpointing(60_000), StreamExecutionEnvironment)
    assert_type(
        env.enableCheckpointing(Time.seconds(1), CheckpointingMode.EXACTLY_ONCE),
        StreamExecutionEnvironment,
    )
    assert_type(env.setTriggerInterval(Time.seconds(1)), StreamExecutionEnvironment)
    assert_type(env.setSavepoint("directory", True), StreamExecutionEnvironment)
    assert_type(env.getSavepointRestoreSettings(), SavepointRestoreSettings)
    assert_type(env.getConfig(), ExecutionConfig)
    assert_type(env.getConfiguration(), Configuration)
    assert_type(env.execute("name"), JobExecutionResult)
    assert_type(env.executeAsync(), JobClient)
    assert_type(env.executeAsync().stopWithSavepoint("directory"), str)
    assert_type(env.executeAsync().triggerSavepoint("directory"), str)
    assert_type(env.executeAsync().profileBatch(), None)
    assert_type(env.explain(), str)
    assert_type(env.getExecutionPlan(), str)


def sinks(pairs: DataStream[Pair]) -> None:
    assert_type(pairs.print(), DataStreamSink[Pair])
    assert_type(pairs.printToErr("pairs").name("errors"), DataStreamSink[Pair])
    assert_type(pairs.sinkTo(FileSink.forCsv("out")), DataStreamSink[Pair])
    assert_type(pairs.forEachBatch(print), DataStreamSink[Pair])
    assert_type(
        pairs.forEachPartition(lambda found: sum(n for _, n in found)), DataStreamSink[Pair]
    )
    assert_type(pairs.forEachBatchDataFrame(print, "f0 string"), DataStreamSink[Pair])
    assert_type(pairs.collectAsync(), CloseableIterator[Pair])
    assert_type(pairs.executeAndCollect("name", 3), list[Pair])
    assert_type(pairs.toDataFrame(), DataFrame)


def looking(pairs: DataStream[Pair]) -> None:
    assert_type(pairs.preview(), Elements[Pair])
    pairs.display(5)
    pairs.collectAsPandas(10)
    pairs.collectAsArrow()


def streams(pairs: DataStream[Pair], words: DataStream[str]) -> None:
    assert_type(pairs.getType(), TypeInformation[Pair])
    assert_type(pairs.getExecutionEnvironment(), StreamExecutionEnvironment)
    assert_type(pairs.getExecutionConfig(), ExecutionConfig)
    assert_type(pairs.getParallelism(), int | None)
    assert_type(pairs.getId(), int)
    pairs.getTransformation()
    assert_type(pairs.keyBy("f0"), KeyedStream[Pair, Any])
    assert_type(pairs.keyBy(0), KeyedStream[Pair, Any])
    assert_type(pairs.keyBy(lambda pair: pair[0], Types.STRING()), KeyedStream[Pair, str])
    assert_type(pairs.join(words), JoinedStreams[Pair, str])
    assert_type(pairs.coGroup(words), CoGroupedStreams[Pair, str])
    assert_type(pairs.countWindowAll(3, 1), AllWindowedStream[Pair, GlobalWindow])
    assert_type(pairs.fullWindowPartition(), PartitionWindowedStream[Pair])
    assert_type(pairs.broadcast(), DataStream[Pair])


def operators(words: SingleOutputStreamOperator[str]) -> None:
    same = (
        words.setUidHash("a")
        .setDescription("words")
        .setParallelism(1)
        .setMaxParallelism(8)
        .forceNonParallel()
    )
    same = same.disableChaining().startNewChain().slotSharingGroup("group").setBufferTimeout(1)
    same = same.addMetricVariable("key", "value").enableAsyncState().returns(str)
    assert_type(same.returns(Types.STRING()), SingleOutputStreamOperator[str])
    assert_type(same.getName(), str)


def keyed_streams(pairs: KeyedStream[Pair, str]) -> None:
    assert_type(pairs.getKeySelector(), Callable[[Pair], str])
    assert_type(pairs.getKeyType(), TypeInformation[Any])
    assert_type(pairs.min(1), SingleOutputStreamOperator[Pair])
    assert_type(pairs.minBy("f1", False), SingleOutputStreamOperator[Pair])
    assert_type(pairs.enableAsyncState(), KeyedStream[Pair, str])
    assert_type(pairs.countWindow(3, 1), WindowedStream[Pair, str, GlobalWindow])
    assert_type(pairs.fullWindowPartition(), PartitionWindowedStream[Pair])


def windowed_streams(pairs: KeyedStream[Pair, str]) -> None:
    windows = pairs.window(HOUR).allowedLateness(Time.minutes(1)).sideOutputLateData(LATE)
    assert_type(windows.enableAsyncState(), WindowedStream[Pair, str, TimeWindow])
    assert_type(windows.getInputType(), TypeInformation[Pair])
    assert_type(windows.getExecutionEnvironment(), StreamExecutionEnvironment)
    assert_type(windows.min(1), SingleOutputStreamOperator[Pair])
    assert_type(windows.minBy(1, False), SingleOutputStreamOperator[Pair])
    all_windows = pairs.windowAll(HOUR).allowedLateness(0).sideOutputLateData(LATE)
    assert_type(all_windows, AllWindowedStream[Pair, TimeWindow])
    assert_type(all_windows.getInputType(), TypeInformation[Pair])
    assert_type(all_windows.max("f1"), SingleOutputStreamOperator[Pair])


def partitions(pairs: PartitionWindowedStream[Pair]) -> None:
    def longest(values: Iterable[Pair]) -> list[int]:
        return [max(pair[1] for pair in values)]

    assert_type(pairs.mapPartition(longest), SingleOutputStreamOperator[int])
    assert_type(pairs.sortPartition(1, Order.DESCENDING), SingleOutputStreamOperator[Pair])
    assert_type(pairs.reduce(max), SingleOutputStreamOperator[Pair])


def connected_streams(both: ConnectedStreams[Pair, str]) -> None:
    assert_type(both.getFirstInput(), DataStream[Pair])
    assert_type(both.getSecondInput(), DataStream[str])
    assert_type(both.getType1(), TypeInformation[Pair])
    assert_type(both.getType2(), TypeInformation[str])
    assert_type(both.keyBy("f0", "*"), ConnectedStreams[Pair, str])
    assert_type(both.keyBy([0], [0]).enableAsyncState(), ConnectedStreams[Pair, str])


def broadcast_streams(both: BroadcastConnectedStream[Pair, str]) -> None:
    assert_type(both.getFirstInput(), DataStream[Pair])
    assert_type(both.getSecondInput(), BroadcastStream[str])
    assert_type(both.getType1(), TypeInformation[Pair])
    assert_type(both.getType2(), TypeInformation[str])


def interval_joins(joined: IntervalJoined[Pair, Pair, str]) -> None:
    assert_type(
        joined.upperBoundExclusive().sideOutputRightLateData(LATE).enableAsyncState(),
        IntervalJoined[Pair, Pair, str],
    )


def types() -> None:
    assert_type(TypeInformation.of(int), TypeInformation[int])
    assert_type(Types.LIST(Types.STRING()), TypeInformation[list[str]])
    assert_type(Types.MAP(Types.STRING(), Types.LONG()), TypeInformation[dict[str, int]])


def state_descriptors() -> None:
    assert_type(ValueStateDescriptor("count", int), ValueStateDescriptor[int])
    assert_type(ListStateDescriptor("names", Types.STRING()), ListStateDescriptor[str])
    assert_type(MapStateDescriptor("limits", str, float), MapStateDescriptor[str, float])
