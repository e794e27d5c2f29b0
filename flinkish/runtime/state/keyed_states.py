"""``KeyedStates``: the keyed states of one operator, by descriptor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from flinkish.api.errors import IllegalStateError, InvalidProgramError
from flinkish.api.functions.runtime_context import KeyedStateStore
from flinkish.api.functions.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    State,
    StateDescriptor,
    ValueStateDescriptor,
)
from flinkish.api.plan.state_form import accumulators, map_type
from flinkish.runtime.state.backend import KeyedStateBackend, NotedState, TimerQueue
from flinkish.runtime.state.table_states import (
    TableAggregatingState,
    TableListState,
    TableMapState,
    TableReducingState,
    TableValueState,
)
from flinkish.runtime.state.ttl import TTL_STATES, StateHome, Ttl
from flinkish.runtime.time.clock import ProcessingTimeService


class KeyedStates(KeyedStateStore):
    """The states of one operator. They read and write under the backend's current key and
    ``namespace``, which the operator sets before it calls a user function.

    ``clock`` measures the time to live of entries. ``sweeps``: whether the operator calls
    ``removeExpired``, which background clean-up needs. ``ofWindows``: whether the states belong to
    windows, and not to the key alone.
    """

    def __init__(
        self,
        backend: KeyedStateBackend,
        clock: ProcessingTimeService,
        sweeps: bool = False,
        ofWindows: bool = False,
    ) -> None:
        self.backend = backend
        self.namespace: Any = None
        self._clock = clock
        self._sweeps = sweeps
        self._of_windows = ofWindows
        self._homes: dict[str, StateHome] = {}
        self._states: dict[str, tuple[type[StateDescriptor[Any]], Any]] = {}
        self._expiring: dict[str, tuple[TimerQueue, Any, Ttl]] = {}
        backend.whenLoaded.append(self.settle)

    def of(self, stateProperties: StateDescriptor[Any]) -> Any:
        """The state of any descriptor; the same object for the same name."""
        kind, name = _kind_of(stateProperties), stateProperties.name
        known = self._states.get(name)
        if known is None:
            self.backend.note(_noted(kind, stateProperties))
            known = self._states[name] = kind, self._new(kind, stateProperties)
            self._settle(name, self.backend.names())
        elif known[0] is not kind:
            raise InvalidProgramError(
                f"the state {name!r} is used with a {kind.__name__}, but was used with a"
                f" {known[0].__name__} before. Give each state its own name."
            )
        return known[1]

    def getState(self, stateProperties: StateDescriptor[Any]) -> Any:
        return self.of(stateProperties)

    def getListState(self, stateProperties: StateDescriptor[Any]) -> Any:
        return self.of(stateProperties)

    def getMapState(self, stateProperties: StateDescriptor[Any]) -> Any:
        return self.of(stateProperties)

    def getReducingState(self, stateProperties: StateDescriptor[Any]) -> Any:
        return self.of(stateProperties)

    def getAggregatingState(self, stateProperties: StateDescriptor[Any]) -> Any:
        return self.of(stateProperties)

    def keysOf(self, descriptor: StateDescriptor[Any]) -> list[Any]:
        """The keys with an entry in a state, in the current namespace."""
        keys: list[Any] = self.of(descriptor).keysIn(self.namespace)
        return keys

    def tableOf(self, descriptor: StateDescriptor[Any]) -> str:
        home = self._homes.get(descriptor.name)
        return descriptor.name if home is None else home.table

    def settle(self) -> None:
        """Move entries that were stored with another time to live, or without one."""
        tables = self.backend.names() if self._homes else ()
        for name in self._homes:
            self._settle(name, tables)

    def removeExpired(self, now: int) -> None:
        """Remove the entries, of states with background clean-up, that have expired."""
        for queue, state, _ in self._expiring.values():
            while (timer := queue.pollDue(now)) is not None:
                state.removeExpired(timer.key, timer.namespace)

    def _settle(self, name: str, tables: Iterable[str]) -> None:
        checked = self._expiring.get(name)
        schedule = _unchecked if checked is None else checked[2].schedule
        now = self._clock.getCurrentProcessingTime()
        self._homes[name].settle(tables, self._is_ours, now, schedule)

    def _is_ours(self, namespace: object) -> bool:
        return (namespace is not None) == self._of_windows

    def _new(self, kind: type[StateDescriptor[Any]], descriptor: StateDescriptor[Any]) -> State:
        config = descriptor.ttlConfig
        if config is not None and not config.isEnabled():
            config = None
        home = self._homes[descriptor.name] = StateHome(
            self.backend, descriptor, config, checks=self._sweeps
        )
        if config is None:
            state: State = _STATES[kind](self, descriptor)
            return state
        cleanup = home.queue()
        ttl = Ttl(config, self._clock, cleanup)
        expiring: State = TTL_STATES[kind](self, descriptor, ttl)
        if cleanup is not None:
            self._expiring[descriptor.name] = cleanup, expiring, ttl
        return expiring


def _unchecked(entry: object, key: object, namespace: object) -> None:
    """In place of the schedule of a state whose entries are not checked."""


def _kind_of(descriptor: StateDescriptor[Any]) -> type[StateDescriptor[Any]]:
    own = type(descriptor)
    if own in _STATES:
        return own  # triggers ask for each element
    for kind in _STATES:
        if isinstance(descriptor, kind):
            return kind
    raise InvalidProgramError(
        f"{descriptor!r} is no descriptor of keyed state. Pass a ValueStateDescriptor, or one of a"
        " list, a map, a reducing or an aggregating state."
    )


def _noted(kind: type[StateDescriptor[Any]], descriptor: StateDescriptor[Any]) -> NotedState:
    name = kind.__name__.removesuffix("Descriptor")
    return NotedState(descriptor.name, name, _type_of(descriptor))


def _type_of(descriptor: StateDescriptor[Any]) -> str:
    if isinstance(descriptor, MapStateDescriptor):
        return map_type(descriptor.keyType, descriptor.valueType)
    if descriptor.type is None and isinstance(descriptor, AggregatingStateDescriptor):
        return accumulators(descriptor.aggregateFunction)
    return "" if descriptor.type is None else str(descriptor.type)


_STATES: dict[type[StateDescriptor[Any]], Any] = {
    ValueStateDescriptor: TableValueState,
    ListStateDescriptor: TableListState,
    MapStateDescriptor: TableMapState,
    ReducingStateDescriptor: TableReducingState,
    AggregatingStateDescriptor: TableAggregatingState,
}


class _NoKey:
    """Stands for the current key while there is none: hashing it raises."""

    def __hash__(self) -> NoReturn:
        raise IllegalStateError(
            "keyed state and timers are available only while an element or timer of a key is processed."
            " In processBroadcastElement use ctx.applyToKeyedState(descriptor, function); open() is"
            " for getting states, not for reading them."
        )

    def __eq__(self, other: object) -> bool:
        return self is other

    def __repr__(self) -> str:
        return "<no key>"


NO_KEY = _NoKey()
"""The current key while user code runs without one."""
