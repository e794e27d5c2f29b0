"""Messages of Kafka, the interface of their decoders, and the makers of objects of what these parse."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from flinkish.api.connectors.kafka.records import ConsumerRecord, MalformedKafkaRecord
from flinkish.api.types.type_info import TypeInformation
from flinkish.runtime.formats.base import ReadResult
from flinkish.runtime.records.records import NO_TIMESTAMP


@dataclass(frozen=True)
class Messages:
    """Messages of one partition, in order; each is a ``confluent_kafka.Message``."""

    topic: str
    partition: int
    messages: Sequence[Any]

    def __len__(self) -> int:
        return len(self.messages)

    def timestamps(self) -> list[int]:
        """The timestamps of the messages, in ms."""
        if not self.messages:
            return []
        kinds, times = zip(*asked(self.messages, "timestamp"))
        if 0 not in kinds:
            return list(times)
        return [time if kind else NO_TIMESTAMP for kind, time in zip(kinds, times)]

    def values(self) -> list[Any]:
        """The values of the messages; None for a message without one."""
        return asked(self.messages, "value")

    def withValues(self) -> Messages:
        """The messages that have a value."""
        values = self.values()
        if None not in values:
            return self
        return replace(self, messages=[m for m, v in zip(self.messages, values) if v is not None])

    def halves(self) -> tuple[Messages, Messages]:
        middle, all_ = len(self.messages) // 2, self.messages
        return replace(self, messages=all_[:middle]), replace(self, messages=all_[middle:])

    def record(self, message: Any) -> ConsumerRecord:
        kind, time = message.timestamp()
        return ConsumerRecord(
            self.topic,
            self.partition,
            message.offset(),
            time if kind else NO_TIMESTAMP,
            message.key(),
            message.value(),
            tuple(message.headers() or ()),
        )

    def malformed(self, message: Any, reason: str) -> MalformedKafkaRecord:
        """The malformed record for a message that does not fit."""
        return MalformedKafkaRecord(
            f"{self.topic}-{self.partition}",
            None,
            message.offset(),
            message.value() or b"",
            reason,
            self.topic,
            self.partition,
            message.key(),
        )


def asked(messages: Sequence[Any], method: str) -> list[Any]:
    """The results of calling ``method`` on each message, in a loop in C, as there are millions."""
    return list(map(getattr(type(messages[0]), method), messages)) if messages else []


class MessageDecoder(ABC):
    """Converts messages to records; it is pickled for the workers."""

    @abstractmethod
    def decode(self, messages: Messages) -> Iterator[ReadResult]:
        """The records of ``messages`` in order, with Kafka's timestamps, then those that do not fit."""


Maker: TypeAlias = Callable[[Any], Any]


def maker(
    composite: Callable[[TypeInformation[Any], Sequence[Maker]], Maker], kind: TypeInformation[Any]
) -> Maker:
    """The function that converts a value of lists, dicts and texts to an object of ``kind``.
    ``composite`` returns it for a type with fields, given the functions for these."""
    children = [maker(composite, child) for child in kind.children]
    if kind.isComposite():
        return composite(kind, children)
    if kind.kind == "Enum" and kind.typeClass is not None:
        members = kind.typeClass
        return lambda name: None if name is None else members[name]
    if kind.kind in ("List", "Array") and children:
        return lambda values: None if values is None else [children[0](v) for v in values]
    if kind.kind == "Map":
        return lambda items: (
            None if items is None else {k: children[1](v) for k, v in items.items()}
        )
    return lambda value: value
