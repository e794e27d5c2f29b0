"""``ColumnPath``: the vectorised path of an operator that otherwise processes elements one by one.

What a path cannot process exactly is *deoptimized*: the operator processes it one by one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from flinkish.runtime.operators.base import OneInputOperator
from flinkish.runtime.records.frames import Frame
from flinkish.runtime.records.records import NO_RECORDS, Records


class ColumnPath(ABC):
    """Does for a whole run what an operator does for each element of it.

    If a path deoptimizes a run, the operator processes its elements one by one, and finds the state
    of earlier elements where it would have stored it itself.
    """

    @abstractmethod
    def process(self, records: Records) -> bool:
        """Process the run and emit its results. False, with nothing done, if the operator has to
        process the elements one by one."""

    def processFrame(self, frame: Frame) -> bool:
        """``process`` for records with watermarks and statuses among them, which are emitted at their
        places. False, with nothing done, if the operator has to process the runs between these."""
        return False


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

    def processFrame(self, frame: Frame) -> None:
        records = frame.records
        among, after = frame.marks.cut(int(np.searchsorted(frame.marks.positions, len(records))))
        if self.path is not None and len(among) and self.path.processFrame(Frame(records, among)):
            self.metrics.numRecordsIn += len(records)
            frame = Frame(NO_RECORDS, after.at(after.positions - len(records)))
        super().processFrame(frame)
