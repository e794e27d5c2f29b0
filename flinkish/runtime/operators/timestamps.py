"""``assignTimestampsAndWatermarks``: gives elements timestamps and runs a watermark generator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from operator import index
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.api.eventtime.watermarks import (
    TimestampAssigner,
    WatermarkOutput,
    WatermarkStrategy,
)
from flinkish.api.plan.operators import (
    SourceWatermarksDescription,
    TimestampsAndWatermarksDescription,
)
from flinkish.api.time.durations import fits_long
from flinkish.api.time.elements import (
    MIN_TIMESTAMP,
    WatermarkStatus,
    earliest,
)
from flinkish.api.types.fields import field_read
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.watermarks import WatermarkAssignerOperator
from flinkish.runtime.records.copies import copied, keeps_nothing
from flinkish.runtime.records.frames import SplitMark
from flinkish.runtime.records.records import Records, Timestamps, timestamps_of
from flinkish.runtime.records.rows import RowColumns, integer_column
from flinkish.runtime.records.user_code import user_method_of
from flinkish.runtime.reports import InputReport, split_name
from flinkish.runtime.time.clock import ProcessingTimeService
from flinkish.runtime.time.seconds import warn_of_seconds
from flinkish.runtime.time.watermarks import (
    DeferredOutput,
    ImmediateOutput,
    JoinedSplits,
    WatermarkGeneration,
    WatermarkOutputMultiplexer,
)

_SMALLEST_SLICE = 16
"""Columns of fewer elements cost more than the elements as objects."""


class TimestampsAndWatermarksOperator(WatermarkAssignerOperator):
    """Flink's operator of this name."""

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
        self._columns = self.traced(self._extract, 2)
        # In BATCH nothing is late, and the only watermark is the last
        self._strategy = WatermarkStrategy.noWatermarks() if context.batch else strategy
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
        """What a new generator is: one that another strategy made is not gone on with."""
        with user_method_of(self.name, "createWatermarkGenerator()"):
            # Of a clock that stands still, as some begin with the time
            made = WatermarkGeneration(self._strategy, ProcessingTimeService(), None, traces=False)
        return made.settings()

    def generation(self, snapshot: Any) -> WatermarkGeneration:
        """A generator, new or gone on with."""
        with user_method_of(self.name, "createWatermarkGenerator()"):
            return WatermarkGeneration(self._strategy, self.clock, snapshot, self.tracesFunctions)

    def _snapshot_generators(self) -> Any:
        return self._generation.snapshot()

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        self.processOf(self._generation, self.emitter, records)

    def processOf(
        self, generation: WatermarkGeneration, emitter: WatermarkOutput, records: Records
    ) -> None:
        """Emit a run of records of one generator: the whole run at once if that only notes what they are,
        else each as the generator has seen it."""
        on_event = generation.onEvent
        if generation.emitsOnlyPeriodically:
            timed = self.timed(records)
            if len(records):
                on_event(None, int(timed.timestamps.max()), emitter)
            self.output.emitRecords(timed)
            return
        known = self._timed_as_columns(records) if generation.notesRuns else None
        if known is not None and generation.note(known.values, known.timestamps):
            self.output.emitRecords(known)
        else:
            self.emitSingly(records, lambda _, value, time: on_event(value, time, emitter))

    def timed(self, records: Records) -> Records:
        """A run of records with the timestamps that the assigner gives to them, where no generator sees an element
        before the next one gets its timestamp."""
        column = self._timestamp_column(records)
        if column is not None:
            self._look_at(column)
            return records.timed(column)
        assert self._extract is not None
        values, extracted = self._extracted(self._extract, records)
        if set(map(type, extracted)) != {int}:
            extracted = [self._checked(timestamp) for timestamp in extracted]
        try:
            timestamps = timestamps_of(extracted)
        except OverflowError:
            timestamps = timestamps_of([self._checked(timestamp) for timestamp in extracted])
        self._look_at(timestamps)
        if values is records.values:
            return records.timed(timestamps)
        return Records(values, timestamps)

    def _timed_as_columns(self, records: Records) -> Records | None:
        """A run of columns with its timestamps, if no assigner has to be called for each element."""
        if not isinstance(records.values, RowColumns) or records.values.nested:
            return None
        if self._columns is not None and self._columns.readsVariables(records.values):
            return None  # The generator may write them as it sees an element
        column = self._timestamp_column(records)
        if column is None:
            return None
        self._look_at(column)
        return records.timed(column)

    def _timestamp_column(self, records: Records) -> Timestamps | None:
        """The timestamps of a run, if they are known without a call of the assigner for each element."""
        if self._extract is None:
            return records.timestamps
        column = integer_column(records.values, self._field)
        if column is None and self._columns is not None:
            column = self._columns.integers(records.values, records.timestamps)
        return column

    def _extracted(
        self, extract: Callable[[Any, int], Any], records: Records
    ) -> tuple[Sequence[Any], list[Any]]:
        """The values, as they are when the assigner has looked at them, and what it gave."""
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

    def _look_at(self, timestamps: Timestamps | tuple[int]) -> None:
        """Warn once if the first timestamp looks like one in seconds."""
        if not self._looked and len(timestamps):
            self._looked = True
            warn_of_seconds(self.name, self._extract, int(timestamps[0]))

    def emitSingly(self, records: Records, noted: Callable[[int, Any, int], None]) -> None:
        """Emit one record after another; ``noted(position, value, timestamp)`` is called after each,
        as in Flink: a watermark that it emits comes after the element."""
        known = self._timed_as_columns(records)
        if known is not None:
            self._emit_in_slices(known, noted)
            return
        extract, collect = self._extract, self.output.collect
        value: Any = None
        with self.userCodeOf(lambda: value):
            for i, (value, timestamp) in enumerate(
                zip(records.values, records.timestamps.tolist())
            ):
                if extract is not None:
                    timestamp = extract(value, timestamp)
                    if type(timestamp) is not int or not fits_long(timestamp):
                        timestamp = self._checked(timestamp)
                collect(value, timestamp)
                noted(i, value, timestamp)
                if not self._looked:
                    self._look_at((timestamp,))
        self.output.flush()

    def _emit_in_slices(self, records: Records, noted: Callable[[int, Any, int], None]) -> None:
        """The same for columns, which stay columns between two watermarks."""
        value: Any = None
        with self.userCodeOf(lambda: value), self.emitter.held() as held:
            for held.position, (value, timestamp) in enumerate(
                zip(records.values, records.timestamps.tolist())
            ):
                noted(held.position, value, timestamp)
        if len(held.signals) * _SMALLEST_SLICE > len(records):
            records = Records(list(records.values), records.timestamps)
        sent = 0
        for position, signal in held.signals:
            if position >= sent:
                self.output.emitRecords(records.slice(sent, position + 1))
                sent = position + 1
            if isinstance(signal, WatermarkStatus):
                self.output.emitWatermarkStatus(signal)
            else:
                self.output.emitWatermark(signal)
        if sent < len(records):
            self.output.emitRecords(records.slice(sent, len(records)))

    def advanceProcessingTime(self, now: int) -> None:
        # In a batch the elements come first: they were there before the clock says that none came.
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
        """When the clock is wanted: by the generator, or to see whether what feeds it is idle."""
        wanted = generation.nextPeriodicEmit()
        if wanted is not None and wanted <= self._nextEmit - self.autoWatermarkInterval:
            wanted = self._nextEmit  # it has been asked since then
        if generation.idleness is not None:
            idle = max(generation.idleness.due() or 0, self._nextEmit)
            wanted = earliest((wanted, idle))
        return wanted

    def _checked(self, timestamp: Any) -> int:
        try:
            checked = index(timestamp)
        except TypeError:
            checked = None
        if checked is None or not fits_long(checked):
            raise IllegalArgumentError(
                f"{self.name}: the timestamp assigner gave {shown(timestamp)} of type"
                f" {type(timestamp).__name__}. Return int milliseconds since the epoch, such as"
                " int(seconds * 1000), that 64 bits hold."
            )
        return checked


