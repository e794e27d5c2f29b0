"""The column paths of operators without state: map, filter, flatMap, and process."""

from __future__ import annotations

import numpy as np

from flinkish.api.functions.tagged import Tagger
from flinkish.api.plan.operators import (
    FilterDescription,
    FlatMapDescription,
    MapDescription,
    ProcessDescription,
)
from flinkish.api.plan.two_input import BroadcastProcessDescription
from flinkish.runtime.columns.path import ColumnPath, WithColumns
from flinkish.runtime.columns.tracing.column_function import ColumnFunction, may_be_traced
from flinkish.runtime.columns.tracing.emitting_function import (
    ElementFunction,
    FlatMapColumns,
    ProcessFunctionColumns,
)
from flinkish.runtime.operators.base import OperatorContext, StreamOperator
from flinkish.runtime.operators.broadcast import CoBroadcastWithNonKeyedOperator
from flinkish.runtime.operators.keyed import KeyedOperator
from flinkish.runtime.operators.one_input import (
    ProcessOperator,
    ProcessUnderKeyOperator,
    StreamFilter,
    StreamFlatMap,
    StreamMap,
)
from flinkish.runtime.operators.output import Output
from flinkish.runtime.records.frames import SHORTEST_COLUMNS, Frame
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.tagged_columns import TaggedColumns


class MapPath(ColumnPath):
    """``map``: a column of results."""

    def __init__(self, output: Output, columns: TaggedColumns | ColumnFunction) -> None:
        self._output = output
        self._columns = columns

    def process(self, records: Records) -> bool:
        results = self._columns.results(records.values)
        if results is not None:
            self._output.emitRecords(records.mapped(results))
        return results is not None

    def processFrame(self, frame: Frame) -> bool:
        results = self._columns.results(frame.records.values)
        if results is not None:
            self._output.emitFrame(Frame(frame.records.mapped(results), frame.marks))
        return results is not None


class FilterPath(ColumnPath):
    """``filter``: a column of booleans."""

    def __init__(self, output: Output, columns: ColumnFunction) -> None:
        self._output = output
        self._columns = columns

    def process(self, records: Records) -> bool:
        truths = self._columns.truths(records.values)
        if truths is None:
            return False
        if truths.all():
            self._output.emitRecords(records)
        elif truths.any():
            self._output.emitRecords(records.kept(truths))
        return True

    def processFrame(self, frame: Frame) -> bool:
        truths = self._columns.truths(frame.records.values)
        if truths is None:
            return False
        places = np.concatenate([[0], np.cumsum(truths)])[frame.marks.positions]
        self._output.emitFrame(Frame(frame.records.kept(truths), frame.marks.at(places)))
        return True


class EmittingPath(ColumnPath):
    """``flatMap`` and ``process``: columns of the results of all elements, side outputs too."""

    def __init__(self, operator: StreamOperator, columns: ElementFunction) -> None:
        self._operator = operator
        self._columns = columns

    def process(self, records: Records) -> bool:
        watermark, clock = self._operator.currentWatermark, self._operator.clock
        results = self._columns.process(records, watermark, clock.getCurrentProcessingTime())
        if results is None:
            return False
        self._operator.output.emitOutputs(results)
        return True


class ColumnMap(WithColumns, StreamMap):
    """``StreamMap`` with its path."""

    def __init__(self, context: OperatorContext, description: MapDescription) -> None:
        super().__init__(context, description)
        function = description.function
        if isinstance(function, Tagger) and self.tracesFunctions:
            self.path = MapPath(self.output, TaggedColumns(function.tag))
        elif self.tracesFunctions and may_be_traced(description.call):
            self.path = MapPath(self.output, ColumnFunction(description.call))


class ColumnFilter(WithColumns, StreamFilter):
    """``StreamFilter`` with its path."""

    def __init__(self, context: OperatorContext, description: FilterDescription) -> None:
        super().__init__(context, description)
        if self.tracesFunctions and may_be_traced(description.call):
            self.path = FilterPath(self.output, ColumnFunction(description.call))


class ColumnFlatMap(WithColumns, StreamFlatMap):
    """``StreamFlatMap`` with its path."""

    def __init__(self, context: OperatorContext, description: FlatMapDescription) -> None:
        super().__init__(context, description)
        call, iterate = description.call, description.iterate
        if self.tracesFunctions and may_be_traced(iterate or call):
            self.path = EmittingPath(self, FlatMapColumns(call, iterate))


class ColumnProcess(WithColumns, ProcessOperator):
    """``ProcessOperator`` with its path."""

    def __init__(self, context: OperatorContext, description: ProcessDescription) -> None:
        super().__init__(context, description)
        if self.tracesFunctions and may_be_traced(description.call):
            self.path = EmittingPath(self, ProcessFunctionColumns(description.call))


class ColumnBroadcast(CoBroadcastWithNonKeyedOperator):
    """``CoBroadcastWithNonKeyedOperator`` with a path for the input that is not broadcast."""

    path: EmittingPath | None = None

    def __init__(self, context: OperatorContext, description: BroadcastProcessDescription) -> None:
        super().__init__(context, description)
        function = description.function.processElement
        if self.tracesFunctions and may_be_traced(function):
            self.path = EmittingPath(self, ProcessFunctionColumns(function, self._broadcast))

    def processRecords1(self, records: Records) -> None:
        # Each broadcast element may change what a trace relies on, and then runs are short
        long = len(records) >= SHORTEST_COLUMNS
        if self.path is not None and long and self.path.process(records):
            self.metrics.numRecordsIn += len(records)
        else:
            super().processRecords1(records)


class KeyedColumnMap(ColumnMap, KeyedOperator, StreamMap):
    """``KeyedStream.map`` with its path."""


class KeyedColumnFilter(ColumnFilter, KeyedOperator, StreamFilter):
    """``KeyedStream.filter`` with its path."""


class KeyedColumnFlatMap(ColumnFlatMap, KeyedOperator, StreamFlatMap):
    """``KeyedStream.flatMap`` with its path."""


class ColumnProcessUnderKey(ColumnProcess, ProcessUnderKeyOperator):
    """``ProcessUnderKeyOperator`` with its path."""
