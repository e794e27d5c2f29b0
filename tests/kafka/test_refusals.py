"""What is said if the brokers do not let a job in, or do not take a record."""

from __future__ import annotations

import pytest

from flinkish import (
    DeliveryGuarantee,
    JobExecutionError,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    ProducerRecord,
    SimpleStringSchema,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from tests.kafka.broker import KafkaBroker

pytestmark = pytest.mark.kafka


@pytest.fixture
def local():
    return StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()


def login(password: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'PlainLoginModule required username="ann" password="{password}";',
    }


def texts(topic: str) -> KafkaRecordSerializationSchema[str]:
    builder = KafkaRecordSerializationSchema.builder().setTopic(topic)
    return builder.setValueSerializationSchema(SimpleStringSchema()).build()


def written(local, broker: KafkaBroker, topic: str, password: str, guarantee) -> None:
    sink = KafkaSink.builder().setBootstrapServers(broker.saslServers)
    sink.setKafkaProducerConfig(login(password))
    if password == "wrong":
        sink.setProperty("max.block.ms", "1000")
    sink.setDeliveryGuarantee(guarantee).setTransactionalIdPrefix(topic)
    local.fromData("a").sinkTo(sink.setRecordSerializer(texts(topic)).build())
    local.execute()


def read(local, broker: KafkaBroker, topic: str, password: str, found: list[str]) -> None:
    source = KafkaSource.builder().setBootstrapServers(broker.saslServers).setTopics(topic)
    source.setProperties(login(password)).setValueOnlyDeserializer(SimpleStringSchema())
    stream = local.fromSource(source.build(), WatermarkStrategy.noWatermarks(), "texts")
    client = stream.executeAndCollect()
    found.append(next(client))
    client.close()


@pytest.mark.parametrize("guarantee", DeliveryGuarantee)
def test_a_sink_with_a_wrong_password(local, broker, topic, guarantee):
    with pytest.raises(JobExecutionError, match=r"^KafkaSink: authentication failed at .* Fix"):
        written(local, broker, topic, "wrong", guarantee)


def test_a_source_with_a_wrong_password_and_the_right_one(local, broker, topic):
    with pytest.raises(JobExecutionError, match=r"^KafkaSource: authentication failed at .* Fix"):
        read(local, broker, topic, "wrong", [])
    written(local, broker, topic, "right", DeliveryGuarantee.EXACTLY_ONCE)
    found: list[str] = []
    read(local, broker, topic, "right", found)
    assert found == ["a"]


class ToPartition(KafkaRecordSerializationSchema[str]):
    """Writes to partition 1."""

    def __init__(self, topic):
        self.topic = topic

    def serialize(self, element, context, timestamp):
        return ProducerRecord(self.topic, element.encode(), partition=1)


@pytest.mark.parametrize("guarantee", DeliveryGuarantee)
@pytest.mark.parametrize("chosen", [False, True])
def test_a_record_over_the_limit_of_the_client(local, broker, topic, guarantee, chosen):
    """It is refused before the client chooses a partition."""
    sink = KafkaSink.builder().setBootstrapServers(broker.bootstrapServers)
    sink.setDeliveryGuarantee(guarantee).setTransactionalIdPrefix(topic)
    schema = ToPartition(topic) if chosen else texts(topic)
    local.fromData("x" * 2_000_000).sinkTo(sink.setRecordSerializer(schema).build()).name("ledger")
    where = f"'{topic}', partition 1: " if chosen else f"'{topic}': "
    match = f"^ledger: a record could not be written to the topic {where}.*2,000,000 bytes.*max.request.size"
    with pytest.raises(JobExecutionError, match=match):
        local.execute()
