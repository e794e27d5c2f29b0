"""``KafkaSource``: reads topics of Kafka, each partition as a split."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Self

from flinkish.api.arguments import instance, secret, text
from flinkish.api.connectors.kafka.deserialization import KafkaRecordDeserializationSchema
from flinkish.api.connectors.kafka.offsets import OffsetsInitializer, Place
from flinkish.api.connectors.kafka.records import (
    MalformedKafkaRecord,
    TopicPartition,
    checked_partition,
)
from flinkish.api.connectors.schemas import DeserializationSchema
from flinkish.api.connectors.source import Source
from flinkish.api.errors import IllegalArgumentError, IllegalStateError, shown
from flinkish.api.output_tag import OutputTag, checked_tag
from flinkish.api.type_variables import T, T_co
from flinkish.api.types.type_info import TypeInformation

Properties = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Subscription:
    """The partitions to read: those of ``topics``, those of the topics whose whole name
    ``pattern`` matches, or just ``partitions``."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: tuple[TopicPartition, ...] = ()

    def __str__(self) -> str:
        if self.pattern is not None:
            return f"the topics {self.pattern}"
        if self.partitions:
            return ", ".join(f"{topic}-{number}" for topic, number in self.partitions)
        return ", ".join(self.topics)


@dataclass(frozen=True, eq=False)
class KafkaSource(Source[T_co]):
    """Reads topics of Kafka (Flink: ``KafkaSource``). Created by ``KafkaSource.builder()``.

    A partition is a split: a WatermarkStrategy given to ``fromSource`` generates a watermark for
    each, and the lowest counts. Elements have the timestamps of their records, unless the strategy
    has a timestamp assigner. A job continues from the offsets in its checkpoint; if there is a
    group, offsets are also committed to it after each batch, for tools that watch it. Needs ``pip
    install 'flinkish[kafka]'``.

    >>> from flinkish import KafkaSource, OffsetsInitializer, SimpleStringSchema
    >>> source = (
    ...     KafkaSource.builder()
    ...     .setBootstrapServers("localhost:9092")
    ...     .setTopics("flights")
    ...     .setStartingOffsets(OffsetsInitializer.earliest())
    ...     .setValueOnlyDeserializer(SimpleStringSchema())
    ...     .build()
    ... )
    """

    subscription: Subscription
    deserializer: KafkaRecordDeserializationSchema[T_co]
    properties: Properties = field(repr=False)
    startingOffsets: OffsetsInitializer
    stoppingOffsets: OffsetsInitializer | None
    isBounded: bool
    malformedRecords: OutputTag[MalformedKafkaRecord] | None = None

    @staticmethod
    def builder() -> KafkaSourceBuilder[Any]:
        """A builder."""
        return KafkaSourceBuilder()

    @property
    def servers(self) -> str:
        """The brokers to contact first."""
        return dict(self.properties)["bootstrap.servers"]

    @property
    def hasSplits(self) -> bool:
        return True

    @property
    def bounded(self) -> bool:
        return self.isBounded

    def getProducedType(self) -> TypeInformation[Any] | None:
        return self.deserializer.getProducedType()


