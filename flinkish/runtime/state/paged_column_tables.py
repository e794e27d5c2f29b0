"""The tables of columns in pages: aligned windows as runs, and rows by the hash of their key.

A batch appends one run to each window that it touches. Runs are merged as in a log-structured merge
tree: from the newest backwards, as long as the next older run has at most ``GROWTH`` times the rows
of all newer ones. So a window has few runs, a row is rewritten a number of times that grows with
the logarithm of the window's size, and a small batch does not rewrite a large window.

The number of pages of rows by key is a power of two, some bits of the hash choose the page, and all
pages have about the same size. The catalogue says when the first row of each page is due, so that a
watermark reads only pages with rows that are due.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.runtime.records.records import Hashes
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.state.backend import (
    HASH,
    ColumnMerge,
    ColumnTable,
    KeyedColumnTable,
    first_due,
    kind_of_run,
)
from flinkish.runtime.state.blocks import mixed
from flinkish.runtime.state.page_store import Paged, PageSpace

GROWTH = 4

ROWS_A_PAGE = 1 << 16

KEYED_ROWS_A_PAGE = 4_000
"""Pages by key are divided at twice as many rows on average, and joined at an eighth."""

_SECTIONS = ("rows",)

_Stored = tuple[int, int, int, bytes]
"""A stored run: the number of its first page, how many pages and rows it has, and its kind."""


class PagedColumnTable(ColumnTable, Paged):
    """The catalogue holds, encoded, the stored runs of each window."""

    _merge: ColumnMerge

    def __init__(self, space: PageSpace) -> None:
        super().__init__(space)
        self._merge = lambda runs, whole: None  # apart, until the operator says how to merge

    def mergeBy(self, merge: ColumnMerge) -> None:
        self._merge = merge

    def flush(self) -> tuple[Any, ...] | None:
        changed = bool(self._added or self._removed)
        for window, runs in self._added.items():
            self._store(window, runs)
        for first, pages, *_ in self._removed:
            for number in range(first, first + pages):
                self._space.remove(_page(number))
        self._reset(self._encode() if changed else self._catalogue)
        return self._catalogue

    def append(self, window: Any, run: pa.RecordBatch) -> None:
        self._added.setdefault(window, []).append(run)

    def windows(self) -> list[Any]:
        return list({**self._runs(), **self._added})

    def runs(self, window: Any) -> list[pa.RecordBatch]:
        return [*map(self._read, self._runs().get(window, ())), *self._added.get(window, ())]

    def kinds(self, window: Any) -> set[bytes]:
        added = {kind_of_run(run.schema) for run in self._added.get(window, ())}
        return added | {run[3] for run in self._runs().get(window, ())}

    def remove(self, window: Any) -> None:
        self._added.pop(window, None)
        self._removed += self._runs().pop(window, ())

    def size(self, window: Any) -> int:
        rows: int = sum(run.num_rows for run in self._added.get(window, ()))
        return rows + sum(stored[2] for stored in self._runs().get(window, ()))

    def __len__(self) -> int:
        if self._stored is None and not self._added:
            return 0 if self._catalogue is None else int(self._catalogue[0])
        return sum(map(self.size, self.windows()))

    def _reset(self, catalogue: tuple[Any, ...] | None) -> None:
        self._catalogue = catalogue
        self._next: int = 0 if catalogue is None else catalogue[2]
        self._stored: dict[Any, list[_Stored]] | None = None
        self._added: dict[Any, list[pa.RecordBatch]] = {}
        self._removed: list[_Stored] = []

    def _runs(self) -> dict[Any, list[_Stored]]:
        """The stored runs of each window; decoded at the first call."""
        if self._stored is None:
            encoded = None if self._catalogue is None else self._catalogue[3]
            self._stored = {} if encoded is None else self._space.codec.decodeEntries(encoded)
        return self._stored

    def _store(self, window: Any, runs: list[pa.RecordBatch]) -> None:
        """Write ``runs`` after those of ``window``, merged with as many of these as is worth it."""
        stored = self._runs().setdefault(window, [])
        added = sum(run.num_rows for run in runs)
        kept = len(stored)
        while kept and stored[kept - 1][2] <= GROWTH * added:
            kept -= 1
            added += stored[kept][2]
        merged = self._merged([*map(self._read, stored[kept:]), *runs], whole=kept == 0)
        if merged is None and kept < len(stored):
            # Merge at least the runs of this batch
            kept = len(stored)
            merged = self._merged(runs, whole=False)
        self._removed += stored[kept:]
        del stored[kept:]
        stored += map(self._write, runs if merged is None else merged)

    def _merged(self, runs: list[pa.RecordBatch], whole: bool) -> Sequence[pa.RecordBatch] | None:
        return runs if len(runs) == 1 and not whole else self._merge(runs, whole)

    def _write(self, run: pa.RecordBatch) -> _Stored:
        first = self._next
        for start in range(0, run.num_rows, ROWS_A_PAGE):
            page = RowColumns(run.slice(start, ROWS_A_PAGE)).toBytes()
            content = self._space.codec.encode(_SECTIONS, (page,))
            self._space.write(_page(self._next), content)
            self._next += 1
        return first, self._next - first, run.num_rows, kind_of_run(run.schema)

    def _read(self, stored: _Stored) -> pa.RecordBatch:
        first, pages, *_ = stored
        batches = []
        for number in range(first, first + pages):
            (data,) = self._space.codec.decode(self._space.read(_page(number)))
            batches.append(RowColumns.ofBytes(data).batch)
        return batches[0] if pages == 1 else pa.concat_batches(batches)

    def _encode(self) -> tuple[Any, ...] | None:
        present = {window: stored for window, stored in self._runs().items() if stored}
        if not present:
            return None
        runs = [run for stored in present.values() for run in stored]
        rows, pages = sum(run[2] for run in runs), sum(run[1] for run in runs)
        return rows, pages, self._next, self._space.codec.encodeEntries(present)


def _page(number: int) -> bytes:
    return b"%x" % number


class PagedKeyedColumnTable(KeyedColumnTable, Paged):
    """The catalogue holds for each page how many rows it has, and when the first of them is due."""

    def flush(self) -> tuple[Any, ...] | None:
        if self._changed:
            catalogue = self._write()
            self._reset(self._catalogue if catalogue == self._catalogue else catalogue)
        elif self._opened is not None:
            self._reset(self._catalogue)
        return self._catalogue

    def open(self, hashes: Hashes) -> None:
        wanted = np.zeros(len(self._pages()), dtype=np.bool_)
        wanted[_page_numbers(hashes, len(wanted))] = True
        self._open(wanted)

    def openDue(self, until: int) -> None:
        self._open((self._pages() > 0) & (self._dues <= until))

    def rows(self) -> list[pa.RecordBatch]:
        return self._rows

    def replace(self, rows: Sequence[pa.RecordBatch]) -> None:
        self._changed = True
        self._rows[:] = [batch for batch in rows if batch.num_rows]

    def nextDue(self) -> int | None:
        times = [first_due(rows) for rows in self._rows]
        if self._catalogue is not None:
            stored = self._pages() > 0
            if self._opened is not None:
                stored &= ~self._opened
            times += self._dues[stored].tolist()
        return min(times, default=None)

    def __len__(self) -> int:
        if self._opened is None:
            return 0 if self._catalogue is None else int(self._catalogue[0])
        opened: int = sum(rows.num_rows for rows in self._rows)
        return opened + int(self._counts[~self._opened].sum())

    def _reset(self, catalogue: tuple[Any, ...] | None) -> None:
        self._catalogue = catalogue
        self._counts: NDArray[np.int64] = _NO_PAGES
        self._dues: NDArray[np.int64] = _NO_PAGES
        self._opened: NDArray[np.bool_] | None = None
        self._rows: list[pa.RecordBatch] = []
        self._changed = False

    def _pages(self) -> NDArray[np.int64]:
        """The number of rows of each page, decoded at the first call."""
        if not len(self._counts):
            if self._catalogue is None:
                self._counts, self._dues = _no_rows(1)
            else:
                _, _, counts, dues = self._catalogue
                self._counts = np.frombuffer(counts, dtype=np.int64)
                self._dues = np.frombuffer(dues, dtype=np.int64)
        return self._counts

    def _open(self, wanted: NDArray[np.bool_]) -> None:
        if self._opened is None:
            self._opened = np.zeros(len(self._pages()), dtype=np.bool_)
        new = wanted & ~self._opened
        self._opened |= wanted
        numbers = np.flatnonzero(new & (self._counts > 0)).tolist()
        if numbers:
            read = chain.from_iterable(map(self._read, numbers))
            self._rows = _joined_by_schema(chain(self._rows, read))

    def _read(self, number: int) -> Iterator[pa.RecordBatch]:
        (batches,) = self._space.codec.decode(self._space.read(b"%x" % number))
        return (RowColumns.ofBytes(data).batch for data in batches)

    def _write(self) -> tuple[Any, ...] | None:
        """Write the opened rows, in more or fewer pages if necessary, and return the catalogue."""
        size, before = len(self), len(self._pages())
        pages = before
        while size > pages * KEYED_ROWS_A_PAGE * 2:
            pages *= 2
        while pages > 1 and size * 8 < pages * KEYED_ROWS_A_PAGE:
            pages //= 2
        counts, dues = _no_rows(pages)
        if pages != before:
            self._open(np.ones(before, dtype=np.bool_))
        assert self._opened is not None
        if pages == before:
            counts[~self._opened] = self._counts[~self._opened]
            dues[~self._opened] = self._dues[~self._opened]
        contents: dict[int, list[bytes]] = {}
        for batch in self._rows:
            for number, part in _by_page(batch, pages):
                contents.setdefault(number, []).append(RowColumns(part).toBytes())
                counts[number] += part.num_rows
                dues[number] = min(dues[number], first_due(part))
        for number, batches in contents.items():
            self._space.write(b"%x" % number, self._space.codec.encode(_SECTIONS, (batches,)))
        for number in np.flatnonzero(self._opened & (self._counts > 0)).tolist():
            if number not in contents:
                self._space.remove(b"%x" % number)
        if not size:
            return None
        return size, len(np.flatnonzero(counts)), counts.tobytes(), dues.tobytes()


_NO_PAGES = np.zeros(0, dtype=np.int64)


def _no_rows(pages: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of rows, and the due times, of ``pages`` empty pages."""
    return np.zeros(pages, dtype=np.int64), np.full(pages, MAX_TIMESTAMP, dtype=np.int64)


def _by_page(rows: pa.RecordBatch, pages: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The part of ``rows`` that belongs to each page."""
    if pages == 1:
        yield 0, rows
        return
    numbers = _page_numbers(rows.column(HASH).to_numpy(), pages)
    order = np.argsort(numbers, kind="stable")
    rows = rows.take(pa.array(order))
    present, begins = np.unique(numbers[order], return_index=True)
    for number, (begin, end) in zip(present.tolist(), pairwise([*begins.tolist(), len(order)])):
        yield number, rows.slice(begin, end - begin)


def _page_numbers(hashes: Hashes, pages: int) -> NDArray[np.uint32]:
    return mixed(hashes) & np.uint32(pages - 1)


def _joined_by_schema(batches: Iterable[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """``batches``, with those of one schema joined into one."""
    found: list[list[pa.RecordBatch]] = []
    for batch in batches:
        for same in found:
            if same[0].schema.equals(batch.schema, check_metadata=True):
                same.append(batch)
                break
        else:
            found.append([batch])
    return [same[0] if len(same) == 1 else pa.concat_batches(same) for same in found]
