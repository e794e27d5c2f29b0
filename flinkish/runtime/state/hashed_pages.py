"""``HashedPages``: entries in pages by hash (extendible hashing), so that only a full page is split.

A page holds the entries whose hash ends in the same bits: ``depth`` is the number of those bits and
``bucket`` their value. When a page splits, the half whose next bit is 0 keeps the bucket. So buckets are
unique, and they follow from the depths alone. For example, a single page (depth 0, bucket 0) splits into
the buckets 0 and 1 of depth 1; if bucket 1 splits again, its halves are the buckets 01 and 11 of depth 2,
while bucket 0 stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flinkish.runtime.records.records import Hashes
from flinkish.runtime.state.backend import Page
from flinkish.runtime.state.page_store import PageSpace

TARGET_ENTRIES = 2_000
MOST_ENTRIES = 3_000
TARGET_BYTES = 128 * 1024
MOST_BYTES = 192 * 1024
# There is a slot for each value of the deepest page's bits. The depth may exceed that of evenly
# filled pages by this much only, so that a few nearly equal hashes do not need millions of slots.
_SPARE_DEPTH = 6
_MOST_DEPTH = 20
_ABSENT = 0x80

Catalogue: TypeAlias = tuple[int, int, bytes]
"""Number of entries, number of pages, and the depths in the order of ``_buckets``."""


class HashedPages:
    """The pages of one table, one window or one big map.

    ``hashesOf`` computes the hashes of a page's entries for a split. ``relieve`` is called first when a
    page has too many bytes; it may remove entries and returns whether it did. ``named``: entries are
    stored under (key, namespace).
    """

    __slots__ = (
        "_absent",
        "_catalogue",
        "_depths",
        "_dirty",
        "_hashes_of",
        "_label",
        "_named",
        "_pages",
        "_relieve",
        "_sizes",
        "_slots",
        "_space",
    )

    def __init__(
        self,
        space: PageSpace,
        label: bytes,
        hashesOf: Callable[[Page], Hashes],
        relieve: Callable[[Page], bool] | None = None,
        named: bool = False,
    ) -> None:
        self._space = space
        self._label = label
        self._hashes_of = hashesOf
        self._relieve = relieve
        self._named = named
        self.load(None)

    def load(self, catalogue: Catalogue | None) -> None:
        """Drop what is in memory, and use the pages of ``catalogue`` from now on."""
        self._catalogue = catalogue
        self._pages: dict[int, Page] = {}
        self._sizes: dict[int, int] = {}
        self._dirty: set[int] = set()
        self._slots: list[int] = []
        self._depths: dict[int, int] = {}
        self._absent: set[int] = set()

    def presize(self, entries: int) -> None:
        """Create buckets for that many entries; called while there are no pages."""
        depth = _bits(entries, TARGET_ENTRIES)
        self._depths = dict.fromkeys(range(1 << depth), depth)
        self._absent = set(self._depths)
        self._slots = list(range(1 << depth))

    def read(self, keyHash: int) -> Page:
        """The page of that hash, for reading. It stays the same object until ``flush``."""
        slots = self._slots or self._open()
        bucket = slots[(keyHash ^ keyHash >> 16) & len(slots) - 1]
        page = self._pages.get(bucket)
        return self._page(bucket) if page is None else page

    def write(self, keyHash: int) -> Page:
        """The page of that hash, for changing."""
        slots = self._slots or self._open()
        bucket = slots[(keyHash ^ keyHash >> 16) & len(slots) - 1]
        self._dirty.add(bucket)
        page = self._pages.get(bucket)
        return self._page(bucket) if page is None else page

    def writeAll(self, hashes: Hashes) -> tuple[Sequence[Page], list[int]]:
        """The pages of those hashes, for changing, and for each hash the index of its page."""
        slots = self._slots or self._open()
        if len(slots) == 1:
            return (self.write(0),), [0] * len(hashes)
        buckets = np.array(slots)[(hashes ^ hashes >> 16) & np.uint32(len(slots) - 1)]
        touched = np.zeros(len(slots), dtype=np.bool_)
        touched[buckets] = True
        used: list[int] = np.flatnonzero(touched).tolist()
        self._dirty.update(used)
        index: list[int] = (np.cumsum(touched) - 1)[buckets].tolist()
        return [self._page(bucket) for bucket in used], index

    def all(self) -> Iterator[Page]:
        """Every page that is not empty, read one after another."""
        if not self._slots:
            self._open()
        for bucket in list(self._depths):
            page = self._page(bucket)
            if page:
                yield page

    def dirty(self) -> list[Page]:
        """The pages changed since ``load``."""
        return [self._page(bucket) for bucket in self._dirty]

    def numPages(self) -> int:
        """How many pages are in the store."""
        return 0 if self._catalogue is None else self._catalogue[1]

    def __len__(self) -> int:
        """How many entries there are; reads no page."""
        stored = 0 if self._catalogue is None else self._catalogue[0]
        return stored + sum(map(len, self._pages.values())) - sum(self._sizes.values())

    def flush(self) -> Catalogue | None:
        """Write the changed pages, drop them from memory, and return the catalogue.

        It is None if there are no entries, and the same object that was loaded if it did not change.
        """
        if self._dirty:
            entries = len(self)
            for bucket in self._dirty:
                self._flush_page(bucket, self._page(bucket))
            self._merge_empty()
            catalogue = self._encode(entries) if entries else None
            self.load(self._catalogue if catalogue == self._catalogue else catalogue)
        return self._catalogue

    def destroy(self) -> None:
        """Remove every page from the store."""
        if not self._slots:
            self._open()
        for bucket in self._depths.keys() - self._absent:
            self._space.remove(self._id(bucket))
        self.load(None)

    def _id(self, bucket: int) -> bytes:
        return b"%s%x" % (self._label, bucket)

    def _page(self, bucket: int) -> Page:
        page = self._pages.get(bucket)
        if page is None:
            page = {} if bucket in self._absent else self._read(bucket)
            self._pages[bucket] = page
            self._sizes[bucket] = len(page)
        return page

    def _read(self, bucket: int) -> Page:
        return self._space.codec.decodeEntries(self._space.read(self._id(bucket)))

    def _open(self) -> list[int]:
        """Decode the catalogue, which is done only when a page is needed."""
        depths = b"\x80" if self._catalogue is None else self._catalogue[2]
        size = 1 << max(depth & ~_ABSENT for depth in depths)
        slots = [0] * size
        for bucket, flagged in zip(_buckets(depths), depths):
            depth = flagged & ~_ABSENT
            self._depths[bucket] = depth
            if flagged & _ABSENT:
                self._absent.add(bucket)
            slots[bucket :: 1 << depth] = [bucket] * (size >> depth)
        self._slots = slots
        return slots

    def _encode(self, entries: int) -> Catalogue:
        depths = bytearray()
        bucket = 0
        for _ in range(len(self._depths)):
            depth = self._depths[bucket]
            depths.append(depth | _ABSENT if bucket in self._absent else depth)
            bucket = _next(bucket, depth)
        return entries, len(self._depths) - len(self._absent), bytes(depths)

    def _flush_page(self, bucket: int, page: Page) -> None:
        if not page:
            if bucket not in self._absent:
                self._absent.add(bucket)
                self._space.remove(self._id(bucket))
            return
        if len(page) > MOST_ENTRIES and self._split(bucket, page, _bits(len(page), TARGET_ENTRIES)):
            return
        content = self._space.codec.encodeEntries(page, self._named)
        if len(content) > MOST_BYTES:
            if self._relieve is not None and self._relieve(page):
                content = self._space.codec.encodeEntries(page, self._named)
            if len(content) > MOST_BYTES:
                bits = min(_bits(len(content), TARGET_BYTES), len(page).bit_length())
                if self._split(bucket, page, bits):
                    return
        self._absent.discard(bucket)
        self._space.write(self._id(bucket), content)

    def _split(self, bucket: int, page: Page, bits: int) -> bool:
        """Split a page by the next ``bits`` of the hash and write the parts. False if all entries would
        stay together."""
        depth = self._depths[bucket]
        most = min(_MOST_DEPTH, len(self._depths).bit_length() + _SPARE_DEPTH)
        bits = min(bits, most - depth)
        if len(page) < 2 or bits <= 0:
            return False
        hashes = self._hashes_of(page)
        parts = ((hashes ^ hashes >> 16) >> np.uint32(depth)) & np.uint32((1 << bits) - 1)
        if (parts == parts[0]).all():
            return False
        children = [bucket | part << depth for part in range(1 << bits)]
        self._depths.update(dict.fromkeys(children, depth + bits))
        self._absent.update(children[1:])
        for child, part in zip(children, _partition(page, parts, 1 << bits)):
            self._flush_page(child, part)
        return True

    def _merge_empty(self) -> None:
        """Merge buckets without a page, so that the catalogue shrinks with the entries."""
        for bucket in self._dirty & self._absent:
            depth = self._depths.get(bucket, 0)
            while depth:
                top = 1 << depth - 1
                lower, upper = bucket & ~top, bucket | top
                if upper not in self._absent or self._depths.get(bucket ^ top) != depth:
                    break
                del self._depths[upper]
                self._absent.discard(upper)
                bucket, depth = lower, depth - 1
                self._depths[bucket] = depth


def _bits(size: int, target: int) -> int:
    """The number of bits that divide ``size`` into parts of at most about ``target``."""
    return max(0, (size - 1) // target).bit_length()


def _next(bucket: int, depth: int) -> int:
    """The bucket after this one, in the order of reversed bits."""
    while depth:
        depth -= 1
        if bucket >> depth & 1 == 0:
            return bucket | 1 << depth
        bucket ^= 1 << depth
    return 0


def _buckets(depths: bytes) -> Iterator[int]:
    bucket = 0
    for depth in depths:
        yield bucket
        bucket = _next(bucket, depth & ~_ABSENT)


def _partition(page: Page, parts: NDArray[np.integer[Any]], number: int) -> Iterator[Page]:
    """The entries of ``page`` by part, each part in the order of the page."""
    items: list[tuple[Any, Any]] = list(page.items())
    order: list[int] = np.argsort(parts, kind="stable").tolist()
    start = 0
    for size in np.bincount(parts, minlength=number).tolist():
        yield dict([items[i] for i in order[start : start + size]])
        start += size
