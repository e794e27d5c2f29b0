"""``ExactlyOnceWriter``: writes its part of each batch in a separate transaction.

A sink has a number of writers, each with a transactional id and a group for its marks
(``transactions``). A run of the job first fences all ids that any earlier run may have used, and
registers itself with each. If a task of an earlier run opens its writer only after that, it finds
the registration and writes nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

from flinkish.api.connectors.kafka.records import TopicPartition
from flinkish.api.connectors.kafka.serialization import BuiltSerialization
from flinkish.api.connectors.kafka.sink import DeliveryGuarantee, KafkaSink
from flinkish.api.connectors.kafka.source import Subscription
from flinkish.api.errors import InvalidProgramError, JobExecutionError, ProducerFencedError
from flinkish.runtime.kafka.broker_view import BrokerView
from flinkish.runtime.kafka.client import LOG
from flinkish.runtime.kafka.transactions import (
    Mark,
    SinkRun,
    Transactions,
    WriterGroup,
    has_successor,
    last_batch,
)
from flinkish.runtime.kafka.writer import USER, KafkaWriter, fenced, open_producer
from flinkish.runtime.records.records import Records
from flinkish.runtime.sinks.batch_writer import SendCounts

_AT_A_TIME = 8
"""The number of ids that a run fences at a time."""

_TRIES = 3


def transactional_id(sink: KafkaSink[Any], number: int) -> str:
    return f"{sink.transactionalIdPrefix}-writer-{number}"


def _group(sink: KafkaSink[Any], number: int) -> str:
    return f"flinkish-{transactional_id(sink, number)}"


def begin_run(sink: KafkaSink[Any], job: str, writers: int) -> SinkRun:
    """Begin a run of a job whose sink has ``writers`` writers: abort the transactions that earlier
    runs with the prefix left open, and fence their writers."""
    prefix = sink.transactionalIdPrefix
    # Earlier versions had a single writer, on the driver
    written = last_batch(_opened(sink, prefix, f"flinkish-{prefix}").initialise(), job)
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        opened = _fenced_writers(sink, writers, pool)
        latest = max((mark.run.number for each in opened for mark in each.marks), default=0)
        run = SinkRun(job, latest + 1, uuid.uuid4().hex, writers, written)
        topic = _topic(sink)
        list(pool.map(lambda each: each.register(run, topic), opened))
    return run


def end_run(sink: KafkaSink[Any], run: SinkRun) -> None:
    """Abort the transactions that writers of ``run`` have left open, unless a later run has begun."""
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        if not has_successor(run, _marks(sink, run.writers, pool)):
            list(pool.map(partial(_OpenedWriter, sink), range(run.writers)))


def abort_transactions(sink: KafkaSink[Any], writers: int) -> int:
    """Abort the transactions that any run with the prefix of ``sink`` has left open, and fence its
    writers, ``writers`` or more; returns how many these are."""
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        return len(_fenced_writers(sink, writers, pool))


def awaited_offsets(sink: KafkaSink[Any], writers: int) -> dict[TopicPartition, int]:
    """The partitions in which a transaction is open, each with the offset at which readers of
    committed records wait for its end: of the topics that ``sink`` has written to, or of all topics if
    it has committed nothing yet."""
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        topics = {mark.topic for mark in _marks(sink, writers, pool)}
    committed, sent = (
        BrokerView((*sink.properties, ("isolation.level", level)))
        for level in ("read_committed", "read_uncommitted")
    )
    asked = Subscription(tuple(topics)) if topics else Subscription(pattern=".*")
    partitions = sent.partitions(asked)
    ends, offsets = sent.ends(partitions), committed.ends(partitions)
    return {key: offset for key, offset in offsets.items() if offset < ends[key]}


def _marks(sink: KafkaSink[Any], writers: int, pool: ThreadPoolExecutor) -> list[Mark]:
    """The marks that writers have left, which are not fenced."""
    found = pool.map(lambda n: WriterGroup(sink, _group(sink, n)).marks(), range(writers))
    return [mark for marks in found for mark in marks]


def _fenced_writers(
    sink: KafkaSink[Any], writers: int, pool: ThreadPoolExecutor
) -> list[_OpenedWriter]:
    """Fence ``writers`` writers, or all that earlier runs have had if these are more."""
    opened: list[_OpenedWriter] = []
    used = 0
    while len(opened) < max(used, writers):
        # The marks say how many there were, and are final only once fenced
        opened += pool.map(partial(_OpenedWriter, sink), range(len(opened), max(used, writers)))
        used = max((mark.run.writers for each in opened for mark in each.marks), default=0)
    return opened


def _topic(sink: KafkaSink[Any]) -> str | None:
    """The topic that all elements go to, if it is known and exists."""
    serializer = sink.serializer
    topic = serializer.topic if isinstance(serializer, BuiltSerialization) else None
    return topic if topic in WriterGroup(sink, _group(sink, 0)).topics() else None


class _OpenedWriter:
    """A fenced writer of earlier runs, and the marks that it left."""

    def __init__(self, sink: KafkaSink[Any], number: int) -> None:
        self._sink = sink
        self._number = number
        self._open()

    def _open(self) -> None:
        name = transactional_id(self._sink, self._number)
        self._transactions = _opened(self._sink, name, _group(self._sink, self._number))
        self.marks = self._transactions.initialise()

    def register(self, run: SinkRun, topic: str | None) -> None:
        """Record in the marks that ``run`` has begun; not without a mark or a ``topic``."""
        for _ in range(_TRIES):
            if has_successor(run, self.marks):
                raise fenced(self._sink)
            topics = [mark.topic for mark in self.marks] or ([] if topic is None else [topic])
            if not topics:
                return
            try:
                self._transactions.begin()
                self._transactions.commit(topics, last_batch(self.marks, run.job) + 1, run)
                return
            except ProducerFencedError:
                # A late task of an earlier run has opened its writer in the meantime
                self._open()
        raise _interrupted(self._sink)


def _opened(sink: KafkaSink[Any], transactionalId: str, group: str) -> Transactions:
    producer = open_producer(sink, {"transactional.id": transactionalId})
    return Transactions(sink, producer, group)


class ExactlyOnceWriter(KafkaWriter):
    """One writer of a sink, the ``number``-th of a run. A batch that it has committed is not
    written again, so its part of a batch must always be the same."""

    def __init__(
        self, sink: KafkaSink[Any], name: str, timeZone: str, run: SinkRun, number: int
    ) -> None:
        own = {"transactional.id": transactional_id(sink, number)}
        super().__init__(sink, name, timeZone, own)
        self.identity = uuid.uuid4().hex
        """Identifies the last writer to open the transactional id, which is not fenced."""
        self._run = run
        self.beginTask(number, run.writers)
        self._transactions = Transactions(sink, self._producer, _group(sink, number))
        marks = self._transactions.initialise()
        if has_successor(run, marks):
            raise fenced(sink)
        self._written = max(last_batch(marks, run.job), run.written)

    @staticmethod
    def alone(sink: KafkaSink[Any], name: str, job: str, timeZone: str) -> ExactlyOnceWriter:
        """The only writer of a new run."""
        return ExactlyOnceWriter(sink, name, timeZone, begin_run(sink, job, 1), 0)

    def write(self, runs: Iterable[Records], batchId: int) -> SendCounts:
        if batchId <= self._written:
            LOG.info("%s: the batch %d has been written already", USER, batchId)
            return SendCounts(0, 0)
        try:
            with self._transaction(batchId) as topics:
                sent = self._send(runs, topics)
        except ProducerFencedError:
            if has_successor(self._run, self._transactions.group.marks()):
                raise
            raise _interrupted(self._sink) from None
        return sent._replace(backPressuredMillis=round(self._waited * 1000))

    @contextmanager
    def _transaction(self, batchId: int) -> Iterator[dict[str, int]]:
        topics: dict[str, int] = {}
        self._transactions.begin()
        try:
            yield topics
            self._flush()
            self._transactions.commit(list(topics), batchId + 1, self._run)
        except BaseException:
            self._transactions.abort()
            self._failed.clear()
            raise
        self._written = batchId

    def _wait(self, seconds: float) -> None:
        # A producer that has been fenced raises a SystemError in flush()
        self._poll(seconds)

    def close(self) -> None:
        """Does nothing: every batch is committed or aborted by now."""


def _interrupted(sink: KafkaSink[Any]) -> JobExecutionError:
    """The error of a run that was fenced, although no other has begun."""
    return JobExecutionError(
        f"{USER}: a writer with the transactional id prefix {sink.transactionalIdPrefix!r} was fenced, although no other"
        " run has begun: its transaction was open for longer than transaction.timeout.ms, or another attempt of its"
        " task has taken its place. Set transaction.timeout.ms to more than a batch takes, up to the brokers'"
        " transaction.max.timeout.ms; a restart strategy continues from the checkpoint."
    )


def check_prefixes(sinks: Iterable[object]) -> None:
    """Raises InvalidProgramError if two sinks would fence one another."""
    seen: set[tuple[str, str]] = set()
    for sink in sinks:
        if isinstance(sink, KafkaSink) and sink.deliveryGuarantee is DeliveryGuarantee.EXACTLY_ONCE:
            name = dict(sink.properties)["bootstrap.servers"], sink.transactionalIdPrefix
            if name in seen:
                raise InvalidProgramError(
                    f"{USER}: two sinks have the transactional id prefix {name[1]!r}, and would fence one"
                    " another. Give each a different one with setTransactionalIdPrefix."
                )
            seen.add(name)
