"""The heap backend: state as plain dicts, for the harness and for tests."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

from flinkish.runtime.elements import Hashes
from flinkish.runtime.state.backend import (
    KeyedStateBackend,
    MapStateTable,
    Page,
    StateTable,
    Timer,
    TimerQueue,
    WindowTable,
)


class HeapStateTable(StateTable):
    """A dict of (key, namespace)."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[tuple[Any, Any], Any] = {}

    def get(self, key: Any, namespace: Any, default: Any = None) -> Any:
        return self._entries.get((key, namespace), default)

    def put(self, key: Any, namespace: Any, value: Any) -> None:
        self._entries[key, namespace] = value

    def remove(self, key: Any, namespace: Any) -> None:
        self._entries.pop((key, namespace), None)

    def entries(self) -> Iterator[tuple[Any, Any, Any]]:
        for (key, namespace), value in self._entries.items():
            yield key, namespace, value

    def __len__(self) -> int:
        return len(self._entries)


class HeapMapStateTable(MapStateTable):
    """A dict of dicts."""

    __slots__ = ("_maps",)

    def __init__(self) -> None:
        self._maps: dict[tuple[Any, Any], dict[Any, Any]] = {}

    def get(self, key: Any, namespace: Any, mapKey: Any, default: Any = None) -> Any:
        return self._maps.get((key, namespace), {}).get(mapKey, default)

    def put(self, key: Any, namespace: Any, mapKey: Any, value: Any) -> None:
        self._maps.setdefault((key, namespace), {})[mapKey] = value

    def remove(self, key: Any, namespace: Any, mapKey: Any) -> None:
        entries = self._maps.get((key, namespace))
        if entries is not None:
            entries.pop(mapKey, None)
            if not entries:
                del self._maps[key, namespace]

    def items(self, key: Any, namespace: Any) -> Iterator[tuple[Any, Any]]:
        return iter(list(self._maps.get((key, namespace), {}).items()))

    def isEmpty(self, key: Any, namespace: Any) -> bool:
        return (key, namespace) not in self._maps

    def clear(self, key: Any, namespace: Any) -> None:
        self._maps.pop((key, namespace), None)

    def maps(self) -> Iterator[tuple[Any, Any]]:
        return iter(list(self._maps))

    def __len__(self) -> int:
        return len(self._maps)


class HeapWindowTable(WindowTable):
    """One page a window."""

    __slots__ = ("_windows",)

    def __init__(self) -> None:
        self._windows: dict[Any, Page] = {}

    def pages(self, window: Any, hashes: Hashes) -> tuple[Sequence[Page], Sequence[int]]:
        return (self._windows.setdefault(window, {}),), [0] * len(hashes)

    def windows(self) -> list[Any]:
        return [window for window, page in self._windows.items() if page]

    def items(self, window: Any) -> Iterator[tuple[Any, Any]]:
        return iter(self._windows.get(window, {}).items())

    def remove(self, window: Any) -> None:
        self._windows.pop(window, None)

    def size(self, window: Any) -> int:
        return len(self._windows.get(window, ()))


class HeapTimerQueue(TimerQueue):
    """Timers by timestamp, and a heap of the timestamps."""

    __slots__ = ("_size", "_timers", "_timestamps")

    def __init__(self) -> None:
        self._timers: dict[int, OrderedDict[tuple[Any, Any], None]] = {}
        self._timestamps: list[int] = []
        self._size = 0

    def add(self, timestamp: int, key: Any, namespace: Any) -> None:
        timers = self._timers.get(timestamp)
        if timers is None:
            # Taking the first of a plain dict again and again is quadratic.
            timers = self._timers[timestamp] = OrderedDict()
            heapq.heappush(self._timestamps, timestamp)
        if (key, namespace) not in timers:
            timers[key, namespace] = None
            self._size += 1

    def remove(self, timestamp: int, key: Any, namespace: Any) -> None:
        timers = self._timers.get(timestamp)
        if timers is not None and (key, namespace) in timers:
            del timers[key, namespace]
            self._size -= 1

    def pollDue(self, until: int) -> Timer | None:
        timestamp = self.nextTimestamp()
        if timestamp is None or timestamp > until:
            return None
        (key, namespace), _ = self._timers[timestamp].popitem(last=False)
        self._size -= 1
        return Timer(timestamp, key, namespace)

    def nextTimestamp(self) -> int | None:
        while self._timestamps:
            timestamp = self._timestamps[0]
            if self._timers[timestamp]:
                return timestamp
            heapq.heappop(self._timestamps)
            del self._timers[timestamp]
        return None

    def __len__(self) -> int:
        return self._size


class HeapKeyedStateBackend(KeyedStateBackend):
    """Everything in memory; ``contents`` is what a snapshot pickles."""

    def __init__(self, contents: dict[tuple[str, str], Any] | None = None) -> None:
        super().__init__()
        self.contents: dict[tuple[str, str], Any] = {} if contents is None else contents

    def table(self, name: str) -> HeapStateTable:
        table: HeapStateTable = self._item("table", name, HeapStateTable)
        return table

    def mapTable(self, name: str) -> HeapMapStateTable:
        table: HeapMapStateTable = self._item("map", name, HeapMapStateTable)
        return table

    def windowTable(self, name: str) -> HeapWindowTable:
        table: HeapWindowTable = self._item("window", name, HeapWindowTable)
        return table

    def timerQueue(self, name: str) -> HeapTimerQueue:
        queue: HeapTimerQueue = self._item("timers", name, HeapTimerQueue)
        return queue

    def numEntries(self) -> int:
        return sum(len(item) for (kind, _), item in self.contents.items() if kind != "timers")

    def _item(self, kind: str, name: str, make: type[Any]) -> Any:
        item = self.contents.get((kind, name))
        if item is None:
            item = self.contents[kind, name] = make()
        return item
