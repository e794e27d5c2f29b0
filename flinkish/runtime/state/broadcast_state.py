"""Broadcast state: a map for each descriptor, equal in all tasks, held by the operator itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from flinkish.api.errors import IllegalArgumentError, IllegalStateError
from flinkish.api.functions.broadcast import BroadcastState, ReadOnlyBroadcastState
from flinkish.api.functions.state import MapEntry, MapStateDescriptor
from flinkish.runtime.records.copies import copied
from flinkish.runtime.records.stable_hashes import PLAIN_KEYS
from flinkish.runtime.state.table_states import Again, check_new_map_key


class HeapBroadcastState(BroadcastState[Any, Any]):
    """A broadcast state in a dict (Flink: ``HeapBroadcastState``)."""

    __slots__ = ("content", "version")

    def __init__(self) -> None:
        self.restore({})

    def restore(self, content: dict[Any, Any]) -> None:
        """Hold ``content`` from now on."""
        self.content = content
        self.version = object()
        """Another object after each change."""

    def get(self, key: Any) -> Any:
        return copied(self.content.get(key))

    def contains(self, key: Any) -> bool:
        return key in self.content

    def immutableEntries(self) -> Iterable[MapEntry[Any, Any]]:
        return Again(lambda: iter(self.entries()))

    def put(self, key: Any, value: Any) -> None:
        if type(key) not in PLAIN_KEYS:
            check_new_map_key("of the broadcast", key)
        self.content[key] = copied(value)
        self.version = object()

    def putAll(self, map: Mapping[Any, Any]) -> None:  # noqa: A002 - Flink's name
        for key, value in map.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        self.content.pop(key, None)
        self.version = object()

    def clear(self) -> None:
        self.restore({})

    def entries(self) -> Iterable[MapEntry[Any, Any]]:
        return [MapEntry((key, copied(value))) for key, value in self.content.items()]

    def iterator(self) -> Iterator[MapEntry[Any, Any]]:
        return iter(self.entries())


@dataclass(eq=False, repr=False, slots=True)
class ReadOnlyView(ReadOnlyBroadcastState[Any, Any]):
    """A broadcast state that cannot be changed, since tasks would no longer agree on it."""

    _state: HeapBroadcastState

    def get(self, key: Any) -> Any:
        return self._state.get(key)

    def contains(self, key: Any) -> bool:
        return key in self._state.content

    def immutableEntries(self) -> Iterable[MapEntry[Any, Any]]:
        return self._state.immutableEntries()

    def _refuse(self, *arguments: object, **named: object) -> NoReturn:
        raise IllegalStateError(
            "broadcast state can only be changed in processBroadcastElement, which all tasks call"
            " with the same elements. Elsewhere it is read only."
        )

    put = putAll = remove = clear = _refuse


class BroadcastStates:
    """The broadcast states of an operator, by the names of their descriptors."""

    def __init__(self, operator: str, descriptors: Iterable[MapStateDescriptor[Any, Any]]) -> None:
        self._operator = operator
        self._states = {descriptor.name: HeapBroadcastState() for descriptor in descriptors}
        self._unread: dict[str, dict[Any, Any]] = {}
        """The restored contents of states that are no longer declared."""
        self._views = {name: ReadOnlyView(state) for name, state in self._states.items()}

    def get(self, descriptor: MapStateDescriptor[Any, Any]) -> HeapBroadcastState:
        return self._states[self._known(descriptor)]

    def view(self, descriptor: MapStateDescriptor[Any, Any]) -> ReadOnlyView:
        return self._views[self._known(descriptor)]

    def versions(self) -> tuple[object, ...]:
        """Another tuple after each change of a state."""
        return tuple(state.version for state in self._states.values())

    def snapshot(self) -> dict[str, dict[Any, Any]]:
        states = {name: dict(state.content) for name, state in self._states.items()}
        return {**self._unread, **states}

    def restore(self, snapshot: dict[str, dict[Any, Any]] | None) -> None:
        """Continue from a snapshot; None: with empty states."""
        kept = dict(snapshot or {})
        for name, state in self._states.items():
            state.restore(dict(kept.pop(name, ())))
        self._unread = kept

    def _known(self, descriptor: MapStateDescriptor[Any, Any]) -> str:
        if descriptor.name not in self._states:
            raise IllegalArgumentError(
                f"{self._operator}: there is no broadcast state {descriptor.name!r}, only"
                f" {', '.join(map(repr, self._states))}. Pass its descriptor to broadcast(...)."
            )
        return descriptor.name
