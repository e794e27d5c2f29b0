"""The transactions that a job may have left open in Kafka, known from its checkpoint.

A job that is killed cannot abort them, and until their timeout readers of committed records wait for
them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from flinkish.api.connectors.kafka.records import TopicPartition
from flinkish.api.connectors.kafka.serialization import KafkaRecordSerializationSchema
from flinkish.api.connectors.kafka.sink import DeliveryGuarantee, KafkaSink
from flinkish.api.connectors.schemas import SimpleStringSchema
from flinkish.api.errors import CheckpointStorageError
from flinkish.deployment.savepoint.files import SavepointDirectory
from flinkish.graph.stream_graph import StreamNode
from flinkish.runtime.kafka.client import number_property
from flinkish.runtime.kafka.exactly_once import abort_transactions, awaited_offsets
from flinkish.runtime.kafka.writer import TRANSACTION_MILLIS, USER

NOTED = "transactions"
"""What a checkpoint's plan calls its transactional sinks."""


@dataclass(frozen=True)
class TransactionalSink:
    """A ``KafkaSink`` with EXACTLY_ONCE, as a checkpoint notes it: without its passwords. ``writers``:
    how many it has at most; ``timeoutMillis``: how long a transaction may be open."""

    name: str
    servers: str
    prefix: str
    timeoutMillis: int
    writers: int

    @staticmethod
    def of(node: StreamNode, writers: int) -> TransactionalSink | None:
        """The sink of ``node``, None if it has no transactions."""
        sink = node.content
        once = DeliveryGuarantee.EXACTLY_ONCE
        if not isinstance(sink, KafkaSink) or sink.deliveryGuarantee is not once:
            return None
        servers = dict(sink.properties)["bootstrap.servers"]
        limit = number_property(USER, sink.properties, "transaction.timeout.ms", TRANSACTION_MILLIS)
        return TransactionalSink(node.name, servers, sink.transactionalIdPrefix, limit, writers)

    def awaited(self, properties: Mapping[str, str]) -> dict[TopicPartition, int]:
        """The partitions in which a transaction is open, each with the offset at which readers of
        committed records wait. ``properties``: those of Kafka's client that it needs to log in."""
        return awaited_offsets(self._sink(properties), self.writers)

    def abort(self, properties: Mapping[str, str]) -> int:
        """Abort what is open, and fence the writers; returns how many transactional ids there are."""
        return abort_transactions(self._sink(properties), self.writers)

    def _sink(self, properties: Mapping[str, str]) -> KafkaSink[str]:
        texts = KafkaRecordSerializationSchema.builder().setTopicSelector(str)
        return (
            KafkaSink.builder()
            .setKafkaProducerConfig(properties)
            .setBootstrapServers(self.servers)
            .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
            .setTransactionalIdPrefix(self.prefix)
            .setRecordSerializer(texts.setValueSerializationSchema(SimpleStringSchema()).build())
            .build()
        )


def transactional_sinks(method: str, directory: str) -> list[TransactionalSink]:
    """The transactional sinks of the job whose checkpoint is in ``directory``. Raises
    CheckpointStorageError, which names ``method``, if there is none."""
    plan = SavepointDirectory(method, directory).readText("plan")
    if plan is None:
        raise CheckpointStorageError(
            f"{method}: there is no checkpoint in {directory}. Pass the directory that the job was given with"
            " enableCheckpointing."
        )
    return [TransactionalSink(**noted) for noted in json.loads(plan).get(NOTED, ())]
