"""The serialization of elements to records of a topic."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, Union

from flinkish.api.arguments import instance, text
from flinkish.api.connectors.kafka.records import Headers, ProducerRecord
from flinkish.api.connectors.schemas import SerializationSchema
from flinkish.api.errors import IllegalArgumentError, IllegalStateError
from flinkish.api.functions.adapt import checked_callable
from flinkish.api.type_variables import T, T_contra


class KafkaPartitioner(ABC, Generic[T_contra]):
    """Chooses the partition of a record (Flink: ``KafkaPartitioner``)."""

    @abstractmethod
    def partition(
        self,
        record: T_contra,
        key: bytes | None,
        value: bytes | None,
        targetTopic: str,
        partitions: Sequence[int],
    ) -> int:
        """Called with each element; returns one of ``partitions`` of the topic."""


PartitionerLike = Union[
    KafkaPartitioner[T_contra],
    Callable[[T_contra, Union[bytes, None], Union[bytes, None], str, Sequence[int]], int],
]


class KafkaSinkContext(ABC):
    """The context of a serialization schema (Flink: ``KafkaSinkContext``)."""

    @abstractmethod
    def getPartitionsForTopic(self, topic: str) -> list[int]:
        """The numbers of the partitions of a topic."""

    def getParallelInstanceId(self) -> int:
        """The index of the writing task, from 0; with EXACTLY_ONCE the index of the writer, the
        last of which is the driver's."""
        return 0

    def getNumberOfParallelInstances(self) -> int:
        """The number of writing tasks; with EXACTLY_ONCE the number of writers, the driver's
        included."""
        return 1


class KafkaRecordSerializationSchema(ABC, Generic[T_contra]):
    """Converts each element to a record (Flink: ``KafkaRecordSerializationSchema``). Derive from
    it, or call ``builder()``."""

    @abstractmethod
    def serialize(
        self, element: T_contra, context: KafkaSinkContext, timestamp: int | None
    ) -> ProducerRecord | None:
        """Called with each element and its timestamp in ms; None writes nothing."""

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder[Any]:
        """A builder."""
        return KafkaRecordSerializationSchemaBuilder()


@dataclass(frozen=True, eq=False)
class BuiltSerialization(KafkaRecordSerializationSchema[Any]):
    """The schema that ``KafkaRecordSerializationSchemaBuilder`` builds."""

    topic: str | None
    topicSelector: Callable[[Any], str] | None
    valueSchema: SerializationSchema[Any]
    keySchema: SerializationSchema[Any] | None
    partitioner: Callable[..., int] | None
    headerProvider: Callable[[Any], Headers] | None

    def serialize(
        self, element: Any, context: KafkaSinkContext, timestamp: int | None
    ) -> ProducerRecord | None:
        topic = self.topic if self.topicSelector is None else self.topicSelector(element)
        if not isinstance(topic, str) or not topic:
            raise IllegalArgumentError(
                f"KafkaSink: the topic selector gave {topic!r}, which is no topic. Return a text."
            )
        key = None if self.keySchema is None else self.keySchema.serialize(element)
        value = self.valueSchema.serialize(element)
        partition = None
        if self.partitioner is not None:
            there = context.getPartitionsForTopic(topic)
            partition = self.partitioner(element, key, value, topic, there)
            if partition not in there:
                raise IllegalArgumentError(
                    f"KafkaSink: the partitioner gave {partition!r}, and the topic {topic!r} has the"
                    f" partitions 0 to {len(there) - 1}. Return one of them."
                )
        headers = () if self.headerProvider is None else self.headerProvider(element)
        return ProducerRecord(topic, value, key, partition, timestamp, headers)


class KafkaRecordSerializationSchemaBuilder(Generic[T]):
    """Builds a ``KafkaRecordSerializationSchema`` (Flink: the class of this name)."""

    def __init__(self) -> None:
        self._topic: str | None = None
        self._selector: Callable[[Any], str] | None = None
        self._value: SerializationSchema[Any] | None = None
        self._key: SerializationSchema[Any] | None = None
        self._partitioner: Callable[..., int] | None = None
        self._headers: Callable[[Any], Headers] | None = None

    def setTopic(self, topic: str) -> Self:
        """Write all elements to this topic."""
        text("setTopic", topic)
        self._check_topic("setTopic")
        self._topic = topic
        return self

    def setTopicSelector(self, topicSelector: Callable[[Any], str]) -> Self:
        """Write each element to the topic that ``topicSelector(element)`` names."""
        checked_callable("setTopicSelector", topicSelector, "f(element)", 1)
        self._check_topic("setTopicSelector")
        self._selector = topicSelector
        return self

    def setValueSerializationSchema(
        self, valueSerializationSchema: SerializationSchema[Any]
    ) -> KafkaRecordSerializationSchemaBuilder[Any]:
        """Set how elements become the values of records."""
        self._value = _schema("setValueSerializationSchema", valueSerializationSchema)
        return self

    def setKeySerializationSchema(self, keySerializationSchema: SerializationSchema[Any]) -> Self:
        """Set how elements become the keys of records; without a schema records have no keys."""
        self._key = _schema("setKeySerializationSchema", keySerializationSchema)
        return self

    def setPartitioner(self, partitioner: PartitionerLike[Any]) -> Self:
        """Set what chooses partitions; without one Kafka's own partitioner does, by the key."""
        if isinstance(partitioner, KafkaPartitioner):
            self._partitioner = partitioner.partition
        else:
            form = "f(element, key, value, topic, partitions)"
            checked_callable("setPartitioner", partitioner, form, 5)
            self._partitioner = partitioner
        return self

    def setHeaderProvider(self, headerProvider: Callable[[Any], Headers]) -> Self:
        """Give records the headers that ``headerProvider(element)`` returns: pairs of name and bytes."""
        checked_callable("setHeaderProvider", headerProvider, "f(element)", 1)
        self._headers = headerProvider
        return self

    def build(self) -> KafkaRecordSerializationSchema[T]:
        """The schema. Raises IllegalArgumentError if the topic or the value schema is missing."""
        if self._topic is None and self._selector is None:
            raise _missing("a topic", 'setTopic("results")')
        if self._value is None:
            raise _missing(
                "the values' schema", "setValueSerializationSchema(SimpleStringSchema())"
            )
        return BuiltSerialization(
            topic=self._topic,
            topicSelector=self._selector,
            valueSchema=self._value,
            keySchema=self._key,
            partitioner=self._partitioner,
            headerProvider=self._headers,
        )

    def _check_topic(self, method: str) -> None:
        if self._topic is not None or self._selector is not None:
            raise IllegalStateError(
                f"{method}: the topic is set already. Call one of setTopic and setTopicSelector, once."
            )


def _schema(method: str, schema: SerializationSchema[Any]) -> SerializationSchema[Any]:
    fix = "Pass one, such as SimpleStringSchema() or JsonSerializationSchema()."
    return instance(method, schema, SerializationSchema, fix)


def _missing(what: str, call: str) -> IllegalArgumentError:
    return IllegalArgumentError(
        f"KafkaRecordSerializationSchema.builder: {what} is missing. Call {call} before build()."
    )
