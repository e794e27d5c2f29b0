"""``SessionColumns``: open sessions as columns, if the window's function allows it.

The windows of the elements of a run, sorted by key and time, form a session as long as they touch.
Each is merged with the open sessions that it touches, and the elements are folded as arrays,
without a Python object for an element, a key or a session. An open session is a row of a
``KeyedColumnTable``: its key, start and end, and the fields of its accumulator.

The result has to equal that of ``MergingWindowSet``, element by element. If it depends on an order
that columns do not have, the key is deoptimized: the operator keeps its sessions one by one from
then on:

* A session gets an element behind the watermark. Whether it is late, or fires the session at once,
  depends on the elements before it.
* Two sessions merge, and the function's ``merge`` cannot be traced, or a session merges more than
  ``MOST_DEEP`` times in a run, one merge behind the other.
* Under a dynamic gap, an element's own window may be just that of a session that has grown. Flink
  then begins anew (``MergingWindowSet``).
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.runtime.columns.element_lists import ElementLists
from flinkish.runtime.columns.open_sessions import (
    Mask,
    OpenSession,
    OpenSessions,
    Times,
    session_rows,
)
from flinkish.runtime.columns.panes import Positions
from flinkish.runtime.columns.session_merges import SessionMerges
from flinkish.runtime.columns.session_runs import Codes, SessionRun
from flinkish.runtime.columns.tracing.column_fold import ColumnFold
from flinkish.runtime.columns.tracing.values import deoptimizing
from flinkish.runtime.records.keys import encoded_keys
from flinkish.runtime.records.records import Hashes, Records
from flinkish.runtime.records.rows import RowColumns, concatenated, python_values
from flinkish.runtime.state.backend import DUE, KeyedColumnTable

MOST_DEEP = 64
"""With more merges, one behind the other, computing them takes longer than calling functions."""


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
    """The open sessions of a key group that are columns; ``dynamic``: their elements have different
    gaps."""

    def __init__(
        self,
        table: KeyedColumnTable,
        fold: ColumnFold | ElementLists,
        allowedLateness: int,
        dynamic: bool,
    ) -> None:
        self._table = table
        self._fold = fold
        self._lateness = allowedLateness
        self._dynamic = dynamic

    def __len__(self) -> int:
        return len(self._table)

    def nextDue(self) -> int | None:
        """The time at which the first session fires or expires; None if there is none."""
        return self._table.nextDue()

    # ------------------------------------------------------------------ elements

    def add(
        self,
        records: Records,
        ends: Times,
        watermarks: Times,
        current: int,
        isApart: Callable[[Any], bool] | None,
    ) -> Added | None:
        """Add the elements of a run. None, with nothing added, if the run cannot be vectorised.
        ``ends``: the end of each element's own window. ``watermarks``: the watermark before each
        element; up to ``current``, sessions have fired. ``isApart``: whether the sessions of a key are
        kept one by one; None: no key's are.
        """
        values, hashes = records.values, records.hashes
        if not isinstance(values, RowColumns) or hashes is None or not self._fold.follows(values):
            return None
        encoded = encoded_keys(records)
        if encoded is None:
            return None
        if isApart is None:
            known = np.zeros(len(encoded.dictionary), dtype=np.bool_)
        else:
            known = np.array([isApart(key) for key in python_values(encoded.dictionary)])
        self._table.open(hashes)
        batches = self._table.rows()
        if len(batches) > 1:
            return None
        stored = OpenSessions(batches[0], self._fold) if batches else None
        run = SessionRun.of(records.timestamps, ends, encoded, stored)
        if run is None or (stored is not None and (stored.grown is not None) != self._dynamic):
            return None
        apart = np.zeros(len(run.distinct), dtype=np.bool_)
        late = run.late(watermarks, self._lateness, apart)
        if watermarks[-1] > current:
            run.noteFired(watermarks, apart)
        if self._dynamic:
            run.noteBegunAnew(apart)
        kept_apart = np.zeros_like(apart)
        kept_apart[run.codeOfIndex] = known
        merges = None
        if not self._fold.mergesInAnyOrder(values):
            merges = self._merges(run, values, apart, kept_apart)
        in_order = np.flatnonzero(apart)
        apart |= kept_apart
        left = apart[run.codes] | late
        timers = 0
        if not left.all():
            added = self._fold_run(values, hashes, run, stored, left, merges, int(watermarks[0]))
            if added is None:
                return None
            timers = added
        return Added(
            np.flatnonzero(apart[run.codes]),
            set(python_values(run.distinct.take(pa.array(in_order)))),
            np.flatnonzero(late & ~apart[run.codes]),
            timers,
        )

    def _merges(
        self, run: SessionRun, values: RowColumns, apart: Mask, keptApart: Mask
    ) -> SessionMerges | None:
        """The merges of sessions, but for the keys that are ``apart`` or were so before; None: there are
        none. Adds keys to ``apart`` that have merges which cannot be computed."""
        merging = run.merging & ~(apart | keptApart)[run.codesOfSessions]
        if not merging.any():
            return None
        if not self._fold.merges(values):
            apart[run.codesOfSessions[merging]] = True
            return None
        merges = run.merges(merging)
        if isinstance(self._fold, ColumnFold):
            apart[run.codesOfSessions[merges.depths[merges.lasts] > MOST_DEEP]] = True
        return merges

    @deoptimizing
    def _fold_run(
        self,
        values: RowColumns,
        hashes: Hashes,
        run: SessionRun,
        stored: OpenSessions | None,
        left: Mask,
        merges: SessionMerges | None,
        watermark: int,
    ) -> int | None:
        """Add all elements but those in ``left``. Returns by how much the number of timers grows;
        None if the run cannot be vectorised."""
        if left.any():
            values = values.kept(~left)
        made = np.zeros(run.count, dtype=np.bool_)
        made[run.sessions[~left]] = True
        merged = made[run.sessionsOfStored]
        before = None
        if stored is not None and merged.any():
            before = stored.where(merged).accumulators
        folded = self._folded(values, run, before, np.append(merged, ~left), made, merges)
        if folded is None:
            return None
        codes, ends = run.codesOfSessions[made], run.ends[made]
        hash_of = np.zeros(len(run.distinct), dtype=np.uint32)
        hash_of[run.codes] = hashes
        keys = run.distinct.take(pa.array(codes))
        grown = run.grown[made] if self._dynamic else None
        rows = session_rows(hash_of[codes], run.starts[made], ends, keys, folded, grown)
        timers = self._timers(ends, watermark)
        if stored is None:
            self._table.replace([rows])
            return timers
        if not stored.rows.schema.equals(rows.schema, check_metadata=True):
            return None
        self._table.replace([concatenated([stored.where(~merged).rows, rows])])
        return timers - self._timers(stored.ends[merged], watermark)

    def _folded(
        self,
        values: RowColumns,
        run: SessionRun,
        stored: pa.RecordBatch | None,
        parts: Mask,
        made: Mask,
        merges: SessionMerges | None,
    ) -> pa.RecordBatch | None:
        """The accumulators of the sessions that are ``made`` of ``parts``, some of the stored sessions
        and behind these of the elements, of which ``stored`` and ``values`` are. None if the run cannot
        be vectorised."""
        count = int(made.sum())
        sessions = np.append(run.sessionsOfStored, run.sessions)[parts]
        sessions = (np.cumsum(made) - 1)[sessions]
        if isinstance(self._fold, ElementLists):
            places = None if merges is None else merges.places[parts]
            return self._fold.listed(stored, values, sessions, count, places)
        if merges is not None:
            return merges.folded(self._fold, stored, values, parts, made)
        begun = started = None
        known = 0 if stored is None else stored.num_rows
        if stored is not None:
            begun, started = self._begun(stored, sessions[:known], count)
            if begun is None:
                return None
        return self._fold.fold(values, sessions[known:], count, begun, started)

    def _begun(
        self, accumulators: pa.RecordBatch, sessions: Codes, count: int
    ) -> tuple[pa.RecordBatch | None, Mask | None]:
        """The accumulators with which ``count`` sessions begin, and a mask of the sessions that
        have one (None: all). ``accumulators`` are the stored ones, ``sessions`` the session that
        each is merged into. None, None if they cannot be combined as columns."""
        distinct, groups = np.unique(sessions, return_inverse=True)
        begun: pa.RecordBatch | None = accumulators
        if len(distinct) < len(sessions):
            assert isinstance(self._fold, ColumnFold)
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
