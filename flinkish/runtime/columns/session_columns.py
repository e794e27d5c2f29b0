"""``SessionColumns``: open sessions as columns, if the window's function allows it.

The elements of a run, sorted by key and time, form a session as long as no gap between two is
longer than the window's gap. Each is merged with the open sessions that it touches, and the
elements are folded as arrays, without a Python object for an element, a key or a session. An open
session is a row of a ``KeyedColumnTable``: its key, start and end, and the fields of its
accumulator.

The result has to equal that of ``MergingWindowSet``, element by element. If it depends on an order
that columns do not have, the key is deoptimized: the operator keeps its sessions one by one from
then on:

* A session gets an element behind the watermark. Whether it is late, or fires the session at once,
  depends on the elements before it.
* Two sessions merge, and the function's ``merge`` may differ from adding all elements to one
  accumulator: ``merge`` cannot be traced, or it keeps a first element or adds floats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.api.windowing.windows import TimeWindow
from flinkish.runtime.columns.panes import Positions
from flinkish.runtime.columns.tracing.column_fold import ColumnFold
from flinkish.runtime.records.keys import ColumnKeys
from flinkish.runtime.records.records import Hashes, Records, Timestamps
from flinkish.runtime.records.rows import RowColumns, concatenated, grouped, python_values
from flinkish.runtime.state.backend import DUE, KeyedColumnTable

_START, _END, _KEY, _FIELDS = 2, 3, 4, 5
_NAMES = ("hash", "due", "start", "end", "key")

FARTHEST = 2**61
"""Two numbers up to here can be added without leaving 64 bits."""

Mask = NDArray[np.bool_]
Times = NDArray[np.int64]
Codes = NDArray[np.intp]


@dataclass(frozen=True)
class OpenSession:
    """A session with its accumulator as a Python object."""

    key: Any
    window: TimeWindow
    accumulator: Any


class OpenSessions:
    """Open sessions, as rows of columns."""

    def __init__(self, rows: pa.RecordBatch, fold: ColumnFold) -> None:
        self.rows = rows
        self._fold = fold

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @property
    def starts(self) -> Times:
        return self._numbers(_START)

    @property
    def ends(self) -> Times:
        return self._numbers(_END)

    @property
    def keys(self) -> pa.Array:
        return self.rows.column(_KEY)

    @property
    def accumulators(self) -> pa.RecordBatch:
        """The columns of the accumulators."""
        return self.rows.select(list(range(_FIELDS, self.rows.num_columns)))

    def at(self, positions: Positions) -> OpenSessions:
        """The sessions at ``positions``, in that order."""
        return OpenSessions(self.rows.take(pa.array(positions)), self._fold)

    def where(self, mask: Mask) -> OpenSessions:
        """The sessions for which ``mask`` is true."""
        return OpenSessions(self.rows.filter(pa.array(mask)), self._fold)

    def results(self) -> RowColumns | None:
        """The function's results as columns; None if the function has to be called for each
        session."""
        return self._fold.results(self.accumulators)

    def singly(self) -> Iterator[OpenSession]:
        """Each session with its accumulator."""
        accumulators = self._fold.accumulators(self.accumulators)
        for key, start, end, accumulator in zip(
            python_values(self.keys), self.starts.tolist(), self.ends.tolist(), accumulators
        ):
            yield OpenSession(key, TimeWindow(start, end), accumulator)

    def _numbers(self, column: int) -> Times:
        numbers: Times = self.rows.column(column).to_numpy()
        return numbers


@dataclass(frozen=True)
class Added:
    """The result of ``SessionColumns.add`` for the elements of a run."""

    left: Positions
    """Elements that were not added: their keys' sessions are, or are to be, kept one by one."""
    apart: set[Any]
    """Keys whose sessions are to be kept one by one from now on."""
    late: Positions
    """Other elements that were not added: they are late."""
    timers: int
    """By how much the number of timers for sessions grows."""


