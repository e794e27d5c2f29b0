"""Changes the lifetimes of events, and shifts watermarks as it shifts their starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flinkish.api.elements import MAX_TIMESTAMP
from flinkish.api.lifetime_changes import LifetimeChangeDescription
from flinkish.runtime.elements import Records
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext


class LifetimeChangeOperator(OneInputOperator):
    """``shiftEventTime``, ``alterEventLifetime`` and ``alterEventDuration``. It keeps nothing."""

    def __init__(self, context: OperatorContext, description: LifetimeChangeDescription) -> None:
        super().__init__(context)
        self._shift, self._change = description.shift, description.change

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        element: Any = None
        with self.userCodeOf(lambda: element):
            for element in records.values:
                event = self._change(element)
                if event is not None:
                    self.output.collect(event, event.syncTime)
        self.output.flush()

    def processWatermark(self, timestamp: int) -> None:
        self.processWatermarks((timestamp,))

    def processWatermarks(self, timestamps: Sequence[int]) -> None:
        self.skipToWatermark(timestamps[-1])
        self.output.emitWatermarks([self._shifted(timestamp) for timestamp in timestamps])

    def _shifted(self, timestamp: int) -> int:
        return timestamp if timestamp == MAX_TIMESTAMP else timestamp + self._shift
