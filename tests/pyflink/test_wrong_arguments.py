"""Wrong arguments are refused where they are given, by an error that names method, value and fix."""

from __future__ import annotations

import re

import pytest

import flinkish
from flinkish.pyflink.common import (
    Configuration,
    Duration,
    Row,
    Time,
    Types,
    WatermarkStrategy,
)
from flinkish.pyflink.common.watermark_strategy import TimestampAssigner
from flinkish.pyflink.datastream import (
    AggregateFunction,
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from flinkish.pyflink.datastream.connectors import FlinkKafkaConsumer, FlinkKafkaProducer
from flinkish.pyflink.datastream.connectors.file_system import FileSink, FileSource
from flinkish.pyflink.datastream.state import (
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from flinkish.pyflink.datastream.window import (
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

STATE = MapStateDescriptor("limits", Types.STRING(), Types.INT())


class Same(MapFunction):
    def map(self, value):
        return value


class Keyed(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value


class KeyedBoth(KeyedCoProcessFunction):
    def process_element1(self, value, ctx):
        yield value

    def process_element2(self, value, ctx):
        yield value


class Returned(ProcessFunction):
    def process_element(self, value, ctx):
        return value


class KeyOfNone(ProcessFunction):
    def process_element(self, value, ctx):
        yield ctx.get_current_key()


class KeyOfNoneToo(KeyedBoth):
    def process_element2(self, value, ctx):
        yield ctx.get_current_key()


class Writing(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        ctx.get_broadcast_state(STATE).put("a", 1)

    def process_broadcast_element(self, value, ctx):
        pass


class NoCoroutine(AsyncFunction):
    def async_invoke(self, value):
        return [value]


class Total(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


def environment():
    return StreamExecutionEnvironment.get_execution_environment().set_local_execution()


@pytest.fixture
def numbers():
    return environment().from_collection([1, 2])


def collected(stream):
    return list(stream.execute_and_collect())


def windows(numbers):
    return numbers.key_by(lambda n: n).window(TumblingEventTimeWindows.of(Time.seconds(5)))


ASCENDING = WatermarkStrategy.for_monotonous_timestamps()

CALLS = [
    (lambda s: s.map(5), "map: 5 of type int is no MapFunction. Pass an object of a class"),
    (lambda s: s.map(Same), "map: Same is a class. Pass an object of it: Same()."),
    (lambda s: s.map(Keyed()), "of type Keyed is no MapFunction"),
    (lambda s: s.map(Same(), int), "map: output_type: <class 'int'>"),
    (lambda s: s.map(Same(), Types.INT), "Call it: Types.INT()."),
    (lambda s: s.flat_map(None), "flat_map: None of type NoneType is no FlatMapFunction"),
    (lambda s: s.filter("n > 1"), "is no FilterFunction"),
    (lambda s: s.process(lambda n, ctx: n), "is no ProcessFunction"),
    (lambda s: s.key_by("name"), "lambda value: value[0]"),
    (lambda s: s.key_by(lambda n: n, str), "key_by: key_type"),
    (lambda s: s.key_by(lambda n: n).process(Same()), "is no KeyedProcessFunction"),
    (lambda s: s.key_by(lambda n: n).window(5), "is not a WindowAssigner"),
    (lambda s: s.key_by(lambda n: n).count_window("3"), "count_window: size: '3'"),
    (lambda s: s.key_by(lambda n: n).count_window(3, -1), "count_window: slide: -1"),
    (lambda s: s.key_by(lambda n: n).reduce(5), "is no ReduceFunction"),
    (lambda s: s.window_all(GlobalWindows), "is not a WindowAssigner"),
    (lambda s: s.window(GlobalWindows.create()), "call key_by before it, or window_all"),
    (lambda s: s.reduce(max), "call key_by before it"),
    (lambda s: windows(s).trigger(5), "is not a Trigger"),
    (lambda s: windows(s).allowed_lateness(Time.seconds(1)), "time.to_milliseconds()"),
    (lambda s: windows(s).allowed_lateness(-1), "allowed_lateness: -1"),
    (lambda s: windows(s).side_output_late_data("late"), "is not an OutputTag"),
    (lambda s: windows(s).reduce(Total()), "is no ReduceFunction"),
    (lambda s: windows(s).reduce(max, Same()), "is no WindowFunction or ProcessWindowFunction"),
    (lambda s: windows(s).aggregate(sum), "is no AggregateFunction"),
    (lambda s: windows(s).aggregate(Total(), accumulator_type=int), "accumulator_type"),
    (lambda s: windows(s).process(Keyed()), "is no WindowFunction or ProcessWindowFunction"),
    (lambda s: s.assign_timestamps_and_watermarks(max), "is not a WatermarkStrategy"),
    (lambda s: s.get_side_output("late"), "is not an OutputTag"),
    (lambda s: s.union([s]), "Pass streams: first.union(second, third)."),
    (lambda s: s.connect(5), "is not a DataStream"),
    (lambda s: s.connect(s).map(max), "is no CoMapFunction"),
    (lambda s: s.connect(s).process(Keyed()), "is no CoProcessFunction"),
    (lambda s: s.connect(s.broadcast(STATE)).process(Same()), "is no BroadcastProcessFunction"),
    (lambda s: s.broadcast("limits"), "is not a MapStateDescriptor"),
    (lambda s: s.sink_to("/out"), "is not a Sink"),
    (lambda s: s.partition_custom(3, max), "is no Partitioner"),
    (lambda s: AsyncDataStream.unordered_wait(s, max, Time.seconds(1)), "is no AsyncFunction"),
    (lambda s: AsyncDataStream.ordered_wait(s, NoCoroutine(), 5), "timeout: 5 of type int"),
    (lambda s: ASCENDING.with_timestamp_assigner(max), "extract_timestamp(value"),
    (lambda s: ASCENDING.with_idleness(5), "is not a Duration"),
    (lambda s: WatermarkStrategy.for_bounded_out_of_orderness(5), "Duration.of_seconds(5)"),
    (lambda s: TumblingEventTimeWindows.of(5), "Time.seconds(5)"),
    (lambda s: TumblingEventTimeWindows.of(Duration.of_seconds(5)), "is not a Time"),
    (lambda s: SlidingEventTimeWindows.of(Time.seconds(5), 1), "slide: 1"),
    (lambda s: EventTimeSessionWindows.with_gap(5), "gap: 5"),
    (lambda s: EventTimeSessionWindows.with_dynamic_gap(max), "extract(element)"),
    (lambda s: PurgingTrigger.of(5), "is not a Trigger"),
    (lambda s: ValueStateDescriptor("n", int), "is no TypeInformation"),
    (lambda s: ValueStateDescriptor("", Types.INT()), "ValueStateDescriptor: name"),
    (lambda s: MapStateDescriptor("n", str, int), "is no TypeInformation"),
    (lambda s: ValueStateDescriptor("n", Types.INT()).enable_time_to_live(5), "StateTtlConfig"),
    (lambda s: StateTtlConfig.new_builder(5), "is not a Time"),
    (lambda s: OutputTag("late", int), "is no TypeInformation"),
    (lambda s: OutputTag(""), "OutputTag: tag_id"),
    (lambda s: Types.ROW([Types.INT]), "with the parentheses"),  # type: ignore[list-item]
    (lambda s: Types.ROW(Types.INT()), "Pass a list of types"),  # type: ignore[arg-type]
    (lambda s: Types.TUPLE(Types.INT(), Types.INT()), "Pass a list of types"),  # type: ignore[arg-type]
    (lambda s: Types.TUPLE([Types.INT()], Types.INT()), "one argument too many"),  # type: ignore[arg-type]
    (lambda s: Types.ROW_NAMED(["a"], [Types.INT(), Types.INT()]), "1 names and 2 types"),
    (lambda s: environment().from_collection(5), "from_collection: 5 of type int"),
    (lambda s: environment().from_collection([5], int), "from_collection: type_info"),
    (lambda s: environment().from_source("a", ASCENDING, "a"), "from_source: 'a'"),
    (lambda s: environment().set_runtime_mode("BATCH"), "RuntimeExecutionMode.BATCH"),
    (lambda s: environment().enable_checkpointing("/tmp"), "set_checkpoint_directory(path)"),
    (lambda s: environment().configure({"a": "b"}), "Configuration().set_string(key, value)"),
    (
        lambda s: FlinkKafkaConsumer(topics="a", deserialization_schema=None, properties={}),
        "KafkaSource",
    ),
    (lambda s: FlinkKafkaProducer("a", None, producer_config={}), "KafkaSink.builder()"),
    (lambda s: FileSource.for_record_stream_format("lines", "/in"), "is not a StreamFormat"),
    (lambda s: FileSource.for_bulk_file_format(None, "/in"), "forParquet"),
    (lambda s: FileSink.for_row_format("/out", None), "is not an Encoder"),
]


def test_the_call_is_refused():
    for call, said in CALLS:
        message = "nothing is refused"
        try:
            call(environment().from_collection([1, 2]))
        except flinkish.FlinkishError as error:
            message = str(error)
        assert said in message


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda s: s.flat_map(lambda n: n), "gave 1 of type int, which is no collection"),
        (lambda s: s.process(Returned()), "Yield each result, or return a list"),
        (lambda s: s.process(KeyOfNone()), "derive from KeyedProcessFunction"),
        (lambda s: s.connect(s).process(KeyOfNoneToo()), "derive from KeyedProcessFunction"),
        (lambda s: s.map(str, Types.INT()), "'1' of type str is no value of Integer"),
        (
            lambda s: s.connect(s.broadcast(STATE)).process(Writing()),
            "in process_broadcast_element",
        ),
        (
            lambda s: AsyncDataStream.ordered_wait(s, NoCoroutine(), Time.seconds(1)),
            "NoCoroutine.async_invoke gave [1] of type list, which cannot be awaited",
        ),
        (lambda s: s.map(lambda n: Row(a=n).b), "the row has no field 'b'; its fields are ['a']"),
    ],
)
def test_the_job_fails_with_the_fix(numbers, build, said):
    with pytest.raises(flinkish.FlinkishError, match=re.escape(said)):
        collected(build(numbers))


def test_a_keyed_function_runs_without_keys_as_in_pyflink(numbers):
    assert collected(numbers.process(Keyed())) == [1, 2]
    assert collected(numbers.connect(numbers).process(KeyedBoth())) == [1, 2, 1, 2]


def test_an_assigner_need_not_derive(numbers):
    class Ten:
        def extract_timestamp(self, value, record_timestamp):
            return 10

    strategy = ASCENDING.with_timestamp_assigner(Ten())
    timed = numbers.assign_timestamps_and_watermarks(strategy)
    assert collected(windows(timed).reduce(max)) == [1, 2]


def test_a_timestamp_that_is_none_is_named():
    class Text(TimestampAssigner):
        def extract_timestamp(self, value, record_timestamp):
            return "today"

    strategy = ASCENDING.with_timestamp_assigner(Text())
    with pytest.raises(flinkish.FlinkishError, match="gave 'today' of type str"):
        collected(environment().from_collection([1]).assign_timestamps_and_watermarks(strategy))


def test_a_configuration_is_checked_where_an_environment_is_made():
    assert StreamExecutionEnvironment.get_execution_environment(Configuration())
    with pytest.raises(flinkish.FlinkishError, match="is not a Configuration"):
        StreamExecutionEnvironment.get_execution_environment({"a": "b"})
