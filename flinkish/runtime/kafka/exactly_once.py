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

from flinkish.api.connectors.kafka.serialization import BuiltSerialization
from flinkish.api.connectors.kafka.sink import DeliveryGuarantee, KafkaSink
from flinkish.api.errors import InvalidProgramError
from flinkish.runtime.kafka.client import LOG
from flinkish.runtime.kafka.transactions import (
    SinkRun,
    Transactions,
    WriterGroup,
    last_batch,
)
from flinkish.runtime.kafka.writer import USER, FencedError, KafkaWriter, open_producer
from flinkish.runtime.records.records import Records
from flinkish.runtime.sinks.batch_writer import SendCounts

_AT_A_TIME = 8
"""The number of ids that a run fences at a time."""

_TRIES = 3


def transactional_id(sink: KafkaSink[Any], number: int) -> str:
    """The transactional id of a writer."""
    return f"{sink.transactionalIdPrefix}-writer-{number}"


def _group(sink: KafkaSink[Any], number: int) -> str:
    return f"flinkish-{transactional_id(sink, number)}"


def begin_run(sink: KafkaSink[Any], job: str, writers: int) -> SinkRun:
    """Begin a run of a job whose sink has ``writers`` writers: abort the transactions that earlier
    runs with the prefix left open, and fence their writers."""
    prefix = sink.transactionalIdPrefix
    # Earlier versions had a single writer, on the driver
    written = last_batch(_opened(sink, prefix, f"flinkish-{prefix}").initialise(), job)
    opened: list[_OpenedWriter] = []
    used = latest = 0
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        while len(opened) < max(used, writers):
            # Earlier runs may have had more writers; their marks say how many, and are final only
            # once fenced
            numbers = range(len(opened), max(used, writers))
            opened += pool.map(partial(_OpenedWriter, sink), numbers)
            runs = [mark.run for each in opened for mark in each.marks]
            latest = max((run.number for run in runs), default=0)
            used = max((run.writers for run in runs), default=0)
        run = SinkRun(job, latest + 1, uuid.uuid4().hex, writers, written)
        topic = _topic(sink)
        list(pool.map(lambda each: each.register(run, topic), opened))
    return run


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
        """Record in the marks that ``run`` has begun. Without a mark or a ``topic`` there is
        nowhere to record it."""
        for _ in range(_TRIES):
            if any(mark.run.number >= run.number for mark in self.marks):
                break
            topics = [mark.topic for mark in self.marks] or ([] if topic is None else [topic])
            if not topics:
                return
            try:
                self._transactions.begin()
                self._transactions.commit(topics, last_batch(self.marks, run.job) + 1, run)
                return
            except FencedError:
                # A late task of an earlier run has opened its writer in the meantime
                self._open()
        raise FencedError(self._sink)


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
        known = run.number, run.identity
        if any(
            mark.run.number >= run.number and (mark.run.number, mark.run.identity) != known
            for mark in marks
        ):
            raise FencedError(sink)
        self._written = max(last_batch(marks, run.job), run.written)

    @staticmethod
    def alone(sink: KafkaSink[Any], name: str, job: str, timeZone: str) -> ExactlyOnceWriter:
        """The only writer of a new run."""
        return ExactlyOnceWriter(sink, name, timeZone, begin_run(sink, job, 1), 0)

    def write(self, runs: Iterable[Records], batchId: int) -> SendCounts:
        if batchId <= self._written:
            LOG.info("%s: the batch %d has been written already", USER, batchId)
            return SendCounts(0, 0)
        with self._transaction(batchId) as topics:
            sent = self._send(runs, topics)
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
