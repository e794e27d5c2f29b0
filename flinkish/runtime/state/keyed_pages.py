"""``KeyedPages``: pages of keyed entries, in which a batch looks up the block of a key once.

A user function reads an entry of a key again and again, and several entries of it. Looking up the
block of a key takes its hash, then the hash's page, then the block in the page, so the block is
noted by key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from flinkish.runtime.records.keys import KeyHashes
from flinkish.runtime.records.records import Hashes
from flinkish.runtime.records.stable_hashes import stable_hash
from flinkish.runtime.state.backend import Block, StoredBlock
from flinkish.runtime.state.hashed_pages import Catalogue, HashedPages
from flinkish.runtime.state.page_store import PageSpace

MOST_NOTED = 1 << 16
"""The most keys whose block is noted; with more, all notes are dropped."""


class KeyedPages(HashedPages):
    """The pages of a table whose entries have a key. ``named``: entries are stored under (key,
    namespace). All entries of a key share a block, however many they are. ``hashes`` and
    ``relieve`` are as in ``HashedPages``."""

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
        """The block of any key. Code that changes an entry adds its name to ``touched``."""
        super().__init__(space, label, hashes_of_named if named else hashes_of_keys, relieve, named)

    def load(self, catalogue: Catalogue | None) -> None:
        super().load(catalogue)
        self.blocks.clear()


class NotedBlocks(dict[Any, StoredBlock]):
    """The blocks of keys, each looked up by the key's hash at the first access."""

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
        """Look up the blocks of ``keys``, which have the hashes ``hashes``, at once."""
        if len(keys) <= MOST_NOTED:
            if len(self) + len(keys) > MOST_NOTED:
                self.clear()
            self.update(zip(keys, self._pages.readAll(hashes)))


def hashes_of(keys: Iterable[Any], number: int) -> Hashes:
    """The stable hashes of ``number`` keys; not cached, as pages are rarely split."""
    return np.fromiter(map(stable_hash, keys), dtype=np.uint32, count=number)


def hashes_of_keys(block: Block) -> Hashes:
    """The hashes of the entries of a block from key to value."""
    return hashes_of(block, len(block))


def hashes_of_named(block: Block) -> Hashes:
    """The hashes of the entries of a block from (key, namespace) to value."""
    return hashes_of((key for key, _ in block), len(block))
