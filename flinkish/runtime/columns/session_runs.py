"""``SessionRun``: the sessions that the elements of a run form, as arithmetic on columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.runtime.columns.open_sessions import Mask, OpenSessions, Times
from flinkish.runtime.columns.session_merges import SessionMerges
from flinkish.runtime.columns.tracing.folding import first_positions
from flinkish.runtime.records.records import Timestamps
from flinkish.runtime.records.rows import grouped

FARTHEST = 2**61
"""Two numbers up to here can be added without leaving 64 bits."""

Codes = NDArray[np.intp]


@dataclass(frozen=True)
class SessionRun:
    """The sessions that the elements of a run form with one another and with the stored sessions.

    A *code* stands for a key. Sessions of a key that touch are one, as with
    ``TimeWindow.intersects``.
    """

    timestamps: Timestamps
    ownEnds: Times
    """The end of each element's own window."""
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
        ownEnds: Times,
        encoded: pa.DictionaryArray,
        stored: OpenSessions | None,
    ) -> SessionRun | None:
        """The sessions of elements with those timestamps, ends and keys; None if the stored keys
        have another type, or if 64 bits do not suffice to number that many keys over such a
        time."""
        distinct, known = encoded.dictionary, 0
        code_of: Codes = np.arange(len(distinct))
        if stored is not None:
            if stored.keys.type != distinct.type:
                return None
            known = len(stored)
            code_of, distinct = grouped(pa.concat_arrays([stored.keys, distinct]))
        of_index = code_of[known:]
        codes = of_index[encoded.indices.to_numpy()]
        joined = _joined(codes, timestamps, ownEnds)
        if joined is None:
            return None
        of_element, codes_of, starts, ends = joined
        of_stored: Codes = np.zeros(0, dtype=np.intp)
        if stored is not None:
            joined = _joined(
                np.concatenate([code_of[:known], codes_of]),
                np.concatenate([stored.starts, starts]),
                np.concatenate([stored.ends, ends]),
            )
            if joined is None:
                return None
            numbers, codes_of, starts, ends = joined
            of_stored, of_element = numbers[:known], numbers[known:][of_element]
        return cls(
            timestamps=timestamps,
            ownEnds=ownEnds,
            distinct=distinct,
            codeOfIndex=of_index,
            codes=codes,
            sessions=of_element,
            sessionsOfStored=of_stored,
            stored=stored,
            count=len(starts),
            starts=starts,
            ends=ends,
            codesOfSessions=codes_of,
        )

    @cached_property
    def grown(self) -> Mask:
        """Which sessions are longer than the window that they began with."""
        sessions, starts, ends = self._spans
        firsts = first_positions(sessions, self.count)
        grown: Mask = (starts[firsts] != self.starts) | (ends[firsts] != self.ends)
        if self.stored is not None and self.stored.grown is not None:
            grown[self.sessionsOfStored] |= self.stored.grown
        return grown

    def late(self, watermarks: Times, allowedLateness: int, apart: Mask) -> Mask:
        """Return a mask of the elements that are late whatever their order. Adds a key to ``apart``
        if the order of its elements matters, because the watermark has passed the end of one
        element's own session."""
        lasts = self.ownEnds - 1
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

    @cached_property
    def _spans(self) -> tuple[Codes, Times, Times]:
        """The session, start and end of each stored session, and behind these of each element's own
        window: those of a stored session came before."""
        if self.stored is None:
            return self.sessions, self.timestamps, self.ownEnds
        return (
            np.concatenate([self.sessionsOfStored, self.sessions]),
            np.concatenate([self.stored.starts, self.timestamps]),
            np.concatenate([self.stored.ends, self.ownEnds]),
        )

    @property
    def merging(self) -> Mask:
        """Which sessions come of several that merge, if their elements come one by one."""
        merging: Mask = np.bincount(self.sessionsOfStored, minlength=self.count) > 1
        sessions, starts, ends = self._spans
        order = np.argsort(sessions, kind="stable")
        ordered = sessions[order]
        same = ordered[1:] == ordered[:-1]
        for first, last in ((starts, ends), (-ends, -starts)):
            places = _places(ordered, first[order], last[order])
            if places is None:
                return np.ones(self.count, dtype=np.bool_)
            behind = places[0][1:] > np.maximum.accumulate(places[1])[:-1]
            merging[ordered[1:][same & behind]] = True
        return merging

    def merges(self, merging: Mask) -> SessionMerges:
        """The merges of the sessions that are ``merging``."""
        sessions, starts, ends = self._spans
        return SessionMerges(sessions, len(self.sessionsOfStored), starts, ends, merging)

    def noteFired(self, watermarks: Times, apart: Mask) -> None:
        """Add the keys to ``apart`` that have a session of which a part may fire before it meets the
        rest.

        An element that meets a part that has fired begins at or before that part's end, which the
        watermark has passed, and ends after it."""
        near = np.flatnonzero(self.timestamps - 1 <= watermarks)
        if not len(near):
            return
        sessions, starts, ends = self._spans
        places = _places(sessions, starts, ends)
        if places is None:
            apart[:] = True
            return
        known = len(sessions) - len(watermarks)
        starts, ends = places[0][known:][near], places[1][known:][near]
        reached = starts + (np.minimum(watermarks[near], FARTHEST) - self.timestamps[near])
        line = np.sort(places[1])
        met = line[np.searchsorted(line, starts)]
        fired = (met - 1 <= reached) & (met < ends)
        apart[self.codesOfSessions[self.sessions[near[fired]]]] = True

    def noteBegunAnew(self, apart: Mask) -> None:
        """Add the keys to ``apart`` that may have an element whose own window is that of a session that
        has grown: both ends are those of other windows of the session, one of them inside of it."""
        sessions, starts, ends = self._spans
        places = _places(sessions, starts, ends)
        if places is None:
            apart[:] = True
            return
        order = np.lexsort((-places[1], places[0]))
        starts, ends = places[0][order], places[1][order]
        begins = _begins((np.diff(starts) != 0) | (np.diff(ends) != 0))
        starts, ends = starts[begins], ends[begins]
        several = np.diff(begins, append=len(order)) > 1
        shorter = np.append(starts[1:] == starts[:-1], False)
        inner = np.append(np.minimum.accumulate(ends[:0:-1])[::-1] <= ends[:-1], False)
        if self.stored is not None and self.stored.grown is not None:
            grown = np.append(self.stored.grown, np.zeros(len(self.sessions), dtype=np.bool_))
            inner |= np.logical_or.reduceat(grown[order], begins)
        found = np.flatnonzero(inner & (several | shorter))
        line = np.sort(ends)
        same = np.searchsorted(line, ends[found], "right") - np.searchsorted(line, ends[found]) > 1
        found = order[begins[found[several[found] | same]]]
        apart[self.codesOfSessions[sessions[found]]] = True


def _joined(codes: Codes, starts: Times, ends: Times) -> tuple[Codes, Codes, Times, Times] | None:
    """Windows of the keys with those ``codes``, joined to sessions where they touch: the session of
    each window, and the key, start and end of each session. None if 64 bits are not enough."""
    places = _places(codes, starts, ends)
    if places is None:
        return None
    order = np.argsort(places[0])
    reach = np.maximum.accumulate(places[1][order])
    begins = _begins(places[0][order][1:] > reach[:-1])
    firsts, lasts = order[begins], np.append(begins[1:], len(order)) - 1
    ends = starts[firsts] + (reach[lasts] - places[0][firsts])
    return _numbered(order, begins), codes[firsts], starts[firsts], ends


def _places(codes: Codes, starts: Times, ends: Times) -> tuple[Times, Times] | None:
    """``starts`` and ``ends`` on one line, on which the times of a key lie before those of the next
    key, and do not touch them. None if 64 bits are not enough."""
    origin = int(starts.min())
    length = int(ends.max()) - origin + 2
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
