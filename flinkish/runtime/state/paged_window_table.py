"""``PagedWindowTable``: aligned windows in pages; each window has its own, by the hash of the key.

So a window that fires is read once, page by page, and removed as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from flinkish.runtime.records.records import Hashes
from flinkish.runtime.state.backend import Block, WindowTable
from flinkish.runtime.state.hashed_pages import (
    TARGET_ENTRIES,
    Catalogue,
    HashedPages,
    hashes_of_keys,
)
from flinkish.runtime.state.page_store import Paged


class PagedWindowTable(WindowTable, Paged):
    """The contents of aligned windows in pages. The catalogue holds, encoded, the number of each
    window and the catalogue of its pages. ``windows()`` returns the windows in the order of their
    first use."""

    __slots__ = ("_dropped", "_next_number", "_open", "_stored")

    def flush(self) -> tuple[Any, ...] | None:
        for pages in self._dropped:
            pages.destroy()
        changed = bool(self._dropped)
        for window, (number, pages) in self._open.items():
            catalogue = pages.flush()
            if catalogue is not self._windows()[window][1]:
                changed = True
                self._windows()[window] = number, catalogue
        self._reset(self._encode() if changed else self._catalogue)
        return self._catalogue

    def blocks(
        self, window: Any, keys: Sequence[Any], hashes: Hashes
    ) -> tuple[Sequence[Block], Sequence[int]]:
        return self._pages(window, hashes).writeAll(keys, hashes)

    def windows(self) -> list[Any]:
        return [window for window in self._windows() if self.size(window)]

    def items(self, window: Any) -> Iterator[tuple[Any, Any]]:
        if window not in self._windows():
            return iter(())
        return chain.from_iterable(block.items() for block in self._pages(window).all())

    def remove(self, window: Any) -> None:
        if window in self._windows():
            self._dropped.append(self._pages(window))
            del self._open[window]
            del self._windows()[window]

    def size(self, window: Any) -> int:
        opened = self._open.get(window)
        if opened is not None:
            return len(opened[1])
        _, catalogue = self._windows().get(window, _NOTHING)
        return 0 if catalogue is None else catalogue[0]

    def __len__(self) -> int:
        if self._stored is None:
            return 0 if self._catalogue is None else int(self._catalogue[0])
        return sum(map(self.size, self._stored))

    def _reset(self, catalogue: tuple[Any, ...] | None) -> None:
        self._catalogue = catalogue
        self._next_number: int = 0 if catalogue is None else catalogue[2]
        self._stored: dict[Any, tuple[int, Catalogue | None]] | None = None
        self._open: dict[Any, tuple[int, HashedPages]] = {}
        self._dropped: list[HashedPages] = []

    def _windows(self) -> dict[Any, tuple[int, Catalogue | None]]:
        """All windows, decoded at the first call."""
        if self._stored is None:
            encoded = None if self._catalogue is None else self._catalogue[3]
            self._stored = {} if encoded is None else self._space.codec.decodeEntries(encoded)
        return self._stored

    def _pages(self, window: Any, hashes: Hashes | None = None) -> HashedPages:
        """The pages of ``window``; a new window gets buckets for keys with ``hashes``."""
        opened = self._open.get(window)
        if opened is None:
            number, catalogue = self._windows().get(window, _NOTHING)
            if number < 0:
                number, self._next_number = self._next_number, self._next_number + 1
                self._windows()[window] = number, None
            pages = HashedPages(self._space, b"%x." % number, hashes_of_keys)
            pages.load(catalogue)
            if catalogue is None and hashes is not None and len(hashes) > TARGET_ENTRIES:
                pages.presize(len(np.unique(hashes)))
            opened = self._open[window] = number, pages
        return opened[1]

    def _encode(self) -> tuple[Any, ...] | None:
        present = {
            window: (number, catalogue)
            for window, (number, catalogue) in self._windows().items()
            if catalogue is not None
        }
        if not present:
            return None
        catalogues = [catalogue for _, catalogue in present.values() if catalogue is not None]
        entries = sum(catalogue[0] for catalogue in catalogues)
        pages = sum(catalogue[1] for catalogue in catalogues)
        return entries, pages, self._next_number, self._space.codec.encodeEntries(present)


_NOTHING: tuple[int, Catalogue | None] = (-1, None)
