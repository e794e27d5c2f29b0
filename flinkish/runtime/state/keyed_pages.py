"""``KeyedPages``: pages of the entries of keys, in which a batch finds the block of a key once.

A user function reads the entry of a key again and again, and several entries of it. The way from a key to its block
leads over its hash, the page of the hash and the block in it, so the block is noted under the key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from flinkish.runtime.records.keys import KeyHashes, stable_hash
from flinkish.runtime.records.records import Hashes
from flinkish.runtime.state.backend import Block, StoredBlock
from flinkish.runtime.state.hashed_pages import Catalogue, HashedPages
from flinkish.runtime.state.page_store import PageSpace

MOST_NOTED = 1 << 16
"""The most keys whose block is noted; then all are forgotten, and noted again when they are asked for."""


class KeyedPages(HashedPages):
    """The pages of a table whose entries have a key.

    ``named``: entries are stored under (key, namespace). All entries of a key share a block, however many they are.
    ``hashes`` and ``relieve`` are as in ``HashedPages``.
    """

    __slots__ = ("blocks",)

    def __init__(
        self,
        space: PageSpace,
        label: bytes,
        hashes: KeyHashes,
        relieve: Callable[[Block], bool] | None = None,
        named: bool = False,
    ) -> None:
        self.blocks = NotedBlocks(self, hashes)
        """The block of any key. Who changes an entry notes its name in ``touched``."""
        super().__init__(space, label, hashes_of_named if named else hashes_of_keys, relieve, named)

    def load(self, catalogue: Catalogue | None) -> None:
        super().load(catalogue)
        self.blocks.clear()


class NotedBlocks(dict[Any, StoredBlock]):
    """The blocks of keys, each found by the hash of its key when it is first asked for."""

    __slots__ = ("_hashes", "_pages")

    def __init__(self, pages: HashedPages, hashes: KeyHashes) -> None:
        super().__init__()
        self._pages = pages
        self._hashes = hashes

    def __missing__(self, key: Any) -> StoredBlock:
        block = self._pages.read(self._hashes[key])
        if len(self) >= MOST_NOTED:
            self.clear()
        self[key] = block
        return block

    def find(self, keys: Sequence[Any], hashes: Hashes) -> None:
        """Find the blocks of ``keys``, which have those hashes, at once."""
        if len(keys) <= MOST_NOTED:
            if len(self) + len(keys) > MOST_NOTED:
                self.clear()
            self.update(zip(keys, self._pages.readAll(hashes)))


def hashes_of(keys: Iterable[Any], number: int) -> Hashes:
    """The stable hashes of ``number`` keys, not cached, as pages are split rarely."""
    return np.fromiter(map(stable_hash, keys), dtype=np.uint32, count=number)


def hashes_of_keys(block: Block) -> Hashes:
    """The hashes of the entries of a block from key to value."""
    return hashes_of(block, len(block))


def hashes_of_named(block: Block) -> Hashes:
    """The hashes of the entries of a block from (key, namespace) to value."""
    return hashes_of((key for key, _ in block), len(block))
