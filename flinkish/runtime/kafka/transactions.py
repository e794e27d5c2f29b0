"""``Transactions``: the transactions of one writer of a ``KafkaSink``, and the marks by which a
batch is recognised.

A *mark* is committed in the transaction of each batch, as an offset of the writer's own group: it
contains the number of the batch and the run that wrote it. Marks are final only after
``init_transactions``, which ends the transactions that an earlier producer of the same id has left
open, and fences that producer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

from flinkish.api.connectors.kafka.sink import KafkaSink
from flinkish.api.errors import JobExecutionError
from flinkish.runtime.kafka.client import (
    LOG,
    client_properties,
    confluent_kafka,
    is_transient,
    number_property,
    opened_quietly,
)
from flinkish.runtime.kafka.writer import USER, kafka_error

_BLOCK_MILLIS = 60_000
"""The timeout of transactions for begin and end: Java's default of max.block.ms."""

_PAUSE_SECONDS = 0.05

T = TypeVar("T")


@dataclass(frozen=True)
class SinkRun:
    """A run of a job, as the writers of a sink know it. ``job`` is the same for all runs that
    continue from a checkpoint, ``number`` is higher than that of all earlier runs with the prefix,
    and ``identity`` distinguishes runs that began at the same time. ``writers``: how many the sink
    has. ``written``: the last batch that was written by a version of flinkish whose driver wrote
    whole batches."""

    job: str
    number: int
    identity: str
    writers: int
    written: int = -1

    @property
    def text(self) -> str:
        return f"{self.job} {self.number} {self.identity} {self.writers}"


class Mark(NamedTuple):
    """A writer's last commit to a topic: ``run`` has written the batches below ``offset``."""

    topic: str
    offset: int
    run: SinkRun


def _mark(topic: str, offset: int, text: str) -> Mark:
    parts = text.rsplit(" ", 3)
    if len(parts) == 4 and parts[1].isdigit() and parts[3].isdigit():
        return Mark(topic, offset, SinkRun(parts[0], int(parts[1]), parts[2], int(parts[3])))
    # From a version that had one writer, and stored the job alone
    return Mark(topic, offset, SinkRun(text, 0, "", 1))


def has_successor(run: SinkRun, marks: Iterable[Mark]) -> bool:
    """Whether a run that began after ``run``, or at the same time, has left one of ``marks``."""
    return any(m.run.number >= run.number and m.run.identity != run.identity for m in marks)


def last_batch(marks: Iterable[Mark], job: str) -> int:
    """The last batch of ``job`` that is committed; -1 if there is none."""
    return max((mark.offset for mark in marks if mark.run.job == job), default=0) - 1


class WriterGroup:
    """The group of one writer of a sink, which contains its marks."""

    def __init__(self, sink: KafkaSink[Any], name: str) -> None:
        self._sink = sink
        self._kafka = confluent_kafka(USER)
        self.patience = number_property(USER, sink.properties, "max.block.ms", _BLOCK_MILLIS) / 1000
        self._name = name
        self.metadata: Any = None
        """The group's metadata for transactions, set by ``marks``."""

    def topics(self) -> list[str]:
        return self._asked(lambda consumer, left: list(consumer.list_topics(timeout=left).topics))

    def marks(self) -> list[Mark]:
        """The committed marks, each with a topic that the batch was written to."""

        # With a consumer, as the AdminClient's request for offsets ends the process when the group
        # has just moved to another broker
        def ask(consumer: Any, left: float) -> list[Mark]:
            self.metadata = consumer.consumer_group_metadata()
            topics = consumer.list_topics(timeout=left).topics
            asked = [self._kafka.TopicPartition(name, 0) for name in topics]
            found = consumer.committed(asked, timeout=left) if asked else []
            for each in found:
                if each.error is not None:
                    raise self._kafka.KafkaException(each.error)
            there = [each for each in found if each.offset >= 0]
            return [_mark(each.topic, each.offset, each.metadata or "") for each in there]

        return self._asked(ask)

    def _asked(self, ask: Callable[[Any, float], T]) -> T:
        given = _of_every_client(client_properties(USER, self._sink.properties))
        own = {"group.id": self._name, "isolation.level": "read_committed"}
        consumer = opened_quietly(USER, self._kafka.Consumer, {**given, **own})
        until = time.monotonic() + self.patience
        try:
            while True:
                try:
                    return ask(consumer, max(until - time.monotonic(), 1.0))
                except self._kafka.KafkaException as error:
                    if not is_transient(error.args[0]) or time.monotonic() > until:
                        raise kafka_error(self._sink, "look for the last batch", error) from None
                    time.sleep(_PAUSE_SECONDS)
        finally:
            consumer.close()


