"""``ColumnPath``: the vectorised path of an operator that otherwise processes elements one by
one."""

from __future__ import annotations

from abc import ABC, abstractmethod

from flinkish.runtime.operators.base import OneInputOperator
from flinkish.runtime.records.records import Records


class ColumnPath(ABC):
    """Does for a whole run what an operator does for each element of it.

    If a path cannot process a run, the operator processes its elements one by one, and finds the
    state of earlier elements where it would have stored it itself.
    """

    @abstractmethod
    def process(self, records: Records) -> bool:
        """Process the run and emit its results. False, with nothing done, if the operator has to
        process the elements one by one."""


class WithColumns(OneInputOperator):
    """First base class of an operator that tries its column path before it processes elements
    singly."""

    path: ColumnPath | None = None
    """None if this function has no path."""

    def processRecords(self, records: Records) -> None:
        if self.path is not None and self.path.process(records):
            self.metrics.numRecordsIn += len(records)
        else:
            super().processRecords(records)
