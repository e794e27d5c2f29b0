"""Operators that look at one element at a time: map, filter, flatMap."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, compress
from typing import Any

import numpy as np

from flinkish.api.errors import UnfitElementError, shown
from flinkish.api.operators import (
    FilterDescription,
    FlatMapDescription,
    InOrderDescription,
    MapDescription,
)
from flinkish.runtime.elements import Records
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext
from flinkish.runtime.output import TimestampedCollector


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
        self.output.emitRecords(Records(self.mapped(self._call, records), records.timestamps))


class StreamFilter(StatelessOperator):
    """``filter`` (Flink: ``StreamFilter``)."""

    def __init__(self, context: OperatorContext, description: FilterDescription) -> None:
        super().__init__(context, description.function)
        self._call = description.call

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        verdicts = self.mapped(self._call, records)
        kept = np.fromiter(map(bool, verdicts), dtype=bool, count=len(records))
        if kept.all():
            self.output.emitRecords(records)
        elif kept.any():
            values = list(compress(records.values, kept))
            self.output.emitRecords(Records(values, records.timestamps[kept]))


def flat_map_results(returned: Any) -> list[Any]:
    """What a function of ``flatMap`` has returned, as its results; None is none.

    Raises UnfitElementError for a single value, also one of text, which would come apart.
    """
    if returned is None:
        return []
    if isinstance(returned, (str, bytes)) or not isinstance(returned, Iterable):
        raise UnfitElementError(
            f"the function of flatMap returned {shown(returned)} of type {type(returned).__name__},"
            " but must return its results as a list, yield them, or write them to out. For one"
            " result use map, or return a list of it: [result]."
        )
    return list(returned)


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
        lists = self.mapped(lambda value: flat_map_results(iterate(value)), records)
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
