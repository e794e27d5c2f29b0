"""Kafka: ``KafkaSource`` and ``KafkaSink``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from flinkish.api.arguments import instance, member
from flinkish.api.connectors.kafka.offsets import OffsetResetStrategy, OffsetsInitializer
from flinkish.api.connectors.kafka.records import TopicPartition
from flinkish.api.connectors.kafka.serialization import (
    KafkaRecordSerializationSchema as CoreRecordSerializationSchema,
)
from flinkish.api.connectors.kafka.sink import DeliveryGuarantee as CoreGuarantee
from flinkish.api.connectors.kafka.sink import KafkaSink as CoreKafkaSink
from flinkish.api.connectors.kafka.source import KafkaSource as CoreKafkaSource
from flinkish.api.errors import NotSupportedError
from flinkish.pyflink.absent import absent_names
from flinkish.pyflink.common.serialization import DeserializationSchema, SerializationSchema
from flinkish.pyflink.common.shipping import shippable
from flinkish.pyflink.datastream.connectors.base import DeliveryGuarantee, Sink, Source

__all__ = [
    "FlinkKafkaConsumer",
    "FlinkKafkaProducer",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
]


class KafkaTopicPartition:
    """A partition of a topic (PyFlink: ``KafkaTopicPartition``)."""

    def __init__(self, topic: str, partition: int) -> None:
        self.core = TopicPartition(topic, partition)
        """The partition for flinkish's own sources."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KafkaTopicPartition) and self.core == other.core

    def __hash__(self) -> int:
        return hash(self.core)


class KafkaOffsetResetStrategy(Enum):
    """The offset at which to continue if the wanted one does not exist (PyFlink:
    ``KafkaOffsetResetStrategy``)."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2


class KafkaOffsetsInitializer:
    """The offsets at which partitions begin, or end (PyFlink: ``KafkaOffsetsInitializer``)."""

    def __init__(self, initializer: OffsetsInitializer) -> None:
        self.core = initializer

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """The committed offsets of the source's group."""
        strategy = _reset_strategy("committed_offsets", offset_reset_strategy)
        return KafkaOffsetsInitializer(OffsetsInitializer.committedOffsets(strategy))

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """The first record whose timestamp in ms is ``timestamp`` or higher."""
        return KafkaOffsetsInitializer(OffsetsInitializer.timestamp(timestamp))

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """The first record of each partition."""
        return KafkaOffsetsInitializer(OffsetsInitializer.earliest())

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """The end that each partition has when the job starts."""
        return KafkaOffsetsInitializer(OffsetsInitializer.latest())

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """The given offsets."""
        fix = 'Pass a dict such as {KafkaTopicPartition("t", 0): 42}.'
        instance("offsets", offsets, Mapping, fix)
        found = {
            instance("offsets", key, KafkaTopicPartition, fix).core: offset
            for key, offset in offsets.items()
        }
        strategy = _reset_strategy("offsets", offset_reset_strategy)
        return KafkaOffsetsInitializer(OffsetsInitializer.offsets(found, strategy))


def _reset_strategy(method: str, strategy: KafkaOffsetResetStrategy) -> OffsetResetStrategy:
    return OffsetResetStrategy[member(method, strategy, KafkaOffsetResetStrategy).name]


class KafkaSource(Source):
    """Reads topics of Kafka (PyFlink: ``KafkaSource``). Created by ``builder()``.

    Needs ``pip install 'flinkish[kafka]'``, and no jar.
    """

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """A builder."""
        return KafkaSourceBuilder()


