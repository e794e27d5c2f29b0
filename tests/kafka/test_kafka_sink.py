"""``KafkaSink`` on a real broker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from typing import Any

import pytest

from flinkish import (
    DeliveryGuarantee,
    JsonSerializationSchema,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSinkBuilder,
    ProducerRecord,
    RestartStrategies,
    SimpleStringSchema,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from flinkish.api.errors import InvalidProgramError, JobExecutionError, UserFunctionError
from flinkish.runtime.kafka.exactly_once import ExactlyOnceWriter
from flinkish.runtime.records.records import untimed
from flinkish.web.rest import vertex_metrics
from tests.kafka.broker import KafkaBroker
from tests.kafka.killed_writer import MOMENTS, RECORDS, exactly_once
from tests.kafka.topics import Topics
from tests.maven import ROOT

pytestmark = pytest.mark.kafka


@pytest.fixture
def local() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()


@pytest.fixture
def builder(broker: KafkaBroker) -> KafkaSinkBuilder[Any]:
    sink = KafkaSink.builder().setBootstrapServers(broker.bootstrapServers)
    return sink.setDeliveryGuarantee(DeliveryGuarantee.AT_LEAST_ONCE)


def texts(topic: str) -> KafkaRecordSerializationSchema[str]:
    schema = KafkaRecordSerializationSchema.builder().setTopic(topic)
    return schema.setValueSerializationSchema(SimpleStringSchema()).build()


def values(topics: Topics, topic: str) -> list[bytes]:
    return sorted(message.value() for message in topics.read(topic))


@pytest.mark.parametrize("guarantee", DeliveryGuarantee)
def test_elements_arrive(local, topics, topic, builder, guarantee):
    builder.setDeliveryGuarantee(guarantee).setTransactionalIdPrefix(topic)
    sink = builder.setRecordSerializer(texts(topic)).build()
    local.fromData("a", "b", "c").sinkTo(sink)
    local.execute()
    assert values(topics, topic) == [b"a", b"b", b"c"]


def test_key_value_headers_and_timestamp(local, topics, topic, builder):
    schema = (
        KafkaRecordSerializationSchema.builder()
        .setTopic(topic)
        .setKeySerializationSchema(SimpleKey())
        .setValueSerializationSchema(JsonSerializationSchema())
        .setHeaderProvider(lambda element: [("kind", b"x")])
        .build()
    )
    timed = WatermarkStrategy.noWatermarks().withTimestampAssigner(lambda e, _: e["at"])
    stream = local.fromCollection([{"user": "ann", "at": 42}])
    stream.assignTimestampsAndWatermarks(timed).sinkTo(builder.setRecordSerializer(schema).build())
    local.execute()
    [message] = topics.read(topic)
    assert message.key() == b"ann"
    assert json.loads(message.value()) == {"user": "ann", "at": 42}
    assert message.headers() == [("kind", b"x")]
    assert message.timestamp()[1] == 42


class SimpleKey(SimpleStringSchema):
    def serialize(self, element: Any) -> bytes:
        return element["user"].encode()


def test_a_topic_and_a_partition_for_each_element(local, topics, topic, builder):
    schema = (
        KafkaRecordSerializationSchema.builder()
        .setTopicSelector(lambda element: topic)
        .setPartitioner(lambda element, key, value, to, partitions: partitions[int(element) % 2])
        .setValueSerializationSchema(SimpleStringSchema())
        .build()
    )
    local.fromData("1", "2", "3").sinkTo(builder.setRecordSerializer(schema).build())
    local.execute()
    found = [(message.partition(), message.value()) for message in topics.read(topic)]
    assert found == [(0, b"2"), (1, b"1"), (1, b"3")]


class Even(KafkaRecordSerializationSchema[str]):
    """Leaves the odd ones out."""

    def __init__(self, topic):
        self.topic = topic

    def serialize(self, element, context, timestamp):
        return None if int(element) % 2 else ProducerRecord(self.topic, element.encode())


def test_a_schema_of_the_users(local, topics, topic, builder):
    local.fromData("1", "2").sinkTo(builder.setRecordSerializer(Even(topic)).build())
    local.execute()
    assert values(topics, topic) == [b"2"]


def test_an_error_of_a_schema_names_the_element(local, topic, builder):
    local.fromData("1", "x").sinkTo(builder.setRecordSerializer(Even(topic)).build())
    with pytest.raises(UserFunctionError, match="'x'"):
        local.execute()


def test_a_topic_that_is_not_there(local, builder):
    builder.setProperty("message.timeout.ms", "1000")
    local.fromData("a").sinkTo(builder.setRecordSerializer(texts("nowhere")).build())
    with pytest.raises(JobExecutionError, match="could not be written to the topic 'nowhere'"):
        local.execute()


def test_keys_go_where_java_sends_them(local, topics, topic, builder):
    """Java's hash, murmur2, of "a" is odd and of "b" even (as kafka-clients 3.9.1 partitions them)."""
    schema = (
        KafkaRecordSerializationSchema.builder()
        .setTopic(topic)
        .setKeySerializationSchema(SimpleStringSchema())
        .setValueSerializationSchema(SimpleStringSchema())
        .build()
    )
    keys = [f"key-{n}" for n in range(50)]
    local.fromCollection(keys).sinkTo(builder.setRecordSerializer(schema).build())
    local.execute()
    found = {message.key().decode(): message.partition() for message in topics.read(topic)}
    assert found == {key: (murmur2(key.encode()) & 0x7FFFFFFF) % 2 for key in keys}


