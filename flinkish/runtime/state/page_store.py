"""Pages: many entries of state stored as one value, because calls of Spark's state are expensive.

A read or write of Spark's state from Python takes about 30 to 150 microseconds, however small. So
the paged backend puts up to some thousand entries into one *page*, reads a page at most once in a
batch, when it is first needed, and writes it once if it has changed. The number of calls then
depends on how many pages a batch touches, not on how many elements it has.

For example, 1 000 elements of 500 keys in 1 page cost one read and one write instead of 1 000 of
each.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from typing import Any, Protocol

from flinkish.api.errors import CorruptCheckpointError
from flinkish.runtime.state.page_codec import PageCodec


class PageStore(Protocol):
    """The pages of one key group. Callers that know the digest of a page's content pass it, as a
    store may have cached the content."""

    def get(self, page: bytes, digest: bytes | None = None) -> bytes | None:
        """The content of the page, or None if there is no such page."""

    def put(self, page: bytes, content: bytes, digest: bytes | None = None) -> None:
        """Write the page."""

    def remove(self, page: bytes) -> None:
        """Remove the page, which must exist."""


class DictPageStore:
    """Pages in a dict, with a count of the ``bytes`` in all of them."""

    def __init__(self) -> None:
        self.pages: dict[bytes, bytes] = {}
        self.bytes = 0

    def get(self, page: bytes, digest: bytes | None = None) -> bytes | None:
        return self.pages.get(page)

    def put(self, page: bytes, content: bytes, digest: bytes | None = None) -> None:
        self.bytes += len(content) - len(self.pages.get(page, b""))
        self.pages[page] = content

    def remove(self, page: bytes) -> None:
        self.bytes -= len(self.pages.pop(page))


class MeteredPageStore:
    """A store that notes the size of each page that is read or written in a batch. The sizes of
    other pages are not known without reading them."""

    def __init__(self, store: PageStore) -> None:
        self._store = store
        self._sizes: dict[bytes, int] = {}

    @property
    def touched(self) -> tuple[int, int]:
        """The number of existing pages that were read or written, and their bytes."""
        return len(self._sizes), sum(self._sizes.values())

    def get(self, page: bytes, digest: bytes | None = None) -> bytes | None:
        content = self._store.get(page, digest)
        if content is not None:
            self._sizes[page] = len(content)
        return content

    def put(self, page: bytes, content: bytes, digest: bytes | None = None) -> None:
        self._store.put(page, content, digest)
        self._sizes[page] = len(content)

    def remove(self, page: bytes) -> None:
        self._store.remove(page)
        self._sizes.pop(page, None)


DIGEST_SIZE = 8


def digest_of(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST_SIZE).digest()


TABLES = {"s": "values", "m": "maps", "w": "windows", "c": "columns", "r": "rows", "t": "timers"}
"""The kinds of tables: the letter in the names of their pages, and the word inside the pages."""


class PageSpace:
    """The pages of one table, in the store of the current key group."""

    store: PageStore

    def __init__(self, uid: str, kind: str, name: str) -> None:
        # NUL is the separator, as uids and names may contain any other character
        self._prefix = f"{uid}\0{kind}{name}\0".encode()
        self.codec = PageCodec(uid, TABLES[kind], name)

    def read(self, page: bytes, digest: bytes | None = None) -> bytes:
        """The content of ``page``. Raises CorruptCheckpointError if it is missing."""
        content = self.store.get(self._prefix + page, digest)
        if content is None:
            raise CorruptCheckpointError(
                f"{self.codec.owner}: page {page!r} is missing from the state store. The store and"
                " the page directory are of different versions: restore both from one checkpoint."
            )
        return content

    def write(self, page: bytes, content: bytes, digest: bytes | None = None) -> None:
        self.store.put(self._prefix + page, content, digest)

    def remove(self, page: bytes) -> None:
        self.store.remove(self._prefix + page)


class Paged(ABC):
    """A table or timer queue in pages, which its backend moves from key group to key group. Its
    *catalogue* lists its pages and is kept in the directory. It starts with the number of entries
    and of pages, and consists of ints, bytes and tuples only; None stands for no entries."""

    _catalogue: tuple[Any, ...] | None

    def __init__(self, space: PageSpace) -> None:
        self._space = space
        self._reset(None)

    def load(self, store: PageStore, catalogue: tuple[Any, ...] | None) -> None:
        """Drop everything in memory and move to a key group, without reading a page."""
        self._space.store = store
        self._reset(catalogue)

    @abstractmethod
    def _reset(self, catalogue: tuple[Any, ...] | None) -> None:
        """Drop everything in memory, and note ``catalogue`` as ``_catalogue``."""

    @abstractmethod
    def flush(self) -> tuple[Any, ...] | None:
        """Write the changed pages, drop everything in memory, and return the new catalogue; if
        nothing changed, the same object that was loaded."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of entries, without reading a page."""
