"""``KafkaPlanner``: decides from which offset to which each batch reads the partitions of a source."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from flinkish.api.connectors.kafka.offsets import OffsetsInitializer
from flinkish.api.connectors.kafka.records import TopicPartition
from flinkish.api.connectors.kafka.source import KafkaSource, Properties, Subscription
from flinkish.api.errors import IllegalArgumentError, JobExecutionError, shown
from flinkish.api.execution.read_progress import SourceBacklog
from flinkish.runtime.kafka.broker_view import USER, BrokerAwayError, BrokerView
from flinkish.runtime.kafka.client import (
    LOG,
    client_properties,
    confluent_kafka,
    number_property,
    opened_quietly,
    refusal,
    unreachable,
)
from flinkish.runtime.sources.planners import SourcePlanner, Step, Task

RECORDS_A_BATCH = 1_000_000
"""The most offsets of a batch, unless the job sets its elements per batch."""

FEWEST_RECORDS = 50_000
"""The fewest offsets for a task, unless a partition has no more."""

DISCOVERY_MILLIS = 300_000
"""The default of partition.discovery.interval.ms, in seconds, as in Flink."""

LOOK_SECONDS = 0.02
LOOKING_PAUSE = 5
"""Ends are requested again after this many times the last request's duration."""

FIRST_ANSWER_SECONDS = 30.0
"""The timeout of a broker's first answer; after that, a job waits until the broker is
back."""

RECREATED = "topic.recreated"
"""The property that says what to do with a topic that was deleted and created again."""

_FAIL, _EARLIEST = "fail", "earliest"

T = TypeVar("T")


class KafkaRange(NamedTuple):
    """A piece of a step: the offsets of a partition from ``start`` to before ``end``. ``stop`` is where the
    partition ends for this source, None if it does not; ``topicId`` the id of the topic, None if the
    brokers give none."""

    topic: str
    partition: int
    start: int
    end: int
    stop: int | None = None
    topicId: str | None = None

    @property
    def finished(self) -> bool:
        """Whether the partition ends with this range."""
        return self.stop is not None and self.end >= self.stop