def murmur2(data: bytes) -> int:
    """The hash that Kafka's producer takes of keys, 32 bits."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for start in range(0, whole, 4):
        k = int.from_bytes(data[start : start + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = h * m & mask ^ k
    if len(data) > whole:
        h ^= int.from_bytes(data[whole:], "little")
        h = h * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15


@pytest.mark.parametrize("guarantee", DeliveryGuarantee)
def test_what_was_sent_is_counted(local, topic, builder, guarantee):
    builder.setDeliveryGuarantee(guarantee).setTransactionalIdPrefix(topic)
    sink = builder.setRecordSerializer(Even(topic)).build()
    local.fromData("1", "2", "3", "4", "5").sinkTo(sink).name("evens")
    client = local.executeAsync()
    found = client.getJobExecutionResult().getMetrics()["evens"]
    assert (found.numRecordsIn, found.user["numRecordsSend"]) == (5, 2)
    # And shown, on the page of the job and by its REST interface
    _, vertex = client.getJobDetails().vertices
    assert vertex_metrics(vertex)["0.evens.numRecordsSend"] == 2


@pytest.mark.parametrize("guarantee", DeliveryGuarantee)
def test_a_refused_record_names_sink_topic_and_partition(local, topic, builder, guarantee):
    builder.setDeliveryGuarantee(guarantee).setTransactionalIdPrefix(topic)
    # More than the broker takes, but not more than the producer sends
    builder.setProperty("message.max.bytes", "5000000")
    sink = builder.setRecordSerializer(Last(topic)).build()
    local.fromData("x" * 2_000_000).sinkTo(sink).name("ledger")
    with pytest.raises(JobExecutionError, match=f"^ledger: .* the topic '{topic}', partition 1: "):
        local.execute()


class Last(KafkaRecordSerializationSchema[str]):
    """Writes to the last partition."""

    def __init__(self, topic):
        self.topic = topic

    def serialize(self, element, context, timestamp):
        partition = context.getPartitionsForTopic(self.topic)[-1]
        return ProducerRecord(self.topic, element.encode(), partition=partition)


# ---------------------------------------------------------------------- in the workers


class Signed(KafkaRecordSerializationSchema[tuple[str, int]]):
    """Signs each record with the process, the task, and a mark on the producer's context."""

    def __init__(self, topic):
        self.topic = topic

    def serialize(self, element, context, timestamp):
        key, number = element
        if not hasattr(context, "mark"):
            context.mark = uuid.uuid4().hex
        task = context.getParallelInstanceId(), context.getNumberOfParallelInstances()
        headers = {"process": os.getpid(), "mark": context.mark, "task": task}
        signed = [(name, str(value).encode()) for name, value in headers.items()]
        return ProducerRecord(self.topic, str(number).encode(), key.encode(), headers=signed)


KEYS, COUNT, BATCHES = 5, 60, 6


