"""Storm's windows as a user writes them, for mypy --strict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_type

from flinkish import Collector, DataStream, Duration, OutputTag, SingleOutputStreamOperator
from flinkish.compat import storm
from flinkish.compat.storm import (
    BaseBasicBolt,
    BaseRichBolt,
    BaseStatefulWindowedBolt,
    BaseWindowedBolt,
    Config,
    CountEvictionPolicy,
    Event,
    EvictionContext,
    EvictionPolicy,
    Fields,
    GlobalStreamId,
    Grouping,
    JoinBolt,
    KeyValueState,
    OutputCollector,
    OutputFieldsDeclarer,
    PolicyWindow,
    PolicyWindowedStream,
    PolicyWindowFunction,
    TopologyBuilder,
    TopologyContext,
    TriggerPolicy,
    TriggerPolicyContext,
    Tuple,
    TupleWindow,
    Values,
    setBolt,
    unionWithLag,
)


@dataclass
class Reading:
    sensor: str
    at: int
    value: float


class Mean(BaseWindowedBolt[Reading, float]):
    def execute(self, inputWindow: TupleWindow[Reading], collector: OutputCollector[float]) -> None:
        values = [reading.value for reading in inputWindow.get()]
        collector.emit(sum(values) / len(values))


def a_bolt(one: DataStream[Reading], two: DataStream[Reading]) -> None:
    bolt = (
        Mean()
        .withWindow(storm.Duration.seconds(20), storm.Duration.seconds(10))
        .withTimestampField("at")
        .withLag(storm.Duration.seconds(5))
        .withWatermarkInterval(storm.Duration.of(500))
        .withLateTupleStream("late")
    )
    means = setBolt(bolt, one, two, fieldsGrouping="sensor")
    assert_type(means, SingleOutputStreamOperator[float])
    assert_type(means.getSideOutput(OutputTag[Reading]("late")), DataStream[Reading])


def a_bolt_of_a_function(readings: DataStream[Reading]) -> None:
    def sensors(window: TupleWindow[Reading]) -> Sequence[str]:
        return [reading.sensor for reading in window.getNew()]

    bolt = BaseWindowedBolt(sensors).withTumblingWindow(storm.Count(10))
    assert_type(setBolt(bolt, readings), SingleOutputStreamOperator[str])


class Alarm(TriggerPolicy[Reading]):
    def isEventTime(self) -> bool:
        return False

    def track(self, event: Event[Reading], context: TriggerPolicyContext) -> None:
        if event.get().value > 90:
            context.onTrigger(EvictionContext(context.currentProcessingTime()))


class SameSensor(EvictionPolicy[Reading]):
    sensor = ""

    def isEventTime(self) -> bool:
        return False

    def track(self, event: Event[Reading]) -> None:
        self.sensor = event.get().sensor

    def evict(self, event: Event[Reading]) -> EvictionPolicy.Action:
        if event.get().sensor == self.sensor:
            return EvictionPolicy.Action.PROCESS
        return EvictionPolicy.Action.KEEP


class Highest(PolicyWindowFunction[Reading, float]):
    def process(self, window: PolicyWindow[Reading], out: Collector[float]) -> None:
        out.collect(max(reading.value for reading in window.get()))


def policies(readings: DataStream[Reading]) -> None:
    own = PolicyWindowedStream(readings, Alarm(), SameSensor()).process(Highest())
    assert_type(own, SingleOutputStreamOperator[float])
    last = PolicyWindowedStream(readings.keyBy(lambda r: r.sensor), Alarm(), CountEvictionPolicy(3))

    def values(window: PolicyWindow[Reading]) -> list[float]:
        return [reading.value for reading in window.get()]

    assert_type(last.process(values), SingleOutputStreamOperator[float])
    timed = unionWithLag(
        readings, readings, lag=Duration.ofSeconds(5), timestampAssigner=lambda r, t: r.at
    )
    assert_type(timed, SingleOutputStreamOperator[Reading])
    tumbling = PolicyWindowedStream.of(timed, Duration.ofSeconds(20))
    assert_type(tumbling.process(values), SingleOutputStreamOperator[float])


class Split(BaseBasicBolt[Tuple, list[object]]):
    def execute(self, input: Tuple, collector: OutputCollector[list[object]]) -> None:  # noqa: A002
        for word in input.getStringByField("sentence").split():
            collector.emit(Values(word))

    def declareOutputFields(self, declarer: OutputFieldsDeclarer) -> None:
        declarer.declare(Fields("word"))


class Counts(BaseRichBolt[Tuple, list[object]]):
    def prepare(
        self,
        topoConf: Mapping[str, object],
        context: TopologyContext,
        collector: OutputCollector[list[object]],
    ) -> None:
        self.collector, self.counts = collector, dict[str, int]()
        assert_type(context.getThisSources(), dict[GlobalStreamId, Grouping])
        assert_type(context.getThisInputFields(), dict[str, dict[str, list[str]]])
        context.getThisWorkerPort()  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]

    def execute(self, input: Tuple) -> None:  # noqa: A002
        self.counts[input[0]] = self.counts.get(input[0], 0) + 1
        self.collector.emit(input, Values(input[0], self.counts[input[0]]))


class Running(BaseStatefulWindowedBolt[Reading, float]):
    def initState(self, state: KeyValueState[str, float]) -> None:
        self.state = state

    def execute(self, input: TupleWindow[Reading]) -> list[float]:  # noqa: A002
        total = sum(reading.value for reading in input.getNew())
        self.state.put("total", (self.state.get("total") or 0.0) + total)
        return [total]


def a_topology(sentences: DataStream[str], readings: DataStream[Reading]) -> DataStream[Any]:
    builder = TopologyBuilder()
    builder.setSpout("sentences", sentences, fields=Fields("sentence"))
    builder.setSpout("readings", readings)
    builder.setBolt("split", Split(), 4).shuffleGrouping("sentences")
    builder.setBolt("count", Counts(), 4).fieldsGrouping("split", Fields("word"))
    join = JoinBolt("split", "word").leftJoin("count", "word", "split").select("word,count")
    builder.setBolt("join", join.withTumblingWindow(storm.Count(9))).globalGrouping("split")
    running = Running().withTumblingWindow(storm.Count(2)).withPersistence()
    builder.setBolt("running", running).addConfiguration("x", 1).allGrouping("readings")
    topology = builder.createTopology(Config({"topology.workers": 2}))
    assert_type(topology["split", "odd"], DataStream[Any])
    return topology["running"]
