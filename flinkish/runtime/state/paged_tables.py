"""Keyed state in pages: entries (key, namespace) -> value, by the hash of the key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import is_
from typing import Any

from flinkish.runtime.records.keys import KeyHashes
from flinkish.runtime.records.records import Hashes
from flinkish.runtime.state.backend import StateTable, StoredBlock
from flinkish.runtime.state.hashed_pages import KeyedPages
from flinkish.runtime.state.page_store import Paged, PageSpace


class PagedStateTable(StateTable, Paged):
    """A table in pages: key -> value for the void namespace, (key, namespace) -> value else."""

    __slots__ = ("_named", "_namespaces", "_void")

    def __init__(self, space: PageSpace, hashes: KeyHashes) -> None:
        self._void = KeyedPages(space, b"v", hashes)
        self._named = KeyedPages(space, b"n", hashes, named=True)
        super().__init__(space)

    def _reset(self, catalogue: tuple[Any, ...] | None) -> None:
        self._catalogue = catalogue
        _, _, void, named = catalogue or (0, 0, None, None)
        self._namespaces: dict[Any, Any] = {}
        self._void.load(void)
        self._named.load(named)

    def flush(self) -> tuple[Any, ...] | None:
        parts = self._void.flush(), self._named.flush()
        if self._catalogue is None or not all(map(is_, self._catalogue[2:], parts)):
            present = [part for part in parts if part is not None]
            totals = sum(part[0] for part in present), sum(part[1] for part in present)
            self._catalogue = (*totals, *parts) if present else None
        return self._catalogue

    @property
    def void(self) -> Mapping[Any, StoredBlock]:
        return self._void.blocks

    def find(self, keys: Sequence[Any], hashes: Hashes, named: bool = False) -> None:
        (self._named if named else self._void).blocks.find(keys, hashes)

    def get(self, key: Any, namespace: Any, default: Any = None) -> Any:
        if namespace is None:
            return self._void.blocks[key].get(key, default)
        return self._named.blocks[key].get((key, namespace), default)

    def put(self, key: Any, namespace: Any, value: Any) -> None:
        if namespace is None:
            name, block = key, self._void.blocks[key]
        else:
            # Pickle stores the same object once, but equal objects each
            name = key, self._namespaces.setdefault(namespace, namespace)
            block = self._named.blocks[key]
        block[name] = value
        block.touched[name] = None

    def remove(self, key: Any, namespace: Any) -> None:
        if namespace is None:
            name, block = key, self._void.blocks[key]
        else:
            name, block = (key, namespace), self._named.blocks[key]
        if name in block:
            del block[name]
            block.touched[name] = None

    def entries(self) -> Iterator[tuple[Any, Any, Any]]:
        for block in self._void.all():
            for key, value in block.items():
                yield key, None, value
        for block in self._named.all():
            for (key, namespace), value in block.items():
                yield key, namespace, value

    def __len__(self) -> int:
        return len(self._void) + len(self._named)