@dataclass
class _Progress:
    """The progress of planning a partition."""

    next: int
    stop: int | None
    topicId: str | None = None
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
        recreated = dict(source.properties).get(RECREATED, _FAIL)
        if recreated not in (_FAIL, _EARLIEST):
            raise IllegalArgumentError(
                f"{USER}: the property {RECREATED} is {shown(recreated)}. Set it to {_FAIL!r}, or to {_EARLIEST!r} to"
                " read a topic that was created again from its first record."
            )
        self._reads_recreated = recreated == _EARLIEST
        self._discovery_seconds = None if interval <= 0 or source.bounded else interval / 1000
        self._partitions: dict[TopicPartition, _Progress] = {}
        self._begun: dict[TopicPartition, _Progress] = {}
        """Where the partitions of a savepoint continue."""
        self._broker: BrokerView | None = None
        self._ended = False
        self._known: dict[TopicPartition, int] = {}
        """The ends of the partitions, as of the last request."""
        self._frozen = False
        self._answered = False
        self._topic_ids: dict[str, str | None] = {}
        """The id that each topic had when it was last asked for."""
        self._compared: Step | None = None
        """The last step, whose topics have the ids that it says."""
        self._next_look = self._next_discovery = 0.0
        self._discovered = False

    # ------------------------------------------------------------------ steps

    def plan(self) -> Step | None:
        if self._ended:
            return None
        ends = self._known if self._has_more(self._known) else self._look()
        if ends is None or not self._compare(ends):
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
        self._compared = step
        return step

    def freeze(self) -> None:
        self._next_look = 0.0
        self._look()
        self._frozen = True

    def restore(self, snapshot: list[Any] | None, steps: Iterable[Step]) -> None:
        if snapshot is not None:
            (self._ended, self._discovered), *partitions = snapshot
            for topic, partition, *progress in partitions:
                # Earlier versions did not note the id of the topic
                key = TopicPartition(topic, partition)
                self._partitions[key] = _Progress(*progress)
                self._partitions[key].planned = True
        for step in steps:
            self._take(step)

    def snapshot(self) -> list[Any]:
        planned = [
            [*key, progress.next, progress.stop, progress.topicId]
            for key, progress in self._partitions.items()
            if progress.planned
        ]
        return [(self._ended, self._discovered), *planned]

    def position(self) -> dict[str, Any]:
        # Partitions not planned yet keep their offsets from the savepoint
        places = dict(self._begun)
        for key, progress in self._partitions.items():
            if progress.planned or key not in places:
                places[key] = progress
        partitions = [[*key, at.next, at.stop, at.topicId] for key, at in places.items()]
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
        for topic, partition, *progress in position["partitions"]:
            self._begun[TopicPartition(topic, partition)] = _Progress(*progress)

    def tasks(self, step: Step) -> list[Task]:
        ranges = [KafkaRange(*piece) for piece in step.pieces]
        if self._compared is None or self._compared.pieces != step.pieces:
            ranges = self._existing(ranges)
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
            progress = _Progress(found.end, found.stop, found.topicId, planned=True)
            self._partitions[_key(found)] = progress
        self._ended = step.last
        self._discovered = True

    def _ranges(self, ends: dict[TopicPartition, int]) -> list[KafkaRange]:
        """The ranges to read now: of each partition a share, if a batch cannot take all."""
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
                found = KafkaRange(*key, progress.next, end, progress.stop, progress.topicId)
                ranges.append(found)
        return ranges

    # ------------------------------------------------------------------ topics created again

    def _compare(self, ends: Mapping[TopicPartition, int]) -> bool:
        """Compare the topics that have changed with those noted. False if the next call has to plan:
        no broker answers, or a topic is read from its first record."""
        changed = {
            key: at.topicId
            for key, at in self._partitions.items()
            if not at.finished and ends.get(key, at.next) != at.next
        }
        recreated = self._asked(lambda: self._recreated(changed)) if changed else []
        if not recreated:
            return recreated is not None
        self._forget(recreated)
        self._next_look = self._next_discovery = 0.0
        if self._frozen:
            self._frozen = False
            self.freeze()
        return False

    def _recreated(self, noted: Mapping[TopicPartition, str | None]) -> list[TopicPartition]:
        """The partitions whose topics have another id than the one noted; where none is, it is noted
        now. Raises JobExecutionError unless such topics are to be read."""
        assert self._broker is not None
        self._topic_ids |= self._broker.topicIds({key.topic for key in noted})
        for key in noted:
            at = self._partitions.get(key)
            if at is not None:
                at.topicId = at.topicId or self._topic_ids[key.topic]
        found = [k for k, was in noted.items() if was and was != (self._topic_ids[k.topic] or was)]
        for topic in sorted({key.topic for key in found}):
            was = next(noted[key] for key in found if key.topic == topic)
            said = f"{USER}: the topic {topic!r} was deleted and created again: its id was {was}, and is"
            said = f"{said} {self._topic_ids[topic]}"
            if not self._reads_recreated:
                raise JobExecutionError(
                    f"{said}. What the job had not read of the old topic is lost. To read the new one from its"
                    f' first record, call setProperty("{RECREATED}", "{_EARLIEST}") and start the job again; to'
                    " read it with empty state, start with another checkpoint directory."
                )
            LOG.warning("%s, which is read from its first record", said)
        return found

    def _forget(self, recreated: Iterable[TopicPartition]) -> None:
        for key in recreated:
            for places in (self._partitions, self._begun, self._known):
                places.pop(key, None)

    def _existing(self, ranges: Sequence[KafkaRange]) -> list[KafkaRange]:
        """``ranges``, empty where the topic that they were planned of is gone."""
        noted = {_key(found): found.topicId for found in ranges if found.topicId is not None}
        gone = set(self._asked(lambda: self._recreated(noted)) or ()) if noted else set()
        return [r._replace(start=r.end) if _key(r) in gone else r for r in ranges]

    # ------------------------------------------------------------------ the broker

    def _has_more(self, ends: dict[TopicPartition, int]) -> bool:
        """Whether there are offsets below ``ends`` that have not been planned."""
        return any(
            end > progress.next and not progress.finished
            for key, end in ends.items()
            if (progress := self._partitions.get(key)) is not None
        )

    def _look(self) -> dict[TopicPartition, int] | None:
        """The current end of each partition; None if it is too soon, or no broker answers."""
        began = time.monotonic()
        if self._frozen:
            return self._known
        if began < self._next_look:
            return None
        ends = self._asked(self._ends)
        took = time.monotonic() - began
        self._next_look = time.monotonic() + max(LOOKING_PAUSE * min(took, 1), LOOK_SECONDS)
        self._known = ends or self._known
        return ends

    def _asked(self, ask: Callable[[], T]) -> T | None:
        """What ``ask`` returns; None if no broker answers for a while. The first answer is waited for."""
        if self._broker is None:
            self._broker = BrokerView(self._properties)
        until, asked = time.monotonic() + FIRST_ANSWER_SECONDS, 0
        while True:
            try:
                found = ask()
                self._answered = True
                return found
            except BrokerAwayError as error:
                if self._answered:
                    LOG.warning("%s: no broker answers, it is asked again: %s", USER, error)
                    return None
                asked += 1
                denied = refusal(USER, self._properties) if asked == 1 else None
                if denied or time.monotonic() > until:
                    raise denied or unreachable(USER, self._properties, error) from None
                time.sleep(LOOK_SECONDS)

    def _ends(self) -> dict[TopicPartition, int]:
        assert self._broker is not None
        self._discover()
        return self._broker.ends(list(self._partitions))

    def _discover(self) -> None:
        now = time.monotonic()
        if now < self._next_discovery:
            return
        assert self._broker is not None
        found = self._broker.partitions(self._subscription)
        noted = {key: at.topicId for key, at in {**self._begun, **self._partitions}.items()}
        self._forget(self._recreated({**dict.fromkeys(found), **noted}))
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
            at = self._begun.get(key) or _Progress(begins[key], None)
            known = self._stopping is not None and at.stop is not None
            stop = at.stop if known else stops.get(key)
            self._partitions[key] = _Progress(
                at.next, stop, at.topicId or self._topic_ids[key.topic]
            )


