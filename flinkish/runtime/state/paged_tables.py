"""Keyed state in pages: entries (key, namespace) -> value, by the hash of the key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flinkish.runtime.records.keys import KeyHashes
from flinkish.runtime.records.records import Hashes
from flinkish.runtime.state.backend import StateTable, StoredBlock
from flinkish.runtime.state.keyed_pages import KeyedPages
from flinkish.runtime.state.page_store import Paged, PageSpace, PageStore


class PagedStateTable(StateTable, Paged):
    """A table in pages: key -> value for the void namespace, (key, namespace) -> value for
    others."""

    __slots__ = ("_catalogue", "_named", "_namespaces", "_space", "_void")

    def __init__(self, space: PageSpace, hashes: KeyHashes) -> None:
        self._space = space
        self._void = KeyedPages(space, b"v", hashes)
        self._named = KeyedPages(space, b"n", hashes, named=True)
        self._namespaces: dict[Any, Any] = {}
        self._catalogue: tuple[Any, ...] | None = None

    def load(self, store: PageStore, catalogue: tuple[Any, ...] | None) -> None:
        self._space.store = store
        self._catalogue = catalogue
        _, _, void, named = catalogue or (0, 0, None, None)
        self._namespaces = {}
        self._void.load(void)
        self._named.load(named)

    def flush(self) -> tuple[Any, ...] | None:
        self._catalogue = joint_catalogue(
            self._catalogue, (self._void.flush(), self._named.flush())
        )
        return self._catalogue

    @property
    def void(self) -> Mapping[Any, StoredBlock]:
        return self._void.blocks

    def find(self, keys: Sequence[Any], hashes: Hashes) -> None:
        self._void.blocks.find(keys, hashes)

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


def joint_catalogue(
    previous: tuple[Any, ...] | None, parts: tuple[Any, ...]
) -> tuple[Any, ...] | None:
    """The catalogue of ``parts``: ``previous`` if it has the same parts; None if all parts are
    None."""
    if previous is not None and all(map(_same, previous[2:], parts)):
        return previous
    present = [part for part in parts if part is not None]
    if not present:
        return None
    return sum(part[0] for part in present), sum(part[1] for part in present), *parts


def _same(one: Any, other: Any) -> bool:
    return one is other
