"""Kafka's source and sink as data: what their builders refuse, without a broker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import flinkish as fl
from flinkish.api.errors import (
    FlinkishError,
    IllegalArgumentError,
    IllegalStateError,
    InvalidProgramError,
    NotSupportedError,
)
from flinkish.graph.stream_graph import StreamGraph
from flinkish.runtime.kafka.client import client_properties, confluent_kafka

SERVERS = "localhost:9092"


def source() -> fl.KafkaSourceBuilder[Any]:
    return fl.KafkaSource.builder().setBootstrapServers(SERVERS)


def test_what_a_source_lacks_is_named():
    with pytest.raises(IllegalArgumentError, match="setBootstrapServers"):
        fl.KafkaSource.builder().build()
    with pytest.raises(IllegalArgumentError, match="setTopics"):
        source().build()
    with pytest.raises(IllegalArgumentError, match="setValueOnlyDeserializer"):
        source().setTopics("t").build()
    committed = source().setTopics("t").setValueOnlyDeserializer(fl.SimpleStringSchema())
    with pytest.raises(IllegalArgumentError, match="setGroupId"):
        committed.setStartingOffsets(fl.OffsetsInitializer.committedOffsets()).build()


def test_no_password_is_shown():
    jaas = 'a.LoginModule required username="ann" password="hunter2";'
    read = source().setTopics("t").setValueOnlyDeserializer(fl.SimpleStringSchema())
    read.setProperty("sasl.jaas.config", jaas)
    schema = fl.KafkaRecordSerializationSchema.builder().setTopic("t")
    written = fl.KafkaSink.builder().setBootstrapServers(SERVERS)
    written.setRecordSerializer(
        schema.setValueSerializationSchema(fl.SimpleStringSchema()).build()
    ).setProperty("sasl.jaas.config", jaas)
    avro = fl.ConfluentRegistryAvroDeserializationSchema.forGeneric(
        None, "http://ann:hunter2@registry:8081", {"basic.auth.user.info": "ann:hunter2"}
    )
    assert "hunter2" not in repr((read.build(), written.build(), avro))


@pytest.mark.parametrize(
    "call",
    [
        lambda: source().setProperty("sasl.password", b"hunter2"),  # type: ignore[arg-type]
        lambda: source().setProperties([("sasl.password", "hunter2")]),  # type: ignore[arg-type]
        lambda: fl.KafkaSink.builder().setKafkaProducerConfig("hunter2"),  # type: ignore[arg-type]
        lambda: fl.JdbcConnectionOptions.JdbcConnectionOptionsBuilder().withPassword(
            ["hunter2"]  # type: ignore[arg-type]
        ),
        lambda: fl.JdbcConnectionOptions("jdbc:postgresql://ann:hunter2@db/shop"),
        lambda: fl.JdbcConnectionOptions("jdbc:mysql://ann:hunter2@db/shop?password=hunter2"),
        lambda: fl.ConfluentRegistryAvroDeserializationSchema.forGeneric(
            None,
            "http://registry",
            [("basic.auth.user.info", "ann:hunter2")],  # type: ignore[arg-type]
        ),
        lambda: client_properties("KafkaSource", [("sasl.jaas.config", 'X password="hunter2";')]),
    ],
)
def test_no_error_shows_a_password(call):
    with pytest.raises(FlinkishError) as refused:
        call()
    assert "hunter2" not in str(refused.value)


def test_a_checkpoint_tells_sources_apart_by_what_they_read():
    """A source keeps its state if a password or another property changes."""

    def fingerprints(servers: str, topic: str, password: str) -> list[Any]:
        env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
        built = fl.KafkaSource.builder().setBootstrapServers(servers).setTopics(topic)
        built.setValueOnlyDeserializer(fl.SimpleStringSchema()).setProperty(
            "sasl.password", password
        )
        stream = env.fromSource(built.build(), fl.WatermarkStrategy.noWatermarks())
        stream.print()
        return list(StreamGraph.of(env.getTransformations()).identities().values())

    assert fingerprints(SERVERS, "t", "old") == fingerprints(SERVERS, "t", "new")
    assert fingerprints(SERVERS, "t", "old") != fingerprints(SERVERS, "u", "old")
    assert fingerprints(SERVERS, "t", "old") != fingerprints("other:9092", "t", "old")


def test_what_is_read_is_said_once():
    with pytest.raises(IllegalStateError, match="the source already reads a, b"):
        source().setTopics(["a", "b"]).setTopicPattern("c")


def test_what_a_sink_lacks_is_named():
    sink = fl.KafkaSink.builder()
    with pytest.raises(IllegalArgumentError, match="setBootstrapServers"):
        sink.build()
    sink.setBootstrapServers(SERVERS)
    with pytest.raises(IllegalArgumentError, match="setRecordSerializer"):
        sink.build()
    schema = fl.KafkaRecordSerializationSchema.builder()
    with pytest.raises(IllegalArgumentError, match="setTopic"):
        schema.build()
    with pytest.raises(IllegalArgumentError, match="setValueSerializationSchema"):
        schema.setTopic("t").build()
    with pytest.raises(IllegalStateError, match="setTopic and setTopicSelector, once"):
        schema.setTopicSelector(lambda element: "t")
    schema.setValueSerializationSchema(fl.SimpleStringSchema())
    sink.setRecordSerializer(schema.build())
    with pytest.raises(IllegalArgumentError, match="setTransactionalIdPrefix"):
        sink.setDeliveryGuarantee(fl.DeliveryGuarantee.EXACTLY_ONCE).build()


@pytest.mark.parametrize(
    "call",
    [
        lambda: source().setTopics(),
        lambda: source().setTopics(3),  # type: ignore[arg-type]
        lambda: source().setTopics(""),
        lambda: source().setTopicPattern("("),
        lambda: source().setPartitions([]),
        lambda: source().setPartitions([("t", -1)]),  # type: ignore[list-item]
        lambda: source().setProperty("a", None),  # type: ignore[arg-type]
        lambda: source().setProperties(7),  # type: ignore[arg-type]
        lambda: source().setStartingOffsets(3),  # type: ignore[arg-type]
        lambda: source().setDeserializer(fl.SimpleStringSchema()),  # type: ignore[arg-type]
        lambda: fl.OffsetsInitializer.offsets({}),
        lambda: fl.OffsetsInitializer.timestamp("now"),  # type: ignore[arg-type]
        lambda: fl.SimpleStringSchema("no such charset"),
        lambda: fl.JsonDeserializationSchema(int),
        lambda: fl.JsonDeserializationSchema(""),
        lambda: fl.KafkaRecordDeserializationSchema.of(lambda: 1),  # type: ignore[misc, arg-type]
    ],
)
def test_arguments_that_will_not_do(call):
    with pytest.raises(FlinkishError):
        call()


@dataclass
class Order:
    user: str
    amount: int


def test_the_types_of_elements():
    built = source().setTopics("t")
    built.setValueOnlyDeserializer(fl.JsonDeserializationSchema(Order))
    assert str(built.build().getProducedType()) == "Order<user: String, amount: Long>"
    rows = fl.JsonDeserializationSchema("user string, amount int").getProducedType()
    assert str(rows) == "Row<user: String, amount: Integer>"


def test_a_source_needs_a_strategy():
    built = source().setTopics("t").setValueOnlyDeserializer(fl.SimpleStringSchema()).build()
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
    with pytest.raises(IllegalArgumentError, match="several splits needs a WatermarkStrategy"):
        env.fromSource(built)


def test_properties_of_javas_client():
    jaas = (
        "org.apache.kafka.common.security.plain.PlainLoginModule required"
        ' username="ann" password="a\\"b";'
    )
    given = [("sasl.jaas.config", jaas), ("fetch.max.wait.ms", "5"), ("max.poll.records", "1")]
    assert client_properties("KafkaSource", given) == {
        "sasl.username": "ann",
        "sasl.password": 'a"b',
        "fetch.wait.max.ms": "5",
    }
    with pytest.raises(IllegalArgumentError, match="certificates in PEM"):
        client_properties("KafkaSource", [("ssl.truststore.location", "/etc/store.jks")])
    with pytest.raises(IllegalArgumentError, match="no username and password"):
        client_properties("KafkaSource", [("sasl.jaas.config", "Krb5LoginModule required;")])


def test_a_missing_package_is_one_sentence(monkeypatch):
    def absent(name: str) -> None:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr("flinkish.runtime.kafka.client.importlib.import_module", absent)
    with pytest.raises(NotSupportedError, match=r"pip install 'flinkish\[kafka\]'"):
        confluent_kafka("KafkaSource")


def test_json_of_one_message_is_read_by_the_source():
    with pytest.raises(NotSupportedError, match=r"json\.loads"):
        fl.JsonDeserializationSchema(Order).deserialize(b"{}")
    with pytest.raises(InvalidProgramError, match="which fields"):
        fl.JsonDeserializationSchema(tuple[str, int])
