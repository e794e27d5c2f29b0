"""Chooses the writer of a sink."""

from __future__ import annotations

from typing import Any, TypeGuard, Union

from flinkish.api.connectors.jdbc_sink import JdbcSink
from flinkish.api.connectors.kafka.sink import DeliveryGuarantee, KafkaSink
from flinkish.runtime.kafka.exactly_once import ExactlyOnceWriter
from flinkish.runtime.kafka.writer import KafkaWriter
from flinkish.runtime.sinks.batch_writer import BatchWriter
from flinkish.runtime.sinks.jdbc_writer import JdbcWriter

WrittenInBatches = Union[KafkaSink[Any], JdbcSink[Any]]


def is_written_in_batches(sink: object) -> TypeGuard[WrittenInBatches]:
    """Whether a sink has a ``BatchWriter``."""
    return isinstance(sink, (KafkaSink, JdbcSink))


def is_written_in_tasks(sink: object) -> TypeGuard[WrittenInBatches]:
    """Whether each task may write its part of a batch with a separate writer."""
    if isinstance(sink, JdbcSink):
        return not sink.connectionOptions.isSqlite
    return isinstance(sink, KafkaSink)


def batch_writer(
    sink: WrittenInBatches, name: str, uid: str, job: str, timeZone: str
) -> BatchWriter:
    """The open writer of ``sink``. ``uid`` is that of the sink's node. ``job`` is the same in all
    runs that continue from a checkpoint. Times in texts are written in ``timeZone``."""
    if isinstance(sink, KafkaSink):
        if sink.deliveryGuarantee is DeliveryGuarantee.EXACTLY_ONCE:
            return ExactlyOnceWriter.alone(sink, name, job, timeZone)
        return KafkaWriter(sink, name, timeZone)
    return JdbcWriter(sink, name, job, uid).prepared()
