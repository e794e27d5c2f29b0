"""``KafkaWriter``: writes the batches of a ``KafkaSink``, or one task's part of them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from flinkish.api.connectors.kafka.records import ProducerRecord
from flinkish.api.connectors.kafka.serialization import (
    BuiltSerialization,
    KafkaRecordSerializationSchema,
    KafkaSinkContext,
)
from flinkish.api.connectors.kafka.sink import KafkaSink
from flinkish.api.connectors.schemas import JsonSerializationSchema, SerializationSchema
from flinkish.api.errors import IllegalArgumentError, JobExecutionError, ProducerFencedError, shown
from flinkish.runtime.formats.json_lines import JsonLine
from flinkish.runtime.kafka.client import (
    REFUSED,
    client_properties,
    confluent_kafka,
    is_transient,
    opened,
    refused,
    unreachable,
)
from flinkish.runtime.kafka.serialization import RunOfRecords, RunSerialization
from flinkish.runtime.records.records import Records, Timestamps
from flinkish.runtime.records.user_code import user_code_of
from flinkish.runtime.sinks.batch_writer import BatchWriter, SendCounts, SendError

USER = "KafkaSink"

_DEFAULTS = {
    # Java's partitioner, so that keys go where other producers send them
    "partitioner": "murmur2_random",
    "linger.ms": "20",
    "queue.buffering.max.messages": "500000",
    "transaction.timeout.ms": "300000",
}

TRANSACTION_MILLIS = int(_DEFAULTS["transaction.timeout.ms"])
"""How long a transaction may be open, unless the sink says otherwise."""

_POLL_SECONDS = 0.05

_NOTHING: Mapping[str, Any] = MappingProxyType({})

_FENCED = ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")


def kafka_error(sink: KafkaSink[Any], what: str, raised: Any) -> JobExecutionError:
    """The error of a job for which Kafka did not do ``what`` it was asked for."""
    error = raised.args[0]
    if error.name() in _FENCED:
        return fenced(sink)
    if is_transient(error) and what == "begin":
        return unreachable(USER, sink.properties, error.str())
    return JobExecutionError(f"{USER}: Kafka failed to {what}: {error.str()}.")


def fenced(sink: KafkaSink[Any]) -> ProducerFencedError:
    """The error of a run that still writes after the next run has begun."""
    return ProducerFencedError(
        f"{USER}: another run with the transactional id prefix {sink.transactionalIdPrefix!r} has begun,"
        " and this one was fenced: nothing of it is committed any more. Let one run at a time, and give"
        " each sink a different prefix."
    )


def open_producer(sink: KafkaSink[Any], own: Mapping[str, Any]) -> Any:
    """A producer for ``sink``; ``own`` are properties that users cannot set."""
    given = client_properties(USER, sink.properties)
    # As in Java's producer: records that are sent again arrive neither twice nor out of order
    once = {"enable.idempotence": given.get("acks", "all") in ("all", "-1")}
    properties = {**_DEFAULTS, **once, **given, **own}
    return opened(USER, confluent_kafka(USER).Producer, properties)


class KafkaWriter(BatchWriter):
    """Writes the batches of a sink, or one task's part of them. ``name``: the name of the sink in
    errors; ``own``: properties of the producer."""

    def __init__(
        self, sink: KafkaSink[Any], name: str, timeZone: str, own: Mapping[str, Any] = _NOTHING
    ) -> None:
        self._sink = sink
        self._name = name
        self._serialize = _serializer(sink.serializer, timeZone).serialize
        self._runs = RunSerialization.of(sink.serializer, timeZone)
        self._kafka = confluent_kafka(USER)
        self._failed: dict[tuple[str, str], int] = {}
        """The number of refused records, by topic and partition."""
        self._reason = ""
        self._waited = 0.0
        self._refusal: Any = None
        """The error by which the brokers have not let the producer in."""
        reports = {
            "on_delivery": self._delivered,
            "delivery.report.only.error": True,
            "error_cb": self._failed_to_connect,
        }
        self._producer = open_producer(sink, {**reports, **own})
        self._context = _Context(self._producer)

    def beginTask(self, index: int, count: int) -> None:
        """Write for the task ``index`` of ``count`` from now on; at first it is task 0 of 1."""
        self._context.index, self._context.count = index, count

    def write(self, runs: Iterable[Records], batchId: int) -> SendCounts:
        sent = self._send(runs, {})
        # With NONE as well: another worker may write the next batch of a key, with another producer
        self._flush()
        return sent._replace(backPressuredMillis=round(self._waited * 1000))

    def close(self) -> None:
        # Only a failed batch leaves records behind; they must not mix with those that are written
        # again
        self._producer.purge()

    # ------------------------------------------------------------------ sending

    def _send(self, runs: Iterable[Records], topics: dict[str, int]) -> SendCounts:
        """Send elements, and add the topics that they go to to ``topics``."""
        self._waited = 0.0
        received = sent = 0
        for run in runs:
            received += len(run)
            records = None if self._runs is None else self._runs.records(run.values)
            if records is None:
                sent += self._send_each(run, topics)
            elif len(run):
                topics[records.topic] = 0
                self._send_run(records, run.timestamps)
                sent += len(run)
        self._poll(0)
        return SendCounts(received, sent)

    def _send_run(self, records: RunOfRecords, timestamps: Timestamps) -> None:
        produce, topic = self._producer.produce, records.topic
        # Kafka takes 0 for the current time
        times = np.maximum(timestamps, 0).tolist()
        for key, value, time_ in zip(records.keys, records.values, times):
            while True:
                try:
                    produce(topic, value, key, timestamp=time_)
                    break
                except BufferError:
                    self._make_room()
                except self._kafka.KafkaException as error:
                    raise self._not_taken(error, topic, None, value) from None

    def _send_each(self, run: Records, topics: dict[str, int]) -> int:
        serialize, context = self._serialize, self._context
        sent = 0
        element: Any = None
        with user_code_of(self._name, lambda: element):
            for element, timestamp in zip(run.values, run.timestamps.tolist()):
                record = serialize(element, context, timestamp if timestamp >= 0 else None)
                if record is not None:
                    if not isinstance(record, ProducerRecord):
                        raise IllegalArgumentError(
                            f"{USER}: the serializer gave {shown(record)} of type"
                            f" {type(record).__name__}. Return a ProducerRecord, or None to write"
                            " nothing."
                        )
                    topics[record.topic] = 0
                    self._produce(record)
                    sent += 1
        return sent

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
                self._make_room()
            except self._kafka.KafkaException as error:
                raise self._not_taken(error, record.topic, record.partition, record.value) from None

    def _not_taken(
        self, raised: Any, topic: str, partition: int | None, value: bytes | None
    ) -> JobExecutionError:
        """The error of a record that the producer does not take."""
        error = raised.args[0]
        if error.name() != "MSG_SIZE_TOO_LARGE":
            return kafka_error(self._sink, "write", raised)
        size = f"its value has {len(value or b''):,} bytes, and the producer takes max.request.size"
        self._refuse(topic, partition, f"{error.str()}: {size}. Raise that with setProperty")
        return self._send_error()

    def _make_room(self) -> None:
        """Wait for the brokers to take records from the full queue."""
        began = time.monotonic()
        self._poll(_POLL_SECONDS)
        self._check()
        self._waited += time.monotonic() - began

    def _flush(self) -> None:
        """Wait until the brokers have all records."""
        while len(self._producer):
            self._wait(_POLL_SECONDS)
            self._check()
        self._check()

    def _wait(self, seconds: float) -> None:
        # Unlike poll(), flush() sends lingering records
        self._producer.flush(seconds)

    def _poll(self, seconds: float) -> None:
        try:
            self._producer.poll(seconds)
        except self._kafka.KafkaException as error:
            raise kafka_error(self._sink, "write", error) from None

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None:
            self._refuse(message.topic(), message.partition(), error.str())

    def _refuse(self, topic: str, number: int | None, reason: str) -> None:
        partition = "?" if number is None or number < 0 else str(number)
        if not self._failed:
            where = "" if partition == "?" else f", partition {partition}"
            self._reason = f"to the topic {topic!r}{where}: {reason}"
        self._failed[topic, partition] = self._failed.get((topic, partition), 0) + 1

    def _failed_to_connect(self, error: Any) -> None:
        if error.name() in REFUSED:
            self._refusal = error

    def _check(self) -> None:
        if self._failed:
            raise self._send_error()
        if self._refusal is not None:
            raise refused(USER, dict(self._sink.properties)["bootstrap.servers"], self._refusal)

    def _send_error(self) -> SendError:
        failed, self._failed = self._failed, {}
        return SendError(
            f"{self._name}: a record could not be written {self._reason}.",
            {f"{topic}-{partition}": count for (topic, partition), count in failed.items()},
        )


class _Context(KafkaSinkContext):
    """Asks the brokers for partitions, once for each topic."""

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
    def __init__(self, timeZone: str) -> None:
        self._line = JsonLine(timeZone)

    def serialize(self, element: Any) -> bytes:
        return self._line(element).encode("utf-8", "replace")


def _serializer(
    schema: KafkaRecordSerializationSchema[Any], timeZone: str
) -> KafkaRecordSerializationSchema[Any]:
    """``schema`` with a working JSON serializer in place of the description of one."""
    if not isinstance(schema, BuiltSerialization):
        return schema

    def filled(part: Any) -> Any:
        return _JsonSerialization(timeZone) if isinstance(part, JsonSerializationSchema) else part

    return replace(
        schema, valueSchema=filled(schema.valueSchema), keySchema=filled(schema.keySchema)
    )