def signed_job(env, topic, builder):
    env.getConfig().setElementsPerBatch(COUNT // BATCHES)
    elements = env.fromCollection([(f"key-{n % KEYS}", n) for n in range(COUNT)])
    latest = elements.keyBy(lambda e: e[0]).reduce(lambda one, other: other)
    latest.sinkTo(builder.setRecordSerializer(Signed(topic)).build()).name("latest")
    return env.execute()


@pytest.mark.slow("six batches on Spark, and workers that are visited at the end")
@pytest.mark.parametrize("guarantee", [DeliveryGuarantee.NONE, DeliveryGuarantee.AT_LEAST_ONCE])
def test_workers_write_each_with_one_producer(env, topics, topic, builder, guarantee):
    result = signed_job(env, topic, builder.setDeliveryGuarantee(guarantee))
    assert result.getMetrics()["latest"].user["numRecordsSend"] == COUNT
    messages = topics.read(topic)
    of_key: dict[bytes, list[int]] = {}
    for message in messages:
        of_key.setdefault(message.key(), []).append(int(message.value()))
    assert {len(numbers) for numbers in of_key.values()} == {COUNT // KEYS}
    assert all(numbers == sorted(numbers) for numbers in of_key.values())
    signs = [{name: value.decode() for name, value in m.headers()} for m in messages]
    assert str(os.getpid()) not in {sign["process"] for sign in signs}
    assert {sign["task"] for sign in signs} == {"(0, 2)", "(1, 2)"}
    # Kept from batch to batch, whichever task a worker gets: far fewer than a batch and task each has one
    producers = {(sign["process"], sign["mark"]) for sign in signs}
    assert len(producers) == len({sign["process"] for sign in signs}) < 2 * BATCHES


class BreaksOnce(Signed):
    """Raises at one element, until the file is there."""

    def __init__(self, topic, file):
        super().__init__(topic)
        self.file = str(file)

    def serialize(self, element, context, timestamp):
        if element[1] == COUNT // 2 and not os.path.exists(self.file):
            open(self.file, "w").close()
            raise OSError("the schema registry is away")
        return super().serialize(element, context, timestamp)


@pytest.mark.slow("a job on Spark that is started again")
def test_a_batch_that_failed_in_a_worker_is_written_again(env, topics, topic, builder, tmp_path):
    """From its first element: each key has all its numbers, and again some of the batch that failed."""
    env.enableCheckpointing(str(tmp_path / "checkpoint"))
    env.setRestartStrategy(RestartStrategies.fixedDelayRestart(1, 0))
    env.getConfig().setElementsPerBatch(COUNT // BATCHES)
    elements = env.fromCollection([(f"key-{n % KEYS}", n) for n in range(COUNT)])
    latest = elements.keyBy(lambda e: e[0]).reduce(lambda one, other: other)
    schema = BreaksOnce(topic, tmp_path / "broken")
    latest.sinkTo(builder.setRecordSerializer(schema).build())
    assert env.execute().numRestarts == 1
    of_key: dict[bytes, list[int]] = {}
    for message in topics.read(topic):
        of_key.setdefault(message.key(), []).append(int(message.value()))
    size = COUNT // BATCHES
    failed = COUNT // 2 // size
    for numbers in of_key.values():
        first = list(dict.fromkeys(numbers))
        assert first == sorted(first)
        assert len(first) == COUNT // KEYS
        again = [n for n in set(numbers) if numbers.count(n) > 1]
        assert {n // size for n in again} <= {failed}


@pytest.mark.slow("six batches on Spark, and workers that are visited at the end")
def test_workers_write_exactly_once(env, topics, topic, builder):
    """Each writer gets the same keys in all batches."""
    builder.setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE).setTransactionalIdPrefix(topic)
    result = signed_job(env, topic, builder)
    assert result.getMetrics()["latest"].user["numRecordsSend"] == COUNT
    of_key: dict[bytes, list[int]] = {}
    writers: dict[bytes, set[bytes]] = {}
    for message in topics.read(topic):
        sign = dict(message.headers())
        assert sign["process"] != str(os.getpid()).encode()
        of_key.setdefault(message.key(), []).append(int(message.value()))
        writers.setdefault(message.key(), set()).add(sign["task"])
    assert {len(numbers) for numbers in of_key.values()} == {COUNT // KEYS}
    assert all(numbers == sorted(numbers) for numbers in of_key.values())
    assert {len(each) for each in writers.values()} == {1}
    assert set().union(*writers.values()) == {b"(0, 2)", b"(1, 2)"}


def test_at_parallelism_1_there_is_one_writer(env, topics, topic, builder):
    """Also of elements that come straight from two sources, which two tasks of Spark read."""
    sources = [env.fromCollection([("a", n) for n in range(m, m + 50)]) for m in (0, 50)]
    sources[0].union(sources[1]).sinkTo(builder.setRecordSerializer(Signed(topic)).build())
    env.setParallelism(1).execute()
    messages = topics.read(topic)
    assert [int(message.value()) for message in messages] == list(range(100))
    assert {dict(message.headers())["task"] for message in messages} == {b"(0, 1)"}


def test_a_refused_record_fails_the_batch_from_the_worker(env, topic, builder):
    builder.setProperty("message.max.bytes", "5000000")
    sink = builder.setRecordSerializer(Last(topic)).build()
    env.fromData("x" * 2_000_000).sinkTo(sink).name("ledger")
    client = env.executeAsync()
    with pytest.raises(JobExecutionError, match=f"^ledger: .* the topic '{topic}', partition 1: "):
        client.getJobExecutionResult()
    counts = client.getMetrics()["ledger"].user
    assert (counts["numRecordsSendErrors"], counts[f"numRecordsSendErrors.{topic}-1"]) == (1, 1)


def test_a_slow_broker_is_told(local, topic, builder):
    """The queue has room for 100 records, and each waits for 20 ms before it is sent."""
    builder.setProperty("queue.buffering.max.messages", "100")
    local.fromCollection([str(n) for n in range(500)]).sinkTo(
        builder.setRecordSerializer(texts(topic)).build()
    ).name("numbers")
    assert local.execute().getMetrics()["numbers"].user["backPressuredTimeMs"] > 0


# ---------------------------------------------------------------------- exactly once


def write(writer: ExactlyOnceWriter, batch: int, *found: str) -> None:
    writer.write([untimed(list(found))], batch)


def test_a_batch_that_comes_again_is_known(broker, topics, topic):
    sink = exactly_once(broker.bootstrapServers, topic)
    first = ExactlyOnceWriter.alone(sink, "Writer", "job", "UTC")
    write(first, 0, "a")
    write(first, 1, "b")
    second = ExactlyOnceWriter.alone(sink, "Writer", "job", "UTC")
    write(second, 1, "b")
    write(second, 2, "c")
    assert values(topics, topic) == [b"a", b"b", b"c"]


def test_another_job_begins_at_its_first_batch(broker, topics, topic):
    sink = exactly_once(broker.bootstrapServers, topic)
    write(ExactlyOnceWriter.alone(sink, "Writer", "job", "UTC"), 5, "a")
    write(ExactlyOnceWriter.alone(sink, "Writer", "another checkpoint", "UTC"), 0, "b")
    assert values(topics, topic) == [b"a", b"b"]


def test_an_old_run_is_fenced(broker, topics, topic):
    sink = exactly_once(broker.bootstrapServers, topic)
    old = ExactlyOnceWriter.alone(sink, "Writer", "job", "UTC")
    write(old, 0, "a")
    write(ExactlyOnceWriter.alone(sink, "Writer", "job", "UTC"), 1, "b")
    with pytest.raises(
        JobExecutionError, match=f"prefix '{topic}' has begun, and this one was fenced"
    ):
        write(old, 1, "b")
    assert values(topics, topic) == [b"a", b"b"]


def test_a_failed_batch_leaves_nothing(broker, topics, topic):
    writer = ExactlyOnceWriter.alone(
        exactly_once(broker.bootstrapServers, topic), "Writer", "job", "UTC"
    )
    with pytest.raises(UserFunctionError):
        writer.write([untimed(["a", 7])], 0)
    write(writer, 0, "b")
    assert values(topics, topic) == [b"b"]


def test_two_sinks_of_one_prefix(local, broker, topic):
    sink = exactly_once(broker.bootstrapServers, topic)
    stream = local.fromData("a")
    stream.sinkTo(sink)
    stream.sinkTo(sink)
    with pytest.raises(InvalidProgramError, match="two sinks have the transactional id prefix"):
        local.execute()


@pytest.mark.slow("starts a process for each kill")
def test_nothing_is_lost_or_doubled_by_kills(broker: KafkaBroker, topics: Topics, topic):
    """Each moment of a transaction, in a batch each; the engine then begins with that batch again."""
    batches = 2 * len(MOMENTS)
    command = [sys.executable, "-m", "tests.kafka.killed_writer", broker.bootstrapServers, topic]
    first = 0
    for batch, moment in enumerate((*MOMENTS, *MOMENTS)):
        arguments = [str(batches), moment, str(batch), str(first)]
        done = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == -9, done.stderr
        first = batch
    arguments = [str(batches), "", "-1", str(first)]
    subprocess.run([*command, *arguments], cwd=ROOT, check=True)
    expected = sorted(f"{b}:{n}".encode() for b in range(batches) for n in range(RECORDS))
    assert values(topics, topic) == expected