@dataclass(frozen=True)
class Due:
    """The sessions that a watermark has reached."""

    firing: list[OpenSessions]
    """The sessions that fire, in their order, apart by schema."""
    timers: int
    """The number of timers that those sessions, and the expired ones, have used up."""


class SessionColumns:
    """The open sessions of a key group that are columns; a session ends ``gap`` ms after its last
    element."""

    def __init__(
        self, table: KeyedColumnTable, fold: ColumnFold, gap: int, allowedLateness: int
    ) -> None:
        self._table = table
        self._fold = fold
        self._gap = gap
        self._lateness = allowedLateness

    def __len__(self) -> int:
        return len(self._table)

    def nextDue(self) -> int | None:
        """The time at which the first session fires or expires; None if there is none."""
        return self._table.nextDue()

    # ------------------------------------------------------------------ elements

    def add(
        self, records: Records, watermarks: Times, isApart: Callable[[Any], bool] | None
    ) -> Added | None:
        """Add the elements of a run. None, with nothing added, if the run cannot be vectorised.
        ``watermarks``: the watermark before each element. ``isApart``: whether the sessions of a key
        are kept one by one; None: no key's are.
        """
        values, keys, hashes = records.values, records.keys, records.hashes
        if not isinstance(values, RowColumns) or not isinstance(keys, ColumnKeys) or hashes is None:
            return None
        if not self._fold.follows(values):
            return None
        encoded = values.encoded(keys.column)
        if isApart is None:
            known = np.zeros(len(encoded.dictionary), dtype=np.bool_)
        else:
            known = np.array([isApart(key) for key in python_values(encoded.dictionary)])
        self._table.open(hashes)
        batches = self._table.rows()
        if len(batches) > 1:
            return None
        stored = OpenSessions(batches[0], self._fold) if batches else None
        run = SessionRun.of(records.timestamps, encoded, stored, self._gap)
        if run is None:
            return None
        apart = np.zeros(len(run.distinct), dtype=np.bool_)
        late = run.late(watermarks, self._lateness, apart)
        if watermarks[0] != watermarks[-1]:
            run.noteFired(watermarks, apart)
        if not self._fold.mergesInAnyOrder(values):
            run.noteMerges(apart)
        in_order = np.flatnonzero(apart)
        apart[run.codeOfIndex] |= known
        left = apart[run.codes] | late
        timers = 0
        if not left.all():
            added = self._fold_run(values, hashes, run, stored, left, int(watermarks[0]))
            if added is None:
                return None
            timers = added
        return Added(
            np.flatnonzero(apart[run.codes]),
            set(python_values(run.distinct.take(pa.array(in_order)))),
            np.flatnonzero(late & ~apart[run.codes]),
            timers,
        )

    def _fold_run(
        self,
        values: RowColumns,
        hashes: Hashes,
        run: SessionRun,
        stored: OpenSessions | None,
        left: Mask,
        watermark: int,
    ) -> int | None:
        """Add all elements but those in ``left``. Returns by how much the number of timers grows;
        None if the run cannot be vectorised."""
        sessions = run.sessions
        if left.any():
            values, sessions = values.kept(~left), sessions[~left]
        made = np.zeros(run.count, dtype=np.bool_)
        made[sessions] = True
        number, count = np.cumsum(made) - 1, int(made.sum())
        begun = started = None
        merged = made[run.sessionsOfStored]
        if stored is not None and merged.any():
            begun, started = self._begun(
                stored.where(merged).accumulators, number[run.sessionsOfStored[merged]], count
            )
            if begun is None:
                return None
        folded = self._fold.fold(values, number[sessions], count, begun, started)
        if folded is None:
            return None
        codes, ends = run.codesOfSessions[made], run.ends[made]
        hash_of = np.zeros(len(run.distinct), dtype=np.uint32)
        hash_of[run.codes] = hashes
        keys = run.distinct.take(pa.array(codes))
        rows = _session_rows(hash_of[codes], run.starts[made], ends, keys, folded)
        timers = self._timers(ends, watermark)
        if stored is None:
            self._table.replace([rows])
            return timers
        if not stored.rows.schema.equals(rows.schema, check_metadata=True):
            return None
        self._table.replace([concatenated([stored.where(~merged).rows, rows])])
        return timers - self._timers(stored.ends[merged], watermark)

    def _begun(
        self, accumulators: pa.RecordBatch, sessions: Codes, count: int
    ) -> tuple[pa.RecordBatch | None, Mask | None]:
        """The accumulators with which ``count`` sessions begin, and a mask of the sessions that
        have one (None: all). ``accumulators`` are the stored ones, ``sessions`` the session that
        each is merged into. None, None if they cannot be combined as columns."""
        distinct, groups = np.unique(sessions, return_inverse=True)
        begun: pa.RecordBatch | None = accumulators
        if len(distinct) < len(sessions):
            begun = self._fold.combine(accumulators, groups.astype(np.intp), len(distinct))
            if begun is None:
                return None, None
            sessions = distinct
        started = np.zeros(count, dtype=np.bool_)
        started[sessions] = True
        rows = np.zeros(count, dtype=np.intp)
        rows[sessions] = np.arange(len(sessions))
        assert begun is not None
        return begun.take(pa.array(rows)), None if started.all() else started

    def taken(self, keys: Set[Any], hashes: Hashes) -> list[OpenSession]:
        """Remove the sessions of ``keys``, which have the hashes ``hashes``, and return them."""
        self._table.open(hashes)
        found: list[OpenSession] = []
        kept = []
        for batch in self._table.rows():
            sessions = OpenSessions(batch, self._fold)
            mask = np.array([key in keys for key in python_values(sessions.keys)], dtype=np.bool_)
            found += sessions.where(mask).singly()
            kept.append(sessions.where(~mask).rows)
        if found:
            self._table.replace(kept)
        return found

    def takenAll(self) -> list[OpenSession]:
        """Remove all sessions and return them."""
        self._table.openDue(MAX_TIMESTAMP)
        found = [
            s for batch in self._table.rows() for s in OpenSessions(batch, self._fold).singly()
        ]
        self._table.replace([])
        return found

    # ------------------------------------------------------------------ time

    def due(self, before: int, watermark: int) -> Due | None:
        """Advance the watermark from ``before``: return the sessions that fire, and remove those
        that have expired. None if none does either."""
        next_due = self._table.nextDue()
        if next_due is None or next_due > watermark:
            return None
        self._table.openDue(watermark)
        firing, kept, timers = [], [], 0
        for batch in self._table.rows():
            sessions = OpenSessions(batch, self._fold)
            lasts = sessions.ends - 1
            fires = np.flatnonzero((lasts > before) & (lasts <= watermark))
            if len(fires):
                firing.append(sessions.at(fires[np.argsort(lasts[fires], kind="stable")]))
            stays = lasts + self._lateness > watermark
            timers += len(fires) + (int((~stays).sum()) if self._lateness else 0)
            remaining = sessions.where(stays)
            lasts = lasts[stays]
            dues = np.where(lasts > watermark, lasts, lasts + self._lateness)
            kept.append(remaining.rows.set_column(DUE, "due", pa.array(dues)))
        self._table.replace(kept)
        return Due(firing, timers)

    def timers(self, watermark: int) -> int:
        """The number of timers that ``WindowOperator`` would have for all sessions."""
        self._table.openDue(MAX_TIMESTAMP)
        ends = [OpenSessions(batch, self._fold).ends for batch in self._table.rows()]
        return sum(self._timers(of_batch, watermark) for of_batch in ends)

    def _timers(self, ends: Times, watermark: int) -> int:
        """The number of timers that ``WindowOperator`` would have for sessions that end at
        ``ends``."""
        firing = int((ends - 1 > watermark).sum())
        return firing + len(ends) if self._lateness else firing


