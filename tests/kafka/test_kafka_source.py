"""``KafkaSource`` on a real broker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from flinkish import (
    AggregateFunction,
    ConsumerRecord,
    DataStream,
    JsonDeserializationSchema,
    KafkaRecordDeserializationSchema,
    KafkaSource,
    KafkaSourceBuilder,
    MalformedKafkaRecord,
    OffsetResetStrategy,
    OffsetsInitializer,
    OutputTag,
    ProcessFunction,
    Row,
    SimpleStringSchema,
    StreamExecutionEnvironment,
    Time,
    TopicPartition,
    TumblingEventTimeWindows,
    Types,
    WatermarkStrategy,
)
from flinkish.api.errors import JobExecutionError, MalformedRecordError, UserFunctionError
from flinkish.api.time.elements import MIN_TIMESTAMP
from flinkish.runtime.kafka.planner import KafkaPlanner, KafkaRange
from flinkish.runtime.sources.planners import Step
from tests.kafka.broker import KafkaBroker
from tests.kafka.topics import Topics
from tests.spark.waiting import wait_for

pytestmark = pytest.mark.kafka


@pytest.fixture
def builder(broker: KafkaBroker, topic: str) -> KafkaSourceBuilder[Any]:
    """Reads all texts of the test's topic that are there by now."""
    return (
        KafkaSource.builder()
        .setBootstrapServers(broker.bootstrapServers)
        .setTopics(topic)
        .setBounded(OffsetsInitializer.latest())
        .setValueOnlyDeserializer(SimpleStringSchema())
    )


@pytest.fixture
def local() -> StreamExecutionEnvironment:
    environment = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    return environment.setParallelism(1)


def elements(env: StreamExecutionEnvironment, source: KafkaSource[Any]) -> list[Any]:
    stream = env.fromSource(source, WatermarkStrategy.noWatermarks(), "kafka")
    return list(stream.executeAndCollect())


# ---------------------------------------------------------------------- what is read


def test_the_texts_of_all_partitions(local, topics: Topics, topic, builder):
    topics.send(topic, 0, [b"a", b"b"])
    topics.send(topic, 1, ["ü".encode(), b"\xff"])
    assert elements(local, builder.build()) == ["a", "b", "ü", "\ufffd"]


def test_records_without_a_value_give_no_text(local, topics: Topics, topic, builder):
    topics.send(topic, 0, [b"a", None, b"b"], key=b"k")
    assert elements(local, builder.build()) == ["a", "b"]


def test_a_topic_without_records(local, builder):
    assert elements(local, builder.build()) == []


def test_key_value_headers_partition_offset_and_timestamp(local, topics: Topics, topic, builder):
    topics.send(topic, 1, [(b"v", 42)], key=b"k", headers=[("h", b"x")])
    records = builder.setDeserializer(KafkaRecordDeserializationSchema.of(lambda record: record))
    expected = ConsumerRecord(topic, 1, 0, 42, b"k", b"v", (("h", b"x"),))
    assert elements(local, records.build()) == [expected]


class Twice(KafkaRecordDeserializationSchema[str]):
    """Each value with its offset, and again."""

    def deserialize(self, record, out):
        for _ in range(2):
            out.collect(f"{record.offset}:{record.value.decode()}")

    def getProducedType(self):
        return Types.STRING()


def test_a_schema_of_the_users(local, topics: Topics, topic, builder):
    topics.send(topic, 0, [b"a", b"b"])
    source = builder.setDeserializer(Twice()).build()
    assert elements(local, source) == ["0:a", "0:a", "1:b", "1:b"]
    stream = local.fromSource(source, WatermarkStrategy.noWatermarks(), "kafka")
    assert stream.getType() == Types.STRING()


def test_an_error_of_a_schema_names_the_record(local, topics: Topics, topic, builder):
    topics.send(topic, 0, [b"1", b"x"])
    numbers = KafkaRecordDeserializationSchema.of(lambda record: int(record.value))
    with pytest.raises(UserFunctionError, match=r"value=b'x'"):
        elements(local, builder.setDeserializer(numbers).build())


@dataclass
class Order:
    user: str
    amount: int
    rate: float | None


class Line(NamedTuple):
    name: str
    count: int


@dataclass
class Basket:
    user: str
    lines: list[Line]


ORDER = b'{"user": "ann", "amount": 3, "rate": 0.5, "more": {}}'


