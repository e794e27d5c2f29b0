"""Writes batches to a topic exactly once, and is killed: ``python -m tests.kafka.killed_writer``.

Arguments: the brokers, the topic, how many batches the job has, the moment and the batch of the kill, and the
first batch to write, which is the one that an engine has not committed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from flinkish import (
    DeliveryGuarantee,
    KafkaRecordSerializationSchema,
    KafkaSink,
    SimpleStringSchema,
)
from flinkish.runtime.kafka.exactly_once import ExactlyOnceWriter
from flinkish.runtime.kafka.transactions import SinkRun, Transactions
from flinkish.runtime.records.records import untimed

MOMENTS = ("before", "between", "after")
RECORDS = 200


def exactly_once(servers: str, topic: str) -> KafkaSink[str]:
    """A sink of texts."""
    schema = KafkaRecordSerializationSchema.builder().setTopic(topic)
    return (
        KafkaSink.builder()
        .setBootstrapServers(servers)
        .setRecordSerializer(schema.setValueSerializationSchema(SimpleStringSchema()).build())
        .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .setTransactionalIdPrefix(topic)
        .build()
    )


def die() -> None:
    """``kill -9`` of this process."""
    os.kill(os.getpid(), signal.SIGKILL)


def kill_at(moment: str, batch: int, die: Callable[[], None] = die) -> None:
    """Let this process ``die`` at a moment of the transaction of a batch."""
    commit, ended = Transactions.commit, Transactions.ended

    def commit_or_die(self: Transactions, topics: Sequence[str], offset: int, run: SinkRun) -> None:
        setattr(self, "dies", offset == batch + 1)  # noqa: B010 - it has no such attribute
        commit(self, topics, offset, run)

    def ended_or_dead(self: Transactions, what: str, call: Callable[..., Any]) -> None:
        dies = getattr(self, "dies", False) and call == self._producer.commit_transaction
        if dies and moment == "before":
            self._producer.flush()
            die()
        if dies and moment == "between":
            # The request to commit is on its way, and perhaps answered
            threading.Thread(target=ended, args=(self, what, call), daemon=True).start()
            time.sleep(0.002)
            die()
        ended(self, what, call)
        if dies and moment == "after":
            die()

    setattr(Transactions, "commit", commit_or_die)  # noqa: B010 - mypy sees no assignment to a method
    setattr(Transactions, "ended", ended_or_dead)  # noqa: B010


def main(servers: str, topic: str, batches: int, moment: str, killed: int, first: int) -> None:
    """Write the batches from ``first`` on."""
    kill_at(moment, killed)
    writer = ExactlyOnceWriter.alone(exactly_once(servers, topic), "Writer", "the job", "UTC")
    for batch in range(first, batches):
        texts = [f"{batch}:{number}" for number in range(RECORDS)]
        writer.write([untimed(texts)], batch)
        print(batch, flush=True)
    writer.close()


if __name__ == "__main__":
    servers, topic, batches, moment, killed, first = sys.argv[1:]
    main(servers, topic, int(batches), moment, int(killed), int(first))
