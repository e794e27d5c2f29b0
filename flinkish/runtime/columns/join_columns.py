"""``JoinColumns``: the elements of one side of an interval join as columns.

All elements of a run are joined with the same stored elements of the other side. So if both are
columns, the other side is sorted by key and time once for the run, and two binary searches for each
element of the run find its first and last partner. Only elements with a partner become Python
objects. A row of the table has the hash of the key, the time at which the element can be removed,
its timestamp, and its columns.

Pairs have the same order as element by element: that of the run, then of the partners' timestamps,
then of the partners' arrival.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.runtime.columns.element_runs import elements_of, key_column, keyed_run
from flinkish.runtime.records.keys import encoded_keys
from flinkish.runtime.records.records import Hashes, Records, Timestamps
from flinkish.runtime.records.rows import (
    RowColumns,
    concatenated,
    grouped,
    python_values,
    tuple_shape_of,
    tuples,
)
from flinkish.runtime.state.backend import DUE, KeyedColumnTable

_TIME, _ELEMENT = 2, 3
_NAMES = ("hash", "due", "time")

FARTHEST = 2**60
"""Sums and differences of timestamps and bounds up to this fit into 64 bits."""

PAIRS_AT_ONCE = 1 << 16

MOST_PLACES = 2**62
"""The most combinations of a key and a time that are numbered."""

Codes = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class JoinRun:
    """The elements of a run of one side as columns; created with at least one."""

    elements: pa.RecordBatch
    keys: pa.DictionaryArray
    timestamps: Timestamps
    hashes: Hashes

    @classmethod
    def of(cls, records: Records) -> JoinRun | None:
        """The run of ``records``; None if they are not columns, or cannot be stored as such."""
        values, hashes, timestamps = records.values, records.hashes, records.timestamps
        if not isinstance(values, RowColumns) or values.nested or hashes is None:
            return None
        if timestamps.min() < -FARTHEST or timestamps.max() > FARTHEST:
            return None
        keys = encoded_keys(records)
        distinct = None if keys is None else _comparable(keys.dictionary)
        if keys is None or distinct is None:
            return None
        encoded = pa.DictionaryArray.from_arrays(keys.indices, distinct)
        return cls(keyed_run(records), encoded, timestamps, hashes)

    def __len__(self) -> int:
        return len(self.timestamps)

    def kept(self, mask: Mask) -> JoinRun:
        """The elements for which ``mask`` is true."""
        chosen = pa.array(mask)
        return JoinRun(
            self.elements.filter(chosen),
            self.keys.filter(chosen),
            self.timestamps[mask],
            self.hashes[mask],
        )


@dataclass(frozen=True)
class Pairs:
    """Pairs of an element of a run and a stored element of the other side, by their positions."""

    run: JoinRun
    rows: pa.RecordBatch
    own: Codes
    others: Codes

    @property
    def ownTimes(self) -> Timestamps:
        """The timestamp of the element of the run, for each pair."""
        return self.run.timestamps[self.own]

    @property
    def otherTimes(self) -> Timestamps:
        """The timestamp of the element of the other side, for each pair."""
        return _times(self.rows)[self.others]

    def columns(self) -> tuple[RowColumns, RowColumns]:
        """The elements of the run and those of the other side, for each pair."""
        own, others = self.run.elements, _elements(self.rows)
        return _taken(own, self.own), _taken(others, self.others)

    def singly(self) -> Iterator[tuple[Any, Any, int, Any, int]]:
        """Each pair as (key, element of the run, its timestamp, stored element, its timestamp). An
        element in several pairs is the same object in each."""
        return zip(
            python_values(self.run.keys.take(pa.array(self.own))),
            _objects(self.run.elements, self.own),
            self.ownTimes.tolist(),
            _objects(_elements(self.rows), self.others),
            self.otherTimes.tolist(),
        )


class JoinColumns:
    """One side. ``lower`` and ``upper``: the bounds of a partner's timestamp, in ms, relative to an
    element of this side."""

    def __init__(self, table: KeyedColumnTable, lower: int, upper: int) -> None:
        self._table = table
        self.lower = lower
        self.upper = upper

    def __len__(self) -> int:
        return len(self._table)

    def nextDue(self) -> int | None:
        """The watermark at which the first elements can be removed, None if there are none."""
        return self._table.nextDue()

    def add(self, run: JoinRun) -> None:
        """Store the elements of a run."""
        dues = self._dues(run.timestamps)
        arrays = [*map(pa.array, (run.hashes, dues, run.timestamps)), *run.elements.columns]
        fields = [(name, array.type) for name, array in zip(_NAMES, arrays)]
        fields += [(field.name, field.type) for field in run.elements.schema]
        schema = pa.schema(fields, metadata=run.elements.schema.metadata)
        rows = pa.RecordBatch.from_arrays(arrays, schema=schema)
        self._table.open(run.hashes)
        self._table.replace([*self._table.rows(), rows])

    def rearrange(self) -> None:
        """Recompute when the stored elements expire, as the job's bounds have changed."""
        self._table.openDue(MAX_TIMESTAMP)
        rows = self._table.rows()
        dues = [pa.array(self._dues(_times(batch))) for batch in rows]
        self._table.replace(
            [batch.set_column(DUE, _NAMES[DUE], due) for batch, due in zip(rows, dues)]
        )

    def _dues(self, timestamps: Timestamps) -> Timestamps:
        """The times at which elements at ``timestamps`` can be removed."""
        after = max(self.upper, 0)
        dues: Timestamps = np.minimum(timestamps, MAX_TIMESTAMP - after) + after
        return dues

    def stored(self, run: JoinRun) -> pa.RecordBatch | None:
        """The stored rows, among them all with the hashes of ``run``, a run of the other side. None
        if the rows do not all have one schema, or their keys have another type than those of
        ``run``."""
        self._table.open(run.hashes)
        batches = self._table.rows()
        if not batches:
            return _NO_ROWS
        first = batches[0].schema
        if not all(batch.schema.equals(first, check_metadata=True) for batch in batches[1:]):
            return None
        if len(batches) > 1:
            self._table.replace([concatenated(batches)])
        (rows,) = self._table.rows()
        keys = _comparable(_keys_of(rows))
        return rows if keys is not None and keys.type == run.keys.dictionary.type else None

    def expire(self, watermark: int) -> None:
        """Remove the elements that can have no further partner."""
        due = self._table.nextDue()
        if due is None or due > watermark:
            return
        self._table.openDue(watermark)
        rows = self._table.rows()
        kept = [pa.array(batch.column(DUE).to_numpy() > watermark) for batch in rows]
        self._table.replace([batch.filter(mask) for batch, mask in zip(rows, kept)])

    def taken(self, keys: Set[Any], hashes: Hashes) -> Iterator[tuple[Any, int, Any]]:
        """Remove all elements of ``keys``, which have the hashes ``hashes``, and give them as (key,
        timestamp, element) in the order of their arrival."""
        self._table.open(hashes)
        found, kept = [], []
        for batch in self._table.rows():
            mask = np.array([key in keys for key in python_values(_keys_of(batch))], dtype=np.bool_)
            found.append(batch.filter(pa.array(mask)))
            kept.append(batch.filter(pa.array(~mask)))
        if any(batch.num_rows for batch in found):
            self._table.replace(kept)
        for batch in found:
            objects = elements_of(_elements(batch)).rows()
            yield from zip(python_values(_keys_of(batch)), _times(batch).tolist(), objects)


