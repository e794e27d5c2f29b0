"""``Records``: a run of elements between two watermarks, the unit that operators pass on.

Event time does not advance within a run, so an operator can process the run in one call, which
costs far less than a call for each element. A run is stored as columns: the values, their
timestamps, and on the way to a keyed operator the keys with their stable hashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flinkish.api.time.elements import MIN_TIMESTAMP
from flinkish.runtime.records.copies import all_immutable, copied_values, is_plain
from flinkish.runtime.records.rows import RowColumns

NO_TIMESTAMP = MIN_TIMESTAMP
"""The timestamp of a record that has none, as in Flink."""

Timestamps = NDArray[np.int64]

Hashes = NDArray[np.uint32]

Counts = NDArray[np.int64]

Numbers = Sequence[int] | NDArray[np.integer[Any]]
"""A number for each record of a run."""


@dataclass(eq=False, repr=False, slots=True)
class Records:
    """A run of records. ``keys`` and ``hashes`` are set on the way to a keyed operator, else None.

    ``counts`` is set if elements were folded before the shuffle: a value is then an accumulator,
    and its count says how many elements were folded into it.

    The receiver of a run owns it: no other reader has a reference to a mutable value in it.
    """

    values: Sequence[Any]
    timestamps: Timestamps
    keys: Sequence[Any] | None = None
    hashes: Hashes | None = None
    counts: Counts | None = None
    _immutable: bool | None = field(default=None, init=False)
    _plain: bool | None = field(default=None, init=False)
    _columns: tuple[Records, int] | None = field(default=None, init=False)
    """The column-wise run that contains these elements, and the position of the first."""

    @property
    def immutable(self) -> bool:
        if self._immutable is None:
            self._immutable = all_immutable(self.values)
        return self._immutable

    @property
    def plain(self) -> bool:
        """Whether the values are plain data, whose methods run no user code."""
        if self._plain is None:
            self._plain = is_plain(self.values)
        return self._plain

    @property
    def onlyNulls(self) -> bool:
        values = self.values
        if isinstance(values, RowColumns):
            return values.shape.kind is None and values.arrow(0).null_count == len(values)
        return not len(values) or (values[0] is None and all(value is None for value in values))

    def mapped(self, results: Sequence[Any], plain: bool = False) -> Records:
        """The records with ``results`` as values; ``plain``: computed from plain values only."""
        records = Records(results, self.timestamps)
        records._plain = plain or None
        return records

    def timed(self, timestamps: Timestamps) -> Records:
        """The same values with other timestamps, without keys."""
        return self._known(Records(self.values, timestamps))

    def flatMapped(self, results: Sequence[Sequence[Any]]) -> Records:
        """All ``results``, each with the timestamp of its record."""
        counts = np.fromiter(map(len, results), dtype=np.int64, count=len(results))
        return Records(list(chain.from_iterable(results)), np.repeat(self.timestamps, counts))

    def kept(self, kept: NDArray[np.bool_] | Sequence[bool]) -> Records:
        """The records for which ``kept`` is true, without keys."""
        kept = np.asarray(kept, dtype=bool)
        values = self.values
        if isinstance(values, RowColumns) and not values.mayDiffer:
            part: Sequence[Any] = values.kept(kept)
        else:
            part = list(compress(values, kept))
        return self._known(Records(part, self.timestamps[kept]))

    def _known(self, part: Records) -> Records:
        """``part``, a part of these records, with what is known about their values."""
        part._immutable, part._plain = self._immutable or None, self._plain or None
        return part

    def listed(self) -> Records:
        """The records with columns converted to lists of objects."""
        keys = None if self.keys is None else list(self.keys)
        listed = Records(list(self.values), self.timestamps, keys, self.hashes)
        listed._immutable, listed._plain = self.immutable, self.plain
        if isinstance(self.values, RowColumns) and not self.values.mayDiffer:
            listed._columns = self, 0
        return listed

    @property
    def unlisted(self) -> Records | None:
        """The same records as columns, of which ``listed`` made them; None if it did not."""
        if self._columns is None:
            return None
        records, start = self._columns
        return records.slice(start, start + len(self))

    def copied(self) -> Records:
        """The same records with copies of mutable values."""
        if self.immutable:
            return self
        return Records(copied_values(self.values), self.timestamps, self.keys, self.hashes)

    def __len__(self) -> int:
        return len(self.values)

    def slice(self, start: int, end: int) -> Records:
        if start == 0 and end == len(self):
            return self
        part = self._known(
            Records(
                self.values[start:end],
                self.timestamps[start:end],
                None if self.keys is None else self.keys[start:end],
                None if self.hashes is None else self.hashes[start:end],
                None if self.counts is None else self.counts[start:end],
            )
        )
        if self._columns is not None:
            part._columns = self._columns[0], self._columns[1] + start
        return part


def timestamps_of(timestamps: Sequence[int]) -> Timestamps:
    return np.array(timestamps, dtype=np.int64)


def no_timestamps(count: int) -> Timestamps:
    """The timestamps of ``count`` records that have none."""
    return np.full(count, NO_TIMESTAMP, dtype=np.int64)


def untimed(values: Sequence[Any]) -> Records:
    """A run of records without timestamps."""
    return Records(values, no_timestamps(len(values)))


def visible_timestamp(timestamp: int) -> int | None:
    """A timestamp as a user sees it: None for ``NO_TIMESTAMP``."""
    return None if timestamp == NO_TIMESTAMP else timestamp


NO_RECORDS = untimed([])
"""A run without records."""