class KafkaSourceBuilder(Generic[T]):
    """Builds a ``KafkaSource`` (Flink: ``KafkaSourceBuilder``)."""

    def __init__(self) -> None:
        self._subscription: Subscription | None = None
        self._deserializer: KafkaRecordDeserializationSchema[Any] | None = None
        self._properties: dict[str, str] = {}
        self._starting = OffsetsInitializer.earliest()
        self._stopping: OffsetsInitializer | None = None
        self._bounded = False
        self._malformed: OutputTag[MalformedKafkaRecord] | None = None

    def setBootstrapServers(self, bootstrapServers: str) -> Self:
        """Set the brokers to contact first: ``host:port``, separated by commas."""
        return self.setProperty("bootstrap.servers", bootstrapServers)

    def setGroupId(self, groupId: str) -> Self:
        """Set the group to which offsets are committed. Without one they are in the checkpoint
        only."""
        return self.setProperty("group.id", groupId)

    def setTopics(self, *topics: str | Iterable[str]) -> Self:
        """Read these topics, given one by one or as a list."""
        names = topics
        if len(topics) == 1 and not isinstance(topics[0], str):
            fix = 'Pass names, such as setTopics("flights").'
            names = tuple(instance("setTopics", topics[0], Iterable, fix))
        if not names:
            raise IllegalArgumentError("setTopics: there are none. Pass names of topics.")
        checked = tuple(dict.fromkeys(text("setTopics", name) for name in names))  # type: ignore[arg-type]
        return self._subscribe("setTopics", Subscription(checked))

    def setTopicPattern(self, topicPattern: str | re.Pattern[str]) -> Self:
        """Read the topics whose whole names match a regular expression, including topics created
        later."""
        given = topicPattern.pattern if isinstance(topicPattern, re.Pattern) else topicPattern
        try:
            re.compile(text("setTopicPattern", given))
        except re.error as error:
            raise IllegalArgumentError(
                f"setTopicPattern: {shown(given)} is no regular expression: {error}. Fix it."
            ) from None
        return self._subscribe("setTopicPattern", Subscription(pattern=given))

    def setPartitions(self, partitions: Iterable[TopicPartition]) -> Self:
        """Read just these partitions."""
        fix = 'Pass a set such as {TopicPartition("flights", 0)}.'
        listed = tuple(instance("setPartitions", partitions, Iterable, fix))
        if not listed:
            raise IllegalArgumentError(f"setPartitions: there are none. {fix}")
        checked = {checked_partition("setPartitions", partition) for partition in listed}
        return self._subscribe("setPartitions", Subscription(partitions=tuple(sorted(checked))))

    def setStartingOffsets(self, startingOffsetsInitializer: OffsetsInitializer) -> Self:
        """Set where partitions begin that are not in the checkpoint; by default at the first
        record."""
        fix = "Pass one, such as OffsetsInitializer.earliest()."
        self._starting = instance(
            "setStartingOffsets", startingOffsetsInitializer, OffsetsInitializer, fix
        )
        return self

    def setBounded(self, stoppingOffsetsInitializer: OffsetsInitializer) -> Self:
        """Stop at these offsets, which are resolved once, when the job starts; then the job
        ends."""
        return self._stop("setBounded", stoppingOffsetsInitializer, True)

    def setUnbounded(self, stoppingOffsetsInitializer: OffsetsInitializer) -> Self:
        """Stop at these offsets, but treat the source as unbounded, as in Flink."""
        return self._stop("setUnbounded", stoppingOffsetsInitializer, False)

    def setDeserializer(
        self, recordDeserializer: KafkaRecordDeserializationSchema[Any]
    ) -> KafkaSourceBuilder[Any]:
        """Set how whole records become elements."""
        fix = "Derive from it, or pass KafkaRecordDeserializationSchema.of(function)."
        kind = KafkaRecordDeserializationSchema
        self._deserializer = instance("setDeserializer", recordDeserializer, kind, fix)
        return self

    def setValueOnlyDeserializer(
        self, deserializationSchema: DeserializationSchema[Any]
    ) -> KafkaSourceBuilder[Any]:
        """Set how the values of records become elements."""
        fix = "Pass one, such as SimpleStringSchema() or JsonDeserializationSchema(Order)."
        kind = DeserializationSchema
        instance("setValueOnlyDeserializer", deserializationSchema, kind, fix)
        self._deserializer = KafkaRecordDeserializationSchema.valueOnly(deserializationSchema)
        return self

    def setMalformedRecords(self, tag: OutputTag[MalformedKafkaRecord]) -> Self:
        """Send records that the deserializer cannot read to a side output instead of failing the job.

        ``getSideOutput(tag)`` of the stream that ``fromSource`` returns contains the
        MalformedKafkaRecords; the source's metric ``numRecordsInErrors`` counts them.
        """
        self._malformed = checked_tag("setMalformedRecords", tag)
        return self

    def setClientIdPrefix(self, prefix: str) -> Self:
        """Set the prefix of client names in the broker's logs and metrics."""
        return self.setProperty("client.id.prefix", prefix)

    def setProperty(self, key: str, value: str) -> Self:
        """Set a property of Kafka's consumer, by Java's name or librdkafka's."""
        name, checked = checked_property("setProperty", key, value)
        self._properties[name] = checked
        return self

    def setProperties(self, props: Mapping[str, str]) -> Self:
        """Set several properties of Kafka's consumer."""
        fix = 'Pass a dict such as {"isolation.level": "read_committed"}.'
        for key, value in secret("setProperties", props, Mapping, fix).items():
            name, checked = checked_property("setProperties", key, value)
            self._properties[name] = checked
        return self

    def build(self) -> KafkaSource[T]:
        """The source. Raises IllegalArgumentError if a required setting is missing."""
        if "bootstrap.servers" not in self._properties:
            raise _missing("the brokers", 'setBootstrapServers("localhost:9092")')
        if self._subscription is None:
            raise _missing("what to read", 'setTopics("flights")')
        if self._deserializer is None:
            raise _missing("a deserializer", "setValueOnlyDeserializer(SimpleStringSchema())")
        uses = {self._starting.place} | (set() if not self._stopping else {self._stopping.place})
        if Place.COMMITTED in uses and "group.id" not in self._properties:
            raise _missing("the group whose committed offsets are meant", 'setGroupId("group")')
        return KafkaSource(
            self._subscription,
            self._deserializer,
            tuple(sorted(self._properties.items())),
            self._starting,
            self._stopping,
            self._bounded,
            self._malformed,
        )

    def _subscribe(self, method: str, subscription: Subscription) -> Self:
        if self._subscription is not None:
            raise IllegalStateError(
                f"KafkaSource.builder: {method} was called, but the source already reads"
                f" {self._subscription}. Call one of setTopics, setTopicPattern and setPartitions, once."
            )
        self._subscription = subscription
        return self

    def _stop(self, method: str, initializer: OffsetsInitializer, bounded: bool) -> Self:
        fix = "Pass one, such as OffsetsInitializer.latest()."
        self._stopping = instance(method, initializer, OffsetsInitializer, fix)
        self._bounded = bounded
        return self


def checked_property(method: str, key: object, value: object) -> tuple[str, str]:
    """The name and value of a property as texts. Raises IllegalArgumentError, which does not show
    the value, if the name is not a text or the value neither a text nor a number."""
    name = text(f"{method}: key", key)  # type: ignore[arg-type]
    if isinstance(value, bool):
        value = str(value).lower()
    if not isinstance(value, (str, int)):
        raise IllegalArgumentError(
            f"{method}: a value of type {type(value).__name__} will not do for {name!r}. Pass a text or a"
            " number."
        )
    if name == "bootstrap.servers":
        text("setBootstrapServers", value)  # type: ignore[arg-type]
    return name, str(value)


def _missing(what: str, call: str) -> IllegalArgumentError:
    return IllegalArgumentError(
        f"KafkaSource.builder: {what} is missing. Call {call} before build()."
    )
