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
from collections.abc import Callable
from typing import Any

from flinkish import (
    DeliveryGuarantee,
    KafkaRecordSerializationSchema,
    KafkaSink,
    SimpleStringSchema,
)
from flinkish.runtime.kafka.writer import KafkaWriter
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


class Killed(KafkaWriter):
    """Dies at a moment of the transaction of a batch."""

    moment = ""

    def _ended(self, what: str, call: Callable[..., Any]) -> None:
        commits = call == self._producer.commit_transaction
        if commits and self.moment == "before":
            self._producer.flush()
            die()
        if commits and self.moment == "between":
            # The request to commit is on its way, and perhaps answered
            threading.Thread(target=super()._ended, args=(what, call), daemon=True).start()
            time.sleep(0.002)
            die()
        super()._ended(what, call)
        if commits and self.moment == "after":
            die()


def main(servers: str, topic: str, batches: int, moment: str, killed: int, first: int) -> None:
    """Write the batches from ``first`` on."""
    writer = Killed(exactly_once(servers, topic), "Writer", "the job", "UTC")
    for batch in range(first, batches):
        writer.moment = moment if batch == killed else ""
        texts = [f"{batch}:{number}" for number in range(RECORDS)]
        writer.write([untimed(texts)], batch)
        print(batch, flush=True)
    writer.close()


if __name__ == "__main__":
    servers, topic, batches, moment, killed, first = sys.argv[1:]
    main(servers, topic, int(batches), moment, int(killed), int(first))
