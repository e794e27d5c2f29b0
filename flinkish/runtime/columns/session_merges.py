"""``SessionMerges``: which contents are merged, and in which order, where sessions merge."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa

from flinkish.api.windowing.windows import TimeWindow
from flinkish.runtime.columns.open_sessions import Mask, Times
from flinkish.runtime.columns.panes import Positions
from flinkish.runtime.columns.tracing.column_fold import ColumnFold
from flinkish.runtime.records.rows import RowColumns, concatenated
from flinkish.runtime.windowing.merging_window_set import Merges


class SessionMerges:
    """The merges of sessions whose windows come one by one, as in ``MergingWindowSet``.

    A session of a run is made of *parts*: stored sessions, and behind these elements. The elements
    that are added between two merges are a *segment*; it begins with what the segments before it
    have been merged to. A stored session is a segment without elements.
    """

    def __init__(
        self, sessions: Positions, known: int, starts: Times, ends: Times, merging: Mask
    ) -> None:
        """``sessions``, ``starts`` and ``ends``: those of each part, of which ``known`` are stored.
        Sessions that are not ``merging`` have one stored part at most, which comes first."""
        count = len(merging)
        self._stored = range(count, count + known)
        self.segments: Positions = np.append(self._stored, sessions[known:]).astype(np.intp)
        """The segment of each part."""
        self.lasts: Positions = np.arange(count)
        """The last segment of each session."""
        self.before: list[Sequence[int]] = [()] * (count + known)
        """The segments before each, in the order in which they are merged."""
        for segment, session in zip(self._stored, sessions[:known].tolist()):
            self.before[session] = (segment,)
        parts = np.flatnonzero(merging[sessions])
        parts = parts[np.argsort(sessions[parts], kind="stable")]
        of = sessions[parts]
        bounds = [0, *(np.flatnonzero(np.diff(of)) + 1).tolist(), len(parts)]
        start_of, end_of = starts[parts].tolist(), ends[parts].tolist()
        for first, last in pairwise(bounds):
            segments = self._follow(
                parts[first:last].tolist(), start_of[first:last], end_of[first:last], known
            )
            self.segments[parts[first:last]] = segments
            self.lasts[of[first]] = segments[-1]

    def _follow(
        self, parts: Sequence[int], starts: Sequence[int], ends: Sequence[int], known: int
    ) -> list[int]:
        """Merge the windows of one session. Returns the segment of each part."""
        segments: list[int] = []
        begin: list[int] = []
        end: list[int] = []
        open_segments: list[int] = []
        for part, start, last in zip(parts, starts, ends):
            low = bisect_left(end, start)
            high = bisect_right(begin, last, low)
            if high - low == 1:
                begin[low], end[low] = min(begin[low], start), max(end[low], last)
                segment = open_segments[low]
                if segment in self._stored:
                    segment = open_segments[low] = self._segment((segment,))
                segments.append(segment)
                continue
            before: list[int] = []
            if high > low:
                merges, touching = Merges(), list(map(TimeWindow, begin[low:high], end[low:high]))
                TimeWindow.mergeWindows([*touching, TimeWindow(start, last)], merges)
                (((start, last), merged),) = merges.found.items()
                segment_of = dict(zip(touching, open_segments[low:high]))
                before = [segment_of[window] for window in merged if window in segment_of]
            segment = self._stored[part] if part < known else self._segment(before)
            segments.append(segment)
            begin[low:high], end[low:high], open_segments[low:high] = [start], [last], [segment]
        return segments

    def _segment(self, before: Sequence[int]) -> int:
        self.before.append(before)
        return len(self.before) - 1

    @property
    def places(self) -> Positions:
        """The place of each part in the list of the elements of its session."""
        visited: list[int] = []
        for last in self.lasts.tolist():
            ahead = [last]
            while ahead:
                segment = ahead.pop()
                visited.append(segment)
                ahead += self.before[segment]
        ranks = np.zeros(len(self.before), dtype=np.intp)
        ranks[visited] = -np.arange(len(visited))
        places = np.empty_like(self.segments)
        places[np.argsort(ranks[self.segments], kind="stable")] = np.arange(len(places))
        return places

    @cached_property
    def depths(self) -> Positions:
        """The most segments that each has before it, one behind the other."""
        depths = [len(before) for before in self.before[: self._stored.stop]]
        for before in self.before[self._stored.stop :]:
            depths.append(1 + max((depths[segment] for segment in before), default=-1))
        return np.array(depths)

    def folded(
        self,
        fold: ColumnFold,
        stored: pa.RecordBatch | None,
        values: RowColumns,
        parts: Mask,
        made: Mask,
    ) -> pa.RecordBatch | None:
        """The accumulators of the sessions that are ``made`` of ``parts``. ``stored`` and ``values``:
        those of the stored parts, and of the others. None if they cannot be vectorised."""
        segments, known = self.segments[parts], 0 if stored is None else stored.num_rows
        rows = np.full(len(self.before), -1)
        rows[segments[:known]] = np.arange(known)
        found, of_values = stored, segments[known:]
        depths = self.depths[of_values]
        for depth in np.unique(depths).tolist():
            chosen = np.flatnonzero(depths == depth)
            numbers, groups = np.unique(of_values[chosen], return_inverse=True)
            begun = None
            if depth and found is not None:
                before = [rows[list(self.before[number])] for number in numbers.tolist()]
                begun = _merged(fold, found, before)
                if begun is None:
                    return None
            folded = fold.fold(values.take(chosen), groups, len(numbers), begun)
            if folded is None:
                return None
            rows[numbers] = np.arange(len(numbers)) + (0 if found is None else len(found))
            if found is not None and not found.schema.equals(folded.schema, check_metadata=True):
                return None
            found = folded if found is None else concatenated([found, folded])
        assert found is not None
        return found.take(pa.array(rows[self.lasts[made]]))


def _merged(
    fold: ColumnFold, accumulators: pa.RecordBatch, rows: Sequence[Positions]
) -> pa.RecordBatch | None:
    """Those at each of ``rows``, merged as ``merge_namespaces`` does: the first with what the others
    are merged to. None if the function's ``merge`` has to be called."""
    begun = accumulators.take(pa.array([first for first, *_ in rows]))
    several = [number for number, each in enumerate(rows) if len(each) > 1]
    if not several:
        return begun
    others = [rows[number][1:] for number in several]
    groups = np.repeat(np.arange(len(several)), [len(each) for each in others])
    merged: pa.RecordBatch | None = accumulators.take(pa.array(np.concatenate(others)))
    if len(groups) > len(several):
        merged = fold.merged(merged, groups, len(several))
    if merged is not None:
        both = concatenated([begun.take(pa.array(several)), merged])
        merged = fold.merged(both, np.tile(np.arange(len(several)), 2), len(several))
    if merged is None:
        return None
    place = np.arange(len(rows))
    place[several] = len(rows) + np.arange(len(several))
    return concatenated([begun, merged]).take(pa.array(place))
