"""``PagedColumnTable``: aligned windows as runs of columns, each run in its own pages.

A batch appends one run to each window that it touches. Runs are merged as in a log-structured merge
tree: from the newest backwards, as long as the next older run has at most ``GROWTH`` times the rows
of all newer ones. So a window has few runs, a row is rewritten a number of times that grows with
the logarithm of the window's size, and a small batch does not rewrite a large window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.state.backend import ColumnMerge, ColumnTable, kind_of_run
from flinkish.runtime.state.page_store import Paged, PageSpace

GROWTH = 4

_SECTIONS = ("rows",)

ROWS_A_PAGE = 1 << 16

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
