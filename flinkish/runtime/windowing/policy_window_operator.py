"""Runs windows by trigger and eviction policies, those of each key apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flinkish.api.elements import MAX_TIMESTAMP
from flinkish.api.errors import MissingTimestampError
from flinkish.api.policy_windows import PolicyWindow, PolicyWindowDescription
from flinkish.api.returned_results import results_of
from flinkish.api.windowing.eviction_policy import Event, EvictionContext
from flinkish.api.windowing.trigger_policy import TriggerPolicyContext
from flinkish.runtime.elements import NO_TIMESTAMP, Records
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext
from flinkish.runtime.operators.keyed_operator import TimerOperator, keyed_elements
from flinkish.runtime.output import TimestampedCollector
from flinkish.runtime.state.backend import Timer
from flinkish.runtime.timers import InternalTimerService
from flinkish.runtime.windowing.policy_window_manager import PolicyWindowManager


class PolicyWindowOperator(TimerOperator, OneInputOperator):
    """Policy windows (Storm: ``WindowedBoltExecutor``). The state of a key is one entry."""

    def __init__(self, context: OperatorContext, description: PolicyWindowDescription) -> None:
        super().__init__(context)
        self._description = description
        self._event_time = description.triggerPolicy.isEventTime()
        self._late_tag = description.lateDataOutputTag
        self._table = context.backend.table("policy-windows")
        self._collector = TimestampedCollector(self.output)
        self._context = ManagerContext(self.timers)
        self._reached: set[Any] = set()

    def open(self) -> None:
        self.openFunction(self._description.function)

    # ------------------------------------------------------------------ elements

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        managers: dict[Any, PolicyWindowManager] = {}
        now = self.clock.getCurrentProcessingTime()
        value = None
        with self.userCodeOf(lambda: value):
            for key, value, timestamp in keyed_elements(records):
                if not self._event_time:
                    timestamp = now
                elif self._is_late(value, timestamp):
                    continue
                self.backend.currentKey = key
                manager = managers.get(key)
                if manager is None:
                    manager = managers[key] = self._manager(key)
                self._context.manager = manager
                manager.add(Event(value, timestamp), self._context)
        for key, manager in managers.items():
            self._keep(key, manager)
        self.output.flush()

    def _is_late(self, value: Any, timestamp: int) -> bool:
        if timestamp == NO_TIMESTAMP:
            raise MissingTimestampError(self.name, value)
        if timestamp > self.currentWatermark:
            return False
        if self._late_tag is not None:
            self.output.collectSide(self._late_tag.getId(), value, timestamp)
        else:
            self.metrics.numLateRecordsDropped += 1
        return True

    # ------------------------------------------------------------------ time

    def processWatermark(self, timestamp: int) -> None:
        self._reached.clear()
        self.advanceWatermark(timestamp)

    def onEventTime(self, timer: Timer) -> None:
        self.timer = timer
        if timer.key in self._reached:
            return  # the policy has been told of this watermark
        self._reached.add(timer.key)
        manager = self._context.manager = self._manager(timer.key)
        watermark = min(self.timers.currentWatermark() + 1, MAX_TIMESTAMP)
        manager.triggerPolicy.onWatermark(watermark, self._context)
        self._keep(timer.key, manager)

    def onProcessingTime(self, timer: Timer) -> None:
        self.timer = timer
        manager = self._context.manager = self._manager(timer.key)
        manager.triggerPolicy.onProcessingTime(timer.timestamp - 1, self._context)
        self._keep(timer.key, manager)

    # ------------------------------------------------------------------ windows

    def _manager(self, key: Any) -> PolicyWindowManager:
        description = self._description
        return PolicyWindowManager(
            key if description.grouped else None,
            description.triggerPolicy,
            description.evictionPolicy,
            self._activate,
            self._table.get(key, None),
        )

    def _keep(self, key: Any, manager: PolicyWindowManager) -> None:
        state = manager.state()
        if state is None:
            self._table.remove(key, None)
        else:
            self._table.put(key, None, state)

    def _activate(self, window: PolicyWindow[Any]) -> None:
        collector = self._collector
        collector.timestamp = window.endTimestamp
        for result in results_of(self._description.call(window, collector), "the window function"):
            collector.collect(result)


class ManagerContext(TriggerPolicyContext):
    """The context of a trigger policy: the timers of the current key, and its ``manager``."""

    __slots__ = ("_timers", "manager")

    manager: PolicyWindowManager

    def __init__(self, timers: InternalTimerService) -> None:
        self._timers = timers

    def onTrigger(self, context: EvictionContext) -> bool:
        return self.manager.onTrigger(context)

    # "No event before t will come" is Watermark(t - 1)
    def registerWatermarkTimer(self, time: int) -> None:
        self._timers.registerEventTimeTimer(None, time - 1)

    def registerProcessingTimeTimer(self, time: int) -> None:
        self._timers.registerProcessingTimeTimer(None, time + 1)

    def currentProcessingTime(self) -> int:
        return self._timers.currentProcessingTime()

    def getEventCount(self, until: int) -> int:
        return sum(event.timestamp <= until for event in self.manager.events)

    def getEarliestEventTs(self, after: int | None, until: int) -> int | None:
        return min(self._between(after, until), default=None)

    def getLatestEventTs(self) -> int | None:
        return max((event.timestamp for event in self.manager.events), default=None)

    def getSlidingCountTimestamps(
        self, after: int | None, until: int, slidingCount: int
    ) -> Sequence[int]:
        latest: list[int] = []
        for timestamp in self._between(after, until):
            latest.append(timestamp if not latest else max(latest[-1], timestamp))
        return latest[slidingCount - 1 :: slidingCount]

    def expiresWithTime(self) -> bool:
        return self.manager.expiresWithTime()

    def _between(self, after: int | None, until: int) -> list[int]:
        return [
            event.timestamp
            for event in self.manager.events
            if event.timestamp <= until and (after is None or event.timestamp > after)
        ]
