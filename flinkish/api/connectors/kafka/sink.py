"""``KafkaSink``: writes to topics of Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, Self

from flinkish.api.arguments import instance, member, secret, text
from flinkish.api.connectors.kafka.serialization import KafkaRecordSerializationSchema
from flinkish.api.connectors.kafka.source import Properties, checked_property
from flinkish.api.connectors.sink import Sink
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.type_variables import T, T_contra


class DeliveryGuarantee(Enum):
    """The guarantee for writing an element when a job fails and is restarted (Flink:
    ``DeliveryGuarantee``)."""

    EXACTLY_ONCE = "exactly-once"
    """Once: each writer's part of a batch is a transaction, which readers with ``read_committed``
    see whole or not at all."""
    AT_LEAST_ONCE = "at-least-once"
    """Once or more: a batch ends when the brokers have all of it, and may be written again."""
    NONE = "none"
    """In Flink possibly not at all; here the same as AT_LEAST_ONCE."""


@dataclass(frozen=True, eq=False)
class KafkaSink(Sink[T_contra]):
    """Writes records to topics of Kafka (Flink: ``KafkaSink``). Created by ``KafkaSink.builder()``.

    The workers write. With EXACTLY_ONCE each writes its part of a batch in a transaction, which
    also commits the number of the batch as the offset of a separate group: so a batch that is run
    again is recognised, and not written twice. Brokers forget the number after a week
    (``offsets.retention.minutes``). An old run that still writes after the job was restarted is
    fenced. Needs ``pip install 'flinkish[kafka]'``.

    >>> from flinkish import KafkaRecordSerializationSchema, KafkaSink, SimpleStringSchema
    >>> sink = (
    ...     KafkaSink.builder()
    ...     .setBootstrapServers("localhost:9092")
    ...     .setRecordSerializer(
    ...         KafkaRecordSerializationSchema.builder()
    ...         .setTopic("results")
    ...         .setValueSerializationSchema(SimpleStringSchema())
    ...         .build()
    ...     )
    ...     .build()
    ... )
    """

    serializer: KafkaRecordSerializationSchema[T_contra]
    properties: Properties = field(repr=False)
    deliveryGuarantee: DeliveryGuarantee
    transactionalIdPrefix: str

    @staticmethod
    def builder() -> KafkaSinkBuilder[Any]:
        """A builder."""
        return KafkaSinkBuilder()


class KafkaSinkBuilder(Generic[T]):
    """Builds a ``KafkaSink`` (Flink: ``KafkaSinkBuilder``)."""

    def __init__(self) -> None:
        self._serializer: KafkaRecordSerializationSchema[Any] | None = None
        self._properties: dict[str, str] = {}
        self._guarantee = DeliveryGuarantee.NONE
        self._prefix: str | None = None

    def setBootstrapServers(self, bootstrapServers: str) -> Self:
        """Set the brokers to contact first: ``host:port``, separated by commas."""
        return self.setProperty("bootstrap.servers", bootstrapServers)

    def setRecordSerializer(
        self, recordSerializer: KafkaRecordSerializationSchema[Any]
    ) -> KafkaSinkBuilder[Any]:
        """Set how elements become records."""
        fix = "Derive from it, or pass KafkaRecordSerializationSchema.builder()...build()."
        kind = KafkaRecordSerializationSchema
        self._serializer = instance("setRecordSerializer", recordSerializer, kind, fix)
        return self

    def setDeliveryGuarantee(self, deliveryGuarantee: DeliveryGuarantee) -> Self:
        """Set how often an element may be written; by default NONE, as in Flink."""
        self._guarantee = member("setDeliveryGuarantee", deliveryGuarantee, DeliveryGuarantee)
        return self

    def setTransactionalIdPrefix(self, transactionalIdPrefix: str) -> Self:
        """Set the name of the transactions, for EXACTLY_ONCE; it must be unique to this sink in the
        Kafka cluster."""
        self._prefix = text("setTransactionalIdPrefix", transactionalIdPrefix)
        return self

    def setKafkaProducerConfig(self, props: Mapping[str, str]) -> Self:
        """Set several properties of Kafka's producer."""
        fix = 'Pass a dict such as {"compression.type": "lz4"}.'
        for key, value in secret("setKafkaProducerConfig", props, Mapping, fix).items():
            name, checked = checked_property("setKafkaProducerConfig", key, value)
            self._properties[name] = checked
        return self

    def setProperty(self, key: str, value: str) -> Self:
        """Set a property of Kafka's producer, by Java's name or librdkafka's."""
        name, checked = checked_property("setProperty", key, value)
        self._properties[name] = checked
        return self

    def build(self) -> KafkaSink[T]:
        """The sink. Raises IllegalArgumentError if a required setting is missing."""
        if "bootstrap.servers" not in self._properties:
            raise _missing("the brokers", 'setBootstrapServers("localhost:9092")')
        if self._serializer is None:
            raise _missing("what makes records", "setRecordSerializer(...)")
        if self._guarantee is DeliveryGuarantee.EXACTLY_ONCE and self._prefix is None:
            raise _missing("the name of the transactions", 'setTransactionalIdPrefix("orders")')
        return KafkaSink(
            self._serializer,
            tuple(sorted(self._properties.items())),
            self._guarantee,
            self._prefix or "",
        )


def _missing(what: str, call: str) -> IllegalArgumentError:
    return IllegalArgumentError(
        f"KafkaSink.builder: {what} is missing. Call {call} before build()."
    )
