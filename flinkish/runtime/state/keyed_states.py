"""The states a user reads and writes, as views on the tables of a state backend."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from flinkish.api.callables import reduce_call
from flinkish.api.errors import InvalidProgramError
from flinkish.api.runtime_context import KeyedStateStore
from flinkish.api.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    State,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from flinkish.runtime.state.backend import KeyedStateBackend, MapStateTable, StateTable


S = TypeVar("S", bound=State)


class KeyedStates(KeyedStateStore):
    """The states of one operator. All that it hands out work under the backend's current key and
    under ``namespace``, which the operator sets before it calls a user function."""

    def __init__(self, backend: KeyedStateBackend) -> None:
        self.backend = backend
        self.namespace: Any = None
        self._states: dict[str, tuple[type[StateDescriptor[Any]], State]] = {}

    def getState(self, stateProperties: ValueStateDescriptor[Any]) -> ValueState[Any]:
        return self._state(stateProperties, TableValueState)

    def getListState(self, stateProperties: ListStateDescriptor[Any]) -> ListState[Any]:
        return self._state(stateProperties, TableListState)

    def getMapState(self, stateProperties: MapStateDescriptor[Any, Any]) -> MapState[Any, Any]:
        return self._state(stateProperties, TableMapState)

    def getReducingState(self, stateProperties: ReducingStateDescriptor[Any]) -> ReducingState[Any]:
        return self._state(stateProperties, TableReducingState)

    def getAggregatingState(
        self, stateProperties: AggregatingStateDescriptor[Any, Any, Any]
    ) -> AggregatingState[Any, Any]:
        return self._state(stateProperties, TableAggregatingState)

    def of(self, descriptor: StateDescriptor[Any]) -> Any:
        """The state of any descriptor."""
        for kind, make in _KINDS.items():
            if isinstance(descriptor, kind):
                return self._state(descriptor, make)
        raise InvalidProgramError(f"{descriptor!r} is not a descriptor of keyed state.")

    def _state(self, descriptor: StateDescriptor[Any], make: Callable[..., S]) -> S:
        known = self._states.get(descriptor.name)
        if known is None:
            known = self._states[descriptor.name] = (type(descriptor), make(self, descriptor))
        elif known[0] is not type(descriptor):
            raise InvalidProgramError(
                f"the state {descriptor.name!r} is asked for with a {type(descriptor).__name__}, but"
                f" was with a {known[0].__name__} before. Give each state a name of its own."
            )
        return cast(S, known[1])


class _TableState(State):
    """A state whose entry is one value of a table."""

    __slots__ = ("_backend", "_states", "_table")

    def __init__(self, states: KeyedStates, descriptor: StateDescriptor[Any]) -> None:
        self._states = states
        self._backend = states.backend
        self._table: StateTable = states.backend.table(descriptor.name)

    def _get(self, default: Any = None) -> Any:
        return self._table.get(self._backend.currentKey, self._states.namespace, default)

    def _put(self, value: Any) -> None:
        self._table.put(self._backend.currentKey, self._states.namespace, value)

    def clear(self) -> None:
        self._table.remove(self._backend.currentKey, self._states.namespace)


class TableValueState(_TableState, ValueState[Any]):
    """A value."""

    __slots__ = ("_default",)

    def __init__(self, states: KeyedStates, descriptor: ValueStateDescriptor[Any]) -> None:
        super().__init__(states, descriptor)
        self._default = descriptor.default

    def value(self) -> Any:
        return self._get(self._default)

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()
        else:
            self._put(value)


class TableListState(_TableState, ListState[Any]):
    """A list; what ``get`` gives is a copy."""

    __slots__ = ()

    def get(self) -> list[Any]:
        return list(self._get(()))

    def add(self, value: Any) -> None:
        self.addAll((value,))

    def addAll(self, values: Iterable[Any]) -> None:
        added = list(values)
        if added:
            kept = self._get()
            if kept is None:
                kept = []
            kept.extend(added)
            self._put(kept)

    def update(self, values: Iterable[Any]) -> None:
        new = list(values)
        if new:
            self._put(new)
        else:
            self.clear()


class TableReducingState(_TableState, ReducingState[Any]):
    """A reduced value."""

    __slots__ = ("_reduce",)

    def __init__(self, states: KeyedStates, descriptor: ReducingStateDescriptor[Any]) -> None:
        super().__init__(states, descriptor)
        self._reduce = reduce_call(descriptor.reduceFunction)

    def get(self) -> Any:
        return self._get()

    def add(self, value: Any) -> None:
        kept = self._get(_MISSING)
        self._put(value if kept is _MISSING else self._reduce(kept, value))


class TableAggregatingState(_TableState, AggregatingState[Any, Any]):
    """An accumulator."""

    __slots__ = ("_function",)

    def __init__(
        self, states: KeyedStates, descriptor: AggregatingStateDescriptor[Any, Any, Any]
    ) -> None:
        super().__init__(states, descriptor)
        self._function = descriptor.aggregateFunction

    def get(self) -> Any:
        kept = self._get(_MISSING)
        return None if kept is _MISSING else self._function.getResult(kept)

    def add(self, value: Any) -> None:
        kept = self._get(_MISSING)
        accumulator = self._function.createAccumulator() if kept is _MISSING else kept
        self._put(self._function.add(value, accumulator))


class TableMapState(MapState[Any, Any]):
    """A map."""

    __slots__ = ("_backend", "_states", "_table")

    def __init__(self, states: KeyedStates, descriptor: MapStateDescriptor[Any, Any]) -> None:
        self._states = states
        self._backend = states.backend
        self._table: MapStateTable = states.backend.mapTable(descriptor.name)

    def get(self, key: Any) -> Any:
        return self._table.get(self._backend.currentKey, self._states.namespace, key)

    def put(self, key: Any, value: Any) -> None:
        self._table.put(self._backend.currentKey, self._states.namespace, key, value)

    def putAll(self, map: dict[Any, Any]) -> None:  # noqa: A002 - Flink's name
        for key, value in map.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        self._table.remove(self._backend.currentKey, self._states.namespace, key)

    def contains(self, key: Any) -> bool:
        found = self._table.get(self._backend.currentKey, self._states.namespace, key, _MISSING)
        return found is not _MISSING

    def entries(self) -> Iterable[tuple[Any, Any]]:
        return self._table.items(self._backend.currentKey, self._states.namespace)

    def keys(self) -> Iterable[Any]:
        return (key for key, _ in self.entries())

    def values(self) -> Iterable[Any]:
        return (value for _, value in self.entries())

    def isEmpty(self) -> bool:
        return self._table.isEmpty(self._backend.currentKey, self._states.namespace)

    def clear(self) -> None:
        self._table.clear(self._backend.currentKey, self._states.namespace)


_MISSING = object()

_KINDS: dict[type[StateDescriptor[Any]], Any] = {
    ValueStateDescriptor: TableValueState,
    ListStateDescriptor: TableListState,
    MapStateDescriptor: TableMapState,
    ReducingStateDescriptor: TableReducingState,
    AggregatingStateDescriptor: TableAggregatingState,
}
