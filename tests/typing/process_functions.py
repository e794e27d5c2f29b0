"""The types that a type checker infers for process functions, two inputs and joins; ``make lint`` checks them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, assert_type

from flinkish import (
    AggregateFunction,
    AggregatingStateDescriptor,
    BroadcastConnectedStream,
    BroadcastProcessFunction,
    BroadcastState,
    BroadcastStream,
    CoFlatMapFunction,
    Collector,
    CoMapFunction,
    ConnectedStreams,
    CoProcessFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStream,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    OpenContext,
    OutputTag,
    ProcessFunction,
    ProcessJoinFunction,
    ReadOnlyBroadcastState,
    ReducingStateDescriptor,
    RichMapFunction,
    SingleOutputStreamOperator,
    StateTtlConfig,
    Time,
    TimeDomain,
    TimerService,
    ValueState,
    ValueStateDescriptor,
)

Flight = tuple[str, float]
"""An origin and a delay."""

Weather = dict[str, float]
LATE = OutputTag[Flight]("late")
LIMITS = MapStateDescriptor[str, float]("limits")
WORST = ValueStateDescriptor[float]("worst", default=0.0)


class Alarm(KeyedProcessFunction[str, Flight, str]):
    """State of every kind, timers and side outputs."""

    def open(self, openContext: OpenContext) -> None:
        context = self.getRuntimeContext()
        WORST.enableTimeToLive(StateTtlConfig.newBuilder(Time.days(1)).build())
        self.worst = context.getState(WORST)
        self.delays = context.getListState(ListStateDescriptor[float]("delays"))
        self.counts = context.getMapState(MapStateDescriptor[str, int]("counts"))
        self.most = context.getReducingState(
            ReducingStateDescriptor[float]("most", lambda a, b: max(a, b))
        )
        self.mean = context.getAggregatingState(AggregatingStateDescriptor("mean", Mean()))
        self.alarms = context.getMetricGroup().counter("alarms")

    def processElement(
        self, value: Flight, ctx: KeyedProcessFunction.Context[str], out: Collector[str]
    ) -> None:
        assert_type(self.worst, ValueState[float])
        assert_type(self.worst.value(), float | None)
        assert_type(self.delays, ListState[float])
        assert_type(self.delays.get(), Iterable[float])
        assert_type(self.counts, MapState[str, int])
        assert_type(self.counts.get("x"), int | None)
        assert_type(self.most.get(), float | None)
        assert_type(self.mean.get(), str | None)
        assert_type(ctx.getCurrentKey(), str)
        assert_type(ctx.timestamp(), int | None)
        assert_type(ctx.timerService(), TimerService)
        ctx.output(LATE, value)
        self.alarms.inc()

    def onTimer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext[str], out: Collector[str]
    ) -> None:
        assert_type(ctx.timeDomain(), TimeDomain)
        out.collect(ctx.getCurrentKey())


class Mean(AggregateFunction[float, tuple[float, int], str]):
    def createAccumulator(self) -> tuple[float, int]:
        return (0.0, 0)

    def add(self, value: float, accumulator: tuple[float, int]) -> tuple[float, int]:
        return (accumulator[0] + value, accumulator[1] + 1)

    def getResult(self, accumulator: tuple[float, int]) -> str:
        return f"{accumulator[0] / accumulator[1]:.1f}"


class Split(ProcessFunction[Flight, float]):
    def processElement(
        self, value: Flight, ctx: ProcessFunction.Context, out: Collector[float]
    ) -> None:
        out.collect(value[1])


class Worst(RichMapFunction[Flight, float]):
    def open(self, openContext: OpenContext) -> None:
        self.worst = self.getRuntimeContext().getState(WORST)

    def map(self, value: Flight) -> float:
        self.worst.update(max(value[1], self.worst.value() or 0.0))
        return self.worst.value() or 0.0


class Delays(CoMapFunction[Flight, Weather, float]):
    def map1(self, value: Flight) -> float:
        return value[1]

    def map2(self, value: Weather) -> float:
        return value["wind"]


class Names(CoFlatMapFunction[Flight, Weather, str]):
    def flatMap1(self, value: Flight, out: Collector[str]) -> None:
        out.collect(value[0])

    def flatMap2(self, value: Weather, out: Collector[str]) -> None:
        for name in value:
            out.collect(name)


class Either(CoProcessFunction[Flight, Weather, bytes]):
    def processElement1(
        self, value: Flight, ctx: CoProcessFunction.Context, out: Collector[bytes]
    ) -> None:
        out.collect(value[0].encode())

    def processElement2(
        self, value: Weather, ctx: CoProcessFunction.Context, out: Collector[bytes]
    ) -> None:
        out.collect(b"weather")


class Enriched(KeyedCoProcessFunction[str, Flight, Weather, tuple[Flight, Weather]]):
    def open(self, openContext: OpenContext) -> None:
        descriptor = ValueStateDescriptor[Weather]("weather")
        self.weather = self.getRuntimeContext().getState(descriptor)

    def processElement1(
        self,
        value: Flight,
        ctx: KeyedCoProcessFunction.Context[str],
        out: Collector[tuple[Flight, Weather]],
    ) -> None:
        weather = self.weather.value()
        if weather is not None:
            out.collect((value, weather))

    def processElement2(
        self,
        value: Weather,
        ctx: KeyedCoProcessFunction.Context[str],
        out: Collector[tuple[Flight, Weather]],
    ) -> None:
        self.weather.update(value)


class Above(KeyedBroadcastProcessFunction[str, Flight, Flight, Flight]):
    def processElement(
        self,
        value: Flight,
        ctx: KeyedBroadcastProcessFunction.ReadOnlyContext[str],
        out: Collector[Flight],
    ) -> None:
        limits = ctx.getBroadcastState(LIMITS)
        assert_type(limits, ReadOnlyBroadcastState[str, float])
        assert_type(limits.get(ctx.getCurrentKey()), float | None)

    def processBroadcastElement(
        self,
        value: Flight,
        ctx: KeyedBroadcastProcessFunction.Context[str],
        out: Collector[Flight],
    ) -> None:
        limits = ctx.getBroadcastState(LIMITS)
        assert_type(limits, BroadcastState[str, float])
        limits.put(*value)
        ctx.applyToKeyedState(WORST, lambda key, state: state.update(0.0))
        ctx.applyToKeyedState(
            ListStateDescriptor("seen", str),
            lambda key, state: assert_type(state, ListState[str]).clear(),
        )


class AboveAnyKey(BroadcastProcessFunction[Flight, Flight, str]):
    def processElement(
        self, value: Flight, ctx: BroadcastProcessFunction.ReadOnlyContext, out: Collector[str]
    ) -> None:
        out.collect(value[0])

    def processBroadcastElement(
        self, value: Flight, ctx: BroadcastProcessFunction.Context, out: Collector[str]
    ) -> None:
        ctx.getBroadcastState(LIMITS).put(*value)


class Pairs(ProcessJoinFunction[Flight, Weather, int]):
    def processElement(
        self, left: Flight, right: Weather, ctx: ProcessJoinFunction.Context, out: Collector[int]
    ) -> None:
        out.collect(ctx.getRightTimestamp() - ctx.getLeftTimestamp())


def process_takes_the_type_of_the_results(
    flights: DataStream[Flight], keyed: KeyedStream[Flight, str]
) -> None:
    assert_type(flights.process(Split()), SingleOutputStreamOperator[float])
    assert_type(keyed.process(Alarm()), SingleOutputStreamOperator[str])
    assert_type(keyed.process(Split()), SingleOutputStreamOperator[float])
    assert_type(keyed.map(Worst()), SingleOutputStreamOperator[float])
    assert_type(keyed.process(Alarm()).getSideOutput(LATE), DataStream[Flight])


def connected_streams_know_both_types(
    flights: DataStream[Flight], weather: DataStream[Weather]
) -> None:
    connected = flights.connect(weather)
    assert_type(connected, ConnectedStreams[Flight, Weather])
    assert_type(connected.map(Delays()), SingleOutputStreamOperator[float])
    assert_type(connected.flatMap(Names()), SingleOutputStreamOperator[str])
    assert_type(connected.process(Either()), SingleOutputStreamOperator[bytes])
    keyed = connected.keyBy(lambda flight: flight[0], lambda hour: str(hour["origin"]))
    assert_type(keyed.process(Enriched()), SingleOutputStreamOperator[tuple[Flight, Weather]])


def broadcast_streams_know_both_types(
    flights: DataStream[Flight], keyed: KeyedStream[Flight, str], limits: DataStream[Flight]
) -> None:
    assert_type(limits.broadcast(), DataStream[Flight])
    rules = limits.broadcast(LIMITS)
    assert_type(rules, BroadcastStream[Flight])
    assert_type(keyed.connect(rules), BroadcastConnectedStream[Flight, Flight])
    assert_type(keyed.connect(rules).process(Above()), SingleOutputStreamOperator[Flight])
    assert_type(flights.connect(rules).process(AboveAnyKey()), SingleOutputStreamOperator[str])


def an_interval_join_knows_both_types(
    flights: KeyedStream[Flight, str], weather: KeyedStream[Weather, str]
) -> None:
    near = flights.intervalJoin(weather).between(Time.hours(-1), Time.hours(0))
    assert_type(near.process(Pairs()), SingleOutputStreamOperator[int])
    assert_type(
        near.lowerBoundExclusive().sideOutputLeftLateData(LATE).process(Pairs()),
        SingleOutputStreamOperator[int],
    )


def rolling_aggregations_keep_the_type(keyed: KeyedStream[Flight, str]) -> None:
    assert_type(keyed.reduce(lambda a, b: (a[0], a[1] + b[1])), SingleOutputStreamOperator[Flight])
    assert_type(keyed.sum(1), SingleOutputStreamOperator[Flight])
    assert_type(keyed.maxBy(1, False), SingleOutputStreamOperator[Flight])


def partitioning_keeps_the_type(flights: DataStream[Flight]) -> None:
    assert_type(flights.rebalance().shuffle().rescale().global_().forward(), DataStream[Flight])
    assert_type(
        flights.partitionCustom(lambda key, tasks: len(key) % tasks, lambda flight: flight[0]),
        DataStream[Flight],
    )
    assert_type(flights.project(1), SingleOutputStreamOperator[tuple[Any, ...]])