class KafkaSourceBuilder:
    """Builds a ``KafkaSource`` (PyFlink: ``KafkaSourceBuilder``)."""

    def __init__(self) -> None:
        self._core = CoreKafkaSource.builder()

    def build(self) -> KafkaSource:
        """The source."""
        return KafkaSource(self._core.build())

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """Set the brokers to contact first."""
        self._core.setBootstrapServers(bootstrap_servers)
        return self

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """Set the group to which offsets are committed."""
        self._core.setGroupId(group_id)
        return self

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Read these topics."""
        self._core.setTopics(*topics)
        return self

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """Read the topics whose whole names match a regular expression."""
        self._core.setTopicPattern(topic_pattern)
        return self

    def set_partitions(self, partitions: set[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Read just these partitions."""
        fix = 'Pass a set such as {KafkaTopicPartition("flights", 0)}.'
        listed = list(instance("set_partitions", partitions, (set, list, frozenset), fix))  # type: ignore[arg-type]
        self._core.setPartitions(
            instance("set_partitions", partition, KafkaTopicPartition, fix).core
            for partition in listed
        )
        return self

    def set_starting_offsets(
        self, starting_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Set where partitions begin."""
        self._core.setStartingOffsets(
            _initializer("set_starting_offsets", starting_offsets_initializer)
        )
        return self

    def set_unbounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Stop at these offsets, but treat the source as unbounded."""
        self._core.setUnbounded(_initializer("set_unbounded", stopping_offsets_initializer))
        return self

    def set_bounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Stop at these offsets; then the job ends."""
        self._core.setBounded(_initializer("set_bounded", stopping_offsets_initializer))
        return self

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema
    ) -> KafkaSourceBuilder:
        """Set how the values of records become elements."""
        fix = "Pass one, such as SimpleStringSchema()."
        kind = DeserializationSchema
        schema = instance("set_value_only_deserializer", deserialization_schema, kind, fix)
        self._core.setValueOnlyDeserializer(schema.deserializer)
        return self

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """Set the prefix of client names."""
        self._core.setClientIdPrefix(prefix)
        return self

    def set_property(self, key: str, value: str) -> KafkaSourceBuilder:
        """Set a property of Kafka's consumer."""
        self._core.setProperty(key, value)
        return self

    def set_properties(self, props: Mapping[str, str]) -> KafkaSourceBuilder:
        """Set several properties."""
        self._core.setProperties(props)
        return self


def _initializer(method: str, initializer: KafkaOffsetsInitializer) -> OffsetsInitializer:
    fix = "Pass one, such as KafkaOffsetsInitializer.earliest()."
    return instance(method, initializer, KafkaOffsetsInitializer, fix).core


class KafkaTopicSelector(ABC):
    """Names the topic of each element (PyFlink: ``KafkaTopicSelector``)."""

    @abstractmethod
    def apply(self, data: Any) -> str:
        """The topic of ``data``."""


class KafkaRecordSerializationSchema:
    """Converts each element to a record (PyFlink: ``KafkaRecordSerializationSchema``). Created by
    ``builder()``."""

    def __init__(self, schema: CoreRecordSerializationSchema[Any]) -> None:
        self.core = schema

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """A builder."""
        return KafkaRecordSerializationSchemaBuilder()


class KafkaRecordSerializationSchemaBuilder:
    """Builds a ``KafkaRecordSerializationSchema`` (PyFlink: the class of this name)."""

    def __init__(self) -> None:
        self._core = CoreRecordSerializationSchema.builder()

    def build(self) -> KafkaRecordSerializationSchema:
        """The schema."""
        return KafkaRecordSerializationSchema(self._core.build())

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """Write all elements to this topic."""
        self._core.setTopic(topic)
        return self

    def set_topic_selector(
        self, topic_selector: Callable[[Any], str] | KafkaTopicSelector
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Write each element to the topic that the selector names."""
        chosen = shippable(topic_selector)
        self._core.setTopicSelector(
            chosen.apply if isinstance(chosen, KafkaTopicSelector) else chosen
        )
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set how elements become the keys of records."""
        method = "set_key_serialization_schema"
        self._core.setKeySerializationSchema(_schema(method, key_serialization_schema).serializer)
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set how elements become the values of records."""
        method = "set_value_serialization_schema"
        schema = _schema(method, value_serialization_schema)
        self._core.setValueSerializationSchema(schema.serializer)
        return self


def _schema(method: str, schema: SerializationSchema) -> SerializationSchema:
    return instance(method, schema, SerializationSchema, "Pass one, such as SimpleStringSchema().")


class KafkaSink(Sink):
    """Writes records to topics of Kafka (PyFlink: ``KafkaSink``). Created by ``builder()``.

    Needs ``pip install 'flinkish[kafka]'``, and no jar.
    """

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """A builder."""
        return KafkaSinkBuilder()


class KafkaSinkBuilder:
    """Builds a ``KafkaSink`` (PyFlink: ``KafkaSinkBuilder``)."""

    def __init__(self) -> None:
        self._core = CoreKafkaSink.builder()

    def build(self) -> KafkaSink:
        """The sink."""
        return KafkaSink(self._core.build())

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """Set the brokers to contact first."""
        self._core.setBootstrapServers(bootstrap_servers)
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """Set how often an element may be written; by default NONE."""
        guarantee = member("set_delivery_guarantee", delivery_guarantee, DeliveryGuarantee)
        self._core.setDeliveryGuarantee(CoreGuarantee[guarantee.name])
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """Set the name of the transactions, for EXACTLY_ONCE."""
        self._core.setTransactionalIdPrefix(transactional_id_prefix)
        return self

    def set_record_serializer(
        self, record_serializer: KafkaRecordSerializationSchema
    ) -> KafkaSinkBuilder:
        """Set how elements become records."""
        fix = "Pass KafkaRecordSerializationSchema.builder()...build()."
        kind = KafkaRecordSerializationSchema
        schema = instance("set_record_serializer", record_serializer, kind, fix)
        self._core.setRecordSerializer(schema.core)
        return self

    def set_property(self, key: str, value: str) -> KafkaSinkBuilder:
        """Set a property of Kafka's producer."""
        self._core.setProperty(key, value)
        return self


class FlinkKafkaConsumer:
    """Not supported: Flink 1's."""

    def __init__(self, topics: object, deserialization_schema: object, properties: object) -> None:
        raise NotSupportedError("FlinkKafkaConsumer is Flink 1's: write KafkaSource.builder().")


class FlinkKafkaProducer:
    """Not supported: Flink 1's."""

    def __init__(
        self,
        topic: object,
        serialization_schema: object,
        producer_config: object,
        kafka_producer_pool_size: int = 5,
        semantic: object = None,
    ) -> None:
        raise NotSupportedError("FlinkKafkaProducer is Flink 1's: write KafkaSink.builder().")


__getattr__ = absent_names(__name__)
