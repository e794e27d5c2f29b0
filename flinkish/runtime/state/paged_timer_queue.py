"""``PagedTimerQueue``: timers as a log in pages, so that registering and deleting read nothing.

Each batch appends its registrations and deletions as sorted pages of records. A record says what
the batch did to one timer. Records are ordered by timestamp, then by a sequence number that grows
with each batch: replaying all records of a timestamp in that order yields its pending timers, in
the order of their registration.

The catalogue holds the range of timestamps of each page. When the time reaches t, the pages that
begin at or before t are read and replayed, and their records after t are merged and rewritten. So a
page is not read before its first timer is due, with one exception: if more than
``MOST_SMALL_PAGES`` small pages have accumulated, or all timers have been deleted, the small pages
are read and merged early, which costs about one read for each batch.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import chain, pairwise, repeat
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flinkish.runtime.state.backend import Timer, TimerQueue
from flinkish.runtime.state.page_store import Paged

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

PAGE_TIMERS = 2_000
SMALL_PAGE = 1_000
MOST_SMALL_PAGES = 64

_NEVER = 2**63
"""Later than every timestamp; its negative is earlier than every one."""

_Due: TypeAlias = OrderedDict[tuple[Any, Any], None]


class TimerPage(NamedTuple):
    """The entry of a page in the catalogue."""

    first: int
    last: int
    number: int
    records: int
    timers: int


_PACKED = np.dtype(
    [("first", "<i8"), ("last", "<i8"), ("number", "<i4"), ("records", "<i4"), ("timers", "<i4")]
)


class PagedTimerQueue(TimerQueue, Paged):
    """A timer queue in pages, exact up to the *horizon*.

    Timers at or before the horizon are in memory. Later ones are in three places: pages not read
    yet, the rest of pages already read, and the log of this batch. Polling moves the horizon.

    ``nextTimestamp`` may be that of a timer deleted in the meantime. ``len`` is an estimate: it
    assumes that every registered timer is new and every deleted timer was registered; merging pages
    corrects it.
    """

    def flush(self) -> tuple[Any, ...] | None:
        if self._due or self._log or self._read:
            unread = self._unread_pages()
            self._read_small_pages(unread)
            runs = [run.rest() for run in self._runs]
            records = merged([*runs, self._new_records()])
            complete = _complete(records.timestamps, unread)
            written = self._write(settled(records, complete, distinct=not runs))
            self._reset(self._encode(sorted(unread + written)))
        return self._catalogue

    def add(self, timestamp: int, key: Any, namespace: Any) -> None:
        if timestamp <= self._horizon:
            timers = self._due.get(timestamp)
            if timers is None:
                timers = self._new_due(timestamp)
            timers[key, namespace] = None  # a registered timer keeps its place
            return
        log = self._log_at(timestamp)
        timer = key, namespace
        code = log.get(timer)
        if code is None:
            log[timer] = NEW
        elif not code & REGISTERED:
            del log[timer]  # so that it comes last
            log[timer] = code | REGISTERED

    def remove(self, timestamp: int, key: Any, namespace: Any) -> None:
        timer = key, namespace
        if timestamp <= self._horizon:
            timers = self._due.get(timestamp)
            if timers is not None:
                timers.pop(timer, None)
            return
        log = self._log_at(timestamp)
        log[timer] = log.get(timer, 0) & FRESH | DELETED

    def pollDue(self, until: int) -> Timer | None:
        times = self._due_times
        while True:
            while times and times[0] <= until:
                timers = self._due[times[0]]
                if timers:
                    (key, namespace), _ = timers.popitem(last=False)
                    return Timer(times[0], key, namespace)
                del self._due[heappop(times)]
            if until <= self._horizon:
                return None
            self._advance(until)

    def nextTimestamp(self) -> int | None:
        times = self._due_times
        while times and not self._due[times[0]]:
            del self._due[heappop(times)]
        first = min(
            times[0] if times else _NEVER,
            self._log_times[0] if self._log_times else _NEVER,
            self._first_unread(),
            *[run.first() for run in self._runs],
        )
        return None if first == _NEVER else first

    def __len__(self) -> int:
        if self._unread is None:
            stored = 0 if self._catalogue is None else self._catalogue[0]
        else:
            stored = sum(page.timers for page in self._unread)
        codes = chain.from_iterable(log.values() for log in self._log.values())
        logged = timers_of(np.fromiter(codes, dtype=np.uint8))
        read = sum(timers_of(run.codes()) for run in self._runs)
        return max(0, stored + read + logged + sum(map(len, self._due.values())))

    def _reset(self, catalogue: tuple[Any, ...] | None) -> None:
        self._catalogue = catalogue
        # Without pages all timers are in memory
        self._horizon = _NEVER if catalogue is None else -_NEVER - 1
        _, _, _, self._next_number, self._sequence, _ = catalogue or (0, 0, 0, 0, 0, b"")
        self._unread: list[TimerPage] | None = None
        self._read: list[int] = []
        self._runs: list[TimerRun] = []
        self._due: dict[int, _Due] = {}
        self._due_times: list[int] = []
        self._log: dict[int, dict[tuple[Any, Any], int]] = {}
        self._log_times: list[int] = []

    def _new_due(self, timestamp: int) -> _Due:
        timers: _Due = OrderedDict()
        self._due[timestamp] = timers
        heappush(self._due_times, timestamp)
        return timers

    def _log_at(self, timestamp: int) -> dict[tuple[Any, Any], int]:
        log = self._log.get(timestamp)
        if log is None:
            log = self._log[timestamp] = {}
            heappush(self._log_times, timestamp)
        return log

    def _first_unread(self) -> int:
        if self._unread is None:
            return _NEVER if self._catalogue is None else int(self._catalogue[2])
        return self._unread[0].first if self._unread else _NEVER

    def _unread_pages(self) -> list[TimerPage]:
        """The pages not read yet, ordered by their first timestamp."""
        if self._unread is None:
            packed = b"" if self._catalogue is None else self._catalogue[5]
            self._unread = list(map(TimerPage._make, np.frombuffer(packed, _PACKED).tolist()))
        return self._unread

    def _read_page(self, page: TimerPage) -> None:
        self._read.append(page.number)
        self._runs.append(
            TimerRun(decoded(self._space.codec.decode(self._space.read(b"%x" % page.number))))
        )

    def _advance(self, until: int) -> None:
        """Move the horizon towards ``until``, but not past the end of the first page: if many pages
        are due at once, only those that overlap are in memory together."""
        target = until
        if self._first_unread() <= until:
            unread = self._unread_pages()
            target = min(until, unread[0].last)
            due = bisect_right(unread, target, key=attrgetter("first"))
            for page in unread[:due]:
                self._read_page(page)
            del unread[:due]
        runs = [run.takeUpTo(target) for run in self._runs if run.first() <= target]
        if runs:
            self._runs = [run for run in self._runs if run.first() != _NEVER]
            self._replay(merged(runs))
        while self._log_times and self._log_times[0] <= target:
            timestamp = heappop(self._log_times)
            self._replay_log(timestamp, self._log.pop(timestamp))
        self._horizon = target

    def _replay(self, records: TimerRecords) -> None:
        codes: list[int] = records.codes.tolist()
        timestamps: list[int] = records.timestamps.tolist()
        for timestamp, code, key, namespace in zip(
            timestamps, codes, records.keys, records.namespaces
        ):
            timers = self._due.get(timestamp)
            if timers is None:
                timers = self._new_due(timestamp)
            if code & DELETED:
                timers.pop((key, namespace), None)
            if code & REGISTERED:
                timers[key, namespace] = None

    def _replay_log(self, timestamp: int, log: dict[tuple[Any, Any], int]) -> None:
        timers = self._due.get(timestamp)
        if timers is None:
            timers = self._new_due(timestamp)
        else:
            for timer in [timer for timer, code in log.items() if code & DELETED]:
                timers.pop(timer, None)
        timers.update(dict.fromkeys([timer for timer, code in log.items() if code & REGISTERED]))

    def _read_small_pages(self, unread: list[TimerPage]) -> None:
        small = [page for page in unread if page.records < SMALL_PAGE]
        if len(small) > MOST_SMALL_PAGES or not len(self):
            for page in small:
                self._read_page(page)
            unread[:] = [page for page in unread if page.records >= SMALL_PAGE]

    def _new_records(self) -> TimerRecords:
        """The log of this batch, and the timers at or before the horizon that were not polled."""
        due = sorted(self._due.items(), key=itemgetter(0))
        log = sorted(self._log.items(), key=itemgetter(0))  # all after the horizon
        sizes = [len(timers) for _, timers in due] + [len(timers) for _, timers in log]
        times = np.array([timestamp for timestamp, _ in chain(due, log)], dtype=np.int64)
        timestamps = np.repeat(times, sizes)
        codes = chain(
            repeat(NEW, sum(sizes[: len(due)])),
            chain.from_iterable(timers.values() for _, timers in log),
        )
        number = len(timestamps)
        sequences = np.arange(self._sequence, self._sequence + number, dtype=np.int64)
        self._sequence += number
        timers = [*chain.from_iterable(map(itemgetter(1), due))]
        timers += chain.from_iterable(map(itemgetter(1), log))
        return TimerRecords(
            timestamps,
            sequences,
            np.fromiter(codes, dtype=np.uint8, count=number),
            [key for key, _ in timers],
            [namespace for _, namespace in timers],
        )

    def _write(self, records: TimerRecords) -> list[TimerPage]:
        """Write the records as pages, reusing the numbers of the pages that were read."""
        pages = []
        number = -(-len(records) // PAGE_TIMERS)
        bounds = [len(records) * i // number for i in range(number + 1)] if number else [0]
        for start, stop in pairwise(bounds):
            part = records.slice(start, stop)
            if self._read:
                free = self._read.pop()
            else:
                free, self._next_number = self._next_number, self._next_number + 1
            self._space.write(b"%x" % free, self._space.codec.encode(SECTIONS, part.encoded()))
            first, last = int(part.timestamps[0]), int(part.timestamps[-1])
            pages.append(TimerPage(first, last, free, len(part), timers_of(part.codes)))
        for free in self._read:
            self._space.remove(b"%x" % free)
        return pages

    def _encode(self, pages: Sequence[TimerPage]) -> tuple[Any, ...] | None:
        if not pages:
            return None
        timers = sum(page.timers for page in pages)
        packed = np.array([tuple(page) for page in pages], dtype=_PACKED).tobytes()
        return timers, len(pages), pages[0].first, self._next_number, self._sequence, packed


def _complete(timestamps: Numbers, unread: Sequence[TimerPage]) -> NDArray[np.bool_]:
    """For each timestamp whether it is outside the ranges of all ``unread`` pages."""
    if not unread:
        return np.ones(len(timestamps), dtype=np.bool_)
    firsts = np.array([page.first for page in unread], dtype=np.int64)
    lasts = np.maximum.accumulate([page.last for page in unread], dtype=np.int64)
    begun = np.searchsorted(firsts, timestamps, side="right")
    complete: NDArray[np.bool_] = (begun == 0) | (lasts[begun - 1] < timestamps)
    return complete


# ---------------------------------------------------------------------- records


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


@dataclass(eq=False, slots=True)
class TimerRun:
    """The records of a page that was read, and how many of them have been taken."""

    _records: TimerRecords
    _start: int = 0

    def first(self) -> int:
        """The first timestamp left; ``_NEVER`` if none is left."""
        if self._start == len(self._records):
            return _NEVER
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
