"""The log of timer registrations and deletions, in columns.

A record says what one batch did to one timer. Records are ordered by timestamp, then by a sequence
number that grows with each batch. Replaying all records of a timestamp in that order yields its
pending timers, in the order of their registration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

REGISTERED = 1
"""The timer is registered, unless it is already."""
DELETED = 2
"""Before that, a timer registered by earlier records is deleted."""
FRESH = 4
"""The batch registered the timer first, so there was probably no earlier one to delete."""

NEW = REGISTERED | FRESH
_WEIGHTS = np.array([0, 1, -1, 0, 0, 1, 0, 1], dtype=np.int64)

SECTIONS = ("timestamps", "sequences", "codes", "keys", "namespaces")
"""The sections of a page of records."""

Codes: TypeAlias = NDArray[np.uint8]
Numbers: TypeAlias = NDArray[np.int64]


@dataclass(eq=False, slots=True)
class TimerRecords:
    """A run of records."""

    timestamps: Numbers
    sequences: Numbers
    codes: Codes
    keys: Sequence[Any]
    namespaces: Sequence[Any]

    def __len__(self) -> int:
        return len(self.keys)

    def slice(self, start: int, stop: int) -> TimerRecords:
        return TimerRecords(
            self.timestamps[start:stop],
            self.sequences[start:stop],
            self.codes[start:stop],
            self.keys[start:stop],
            self.namespaces[start:stop],
        )

    def take(self, indices: NDArray[np.intp]) -> TimerRecords:
        order: list[int] = indices.tolist()
        keys, namespaces = self.keys, self.namespaces
        return TimerRecords(
            self.timestamps[indices],
            self.sequences[indices],
            self.codes[indices],
            [keys[i] for i in order],
            [namespaces[i] for i in order],
        )

    def encoded(self) -> tuple[Any, ...]:
        """The sections of a page."""
        # Most pages were written by one batch and have only registrations
        first = int(self.sequences[0])
        successive = bool((np.diff(self.sequences) == 1).all())
        same = bool((self.codes == self.codes[0]).all())
        # Pickle stores the same object once, but equal objects each
        one: dict[Any, Any] = {}
        namespaces = [one.setdefault(namespace, namespace) for namespace in self.namespaces]
        return (
            self.timestamps.tobytes(),
            first if successive else self.sequences.tobytes(),
            int(self.codes[0]) if same else self.codes.tobytes(),
            list(self.keys),
            None if len(one) == 1 and None in one else namespaces,
        )


class TimerRun:
    """The records of a page that was read, and how many of them have been taken."""

    __slots__ = ("_records", "_start")

    def __init__(self, records: TimerRecords) -> None:
        self._records = records
        self._start = 0

    def first(self) -> int:
        """The first timestamp left; 2**63, which is later than any, if none is left."""
        if self._start == len(self._records):
            return 2**63
        return int(self._records.timestamps[self._start])

    def takeUpTo(self, timestamp: int) -> TimerRecords:
        start = self._start
        self._start = int(np.searchsorted(self._records.timestamps, timestamp, side="right"))
        return self._records.slice(start, self._start)

    def rest(self) -> TimerRecords:
        return self._records.slice(self._start, len(self._records))

    def codes(self) -> Codes:
        return self._records.codes[self._start :]


def timers_of(codes: Codes) -> int:
    """An estimate of how many pending timers records with ``codes`` add."""
    return int(_WEIGHTS[codes].sum())


def decoded(page: Sequence[Any]) -> TimerRecords:
    """The records of a page, from its sections."""
    timestamps, sequences, codes, keys, namespaces = page
    number = len(keys)
    return TimerRecords(
        np.frombuffer(timestamps, dtype=np.int64),
        np.arange(sequences, sequences + number, dtype=np.int64)
        if type(sequences) is int
        else np.frombuffer(sequences, dtype=np.int64),
        np.full(number, codes, dtype=np.uint8)
        if type(codes) is int
        else np.frombuffer(codes, dtype=np.uint8),
        keys,
        [None] * number if namespaces is None else namespaces,
    )


def merged(runs: Sequence[TimerRecords]) -> TimerRecords:
    """All records of ``runs``, in order."""
    if len(runs) == 1:
        return runs[0]
    together = TimerRecords(
        np.concatenate([run.timestamps for run in runs]),
        np.concatenate([run.sequences for run in runs]),
        np.concatenate([run.codes for run in runs]),
        list(chain.from_iterable(run.keys for run in runs)),
        list(chain.from_iterable(run.namespaces for run in runs)),
    )
    return together.take(np.lexsort((together.sequences, together.timestamps)))


def settled(records: TimerRecords, complete: NDArray[np.bool_], distinct: bool) -> TimerRecords:
    """The records without those that later records undo. ``complete``: for each record whether all
    records of its timestamp are here; the others are kept. ``distinct``: no two records are of the
    same timer."""
    registered = (records.codes & REGISTERED).astype(np.bool_)
    kept = registered | ~complete
    if not distinct:
        same = records.timestamps[1:] == records.timestamps[:-1]
        shared = np.zeros(len(records), dtype=np.bool_)
        shared[1:] |= same
        shared[:-1] |= same
        shared &= complete
        kept &= ~shared
        kept[_replayed(records, np.flatnonzero(shared).tolist())] = True
    records = replace(records, codes=np.where(complete, np.uint8(NEW), records.codes))
    return records if kept.all() else records.take(np.flatnonzero(kept))


def _replayed(records: TimerRecords, indices: list[int]) -> list[int]:
    """The indices, among ``indices``, of records that registered a timer which is still pending."""
    timestamps: list[int] = records.timestamps.tolist()
    codes: list[int] = records.codes.tolist()
    keys, namespaces = records.keys, records.namespaces
    pending: dict[tuple[int, Any, Any], int] = {}
    for i in indices:
        timer = (timestamps[i], keys[i], namespaces[i])
        if codes[i] & DELETED:
            pending.pop(timer, None)
        if codes[i] & REGISTERED:
            pending.setdefault(timer, i)
    return list(pending.values())
