"""``PolicyWindowOperator``: keeps the events of each key in a queue, and lets Storm's policies fire and evict them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import accumulate
from typing import Any, NamedTuple

from flinkish.api.errors import MissingTimestampError, NotSupportedError
from flinkish.api.functions.adapt import results_of
from flinkish.api.output_tag import OutputTag
from flinkish.api.stored_names import stored_as
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.compat.storm.policies import (
    Event,
    EvictionContext,
    EvictionPolicy,
    TriggerPolicy,
    TriggerPolicyContext,
)
from flinkish.compat.storm.windows import (
    PolicyWindow,
    PolicyWindowCollector,
    PolicyWindowDescription,
)
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext
from flinkish.runtime.operators.keyed import TimerOperator, keyed_elements
from flinkish.runtime.operators.output import TimestampedCollector
from flinkish.runtime.operators.timers import InternalTimerService
from flinkish.runtime.records.copies import copied
from flinkish.runtime.records.records import NO_TIMESTAMP, Records
from flinkish.runtime.records.user_code import user_method_of
from flinkish.runtime.registry import register_operator
from flinkish.runtime.state.backend import Timer

Action = EvictionPolicy.Action


@stored_as("storm.PolicyWindowState")
class PolicyWindowState(NamedTuple):
    """The state of a key: its queue, which of the events were in the last window, and the state of
    the policies."""

    events: list[Event[Any]]
    seen: list[bool]
    triggerPolicy: dict[str, Any]
    evictionPolicy: dict[str, Any]


class PolicyWindowManager(TriggerPolicyContext):
    """Runs the policies on the events of one key (Storm: ``WindowManager``), and is what they see.

    ``activate`` is called with each window that has events.
    """

    def __init__(
        self,
        key: Any,
        triggerPolicy: TriggerPolicy[Any],
        evictionPolicy: EvictionPolicy[Any],
        timers: InternalTimerService,
        activate: Callable[[PolicyWindow[Any]], None],
        state: PolicyWindowState | None,
    ) -> None:
        self._key, self._timers = key, timers
        self._initial = triggerPolicy, evictionPolicy
        self.events, self._seen, trigger, eviction = state or PolicyWindowState([], [], {}, {})
        self.triggerPolicy: TriggerPolicy[Any] = _copy(triggerPolicy, trigger)
        self._eviction: EvictionPolicy[Any] = _copy(evictionPolicy, eviction)
        self._activate = activate

    def state(self) -> PolicyWindowState | None:
        """Return the state of the key; None if its queue is empty."""
        if not self.events:
            return None
        trigger, eviction = self._initial
        return PolicyWindowState(
            self.events,
            self._seen,
            _changes(self.triggerPolicy, trigger),
            _changes(self._eviction, eviction),
        )

    def add(self, event: Event[Any]) -> None:
        """Queue an event and notify the policies."""
        self.events.append(event)
        self._seen.append(False)
        self._eviction.track(event)
        self.triggerPolicy.track(event, self)
        if not self.events:
            self.triggerPolicy, self._eviction = deepcopy(self._initial)

    def onTrigger(self, context: EvictionContext) -> bool:
        self._eviction.setContext(context)
        evict = self._eviction.evict
        # Copies, as the bolt may change them and the queue is kept
        elements, new, expired = [], [], []
        events, in_window = [], []
        queue = zip(self.events, self._seen)
        for event, seen in queue:
            action = evict(event)
            if action is Action.EXPIRE:
                expired.append(event.value)
                continue
            events.append(event)
            in_window.append(action is Action.PROCESS)
            if action is Action.PROCESS:
                value = copied(event.value)
                elements.append(value)
                if not seen:
                    new.append(value)
            elif action is Action.STOP:
                break
        for event, _ in queue:
            events.append(event)
            in_window.append(False)
        self.events, self._seen = events, in_window
        if elements:
            end = context.referenceTime
            start = self._eviction.windowStart(end)
            self._activate(PolicyWindow(self._key, elements, new, expired, start, end))
        self.triggerPolicy.reset()
        return bool(elements)

    def expiresWithTime(self) -> bool:
        return self._eviction.expiresWithTime()

    # "No event before t will come" is Watermark(t - 1)
    def registerWatermarkTimer(self, time: int) -> None:
        if time > MAX_TIMESTAMP:
            raise NotSupportedError(
                f"a window would end at {time} ms, after the largest timestamp, {MAX_TIMESTAMP}, so it would never"
                " fire. Results of count windows and of global windows have that timestamp: give them another with"
                " assignTimestampsAndWatermarks."
            )
        self._timers.registerEventTimeTimer(None, time - 1)

    def registerProcessingTimeTimer(self, time: int) -> None:
        self._timers.registerProcessingTimeTimer(None, time + 1)

    def currentProcessingTime(self) -> int:
        return self._timers.currentProcessingTime()

    def getEventCount(self, until: int) -> int:
        return sum(event.timestamp <= until for event in self.events)

    def getEarliestEventTs(self, after: int | None, until: int) -> int | None:
        return min(self._between(after, until), default=None)

    def getLatestEventTs(self) -> int | None:
        return max((event.timestamp for event in self.events), default=None)

    def getSlidingCountTimestamps(
        self, after: int | None, until: int, slidingCount: int
    ) -> Sequence[int]:
        latest = list(accumulate(self._between(after, until), max))
        return latest[slidingCount - 1 :: slidingCount]

    def _between(self, after: int | None, until: int) -> list[int]:
        return [
            event.timestamp
            for event in self.events
            if event.timestamp <= until and (after is None or event.timestamp > after)
        ]


def _copy(policy: Any, changes: dict[str, Any]) -> Any:
    copy = deepcopy(policy)
    vars(copy).update(changes)
    return copy


def _changes(policy: Any, initial: Any) -> dict[str, Any]:
    """The attributes in which ``policy`` differs: its settings are in the job, not in its state."""
    before = vars(initial)
    return {
        name: value
        for name, value in vars(policy).items()
        if name not in before or not _same(before[name], value)
    }


def _same(before: Any, now: Any) -> bool:
    return before is now or (type(before) is type(now) is int and before == now)


class PolicyWindowOperator(TimerOperator, OneInputOperator):
    """Policy windows (Storm: ``WindowedBoltExecutor``). The state of a key is one entry."""

    def __init__(self, context: OperatorContext, description: PolicyWindowDescription) -> None:
        super().__init__(context)
        self._description = description
        self._trigger = deepcopy(description.triggerPolicy)
        self._started = False
        self._event_time = description.triggerPolicy.isEventTime()
        self._late_tag = description.lateDataOutputTag
        self._table = context.backend.table("policy-windows")
        self._collector = WindowCollector(self.output)
        self._reached: set[Any] = set()

    def open(self) -> None:
        self.openFunction(self._description.function)
        with user_method_of(self.name, "start()"):
            self._trigger.start()
        self._started = True

    def close(self) -> None:
        if self._started:
            self._started = False
            with user_method_of(self.name, "shutdown()"):
                self._trigger.shutdown()
        super().close()

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
                manager.add(Event(value, timestamp))
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
            return  # the policy has received this watermark
        self._reached.add(timer.key)
        manager = self._manager(timer.key)
        watermark = min(self.timers.currentWatermark() + 1, MAX_TIMESTAMP)
        manager.triggerPolicy.onWatermark(watermark, manager)
        self._keep(timer.key, manager)

    def onProcessingTime(self, timer: Timer) -> None:
        self.timer = timer
        manager = self._manager(timer.key)
        manager.triggerPolicy.onProcessingTime(timer.timestamp - 1, manager)
        self._keep(timer.key, manager)

    # ------------------------------------------------------------------ windows

    def _manager(self, key: Any) -> PolicyWindowManager:
        description = self._description
        return PolicyWindowManager(
            key if description.grouped else None,
            self._trigger,
            description.evictionPolicy,
            self.timers,
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


class WindowCollector(TimestampedCollector, PolicyWindowCollector[Any]):
    """Emits with the end of the window as the timestamp."""

    __slots__ = ()

    def output(self, outputTag: OutputTag[Any], value: Any) -> None:
        self._output.collectSide(outputTag.getId(), value, self.timestamp)


register_operator(PolicyWindowDescription, PolicyWindowOperator)