def test_json_as_objects_of_a_class(local, topics: Topics, topic, builder):
    topics.send(topic, 0, [ORDER, b'{"amount": 4, "user": "bob"}'])
    source = builder.setValueOnlyDeserializer(JsonDeserializationSchema(Order)).build()
    assert elements(local, source) == [Order("ann", 3, 0.5), Order("bob", 4, None)]


def test_json_as_rows_and_over_several_lines(local, topics: Topics, topic, builder):
    topics.send(topic, 0, [b'{\n"user":\r\n"ann"}', b'{"user": "bob"}', b'{"user": "a}\\n{b"}'])
    source = builder.setValueOnlyDeserializer(JsonDeserializationSchema("user string")).build()
    assert elements(local, source) == [Row(user="ann"), Row(user="bob"), Row(user="a}\n{b")]


def test_json_as_objects_in_objects(local, topics: Topics, topic, builder):
    topics.send(topic, 0, [b'{"user": "ann", "lines": [{"name": "tea", "count": 2}]}'])
    source = builder.setValueOnlyDeserializer(JsonDeserializationSchema(Basket)).build()
    assert elements(local, source) == [Basket("ann", [Line("tea", 2)])]


POISON = [b"{", b"", b"[]", b'[{"user": "x"}, {"user": "y"}]', b"\xff", b'{"amount": "many"}', b"7"]


def test_a_record_that_does_not_fit_fails_the_job(local, topics: Topics, topic, builder):
    topics.send(topic, 1, [ORDER, b"poison"])
    source = builder.setValueOnlyDeserializer(JsonDeserializationSchema(Order)).build()
    with pytest.raises(
        MalformedRecordError, match=f"'poison' at offset 1 of partition 1 of the topic '{topic}'"
    ):
        elements(local, source)


@pytest.mark.slow("starts a job on Spark that plans its source in a separate process")
def test_poison_goes_to_a_side_output(environment, topics: Topics, topic, builder):
    # More good ones than are parsed one by one, so that halves of a run are tried
    good = [b'{"user": "u%d", "amount": %d}' % (n, n) for n in range(100)]
    topics.send(topic, 0, [*good[:50], *POISON, *good[50:]], key=b"k")
    tag = OutputTag[MalformedKafkaRecord]("poison")
    source = builder.setValueOnlyDeserializer(JsonDeserializationSchema(Order))
    stream = environment.fromSource(
        source.setMalformedRecords(tag).build(), WatermarkStrategy.noWatermarks(), "kafka"
    )
    good_sink: list[Any] = []
    stream.map(lambda order: order.amount).union(
        stream.getSideOutput(tag).map(lambda bad: (bad.offset, bad.partition, bad.key, bad.raw))
    ).forEachBatch(lambda values, _: good_sink.extend(values))
    environment.execute()
    orders = [value for value in good_sink if isinstance(value, int)]
    poison = [value for value in good_sink if not isinstance(value, int)]
    assert orders == list(range(100))
    assert poison == [(50 + n, 0, b"k", raw) for n, raw in enumerate(POISON)]


def test_an_error_of_a_schema_makes_a_dead_letter(local, topics: Topics, topic, builder):
    topics.send(topic, 0, [b"1", b"x", b"2"])
    tag = OutputTag[MalformedKafkaRecord]("poison")
    numbers = KafkaRecordDeserializationSchema.of(lambda record: int(record.value))
    source = builder.setDeserializer(numbers).setMalformedRecords(tag).build()
    stream = local.fromSource(source, WatermarkStrategy.noWatermarks(), "kafka")
    out: list[Any] = []
    stream.union(stream.getSideOutput(tag).map(lambda bad: bad.reason)).forEachBatch(
        lambda values, _: out.extend(values)
    )
    local.execute()
    assert [value for value in out if isinstance(value, int)] == [1, 2]
    [reason] = [value for value in out if isinstance(value, str)]
    assert "invalid literal" in reason


# ---------------------------------------------------------------------- where it begins and ends