class _Split(NamedTuple):
    """What runs for one split (Flink: ``SourceOutputWithWatermarks``)."""

    generation: WatermarkGeneration
    onEventOutput: ImmediateOutput
    periodicOutput: DeferredOutput


class _Splits(NamedTuple):
    """The splits of a run of records: those that there are, as they first come, and for each record the
    number of its split among them."""

    distinct: Sequence[Any]
    numbers: NDArray[np.integer[Any]]

    def highest(self, timestamps: Timestamps) -> list[int]:
        """The highest timestamp of each split."""
        highest = np.full(len(self.distinct), MIN_TIMESTAMP)
        np.maximum.at(highest, self.numbers, timestamps)
        found: list[int] = highest.tolist()
        return found


def _tells_apart(kind: pa.DataType) -> bool:
    """Whether values of ``kind`` are equal in Python exactly if Arrow finds them equal."""
    return bool(pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_boolean(kind))


def _note(records: Records, splits: _Splits, number: int, split: _Split) -> bool:
    """Whether the generator of a split has noted its records, all at once."""
    own = records.kept(splits.numbers == number)
    return split.generation.note(own.values, own.timestamps)


class SourceWatermarksOperator(TimestampsAndWatermarksOperator):
    """The part of Flink's ``SourceOperator`` that makes watermarks, split by split.

    Splits are known by their elements, or by marks of the source before the elements of each. A batch's
    splits are all told before its first element comes (``expectRecords``), so that none runs ahead of
    another that is new in the same batch.
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
        self._multiplexer.restore(joined)
        self._splits: dict[Any, _Split] = {}
        for number, (split, generation) in enumerate(generations.items()):
            self._splits[split] = self._split(number, generation)

    def _snapshot_generators(self) -> Any:
        generations = {name: split.generation.snapshot() for name, split in self._splits.items()}
        joined = self._multiplexer.snapshot()
        return (generations, joined, self._finished) if self._finished else (generations, joined)

    def expectRecords(self, records: Records) -> None:
        if self._splitOf is not None:
            self._register(self._splits_of(records).distinct)

    def expectSplit(self, mark: SplitMark) -> None:
        if self._splitOf is None:
            self._register((mark.split,))

    def processSplit(self, mark: SplitMark) -> None:
        if self._splitOf is not None:
            return
        self._register((mark.split,))
        self._current = mark.split
        if mark.finished:
            # As in Flink, where its output is unregistered: it does not hold the others back.
            self._finished.add(mark.split)
            number = list(self._splits).index(mark.split)
            self._multiplexer.status.setIdle(number, True)
            if len(self._finished) < len(self._splits):
                self._multiplexer.onPeriodicEmit()

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        if self._batch:
            self.output.emitRecords(self.timed(records))
            return
        if self._splitOf is None:
            # They are all of the split whose mark came last
            assert self._current is not None
            split = self._splits[self._current]
            self.processOf(split.generation, split.onEventOutput, records)
            return
        found = self._splits_of(records)
        self._register(found.distinct)
        splits = [self._splits[name] for name in found.distinct]
        if all(split.generation.emitsOnlyPeriodically for split in splits):
            timed = self.timed(records)
            for split, timestamp in zip(splits, found.highest(timed.timestamps)):
                split.generation.onEvent(None, timestamp, split.onEventOutput)
            self.output.emitRecords(timed)
            return
        note = all(split.generation.notesRuns for split in splits)
        known = self._timed_as_columns(records) if note else None
        done = [known is not None and _note(known, found, n, s) for n, s in enumerate(splits)]
        if known is not None and all(done):
            self.output.emitRecords(known)
            return
        numbers = found.numbers.tolist()

        def noted(position: int, value: Any, timestamp: int) -> None:
            number = numbers[position]
            if not done[number]:
                split = splits[number]
                split.generation.onEvent(value, timestamp, split.onEventOutput)

        self.emitSingly(records, noted)

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
            if not self._multiplexer.status.isIdle(index)
        ]

    def splits(self) -> Iterable[InputReport]:
        status = self._multiplexer.status
        return (
            InputReport(
                split_name(name, index), True, status.watermark(index), status.isIdle(index)
            )
            for index, name in enumerate(self._splits)
        )

    def joinedSplits(self) -> JoinedSplits | None:
        return self.emitter.joined(self._multiplexer.status.current()) if self._splits else None

    def _register(self, names: Sequence[Any]) -> None:
        for name in names:
            if name not in self._splits:
                self._splits[name] = self._split(self._multiplexer.registerNewOutput(), None)

    def _split(self, index: int, snapshot: Any) -> _Split:
        return _Split(
            self.generation(snapshot),
            ImmediateOutput(self._multiplexer, index),
            DeferredOutput(self._multiplexer, index),
        )

    def _splits_of(self, records: Records) -> _Splits:
        values = records.values
        if isinstance(values, RowColumns) and self._splitField is not None:
            number = values.column(self._splitField)
            column = None if number is None else values.arrow(number)
            if column is not None and not column.null_count and _tells_apart(column.type):
                encoded = column.dictionary_encode()
                return _Splits(encoded.dictionary.to_pylist(), encoded.indices.to_numpy())
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
        return _Splits(list(known), np.array(numbers, np.intp))
