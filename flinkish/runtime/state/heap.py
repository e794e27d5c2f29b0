"""The heap backend: state in dicts, for the harness, savepoint readers and unkeyed operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from flinkish.api.stored_names import stored_as
from flinkish.runtime.records.records import Hashes
from flinkish.runtime.state.backend import (
    Block,
    ColumnMerge,
    ColumnTable,
    KeyedColumnTable,
    KeyedStateBackend,
    MapStateTable,
    StateTable,
    Timer,
    TimerQueue,
    WindowTable,
    first_due,
    kind_of_run,
)


@stored_as("HeapStateTable")
class HeapStateTable(StateTable):
    """A dict from (key, namespace) to value."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[tuple[Any, Any], Any] = {}

    @property
    def void(self) -> None:
        return None

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


@stored_as("HeapMapStateTable")
class HeapMapStateTable(MapStateTable):
    """A dict from (key, namespace) to a dict."""

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


@stored_as("HeapWindowTable")
class HeapWindowTable(WindowTable):
    """One block for each window."""

    __slots__ = ("_windows",)

    def __init__(self) -> None:
        self._windows: dict[Any, Block] = {}

    def blocks(
        self, window: Any, keys: Sequence[Any], hashes: Hashes
    ) -> tuple[Sequence[Block], Sequence[int]]:
        return (self._windows.setdefault(window, {}),), [0] * len(hashes)

    def windows(self) -> list[Any]:
        return [window for window, block in self._windows.items() if block]

    def items(self, window: Any) -> Iterator[tuple[Any, Any]]:
        return iter(self._windows.get(window, {}).items())

    def remove(self, window: Any) -> None:
        self._windows.pop(window, None)

    def size(self, window: Any) -> int:
        return len(self._windows.get(window, ()))


@stored_as("HeapColumnTable")
class HeapColumnTable(ColumnTable):
    """A list of runs for each window."""

    __slots__ = ("_windows",)

    def __init__(self) -> None:
        self._windows: dict[Any, list[pa.RecordBatch]] = {}

    def mergeBy(self, merge: ColumnMerge) -> None:
        """Does nothing: several runs in memory cost no more than one."""

    def append(self, window: Any, run: pa.RecordBatch) -> None:
        self._windows.setdefault(window, []).append(run)

    def windows(self) -> list[Any]:
        return list(self._windows)

    def runs(self, window: Any) -> list[pa.RecordBatch]:
        return list(self._windows.get(window, ()))

    def kinds(self, window: Any) -> set[bytes]:
        return {kind_of_run(run.schema) for run in self._windows.get(window, ())}

    def remove(self, window: Any) -> None:
        self._windows.pop(window, None)

    def size(self, window: Any) -> int:
        return sum(run.num_rows for run in self._windows.get(window, ()))


@stored_as("HeapKeyedColumnTable")
class HeapKeyedColumnTable(KeyedColumnTable):
    """All rows in one batch, which is always open."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: list[pa.RecordBatch] = []

    def open(self, hashes: Hashes) -> None:
        """All rows are open."""

    def openDue(self, until: int) -> None:
        """All rows are open."""

    def rows(self) -> list[pa.RecordBatch]:
        return self._rows

    def replace(self, rows: Sequence[pa.RecordBatch]) -> None:
        self._rows = [batch for batch in rows if batch.num_rows]

    def nextDue(self) -> int | None:
        return min((first_due(rows) for rows in self._rows), default=None)

    def __len__(self) -> int:
        return sum(rows.num_rows for rows in self._rows)


@stored_as("HeapTimerQueue")
class HeapTimerQueue(TimerQueue):
    """A binary heap by timestamp, with the position of each timer for quick deletion. Timers are
    moved exactly as in Flink's ``HeapPriorityQueueSet``, so that timers with equal timestamps fire
    in Flink's order; with ``heapq`` the order would be another."""

    __slots__ = ("_heap", "_places")

    def __init__(self) -> None:
        self._heap: list[Timer] = []
        self._places: dict[Timer, int] = {}

    def add(self, timestamp: int, key: Any, namespace: Any) -> None:
        timer = Timer(timestamp, key, namespace)
        if timer not in self._places:
            self._heap.append(timer)
            self._rise(timer, len(self._heap) - 1)

    def remove(self, timestamp: int, key: Any, namespace: Any) -> None:
        place = self._places.pop(Timer(timestamp, key, namespace), None)
        if place is not None:
            self._take(place)

    def pollDue(self, until: int) -> Timer | None:
        if not self._heap or self._heap[0].timestamp > until:
            return None
        timer = self._heap[0]
        del self._places[timer]
        self._take(0)
        return timer

    def nextTimestamp(self) -> int | None:
        return self._heap[0].timestamp if self._heap else None

    def __len__(self) -> int:
        return len(self._heap)

    def _take(self, place: int) -> None:
        """Fill the place of a removed timer with the last timer."""
        last = self._heap.pop()
        if place < len(self._heap) and not self._sink(last, place):
            self._rise(last, place)

    def _rise(self, timer: Timer, place: int) -> None:
        """Put ``timer`` at ``place`` or above."""
        heap, places = self._heap, self._places
        while place and timer.timestamp < heap[parent := (place - 1) // 2].timestamp:
            heap[place] = heap[parent]
            places[heap[place]] = place
            place = parent
        heap[place] = timer
        places[timer] = place

    def _sink(self, timer: Timer, place: int) -> bool:
        """Put ``timer`` below ``place``; False if it belongs there or above."""
        heap, places = self._heap, self._places
        start, size = place, len(heap)
        while (child := 2 * place + 1) < size:
            if child + 1 < size and heap[child + 1].timestamp < heap[child].timestamp:
                child += 1
            if heap[child].timestamp >= timer.timestamp:
                break
            heap[place] = heap[child]
            places[heap[place]] = place
            place = child
        heap[place] = timer
        places[timer] = place
        return place != start


_Item = TypeVar("_Item")


class HeapKeyedStateBackend(KeyedStateBackend):
    """A backend in memory; a snapshot pickles ``contents``."""

    def __init__(self, contents: dict[tuple[str, str], Any] | None = None) -> None:
        super().__init__()
        self.contents: dict[tuple[str, str], Any] = {} if contents is None else contents

    def table(self, name: str) -> HeapStateTable:
        return self._item("table", name, HeapStateTable)

    def mapTable(self, name: str) -> HeapMapStateTable:
        return self._item("map", name, HeapMapStateTable)

    def windowTable(self, name: str) -> HeapWindowTable:
        return self._item("window", name, HeapWindowTable)

    def columnTable(self, name: str) -> HeapColumnTable:
        return self._item("columns", name, HeapColumnTable)

    def keyedColumnTable(self, name: str) -> HeapKeyedColumnTable:
        return self._item("rows", name, HeapKeyedColumnTable)

    def timerQueue(self, name: str) -> HeapTimerQueue:
        return self._item("timers", name, HeapTimerQueue)

    def names(self) -> list[str]:
        return list(dict.fromkeys(name for (_, name), item in self.contents.items() if len(item)))

    def numEntries(self) -> int:
        return sum(len(item) for (kind, _), item in self.contents.items() if kind != "timers")

    def _item(self, kind: str, name: str, make: type[_Item]) -> _Item:
        item: _Item | None = self.contents.get((kind, name))
        if item is None:
            item = self.contents[kind, name] = make()
        return item
