"""The paged backend: the keyed state of one operator in few, large values of a key-value store.

A batch in a key group is ``load``, work in memory, ``flush``: each page that is touched is read
once and, if changed, written once. What pages there are is in the *directory*, which the engine
keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from flinkish.api.errors import IllegalStateError, IncompatibleCheckpointError
from flinkish.runtime.records.keys import KeyHashes
from flinkish.runtime.state.backend import KeyedStateBackend
from flinkish.runtime.state.page_store import DictPageStore, Paged, PageSpace, PageStore
from flinkish.runtime.state.paged_map_table import PagedMapStateTable
from flinkish.runtime.state.paged_tables import PagedStateTable
from flinkish.runtime.state.paged_timer_queue import PagedTimerQueue
from flinkish.runtime.state.paged_window_table import PagedWindowTable

_FORMAT = 1
_TABLE, _MAP, _WINDOW, _TIMERS = "s", "m", "w", "t"

P = TypeVar("P", bound=Paged)


class PagedKeyedStateBackend(KeyedStateBackend):
    """Goes from key group to key group, each with a store and a directory of its own.

    ``uid`` begins the ids of all pages, so operators may share a store. What a table or queue
    holds before the first ``load`` is lost.
    """

    def __init__(self, uid: str) -> None:
        super().__init__()
        self._uid = uid
        self._hashes = KeyHashes()
        self._items: dict[str, Paged] = {}
        self._store: PageStore | None = None
        self._directory: dict[str, Any] = {}

    def load(self, store: PageStore, directory: dict[str, Any] | None) -> None:
        """Go to the key group of ``store``, where ``flush`` last returned ``directory`` (None: it
        is new). Calls the store not at all; what was not flushed is forgotten."""
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

    def flush(self) -> dict[str, Any]:
        """Write what has changed since ``load``, forget it, and return the new directory.

        It consists of plain values, is empty if the key group holds nothing, and is the one that
        was loaded, itself, if nothing has changed.
        """
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
        """How many pages there were in the store at the last ``load`` or ``flush``."""
        return sum(value[1] for name, value in self._directory.items() if name != "format")

    def table(self, name: str) -> PagedStateTable:
        return self._item(_TABLE, name, lambda space: PagedStateTable(space, self._hashes))

    def mapTable(self, name: str) -> PagedMapStateTable:
        return self._item(_MAP, name, lambda space: PagedMapStateTable(space, self._hashes))

    def windowTable(self, name: str) -> PagedWindowTable:
        return self._item(_WINDOW, name, PagedWindowTable)

    def timerQueue(self, name: str) -> PagedTimerQueue:
        return self._item(_TIMERS, name, PagedTimerQueue)

    def numEntries(self) -> int:
        opened = sum(len(item) for name, item in self._items.items() if name[0] != _TIMERS)
        unopened = sum(
            int(value[0])
            for name, value in self._directory.items()
            if name not in self._items and name[0] != _TIMERS and name != "format"
        )
        return opened + unopened

    def _item(self, kind: str, name: str, make: Callable[[PageSpace], P]) -> P:
        item: Any = self._items.get(kind + name)
        if item is None:
            item = self._items[kind + name] = make(PageSpace(self._uid, kind, name))
            if self._store is not None:
                item.load(self._store, self._directory.get(kind + name))
        return cast(P, item)