_GRACE_SECONDS = 5.0

_STUCK: list[Any] = []
"""Producers with a call that has not returned."""


class Transactions:
    """The transactions of ``producer``, which shares its transactional id with no other."""

    def __init__(self, sink: KafkaSink[Any], producer: Any, group: str) -> None:
        self._sink = sink
        self._producer = producer
        self._kafka = confluent_kafka(USER)
        self.group = WriterGroup(sink, group)

    def initialise(self) -> list[Mark]:
        """Fence earlier producers with this id, end their transactions, and return their marks."""
        self.ended("begin", self._producer.init_transactions)
        return self.group.marks()

    def begin(self) -> None:
        self.ended("begin", lambda *_: self._producer.begin_transaction())

    def commit(self, topics: Sequence[str], offset: int, run: SinkRun) -> None:
        """Commit the records sent to ``topics``, with a mark."""
        if topics:
            # Brokers refuse offsets of topics that do not exist; any topic that was written to will
            # do.
            mark = self._kafka.TopicPartition(min(topics), 0, offset, run.text)
            self.ended(
                "commit",
                lambda *left: self._producer.send_offsets_to_transaction(
                    [mark], self.group.metadata, *left
                ),
            )
        self.ended("commit", self._producer.commit_transaction)

    def abort(self) -> None:
        if any(stuck is self._producer for stuck in _STUCK):
            return
        try:
            self._producer.purge()
            self._producer.abort_transaction(self.group.patience)
            self._producer.poll(0)
        except Exception:  # fenced, or the broker is away: the next init_transactions ends it
            LOG.debug("a transaction could not be aborted", exc_info=True)

    def ended(self, what: str, call: Callable[..., Any]) -> None:
        """Call ``call(seconds)``, and retry as long as Kafka calls its error retriable."""
        until = time.monotonic() + self.group.patience
        while True:
            left = max(until - time.monotonic(), 1.0)
            try:
                in_time(partial(call, left), left + _GRACE_SECONDS)
                return
            except self._kafka.KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > until:
                    raise kafka_error(self._sink, what, error) from None
            except TimeoutError:
                # Never freed, as freeing a producer waits for its calls
                _STUCK.append(self._producer)
                raise JobExecutionError(
                    f"{USER}: Kafka did not {what} a transaction, and its client has not given up after"
                    f" {left:.0f} s (max.block.ms). Look whether the brokers can be reached; a restart strategy"
                    " continues from the checkpoint."
                ) from None


def in_time(call: Callable[[], T], seconds: float) -> T:
    """Return the result of ``call``, which has no timeout itself: a request for the coordinator of
    a group that is sent while its broker shuts down may never be answered. Raises TimeoutError, and
    ``call`` keeps running in its thread."""
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(call())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name="flinkish transaction", daemon=True).start()
    return done.result(seconds)


def _of_every_client(properties: dict[str, Any]) -> dict[str, Any]:
    """The properties that say how to reach the brokers."""
    begin = ("bootstrap.", "security.", "sasl.", "ssl.", "socket.", "client.", "enable.ssl")
    return {name: value for name, value in properties.items() if name.startswith(begin)}
