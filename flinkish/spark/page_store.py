"""``MapStatePageStore``: the pages of a key group in a Spark ``MapState``, and in a cache of the worker.

Reading a page of 40 KB takes Spark half a millisecond, most of it proportional to the bytes. A
large page with few changes is not written in each batch (``Blocks``), so a page that a worker has
read or written stays the same for some batches, and the worker's next task of the key group finds
it in the cache.
"""

from __future__ import annotations

from typing import Any

from flinkish.api.errors import CorruptCheckpointError
from flinkish.runtime.state.page_store import digest_of

CACHED_BYTES = 64 << 20
"""The bytes that a worker caches at most, for all jobs and key groups together."""


class PageCache:
    """The contents of the most recently used pages, up to ``most`` bytes. The cache may have an
    older version of a page, as another process may have written the page since, so a page is looked
    up by the digest in the directory of its key group."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = 0
        self._pages: dict[tuple[int, bytes], tuple[bytes, bytes]] = {}

    def get(self, group: int, page: bytes, digest: bytes) -> bytes | None:
        """The content of a page of a key group if it is cached with that digest."""
        kept = self._pages.get((group, page))
        if kept is None or kept[0] != digest:
            return None
        self._pages[group, page] = self._pages.pop((group, page))
        return kept[1]

    def put(self, group: int, page: bytes, digest: bytes, content: bytes) -> None:
        self.remove(group, page)
        if len(content) > self._most:
            return
        self._pages[group, page] = digest, content
        self._bytes += len(content)
        while self._bytes > self._most:
            self.remove(*next(iter(self._pages)))

    def remove(self, group: int, page: bytes) -> None:
        _, content = self._pages.pop((group, page), (b"", b""))
        self._bytes -= len(content)


CACHE = PageCache(CACHED_BYTES)


class MapStatePageStore:
    """The pages of a key group, each an entry of the ``MapState``."""

    def __init__(self, state: Any, keyGroup: int, cache: PageCache = CACHE) -> None:
        self._state = state
        self._key_group = keyGroup
        self._cache = cache

    def get(self, page: bytes, digest: bytes | None = None) -> bytes | None:
        if digest is not None:
            cached = self._cache.get(self._key_group, page, digest)
            if cached is not None:
                return cached
        found = self._state.getValue((page,))
        if found is None:
            return None
        content = bytes(found[0])
        if digest is not None:
            if digest_of(content) != digest:
                raise CorruptCheckpointError(
                    f"page {page!r} of key group {self._key_group} is not the one that the page directory tells."
                    " The state store was damaged, or the two are of different versions: restore the checkpoint"
                    " directory from a copy, or begin anew with another checkpoint directory."
                )
            self._cache.put(self._key_group, page, digest, content)
        return content

    def put(self, page: bytes, content: bytes, digest: bytes | None = None) -> None:
        self._state.updateValue((page,), (content,))
        if digest is not None:
            self._cache.put(self._key_group, page, digest, content)

    def remove(self, page: bytes) -> None:
        self._state.removeKey((page,))
        self._cache.remove(self._key_group, page)
