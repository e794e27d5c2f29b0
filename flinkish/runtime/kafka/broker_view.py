"""``BrokerView``: what the planner of a ``KafkaSource`` asks the brokers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from flinkish.api.connectors.kafka.offsets import OffsetResetStrategy, OffsetsInitializer, Place
from flinkish.api.connectors.kafka.records import TopicPartition
from flinkish.api.connectors.kafka.source import Properties, Subscription
from flinkish.api.errors import JobExecutionError
from flinkish.runtime.kafka.client import (
    LOG,
    client_properties,
    confluent_kafka,
    is_transient,
    opened_quietly,
)

USER = "KafkaSource"

_REQUEST_SECONDS = 10.0

_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""What brokers before Kafka 2.8 give for the id of a topic, in base64."""


class BrokerAwayError(Exception):
    """No broker answers, or it is not ready yet."""


class BrokerView:
    """The requests of a planner to the brokers. Its methods raise BrokerAwayError.

    It uses a consumer without a subscription: librdkafka's AdminClient, which has the same
    requests, may end the process when a broker comes back (an assertion of 2.16.1). It is used for
    the ids of topics alone, which a consumer does not get.
    """

    def __init__(self, properties: Properties) -> None:
        self._kafka = confluent_kafka(USER)
        given = client_properties(USER, properties)
        self.servers: str = given["bootstrap.servers"]
        self._has_group = "group.id" in given
        self._consumer = opened_quietly(USER, self._kafka.Consumer, given)
        self._admin = opened_quietly(USER, self._kafka.admin.AdminClient, given)

    def partitions(self, subscription: Subscription) -> list[TopicPartition]:
        """The partitions, in order. Raises JobExecutionError if one that is named is missing."""
        named = {*subscription.topics, *(topic for topic, _ in subscription.partitions)}
        metadata = self._asked(subscription, self._consumer.list_topics)
        pattern = subscription.pattern
        chosen = []
        for name, topic in sorted(metadata.topics.items()):
            wanted = name in named if pattern is None else re.fullmatch(pattern, name)
            if wanted and topic.error is None:
                chosen += [TopicPartition(name, number) for number in sorted(topic.partitions)]
        there = {topic for topic, _ in chosen}
        absent = sorted(named - there)
        if subscription.partitions:
            absent += [f"{t}-{p}" for t, p in subscription.partitions if (t, p) not in chosen]
            chosen = [key for key in chosen if key in subscription.partitions]
        if absent:
            raise JobExecutionError(
                f"{USER}: there is no topic or partition {', '.join(absent)} at {self.servers}. Create it, or"
                " fix its name."
            )
        return chosen

    def topicIds(self, topics: Collection[str]) -> dict[str, str | None]:
        """The id of each topic, which another topic of that name does not have; None if the brokers
        give none, or there is no such topic."""
        if not topics:
            return {}
        asked = self._kafka.TopicCollection(list(topics))
        answers = self._admin.describe_topics(asked, request_timeout=_REQUEST_SECONDS)
        found: dict[str, str | None] = dict.fromkeys(topics)
        for topic, answer in answers.items():
            try:
                described = str(answer.result().topic_id)
            except self._kafka.KafkaException as error:
                if is_transient(error.args[0]):
                    raise BrokerAwayError(error.args[0].str()) from None
                LOG.debug("%s: the topic %s has no id: %s", USER, topic, error)
            else:
                found[topic] = None if described == _NO_ID else described
        return found

    def ends(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """The end of each partition: the offset after the last record that may be read so far."""
        return self._listed(partitions, _LATEST)

    def starts(
        self, partitions: Sequence[TopicPartition], initializer: OffsetsInitializer
    ) -> dict[TopicPartition, int]:
        """The offsets that ``initializer`` chooses; its strategy replaces those out of range."""
        found = self.offsets(partitions, initializer)
        if initializer.place not in (Place.OFFSETS, Place.COMMITTED):
            return found
        firsts, ends = self._listed(partitions, _EARLIEST), self.ends(partitions)
        outside = [key for key in found if not firsts[key] <= found[key] <= ends[key]]
        for key in outside:
            there = f"{key.topic}-{key.partition} has the offsets from {firsts[key]} to {ends[key]}"
            if initializer.offsetResetStrategy is OffsetResetStrategy.NONE:
                raise JobExecutionError(
                    f"{USER}: {there}, the job was to begin at {found[key]}, and the OffsetResetStrategy is"
                    " NONE. Pass another, such as OffsetResetStrategy.EARLIEST, or an offset that exists."
                )
            latest = initializer.offsetResetStrategy is OffsetResetStrategy.LATEST
            begin = (ends if latest else firsts)[key]
            LOG.warning("%s: %s, and not %d: begins at %d", USER, there, found[key], begin)
            found[key] = begin
        return found

    def offsets(
        self, partitions: Sequence[TopicPartition], initializer: OffsetsInitializer
    ) -> dict[TopicPartition, int]:
        """The offsets that ``initializer`` chooses."""
        place = initializer.place
        if place is Place.EARLIEST:
            return self._listed(partitions, _EARLIEST)
        if place is Place.LATEST:
            return self.ends(partitions)
        if place is Place.TIMESTAMP:
            found = self._listed(partitions, max(initializer.timestampMillis, 0))
            behind = self.ends([key for key, offset in found.items() if offset < 0])
            return {**found, **behind}
        given = dict(initializer.partitionOffsets)
        found = {key: given[key] for key in partitions if key in given}
        if len(found) < len(partitions) and self._has_group:
            # As in Flink, committed offsets apply to partitions without a given offset
            found = {**self._committed(partitions), **found}
        rest = [key for key in partitions if key not in found]
        if rest and initializer.offsetResetStrategy is OffsetResetStrategy.NONE:
            raise JobExecutionError(
                f"{USER}: there is no offset for the partition {rest[0].topic}-{rest[0].partition}, and the"
                " OffsetResetStrategy is NONE. Pass another, such as OffsetResetStrategy.EARLIEST."
            )
        if initializer.offsetResetStrategy is OffsetResetStrategy.LATEST:
            return {**found, **self.ends(rest)}
        return {**found, **self._listed(rest, _EARLIEST)}

    def _committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        asked = [self._kafka.TopicPartition(*key) for key in partitions]
        answers = self._asked("the group", self._consumer.committed, asked)
        return {TopicPartition(o.topic, o.partition): o.offset for o in answers if o.offset >= 0}

    def _listed(
        self, partitions: Sequence[TopicPartition], timestamp: int
    ) -> dict[TopicPartition, int]:
        """The first offset from a timestamp on, -1 if there is none; _EARLIEST and _LATEST stand for the
        first offset of all, and the one after the last."""
        if not partitions:
            return {}
        asked = [self._kafka.TopicPartition(*key, timestamp) for key in partitions]
        answers = self._asked(asked[0].topic, self._consumer.offsets_for_times, asked)
        for answer in answers:
            if answer.error is not None:
                raise self._error(answer.error, answer.topic)
        return {TopicPartition(one.topic, one.partition): int(one.offset) for one in answers}

    def _asked(self, subject: object, call: Callable[..., Any], *asked: Any) -> Any:
        try:
            return call(*asked, timeout=_REQUEST_SECONDS)
        except self._kafka.KafkaException as error:
            raise self._error(error.args[0], subject) from None

    def _error(self, error: Any, subject: object) -> Exception:
        # A topic that is there has partitions without a leader for the moment
        if is_transient(error) or (error.name() in _NOT_THERE and self._has(subject)):
            return BrokerAwayError(error.str())
        if error.name() in _NOT_THERE:
            return JobExecutionError(
                f"{USER}: the topic {subject} does not exist any more ({error.str()}). If it was deleted on"
                " purpose, start afresh with another checkpoint directory."
            )
        return JobExecutionError(f"{USER}: Kafka returns an error for {subject}: {error.str()}.")

    def _has(self, topic: object) -> bool:
        metadata = self._asked(topic, self._consumer.list_topics)
        return topic in metadata.topics


_LATEST, _EARLIEST = -1, -2
"""Timestamps that stand for positions, in Kafka's protocol."""

_NOT_THERE = ("_NOENT", "UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION")
