"""``assignTimestampsAndWatermarks``: gives elements timestamps and runs a watermark generator."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime, timedelta
from functools import cached_property
from operator import index
from typing import Any, NamedTuple

from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.api.eventtime.watermarks import TimestampAssigner, WatermarkOutput, WatermarkStrategy
from flinkish.api.functions.adapt import named
from flinkish.api.plan.operators import (
    SourceWatermarksDescription,
    TimestampsAndWatermarksDescription,
)
from flinkish.api.time.durations import fits_long
from flinkish.api.time.elements import MIN_TIMESTAMP, earliest
from flinkish.api.types.fields import field_read
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.watermark_assigner import HeldMarks, WatermarkAssignerOperator
from flinkish.runtime.records.copies import copied, keeps_nothing
from flinkish.runtime.records.frames import Frame, SplitMark
from flinkish.runtime.records.records import Numbers, Records, Timestamps, timestamps_of
from flinkish.runtime.records.user_code import user_method_of
from flinkish.runtime.reports import InputReport, split_name
from flinkish.runtime.time.clock import ProcessingTimeService
from flinkish.runtime.time.watermark_generation import (
    DeferredOutput,
    ImmediateOutput,
    JoinedSplits,
    WatermarkGeneration,
    WatermarkOutputMultiplexer,
)


class TimestampsAndWatermarksOperator(WatermarkAssignerOperator):
    """``assignTimestampsAndWatermarks`` (Flink: the class of this name)."""

    def __init__(
        self, context: OperatorContext, description: TimestampsAndWatermarksDescription
    ) -> None:
        super().__init__(context)
        strategy = description.strategy
        assigner = strategy.timestampAssigner
        self._extract = (
            assigner.extractTimestamp if isinstance(assigner, TimestampAssigner) else assigner
        )
        self._looked = False
        self._field = None if self._extract is None else field_read(self._extract)
        # In BATCH nothing is late, and the only watermark is the last
        self.strategy = WatermarkStrategy.noWatermarks() if context.batch else strategy
        self.restore(None)

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        if snapshot is not None and "generators" not in snapshot:
            snapshot = None  # of another operator, which kept no state under this uid
        super().restore(snapshot)
        if snapshot is None:
            self._nextEmit = self.clock.getCurrentProcessingTime() + self.autoWatermarkInterval
        else:
            self._nextEmit = snapshot["nextEmit"]
        goes_on = snapshot and snapshot.get("strategy") in (None, self._made)
        self._restore_generators(snapshot["generators"] if snapshot and goes_on else None)

    def snapshot(self) -> dict[str, Any]:
        return {
            **super().snapshot(),
            "generators": self._snapshot_generators(),
            "strategy": self._made,
            "nextEmit": self._nextEmit,
        }

    def _restore_generators(self, snapshot: Any) -> None:
        self._generation = self.generation(snapshot)

    @cached_property
    def _made(self) -> str:
        """The settings of a new generator; the state of one with others is not restored."""
        with user_method_of(self.name, "createWatermarkGenerator()"):
            # With a clock that stands still, as some generators start from the time
            made = WatermarkGeneration(self.strategy, ProcessingTimeService(), None)
        return made.settings()

    def generation(self, snapshot: Any) -> WatermarkGeneration:
        """A generator, new or restored."""
        with user_method_of(self.name, "createWatermarkGenerator()"):
            return self.generationFrom(snapshot)

    def generationFrom(self, snapshot: Any) -> WatermarkGeneration:
        """The object that runs a generator, new or restored."""
        return WatermarkGeneration(self.strategy, self.clock, snapshot)

    def _snapshot_generators(self) -> Any:
        return self._generation.snapshot()

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        self.processOf(self._generation, self.emitter, records)

    def processOf(
        self, generation: WatermarkGeneration, emitter: WatermarkOutput, records: Records
    ) -> None:
        """Emit a run of records of one generator: the whole run at once if the generator emits only
        periodically, else one record after another."""
        on_event = generation.onEvent
        if generation.emitsOnlyPeriodically:
            timed = self.timed(records)
            if len(records):
                on_event(None, int(timed.timestamps.max()), emitter)
            self.output.emitRecords(timed)
            return
        self.emitSingly(records, lambda _, value, time: on_event(value, time, emitter))

    def timed(self, records: Records) -> Records:
        """A run of records with timestamps from the assigner, before a generator sees the first."""
        if self._extract is None:
            self.lookAt(records.timestamps)
            return records.timed(records.timestamps)
        values, extracted = self._extracted(self._extract, records)
        if set(map(type, extracted)) != {int}:
            extracted = list(map(self._checked, extracted, values))
        try:
            timestamps = timestamps_of(extracted)
        except OverflowError:
            timestamps = timestamps_of(list(map(self._checked, extracted, values)))
        self.lookAt(timestamps)
        if values is records.values:
            return records.timed(timestamps)
        return Records(values, timestamps)

    def _extracted(
        self, extract: Callable[[Any, int], Any], records: Records
    ) -> tuple[Sequence[Any], list[Any]]:
        """The values after the calls of the assigner, which may change them, with timestamps."""
        extracted: list[Any] = []
        append = extracted.append
        holds = not (
            self._field is not None
            or self.output.reusesObjects
            or (keeps_nothing(extract) and records.plain)
            or records.immutable
        )
        values: Any = [] if holds else records.values
        with self.userCodeOf(lambda: records.values[len(extracted)]):
            for value, timestamp in zip(records.values, records.timestamps.tolist()):
                timestamp = extract(value, timestamp)
                if holds:
                    values.append(copied(value))
                append(timestamp)
        return values, extracted

    def lookAt(self, timestamps: Timestamps | tuple[int]) -> None:
        """Warn once if the first timestamp looks like one in seconds."""
        if not self._looked and len(timestamps):
            self._looked = True
            warn_of_seconds(self.name, self._extract, int(timestamps[0]))

    def emitSingly(self, records: Records, noted: Callable[[int, Any, int], None]) -> None:
        """Emit one record after another, and call ``noted(position, value, timestamp)`` after each:
        as in Flink, a watermark that it emits follows the element."""
        output = self.output
        output.flush()
        with nullcontext() if output.reusesObjects else self.emitter.held() as held:
            self._collect_singly(records, noted, held)
        if held is None:
            output.flush()
        else:
            values, timestamps = output.taken()
            output.emitFrame(Frame(Records(values, timestamps_of(timestamps)), held.marks.build()))

    def _collect_singly(
        self, records: Records, noted: Callable[[int, Any, int], None], held: HeldMarks | None
    ) -> None:
        extract, collect = self._extract, self.output.collect
        value: Any = None
        with self.userCodeOf(lambda: value):
            for i, (value, timestamp) in enumerate(
                zip(records.values, records.timestamps.tolist())
            ):
                if extract is not None:
                    timestamp = extract(value, timestamp)
                    if type(timestamp) is not int or not fits_long(timestamp):
                        timestamp = self._checked(timestamp, value)
                collect(value, timestamp)
                if held is not None:
                    held.position = i + 1
                noted(i, value, timestamp)
                if not self._looked:
                    self.lookAt((timestamp,))

    def advanceProcessingTime(self, now: int) -> None:
        # In a batch the elements are processed before the clock can say that none came.
        if self.autoWatermarkInterval <= 0 or self.emitsAfterSlices:
            return
        if now >= self._nextEmit:
            self.onPeriodicEmit()
        elif self._asks_for(now):
            self._ask_generators(now)

    def _asks_for(self, now: int) -> bool:
        with user_method_of(self.name, "nextPeriodicEmit()"):
            wanted = [generation.nextPeriodicEmit() for generation in self._running()]
        return any(time is not None and now >= time for time in wanted)

    def onPeriodicEmit(self) -> None:
        now = self.clock.getCurrentProcessingTime()
        self._nextEmit = now + self.autoWatermarkInterval
        self._ask_generators(now)
        self.emitEnd()

    def _ask_generators(self, now: int) -> None:
        with user_method_of(self.name, "onPeriodicEmit()"):
            self._emit_periodically(now)

    def _emit_periodically(self, now: int) -> None:
        self._generation.onPeriodicEmit(self.emitter, now)

    def _running(self) -> Iterable[WatermarkGeneration]:
        """The generators whose input is not idle."""
        return () if self.emitter.idle else (self._generation,)

    def nextProcessingTimeTimer(self) -> int | None:
        with user_method_of(self.name, "nextPeriodicEmit()"):
            return earliest([self._look(generation) for generation in self._running()])

    def _look(self, generation: WatermarkGeneration) -> int | None:
        """The time of the next call of a generator, for itself or for idleness."""
        wanted = generation.nextPeriodicEmit()
        if wanted is not None and wanted <= self._nextEmit - self.autoWatermarkInterval:
            wanted = self._nextEmit  # it has been called since then
        if generation.idleness is not None:
            idle = max(generation.idleness.due() or 0, self._nextEmit)
            wanted = earliest((wanted, idle))
        return wanted

    def _checked(self, timestamp: Any, value: Any) -> int:
        try:
            checked = index(timestamp)
        except TypeError:
            checked = None
        if checked is None or not fits_long(checked):
            raise IllegalArgumentError(
                f"{self.name}: the timestamp assigner gave {shown(timestamp)} of type"
                f" {type(timestamp).__name__} for the element {shown(value)}. Return int milliseconds since the epoch,"
                " such as int(seconds * 1000), that 64 bits hold; filter out elements without a time before."
            )
        return checked


class Split(NamedTuple):
    """The generator and the outputs of one split (Flink: ``SourceOutputWithWatermarks``)."""

    generation: WatermarkGeneration
    onEventOutput: ImmediateOutput
    periodicOutput: DeferredOutput


class Splits(NamedTuple):
    """The splits in a run of records, in their order, and for each record its split's index."""

    distinct: Sequence[Any]
    numbers: Numbers


