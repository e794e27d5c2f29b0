"""``DataStream.process``: a process function without a key."""

from __future__ import annotations

from flinkish.api.process_operators import ProcessDescription
from flinkish.runtime.elements import Records
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext
from flinkish.runtime.operators.keyed_operator import KeyedOperator
from flinkish.runtime.operators.process_context import ClockService, OperatorProcessContext
from flinkish.runtime.output import TimestampedCollector


class ProcessOperator(OneInputOperator):
    """``process`` (Flink: ``ProcessOperator``)."""

    MEND = "Call keyBy(...) before process, and write a KeyedProcessFunction."

    def __init__(self, context: OperatorContext, description: ProcessDescription) -> None:
        super().__init__(context)
        self._function = description.function
        self._call = description.call
        self._context = OperatorProcessContext(self, ClockService(self, self.MEND))
        self._collector = TimestampedCollector(self.output)

    def open(self) -> None:
        self.openFunction(self._function)

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        self.processElements(self._call, self._context, self._collector, records)


class ProcessUnderKeyOperator(KeyedOperator, ProcessOperator):
    """A ``ProcessFunction`` on a keyed stream: it has keyed state, but no timers, as in Flink."""

    MEND = "Write a KeyedProcessFunction instead of the ProcessFunction."
