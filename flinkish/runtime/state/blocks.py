"""``Blocks``: the entries of one page in small blocks, of which a batch decodes only those that it
touches.

A call of Spark's state costs as much as moving some ten KB, so pages are large (``HashedPages``).
Unpickling and writing such a page for a few of its entries would cost more than the call. So the
entries of a page are divided into blocks, as in the files of a log-structured store. The bits of
the hash after those that choose the page choose the block, and a block that was not touched is
written back as the bytes that were read. For example, in a page of depth 3 with 4 blocks, the hash
...01 101 is in page 101, and there in block 01.

As long as few entries have changed since the blocks were written, only the changes are written, as
a separate page (``_Changes``). A batch that touches a thousandth of the entries of each page writes
a hundredth of the bytes, and only now and then all of them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flinkish.runtime.records.records import Hashes
from flinkish.runtime.state.backend import Block, StoredBlock
from flinkish.runtime.state.page_codec import ENTRIES, NAMED_ENTRIES, PageCodec, name_sections

BLOCK_ENTRIES = 64
BLOCK_BYTES = 8 * 1024
"""The most entries of a block on average, and about the most bytes."""

MOST_BITS = 10
"""The most blocks of a page, as a power of two."""

CHANGES_FROM = 8 * 1024
CHANGES_SHARE = 16
"""If the blocks have this many bytes, changes are written separately, as long as they are at most a
16th of the entries and of the bytes."""


class Blocks:
    """The blocks of a page, 2 to the power of ``bits``. Hashes are those of ``mixed``. A hash is in
    block ``hash >> depth & mask``. So a stored page keeps its depth."""

    __slots__ = (
        "_changes",
        "_codec",
        "_counts",
        "_encoded",
        "_named",
        "_rewritten",
        "_sizes",
        "_stored",
        "depth",
        "mask",
        "opened",
    )

    def __init__(self, codec: PageCodec, named: bool, depth: int, bits: int) -> None:
        """The blocks of a page without entries."""
        self._codec = codec
        self._named = named
        self.depth = depth
        self.mask = (1 << bits) - 1
        self._counts = [0] * (1 << bits)
        self._encoded: list[bytes | memoryview] = [b""] * (1 << bits)
        self._changes: _Changes | None = None
        """The changes that ``_counts`` and ``_encoded`` do not include."""
        self._stored = 0
        """The number of entries when the page was read."""
        self.opened: dict[int, StoredBlock] = {}
        """The decoded blocks, by number."""
        self._sizes: dict[int, int] = {}
        """The numbers of entries that these had when they were decoded."""
        self._rewritten: set[int] = set()
        """The blocks in which any entry may have changed, whatever ``touched`` says."""

    @classmethod
    def of(
        cls, codec: PageCodec, named: bool, depth: int, content: bytes, changes: bytes | None
    ) -> Blocks:
        """The blocks of a stored page; ``changes``: the page of changes since they were written."""
        counts, encoded = codec.splitBlocks(content)
        blocks = cls(codec, named, depth, len(encoded).bit_length() - 1)
        blocks._encoded[:] = encoded
        blocks._counts = counts
        if changes is None:
            blocks._stored = sum(counts)
        else:
            blocks._stored, blocks._changes = _Changes.of(codec, named, changes)
        return blocks

    @property
    def bits(self) -> int:
        """The number of bits of the hash that choose a block."""
        return self.mask.bit_length()

    def isTouched(self) -> bool:
        return bool(self._rewritten or self.touched())

    def touched(self) -> dict[int, StoredBlock]:
        """The blocks that note entries that may have changed."""
        return {number: block for number, block in self.opened.items() if block.touched}

    def rewrite(self, numbers: Sequence[int]) -> list[StoredBlock]:
        """The blocks with the numbers ``numbers``, in which any entry may then be changed."""
        self._rewritten.update(numbers)
        return [self.block(number) for number in numbers]

    def block(self, number: int) -> StoredBlock:
        """The block with the number ``number``, decoded if necessary."""
        block = self.opened.get(number)
        if block is None:
            block = StoredBlock()
            if self._encoded[number]:
                self._codec.decodeBlock(self._encoded[number], block, self._named)
            if self._changes is not None:
                self._changes.apply(number, block)
            self.opened[number] = block
            self._sizes[number] = len(block)
        return block

    def all(self) -> Iterator[StoredBlock]:
        """Every block that is not empty."""
        for number in range(self.mask + 1):
            block = self.block(number)
            if block:
                yield block

    def added(self) -> int:
        """By how much the number of entries has grown."""
        return sum(map(len, self.opened.values())) - sum(self._sizes.values())

    def count(self) -> int:
        return self._stored + self.added()

    def encodeChanges(self) -> bytes | None:
        """Encode all changes since the blocks were written; None if there are too many."""
        size, count = sum(map(len, self._encoded)), self.count()
        most = count // CHANGES_SHARE
        touched = self.touched()
        names = sum(len(block.touched) for block in touched.values())
        if self._rewritten or size < CHANGES_FROM or names > most:
            return None
        changes = _Changes.none() if self._changes is None else self._changes
        for number, block in touched.items():
            changes.take(number, block)
        if len(changes.numbers) > most:
            return None
        content = changes.encode(self._codec, self._named, count)
        return content if len(content) * CHANGES_SHARE <= size else None

    def encode(self) -> int:
        """Encode the blocks that have changed. Returns the number of bytes of all blocks."""
        numbers = self._rewritten | self.touched().keys()
        if self._changes is not None:
            numbers.update(self._changes.numbers)
        for number in numbers:
            block = self.block(number)
            self._counts[number] = len(block)
            self._encoded[number] = self._codec.encodeBlock(block, self._named) if block else b""
            block.touched.clear()
        self._changes = None
        self._rewritten.clear()
        return sum(map(len, self._encoded))

    def relieve(self, relieve: Callable[[Block], bool]) -> bool:
        """Call ``relieve``, which may remove entries, for each block. Returns whether it did."""
        relieved = [number for number in range(self.mask + 1) if relieve(self.block(number))]
        self._rewritten.update(relieved)
        return bool(relieved)

    def fit(self, count: int, size: int, hashesOf: Callable[[Block], Hashes]) -> None:
        """Divide the entries into as many blocks as ``count`` entries with ``size`` bytes need."""
        by_size = min(bits_for(size, BLOCK_BYTES), count.bit_length())
        wanted = min(max(bits_for(count, BLOCK_ENTRIES), by_size), MOST_BITS)
        # A page whose size varies around a boundary is not divided again each time
        if wanted > self.bits or wanted < self.bits - 1:
            self.divide(wanted, hashesOf)

    def divide(self, bits: int, hashesOf: Callable[[Block], Hashes]) -> None:
        """Divide the entries into 2 to the power of ``bits`` blocks, and encode these."""
        count = self.count()
        if bits < self.bits:
            found = [StoredBlock() for _ in range(1 << bits)]
            for number in range(self.mask + 1):
                found[number & (1 << bits) - 1].update(self.block(number))
        else:
            whole: Block = {}
            for block in self.all():
                whole.update(block)
            parts = mixed(hashesOf(whole)) >> np.uint32(self.depth) & np.uint32((1 << bits) - 1)
            found = list(_partition(whole, parts, 1 << bits))
        self.mask = (1 << bits) - 1
        self._counts = [0] * len(found)
        self._encoded = [b""] * len(found)
        self._stored = count
        self.opened = dict(enumerate(found))
        self._sizes = dict(enumerate(map(len, found)))
        self._rewritten = set(self.opened)
        self.encode()

    def split(self, bits: int) -> list[Blocks] | None:
        """Split the page into those in which the next ``bits`` of the hash are 0, 1, ...; there
        must be at least as many blocks. None if all entries would stay together."""
        parts = []
        for part in range(1 << bits):
            child = Blocks(self._codec, self._named, self.depth + bits, self.bits - bits)
            numbers = range(part, self.mask + 1, 1 << bits)
            child._counts = [self._counts[number] for number in numbers]
            child._encoded = [self._encoded[number] for number in numbers]
            child._stored = sum(child._counts)
            parts.append(child)
        return parts if sum(part._stored > 0 for part in parts) > 1 else None

    def content(self) -> bytes:
        """The bytes of the page; all changes have to be encoded."""
        return self._codec.joinBlocks(self._counts, self._encoded, self._named)


@dataclass(slots=True)
class _Changes:
    """The entries of a page that changed since its blocks were written, by block."""

    numbers: array[int]
    """The number of each entry's block."""
    names: list[Any]
    values: list[Any]
    removed: bytearray
    """1 for each entry that was removed."""

    @classmethod
    def none(cls) -> _Changes:
        """The changes of an unchanged page."""
        return cls(array("H"), [], [], bytearray())

    @classmethod
    def of(cls, codec: PageCodec, named: bool, content: bytes) -> tuple[int, _Changes]:
        """The number of entries of the page, and its changes."""
        count, numbers, removed, names, *namespaces, values = codec.decode(content)
        if named:
            names = list(zip(names, *namespaces))
        return count, cls(array("H", numbers), names, values, bytearray(removed))

    def encode(self, codec: PageCodec, named: bool, count: int) -> bytes:
        """The bytes from which ``of`` decodes these changes; ``count``: the page's entries."""
        names = name_sections(self.names, named)
        sections = ("count", "blocks", "removed", *(NAMED_ENTRIES if named else ENTRIES))
        numbers, removed = self.numbers.tolist(), bytes(self.removed)
        return codec.encode(sections, (count, numbers, removed, *names, self.values))

    def apply(self, number: int, block: Block) -> None:
        begin, end = bisect_left(self.numbers, number), bisect_right(self.numbers, number)
        for at in range(begin, end):
            if self.removed[at]:
                block.pop(self.names[at], None)
            else:
                block[self.names[at]] = self.values[at]

    def take(self, number: int, block: StoredBlock) -> None:
        """Add the current values of the touched entries of a block."""
        begin, end = bisect_left(self.numbers, number), bisect_right(self.numbers, number)
        changed = list(dict.fromkeys(chain(self.names[begin:end], block.touched)))
        self.numbers[begin:end] = array("H", [number]) * len(changed)
        self.names[begin:end] = changed
        self.values[begin:end] = [block.get(name) for name in changed]
        self.removed[begin:end] = bytes(name not in block for name in changed)


def mixed(hashes: Hashes) -> Hashes:
    """The hashes with the upper half mixed into the lower, whose bits choose pages and blocks."""
    return hashes ^ hashes >> np.uint32(16)


def bits_for(size: int, target: int) -> int:
    """The number of bits that divide ``size`` into parts of at most about ``target``."""
    return max(0, (size - 1) // target).bit_length()


def _partition(
    entries: Block, parts: NDArray[np.integer[Any]], number: int
) -> Iterator[StoredBlock]:
    """The entries of each part, in their order."""
    items: list[tuple[Any, Any]] = list(entries.items())
    order: list[int] = np.argsort(parts, kind="stable").tolist()
    start = 0
    for size in np.bincount(parts, minlength=number).tolist():
        block = StoredBlock()
        block.update([items[i] for i in order[start : start + size]])
        yield block
        start += size
