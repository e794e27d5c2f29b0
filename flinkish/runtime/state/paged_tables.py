"""Keyed state in pages: the entries (key, namespace) -> value, by the hash of the key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from flinkish.runtime.records.keys import KeyHashes, stable_hash
from flinkish.runtime.records.records import Hashes
from flinkish.runtime.state.backend import Block, StateTable
from flinkish.runtime.state.blocks import StoredBlock
from flinkish.runtime.state.hashed_pages import HashedPages
from flinkish.runtime.state.page_store import Paged, PageSpace, PageStore


def hashes_of(keys: Iterable[Any], number: int) -> Hashes:
    """The stable hashes of ``number`` keys, not cached, as pages are split rarely."""
    return np.fromiter(map(stable_hash, keys), dtype=np.uint32, count=number)


def hashes_of_keys(block: Block) -> Hashes:
    """The hashes of the entries of a block from key to value."""
    return hashes_of(block, len(block))


def hashes_of_named(block: Block) -> Hashes:
    """The hashes of the entries of a block from (key, namespace) to value."""
    return hashes_of((key for key, _ in block), len(block))


MOST_NOTED = 1 << 12
"""The keys of a batch whose block a table notes. Of more keys most have few elements, and to note their blocks would
cost more than it spares."""


class PagedStateTable(StateTable, Paged):
    """A table in pages: key -> value for the void namespace, (key, namespace) -> value for others.

    All entries of a key in other namespaces share a page, however many they are. The block of a key stays the
    same object until ``flush``, so it is found by the key's hash once.
    """

    __slots__ = (
        "_blocks",
        "_catalogue",
        "_hashes",
        "_last",
        "_named",
        "_namespaces",
        "_space",
        "_void",
    )

    def __init__(self, space: PageSpace, hashes: KeyHashes) -> None:
        self._space = space
        self._hashes = hashes
        self._void = HashedPages(space, b"v", hashes_of_keys)
        self._blocks: dict[Any, StoredBlock] = {}
        self._last: tuple[Any, StoredBlock | None] = None, None
        """A key, and its block: what reads a value often puts it next."""
        self._named = HashedPages(space, b"n", hashes_of_named, named=True)
        self._namespaces: dict[Any, Any] = {}
        self._catalogue: tuple[Any, ...] | None = None

    def load(self, store: PageStore, catalogue: tuple[Any, ...] | None) -> None:
        self._space.store = store
        self._catalogue = catalogue
        _, _, void, named = catalogue or (0, 0, None, None)
        self._namespaces = {}
        self._forget_blocks()
        self._void.load(void)
        self._named.load(named)

    def flush(self) -> tuple[Any, ...] | None:
        self._forget_blocks()
        self._catalogue = joint_catalogue(
            self._catalogue, (self._void.flush(), self._named.flush())
        )
        return self._catalogue

    def get(self, key: Any, namespace: Any, default: Any = None) -> Any:
        if namespace is None:
            block = self._blocks.get(key)
            if block is None:
                block = self._block(key)
            return block.get(key, default)
        return self._named.read(self._hashes[key]).get((key, namespace), default)

    def put(self, key: Any, namespace: Any, value: Any) -> None:
        if namespace is None:
            block = self._blocks.get(key)
            if block is None:
                last, block = self._last
                if block is None or last is not key:
                    block = self._block(key)
            block[key] = value
            block.touched[key] = None
        else:
            # Pickle stores one object once, but each of many equal objects
            namespace = self._namespaces.setdefault(namespace, namespace)
            name = key, namespace
            self._named.write(self._hashes[key], name)[name] = value

    def remove(self, key: Any, namespace: Any) -> None:
        pages, name = (self._void, key) if namespace is None else (self._named, (key, namespace))
        if name in pages.read(self._hashes[key]):
            del pages.write(self._hashes[key], name)[name]

    def _block(self, key: Any) -> StoredBlock:
        block = self._void.read(self._hashes[key])
        if len(self._blocks) < MOST_NOTED:
            self._blocks[key] = block
        else:
            self._last = key, block
        return block

    def _forget_blocks(self) -> None:
        self._blocks.clear()
        self._last = None, None

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
    """The catalogue of those parts: the previous object if it has the same parts, None if all are
    None."""
    if previous is not None and all(map(_same, previous[2:], parts)):
        return previous
    present = [part for part in parts if part is not None]
    if not present:
        return None
    return sum(part[0] for part in present), sum(part[1] for part in present), *parts


def _same(one: Any, other: Any) -> bool:
    return one is other
