"""The key-value store that pages live in, and one table's share of it.

Every call of a store is expensive (Spark state: 50 to 400 microseconds), so the paged backend
calls it once a page and batch; the counts of ``DictPageStore`` let tests say so.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

from flinkish.api.errors import CorruptCheckpointError
from flinkish.runtime.state.page_codec import PageCodec


class PageStore(Protocol):
    """The pages of one key group."""

    def get(self, page: bytes) -> bytes | None:
        """The content of the page, or None if there is no such page."""

    def put(self, page: bytes, content: bytes) -> None:
        """Write the page."""

    def remove(self, page: bytes) -> None:
        """Remove the page, which is there."""


class DictPageStore:
    """Pages in a dict, with a count of the calls."""

    def __init__(self) -> None:
        self.pages: dict[bytes, bytes] = {}
        self.gets = self.puts = self.removes = 0

    def get(self, page: bytes) -> bytes | None:
        self.gets += 1
        return self.pages.get(page)

    def put(self, page: bytes, content: bytes) -> None:
        self.puts += 1
        self.pages[page] = content

    def remove(self, page: bytes) -> None:
        self.removes += 1
        del self.pages[page]

    def takeCalls(self) -> tuple[int, int, int]:
        """How often ``get``, ``put`` and ``remove`` were called since this was last asked."""
        calls = self.gets, self.puts, self.removes
        self.gets = self.puts = self.removes = 0
        return calls


TABLES = {"s": "values", "m": "maps", "w": "windows", "t": "timers"}
"""The kinds of tables: the letter in the ids of their pages, and the name in the pages."""


class PageSpace:
    """The pages of one table, in the store of the key group the backend is at."""

    __slots__ = ("_prefix", "codec", "store")

    store: PageStore

    def __init__(self, uid: str, kind: str, name: str) -> None:
        # NUL, as uid and name may contain any other separator
        self._prefix = f"{uid}\0{kind}{name}\0".encode()
        self.codec = PageCodec(uid, TABLES[kind], name)

    def read(self, page: bytes) -> bytes:
        """What was written as ``page``, which must be there."""
        content = self.store.get(self._prefix + page)
        if content is None:
            raise CorruptCheckpointError(
                f"{self.codec.owner}: page {page!r} is missing from the state store. The store and"
                " the page directory are of different versions: restore both from one checkpoint."
            )
        return content

    def write(self, page: bytes, content: bytes) -> None:
        """Write ``page``, encoded already."""
        self.store.put(self._prefix + page, content)

    def remove(self, page: bytes) -> None:
        """Remove ``page``, which is there."""
        self.store.remove(self._prefix + page)


class Paged(ABC):
    """A table or timer queue in pages, taken from key group to key group by its backend.

    Its catalogue says which pages there are. It starts with the number of entries and the number
    of pages, and consists of ints, bytes and tuples only; None stands for nothing at all.
    """

    __slots__ = ()

    @abstractmethod
    def load(self, store: PageStore, catalogue: tuple[Any, ...] | None) -> None:
        """Forget what is in memory and go to a key group. Reads no page."""

    @abstractmethod
    def flush(self) -> tuple[Any, ...] | None:
        """Write what has changed and forget it; the catalogue, the one given if nothing changed."""

    @abstractmethod
    def __len__(self) -> int:
        """How many entries there are; reads no page."""
