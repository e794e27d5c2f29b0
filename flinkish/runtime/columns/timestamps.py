"""Timestamps and watermarks of runs of columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from flinkish.api.eventtime.watermarks import WatermarkOutput, WatermarkStrategy
from flinkish.api.plan.operators import TimestampsAndWatermarksDescription
from flinkish.api.time.elements import MIN_TIMESTAMP
from flinkish.runtime.columns.tracing.column_function import column_function
from flinkish.runtime.columns.tracing.event_fold import EventFold
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.timestamps import (
    SourceWatermarksOperator,
    Split,
    Splits,
    TimestampsAndWatermarksOperator,
)
from flinkish.runtime.records.frames import Frame, Marks
from flinkish.runtime.records.records import NO_TIMESTAMP, Records, Timestamps
from flinkish.runtime.records.rows import RowColumns, integer_column
from flinkish.runtime.time.clock import ProcessingTimeService
from flinkish.runtime.time.watermark_generation import WatermarkGeneration


class ColumnGeneration(WatermarkGeneration):
    """A ``WatermarkGeneration`` that calls ``onEvent`` once for a run if it only updates
    attributes."""

    __slots__ = ("_fold",)

    def __init__(
        self, strategy: WatermarkStrategy[Any], clock: ProcessingTimeService, snapshot: Any
    ) -> None:
        super().__init__(strategy, clock, snapshot)
        self._fold = None if self.emitsOnlyPeriodically else EventFold(self.generator)

    @property
    def notesRuns(self) -> bool:
        """Whether ``note`` can succeed."""
        return self._fold is not None and self._fold.possible

    @property
    def isUnset(self) -> bool:
        """Whether ``note`` has to wait for the first element."""
        return self._fold is not None and self._fold.isUnset

    def note(
        self, values: Sequence[Any], timestamps: Timestamps, emits: bool = False
    ) -> Marks | None:
        """Do what ``onEvent`` would do for each of these elements, and return the watermarks that it
        emits among them. None, with nothing done, if it cannot be vectorised; without ``emits`` also
        if it emits any."""
        noted = None if self._fold is None else self._fold.note(values, timestamps, emits)
        if noted is None:
            return None
        self.noteActivity(int(timestamps.max(initial=NO_TIMESTAMP)))
        return Marks.of(noted.positions + 1, noted.watermarks)


class ColumnTimestampsAndWatermarks(TimestampsAndWatermarksOperator):
    """A ``TimestampsAndWatermarksOperator`` that computes the timestamps of a run of columns at
    once, and calls a generator that only updates its attributes once for the run."""

    def __init__(
        self, context: OperatorContext, description: TimestampsAndWatermarksDescription
    ) -> None:
        super().__init__(context, description)
        self._columns = column_function(self._extract, 2, traces=self.tracesFunctions)

    def generationFrom(self, snapshot: Any) -> WatermarkGeneration:
        kind = ColumnGeneration if self.tracesFunctions else WatermarkGeneration
        return kind(self.strategy, self.clock, snapshot)

    def processOf(
        self, generation: WatermarkGeneration, emitter: WatermarkOutput, records: Records
    ) -> None:
        if isinstance(generation, ColumnGeneration) and generation.notesRuns:
            if generation.isUnset and len(records) > 1:
                super().processOf(generation, emitter, records.slice(0, 1))
                records = records.slice(1, len(records))
            emits = emitter is self.emitter and not self.emitter.idle
            known = self.timedAsColumns(records)
            marks = None
            if known is not None:
                marks = generation.note(known.values, known.timestamps, emits)
            if known is not None and marks is not None:
                self.output.emitFrame(Frame(known, self.emitter.passing(marks)))
                return
        super().processOf(generation, emitter, records)

    def timed(self, records: Records) -> Records:
        column = self._timestamp_column(records)
        if column is None:
            return super().timed(records)
        self.lookAt(column)
        return records.timed(column)

    def timedAsColumns(self, records: Records) -> Records | None:
        """A run of columns with its timestamps; None if the assigner has to be called for each
        element."""
        if not isinstance(records.values, RowColumns) or records.values.nested:
            return None
        if self._columns is not None and self._columns.readsVariables(records.values):
            return None  # The generator may write these variables in onEvent
        column = self._timestamp_column(records)
        if column is None:
            return None
        self.lookAt(column)
        return records.timed(column)

    def emitSingly(self, records: Records, noted: Callable[[int, Any, int], None]) -> None:
        known = self.timedAsColumns(records)
        if known is None:
            super().emitSingly(records, noted)
        else:
            self._emit_columns(known, noted)

    def _timestamp_column(self, records: Records) -> Timestamps | None:
        """The timestamps of a run; None if the assigner has to be called for each element."""
        if self._extract is None:
            return records.timestamps
        column = integer_column(records.values, self._field)
        if column is None and self._columns is not None:
            column = self._columns.integers(records.values, records.timestamps)
        return column

    def _emit_columns(self, records: Records, noted: Callable[[int, Any, int], None]) -> None:
        """``emitSingly`` for columns: they are emitted as columns."""
        value: Any = None
        with self.userCodeOf(lambda: value), self.emitter.held() as held:
            for held.position, (value, timestamp) in enumerate(
                zip(records.values, records.timestamps.tolist()), 1
            ):
                noted(held.position - 1, value, timestamp)
        self.output.emitFrame(Frame(records, held.marks.build()))


class ColumnSourceWatermarks(ColumnTimestampsAndWatermarks, SourceWatermarksOperator):
    """The same for a source with splits; the split may be a column of the elements."""

    def emitOfSplits(
        self, records: Records, found: Splits, splits: Sequence[Split], done: Sequence[bool]
    ) -> None:
        generations = [
            split.generation
            for split in splits
            if isinstance(split.generation, ColumnGeneration) and split.generation.notesRuns
        ]
        known = self.timedAsColumns(records) if len(generations) == len(splits) else None
        if known is not None:
            numbers = np.asarray(found.numbers)
            done = []
            for number, generation in enumerate(generations):
                own = known.kept(numbers == number)
                done.append(generation.note(own.values, own.timestamps) is not None)
            if all(done):
                self.output.emitRecords(known)
                return
        super().emitOfSplits(records, found, splits, done)

    def highest(self, found: Splits, timestamps: Timestamps) -> list[int]:
        highest = np.full(len(found.distinct), MIN_TIMESTAMP)
        np.maximum.at(highest, np.asarray(found.numbers), timestamps)
        of_each: list[int] = highest.tolist()
        return of_each

    def splitsOf(self, records: Records) -> Splits:
        values = records.values
        if isinstance(values, RowColumns) and self._splitField is not None:
            number = values.column(self._splitField)
            column = None if number is None else values.arrow(number)
            if column is not None and not column.null_count and _tells_apart(column.type):
                encoded = column.dictionary_encode()
                return Splits(encoded.dictionary.to_pylist(), encoded.indices.to_numpy())
        return super().splitsOf(records)


def _tells_apart(kind: pa.DataType) -> bool:
    """Whether values of ``kind`` are equal in Python exactly if they are in Arrow."""
    return bool(pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_boolean(kind))
