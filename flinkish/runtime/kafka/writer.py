"""``KafkaWriter``: writes the batches of a ``KafkaSink``: exactly once on the driver, else in the workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from flinkish.api.connectors.kafka.records import ProducerRecord
from flinkish.api.connectors.kafka.serialization import (
    BuiltSerialization,
    KafkaRecordSerializationSchema,
    KafkaSinkContext,
)
from flinkish.api.connectors.kafka.sink import DeliveryGuarantee, KafkaSink
from flinkish.api.connectors.schemas import JsonSerializationSchema, SerializationSchema
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError, JobExecutionError, shown
from flinkish.runtime.formats.json_lines import JsonLine
from flinkish.runtime.kafka.client import (
    LOG,
    client_properties,
    confluent_kafka,
    is_transient,
    number_property,
    opened,
    opened_quietly,
    unreachable,
)
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.user_code import user_code_of
from flinkish.runtime.sinks.batch_writer import BatchWriter, SendCounts

USER = "KafkaSink"

_DEFAULTS = {
    # Java's partitioner, so that keys go where other producers send them
    "partitioner": "murmur2_random",
    "linger.ms": "20",
    "queue.buffering.max.messages": "500000",
    "transaction.timeout.ms": "300000",
}

_BLOCK_MILLIS = 60_000
"""How long transactions may take to begin and end: Java's default of max.block.ms."""

_POLL_SECONDS = 0.05

_FENCED = ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")


def check_prefixes(sinks: Iterable[object]) -> None:
    """Raises InvalidProgramError if two sinks would fence one another."""
    seen: set[tuple[str, str]] = set()
    for sink in sinks:
        if isinstance(sink, KafkaSink) and sink.deliveryGuarantee is DeliveryGuarantee.EXACTLY_ONCE:
            name = dict(sink.properties)["bootstrap.servers"], sink.transactionalIdPrefix
            if name in seen:
                raise InvalidProgramError(
                    f"{USER}: two sinks have the transactional id prefix {name[1]!r}, and would fence one"
                    " another. Give each one of its own with setTransactionalIdPrefix."
                )
            seen.add(name)


