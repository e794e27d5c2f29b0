"""``ContentWindowOperator``: windows whose bounds depend on the elements in timestamp order."""

from __future__ import annotations

from bisect import bisect_right, insort
from operator import itemgetter
from typing import Any

from flinkish.api.errors import MissingTimestampError, NotSupportedError
from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.api.time.durations import fits_long
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext
from flinkish.runtime.operators.keyed import TimerOperator, keyed_elements
from flinkish.runtime.records.copies import handed_out
from flinkish.runtime.records.records import NO_TIMESTAMP, Records
from flinkish.runtime.state.backend import Timer
from flinkish.runtime.state.keyed_states import KeyedStates
from flinkish.runtime.windowing.window_contents import TABLE, element_fold
from flinkish.runtime.windowing.window_functions import WindowFunctionRunner

_timestamp = itemgetter(0)


class ContentWindowOperator(TimerOperator, OneInputOperator):
    """Keeps the elements of each key in timestamp order until the watermark has passed them, then
    asks a ``ContentWindows`` assigner which windows they form.

    An element registers a timer for each time at which it may change the windows of its key
    (``ContentWindows.changes``). When such a timer is due, all elements up to that time are known,
    and the assigner says which window is complete, if any, and which elements later windows need
    (``changeAt``). An element at or below the watermark is late.

    The state of a key is the pair (its elements with their timestamps, the assigner's memory).
    """

    def __init__(self, context: OperatorContext, description: WindowOperatorDescription) -> None:
        super().__init__(context)
        self._description = description
        self._assigner: Any = description.assigner
        self._late_tag = description.lateDataOutputTag
        self._fold = element_fold(description.aggregation)

    def open(self) -> None:
        self._table = self.backend.table(TABLE)
        self._window_states = KeyedStates(self.backend, self.clock, sweeps=True, ofWindows=True)
        self._function = WindowFunctionRunner(self, self._description, self._window_states)

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        value = None
        with self.userCodeOf(lambda: value):
            for key, value, timestamp in keyed_elements(records):
                self._process_element(key, value, timestamp)
        self.output.flush()

    def _process_element(self, key: Any, value: Any, timestamp: int) -> None:
        if timestamp == NO_TIMESTAMP:
            raise MissingTimestampError(self.name, value)
        if timestamp <= self.currentWatermark:
            if self._late_tag is None:
                self.metrics.numLateRecordsDropped += 1
            else:
                self.output.collectSide(self._late_tag.getId(), value, timestamp)
            return
        self.backend.currentKey = key
        elements, memory = self._table.get(key, None) or ([], None)
        insort(elements, (timestamp, value), key=_timestamp)
        self._table.put(key, None, (elements, memory))
        for time in self._assigner.changes(timestamp):
            if not fits_long(time):
                raise NotSupportedError(
                    f"{type(self._assigner).__name__}: the window of the element at {timestamp} ms would change at"
                    f" {time} ms, which 64 bits do not hold. Results of count windows and of global windows have the"
                    " largest timestamp: give them another with assignTimestampsAndWatermarks."
                )
            self.timers.registerEventTimeTimer(None, time)

    def advanceProcessingTime(self, now: int) -> None:
        super().advanceProcessingTime(now)
        self._window_states.removeExpired(now)

    def onEventTime(self, timer: Timer) -> None:
        self.timer = timer
        entry = self._table.get(timer.key, None)
        if entry is None:
            return
        elements, memory = entry
        known = bisect_right(elements, timer.timestamp, key=_timestamp)
        timestamps = [timestamp for timestamp, _ in elements[:known]]
        if not timestamps and memory is None:
            return
        change = self._assigner.changeAt(timer.timestamp, timestamps, memory)
        if change.window is not None:
            self._fire_window(
                change.window, [value for _, value in elements[change.begin : change.end]]
            )
        if change.keepFrom == len(elements) and change.memory is None:
            self._table.remove(timer.key, None)
        else:
            self._table.put(timer.key, None, (elements[change.keepFrom :], change.memory))

    def _fire_window(self, window: Any, values: list[Any]) -> None:
        # Copies, as a reduce function may change its arguments, and later windows may share
        # elements
        results = self._fold(list(handed_out(values)))
        if self._description.aggregation is not None and results[0] is None:
            return  # as in Flink, None is not a result
        self._window_states.namespace = window
        self._function.process(self.backend.currentKey, window, results)
        self._function.clear(window)