def pairs_of(run: JoinRun, own: JoinColumns, rows: pa.RecordBatch) -> Iterator[Pairs]:
    """The pairs of ``run``, of the side ``own``, with ``rows``, the ``stored`` rows of the other
    side."""
    if not rows.num_rows or not len(run):
        return
    stored, times = rows.num_rows, _times(rows)
    keys = _comparable(_keys_of(rows))
    codes, _ = grouped(pa.concat_arrays([keys, run.keys.dictionary]))
    codes = np.concatenate([codes[:stored], codes[stored:][run.keys.indices.to_numpy()]])
    firsts, lasts = run.timestamps + own.lower, run.timestamps + own.upper
    origin = min(int(times.min()), int(firsts.min()))
    length = max(int(times.max()), int(lasts.max())) - origin + 1
    order, begins, ends = _searched(codes, stored, times, firsts, lasts, origin, length)
    counts = ends - begins
    reached = np.cumsum(counts)
    start = 0
    while start < len(run):
        before = int(reached[start - 1]) if start else 0
        end = max(int(np.searchsorted(reached, before + PAIRS_AT_ONCE, "right")), start + 1)
        part = slice(start, end)
        if int(reached[end - 1]) > before:
            yield _pairs(run, rows, order, part, begins[part], counts[part])
        start = end