def test_offsets_by_name_time_and_group(local, topics: Topics, topic, builder):
    topics.send(topic, 0, [(b"%d" % n, 1000 * n + 1000) for n in range(5)])

    def read(starting: OffsetsInitializer) -> list[Any]:
        return elements(local, builder.setStartingOffsets(starting).build())

    assert read(OffsetsInitializer.earliest()) == list("01234")
    assert read(OffsetsInitializer.latest()) == []
    assert read(OffsetsInitializer.timestamp(3500)) == list("34")
    assert read(OffsetsInitializer.timestamp(9000)) == []
    assert read(OffsetsInitializer.offsets({TopicPartition(topic, 0): 4})) == ["4"]
    builder.setGroupId(f"group-{topic}")
    with pytest.raises(JobExecutionError, match="the OffsetResetStrategy is NONE"):
        read(OffsetsInitializer.committedOffsets())
    earliest = OffsetsInitializer.committedOffsets(OffsetResetStrategy.EARLIEST)
    assert read(earliest) == list("01234")
    assert topics.committed(f"group-{topic}", topic) == {0: 5, 1: 0}
    topics.send(topic, 0, [b"new"])
    assert read(earliest) == ["new"]


def test_partitions_that_the_offsets_do_not_name(local, topics: Topics, topic, builder):
    """As in Flink, what the group has committed counts for them, then the strategy."""
    for partition in (0, 1):
        topics.send(topic, partition, [b"%d%d" % (partition, n) for n in range(3)])
    named = {TopicPartition(topic, 0): 2}

    def read(strategy: OffsetResetStrategy) -> list[Any]:
        starting = OffsetsInitializer.offsets(named, strategy)
        return elements(local, builder.setStartingOffsets(starting).build())

    assert read(OffsetResetStrategy.EARLIEST) == ["02", "10", "11", "12"]
    assert read(OffsetResetStrategy.LATEST) == ["02"]
    with pytest.raises(JobExecutionError, match=f"no offset for the partition {topic}-1"):
        read(OffsetResetStrategy.NONE)
    builder.setGroupId(f"group-{topic}")
    read(OffsetResetStrategy.EARLIEST)
    topics.send(topic, 1, [b"13"])
    assert read(OffsetResetStrategy.EARLIEST) == ["02", "13"]


def test_offsets_that_are_not_there(local, topics: Topics, topic, builder):
    topics.send(topic, 0, [b"0", b"1", b"2"])
    topics.forget(topic, 0, 1)
    for offset in (0, 7):
        read = {}
        for strategy in OffsetResetStrategy:
            offsets = {TopicPartition(topic, 0): offset, TopicPartition(topic, 1): 0}
            starting = OffsetsInitializer.offsets(offsets, strategy)
            source = builder.setStartingOffsets(starting).build()
            if strategy is OffsetResetStrategy.NONE:
                with pytest.raises(JobExecutionError, match=f"was to begin at {offset}"):
                    elements(local, source)
            else:
                read[strategy.name] = elements(local, source)
        assert read == {"EARLIEST": ["1", "2"], "LATEST": []}


def test_a_bound_by_offsets(local, topics: Topics, topic, builder):
    for partition in (0, 1):
        topics.send(topic, partition, [b"%d%d" % (partition, n) for n in range(4)])
    stops = {TopicPartition(topic, 0): 3, TopicPartition(topic, 1): 1}
    source = builder.setBounded(OffsetsInitializer.offsets(stops)).build()
    assert elements(local, source) == ["00", "01", "02", "10"]


def test_a_bound_that_has_not_come_yet(local, topics: Topics, topic, builder):
    """The job ends when the records are there."""
    stops = {TopicPartition(topic, number): 2 for number in (0, 1)}
    source = builder.setBounded(OffsetsInitializer.offsets(stops)).build()
    found: list[str] = []
    stream = local.fromSource(source, WatermarkStrategy.noWatermarks(), "kafka")
    stream.forEachBatch(lambda values, _: found.extend(values))
    topics.send(topic, 0, [b"a", b"b"])
    client = local.executeAsync("bounded")
    wait_for(lambda: len(found) == 2)
    assert client.getJobStatus().name == "RUNNING"
    topics.send(topic, 1, [b"c", b"d", b"e"])
    client.getJobExecutionResult(120)
    assert sorted(found) == ["a", "b", "c", "d"]


def test_a_bound_by_time(local, topics: Topics, topic, builder):
    topics.send(topic, 0, [(b"%d" % n, 1000 * n + 1000) for n in range(5)])
    source = builder.setBounded(OffsetsInitializer.timestamp(3500)).build()
    assert elements(local, source) == list("012")


