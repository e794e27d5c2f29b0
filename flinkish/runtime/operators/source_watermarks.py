"""Watermarks of a source that has several splits: a generator for each, joined by the lowest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from flinkish.api.elements import MIN_TIMESTAMP
from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.api.field_access import field_read
from flinkish.api.operators import SourceWatermarksDescription
from flinkish.runtime.elements import Records
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from flinkish.runtime.row_columns import RowColumns
from flinkish.runtime.watermark_generation import WatermarkGeneration
from flinkish.runtime.watermark_multiplexer import (
    DeferredOutput,
    ImmediateOutput,
    WatermarkOutputMultiplexer,
)


class _Split(NamedTuple):
    """What runs for one split (Flink: ``SourceOutputWithWatermarks``)."""

    generation: WatermarkGeneration
    onEventOutput: ImmediateOutput
    periodicOutput: DeferredOutput


class SourceWatermarksOperator(TimestampsAndWatermarksOperator):
    """The part of Flink's ``SourceOperator`` that makes watermarks, split by split.

    Splits are known by their elements. A batch's splits are all told before its first element comes
    (``expectRecords``), so that none runs ahead of another that is new in the same batch.
    """

    looksAhead = True

    def __init__(self, context: OperatorContext, description: SourceWatermarksDescription) -> None:
        self._splitOf = description.splitOf
        self._splitField = field_read(description.splitOf)
        super().__init__(context, description)

    def _restore_generators(self, snapshot: Any) -> None:
        generations, joined = ({}, None) if snapshot is None else snapshot
        self._multiplexer = WatermarkOutputMultiplexer(self._emitter)
        self._multiplexer.restore(joined)
        self._splits: dict[Any, _Split] = {}
        for index, (split, generation) in enumerate(generations.items()):
            self._splits[split] = self._split(index, generation)

    def _snapshot_generators(self) -> Any:
        generations = {name: split.generation.snapshot() for name, split in self._splits.items()}
        return generations, self._multiplexer.snapshot()

    def expectRecords(self, records: Records) -> None:
        self._register(self._splits_of(records))

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        names = self._splits_of(records)
        self._register(names)
        splits = self._splits
        if all(split.generation.emitsOnlyPeriodically for split in splits.values()):
            timed = self.timed(records)
            highest: dict[Any, int] = {}
            for name, timestamp in zip(names, timed.timestamps.tolist()):
                if timestamp >= highest.get(name, MIN_TIMESTAMP):
                    highest[name] = timestamp
            for name, timestamp in highest.items():
                split = splits[name]
                split.generation.onEvent(None, timestamp, split.onEventOutput)
            self.output.emitRecords(timed)
        else:

            def noted(position: int, value: Any, timestamp: int) -> None:
                split = splits[names[position]]
                split.generation.onEvent(value, timestamp, split.onEventOutput)

            self.emitSingly(records, noted)

    def _emit_periodically(self, now: int) -> None:
        for split in self._splits.values():
            split.generation.onPeriodicEmit(split.periodicOutput, now)
        self._multiplexer.onPeriodicEmit()

    def _running(self) -> Iterable[WatermarkGeneration]:
        if self._emitter.idle:
            return []
        return [
            split.generation
            for index, split in enumerate(self._splits.values())
            if not self._multiplexer.status.isIdle(index)
        ]

    def _register(self, names: Sequence[Any]) -> None:
        try:
            distinct = dict.fromkeys(names)
        except TypeError:
            raise IllegalArgumentError(
                f"{self.name}: splits such as {shown(names[0])} cannot be told apart, as they are not"
                " hashable. Let withSplits give a number, a string or a tuple of them."
            ) from None
        for name in distinct:
            if name not in self._splits:
                self._splits[name] = self._split(self._multiplexer.registerNewOutput(), None)

    def _split(self, index: int, snapshot: Any) -> _Split:
        return _Split(
            self.generation(snapshot),
            ImmediateOutput(self._multiplexer, index),
            DeferredOutput(self._multiplexer, index),
        )

    def _splits_of(self, records: Records) -> Sequence[Any]:
        values = records.values
        if isinstance(values, RowColumns) and self._splitField is not None:
            column = values.column(self._splitField)
            if column is not None:
                return values.values(column)
        return self.mapped(self._splitOf, records)
