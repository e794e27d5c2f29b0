"""Runs of records: the unit in which operators hand elements on.

Between two watermarks nothing depends on one element more than on another, so elements travel as
columns: the values, their timestamps, and for keyed operators the keys with their stable hashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flinkish.api.time.elements import MIN_TIMESTAMP
from flinkish.runtime.records.copies import all_immutable, copied_values, is_plain

NO_TIMESTAMP = MIN_TIMESTAMP
"""The timestamp of a record that has none, as in Flink."""


Timestamps = NDArray[np.int64]


Hashes = NDArray[np.uint32]


class Records:
    """A run of records. ``keys`` and ``hashes`` are there on the way to a keyed operator.

    Who is handed a run has it for itself: nobody else holds a value of it that can change.
    """

    __slots__ = ("_immutable", "_plain", "hashes", "keys", "timestamps", "values")

    def __init__(
        self,
        values: Sequence[Any],
        timestamps: Timestamps,
        keys: Sequence[Any] | None = None,
        hashes: Hashes | None = None,
    ) -> None:
        self.values = values
        self.timestamps = timestamps
        self.keys = keys
        self.hashes = hashes
        self._immutable: bool | None = None
        self._plain: bool | None = None

    @property
    def immutable(self) -> bool:
        """Whether nothing about the values can change."""
        if self._immutable is None:
            self._immutable = all_immutable(self.values)
        return self._immutable

    @property
    def plain(self) -> bool:
        """Whether the values are plain data, which runs no code of a user's."""
        if self._plain is None:
            self._plain = is_plain(self.values)
        return self._plain

    def mapped(self, results: Sequence[Any], plain: bool = False) -> Records:
        """Results in place of the values; ``plain``: they were made of plain values alone."""
        records = Records(results, self.timestamps)
        records._plain = plain or None
        return records

    def timed(self, timestamps: Timestamps) -> Records:
        """The same values with other timestamps, and no keys."""
        return self._known(Records(self.values, timestamps))

    def kept(self, kept: NDArray[np.bool_]) -> Records:
        """The records for which ``kept`` is true, and no keys."""
        return self._known(Records(list(compress(self.values, kept)), self.timestamps[kept]))

    def _known(self, part: Records) -> Records:
        """``part``, of whose values is known what is known of these."""
        part._immutable, part._plain = self._immutable or None, self._plain or None
        return part

    def copied(self) -> Records:
        """The same records with copies of the values that can change."""
        if self.immutable:
            return self
        return Records(copied_values(self.values), self.timestamps, self.keys, self.hashes)

    def __len__(self) -> int:
        return len(self.values)

    def slice(self, start: int, end: int) -> Records:
        """The records from ``start`` to before ``end``."""
        if start == 0 and end == len(self):
            return self
        return self._known(
            Records(
                self.values[start:end],
                self.timestamps[start:end],
                None if self.keys is None else self.keys[start:end],
                None if self.hashes is None else self.hashes[start:end],
            )
        )


def timestamps_of(timestamps: Sequence[int]) -> Timestamps:
    """Timestamps as the column they travel in."""
    return np.array(timestamps, dtype=np.int64)


def no_timestamps(count: int) -> Timestamps:
    """The column of ``count`` records that have none."""
    return np.full(count, NO_TIMESTAMP, dtype=np.int64)


def untimed(values: Sequence[Any]) -> Records:
    """A run of records without timestamps."""
    return Records(values, no_timestamps(len(values)))


def visible_timestamp(timestamp: int) -> int | None:
    """A timestamp as a user sees it: None where there is none."""
    return None if timestamp == NO_TIMESTAMP else timestamp