class KafkaWriter(BatchWriter):
    """Writes the batches of a sink, or what one task has of them. ``name`` is that of the sink in errors.
    ``job`` is the same for all runs that go on from a checkpoint: by it and its number a batch that comes
    again is known, with EXACTLY_ONCE."""

    def __init__(self, sink: KafkaSink[Any], name: str, job: str, timeZone: str) -> None:
        self._sink = sink
        self._name = name
        self._job = job
        self._serialize = _serializer(sink.serializer, timeZone).serialize
        self._patience = (
            number_property(USER, sink.properties, "max.block.ms", _BLOCK_MILLIS) / 1000
        )
        self._kafka = confluent_kafka(USER)
        self._failed: list[str] = []
        self._given = client_properties(USER, sink.properties)
        own: dict[str, Any] = {"on_delivery": self._delivered, "delivery.report.only.error": True}
        self._exactly_once = sink.deliveryGuarantee is DeliveryGuarantee.EXACTLY_ONCE
        if self._exactly_once:
            own["transactional.id"] = sink.transactionalIdPrefix
        # As in Java's producer: what is sent again comes neither twice nor out of order
        once = {"enable.idempotence": self._given.get("acks", "all") in ("all", "-1")}
        properties = {**_DEFAULTS, **once, **self._given, **own}
        self._producer = opened(USER, self._kafka.Producer, properties)
        self._context = _Context(self._producer)
        self._written = -1
        """The number of the last batch of this job that is committed."""
        if self._exactly_once:
            self._group = f"flinkish-{sink.transactionalIdPrefix}"
            self._begin_run()

    def beginTask(self, index: int, count: int) -> None:
        """What is written next is that of the task ``index`` of ``count``; 0 of 1 until this is called."""
        self._context.index, self._context.count = index, count

    def write(self, runs: Iterable[Records], batchId: int) -> SendCounts:
        if batchId <= self._written:
            LOG.info("%s: the batch %d is there already", USER, batchId)
            return SendCounts(0, 0)
        if self._exactly_once:
            with self._transaction(batchId) as topics:
                sent = self._send(runs, topics)
        else:
            sent = self._send(runs, {})
            # With NONE as well: another worker may write the next batch of a key, with a producer of its own
            self._flush()
        self._check()
        return sent

    def close(self) -> None:
        if not self._exactly_once:
            # Only a batch that failed leaves something; it must not come between what is written again
            self._producer.purge()

    # ------------------------------------------------------------------ sending

    def _send(self, runs: Iterable[Records], topics: dict[str, int]) -> SendCounts:
        """Send elements; ``topics`` gets the topics that they go to."""
        serialize, context = self._serialize, self._context
        received = sent = 0
        element: Any = None
        with user_code_of(self._name, lambda: element):
            for run in runs:
                received += len(run)
                for element, timestamp in zip(run.values, run.timestamps.tolist()):
                    record = serialize(element, context, timestamp if timestamp >= 0 else None)
                    if record is not None:
                        if not isinstance(record, ProducerRecord):
                            raise _no_record(record)
                        topics[record.topic] = 0
                        self._produce(record)
                        sent += 1
        self._poll(0)
        return SendCounts(received, sent)

    def _produce(self, record: ProducerRecord) -> None:
        more: dict[str, Any] = {}
        if record.partition is not None:
            more["partition"] = record.partition
        if record.timestamp is not None:
            more["timestamp"] = record.timestamp
        if record.headers:
            more["headers"] = list(record.headers)
        while True:
            try:
                self._producer.produce(record.topic, record.value, record.key, **more)
                return
            except BufferError:
                # The queue is full until the brokers have taken some
                self._poll(_POLL_SECONDS)
                self._check()
            except self._kafka.KafkaException as error:
                raise self._error("write", error) from None

    def _flush(self) -> None:
        # A producer that has been fenced raises a SystemError in flush(); any other does not linger there
        wait = self._poll if self._exactly_once else self._producer.flush
        while len(self._producer):
            wait(_POLL_SECONDS)
            self._check()

    def _poll(self, seconds: float) -> None:
        try:
            self._producer.poll(seconds)
        except self._kafka.KafkaException as error:
            raise self._error("write", error) from None

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None and len(self._failed) < 10:
            partition = message.partition()
            place = f", partition {partition}" if partition is not None and partition >= 0 else ""
            self._failed.append(f"to the topic {message.topic()!r}{place}: {error.str()}")

    def _check(self) -> None:
        if self._failed:
            raise JobExecutionError(
                f"{self._name}: a record could not be written {self._failed[0]}."
            )

    # ------------------------------------------------------------------ transactions

    def _begin_run(self) -> None:
        """Fence earlier runs, end what they left open, and find out which batch they committed last."""
        self._ended("begin", self._producer.init_transactions)
        # Only what is committed for good is told; by a consumer, as the AdminClient's request for offsets ends
        # the process when the group has just moved to another broker.
        own = {"group.id": self._group, "isolation.level": "read_committed"}
        properties = {**_of_every_client(self._given), **own}
        consumer = opened_quietly(USER, self._kafka.Consumer, properties)
        try:
            ours = [mark.offset for mark in self._marks(consumer) if mark.metadata == self._job]
            self._metadata = consumer.consumer_group_metadata()
        finally:
            consumer.close()
        self._written = max(ours, default=0) - 1

    def _marks(self, consumer: Any) -> list[Any]:
        """The offsets of the group: a batch's number is with a topic that the batch was written to."""
        until = time.monotonic() + self._patience
        while True:
            left = max(until - time.monotonic(), 1.0)
            try:
                topics = consumer.list_topics(timeout=left).topics
                asked = [self._kafka.TopicPartition(name, 0) for name in topics]
                found = consumer.committed(asked, timeout=left) if asked else []
                errors = [mark.error for mark in found if mark.error is not None]
                if not errors:
                    return [mark for mark in found if mark.offset >= 0]
                raise self._kafka.KafkaException(errors[0])
            except self._kafka.KafkaException as error:
                if not is_transient(error.args[0]) or time.monotonic() > until:
                    raise self._error("look for the last batch", error) from None
                time.sleep(0.05)

    @contextmanager
    def _transaction(self, batchId: int) -> Iterator[dict[str, int]]:
        topics: dict[str, int] = {}
        self._ended("begin", lambda *_: self._producer.begin_transaction())
        try:
            yield topics
            self._flush()
            self._check()
            if topics:
                # Brokers refuse offsets of topics that are not there: any that was written to will do.
                mark = self._kafka.TopicPartition(min(topics), 0, batchId + 1, self._job)
                self._ended(
                    "commit",
                    lambda *left: self._producer.send_offsets_to_transaction(
                        [mark], self._metadata, *left
                    ),
                )
            self._ended("commit", self._producer.commit_transaction)
        except BaseException:
            self._abort()
            raise
        self._written = batchId

    def _ended(self, what: str, call: Callable[..., Any]) -> None:
        """Call ``call(seconds)``, and again as long as Kafka says that this may help."""
        until = time.monotonic() + self._patience
        while True:
            try:
                call(max(until - time.monotonic(), 1.0))
                return
            except self._kafka.KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > until:
                    raise self._error(what, error) from None

    def _abort(self) -> None:
        try:
            self._producer.purge()
            self._producer.abort_transaction(self._patience)
            self._producer.poll(0)
            self._failed.clear()
        except Exception:  # fenced, or the broker is away: the next run's init_transactions ends it
            LOG.debug("a transaction could not be aborted", exc_info=True)

    def _error(self, what: str, raised: Any) -> JobExecutionError:
        error = raised.args[0]
        prefix = self._sink.transactionalIdPrefix
        if error.name() in _FENCED:
            return JobExecutionError(
                f"{USER}: another run with the transactional id prefix {prefix!r} has begun, and this one was"
                " fenced: nothing of it is committed any more. Let one run at a time, and give each sink a"
                " prefix of its own."
            )
        if is_transient(error) and what == "begin":
            return unreachable(USER, self._given["bootstrap.servers"], error.str())
        return JobExecutionError(f"{USER}: Kafka does not {what}: {error.str()}.")


