"""``KafkaReader``: reads a range of offsets of a partition, in the worker."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from flinkish.api.connectors.kafka.offsets import OffsetResetStrategy
from flinkish.api.connectors.kafka.source import KafkaSource
from flinkish.api.errors import JobExecutionError
from flinkish.runtime.formats.base import ReadResult
from flinkish.runtime.kafka.broker_view import USER
from flinkish.runtime.kafka.client import (
    LOG,
    READING,
    client_properties,
    confluent_kafka,
    is_transient,
    number_property,
    opened,
)
from flinkish.runtime.kafka.decoding import message_decoder
from flinkish.runtime.kafka.messages import Messages, asked
from flinkish.runtime.kafka.planner import KafkaRange
from flinkish.runtime.records.frames import SplitMark

MESSAGES_A_RUN = 20_000

_WAIT_SECONDS = 0.05

_PATIENCE_MILLIS = 60_000
"""The time a range may return nothing: Java's default of default.api.timeout.ms."""

_OWN_PROPERTIES = {
    "enable.auto.commit": "false",
    "enable.partition.eof": "true",
    "auto.offset.reset": "error",
}

_DEFAULTS = {
    **READING,
    # A planned range exists already, so a broker never has to wait for records.
    "fetch.wait.max.ms": "10",
    "fetch.queue.backoff.ms": "5",
    "queued.min.messages": "200000",
}


class KafkaReader:
    """Reads the ranges of a source one after another, with one consumer, which stays open between batches."""

    def __init__(self, source: KafkaSource[Any], timeZone: str) -> None:
        self._properties = source.properties
        self._reset = source.startingOffsets.offsetResetStrategy
        out = source.malformedRecords is not None
        self._decoder = message_decoder(source.deserializer, timeZone, out)
        self._patience = (
            number_property(USER, source.properties, "default.api.timeout.ms", _PATIENCE_MILLIS)
            / 1000
        )
        self._consumer: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_consumer": None}

    def read(self, *piece: Any) -> Iterator[ReadResult]:
        """The records of a range, between the marks of its split."""
        found = KafkaRange(*piece)
        name = f"{found.topic}-{found.partition}"
        yield SplitMark(name)
        if found.end > found.start:
            for messages in self._runs(found):
                yield from self._decoder.decode(messages)
        if found.finished:
            yield SplitMark(name, finished=True)

    def close(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    def _runs(self, found: KafkaRange) -> Iterator[Messages]:
        kafka, consumer = confluent_kafka(USER), self._opened()
        end_of_partition = kafka.KafkaError._PARTITION_EOF
        following = found.start
        consumer.assign([kafka.TopicPartition(found.topic, found.partition, following)])
        until = time.monotonic() + self._patience
        last_error: Any = None
        try:
            while following < found.end:
                wanted = min(found.end - following, MESSAGES_A_RUN)
                messages = consumer.consume(wanted, _WAIT_SECONDS)
                if not messages:
                    if time.monotonic() > until:
                        raise self._silent(found, following, last_error)
                    continue
                errors = asked(messages, "error")
                # Not with count(None), as Kafka's errors cannot be compared with None
                events = [m for m, error in zip(messages, errors) if error is not None]
                if events:
                    messages = [m for m, error in zip(messages, errors) if error is None]
                # Offsets have gaps, from compacted records and from the markers that end
                # transactions
                if messages and messages[-1].offset() >= found.end:
                    messages = [m for m in messages if m.offset() < found.end]
                    following = found.end
                elif messages:
                    following = messages[-1].offset() + 1
                if messages:
                    until = time.monotonic() + self._patience
                    yield Messages(found.topic, found.partition, messages)
                for event in events:
                    error = event.error()
                    if error.code() == end_of_partition:
                        following = max(following, event.offset())
                        if following < found.end and not messages:
                            time.sleep(_WAIT_SECONDS / 5)
                    elif error.code() == kafka.KafkaError._AUTO_OFFSET_RESET:
                        following = self._reset_to(consumer, found, following)
                    elif is_transient(error):
                        last_error = error.str()
                    else:
                        raise JobExecutionError(
                            f"{USER}: {found.topic}-{found.partition} cannot be read at offset"
                            f" {following}: {error.str()}."
                        )
        finally:
            consumer.unassign()

    def _reset_to(self, consumer: Any, found: KafkaRange, following: int) -> int:
        """The offset at which to continue when records of the range do not exist any more."""
        kafka = confluent_kafka(USER)
        partition = kafka.TopicPartition(found.topic, found.partition)
        first: int = consumer.get_watermark_offsets(partition, timeout=self._patience)[0]
        if first <= following or self._reset is OffsetResetStrategy.NONE:
            raise JobExecutionError(
                f"{USER}: the offset {following} of {found.topic}-{found.partition} does not exist any more:"
                f" the partition begins at {first}. Let the topic keep its records longer, or start afresh"
                " with another checkpoint directory."
            )
        LOG.warning(
            "%s: the offsets %d to %d of %s-%d do not exist any more, and are skipped",
            *(USER, following, min(first, found.end) - 1, found.topic, found.partition),
        )
        if first < found.end:
            consumer.assign([kafka.TopicPartition(found.topic, found.partition, first)])
        return min(first, found.end)

    def _silent(self, found: KafkaRange, following: int, last_error: Any) -> JobExecutionError:
        reason = f" The last error was: {last_error}." if last_error else ""
        return JobExecutionError(
            f"{USER}: {found.topic}-{found.partition} has returned nothing from offset {following} on for"
            f" {self._patience:.0f} s, and was to be read up to {found.end}.{reason} Check the brokers, or"
            " raise default.api.timeout.ms with setProperty, and start the job again: it continues there."
        )

    def _opened(self) -> Any:
        if self._consumer is None:
            given = client_properties(USER, self._properties)
            properties = {**_DEFAULTS, **given, **_OWN_PROPERTIES}
            self._consumer = opened(USER, confluent_kafka(USER).Consumer, properties)
        return self._consumer
