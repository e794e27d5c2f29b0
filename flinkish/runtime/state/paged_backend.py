"""The paged backend: the keyed state of one operator as pages in a key-value store.

``page_store`` explains pages. For each key group and batch the engine calls ``load``, the operator
works in memory, and ``flush`` writes the pages that have changed. The *directory*, a dict from
table to catalogue, says which pages exist; ``flush`` returns it, and the next ``load`` takes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from flinkish.api.errors import IllegalStateError, IncompatibleCheckpointError
from flinkish.runtime.records.keys import KeyHashes
from flinkish.runtime.state.backend import KeyedStateBackend
from flinkish.runtime.state.page_store import DictPageStore, Paged, PageSpace, PageStore
from flinkish.runtime.state.paged_column_tables import PagedColumnTable, PagedKeyedColumnTable
from flinkish.runtime.state.paged_tables import (
    PagedMapStateTable,
    PagedStateTable,
    PagedWindowTable,
)
from flinkish.runtime.state.paged_timer_queue import PagedTimerQueue

_FORMAT = 1
_TABLE, _MAP, _WINDOW, _COLUMNS, _ROWS, _TIMERS = "s", "m", "w", "c", "r", "t"

P = TypeVar("P", bound=Paged)


class PagedKeyedStateBackend(KeyedStateBackend):
    """The keyed state of one operator in pages; it moves from key group to key group.

    Each key group has its own store and directory. ``uid`` is the prefix of all page names, so that
    operators can share a store. Entries put before the first ``load`` are lost. ``earlierHashes``
    is that of ``KeyRules``.
    """

    def __init__(self, uid: str, earlierHashes: bool = False) -> None:
        super().__init__()
        self._uid = uid
        self._hashes = KeyHashes(earlierHashes)
        self._items: dict[str, Paged] = {}
        self._store: PageStore | None = None
        self._directory: dict[str, Any] = {}

    def load(self, store: PageStore, directory: dict[str, Any] | None) -> None:
        """Move to the key group of ``store``; ``directory`` is the one that ``flush`` last returned
        for the key group; None: a new one. Does not call the store, unless state is moved because
        its time to live was switched on or off. Changes that were not flushed are lost."""
        directory = {} if directory is None else directory
        if directory and directory.get("format") != _FORMAT:
            raise IncompatibleCheckpointError(
                f"{self._uid}: the page directory has format {directory.get('format')!r}; this"
                f" flinkish reads {_FORMAT}. It was written by another version of flinkish: run"
                " that one, or start from an empty checkpoint."
            )
        self._store, self._directory = store, directory
        self.currentKey = None
        for name, item in self._items.items():
            item.load(store, directory.get(name))
        for loaded in self.whenLoaded:
            loaded()

    def flush(self) -> dict[str, Any]:
        """Write the pages changed since ``load``, drop them from memory, and return the new
        directory. The directory consists of plain values and is empty if the key group has no
        entries. If nothing changed it is the same object that was loaded."""
        if self._store is None:
            raise IllegalStateError(f"{self._uid}: flush() was called before load()")
        catalogues = {name: item.flush() for name, item in self._items.items()}
        if any(self._directory.get(name) is not new for name, new in catalogues.items()):
            merged = {"format": _FORMAT, **self._directory, **catalogues}
            present = {name: value for name, value in merged.items() if value is not None}
            self._directory = present if len(present) > 1 else {}
        return self._directory

    def endBatch(self) -> None:
        """Forget the key group: another attempt may have changed it when it is next loaded."""
        self.load(DictPageStore(), None)
        self._hashes.trim()

    def numPages(self) -> int:
        """The number of pages in the store at the last ``load`` or ``flush``."""
        return sum(value[1] for name, value in self._directory.items() if name != "format")

    def table(self, name: str) -> PagedStateTable:
        return self._item(_TABLE, name, lambda space: PagedStateTable(space, self._hashes))

    def mapTable(self, name: str) -> PagedMapStateTable:
        return self._item(_MAP, name, lambda space: PagedMapStateTable(space, self._hashes))

    def windowTable(self, name: str) -> PagedWindowTable:
        return self._item(_WINDOW, name, PagedWindowTable)

    def columnTable(self, name: str) -> PagedColumnTable:
        return self._item(_COLUMNS, name, PagedColumnTable)

    def keyedColumnTable(self, name: str) -> PagedKeyedColumnTable:
        return self._item(_ROWS, name, PagedKeyedColumnTable)

    def timerQueue(self, name: str) -> PagedTimerQueue:
        return self._item(_TIMERS, name, PagedTimerQueue)

    def names(self) -> list[str]:
        stored = [name for name in self._directory if name != "format"]
        new = [n for n, item in self._items.items() if n not in self._directory and len(item)]
        return list(dict.fromkeys(name[1:] for name in (*stored, *new)))

    def numEntries(self, table: str | None = None) -> int:
        """The number of entries of all tables, or of those named ``table``; a map counts as one."""
        opened = sum(len(item) for name, item in self._items.items() if _is_meant(name, table))
        unopened = sum(
            int(value[0])
            for name, value in self._directory.items()
            if name not in self._items and name != "format" and _is_meant(name, table)
        )
        return opened + unopened

    def _item(self, kind: str, name: str, make: Callable[[PageSpace], P]) -> P:
        item: Any = self._items.get(kind + name)
        if item is None:
            item = self._items[kind + name] = make(PageSpace(self._uid, kind, name))
            if self._store is not None:
                item.load(self._store, self._directory.get(kind + name))
        return cast(P, item)


def _is_meant(name: str, table: str | None) -> bool:
    """Whether the item ``name``, kind first, is a table, called ``table`` if that is given."""
    return name[0] != _TIMERS and (table is None or name[1:] == table)