def _no_record(record: object) -> IllegalArgumentError:
    return IllegalArgumentError(
        f"{USER}: the serializer gave {shown(record)} of type {type(record).__name__}. Return a"
        " ProducerRecord, or None to write nothing."
    )


def _of_every_client(properties: dict[str, Any]) -> dict[str, Any]:
    """Those properties that say how to reach the brokers."""
    begin = ("bootstrap.", "security.", "sasl.", "ssl.", "socket.", "client.", "enable.ssl")
    return {name: value for name, value in properties.items() if name.startswith(begin)}


class _Context(KafkaSinkContext):
    """Asks the brokers, once for each topic."""

    def __init__(self, producer: Any) -> None:
        self.index, self.count = 0, 1
        self._producer = producer
        self._partitions: dict[str, list[int]] = {}

    def getPartitionsForTopic(self, topic: str) -> list[int]:
        if topic not in self._partitions:
            found = self._producer.list_topics(topic, timeout=30).topics[topic].partitions
            self._partitions[topic] = sorted(found)
        return self._partitions[topic]

    def getParallelInstanceId(self) -> int:
        return self.index

    def getNumberOfParallelInstances(self) -> int:
        return self.count


class _JsonSerialization(SerializationSchema[Any]):
    """Elements as JSON."""

    def __init__(self, timeZone: str) -> None:
        self._line = JsonLine(timeZone)

    def serialize(self, element: Any) -> bytes:
        return self._line(element).encode("utf-8", "replace")


def _serializer(
    schema: KafkaRecordSerializationSchema[Any], timeZone: str
) -> KafkaRecordSerializationSchema[Any]:
    """``schema`` with what writes JSON in place of the description of it."""
    if not isinstance(schema, BuiltSerialization):
        return schema

    def filled(part: Any) -> Any:
        return _JsonSerialization(timeZone) if isinstance(part, JsonSerializationSchema) else part

    return replace(
        schema, valueSchema=filled(schema.valueSchema), keySchema=filled(schema.keySchema)
    )
