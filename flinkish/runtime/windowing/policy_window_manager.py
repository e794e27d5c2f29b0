"""The queue of one key with its trigger and eviction policies."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

from flinkish.api.policy_windows import PolicyWindow
from flinkish.api.stored_names import stored_as
from flinkish.api.windowing.eviction_policy import Event, EvictionContext, EvictionPolicy
from flinkish.api.windowing.trigger_policy import TriggerPolicy, TriggerPolicyContext

Action = EvictionPolicy.Action


@stored_as("PolicyWindowState")
class PolicyWindowState(NamedTuple):
    """What is kept of a key: its queue, which of the events were in the last window, and what the
    policies keep."""

    events: list[Event[Any]]
    seen: list[bool]
    triggerPolicy: dict[str, Any]
    evictionPolicy: dict[str, Any]


class PolicyWindowManager:
    """Runs the policies on the events of one key (Storm: ``WindowManager``).

    ``activate`` is called with each window that has events.
    """

    def __init__(
        self,
        key: Any,
        triggerPolicy: TriggerPolicy[Any],
        evictionPolicy: EvictionPolicy[Any],
        activate: Callable[[PolicyWindow[Any]], None],
        state: PolicyWindowState | None,
    ) -> None:
        self._key = key
        self._initial = triggerPolicy, evictionPolicy
        self.triggerPolicy: TriggerPolicy[Any] = _copy(
            triggerPolicy, {} if state is None else state.triggerPolicy
        )
        self._eviction: EvictionPolicy[Any] = _copy(
            evictionPolicy, {} if state is None else state.evictionPolicy
        )
        self._activate = activate
        self.events: list[Event[Any]] = [] if state is None else state.events
        self._seen: list[bool] = [] if state is None else state.seen

    def state(self) -> PolicyWindowState | None:
        """What to keep of the key; None if its queue is empty."""
        if not self.events:
            return None
        trigger, eviction = self._initial
        return PolicyWindowState(
            self.events,
            self._seen,
            _changes(self.triggerPolicy, trigger),
            _changes(self._eviction, eviction),
        )

    def add(self, event: Event[Any], context: TriggerPolicyContext) -> None:
        """Queue an event and tell the policies."""
        self.events.append(event)
        self._seen.append(False)
        self._eviction.track(event)
        self.triggerPolicy.track(event, context)
        if not self.events:
            self.triggerPolicy, self._eviction = deepcopy(self._initial)

    def onTrigger(self, context: EvictionContext) -> bool:
        """Fire a window; False if it has no events."""
        self._eviction.setContext(context)
        evict = self._eviction.evict
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
                elements.append(event.value)
                if not seen:
                    new.append(event.value)
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
        """What the eviction policy says of itself."""
        return self._eviction.expiresWithTime()


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