class SourceWatermarksOperator(TimestampsAndWatermarksOperator):
    """The part of Flink's ``SourceOperator`` that generates watermarks for each split. The split of
    an element is read from the element, or from a mark that the source puts before it. All splits
    of a batch are registered before its first element (``expectRecords``), so that no split runs
    ahead of one that is new in the same batch.
    """

    looksAhead = True

    def __init__(self, context: OperatorContext, description: SourceWatermarksDescription) -> None:
        self._splitOf = description.splitOf
        self._splitField = None if self._splitOf is None else field_read(self._splitOf)
        self._current: str | None = None
        self._batch = context.batch
        super().__init__(context, description)

    def _restore_generators(self, snapshot: Any) -> None:
        generations, joined, *finished = ({}, None) if snapshot is None else snapshot
        self._finished: set[str] = set(*finished)
        self._multiplexer = WatermarkOutputMultiplexer(self.emitter)
        if joined is not None:
            self._multiplexer.status.restore(joined)
        self._splits: dict[Any, Split] = {}
        for number, (split, generation) in enumerate(generations.items()):
            self._splits[split] = self._split(number, generation)

    def _snapshot_generators(self) -> Any:
        generations = {name: split.generation.snapshot() for name, split in self._splits.items()}
        joined = self._multiplexer.status.snapshot()
        return (generations, joined, self._finished) if self._finished else (generations, joined)

    def expectRecords(self, records: Records) -> None:
        if self._splitOf is not None:
            self._register(self.splitsOf(records).distinct)

    def expectSplit(self, mark: SplitMark) -> None:
        if self._splitOf is None:
            self._register((mark.split,))

    def processSplit(self, mark: SplitMark) -> None:
        if self._splitOf is not None:
            return
        self._register((mark.split,))
        self._current = mark.split
        if mark.finished:
            # As in Flink, which unregisters its output, a finished split does not hold others back.
            self._finished.add(mark.split)
            number = list(self._splits).index(mark.split)
            self._multiplexer.status.areIdle[number] = True
            if len(self._finished) < len(self._splits):
                self._multiplexer.onPeriodicEmit()

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        if self._batch:
            self.output.emitRecords(self.timed(records))
            return
        if self._splitOf is None:
            # All records are of the split whose mark came last
            assert self._current is not None
            split = self._splits[self._current]
            self.processOf(split.generation, split.onEventOutput, records)
            return
        found = self.splitsOf(records)
        self._register(found.distinct)
        splits = [self._splits[name] for name in found.distinct]
        if all(split.generation.emitsOnlyPeriodically for split in splits):
            timed = self.timed(records)
            for split, timestamp in zip(splits, self.highest(found, timed.timestamps)):
                split.generation.onEvent(None, timestamp, split.onEventOutput)
            self.output.emitRecords(timed)
            return
        self.emitOfSplits(records, found, splits, [False] * len(splits))

    def emitOfSplits(
        self, records: Records, found: Splits, splits: Sequence[Split], done: Sequence[bool]
    ) -> None:
        """Emit records one by one; ``done``: for each split, whether its generator saw them."""
        numbers = list(found.numbers)

        def noted(position: int, value: Any, timestamp: int) -> None:
            number = numbers[position]
            if not done[number]:
                split = splits[number]
                split.generation.onEvent(value, timestamp, split.onEventOutput)

        self.emitSingly(records, noted)

    def highest(self, found: Splits, timestamps: Timestamps) -> list[int]:
        """The highest timestamp of each split."""
        highest = [MIN_TIMESTAMP] * len(found.distinct)
        for number, timestamp in zip(found.numbers, timestamps.tolist()):
            highest[number] = max(timestamp, highest[number])
        return highest

    def _emit_periodically(self, now: int) -> None:
        for name, split in self._splits.items():
            if name not in self._finished:
                split.generation.onPeriodicEmit(split.periodicOutput, now)
        self._multiplexer.onPeriodicEmit()

    def _running(self) -> Iterable[WatermarkGeneration]:
        if self.emitter.idle:
            return []
        return [
            split.generation
            for index, split in enumerate(self._splits.values())
            if not self._multiplexer.status.areIdle[index]
        ]

    def splits(self) -> Iterable[InputReport]:
        status = self._multiplexer.status
        return (
            InputReport(
                split_name(name, index),
                True,
                status.watermarks[index],
                status.areIdle[index],
                split.generation.lastTimestamp,
            )
            for index, (name, split) in enumerate(self._splits.items())
        )

    def joinedSplits(self) -> JoinedSplits | None:
        return self.emitter.joined(self._multiplexer.status.current()) if self._splits else None

    def _register(self, names: Sequence[Any]) -> None:
        for name in names:
            if name not in self._splits:
                self._splits[name] = self._split(self._multiplexer.status.add(), None)

    def _split(self, index: int, snapshot: Any) -> Split:
        return Split(
            self.generation(snapshot),
            ImmediateOutput(self._multiplexer, index),
            DeferredOutput(self._multiplexer, index),
        )

    def splitsOf(self, records: Records) -> Splits:
        assert self._splitOf is not None
        names = self.mapped(self._splitOf, records)
        known: dict[Any, int] = {}
        try:
            numbers = [known.setdefault(name, len(known)) for name in names]
        except TypeError:
            raise IllegalArgumentError(
                f"{self.name}: splits such as {shown(names[0])} cannot be told apart, as they are not"
                " hashable. Let withSplits give a number, a string or a tuple of them."
            ) from None
        return Splits(list(known), numbers)