def _searched(
    codes: Codes,
    stored: int,
    times: Timestamps,
    firsts: Timestamps,
    lasts: Timestamps,
    origin: int,
    length: int,
) -> tuple[Codes, Codes, Codes]:
    """The positions of the stored rows by key and time, and for each element of the run the begin
    and the end, in that order, of the rows that lie from its ``firsts`` to its ``lasts``."""
    if length * (int(codes.max()) + 1) > MOST_PLACES:
        # 64 bits cannot number every key with every time: number only the times that occur
        known = np.unique(times)
        length = len(known) + 1
        times = np.searchsorted(known, times)
        firsts = np.searchsorted(known, firsts, "left")
        lasts = np.searchsorted(known, lasts, "right") - 1
        origin = 0
    offsets = codes * length - origin
    places = times + offsets[:stored]
    order = np.argsort(places, kind="stable")
    places = places[order]
    begins = np.searchsorted(places, firsts + offsets[stored:], "left")
    ends = np.searchsorted(places, lasts + offsets[stored:], "right")
    # Two exclusive bounds may leave nothing between them
    return order, begins, np.maximum(ends, begins)


def _pairs(
    run: JoinRun, rows: pa.RecordBatch, order: Codes, part: slice, begins: Codes, counts: Codes
) -> Pairs:
    own = np.repeat(np.arange(part.start, part.stop), counts)
    within = np.arange(len(own)) - np.repeat(np.cumsum(counts) - counts, counts)
    return Pairs(run, rows, own, order[np.repeat(begins, counts) + within])


def _objects(elements: pa.RecordBatch, positions: Codes) -> list[Any]:
    """The objects of the elements at ``positions``, one for each element."""
    distinct, index = np.unique(positions, return_inverse=True)
    return list(map(_taken(elements, distinct).rows().__getitem__, index.tolist()))


def _taken(elements: pa.RecordBatch, positions: Codes) -> RowColumns:
    return elements_of(elements.take(pa.array(positions)))


def _elements(rows: pa.RecordBatch) -> pa.RecordBatch:
    return rows.select(list(range(_ELEMENT, rows.num_columns)))


def _times(rows: pa.RecordBatch) -> Timestamps:
    times: Timestamps = rows.column(_TIME).to_numpy()
    return times


def _keys_of(rows: pa.RecordBatch) -> pa.Array:
    return rows.column(_ELEMENT + key_column(rows))


def _comparable(keys: pa.Array) -> pa.Array | None:
    """``keys`` in a type in which Arrow's equality is Python's; None if there is no such type."""
    kind = keys.type
    if tuple_shape_of(kind) is not None:
        parts = list(map(_comparable, keys.flatten()))
        return None if any(part is None for part in parts) else tuples(parts)
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return keys.cast(pa.int64())
    return keys if pa.types.is_string(kind) or pa.types.is_boolean(kind) else None


_NO_ROWS = pa.RecordBatch.from_pydict({})
