"""The states that user functions read and write, as views of the tables of a state backend.

Mutable values are copied when they are stored and when they are returned
(``runtime/records/copies.py``).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.api.functions.adapt import reduce_call
from flinkish.api.functions.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    MapEntry,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    State,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from flinkish.runtime.records.copies import ATOMS, copied, handed_out
from flinkish.runtime.records.records import Hashes
from flinkish.runtime.records.stable_hashes import PLAIN_KEYS, differs_from_itself, may_equal_others
from flinkish.runtime.state.accumulation import added, reduced
from flinkish.runtime.state.backend import KeyedStateBackend, MapStateTable, StateTable


class StateOwner(Protocol):
    """Supplies the current key and the current namespace, under which a state reads and writes."""

    backend: KeyedStateBackend
    namespace: Any

    def tableOf(self, descriptor: StateDescriptor[Any]) -> str:
        """The name of the table of a state."""


class TableState(State):
    """A state whose entry is one value of a table."""

    __slots__ = ("_backend", "_blocks", "_owner", "_table", "name")

    def __init__(self, owner: StateOwner, descriptor: StateDescriptor[Any]) -> None:
        self._owner = owner
        self._backend = owner.backend
        self._table: StateTable = owner.backend.table(owner.tableOf(descriptor))
        self._blocks = self._table.void
        self.name = descriptor.name

    def _get(self, default: Any = None) -> Any:
        return self._table.get(self._backend.currentKey, self._owner.namespace, default)

    def _put(self, value: Any) -> None:
        self._table.put(self._backend.currentKey, self._owner.namespace, value)

    def clear(self) -> None:
        self._table.remove(self._backend.currentKey, self._owner.namespace)

    def storedUnder(self, keys: Sequence[Any], hashes: Hashes | None = None) -> list[Any]:
        """The entry of each key; None if there is none. ``hashes``: those of the keys, if known."""
        table, namespace, blocks = self._table, self._owner.namespace, self._blocks
        if blocks is None or namespace is not None:
            return [table.get(key, namespace, None) for key in keys]
        if hashes is not None:
            table.find(keys, hashes)
        return list(map(dict.get, map(blocks.__getitem__, keys), keys))

    def keysIn(self, namespace: Any) -> list[Any]:
        return [key for key, other, _ in self._table.entries() if other == namespace]


class TableValueState(TableState, ValueState[Any]):
    """A value."""

    __slots__ = ("_default_is_shared", "default")

    def __init__(self, owner: StateOwner, descriptor: ValueStateDescriptor[Any]) -> None:
        super().__init__(owner, descriptor)
        self.default = descriptor.default
        self._default_is_shared = not isinstance(self.default, _IMMUTABLE)

    # Inlined, as most elements call these methods, and a further call would double their cost

    def value(self) -> Any:
        key, blocks = self._backend.currentKey, self._blocks
        if blocks is None or self._owner.namespace is not None:
            value = self._table.get(key, self._owner.namespace, None)
        else:
            value = blocks[key].get(key)
        if type(value) is tuple:
            for part in value:
                if type(part) not in ATOMS:
                    return copied(value)
            return value
        if value is not None:
            return value if type(value) in ATOMS else copied(value)
        return copy.deepcopy(self.default) if self._default_is_shared else self.default

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()
        else:
            value = value if type(value) in ATOMS else copied(value)
            key, blocks = self._backend.currentKey, self._blocks
            if blocks is None or self._owner.namespace is not None:
                self._table.put(key, self._owner.namespace, value)
            else:
                block = blocks[key]
                block[key] = value
                block.touched[key] = None

    def store(self, entries: Iterable[tuple[Any, Any]]) -> None:
        """Store a value for each key, to which nothing else refers; None: remove the entry."""
        blocks, namespace = self._blocks, self._owner.namespace
        for key, value in entries:
            if value is None:
                self._table.remove(key, namespace)
            elif blocks is None or namespace is not None:
                self._table.put(key, namespace, value)
            else:
                block = blocks[key]
                block[key] = value
                block.touched[key] = None


class TableListState(TableState, ListState[Any]):
    """A list; ``get`` returns a copy."""

    __slots__ = ()

    def get(self) -> list[Any]:
        return list(handed_out(self._get(())))

    def add(self, value: Any) -> None:
        if value is None:
            refuse_none(self.name)
        value = value if type(value) in ATOMS else copied(value)
        self._append(self._backend.currentKey, value)

    def store(self, entries: Iterable[tuple[Any, Any]]) -> None:
        """Add an element to the list of each key; None: remove the list. No other references to the
        elements may exist."""
        for key, value in entries:
            if value is None:
                self._table.remove(key, self._owner.namespace)
            else:
                self._append(key, value)

    def _append(self, key: Any, value: Any) -> None:
        blocks, namespace = self._blocks, self._owner.namespace
        if blocks is None or namespace is not None:
            kept = self._table.get(key, namespace)
            if kept is None:
                kept = [value]
            else:
                kept.append(value)
            self._table.put(key, namespace, kept)
            return
        block = blocks[key]
        if key in block:
            block[key].append(value)
        else:
            block[key] = [value]
        block.touched[key] = None

    def addAll(self, values: Iterable[Any]) -> None:
        added = without_none(self.name, values)
        if added:
            kept = self._get()
            if kept is None:
                kept = added
            else:
                kept.extend(added)
            self._put(kept)

    def update(self, values: Iterable[Any]) -> None:
        new = without_none(self.name, values)
        if new:
            self._put(new)
        else:
            self.clear()


class TableReducingState(TableState, ReducingState[Any]):
    """A reduced value."""

    __slots__ = ("_reduce",)

    def __init__(self, owner: StateOwner, descriptor: ReducingStateDescriptor[Any]) -> None:
        super().__init__(owner, descriptor)
        self._reduce = reduce_call(descriptor.reduceFunction)

    def get(self) -> Any:
        return copied(self._get())

    def add(self, value: Any) -> None:
        if value is None:
            self.clear()
            return
        key, namespace, table = self._backend.currentKey, self._owner.namespace, self._table
        kept, value = table.get(key, namespace), copied(value)
        table.put(key, namespace, value if kept is None else reduced(self._reduce, kept, value))


class TableAggregatingState(TableState, AggregatingState[Any, Any]):
    """An accumulator."""

    __slots__ = ("_function",)

    def __init__(
        self, owner: StateOwner, descriptor: AggregatingStateDescriptor[Any, Any, Any]
    ) -> None:
        super().__init__(owner, descriptor)
        self._function = descriptor.aggregateFunction

    def get(self) -> Any:
        kept = self._get(MISSING)
        return None if kept is MISSING else copied(self._function.getResult(kept))

    def add(self, value: Any) -> None:
        if value is None:
            self.clear()
            return
        kept = self._get(MISSING)
        accumulator = self._function.createAccumulator() if kept is MISSING else kept
        self._put(added(self._function, copied(value), accumulator))


class TableMapState(MapState[Any, Any]):
    """A map."""

    __slots__ = ("_backend", "_owner", "_table", "name")

    def __init__(self, owner: StateOwner, descriptor: MapStateDescriptor[Any, Any]) -> None:
        self._owner = owner
        self._backend = owner.backend
        self._table: MapStateTable = owner.backend.mapTable(owner.tableOf(descriptor))
        self.name = descriptor.name

    def get(self, key: Any) -> Any:
        if type(key) not in PLAIN_KEYS:
            check_map_key(repr(self.name), key)
        value = self._table.get(self._backend.currentKey, self._owner.namespace, key)
        return value if type(value) in ATOMS else copied(value)

    def put(self, key: Any, value: Any) -> None:
        if type(key) not in PLAIN_KEYS:
            check_new_map_key(repr(self.name), key)
        value = value if type(value) in ATOMS else copied(value)
        self._table.put(self._backend.currentKey, self._owner.namespace, key, value)

    def putAll(self, map: dict[Any, Any]) -> None:  # noqa: A002 - Flink's name
        for key, value in map.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        if type(key) not in PLAIN_KEYS:
            check_map_key(repr(self.name), key)
        self._table.remove(self._backend.currentKey, self._owner.namespace, key)

    def contains(self, key: Any) -> bool:
        if type(key) not in PLAIN_KEYS:
            check_map_key(repr(self.name), key)
        found = self._table.get(self._backend.currentKey, self._owner.namespace, key, MISSING)
        return found is not MISSING

    def entries(self) -> Iterable[MapEntry[Any, Any]]:
        return Again(lambda: (MapEntry((key, copied(value))) for key, value in self._items()))

    def keys(self) -> Iterable[Any]:
        return Again(lambda: (key for key, _ in self._items()))

    def values(self) -> Iterable[Any]:
        return Again(lambda: (copied(value) for _, value in self._items()))

    def isEmpty(self) -> bool:
        return self._table.isEmpty(self._backend.currentKey, self._owner.namespace)

    def clear(self) -> None:
        self._table.clear(self._backend.currentKey, self._owner.namespace)

    def areEmpty(self, keys: Iterable[Any]) -> list[bool]:
        empty, namespace = self._table.isEmpty, self._owner.namespace
        return [empty(key, namespace) for key in keys]

    def keysIn(self, namespace: Any) -> list[Any]:
        return [key for key, other in self._table.maps() if other == namespace]

    def storedUnder(self, keys: Iterable[Any], mapKeys: Iterable[Any]) -> list[Any]:
        """The value under each of ``mapKeys`` in the map of each key; MISSING if there is none."""
        get, namespace = self._table.get, self._owner.namespace
        return [get(key, namespace, mapKey, MISSING) for key, mapKey in zip(keys, mapKeys)]

    def store(self, entries: Iterable[tuple[Any, tuple[Any, ...] | None]]) -> None:
        """Put a key and a value into the map of each key; without a value: remove that entry; None:
        remove the map. No other references to the values may exist."""
        table, namespace = self._table, self._owner.namespace
        for key, entry in entries:
            if entry is None:
                table.clear(key, namespace)
            elif len(entry) == 1:
                table.remove(key, namespace, *entry)
            else:
                table.put(key, namespace, *entry)

    def _items(self) -> Iterator[tuple[Any, Any]]:
        return self._table.items(self._backend.currentKey, self._owner.namespace)


@dataclass(eq=False, repr=False, slots=True)
class Again(Iterable[Any]):
    """An iterable that starts again with each iteration, like a Java ``Iterable``."""

    _iterate: Callable[[], Iterator[Any]]

    def __iter__(self) -> Iterator[Any]:
        return self._iterate()


def check_new_map_key(name: str, key: object) -> None:
    """``check_map_key`` for a key that is put. Raises for NaN too, as each would be another key."""
    if differs_from_itself(key):
        raise IllegalArgumentError(
            f"the map state {name} cannot have the key {shown(key)}: it, or a part of it, is not equal to"
            " itself, so its entry could not be found again. Use None or a text instead."
        )
    check_map_key(name, key)


def check_map_key(name: str, key: object) -> None:
    """Raises IllegalArgumentError for a key that may be equal to one with another hash."""
    if may_equal_others(key):
        raise IllegalArgumentError(
            f"the map state {name} cannot have the key {shown(key)} of type {type(key).__name__}: this type, or that"
            " of a part, overrides __eq__ or __hash__, so an equal key may have another hash, and its entry"
            " would not be found. Use a plain value of it, such as a text."
        )


def without_none(state: str, values: Iterable[Any]) -> list[Any]:
    """``values`` as a list that can be stored. Raises IllegalArgumentError if one is None."""
    found = list(handed_out(list(values)))
    if any(value is None for value in found):
        refuse_none(state)
    return found


def refuse_none(state: str) -> NoReturn:
    """Raise IllegalArgumentError: as in Flink, a list state cannot hold None."""
    raise IllegalArgumentError(
        f"the list state {state!r} cannot hold None. Leave such elements out, or wrap them in a"
        " tuple."
    )


MISSING: Any = object()
"""Stands for a missing entry if None may be a value."""

_IMMUTABLE = (type(None), bool, int, float, complex, str, bytes, frozenset)
