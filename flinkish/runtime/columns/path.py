"""``ColumnPath``: how runs of columns go through an operator at once, beside the operator, which takes elements one by
one."""

from __future__ import annotations

from abc import ABC, abstractmethod

from flinkish.runtime.operators.base import OneInputOperator
from flinkish.runtime.records.records import Records


class ColumnPath(ABC):
    """Does for a whole run what an operator does for each of its elements.

    A path that cannot take a run leaves its elements to the operator, and keeps the state of earlier ones where the
    operator finds it.
    """

    @abstractmethod
    def process(self, records: Records) -> bool:
        """Process the run and emit its results. False, and nothing done, if the operator has to take its elements one
        by one."""


class WithColumns(OneInputOperator):
    """The first base of an operator that asks a path before it takes the elements of a run one by one."""

    path: ColumnPath | None = None
    """None: there is none for this function."""

    def processRecords(self, records: Records) -> None:
        if self.path is not None and self.path.process(records):
            self.metrics.numRecordsIn += len(records)
        else:
            super().processRecords(records)
