"""``OffsetsInitializer``: where the partitions of a Kafka source begin and end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from flinkish.api.arguments import instance, member, time_in_millis, whole_number
from flinkish.api.connectors.kafka.records import TopicPartition, checked_partition
from flinkish.api.errors import IllegalArgumentError


class OffsetResetStrategy(Enum):
    """The offset at which to continue if the wanted one does not exist (Kafka:
    ``OffsetResetStrategy``): at the first record, at the end, or not at all: the job fails."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "none"


class Place(Enum):
    """How an ``OffsetsInitializer`` chooses offsets."""

    EARLIEST = "earliest"
    LATEST = "latest"
    TIMESTAMP = "timestamp"
    OFFSETS = "offsets"
    COMMITTED = "committed"


@dataclass(frozen=True)
class OffsetsInitializer:
    """The offsets at which partitions begin, or end (Flink: ``OffsetsInitializer``). Created by its
    static methods."""

    place: Place
    timestampMillis: int = 0
    partitionOffsets: tuple[tuple[TopicPartition, int], ...] = ()
    offsetResetStrategy: OffsetResetStrategy = OffsetResetStrategy.EARLIEST

    def __post_init__(self) -> None:
        fix = "Call OffsetsInitializer.earliest() or another of its static methods."
        instance("OffsetsInitializer", self.place, Place, fix)

    @staticmethod
    def earliest() -> OffsetsInitializer:
        """Begin at the first record of each partition."""
        return OffsetsInitializer(Place.EARLIEST)

    @staticmethod
    def latest() -> OffsetsInitializer:
        """The end that each partition has when the job starts."""
        reset = OffsetResetStrategy.LATEST
        return OffsetsInitializer(Place.LATEST, offsetResetStrategy=reset)

    @staticmethod
    def timestamp(timestamp: int) -> OffsetsInitializer:
        """The first record whose timestamp in ms is ``timestamp`` or higher, else the end."""
        time_in_millis("OffsetsInitializer.timestamp", timestamp)
        reset = OffsetResetStrategy.LATEST
        return OffsetsInitializer(Place.TIMESTAMP, timestamp, offsetResetStrategy=reset)

    @staticmethod
    def offsets(
        offsets: Mapping[TopicPartition, int],
        offsetResetStrategy: OffsetResetStrategy = OffsetResetStrategy.EARLIEST,
    ) -> OffsetsInitializer:
        """The given offsets. Other partitions begin at the committed offset of the source's group,
        if it has one. ``offsetResetStrategy`` decides for partitions without either, and if an
        offset does not exist."""
        subject = "OffsetsInitializer.offsets"
        instance(subject, offsets, Mapping, 'Pass a dict such as {TopicPartition("t", 0): 42}.')
        if not offsets:
            raise IllegalArgumentError(
                f'{subject}: there are none. Pass a dict such as {{TopicPartition("t", 0): 42}}.'
            )
        pairs = tuple(
            (checked_partition(subject, partition), whole_number(subject, offset))
            for partition, offset in offsets.items()
        )
        strategy = member(subject, offsetResetStrategy, OffsetResetStrategy)
        return OffsetsInitializer(Place.OFFSETS, 0, pairs, strategy)

    @staticmethod
    def committedOffsets(
        offsetResetStrategy: OffsetResetStrategy = OffsetResetStrategy.NONE,
    ) -> OffsetsInitializer:
        """The committed offsets of the source's group; ``offsetResetStrategy`` decides for
        partitions without one, and if an offset no longer exists."""
        subject = "OffsetsInitializer.committedOffsets"
        strategy = member(subject, offsetResetStrategy, OffsetResetStrategy)
        return OffsetsInitializer(Place.COMMITTED, 0, (), strategy)

    def getAutoOffsetResetStrategy(self) -> OffsetResetStrategy:
        """The strategy for an offset that no longer exists."""
        return self.offsetResetStrategy