def _key(found: KafkaRange) -> TopicPartition:
    return TopicPartition(found.topic, found.partition)


class ConsumerGroup:
    """Commits offsets for the group of a source, only for others to see: errors are logged."""

    def __init__(self, source: KafkaSource[Any]) -> None:
        self._source = source
        self._consumer: Any = None

    @staticmethod
    def of(source: object) -> ConsumerGroup | None:
        """The group of ``source``, if it has one and offsets are to be committed."""
        if not isinstance(source, KafkaSource):
            return None
        properties = dict(source.properties)
        wanted = properties.get("commit.offsets.on.checkpoint", "true").lower() == "true"
        return ConsumerGroup(source) if wanted and "group.id" in properties else None

    def commit(self, step: Step) -> None:
        """Commit the end offsets of a completed step."""
        kafka = confluent_kafka(USER)
        given = client_properties(USER, self._source.properties)
        if self._consumer is None:
            self._consumer = opened_quietly(USER, kafka.Consumer, given)
        ranges = [KafkaRange(*piece) for piece in step.pieces]
        ends = [kafka.TopicPartition(r.topic, r.partition, r.end) for r in ranges]
        if not ends:
            return
        try:
            self._consumer.commit(offsets=ends, asynchronous=False)
        except kafka.KafkaException as error:
            LOG.warning(
                "%s: offsets could not be committed for the group %s: %s",
                *(USER, given["group.id"], error.args[0].str()),
            )
