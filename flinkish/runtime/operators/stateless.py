"""Operators that look at one element at a time: map, filter, flatMap."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from flinkish.api.operators import (
    FilterDescription,
    FlatMapDescription,
    InOrderDescription,
    MapDescription,
)
from flinkish.api.returned_results import results_of
from flinkish.runtime.element_copies import copied_results
from flinkish.runtime.elements import Records
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext
from flinkish.runtime.output import TimestampedCollector
from flinkish.runtime.retention import keeps_nothing


class StatelessOperator(OneInputOperator):
    """Opens the one function it has."""

    def __init__(self, context: OperatorContext, function: object) -> None:
        super().__init__(context)
        self._function = function

    def open(self) -> None:
        self.openFunction(self._function)


class StreamMap(StatelessOperator):
    """``map`` (Flink: ``StreamMap``)."""

    def __init__(self, context: OperatorContext, description: MapDescription) -> None:
        super().__init__(context, description.function)
        self._call = description.call

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        self.emitMapped(self._call, records)


class StreamFilter(StatelessOperator):
    """``filter`` (Flink: ``StreamFilter``)."""

    def __init__(self, context: OperatorContext, description: FilterDescription) -> None:
        super().__init__(context, description.function)
        self._call = description.call
        self._collector = TimestampedCollector(self.output)

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        held = not (keeps_nothing(self._call) and records.plain)
        if held and not records.immutable:
            self.collectElements(self._collect_kept, self._collector, records)
            return
        kept = np.array(self._truths(self.mapped(self._call, records), records), dtype=bool)
        if kept.all():
            self.output.emitRecords(records)
        elif kept.any():
            self.output.emitRecords(records.kept(kept))

    def _truths(self, verdicts: list[Any], records: Records) -> list[bool]:
        if set(map(type, verdicts)) <= {bool}:
            return verdicts
        truths: list[bool] = []
        with self.userCodeOf(lambda: records.values[len(truths)]):
            for verdict in verdicts:
                truths.append(bool(verdict))
        return truths

    def _collect_kept(self, value: Any, out: TimestampedCollector) -> None:
        """For values that can change: as they are when the function has looked at them."""
        if self._call(value):
            out.collect(value)


class StreamFlatMap(StatelessOperator):
    """``flatMap`` (Flink: ``StreamFlatMap``)."""

    def __init__(self, context: OperatorContext, description: FlatMapDescription) -> None:
        super().__init__(context, description.function)
        self._call = description.call
        self._iterate = description.iterate
        self._collector = TimestampedCollector(self.output)

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        if self._iterate is not None:
            self._process_iterables(self._iterate, records)
        elif self._call is not None:
            self.collectElements(self._call, self._collector, records)

    def _process_iterables(self, iterate: Callable[[Any], Any], records: Records) -> None:
        if self.output.reusesObjects:
            self.collectElements(
                lambda value, out: out.collectAll(results_of(iterate(value), tuples=True)),
                self._collector,
                records,
            )
            return
        lists = self.mapped(
            lambda value: copied_results(results_of(iterate(value), tuples=True)), records
        )
        counts = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        values = list(chain.from_iterable(lists))
        self.output.emitRecords(Records(values, np.repeat(records.timestamps, counts)))


class StreamInOrder(OneInputOperator):
    """Hands on what comes; that it comes in order is up to the chain."""

    def __init__(self, context: OperatorContext, description: InOrderDescription) -> None:
        super().__init__(context)

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        self.output.emitRecords(records)
