"""A job with every function class, as a type checker sees it; ``make lint`` checks it. Nothing here
is run, and nothing is ignored: tests/api/test_typing.py says what must be in it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple, assert_type

from flinkish import (
    AggregateFunction,
    AggregatingState,
    AggregatingStateDescriptor,
    AllWindowFunction,
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CheckpointedFunction,
    CoFlatMapFunction,
    CoGroupFunction,
    Collector,
    CoMapFunction,
    CommitRequest,
    Committer,
    CommitterInitContext,
    CommittingSinkWriter,
    CoProcessFunction,
    DataStream,
    DataStreamSink,
    DataStreamSource,
    DeltaFunction,
    DeltaTrigger,
    EventTimeSessionWindows,
    FilterFunction,
    FlatJoinFunction,
    FlatMapFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    GlobalWindows,
    JoinFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStateFunction,
    KeyedStream,
    KeySelector,
    ListState,
    ListStateDescriptor,
    MapFunction,
    MapPartitionFunction,
    MapStateDescriptor,
    OpenContext,
    OutputTag,
    Partitioner,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    ReduceFunction,
    ReducingState,
    ReducingStateDescriptor,
    ResultFuture,
    RichAggregateFunction,
    RichAllWindowFunction,
    RichAsyncFunction,
    RichCoFlatMapFunction,
    RichCoGroupFunction,
    RichCoMapFunction,
    RichFilterFunction,
    RichFlatJoinFunction,
    RichFlatMapFunction,
    RichFunction,
    RichJoinFunction,
    RichMapFunction,
    RichReduceFunction,
    RichSinkFunction,
    RichSourceFunction,
    RichWindowFunction,
    RuntimeContext,
    SessionWindowTimeGapExtractor,
    SingleOutputStreamOperator,
    Sink,
    SinkFunction,
    SinkWriter,
    SinkWriterContext,
    Source,
    SourceFunction,
    StreamExecutionEnvironment,
    SupportsCommitter,
    Time,
    TimeWindow,
    TumblingEventTimeWindows,
    Types,
    ValueState,
    ValueStateDescriptor,
    Watermark,
    WindowContext,
    WindowFunction,
    WriterInitContext,
)
from flinkish.compat.storm import Count, PolicyWindow, PolicyWindowedStream, PolicyWindowFunction


class Flight(NamedTuple):
    origin: str
    delay: float


class Weather(NamedTuple):
    airport: str
    wind: float


HOUR = TumblingEventTimeWindows.of(Time.hours(1))
LATE = OutputTag[Flight]("late")
LIMITS = MapStateDescriptor[str, float]("limits")
WORST = ValueStateDescriptor[float]("worst")

# ---------------------------------------------------------------------- one element


class Delay(MapFunction[Flight, float]):
    def map(self, value: Flight) -> float:
        return value.delay


class IsLate(FilterFunction[Flight]):
    def filter(self, value: Flight) -> bool:
        return value.delay > 15


class Letters(FlatMapFunction[Flight, str]):
    def flatMap(self, value: Flight, out: Collector[str]) -> None:
        for letter in value.origin:
            out.collect(letter)


class Origin(KeySelector[Flight, str]):
    def getKey(self, value: Flight) -> str:
        return value.origin


class ByLetter(Partitioner[str]):
    def partition(self, key: str, numPartitions: int) -> int:
        return ord(key[0]) % numPartitions


class Worse(ReduceFunction[Flight]):
    def reduce(self, value1: Flight, value2: Flight) -> Flight:
        return max(value1, value2, key=lambda flight: flight.delay)


class Counted(RichFunction):
    """The methods that all rich functions share."""

    def open(self, openContext: OpenContext) -> None:
        assert_type(self.getRuntimeContext(), RuntimeContext)
        self.calls = self.getRuntimeContext().getMetricGroup().counter("calls")

    def close(self) -> None:
        self.calls.inc()


class RichDelay(Counted, RichMapFunction[Flight, float]):
    def map(self, value: Flight) -> float:
        return value.delay


class Written(SinkFunction[Flight]):
    def invoke(self, value: Flight, context: SinkFunction.Context) -> None:
        assert_type(context.timestamp(), int | None)


class Emitted(SourceFunction[int]):
    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        ctx.collect(1)
        ctx.collectWithTimestamp(2, 1_000)
        ctx.emitWatermark(Watermark(1_000))

    def cancel(self) -> None:
        pass


class RichEmitted(Counted, RichSourceFunction[int]):
    def run(self, ctx: SourceFunction.SourceContext[int]) -> Iterator[int]:
        yield 1


def source_functions(env: StreamExecutionEnvironment) -> None:
    assert_type(env.addSource(Emitted()), DataStreamSource[int])
    rich = env.addSource(RichEmitted(), "numbers", Types.LONG(), bounded=True)
    assert_type(rich, DataStreamSource[int])


class RichWritten(Counted, RichSinkFunction[Flight]):
    def invoke(self, value: Flight, context: SinkFunction.Context) -> None:
        print(value.delay)


def written(flights: DataStream[Flight]) -> None:
    assert_type(flights.addSink(Written()), DataStreamSink[Flight])
    assert_type(flights.addSink(RichWritten()), DataStreamSink[Flight])
    assert_type(flights.addSink(lambda flight: print(flight.delay)), DataStreamSink[Flight])


class RichIsLate(Counted, RichFilterFunction[Flight]):
    def filter(self, value: Flight) -> bool:
        return value.delay > 15


class RichLetters(Counted, RichFlatMapFunction[Flight, str]):
    def flatMap(self, value: Flight, out: Collector[str]) -> None:
        out.collect(value.origin[0])


class RichWorse(Counted, RichReduceFunction[Flight]):
    def reduce(self, value1: Flight, value2: Flight) -> Flight:
        return value1 if value1.delay > value2.delay else value2


class Split(ProcessFunction[Flight, float]):
    def processElement(
        self, value: Flight, ctx: ProcessFunction.Context, out: Collector[float]
    ) -> None:
        ctx.output(LATE, value)
        out.collect(value.delay)


class Alarm(KeyedProcessFunction[str, Flight, str]):
    def open(self, openContext: OpenContext) -> None:
        context = self.getRuntimeContext()
        self.worst = context.getState(WORST)
        self.most = context.getReducingState(ReducingStateDescriptor[Flight]("most", Worse()))
        self.mean = context.getAggregatingState(AggregatingStateDescriptor("mean", Mean()))

    def processElement(
        self, value: Flight, ctx: KeyedProcessFunction.Context[str], out: Collector[str]
    ) -> None:
        assert_type(self.worst, ValueState[float])
        assert_type(self.most, ReducingState[Flight])
        assert_type(self.mean, AggregatingState[Flight, float])
        ctx.timerService().registerEventTimeTimer((ctx.timestamp() or 0) + 60_000)

    def onTimer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext[str], out: Collector[str]
    ) -> None:
        out.collect(ctx.getCurrentKey())


def of_one_element(flights: DataStream[Flight], keyed: KeyedStream[Flight, str]) -> None:
    assert_type(flights.map(Delay()), SingleOutputStreamOperator[float])
    assert_type(flights.map(RichDelay()), SingleOutputStreamOperator[float])
    assert_type(flights.filter(IsLate()), SingleOutputStreamOperator[Flight])
    assert_type(flights.filter(RichIsLate()), SingleOutputStreamOperator[Flight])
    assert_type(flights.flatMap(Letters()), SingleOutputStreamOperator[str])
    assert_type(flights.flatMap(RichLetters()), SingleOutputStreamOperator[str])
    assert_type(flights.keyBy(Origin()), KeyedStream[Flight, str])
    assert_type(flights.partitionCustom(ByLetter(), Origin()), DataStream[Flight])
    assert_type(flights.process(Split()), SingleOutputStreamOperator[float])
    assert_type(keyed.process(Alarm()), SingleOutputStreamOperator[str])
    assert_type(keyed.reduce(Worse()), SingleOutputStreamOperator[Flight])
    assert_type(keyed.reduce(RichWorse()), SingleOutputStreamOperator[Flight])


# ---------------------------------------------------------------------- windows


class Mean(AggregateFunction[Flight, tuple[float, int], float]):
    def createAccumulator(self) -> tuple[float, int]:
        return 0.0, 0

    def add(self, value: Flight, accumulator: tuple[float, int]) -> tuple[float, int]:
        return accumulator[0] + value.delay, accumulator[1] + 1

    def getResult(self, accumulator: tuple[float, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: tuple[float, int], b: tuple[float, int]) -> tuple[float, int]:
        return a[0] + b[0], a[1] + b[1]


class RichCount(Counted, RichAggregateFunction[Flight, int, int]):
    def createAccumulator(self) -> int:
        return 0

    def add(self, value: Flight, accumulator: int) -> int:
        return accumulator + 1

    def getResult(self, accumulator: int) -> int:
        return accumulator


class Label(ProcessWindowFunction[float, str, str, TimeWindow]):
    def process(
        self,
        key: str,
        context: WindowContext[TimeWindow],
        elements: Iterable[float],
        out: Collector[str],
    ) -> None:
        out.collect(f"{key} {context.window().getEnd()} {max(elements)}")


class Delays(WindowFunction[Flight, float, str, TimeWindow]):
    def apply(
        self, key: str, window: TimeWindow, elements: Iterable[Flight], out: Collector[float]
    ) -> None:
        for flight in elements:
            out.collect(flight.delay)


class RichDelays(Counted, RichWindowFunction[Flight, float, str, TimeWindow]):
    def apply(
        self, key: str, window: TimeWindow, elements: Iterable[Flight], out: Collector[float]
    ) -> None:
        out.collect(0.0)


class Everything(ProcessAllWindowFunction[Flight, int, TimeWindow]):
    def process(
        self,
        context: WindowContext[TimeWindow],
        elements: Iterable[Flight],
        out: Collector[int],
    ) -> None:
        out.collect(len(list(elements)))


class Size(AllWindowFunction[Flight, int, TimeWindow]):
    def apply(self, window: TimeWindow, elements: Iterable[Flight], out: Collector[int]) -> None:
        out.collect(len(list(elements)))


class RichSize(Counted, RichAllWindowFunction[Flight, int, TimeWindow]):
    def apply(self, window: TimeWindow, elements: Iterable[Flight], out: Collector[int]) -> None:
        out.collect(0)


class Further(DeltaFunction[Flight]):
    def getDelta(self, oldDataPoint: Flight, newDataPoint: Flight) -> float:
        return newDataPoint.delay - oldDataPoint.delay


class Gap(SessionWindowTimeGapExtractor[Flight]):
    def extract(self, element: Flight) -> int:
        return 60_000 if element.delay > 15 else 1_000


class Latest(PolicyWindowFunction[Flight, float]):
    def process(self, window: PolicyWindow[Flight], out: Collector[float]) -> None:
        out.collect(max(flight.delay for flight in window.get()))


class Names(MapPartitionFunction[Flight, str]):
    def mapPartition(self, values: Iterable[Flight], out: Collector[str]) -> None:
        for flight in values:
            out.collect(flight.origin)


def of_windows(flights: DataStream[Flight], keyed: KeyedStream[Flight, str]) -> None:
    windows, all_windows = keyed.window(HOUR), flights.windowAll(HOUR)
    assert_type(windows.reduce(Worse()), SingleOutputStreamOperator[Flight])
    assert_type(windows.reduce(Worse(), Delays()), SingleOutputStreamOperator[float])
    assert_type(windows.aggregate(Mean()), SingleOutputStreamOperator[float])
    assert_type(windows.aggregate(RichCount()), SingleOutputStreamOperator[int])
    assert_type(windows.aggregate(Mean(), Label()), SingleOutputStreamOperator[str])
    assert_type(windows.apply(Delays()), SingleOutputStreamOperator[float])
    assert_type(windows.apply(RichDelays()), SingleOutputStreamOperator[float])
    assert_type(all_windows.process(Everything()), SingleOutputStreamOperator[int])
    assert_type(all_windows.apply(Size()), SingleOutputStreamOperator[int])
    assert_type(all_windows.reduce(Worse(), RichSize()), SingleOutputStreamOperator[int])
    keyed.window(GlobalWindows.create()).trigger(DeltaTrigger.of(5.0, Further()))
    sessions = keyed.window(EventTimeSessionWindows.withDynamicGap(Gap()))
    assert_type(sessions.aggregate(Mean()), SingleOutputStreamOperator[float])
    last_three = PolicyWindowedStream.of(flights, Count(3), Count(1), eventTime=False)
    assert_type(last_three.process(Latest()), SingleOutputStreamOperator[float])
    partition = flights.fullWindowPartition()
    assert_type(partition.mapPartition(Names()), SingleOutputStreamOperator[str])


# ---------------------------------------------------------------------- two streams


class Either(CoMapFunction[Flight, Weather, float]):
    def map1(self, value: Flight) -> float:
        return value.delay

    def map2(self, value: Weather) -> float:
        return value.wind


class RichEither(Counted, RichCoMapFunction[Flight, Weather, float]):
    def map1(self, value: Flight) -> float:
        return value.delay

    def map2(self, value: Weather) -> float:
        return value.wind


class Airports(CoFlatMapFunction[Flight, Weather, str]):
    def flatMap1(self, value: Flight, out: Collector[str]) -> None:
        out.collect(value.origin)

    def flatMap2(self, value: Weather, out: Collector[str]) -> None:
        out.collect(value.airport)


class RichAirports(Counted, RichCoFlatMapFunction[Flight, Weather, str]):
    def flatMap1(self, value: Flight, out: Collector[str]) -> None:
        out.collect(value.origin)

    def flatMap2(self, value: Weather, out: Collector[str]) -> None:
        out.collect(value.airport)


class Merged(CoProcessFunction[Flight, Weather, bytes]):
    def processElement1(
        self, value: Flight, ctx: CoProcessFunction.Context, out: Collector[bytes]
    ) -> None:
        out.collect(value.origin.encode())

    def processElement2(
        self, value: Weather, ctx: CoProcessFunction.Context, out: Collector[bytes]
    ) -> None:
        out.collect(value.airport.encode())


class Enriched(KeyedCoProcessFunction[str, Flight, Weather, tuple[Flight, float]]):
    def open(self, openContext: OpenContext) -> None:
        self.wind = self.getRuntimeContext().getState(ValueStateDescriptor[float]("wind"))

    def processElement1(
        self,
        value: Flight,
        ctx: KeyedCoProcessFunction.Context[str],
        out: Collector[tuple[Flight, float]],
    ) -> None:
        out.collect((value, self.wind.value() or 0.0))

    def processElement2(
        self,
        value: Weather,
        ctx: KeyedCoProcessFunction.Context[str],
        out: Collector[tuple[Flight, float]],
    ) -> None:
        self.wind.update(value.wind)


class AboveLimit(BroadcastProcessFunction[Flight, Weather, Flight]):
    def processElement(
        self, value: Flight, ctx: BroadcastProcessFunction.ReadOnlyContext, out: Collector[Flight]
    ) -> None:
        if value.delay > (ctx.getBroadcastState(LIMITS).get(value.origin) or 0.0):
            out.collect(value)

    def processBroadcastElement(
        self, value: Weather, ctx: BroadcastProcessFunction.Context, out: Collector[Flight]
    ) -> None:
        ctx.getBroadcastState(LIMITS).put(value.airport, value.wind)


class Reset(KeyedStateFunction[str, ValueState[float]]):
    def process(self, key: str, state: ValueState[float], /) -> None:
        state.clear()


class KeyedAboveLimit(KeyedBroadcastProcessFunction[str, Flight, Weather, float]):
    def processElement(
        self,
        value: Flight,
        ctx: KeyedBroadcastProcessFunction.ReadOnlyContext[str],
        out: Collector[float],
    ) -> None:
        out.collect(value.delay)

    def processBroadcastElement(
        self,
        value: Weather,
        ctx: KeyedBroadcastProcessFunction.Context[str],
        out: Collector[float],
    ) -> None:
        ctx.applyToKeyedState(WORST, Reset())


class Pair(JoinFunction[Flight, Weather, tuple[str, float]]):
    def join(self, first: Flight, second: Weather) -> tuple[str, float]:
        return first.origin, second.wind


class Pairs(FlatJoinFunction[Flight, Weather, float]):
    def join(self, first: Flight, second: Weather, out: Collector[float]) -> None:
        out.collect(second.wind)


class Sides(CoGroupFunction[Flight, Weather, int]):
    def coGroup(
        self, first: Iterable[Flight], second: Iterable[Weather], out: Collector[int]
    ) -> None:
        out.collect(len(list(first)))


class CountedPair(Counted, RichJoinFunction[Flight, Weather, tuple[str, float]]):
    def join(self, first: Flight, second: Weather) -> tuple[str, float]:
        return first.origin, second.wind


class CountedPairs(Counted, RichFlatJoinFunction[Flight, Weather, float]):
    def join(self, first: Flight, second: Weather, out: Collector[float]) -> None:
        out.collect(second.wind)


class CountedSides(Counted, RichCoGroupFunction[Flight, Weather, int]):
    def coGroup(
        self, first: Iterable[Flight], second: Iterable[Weather], out: Collector[int]
    ) -> None:
        out.collect(len(list(first)))


class Near(ProcessJoinFunction[Flight, Weather, int]):
    def processElement(
        self, left: Flight, right: Weather, ctx: ProcessJoinFunction.Context, out: Collector[int]
    ) -> None:
        out.collect(ctx.getTimestamp())


def of_two_streams(
    flights: DataStream[Flight],
    weather: DataStream[Weather],
    keyed: KeyedStream[Flight, str],
    keyed_weather: KeyedStream[Weather, str],
) -> None:
    both, keyed_both = flights.connect(weather), keyed.connect(keyed_weather)
    assert_type(both.map(Either()), SingleOutputStreamOperator[float])
    assert_type(both.map(RichEither()), SingleOutputStreamOperator[float])
    assert_type(both.flatMap(Airports()), SingleOutputStreamOperator[str])
    assert_type(both.flatMap(RichAirports()), SingleOutputStreamOperator[str])
    assert_type(both.process(Merged()), SingleOutputStreamOperator[bytes])
    assert_type(keyed_both.process(Enriched()), SingleOutputStreamOperator[tuple[Flight, float]])
    rules = weather.broadcast(LIMITS)
    assert_type(flights.connect(rules).process(AboveLimit()), SingleOutputStreamOperator[Flight])
    assert_type(keyed.connect(rules).process(KeyedAboveLimit()), SingleOutputStreamOperator[float])
    joined = flights.join(weather).where(Origin()).equalTo(lambda hour: hour.airport).window(HOUR)
    assert_type(joined.apply(Pair()), SingleOutputStreamOperator[tuple[str, float]])
    assert_type(joined.apply(Pairs()), SingleOutputStreamOperator[float])
    assert_type(joined.apply(CountedPair()), SingleOutputStreamOperator[tuple[str, float]])
    assert_type(joined.apply(CountedPairs()), SingleOutputStreamOperator[float])
    grouped = flights.coGroup(weather).where(Origin()).equalTo(lambda hour: hour.airport)
    assert_type(grouped.window(HOUR).apply(Sides()), SingleOutputStreamOperator[int])
    assert_type(grouped.window(HOUR).apply(CountedSides()), SingleOutputStreamOperator[int])
    near = keyed.intervalJoin(keyed_weather).between(Time.hours(-1), Time.hours(0))
    assert_type(near.process(Near()), SingleOutputStreamOperator[int])


class Waiting(FlatMapFunction[str, str], CheckpointedFunction):
    def initializeState(self, context: FunctionInitializationContext) -> None:
        descriptor = ListStateDescriptor("waiting", str)
        self.state = context.getOperatorStateStore().getListState(descriptor)
        assert_type(self.state, ListState[str])
        self.waiting = list(self.state.get()) if context.isRestored() else []

    def snapshotState(self, context: FunctionSnapshotContext) -> None:
        self.state.update(self.waiting)

    def flatMap(self, value: str, out: Collector[str]) -> None:
        self.waiting.append(value)


class Lines(Source[str]):
    def read(self, position: int | None) -> Iterator[tuple[str, int]]:
        yield "first", 1


class Ledger(Sink[str], SupportsCommitter[int]):
    def createWriter(self, context: WriterInitContext) -> SinkWriter[str]:
        return Page(context.getBatchId())

    def createCommitter(self, context: CommitterInitContext) -> Committer[int]:
        return Signature()


class Page(CommittingSinkWriter[str, int]):
    def __init__(self, number: int) -> None:
        self.number = number

    def write(self, element: str, context: SinkWriterContext) -> None:
        assert_type(context.timestamp(), int | None)

    def prepareCommit(self) -> list[int]:
        return [self.number]


class Signature(Committer[int]):
    def commit(self, committables: Collection[CommitRequest[int]]) -> None:
        for request in committables:
            assert_type(request.getCommittable(), int)


def connectors(env: StreamExecutionEnvironment) -> None:
    lines = env.fromSource(Lines())
    assert_type(lines, DataStreamSource[str])
    assert_type(lines.flatMap(Waiting()), SingleOutputStreamOperator[str])
    assert_type(lines.sinkTo(Ledger()), DataStreamSink[str])


class Located(AsyncFunction[str, tuple[str, int]]):
    def asyncInvoke(self, value: str, resultFuture: ResultFuture[tuple[str, int]]) -> None:
        resultFuture.complete([(value, len(value))])


class Measured(RichAsyncFunction[str, int]):
    async def asyncInvoke(self, value: str) -> list[int]:
        return [len(value)]

    def timeout(self, value: str) -> list[int]:
        return []


def asynchronous(words: DataStream[str]) -> None:
    located = AsyncDataStream.orderedWait(words, Located(), 1_000)
    assert_type(located, SingleOutputStreamOperator[tuple[str, int]])
    measured = AsyncDataStream.unorderedWait(words, Measured(), 1_000)
    assert_type(measured, SingleOutputStreamOperator[int])
