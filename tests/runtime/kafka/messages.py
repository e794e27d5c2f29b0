"""Messages for decoders, without Kafka."""

from __future__ import annotations

import pickle

import cloudpickle

from flinkish import MalformedKafkaRecord
from flinkish.runtime.kafka.messages import MessageDecoder, Messages
from flinkish.runtime.records.records import Records


class Message:
    """The part of the messages of Kafka's client that the decoder uses."""

    def __init__(self, offset: int, value: bytes | None) -> None:
        self.found = offset, value

    def offset(self) -> int:
        return self.found[0]

    def value(self) -> bytes | None:
        return self.found[1]

    def key(self) -> bytes:
        return b"key"

    def timestamp(self) -> tuple[int, int]:
        return 1, 1000 + self.found[0]


def results(
    decoder: MessageDecoder, *values: bytes | None
) -> tuple[list[Records], list[MalformedKafkaRecord]]:
    """Return the results of a worker's copy of ``decoder`` for messages of the partition
    sales-3."""
    copied: MessageDecoder = pickle.loads(cloudpickle.dumps(decoder))
    messages = Messages("sales", 3, [Message(n, value) for n, value in enumerate(values)])
    runs: list[Records] = []
    malformed: list[MalformedKafkaRecord] = []
    for found in copied.decode(messages):
        if isinstance(found, MalformedKafkaRecord):
            malformed.append(found)
        else:
            assert isinstance(found, Records)
            runs.append(found)
    return runs, malformed
