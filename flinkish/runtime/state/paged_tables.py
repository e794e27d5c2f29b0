"""The tables whose entries are in pages by the hash of their key: keyed state, maps, and windows.

In a map state small maps share pages, a big map has its own. A small map is a dict inside the block
of its key. When it grows beyond ``MOST_SMALL`` entries, or its bytes fill a page, it becomes a
*big* map: the page of the key then holds, instead of the dict, a tuple of the big map's number and
the catalogue of its pages.

Each aligned window has its own pages, so a window that fires is read once, page by page, and
removed as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from operator import is_
from typing import Any

import numpy as np

from flinkish.api.errors import UnstableKeyError
from flinkish.runtime.records.keys import KeyHashes
from flinkish.runtime.records.records import Hashes
from flinkish.runtime.state.backend import (
    Block,
    MapStateTable,
    StateTable,
    StoredBlock,
    WindowTable,
)
from flinkish.runtime.state.hashed_pages import (
    TARGET_BYTES,
    TARGET_ENTRIES,
    Catalogue,
    HashedPages,
    KeyedPages,
    hashes_of_keys,
)
from flinkish.runtime.state.page_store import Paged, PageSpace

MOST_SMALL = 1_000


class PagedStateTable(StateTable, Paged):
    """A table in pages: key -> value for the void namespace, (key, namespace) -> value else."""

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


class PagedMapStateTable(MapStateTable, Paged):
    """Map state in pages.

    ``items`` returns the entries of a small map in the order in which they were first put, as a
    copy. The entries of a big map come in any order, page after page, and show changes to pages not
    reached yet. A map with a key that has no stable hash never becomes big; a big map that shrinks
    stays big until it is empty.
    """

    def __init__(self, space: PageSpace, hashes: KeyHashes) -> None:
        self._hashes = hashes
        self._void = KeyedPages(space, b"v", hashes, self._promote_heavy)
        self._named = KeyedPages(space, b"n", hashes, self._promote_heavy, named=True)
        super().__init__(space)

    def flush(self) -> tuple[Any, ...] | None:
        for dropped in self._dropped:
            self._big_pages -= dropped.numPages()
            dropped.destroy()
        for (key, namespace), (number, pages) in self._big.items():
            block, name = self._home(key, namespace)
            catalogue = self._flush_big(pages)
            if catalogue is not block[name][1]:
                block[name] = (number, catalogue)
                block.touched[name] = None
        self._reset(self._flush_homes())
        return self._catalogue

    # Small maps of the void namespace come first, as most elements call these methods

    def get(self, key: Any, namespace: Any, mapKey: Any, default: Any = None) -> Any:
        if namespace is None:
            entry = self._void.blocks[key].get(key)
        else:
            block, name = self._home(key, namespace)
            entry = block.get(name)
        if type(entry) is dict:
            return entry.get(mapKey, default)
        if entry is None:
            return default
        mapHash = self._stable_hash(mapKey)
        if mapHash is None:
            return dict(self.items(key, namespace)).get(mapKey, default)
        return self._big_map(key, namespace, entry).read(mapHash).get(mapKey, default)

    def put(self, key: Any, namespace: Any, mapKey: Any, value: Any) -> None:
        if namespace is None:
            block, name = self._void.blocks[key], key
        else:
            block, name = self._home(key, namespace)
        entry = block.get(name)
        if type(entry) is dict:
            entry[mapKey] = value
            block.touched[name] = None
            return
        if type(entry) is tuple:
            mapHash = self._stable_hash(mapKey)
            if mapHash is not None:
                self._big_map(key, namespace, entry).write(mapHash, mapKey)[mapKey] = value
                return
            entry = self._taken_out(key, namespace)
        block.touched[name] = None
        if entry is None:
            block[name] = {mapKey: value}
        else:
            entry[mapKey] = value
            block[name] = entry

    def remove(self, key: Any, namespace: Any, mapKey: Any) -> None:
        block, name = self._home(key, namespace)
        entry = block.get(name)
        if type(entry) is tuple:
            mapHash = self._stable_hash(mapKey)
            if mapHash is not None:
                pages = self._big_map(key, namespace, entry)
                if mapKey in pages.read(mapHash):
                    block = pages.write(mapHash, mapKey)
                    del block[mapKey]
                    if not block and not len(pages):
                        self.clear(key, namespace)
                return
            entry = block[name] = self._taken_out(key, namespace)
        if entry is not None and mapKey in entry:
            block.touched[name] = None
            del entry[mapKey]
            if not entry:
                del block[name]

    def items(self, key: Any, namespace: Any) -> Iterator[tuple[Any, Any]]:
        block, name = self._home(key, namespace)
        entry = block.get(name)
        if type(entry) is tuple:
            pages = self._big_map(key, namespace, entry).all()
            return chain.from_iterable(list(block.items()) for block in pages)
        return iter(list(entry.items()) if entry else ())

    def isEmpty(self, key: Any, namespace: Any) -> bool:
        block, name = self._home(key, namespace)
        return name not in block

    def clear(self, key: Any, namespace: Any) -> None:
        block, name = self._home(key, namespace)
        entry = block.get(name)
        if entry is not None:
            if type(entry) is tuple:
                self._dropped.append(self._big_map(key, namespace, entry))
                del self._big[key, namespace]
            del block[name]
            block.touched[name] = None

    def maps(self) -> Iterator[tuple[Any, Any]]:
        for block in self._void.all():
            for key in list(block):
                yield key, None
        for block in self._named.all():
            yield from list(block)

    def __len__(self) -> int:
        return len(self._void) + len(self._named)

    def _reset(self, catalogue: tuple[Any, ...] | None) -> None:
        self._catalogue = catalogue
        nothing = 0, 0, None, None, 0, 0
        _, _, void, named, self._big_pages, self._next_number = catalogue or nothing
        self._void.load(void)
        self._named.load(named)
        self._big: dict[tuple[Any, Any], tuple[int, HashedPages]] = {}
        self._dropped: list[HashedPages] = []

    def _home(self, key: Any, namespace: Any) -> tuple[StoredBlock, Any]:
        """The block that holds the map or its tuple, and the map's name in the block."""
        if namespace is None:
            return self._void.blocks[key], key
        return self._named.blocks[key], (key, namespace)

    def _stable_hash(self, mapKey: Any) -> int | None:
        try:
            return self._hashes[mapKey]
        except UnstableKeyError:
            return None

    def _big_map(self, key: Any, namespace: Any, entry: tuple[int, Catalogue]) -> HashedPages:
        opened = self._big.get((key, namespace))
        if opened is None:
            number, catalogue = entry
            opened = self._big[key, namespace] = number, self._new_big(number)
            opened[1].load(catalogue)
        return opened[1]

    def _new_big(self, number: int) -> HashedPages:
        return HashedPages(self._space, b"%x." % number, hashes_of_keys)

    def _taken_out(self, key: Any, namespace: Any) -> Block:
        """The entries of a big map, which is removed: a key without a stable hash may be equal to any
        of its keys."""
        entries = dict(self.items(key, namespace))
        self.clear(key, namespace)
        return entries

    def _flush_big(self, pages: HashedPages) -> Catalogue | None:
        self._big_pages -= pages.numPages()
        catalogue = pages.flush()
        self._big_pages += pages.numPages()
        return catalogue

    def _flush_homes(self) -> tuple[Any, ...] | None:
        for home in (self._void, self._named):
            for block in home.touched():
                for name in block.touched:
                    if len(block.get(name, ())) > MOST_SMALL:
                        self._promote(block, name)
        void, named = self._void.flush(), self._named.flush()
        if void is None and named is None:
            return None
        maps = len(self._void) + len(self._named)
        pages = self._void.numPages() + self._named.numPages() + self._big_pages
        catalogue = (maps, pages, void, named, self._big_pages, self._next_number)
        return self._catalogue if catalogue == self._catalogue else catalogue

    def _promote_heavy(self, block: Block) -> bool:
        """Called for the blocks of a page with too many bytes: make its heaviest maps big ones."""
        encode = self._space.codec.encodeEntries
        small = [name for name, entry in block.items() if type(entry) is dict and len(entry) > 1]
        heavy = [name for name in small if len(encode(block[name])) > TARGET_BYTES]
        promoted = [self._promote(block, name) for name in heavy]
        return any(promoted)

    def _promote(self, block: Block, name: Any) -> bool:
        entries = block[name]
        try:
            hashes = hashes_of_keys(entries)
        except UnstableKeyError:
            return False
        pages = self._new_big(self._next_number)
        blocks, index = pages.writeAll(list(entries), hashes)
        for (mapKey, value), i in zip(entries.items(), index):
            blocks[i][mapKey] = value
        block[name] = (self._next_number, self._flush_big(pages))
        self._next_number += 1
        return True


class PagedWindowTable(WindowTable, Paged):
    """The contents of aligned windows in pages. The catalogue holds, encoded, the number of each
    window and the catalogue of its pages. ``windows()`` returns the windows in the order of their
    first use."""

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
