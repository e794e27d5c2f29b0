"""``Topics``: writes to topics and reads them, beside what is tested."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from confluent_kafka import (
    Consumer,
    KafkaError,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic


class Topics:
    """The topics of a broker.

    Each request has a separate client: one that stays while its broker ends, or ends and comes back, may end the
    process (librdkafka 2.16).
    """

    def __init__(self, servers: str) -> None:
        self._servers = servers

    def create(self, name: str, partitions: int) -> None:
        """Make a topic, and wait until its partitions have a leader."""
        topic = NewTopic(name, partitions, 1, config={"retention.ms": "-1"})
        with self._admin() as admin:
            admin.create_topics([topic])[name].result()
            self._wait(admin, name, partitions)

    def grow(self, name: str, partitions: int) -> None:
        """Let a topic have so many partitions, and wait until they have a leader."""
        with self._admin() as admin:
            admin.create_partitions([NewPartitions(name, partitions)])[name].result()
            self._wait(admin, name, partitions)

    def forget(self, name: str, partition: int, before: int) -> None:
        """Delete the records of a partition before an offset."""
        with self._admin() as admin:
            [done] = admin.delete_records([TopicPartition(name, partition, before)]).values()
            done.result()

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self._servers})

    def isLed(self, name: str, partitions: int) -> bool:
        """Whether a topic has so many partitions, and each a leader."""
        with self._admin() as admin:
            return self._is_led(admin, name, partitions)

    def _wait(self, admin: AdminClient, name: str, partitions: int) -> None:
        until = time.monotonic() + 20
        while not self._is_led(admin, name, partitions):
            assert time.monotonic() < until, f"{name} has no leaders"
            time.sleep(0.02)

    @staticmethod
    def _is_led(admin: AdminClient, name: str, partitions: int) -> bool:
        topic = admin.list_topics(timeout=10).topics.get(name)
        found = {} if topic is None else topic.partitions
        return len(found) == partitions and all(p.leader >= 0 for p in found.values())

    def delete(self, name: str) -> None:
        """Delete a topic, and wait until it is gone."""
        with self._admin() as admin:
            admin.delete_topics([name])[name].result()
            until = time.monotonic() + 20
            while name in admin.list_topics(timeout=10).topics:
                assert time.monotonic() < until, f"{name} is still there"
                time.sleep(0.02)

    def send(self, name: str, partition: int, values: Iterable[Any], **record: Any) -> None:
        """Write values, or pairs of a value and a timestamp (0 would be the time now), to a partition."""
        producer = Producer({"bootstrap.servers": self._servers, "linger.ms": 5})
        for value in values:
            value, timestamp = value if isinstance(value, tuple) else (value, None)
            more = record if timestamp is None else {"timestamp": timestamp, **record}
            while True:
                try:
                    producer.produce(name, value, partition=partition, **more)
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(30) == 0

    def read(
        self,
        name: str,
        isolation: str = "read_committed",
        begin: Mapping[int, int] = MappingProxyType({}),
    ) -> list[Any]:
        """The messages of a topic that are committed, partition by partition, each from an offset on."""
        consumer = Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": "tests",
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 10,
            }
        )
        found = []
        for partition in sorted(consumer.list_topics(timeout=10).topics[name].partitions):
            consumer.assign([TopicPartition(name, partition, begin.get(partition, 0))])
            until = time.monotonic() + 30
            while True:
                assert time.monotonic() < until, f"{name}-{partition} does not end"
                message = consumer.poll(1)
                if message is None:
                    continue
                if message.error() is not None:
                    if message.error().code() == KafkaError._PARTITION_EOF:
                        break
                    continue
                found.append(message)
        consumer.close()
        return found

    def committed(self, group: str, name: str) -> dict[int, int]:
        """The offsets of a topic that are committed for a group, by partition."""
        consumer = Consumer({"bootstrap.servers": self._servers, "group.id": group})
        partitions = consumer.list_topics(name, timeout=10).topics[name].partitions
        found = consumer.committed([TopicPartition(name, one) for one in partitions], timeout=10)
        consumer.close()
        return {one.partition: one.offset for one in found if one.offset >= 0}