@dataclass(frozen=True)
class SessionRun:
    """The sessions that the elements of a run form with one another and with the stored sessions.

    A *code* stands for a key. Sessions of a key that touch are one, as with
    ``TimeWindow.intersects``.
    """

    gap: int
    timestamps: Timestamps
    distinct: pa.Array
    """The keys, by code."""
    codeOfIndex: Codes
    """The code of each key in the run's dictionary."""
    codes: Codes
    """The code of each element."""
    sessions: Codes
    """The session of each element."""
    sessionsOfStored: Codes
    """The session that each stored session is part of."""
    stored: OpenSessions | None
    count: int
    starts: Times
    ends: Times
    codesOfSessions: Codes

    @classmethod
    def of(
        cls,
        timestamps: Timestamps,
        encoded: pa.DictionaryArray,
        stored: OpenSessions | None,
        gap: int,
    ) -> SessionRun | None:
        """The sessions of elements with those timestamps and keys; None if the stored keys have
        another type, or if 64 bits do not suffice to number that many keys over such a time."""
        distinct, known = encoded.dictionary, 0
        code_of: Codes = np.arange(len(distinct))
        if stored is not None:
            if stored.keys.type != distinct.type:
                return None
            known = len(stored)
            code_of, distinct = grouped(pa.concat_arrays([stored.keys, distinct]))
        of_index = code_of[known:]
        codes = of_index[encoded.indices.to_numpy()]
        places = _places(codes, timestamps, timestamps, gap)
        if places is None:
            return None
        order = np.argsort(places[0])
        begins = _begins(np.diff(places[0][order]) > gap)
        of_element = _numbered(order, begins)
        lasts = np.append(begins[1:], len(order)) - 1
        codes_of = codes[order[begins]]
        starts, ends = timestamps[order[begins]], timestamps[order[lasts]] + gap
        of_stored: Codes = np.zeros(0, dtype=np.intp)
        if stored is not None:
            codes_of = np.concatenate([code_of[:known], codes_of])
            starts = np.concatenate([stored.starts, starts])
            ends = np.concatenate([stored.ends, ends])
            places = _places(codes_of, starts, ends, 1)
            if places is None:
                return None
            order = np.argsort(places[0])
            reach = np.maximum.accumulate(places[1][order])
            begins = _begins(places[0][order][1:] > reach[:-1])
            joined = _numbered(order, begins)
            of_stored, of_element = joined[:known], joined[known:][of_element]
            lasts = np.append(begins[1:], len(order)) - 1
            codes_of, starts = codes_of[order[begins]], starts[order[begins]]
            ends = starts + (reach[lasts] - places[0][order[begins]])
        return cls(
            gap=gap,
            timestamps=timestamps,
            distinct=distinct,
            codeOfIndex=of_index,
            codes=codes,
            sessions=of_element,
            sessionsOfStored=of_stored,
            stored=stored,
            count=len(begins),
            starts=starts,
            ends=ends,
            codesOfSessions=codes_of,
        )

    def late(self, watermarks: Times, allowedLateness: int, apart: Mask) -> Mask:
        """Return a mask of the elements that are late whatever their order. Adds a key to ``apart``
        if the order of its elements matters, because the watermark has passed the end of one
        element's own session."""
        lasts = self.timestamps + (self.gap - 1)
        behind = lasts <= watermarks
        if not behind.any():
            return behind
        expired = lasts + allowedLateness <= watermarks
        elements = np.bincount(self.sessions, minlength=self.count)
        late = np.bincount(self.sessions[expired], minlength=self.count) == elements
        late[self.sessionsOfStored] = False
        passed = np.bincount(self.sessions[behind], minlength=self.count) > 0
        apart[self.codesOfSessions[passed & ~late]] = True
        late_elements: Mask = late[self.sessions]
        return late_elements

    def _spans(self) -> tuple[Codes, Times, Times]:
        """The session, and the first and last timestamp, of each stored session, and behind these of
        each element of the run: those of a stored session came before."""
        if self.stored is None:
            return self.sessions, self.timestamps, self.timestamps
        return (
            np.concatenate([self.sessionsOfStored, self.sessions]),
            np.concatenate([self.stored.starts, self.timestamps]),
            np.concatenate([self.stored.ends - self.gap, self.timestamps]),
        )

    def noteMerges(self, apart: Mask) -> None:
        """Add the keys to ``apart`` that have two sessions to merge if their elements come one by
        one."""
        before = np.bincount(self.sessionsOfStored, minlength=self.count)
        apart[self.codesOfSessions[before > 1]] = True
        sessions, first, last = self._spans()
        order = np.argsort(sessions, kind="stable")
        ordered, first, last = sessions[order], first[order], last[order]
        origin = int(first.min())
        span = int(last.max()) - origin + 1
        if span * self.count > FARTHEST:
            apart[:] = True
            return
        highest = np.maximum.accumulate(ordered * span + (last - origin)) - ordered * span
        lowest = np.minimum.accumulate(first - origin - ordered * span) + ordered * span
        same = ordered[1:] == ordered[:-1]
        apart_from = first[1:] - origin > highest[:-1] + self.gap
        apart_from |= last[1:] - origin < lowest[:-1] - self.gap
        apart[self.codesOfSessions[ordered[1:][same & apart_from]]] = True

    def noteFired(self, watermarks: Times, apart: Mask) -> None:
        """Add the keys to ``apart`` that have a session of which a part may fire before it meets the
        rest."""
        sessions, first, last = self._spans()
        stored = np.full(len(sessions) - len(watermarks), watermarks[0])
        before = np.concatenate([stored, watermarks])
        order = np.lexsort((first, sessions))
        sessions, last, before = sessions[order], last[order], before[order]
        origin = int(last.min())
        span = int(last.max()) - origin + 1
        if span * self.count > FARTHEST:
            apart[:] = True
            return
        offsets = sessions * span - origin
        highest = np.maximum.accumulate(last + offsets) - offsets
        met = np.maximum(before[1:], before[:-1])
        fired = (sessions[1:] == sessions[:-1]) & (met >= highest[:-1] + (self.gap - 1))
        apart[self.codesOfSessions[sessions[1:][fired]]] = True


