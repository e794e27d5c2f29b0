"""The column paths of keyed process functions: a fold by key, or phases if the function is no
fold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flinkish.api.plan.operators import KeyedProcessDescription
from flinkish.api.plan.two_input import CoProcessDescription
from flinkish.runtime.columns.path import ColumnPath, WithColumns
from flinkish.runtime.columns.phase_columns import PhasePath
from flinkish.runtime.columns.process_columns import ProcessColumns
from flinkish.runtime.columns.tracing.column_function import may_be_traced
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.one_input import KeyedProcessOperator
from flinkish.runtime.operators.two_input import KeyedCoProcessOperator
from flinkish.runtime.records.records import Records


class KeyedProcessPath(ColumnPath):
    """``process`` of a keyed stream until its input ends; timers registered after that do not
    fire."""

    def __init__(self, operator: KeyedProcessOperator, function: Callable[..., Any]) -> None:
        self.columns = ProcessColumns(function, operator.backend, operator.timerService)
        self.phases = PhasePath(operator, function)
        self._operator = operator

    def process(self, records: Records) -> bool:
        if self._operator.timers.inputEnded:
            return False
        if not self.columns.refused:
            results = self.columns.process(records)
            if results is not None:
                self._operator.output.emitRecords(results)
                return True
        return self.columns.refused and self.phases.process(records)


class KeyedColumnProcess(WithColumns, KeyedProcessOperator):
    """``KeyedProcessOperator`` with its path."""

    path: KeyedProcessPath | None

    def __init__(self, context: OperatorContext, description: KeyedProcessDescription) -> None:
        super().__init__(context, description)
        if self.tracesFunctions and may_be_traced(description.call):
            self.path = KeyedProcessPath(self, description.call)


class KeyedColumnCoProcess(KeyedCoProcessOperator):
    """``KeyedCoProcessOperator`` with a path for each input."""

    def __init__(self, context: OperatorContext, description: CoProcessDescription) -> None:
        super().__init__(context, description)
        function = description.function
        self.paths: tuple[PhasePath | None, PhasePath | None] = (
            self._path(function.processElement1),
            self._path(function.processElement2),
        )

    def _path(self, function: Callable[..., Any]) -> PhasePath | None:
        traced = self.tracesFunctions and may_be_traced(function)
        return PhasePath(self, function) if traced else None

    def processRecords1(self, records: Records) -> None:
        if not self._taken(self.paths[0], records):
            super().processRecords1(records)

    def processRecords2(self, records: Records) -> None:
        if not self._taken(self.paths[1], records):
            super().processRecords2(records)

    def _taken(self, path: PhasePath | None, records: Records) -> bool:
        taken = path is not None and path.process(records)
        if taken:
            self.metrics.numRecordsIn += len(records)
        return taken
