"""``KeyedStream.process``: a process function under a key, with state and timers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flinkish.api.process_functions import TimeDomain
from flinkish.api.process_operators import KeyedProcessDescription
from flinkish.runtime.elements import NO_TIMESTAMP, Records
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext
from flinkish.runtime.operators.keyed_operator import TimerOperator
from flinkish.runtime.operators.process_context import OperatorProcessContext, SimpleTimerService
from flinkish.runtime.output import TimestampedCollector
from flinkish.runtime.state.backend import Timer

OnTimer = Callable[[int, Any, Any], Any]


class OnTimerOperator(TimerOperator):
    """A keyed operator whose function has an ``onTimer``. Subclasses set ``onTimer``."""

    onTimer: OnTimer

    def __init__(self, context: OperatorContext) -> None:
        super().__init__(context)
        self.timerService = SimpleTimerService(self.timers)
        self.context = OperatorProcessContext(self, self.timerService)
        self.collector = TimestampedCollector(self.output)

    def onEventTime(self, timer: Timer) -> None:
        self.timer = timer
        timestamp = timer.timestamp
        context = self.context
        context.elementTimestamp = self.collector.timestamp = timestamp
        context.domain = TimeDomain.EVENT_TIME
        self.collector.collectReturned(self.onTimer(timestamp, context, self.collector))

    def onProcessingTime(self, timer: Timer) -> None:
        self.timer = timer
        context = self.context
        # In Flink too, only the main output goes without a timestamp
        context.elementTimestamp = timer.timestamp
        self.collector.timestamp = NO_TIMESTAMP
        context.domain = TimeDomain.PROCESSING_TIME
        self.collector.collectReturned(self.onTimer(timer.timestamp, context, self.collector))

    def processRun(self, function: Callable[[Any, Any, Any], Any], records: Records) -> None:
        """Call ``function(value, context, collector)`` for every record, under its key."""
        self.metrics.numRecordsIn += len(records)
        self.context.domain = None
        self.processElements(function, self.context, self.collector, records)


class KeyedProcessOperator(OnTimerOperator, OneInputOperator):
    """``process`` of a keyed stream (Flink: ``KeyedProcessOperator``)."""

    def __init__(self, context: OperatorContext, description: KeyedProcessDescription) -> None:
        super().__init__(context)
        self._function = description.function
        self._call = description.call
        if description.function is not None:
            self.onTimer = description.function.onTimer
        else:
            self.onTimer = _ignore

    def open(self) -> None:
        self.openFunction(self._function)

    def processRecords(self, records: Records) -> None:
        self.processRun(self._call, records)

    def processWatermark(self, timestamp: int) -> None:
        self.advanceWatermark(timestamp)


def _ignore(timestamp: int, context: Any, collector: Any) -> None:
    """A plain function has no ``onTimer``."""
