"""The operators of keyed process functions with their column paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flinkish.api.plan.operators import KeyedProcessDescription
from flinkish.api.plan.two_input import BroadcastProcessDescription, CoProcessDescription
from flinkish.runtime.columns.path import WithColumns
from flinkish.runtime.columns.phase_columns import ProcessPath
from flinkish.runtime.columns.tracing.column_function import may_be_traced
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.broadcast import CoBroadcastWithKeyedOperator
from flinkish.runtime.operators.one_input import KeyedProcessOperator
from flinkish.runtime.operators.two_input import KeyedCoProcessOperator
from flinkish.runtime.records.records import Records


class KeyedColumnProcess(WithColumns, KeyedProcessOperator):
    """``KeyedProcessOperator`` with its path."""

    path: ProcessPath | None

    def __init__(self, context: OperatorContext, description: KeyedProcessDescription) -> None:
        super().__init__(context, description)
        if self.tracesFunctions and may_be_traced(description.call):
            self.path = ProcessPath(self, description.call)


class KeyedColumnCoProcess(KeyedCoProcessOperator):
    """``KeyedCoProcessOperator`` with a path for each input."""

    def __init__(self, context: OperatorContext, description: CoProcessDescription) -> None:
        super().__init__(context, description)
        function = description.function
        self.paths: tuple[ProcessPath | None, ProcessPath | None] = (
            self._path(function.processElement1),
            self._path(function.processElement2),
        )

    def _path(self, function: Callable[..., Any]) -> ProcessPath | None:
        traced = self.tracesFunctions and may_be_traced(function)
        return ProcessPath(self, function) if traced else None

    def processRecords1(self, records: Records) -> None:
        if not self._taken(self.paths[0], records):
            super().processRecords1(records)

    def processRecords2(self, records: Records) -> None:
        if not self._taken(self.paths[1], records):
            super().processRecords2(records)

    def _taken(self, path: ProcessPath | None, records: Records) -> bool:
        taken = path is not None and path.process(records)
        if taken:
            self.metrics.numRecordsIn += len(records)
        return taken


class KeyedColumnBroadcast(CoBroadcastWithKeyedOperator):
    """``CoBroadcastWithKeyedOperator`` with a path for the input that is not broadcast."""

    path: ProcessPath | None = None

    def __init__(self, context: OperatorContext, description: BroadcastProcessDescription) -> None:
        super().__init__(context, description)
        function = description.function.processElement
        if self.tracesFunctions and may_be_traced(function):
            self.path = ProcessPath(self, function, self._broadcast)

    def processRecords1(self, records: Records) -> None:
        if self.path is not None and self.path.process(records):
            self.metrics.numRecordsIn += len(records)
        else:
            super().processRecords1(records)
