"""``HashedPages``: entries in pages by hash (extendible hashing), so that only a full page is
split.

A page holds the entries whose hash ends in the same bits: ``depth`` is the number of those bits and
``bucket`` their value. When a page splits, the half whose next bit is 0 keeps the bucket. So
buckets are unique, and they follow from the depths alone. For example, a single page (depth 0,
bucket 0) splits into the buckets 0 and 1 of depth 1; if bucket 1 splits again, its halves are the
buckets 01 and 11 of depth 2, while bucket 0 stays unchanged.

Inside a page the next bits of the hash divide the entries into blocks (``Blocks``), which are
decoded when they are needed. ``read`` and ``write`` return the block of a hash. That depends on the
depth of the page too, so a stored page keeps its depth until it is split. A page of changes has the
name of the page that they belong to, followed by "+".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flinkish.runtime.records.keys import KeyHashes
from flinkish.runtime.records.records import Hashes
from flinkish.runtime.records.stable_hashes import stable_hash
from flinkish.runtime.state.backend import Block, StoredBlock
from flinkish.runtime.state.blocks import BLOCK_ENTRIES, CHANGES_SHARE, Blocks, bits_for, mixed
from flinkish.runtime.state.page_store import DIGEST_SIZE, PageSpace, digest_of

TARGET_ENTRIES = 8_000
MOST_ENTRIES = 12_000
TARGET_BYTES = 64 * 1024
MOST_BYTES = 96 * 1024
CACHED_FROM = 8 * 1024
"""The catalogue has a digest of larger pages, by which a worker finds them in its cache."""

# There is a slot for each value of the deepest page's bits. The depth may exceed that of evenly
# filled pages only by this much, so that a few nearly equal hashes do not need millions of slots.
_SPARE_DEPTH = 6
_MOST_DEPTH = 20
_ABSENT = 0x80
_CHANGED = 0x40
_HAS_DIGEST = 0x20
_DEPTH = 0x1F
"""In the catalogue: flags of a bucket (no page, changes, a digest), and the bits of its depth."""

MOST_NOTED = 1 << 16
"""The most keys whose block is noted; with more, all notes are dropped."""

Catalogue: TypeAlias = tuple[int, int, bytes, bytes]
"""Numbers of entries and pages; the depths and the digests, in the order of ``_buckets``."""


class HashedPages:
    """The pages of one table, one window or one big map.

    ``hashesOf`` computes the hashes of entries when they are divided. ``relieve`` is called first,
    for each block, when a page has too many bytes; it may remove entries and returns whether it
    did. ``named``: entries are stored under (key, namespace).
    """

    def __init__(
        self,
        space: PageSpace,
        label: bytes,
        hashesOf: Callable[[Block], Hashes],
        relieve: Callable[[Block], bool] | None = None,
        named: bool = False,
    ) -> None:
        self._space = space
        self._label = label
        self._hashes_of = hashesOf
        self._relieve = relieve
        self._named = named
        self.load(None)

    def load(self, catalogue: Catalogue | None) -> None:
        """Drop all pages in memory, and use those of ``catalogue`` from now on."""
        self._catalogue = catalogue
        self._pages: dict[int, Blocks] = {}
        self._slots: list[int] = []
        self._depths: dict[int, int] = {}
        self._absent: set[int] = set()
        self._changed: set[int] = set()
        """The buckets with a page of changes."""
        self._digests: dict[int, bytes] = {}
        """The digests, by bucket, of the pages that may be cached."""

    def presize(self, entries: int) -> None:
        """Create buckets for ``entries`` entries; called while there are no pages."""
        depth = bits_for(entries, TARGET_ENTRIES)
        self._depths = dict.fromkeys(range(1 << depth), depth)
        self._absent = set(self._depths)
        self._slots = list(range(1 << depth))

    def read(self, keyHash: int) -> StoredBlock:
        """The block of ``keyHash``, which stays the same object until ``flush``."""
        slots = self._slots or self._open()
        mixed_hash = keyHash ^ keyHash >> 16
        bucket = slots[mixed_hash & len(slots) - 1]
        page = self._pages.get(bucket) or self._page(bucket)
        number = mixed_hash >> page.depth & page.mask
        block = page.opened.get(number)
        return page.block(number) if block is None else block

    def readAll(self, hashes: Hashes) -> Iterator[StoredBlock]:
        slots = self._slots or self._open()
        mixed_hashes = mixed(hashes)
        buckets = np.array(slots)[mixed_hashes & np.uint32(len(slots) - 1)]
        used: list[int] = np.unique(buckets).tolist()
        numbers, first, end = self._numbered(mixed_hashes, buckets, used)
        distinct, places = np.unique(numbers, return_inverse=True)
        begins = np.searchsorted(distinct, [*first[used], end]).tolist()
        blocks: list[StoredBlock] = []
        for bucket, begin, until in zip(used, begins, begins[1:]):
            numbers_of_page = (distinct[begin:until] - first[bucket]).tolist()
            blocks += map(self._pages[bucket].block, numbers_of_page)
        return map(blocks.__getitem__, places.tolist())

    def _numbered(
        self, mixedHashes: Hashes, buckets: NDArray[np.intp], used: Sequence[int]
    ) -> tuple[Hashes, Hashes, int]:
        """The number of each hash's block, counting the blocks of all ``used`` pages one after
        another; the first number of each bucket; and the number of these blocks."""
        first, depth, mask = np.zeros((3, len(self._slots)), dtype=np.uint32)
        end = 0
        for bucket in used:
            page = self._page(bucket)
            first[bucket], depth[bucket], mask[bucket] = end, page.depth, page.mask
            end += page.mask + 1
        return first[buckets] + (mixedHashes >> depth[buckets] & mask[buckets]), first, end

    def write(self, keyHash: int, name: Any) -> StoredBlock:
        """The block of ``keyHash``, in which the entry ``name`` may then be changed."""
        block = self.read(keyHash)
        block.touched[name] = None
        return block

    def writeAll(self, names: Sequence[Any], hashes: Hashes) -> tuple[Sequence[Block], list[int]]:
        """The blocks of ``hashes``, in which the entries ``names`` may then be changed, and for
        each hash the index of its block."""
        if len(names) == 1:
            return (self.write(int(hashes[0]), names[0]),), [0]
        slots = self._slots or self._open()
        mixed_hashes = mixed(hashes)
        if len(slots) == 1:
            self._make((0,), mixed_hashes)
            page = self._page(0)
            if not page.mask:
                return page.rewrite((0,)), [0] * len(hashes)
        buckets = np.array(slots)[mixed_hashes & np.uint32(len(slots) - 1)]
        counts = np.bincount(buckets, minlength=len(slots))
        used: list[int] = np.flatnonzero(counts).tolist()
        self._make(used, mixed_hashes)
        numbers, first, end = self._numbered(mixed_hashes, buckets, used)
        present = np.flatnonzero(np.bincount(numbers, minlength=end))
        places = np.zeros(end, dtype=np.intp)
        places[present] = np.arange(len(present))
        index: list[int] = places[numbers].tolist()
        begins = np.searchsorted(present, [*first[used], end]).tolist()
        blocks: list[StoredBlock] = []
        rewritten = True
        for bucket, begin, until in zip(used, begins, begins[1:]):
            page = self._pages[bucket]
            own: list[int] = (present[begin:until] - int(first[bucket])).tolist()
            if counts[bucket] * CHANGES_SHARE < page.count():
                blocks += map(page.block, own)
                rewritten = False
            else:
                blocks += page.rewrite(own)
        if not rewritten:
            for name, i in zip(names, index):
                blocks[i].touched[name] = None
        return blocks, index

    def all(self) -> Iterator[Block]:
        if not self._slots:
            self._open()
        for bucket in list(self._depths):
            yield from self._page(bucket).all()

    def touched(self) -> list[StoredBlock]:
        """The blocks with entries that may have been changed through ``write`` since ``load``."""
        return [block for page in self._pages.values() for block in page.touched().values()]

    def numPages(self) -> int:
        return 0 if self._catalogue is None else self._catalogue[1]

    def __len__(self) -> int:
        """The number of entries, without reading a page."""
        stored = 0 if self._catalogue is None else self._catalogue[0]
        return stored + sum(page.added() for page in self._pages.values())

    def flush(self) -> Catalogue | None:
        """Write the changed pages, drop them from memory, and return the catalogue. It is None if
        there are no entries, and the same object that was loaded if it did not change."""
        changed = [bucket for bucket, page in self._pages.items() if page.isTouched()]
        if changed:
            entries = len(self)
            for bucket in changed:
                self._flush_changes(bucket, self._pages[bucket])
            self._merge_empty(changed)
            catalogue = self._encode(entries) if entries else None
            self.load(self._catalogue if catalogue == self._catalogue else catalogue)
        return self._catalogue

    def destroy(self) -> None:
        """Remove every page from the store."""
        if not self._slots:
            self._open()
        for bucket in self._depths.keys() - self._absent:
            self._space.remove(self._id(bucket))
        for bucket in self._changed:
            self._space.remove(self._id_of_changes(bucket))
        self.load(None)

    def _id(self, bucket: int) -> bytes:
        return b"%s%x" % (self._label, bucket)

    def _id_of_changes(self, bucket: int) -> bytes:
        return b"%s+" % self._id(bucket)

    def _page(self, bucket: int) -> Blocks:
        page = self._pages.get(bucket)
        if page is None:
            codec, depth = self._space.codec, self._depths[bucket]
            if bucket in self._absent:
                page = Blocks(codec, self._named, depth, 0)
            else:
                content = self._space.read(self._id(bucket), self._digests.get(bucket))
                changed = bucket in self._changed
                changes = self._space.read(self._id_of_changes(bucket)) if changed else None
                page = Blocks.of(codec, self._named, depth, content, changes)
            self._pages[bucket] = page
        return page

    def _make(self, buckets: Iterable[int], mixedHashes: Hashes) -> None:
        """Create the missing pages of ``buckets``, with blocks for entries with these hashes."""
        new = [bucket for bucket in buckets if bucket in self._absent and bucket not in self._pages]
        if new and len(mixedHashes) > BLOCK_ENTRIES:
            entries = _distinct(mixedHashes, len(self._slots))
            for bucket in new:
                depth = self._depths[bucket]
                bits = bits_for(int(entries[bucket :: 1 << depth].sum()), BLOCK_ENTRIES)
                self._pages[bucket] = Blocks(self._space.codec, self._named, depth, bits)

    def _open(self) -> list[int]:
        """Decode the catalogue, once a page is needed."""
        depths = b"\x80" if self._catalogue is None else self._catalogue[2]
        size = 1 << max(depth & _DEPTH for depth in depths)
        slots = [0] * size
        data = b"" if self._catalogue is None else self._catalogue[3]
        digests = (data[at : at + DIGEST_SIZE] for at in range(0, len(data), DIGEST_SIZE))
        for bucket, flagged in zip(_buckets(depths), depths):
            depth = flagged & _DEPTH
            self._depths[bucket] = depth
            if flagged & _ABSENT:
                self._absent.add(bucket)
            if flagged & _CHANGED:
                self._changed.add(bucket)
            if flagged & _HAS_DIGEST:
                self._digests[bucket] = next(digests)
            slots[bucket :: 1 << depth] = [bucket] * (size >> depth)
        self._slots = slots
        return slots

    def _encode(self, entries: int) -> Catalogue:
        depths, digests = bytearray(), bytearray()
        bucket = 0
        for _ in range(len(self._depths)):
            depth = self._depths[bucket]
            digest = self._digests.get(bucket, b"")
            digests += digest
            flags = (bucket in self._absent) * _ABSENT | (bucket in self._changed) * _CHANGED
            depths.append(depth | flags | bool(digest) * _HAS_DIGEST)
            bucket = _next(bucket, depth)
        pages = len(self._depths) - len(self._absent) + len(self._changed)
        return entries, pages, bytes(depths), bytes(digests)

    def _flush_changes(self, bucket: int, page: Blocks) -> None:
        """Write the changes of a page, or the whole page if there are too many."""
        changes = None if bucket in self._absent else page.encodeChanges()
        if changes is not None:
            self._changed.add(bucket)
            self._space.write(self._id_of_changes(bucket), changes)
            return
        if bucket in self._changed:
            self._changed.discard(bucket)
            self._space.remove(self._id_of_changes(bucket))
        self._flush_page(bucket, page)

    def _flush_page(self, bucket: int, page: Blocks) -> None:
        self._digests.pop(bucket, None)
        size = page.encode()
        if size > MOST_BYTES and self._relieve is not None and page.relieve(self._relieve):
            size = page.encode()
        count = page.count()
        if not count:
            if bucket not in self._absent:
                self._absent.add(bucket)
                self._space.remove(self._id(bucket))
            return
        bits = bits_for(count, TARGET_ENTRIES) if count > MOST_ENTRIES else 0
        if size > MOST_BYTES:
            bits = max(bits, min(bits_for(size, TARGET_BYTES), count.bit_length()))
        if bits and self._split(bucket, page, bits):
            return
        page.fit(count, size, self._hashes_of)
        self._absent.discard(bucket)
        content = page.content()
        digest = digest_of(content) if len(content) >= CACHED_FROM else None
        if digest is not None:
            self._digests[bucket] = digest
        self._space.write(self._id(bucket), content, digest)

    def _split(self, bucket: int, page: Blocks, bits: int) -> bool:
        """Split a page by the next ``bits`` of the hash and write the parts. False if all entries
        would stay together."""
        most = min(_MOST_DEPTH, len(self._depths).bit_length() + _SPARE_DEPTH)
        bits = min(bits, most - page.depth)
        if page.count() < 2 or bits <= 0:
            return False
        if page.bits < bits:
            page.divide(bits, self._hashes_of)
        parts = page.split(bits)
        if parts is None:
            return False
        children = [bucket | part << page.depth for part in range(1 << bits)]
        self._depths.update(dict.fromkeys(children, page.depth + bits))
        self._absent.update(children[1:])
        for child, part in zip(children, parts):
            self._flush_page(child, part)
        return True

    def _merge_empty(self, buckets: Iterable[int]) -> None:
        """Merge pairs of buckets without pages, so that the catalogue shrinks with the entries."""
        for bucket in self._absent.intersection(buckets):
            depth = self._depths.get(bucket, 0)
            while depth:
                top = 1 << depth - 1
                lower, upper = bucket & ~top, bucket | top
                absent = lower in self._absent and upper in self._absent
                if not absent or self._depths.get(bucket ^ top) != depth:
                    break
                del self._depths[upper]
                self._absent.discard(upper)
                bucket, depth = lower, depth - 1
                self._depths[bucket] = depth


def _distinct(mixedHashes: Hashes, slots: int) -> NDArray[Any]:
    """An estimate of the number of distinct hashes in each slot."""
    places = max(slots, min(slots << 13, 1 << 21))
    found = np.bincount(mixedHashes & np.uint32(places - 1), minlength=places) > 0
    entries: NDArray[Any] = found.reshape(-1, slots).sum(axis=0)
    return entries


def _next(bucket: int, depth: int) -> int:
    """The bucket after ``bucket``, in the order of reversed bits."""
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
        bucket = _next(bucket, depth & _DEPTH)


class KeyedPages(HashedPages):
    """The pages of a table whose entries have a key. All entries of a key share a block, however
    many they are. A user function reads an entry of a key again and again, so the block is noted by
    key and a batch looks it up once. ``relieve`` and ``named`` are as in ``HashedPages``."""

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


def hashes_of_keys(block: Block) -> Hashes:
    """The hashes of the entries of a block from key to value; not cached, as pages are rarely
    split."""
    return np.fromiter(map(stable_hash, block), dtype=np.uint32, count=len(block))


def hashes_of_named(block: Block) -> Hashes:
    """The hashes of the entries of a block from (key, namespace) to value."""
    return np.fromiter((stable_hash(key) for key, _ in block), dtype=np.uint32, count=len(block))
