"""``KafkaPlanner``: decides from which offset to which each batch reads the partitions of a source."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from flinkish.api.connectors.kafka.offsets import OffsetResetStrategy, OffsetsInitializer, Place
from flinkish.api.connectors.kafka.records import TopicPartition
from flinkish.api.connectors.kafka.source import KafkaSource, Properties, Subscription
from flinkish.api.errors import JobExecutionError
from flinkish.api.execution.read_progress import SourceBacklog
from flinkish.runtime.kafka.client import (
    LOG,
    client_properties,
    confluent_kafka,
    is_transient,
    number_property,
    opened_quietly,
    unreachable,
)
from flinkish.runtime.sources.planners import SourcePlanner, Step, Task

USER = "KafkaSource"

RECORDS_A_BATCH = 1_000_000
"""The most offsets that a batch reads from all partitions, unless the job sets its elements per
batch."""

FEWEST_RECORDS = 50_000
"""The fewest offsets for a task, unless a partition has no more."""

DISCOVERY_MILLIS = 300_000
"""The interval at which new partitions are discovered: Flink's default of
partition.discovery.interval.ms."""

LOOK_SECONDS = 0.02
LOOKING_PAUSE = 5
"""The ends of partitions are requested again after this many times the duration of the last
request, and not before LOOK_SECONDS."""

FIRST_ANSWER_SECONDS = 30.0
"""The timeout of a broker's first answer; after that, a job waits until the broker is
back."""

_REQUEST_SECONDS = 10.0


class KafkaRange(NamedTuple):
    """A piece of a step: the offsets of a partition from ``start`` to before ``end``. ``stop`` is where the
    partition ends for this source, None if it does not."""

    topic: str
    partition: int
    start: int
    end: int
    stop: int | None = None

    @property
    def finished(self) -> bool:
        """Whether the partition ends with this range."""
        return self.stop is not None and self.end >= self.stop


@dataclass
class _Progress:
    """The progress of planning a partition."""

    next: int
    stop: int | None
    planned: bool = False
    """Whether it has been in a step."""

    @property
    def finished(self) -> bool:
        return self.stop is not None and self.next >= self.stop


class KafkaPlanner(SourcePlanner):
    """Plans the offsets of a Kafka source, up to ``perBatch`` in a step, for ``parallelism`` tasks."""

    def __init__(self, source: KafkaSource[Any], perBatch: int | None, parallelism: int) -> None:
        self._subscription: Subscription = source.subscription
        self._properties: Properties = source.properties
        self._starting = source.startingOffsets
        self._stopping = source.stoppingOffsets
        self._bounded = source.bounded
        self._per_batch = perBatch or RECORDS_A_BATCH
        self._parallelism = parallelism
        interval = number_property(
            USER, source.properties, "partition.discovery.interval.ms", DISCOVERY_MILLIS
        )
        self._discovery_seconds = None if interval <= 0 or source.bounded else interval / 1000
        self._partitions: dict[TopicPartition, _Progress] = {}
        self._begun: dict[TopicPartition, tuple[int, int | None]] = {}
        """The offsets at which the partitions of a savepoint continue, and those at which they
        stop."""
        self._broker: BrokerView | None = None
        self._ended = False
        self._known: dict[TopicPartition, int] = {}
        """The ends of the partitions, as of the last request."""
        self._frozen = False
        self._next_look = self._next_discovery = 0.0
        self._discovered = False

    # ------------------------------------------------------------------ steps

    def plan(self) -> Step | None:
        if self._ended:
            return None
        ends = self._known if self._has_more(self._known) else self._look()
        if ends is None:
            return None
        ranges = self._ranges(ends)
        last = self._bounded and all(
            progress.finished or next((r.finished for r in ranges if _key(r) == key), False)
            for key, progress in self._partitions.items()
        )
        if not last and not any(found.end > found.start for found in ranges):
            return None
        step = Step([list(found) for found in ranges], last)
        self._take(step)
        return step

    def freeze(self) -> None:
        self._next_look = 0.0
        self._look()
        self._frozen = True

    def restore(self, snapshot: list[Any] | None, steps: Iterable[Step]) -> None:
        if snapshot is not None:
            (self._ended, self._discovered), *partitions = snapshot
            for topic, partition, following, stop in partitions:
                key = TopicPartition(topic, partition)
                self._partitions[key] = _Progress(following, stop, planned=True)
        for step in steps:
            self._take(step)

    def snapshot(self) -> list[Any]:
        planned = [
            [*key, progress.next, progress.stop]
            for key, progress in self._partitions.items()
            if progress.planned
        ]
        return [(self._ended, self._discovered), *planned]

    def position(self) -> dict[str, Any]:
        # Partitions not planned yet keep their offsets from the savepoint
        places = {key: (start, stop) for key, (start, stop) in self._begun.items()}
        for key, progress in self._partitions.items():
            if progress.planned or key not in places:
                places[key] = progress.next, progress.stop
        partitions = [[*key, start, stop] for key, (start, stop) in places.items()]
        return {"partitions": partitions, "discovered": self._discovered}

    def backlog(self) -> SourceBacklog:
        pending = 0
        for key, progress in self._partitions.items():
            end = self._known.get(key, progress.next)
            end = end if progress.stop is None else min(end, progress.stop)
            pending += max(end - progress.next, 0)
        return SourceBacklog(pendingRecords=pending)

    def begin(self, position: Mapping[str, Any]) -> None:
        self._discovered = position["discovered"]
        for topic, partition, start, stop in position["partitions"]:
            self._begun[TopicPartition(topic, partition)] = start, stop

    def tasks(self, step: Step) -> list[Task]:
        ranges = [KafkaRange(*piece) for piece in step.pieces]
        records = sum(found.end - found.start for found in ranges)
        target = max(-(-records // self._parallelism), FEWEST_RECORDS)
        tasks: list[Task] = [[]]
        room = target
        for found in ranges:
            start = found.start
            while found.end - start > room + target // 4 and len(tasks) < self._parallelism:
                tasks[-1].append(list(found._replace(start=start, end=start + room)))
                start, room = start + room, target
                tasks.append([])
            tasks[-1].append(list(found._replace(start=start)))
            room -= found.end - start
            if room <= target // 4 and len(tasks) < self._parallelism:
                tasks.append([])
                room = target
        return [task for task in tasks if task]

    def _take(self, step: Step) -> None:
        for piece in step.pieces:
            found = KafkaRange(*piece)
            self._partitions[_key(found)] = _Progress(found.end, found.stop, planned=True)
        self._ended = step.last
        self._discovered = True

    def _ranges(self, ends: dict[TopicPartition, int]) -> list[KafkaRange]:
        """The ranges to read now: a share of each partition if there is more than a batch can
        take."""
        waiting: dict[TopicPartition, int] = {}
        for key, progress in self._partitions.items():
            # A partition discovered just before the brokers went away has no end yet
            there = ends.get(key, progress.next)
            end = there if progress.stop is None else min(there, progress.stop)
            if there < progress.next and progress.planned:
                raise JobExecutionError(
                    f"{USER}: the partition {key.topic}-{key.partition} ends at offset {there}, and the"
                    f" job has read up to {progress.next}. If its topic was recreated, start with another"
                    " checkpoint directory."
                )
            waiting[key] = max(end - progress.next, 0)
        total = sum(waiting.values())
        ranges = []
        for key, count in waiting.items():
            progress = self._partitions[key]
            if total > self._per_batch:
                count = min(count, max(count * self._per_batch // total, 1))
            if count or not progress.planned:
                end = progress.next + count
                ranges.append(KafkaRange(*key, progress.next, end, progress.stop))
        return ranges

    # ------------------------------------------------------------------ the broker

    def _has_more(self, ends: dict[TopicPartition, int]) -> bool:
        """Whether there are offsets below ``ends`` that have not been planned."""
        return any(
            end > progress.next and not progress.finished
            for key, end in ends.items()
            if (progress := self._partitions.get(key)) is not None
        )

    def _look(self) -> dict[TopicPartition, int] | None:
        """The current end of each partition; None if it is too soon to ask, or no broker answers
        for a while."""
        began = time.monotonic()
        if self._frozen:
            return self._known
        if began < self._next_look:
            return None
        first = self._broker is None
        if self._broker is None:
            self._broker = BrokerView(self._properties)
        until = began + FIRST_ANSWER_SECONDS
        ends = None
        while ends is None:
            try:
                self._discover()
                ends = self._broker.ends(list(self._partitions))
            except BrokerAwayError as error:
                if not first:
                    LOG.warning("%s: no broker answers, it is asked again: %s", USER, error)
                    break
                if time.monotonic() > until:
                    raise unreachable(USER, self._broker.servers, error) from None
                time.sleep(LOOK_SECONDS)
        took = time.monotonic() - began
        self._next_look = time.monotonic() + max(LOOKING_PAUSE * min(took, 1), LOOK_SECONDS)
        self._known = ends or self._known
        return ends

    def _discover(self) -> None:
        now = time.monotonic()
        if now < self._next_discovery:
            return
        assert self._broker is not None
        found = self._broker.partitions(self._subscription)
        missing = [key for key in self._partitions if key not in found]
        if missing:
            raise JobExecutionError(
                f"{USER}: the topic {missing[0].topic!r} has no partition {missing[0].partition} any more. If"
                " it was deleted on purpose, start afresh with another checkpoint directory."
            )
        new = [key for key in found if key not in self._partitions]
        if new:
            self._add(new)
        self._discovered = True
        interval = self._discovery_seconds
        self._next_discovery = float("inf") if interval is None else now + interval

    def _add(self, new: Sequence[TopicPartition]) -> None:
        assert self._broker is not None
        # As in Flink, a partition that comes later is read from its first record.
        starting = OffsetsInitializer.earliest() if self._discovered else self._starting
        fresh = [key for key in new if key not in self._begun]
        begins = self._broker.starts(fresh, starting) if fresh else {}
        stops = self._broker.offsets(new, self._stopping) if self._stopping else {}
        for key in new:
            begin, stop = self._begun.get(key) or (begins[key], None)
            known = self._stopping is not None and stop is not None
            self._partitions[key] = _Progress(begin, stop if known else stops.get(key))


def _key(found: KafkaRange) -> TopicPartition:
    return TopicPartition(found.topic, found.partition)


class BrokerAwayError(Exception):
    """No broker answers, or it is not ready yet."""


class BrokerView:
    """The requests of a planner to the brokers. Its methods raise BrokerAwayError.

    It uses a consumer without a subscription: librdkafka's AdminClient, which has the same
    requests, may end the process when a broker comes back (an assertion of 2.16.1).
    """

    def __init__(self, properties: Properties) -> None:
        self._kafka = confluent_kafka(USER)
        given = client_properties(USER, properties)
        self.servers: str = given["bootstrap.servers"]
        self._has_group = "group.id" in given
        self._consumer = opened_quietly(USER, self._kafka.Consumer, given)

    def partitions(self, subscription: Subscription) -> list[TopicPartition]:
        """The existing partitions, in order. Raises JobExecutionError if one that is named does not
        exist."""
        named = {*subscription.topics, *(topic for topic, _ in subscription.partitions)}
        metadata = self._asked(subscription, self._consumer.list_topics, timeout=_REQUEST_SECONDS)
        pattern = subscription.pattern
        chosen = []
        for name, topic in sorted(metadata.topics.items()):
            wanted = name in named if pattern is None else re.fullmatch(pattern, name)
            if wanted and topic.error is None:
                chosen += [TopicPartition(name, number) for number in sorted(topic.partitions)]
        there = {topic for topic, _ in chosen}
        absent = sorted(named - there)
        if subscription.partitions:
            absent += [f"{t}-{p}" for t, p in subscription.partitions if (t, p) not in chosen]
            chosen = [key for key in chosen if key in subscription.partitions]
        if absent:
            raise JobExecutionError(
                f"{USER}: there is no topic or partition {', '.join(absent)} at {self.servers}. Create it, or"
                " fix its name."
            )
        return chosen

    def ends(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """The end of each partition: the offset after the last record that may be read so far."""
        return self._listed(partitions, _LATEST)

    def starts(
        self, partitions: Sequence[TopicPartition], initializer: OffsetsInitializer
    ) -> dict[TopicPartition, int]:
        """The offsets that ``initializer`` chooses; its strategy decides where one of them does not
        exist."""
        found = self.offsets(partitions, initializer)
        if initializer.place not in (Place.OFFSETS, Place.COMMITTED):
            return found
        firsts, ends = self._listed(partitions, _EARLIEST), self.ends(partitions)
        outside = [key for key in found if not firsts[key] <= found[key] <= ends[key]]
        for key in outside:
            there = f"{key.topic}-{key.partition} has the offsets from {firsts[key]} to {ends[key]}"
            if initializer.offsetResetStrategy is OffsetResetStrategy.NONE:
                raise JobExecutionError(
                    f"{USER}: {there}, the job was to begin at {found[key]}, and the OffsetResetStrategy is"
                    " NONE. Pass another, such as OffsetResetStrategy.EARLIEST, or an offset that exists."
                )
            latest = initializer.offsetResetStrategy is OffsetResetStrategy.LATEST
            begin = (ends if latest else firsts)[key]
            LOG.warning("%s: %s, and not %d: begins at %d", USER, there, found[key], begin)
            found[key] = begin
        return found

    def offsets(
        self, partitions: Sequence[TopicPartition], initializer: OffsetsInitializer
    ) -> dict[TopicPartition, int]:
        """The offsets that ``initializer`` chooses."""
        place = initializer.place
        if place is Place.EARLIEST:
            return self._listed(partitions, _EARLIEST)
        if place is Place.LATEST:
            return self.ends(partitions)
        if place is Place.TIMESTAMP:
            found = self._listed(partitions, max(initializer.timestampMillis, 0))
            behind = self.ends([key for key, offset in found.items() if offset < 0])
            return {**found, **behind}
        given = dict(initializer.partitionOffsets)
        found = {key: given[key] for key in partitions if key in given}
        if len(found) < len(partitions) and self._has_group:
            # As in Flink, committed offsets apply to partitions without a given offset
            found = {**self._committed(partitions), **found}
        rest = [key for key in partitions if key not in found]
        if rest and initializer.offsetResetStrategy is OffsetResetStrategy.NONE:
            raise JobExecutionError(
                f"{USER}: there is no offset for the partition {rest[0].topic}-{rest[0].partition}, and the"
                " OffsetResetStrategy is NONE. Pass another, such as OffsetResetStrategy.EARLIEST."
            )
        if initializer.offsetResetStrategy is OffsetResetStrategy.LATEST:
            return {**found, **self.ends(rest)}
        return {**found, **self._listed(rest, _EARLIEST)}

    def _committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        asked = [self._kafka.TopicPartition(*key) for key in partitions]
        answers = self._asked(
            "the group", self._consumer.committed, asked, timeout=_REQUEST_SECONDS
        )
        return self._offsets_of(answers)

    def _listed(
        self, partitions: Sequence[TopicPartition], timestamp: int
    ) -> dict[TopicPartition, int]:
        """The first offset from a timestamp on, -1 if there is none; _EARLIEST and _LATEST stand for the
        first offset of all, and the one after the last."""
        if not partitions:
            return {}
        asked = [self._kafka.TopicPartition(*key, timestamp) for key in partitions]
        answers = self._asked(
            asked[0].topic, self._consumer.offsets_for_times, asked, timeout=_REQUEST_SECONDS
        )
        for answer in answers:
            if answer.error is not None:
                raise self._error(answer.error, answer.topic)
        return {TopicPartition(one.topic, one.partition): int(one.offset) for one in answers}

    def _offsets_of(self, answers: Sequence[Any]) -> dict[TopicPartition, int]:
        return {TopicPartition(o.topic, o.partition): o.offset for o in answers if o.offset >= 0}

    def _asked(self, subject: object, call: Callable[..., Any], *asked: Any, timeout: float) -> Any:
        try:
            return call(*asked, timeout=timeout)
        except self._kafka.KafkaException as error:
            raise self._error(error.args[0], subject) from None

    def _error(self, error: Any, subject: object) -> Exception:
        if is_transient(error):
            return BrokerAwayError(error.str())
        if error.name() in _NOT_THERE and self._has(subject):
            # Its partitions have no leader for the moment
            return BrokerAwayError(error.str())
        if error.name() in _NOT_THERE:
            return JobExecutionError(
                f"{USER}: the topic {subject} does not exist any more ({error.str()}). If it was deleted on"
                " purpose, start afresh with another checkpoint directory."
            )
        return JobExecutionError(f"{USER}: Kafka returns an error for {subject}: {error.str()}.")

    def _has(self, topic: object) -> bool:
        metadata = self._asked(topic, self._consumer.list_topics, timeout=_REQUEST_SECONDS)
        return topic in metadata.topics


_LATEST, _EARLIEST = -1, -2
"""Timestamps that stand for positions, in Kafka's protocol."""


_NOT_THERE = ("_NOENT", "UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION")