def _places(codes: Codes, starts: Times, ends: Times, space: int) -> tuple[Times, Times] | None:
    """``starts`` and ``ends`` on one line, on which the times of a key lie before those of the next
    key, more than ``space`` apart. None if 64 bits are not enough."""
    origin = int(starts.min())
    length = int(ends.max()) - origin + space + 1
    if length * (int(codes.max()) + 1) > FARTHEST:
        return None
    offsets = codes * length - origin
    return starts + offsets, ends + offsets


def _begins(new: Mask) -> Codes:
    """The positions at which a group begins: the first, and those where ``new`` is true (it omits
    the first)."""
    return np.concatenate([np.zeros(1, dtype=np.intp), np.flatnonzero(new) + 1])


def _numbered(order: Codes, begins: Codes) -> Codes:
    """The number of the group of each position in ``order``; the groups begin at ``begins``."""
    new = np.zeros(len(order), dtype=np.intp)
    new[begins[1:]] = 1
    numbers = np.empty(len(order), dtype=np.intp)
    numbers[order] = np.cumsum(new)
    return numbers


def _session_rows(
    hashes: Hashes, starts: Times, ends: Times, keys: pa.Array, folded: pa.RecordBatch
) -> pa.RecordBatch:
    """Rows of sessions that have not fired."""
    arrays = [*map(pa.array, (hashes, ends - 1, starts, ends)), keys]
    fields = [(name, array.type) for name, array in zip(_NAMES, arrays)]
    fields += [(field.name, field.type) for field in folded.schema]
    schema = pa.schema(fields, metadata=folded.schema.metadata)
    return pa.RecordBatch.from_arrays([*arrays, *folded.columns], schema=schema)