def test_a_pattern_and_single_partitions(local, broker, topics: Topics, topic):
    topics.send(topic, 0, [b"a"])
    topics.send(topic, 1, [b"b"])

    def read(builder: KafkaSourceBuilder[Any]) -> list[Any]:
        builder.setBootstrapServers(broker.bootstrapServers)
        builder.setBounded(OffsetsInitializer.latest())
        return elements(local, builder.setValueOnlyDeserializer(SimpleStringSchema()).build())

    assert read(KafkaSource.builder().setTopicPattern(topic[:-1] + "[0-9]*")) == ["a", "b"]
    assert read(KafkaSource.builder().setPartitions({TopicPartition(topic, 1)})) == ["b"]
    with pytest.raises(JobExecutionError, match=f"no topic or partition {topic}-7"):
        read(KafkaSource.builder().setPartitions({TopicPartition(topic, 7)}))


def test_what_is_committed_only(local, broker, topics: Topics, topic, builder):
    from confluent_kafka import Producer

    producer = Producer(
        {"bootstrap.servers": broker.bootstrapServers, "transactional.id": f"tx-{topic}"}
    )
    producer.init_transactions()
    for value, commit in ((b"yes", True), (b"no", False), (b"last", True)):
        producer.begin_transaction()
        producer.produce(topic, value, partition=0)
        producer.flush()
        producer.commit_transaction() if commit else producer.abort_transaction()
    assert elements(local, builder.build()) == ["yes", "no", "last"]
    committed = builder.setProperty("isolation.level", "read_committed").build()
    assert elements(local, committed) == ["yes", "last"]


# ---------------------------------------------------------------------- plans of batches


def test_a_batch_has_a_share_of_each_partition(topics: Topics, topic, builder):
    topics.send(topic, 0, [b"x"] * 90)
    topics.send(topic, 1, [b"x"] * 10)
    planner = KafkaPlanner(builder.build(), 20, 2)
    steps: list[Step] = []
    while not steps or not steps[-1].last:
        step = planner.plan()
        assert step is not None
        steps.append(step)
    first = [KafkaRange(*piece) for piece in steps[0].pieces]
    assert [(r.partition, r.start, r.end) for r in first] == [(0, 0, 18), (1, 0, 2)]
    read = [KafkaRange(*piece) for step in steps for piece in step.pieces]
    for partition, count in ((0, 90), (1, 10)):
        offsets = [n for r in read if r.partition == partition for n in range(r.start, r.end)]
        assert offsets == list(range(count))
    assert planner.plan() is None


@pytest.mark.parametrize("folded", [False, True])
def test_a_plan_goes_on_where_it_was(topics: Topics, topic, builder, folded):
    topics.send(topic, 0, [b"x"] * 10)
    source = builder.build()
    planner = KafkaPlanner(source, 4, 2)
    step = planner.plan()
    assert step is not None
    # What comes later is behind the end that was found first
    topics.send(topic, 0, [b"x"] * 10)
    later = KafkaPlanner(source, 100, 2)
    if folded:
        later.restore(planner.snapshot(), [])
    else:
        later.restore(None, [step])
    rest = later.plan()
    assert rest is not None
    assert [tuple(piece) for piece in rest.pieces] == [(topic, 0, 4, 10, 10, step.pieces[0][5])]
    assert rest.last


def test_ranges_are_cut_for_tasks_and_stay_in_order(builder):
    planner = KafkaPlanner(builder.build(), None, 2)
    step = Step([["t", 0, 0, 1_000_000, None], ["t", 1, 5, 6, None]])
    tasks = planner.tasks(step)
    assert len(tasks) == 2
    ranges = [KafkaRange(*piece) for task in tasks for piece in task]
    assert [(r.partition, r.start, r.end) for r in ranges[:1]] == [(0, 0, 500_001)]
    assert sum(r.end - r.start for r in ranges) == 1_000_001


def test_new_partitions_are_read_from_their_first_record(broker, topics: Topics, topic):
    source = (
        KafkaSource.builder()
        .setBootstrapServers(broker.bootstrapServers)
        .setTopics(topic)
        .setStartingOffsets(OffsetsInitializer.latest())
        .setValueOnlyDeserializer(SimpleStringSchema())
        .setProperty("partition.discovery.interval.ms", "1")
        .build()
    )
    topics.send(topic, 0, [b"before"])
    planner = KafkaPlanner(source, None, 1)
    assert planner.plan() is None
    topics.grow(topic, 3)
    topics.send(topic, 2, [b"new"])
    assert [piece[:4] for piece in planned(planner).pieces if piece[1] == 2] == [[topic, 2, 0, 1]]


