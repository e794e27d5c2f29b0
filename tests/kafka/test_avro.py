"""Avro with a schema registry: records on a real broker, whose schemas are in a real registry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from flinkish import (
    ConfluentRegistryAvroDeserializationSchema,
    KafkaSource,
    MalformedKafkaRecord,
    OffsetsInitializer,
    OutputTag,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from flinkish.api.errors import MalformedRecordError
from tests.kafka.broker import KafkaBroker
from tests.kafka.registry import SchemaRegistry
from tests.kafka.topics import Topics

pytestmark = pytest.mark.kafka

SALE = {
    "type": "record",
    "name": "Sale",
    "fields": [{"name": "shop", "type": "string"}, {"name": "cents", "type": "long"}],
}
NOTE = {"name": "note", "type": "string", "default": "none"}
LATER = {**SALE, "fields": [*SALE["fields"], NOTE]}


@dataclass
class Sale:
    shop: str
    cents: int


@pytest.fixture(scope="module")
def registry() -> Iterator[SchemaRegistry]:
    registry = SchemaRegistry()
    registry.start()
    yield registry
    registry.close()


@pytest.fixture
def local() -> StreamExecutionEnvironment:
    environment = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    return environment.setParallelism(1)


def written(registry: SchemaRegistry, topic: str, schema: dict[str, Any], **fields: Any) -> bytes:
    """A record by Confluent's serializer, which puts the schema into the registry."""
    client = SchemaRegistryClient({"url": registry.url})
    serialize = AvroSerializer(client, json.dumps(schema))
    found = serialize(fields, SerializationContext(topic, MessageField.VALUE))
    assert found is not None
    return found


@pytest.fixture
def sales(registry: SchemaRegistry, topics: Topics, topic: str) -> list[dict[str, Any]]:
    """The records on the topic: one of each of two versions of the schema."""
    old, new = {"shop": "Cork", "cents": 450}, {"shop": "Bremen", "cents": 690, "note": "new"}
    records = [written(registry, topic, SALE, **old), written(registry, topic, LATER, **new)]
    topics.send(topic, 0, records)
    return [old, new]


def builder(broker: KafkaBroker, topic: str, schema: Any) -> Any:
    return (
        KafkaSource.builder()
        .setBootstrapServers(broker.bootstrapServers)
        .setTopics(topic)
        .setBounded(OffsetsInitializer.latest())
        .setValueOnlyDeserializer(schema)
    )


def elements(env: StreamExecutionEnvironment, source: KafkaSource[Any]) -> list[Any]:
    stream = env.fromSource(source, WatermarkStrategy.noWatermarks(), "avro")
    return list(stream.executeAndCollect())


def test_dicts_as_they_were_written_or_as_the_reader_wants_them(
    local, broker, topic, registry, sales
):
    schema = ConfluentRegistryAvroDeserializationSchema.forGeneric(None, registry.url)
    assert elements(local, builder(broker, topic, schema).build()) == sales
    schema = ConfluentRegistryAvroDeserializationSchema.forGeneric(LATER, registry.url)
    noted = [{"note": "none", **sale} for sale in sales]
    assert elements(local, builder(broker, topic, schema).build()) == noted


@pytest.mark.slow("also a job on Spark that plans its source in a separate process")
def test_objects_of_a_class(environment, broker, topic, registry, sales):
    schema = ConfluentRegistryAvroDeserializationSchema.forSpecific(Sale, registry.url)
    source = builder(broker, topic, schema).build()
    stream = environment.fromSource(source, WatermarkStrategy.noWatermarks(), "avro")
    assert str(stream.getType()) == "Sale<shop: String, cents: Long>"
    assert list(stream.executeAndCollect()) == [Sale("Cork", 450), Sale("Bremen", 690)]


@pytest.mark.parametrize("poison", [b"text", b"\0\0\0\x03\xe7text"], ids=["text", "no such schema"])
def test_what_does_not_fit(local, broker, topics: Topics, topic, registry, sales, poison):
    topics.send(topic, 0, [poison])
    schema = ConfluentRegistryAvroDeserializationSchema.forSpecific(Sale, registry.url)
    said = f"offset 2 of partition 0 of the topic '{topic}' does not fit"
    with pytest.raises(MalformedRecordError, match=said):
        elements(local, builder(broker, topic, schema).build())
    broken = OutputTag[MalformedKafkaRecord]("broken")
    source = builder(broker, topic, schema).setMalformedRecords(broken).build()
    stream = local.fromSource(source, WatermarkStrategy.noWatermarks(), "avro")
    found: list[Any] = []
    stream.forEachBatch(lambda values, _: found.extend(values))
    stream.getSideOutput(broken).forEachBatch(lambda values, _: found.extend(values))
    local.execute()
    assert [getattr(one, "offset", one) for one in found] == [
        Sale("Cork", 450),
        Sale("Bremen", 690),
        2,
    ]
