"""Runs of records: the unit in which operators hand elements on.

Between two watermarks nothing depends on one element more than on another, so elements travel as
columns: the values, their timestamps, and for keyed operators the keys with their stable hashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flinkish.api.elements import MIN_TIMESTAMP

NO_TIMESTAMP = MIN_TIMESTAMP
"""The timestamp of a record that has none, as in Flink."""

Timestamps = NDArray[np.int64]
Hashes = NDArray[np.uint32]


class Records:
    """A run of records. ``keys`` and ``hashes`` are there on the way to a keyed operator."""

    __slots__ = ("hashes", "keys", "timestamps", "values")

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

    def __len__(self) -> int:
        return len(self.values)

    def slice(self, start: int, end: int) -> Records:
        """The records from ``start`` to before ``end``."""
        if start == 0 and end == len(self):
            return self
        return Records(
            self.values[start:end],
            self.timestamps[start:end],
            None if self.keys is None else self.keys[start:end],
            None if self.hashes is None else self.hashes[start:end],
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
