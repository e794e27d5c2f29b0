"""PyFlink's Kafka classes on a real broker."""

from __future__ import annotations

import json

import pytest

from flinkish.pyflink.common import Row, Types, WatermarkStrategy
from flinkish.pyflink.common.serialization import RowFieldExtractorSchema, SimpleStringSchema
from flinkish.pyflink.datastream import StreamExecutionEnvironment
from flinkish.pyflink.datastream.connectors import DeliveryGuarantee
from flinkish.pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)
from flinkish.pyflink.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from tests.kafka.broker import KafkaBroker
from tests.kafka.topics import Topics

pytestmark = pytest.mark.kafka

ROW = Types.ROW_NAMED(["user", "amount"], [Types.STRING(), Types.INT()])


@pytest.fixture
def local() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_local_execution(True)
    return env


def test_rows_of_json_from_topic_to_topic(local, broker: KafkaBroker, topics: Topics, topic):
    topics.send(topic, 0, [b'{"user": "ann", "amount": 3}', b"poison"])
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(broker.bootstrapServers)
        .set_partitions({KafkaTopicPartition(topic, 0)})
        .set_group_id("group")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(
            JsonRowDeserializationSchema.builder().type_info(ROW).ignore_parse_errors().build()
        )
        .set_property("isolation.level", "read_committed")
        .build()
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(broker.bootstrapServers)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(topic)
        .set_record_serializer(
            KafkaRecordSerializationSchema.builder()
            .set_topic_selector(lambda row: topic)
            .set_value_serialization_schema(
                JsonRowSerializationSchema.builder().with_type_info(ROW).build()
            )
            .build()
        )
        .build()
    )
    stream = local.from_source(source, WatermarkStrategy.no_watermarks(), "kafka")
    doubled = stream.map(lambda row: Row(user=row.user, amount=row["amount"] * 2), ROW)
    doubled.sink_to(sink)
    local.execute()
    last = [json.loads(message.value()) for message in topics.read(topic)[2:]]
    assert last == [{"user": "ann", "amount": 6}]


def test_texts_and_keys(local, broker: KafkaBroker, topics: Topics, topic):
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(broker.bootstrapServers)
        .set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
        .set_record_serializer(
            KafkaRecordSerializationSchema.builder()
            .set_topic(topic)
            .set_key_serialization_schema(RowFieldExtractorSchema(0))
            .set_value_serialization_schema(RowFieldExtractorSchema(1))
            .build()
        )
        .build()
    )
    local.from_collection([Row(b"key", b"value")]).sink_to(sink)
    local.execute()
    assert [(m.key(), m.value()) for m in topics.read(topic)] == [(b"key", b"value")]
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(broker.bootstrapServers)
        .set_topics(topic)
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    stream = local.from_source(source, WatermarkStrategy.no_watermarks(), "kafka")
    assert list(stream.execute_and_collect()) == ["value"]
