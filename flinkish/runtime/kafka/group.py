"""``ConsumerGroup``: reports a source's position to Kafka, for tools that watch lag."""

from __future__ import annotations

from typing import Any

from flinkish.api.connectors.kafka.source import KafkaSource
from flinkish.runtime.kafka.broker_view import USER
from flinkish.runtime.kafka.client import LOG, client_properties, confluent_kafka, opened_quietly
from flinkish.runtime.kafka.planner import KafkaRange
from flinkish.runtime.sources.planners import Step


class ConsumerGroup:
    """Commits offsets for the group of a source, only for others to see: errors are logged."""

    def __init__(self, source: KafkaSource[Any]) -> None:
        self._source = source
        self._consumer: Any = None

    @staticmethod
    def of(source: object) -> ConsumerGroup | None:
        """The group of ``source``, if it has one and offsets are to be committed."""
        if not isinstance(source, KafkaSource):
            return None
        properties = dict(source.properties)
        wanted = properties.get("commit.offsets.on.checkpoint", "true").lower() == "true"
        return ConsumerGroup(source) if wanted and "group.id" in properties else None

    def commit(self, step: Step) -> None:
        """Commit the end offsets of a completed step."""
        kafka = confluent_kafka(USER)
        given = client_properties(USER, self._source.properties)
        if self._consumer is None:
            self._consumer = opened_quietly(USER, kafka.Consumer, given)
        ranges = [KafkaRange(*piece) for piece in step.pieces]
        ends = [kafka.TopicPartition(r.topic, r.partition, r.end) for r in ranges]
        if not ends:
            return
        try:
            self._consumer.commit(offsets=ends, asynchronous=False)
        except kafka.KafkaException as error:
            LOG.warning(
                "%s: offsets could not be committed for the group %s: %s",
                *(USER, given["group.id"], error.args[0].str()),
            )