def generators_by_split(generators: Any) -> dict[Any, Any] | None:
    """The part of a snapshot of generators for each split; None if it is not one of splits."""
    if not isinstance(generators[0], dict):
        return None
    generations, (watermarks, idle, *_), *finished = generators
    ended: set[Any] = set(*finished)
    states = zip(generations.items(), watermarks, idle)
    return {split: (kept, at, rests, split in ended) for (split, kept), at, rests in states}


def generators_of_splits(states: Mapping[Any, Any]) -> Any:
    """The snapshot of the generators of the splits in ``states``, with nothing emitted yet."""
    generations = {split: kept for split, (kept, *_) in states.items()}
    watermarks = [at for _, at, _, _ in states.values()]
    idle = [rests for _, _, rests, _ in states.values()]
    joined = watermarks, idle, MIN_TIMESTAMP, False
    finished = {split for split, (*_, ended) in states.items() if ended}
    return (generations, joined, finished) if finished else (generations, joined)


_LOG = logging.getLogger("flinkish")

EARLIEST, LATEST = 500_000_000, 2_678_400_000
"""In seconds this range is 1985 to 2054, in milliseconds it is in January 1970."""

_told: set[tuple[str, str]] = set()


def warn_of_seconds(operator: str, assigner: object, timestamp: int) -> None:
    """Log once, if ``timestamp`` is in January 1970, its date in milliseconds and in seconds."""
    if not EARLIEST <= timestamp < LATEST:
        return
    by = "that the elements came with" if assigner is None else f"of {named(assigner)}"
    if (operator, by) in _told:
        return
    _told.add((operator, by))
    begin = datetime(1970, 1, 1)
    millis, seconds = (begin + timedelta(seconds=s) for s in (timestamp // 1000, timestamp))
    _LOG.warning(
        "%s: the timestamp %d %s is on %s in milliseconds, and on %s in seconds. If these are seconds, multiply them"
        " by 1000.",
        operator,
        timestamp,
        by.rstrip(","),
        f"{millis:%Y-%m-%d}",
        f"{seconds:%Y-%m-%d}",
    )