def test_topics_and_partitions_that_come_while_a_job_runs(local, broker, topics: Topics, topic):
    """They match the pattern, and are read from their first records."""
    source = (
        KafkaSource.builder()
        .setBootstrapServers(broker.bootstrapServers)
        .setTopicPattern(topic + "(-.*)?")
        .setStartingOffsets(OffsetsInitializer.latest())
        .setValueOnlyDeserializer(SimpleStringSchema())
        .setProperty("partition.discovery.interval.ms", "50")
        .build()
    )
    topics.send(topic, 0, [b"before"])
    found: list[str] = []
    stream = local.fromSource(source, WatermarkStrategy.noWatermarks(), "kafka")
    stream.forEachBatch(lambda values, _: found.extend(values))
    client = local.executeAsync("pattern")

    def begun() -> bool:
        topics.send(topic, 0, [b"begun"])
        return "begun" in found

    wait_for(begun)  # until the job has found out where it begins
    topics.create(f"{topic}-later", 1)
    topics.send(f"{topic}-later", 0, [b"topic"])
    wait_for(lambda: "topic" in found)
    topics.grow(topic, 3)
    topics.send(topic, 2, [b"partition"])
    wait_for(lambda: "partition" in found)
    client.cancel()
    assert set(found) == {"begun", "topic", "partition"}


def planned(planner: KafkaPlanner) -> Step:
    steps: list[Step | None] = [None]

    def has_planned() -> bool:
        steps[0] = planner.plan()
        return steps[0] is not None

    wait_for(has_planned)
    assert steps[0] is not None
    return steps[0]


# ---------------------------------------------------------------------- brokers and topics that go


def test_a_deleted_topic_fails_the_job(topics: Topics, topic, builder):
    topics.send(topic, 0, [b"x"])
    planner = KafkaPlanner(
        builder.setUnbounded(OffsetsInitializer.offsets({TopicPartition(topic, 0): 99})).build(),
        None,
        1,
    )
    assert planner.plan() is not None
    topics.delete(topic)
    with pytest.raises(JobExecutionError, match=f"the topic {topic} does not exist any more"):
        planned(planner)


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("records", [1, 3, 30])
def test_a_topic_made_anew_is_refused_or_read_from_its_first_record(
    broker, topics: Topics, topic, down, records
):
    """While a job runs, or is down, and with as many records as were read, fewer or more."""
    builder = KafkaSource.builder().setBootstrapServers(broker.bootstrapServers).setTopics(topic)
    source = builder.setValueOnlyDeserializer(SimpleStringSchema()).build()
    anew = builder.setProperty("topic.recreated", "earliest").build()
    topics.send(topic, 0, [b"x"] * 3)
    planners = [KafkaPlanner(each, None, 1) for each in (source, anew)]
    steps = [planned(planner) for planner in planners]
    topics.delete(topic)
    topics.create(topic, 2)
    topics.send(topic, 0, [b"y"] * (records if down or records != 3 else 4))
    if down:
        planners = [KafkaPlanner(each, None, 1) for each in (source, anew)]
        for planner, step in zip(planners, steps):
            planner.restore(None, [step])
    refuses, reads = planners
    with pytest.raises(JobExecutionError, match=f"'{topic}' was deleted and created again: its id"):
        planned(refuses)
    ranges = [KafkaRange(*piece) for piece in planned(reads).pieces]
    assert [r.start for r in ranges] == [0, 0]
    assert sum(r.end for r in ranges) == (records if down or records != 3 else 4)


def test_a_topic_that_is_not_there(local, broker):
    source = (
        KafkaSource.builder()
        .setBootstrapServers(broker.bootstrapServers)
        .setTopics("nowhere")
        .setBounded(OffsetsInitializer.latest())
        .setValueOnlyDeserializer(SimpleStringSchema())
        .build()
    )
    with pytest.raises(JobExecutionError, match="no topic or partition nowhere at 127"):
        elements(local, source)


