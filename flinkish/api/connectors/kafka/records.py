"""The records of Kafka as a job sees them, and their partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from flinkish.api.arguments import text, whole_number
from flinkish.api.connectors.malformed_record import MalformedRecord
from flinkish.api.errors import MalformedRecordError, shown

Headers = Sequence[tuple[str, bytes | None]]


class TopicPartition(NamedTuple):
    """A partition of a topic (Kafka: ``TopicPartition``)."""

    topic: str
    partition: int


def checked_partition(subject: str, partition: object) -> TopicPartition:
    """Return ``partition`` as a TopicPartition; raises IllegalArgumentError if it cannot be one."""
    pair = partition if isinstance(partition, tuple) and len(partition) == 2 else ("", 0)
    return TopicPartition(text(subject, pair[0]), whole_number(subject, pair[1], 0, 2**31 - 1))


class ConsumerRecord(NamedTuple):
    """A record read from a topic (Kafka: ``ConsumerRecord``). ``timestamp`` (ms) is the one that
    Kafka stores with it; ``key`` and ``value`` are bytes, None if the record has none."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class ProducerRecord(NamedTuple):
    """A record to write (Kafka: ``ProducerRecord``). Without a ``partition`` Kafka's partitioner chooses it
    by the key; without a ``timestamp`` (ms) the record gets that of the element."""

    topic: str
    value: bytes | None
    key: bytes | None = None
    partition: int | None = None
    timestamp: int | None = None
    headers: Headers = ()


@dataclass(frozen=True)
class MalformedKafkaRecord(MalformedRecord):
    """A record of a topic that its schema could not read. ``path`` is ``topic-partition``, ``raw`` the
    value's bytes."""

    topic: str = ""
    partition: int = 0
    key: bytes | None = None

    @property
    def position(self) -> str:
        return f"offset {self.offset} of partition {self.partition} of the topic {self.topic!r}"

    def error(self, source: str) -> MalformedRecordError:
        return MalformedRecordError(
            f"{source}: the record {shown(self.text)} at {self.position} does not fit: {self.reason}. Fix"
            " what writes it or the schema, or send such records to a side output with"
            " KafkaSourceBuilder.setMalformedRecords(OutputTag)."
        )