def test_no_broker(local, builder, monkeypatch):
    monkeypatch.setattr("flinkish.runtime.kafka.planner.FIRST_ANSWER_SECONDS", 0.1)
    monkeypatch.setattr("flinkish.runtime.kafka.broker_view._REQUEST_SECONDS", 0.5)
    source = builder.setBootstrapServers("127.0.0.1:1").build()
    with pytest.raises(JobExecutionError, match=r"no broker answers at 127\.0\.0\.1:1"):
        elements(local, source)


def test_a_property_that_is_none(local, builder):
    source = builder.setProperty("no.such.property", "1").build()
    with pytest.raises(ValueError, match=r"No such configuration property"):
        elements(local, source)


# ---------------------------------------------------------------------- watermarks


SKEWED = 600


@pytest.fixture
def skewed(topics: Topics, topic: str, builder: KafkaSourceBuilder[Any]) -> KafkaSource[Any]:
    """Partition 1 is hours behind partition 0, and its records come in the same batches."""
    topics.send(topic, 0, [(b"ahead", 20 * 3_600_000 + n) for n in range(SKEWED)])
    topics.send(topic, 1, [(b"behind", n) for n in range(1, SKEWED + 1)])
    return builder.build()


@pytest.mark.slow("starts a job on Spark that plans its source in a separate process")
def test_skewed_partitions_have_watermarks_of_their_own(environment, skewed):
    split = environment.fromSource(skewed, WatermarkStrategy.forMonotonousTimestamps(), "split")
    assert counted(environment, split) == {"in windows": 2 * SKEWED, "late": 0}


def test_skewed_partitions_with_one_watermark_have_late_records(local, skewed):
    one = local.fromSource(skewed, WatermarkStrategy.noWatermarks(), "one")
    timed = one.assignTimestampsAndWatermarks(WatermarkStrategy.forMonotonousTimestamps())
    assert counted(local, timed)["late"] > 0


def counted(env: StreamExecutionEnvironment, stream: DataStream[str]) -> dict[str, int]:
    """Return the numbers of elements in windows, and of late ones."""
    env.getConfig().elementsPerBatch = 400
    late = OutputTag[str]("late")
    windows = (
        stream.keyBy(lambda text: text)
        .window(TumblingEventTimeWindows.of(Time.milliseconds(100)))
        .sideOutputLateData(late)
        .aggregate(Count())
    )
    found: list[Any] = []
    windows.union(windows.getSideOutput(late)).forEachBatch(lambda v, _: found.extend(v))
    env.execute()
    numbers = [value for value in found if isinstance(value, int)]
    return {"in windows": sum(numbers), "late": len(found) - len(numbers)}


def test_a_partition_without_records_holds_the_watermark_back(local, broker, topics, topic):
    """As in Flink, unless the strategy has idleness."""
    topics.send(topic, 0, [(b"%d" % n, 1000 * n + 1000) for n in range(10)])
    unbounded = (
        KafkaSource.builder()
        .setBootstrapServers(broker.bootstrapServers)
        .setTopics(topic)
        .setValueOnlyDeserializer(SimpleStringSchema())
        .build()
    )
    rising = WatermarkStrategy.forMonotonousTimestamps()
    stream = local.fromSource(unbounded, rising, "kafka")
    seen: list[int] = []
    stream.process(Watermarks()).forEachBatch(lambda values, _: seen.extend(values))
    client = local.executeAsync("watermarks")
    wait_for(lambda: len(seen) == 10)
    topics.send(topic, 0, [(b"more", 20_000)])
    wait_for(lambda: len(seen) == 11)
    client.cancel()
    assert seen == [MIN_TIMESTAMP] * 11


class Watermarks(ProcessFunction[str, int]):
    def processElement(self, value, ctx, out):
        out.collect(ctx.timerService().currentWatermark())


def test_a_partition_that_has_ended_holds_nothing_back(local, topics, topic, builder):
    """As in Flink: its output is unregistered. Partition 1 ends in the first batch."""
    topics.send(topic, 0, [(b"%d" % n, 1000 * n + 1000) for n in range(10)])
    local.getConfig().elementsPerBatch = 4
    stream = local.fromSource(builder.build(), WatermarkStrategy.forMonotonousTimestamps(), "kafka")
    assert list(stream.process(Watermarks()).executeAndCollect()) == [
        *[MIN_TIMESTAMP] * 4,
        *[3999] * 4,
        *[7999] * 2,
    ]


class Count(AggregateFunction[Any, int, int]):
    def createAccumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def getResult(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b
