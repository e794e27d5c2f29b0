"""The events of a frame for lifetime windows, many at a time.

The windows of a grid that close within the frame in which their points come need neither state nor timers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import compress, count, repeat
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from flinkish.api.windowing.windows import TimeWindow
from flinkish.compat.streaminsight.events import TICK, IntervalEvent, PointEvent, part_of_interval
from flinkish.compat.streaminsight.lifetime_logic import Lifetime
from flinkish.compat.streaminsight.windows import HoppingLifetimeWindows, LifetimeWindows
from flinkish.runtime.records.frames import Frame
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import Shape


def starts_of(events: Sequence[Any]) -> NDArray[Any] | None:
    """When points and intervals start; None if there are others among them."""
    if isinstance(events, RowColumns) and events.shape.kind is PointEvent:
        column = events.arrow(0)
        plain = pa.types.is_int64(column.type) and not column.null_count
        return column.to_numpy() if plain else np.array(events.values(0))
    if {PointEvent, IntervalEvent}.issuperset(map(type, events)):
        return np.array([event.startTime for event in events])
    return None


def lifetimes_by_key(
    keys: Sequence[Any], events: Sequence[Any], kept: NDArray[np.bool_]
) -> Mapping[Any, list[Lifetime]]:
    """The lifetimes of those points and intervals that are ``kept``."""
    found: defaultdict[Any, list[Lifetime]] = defaultdict(list)
    if not kept.any():
        return found
    if isinstance(events, RowColumns) and events.shape.kind is PointEvent:
        events = events.kept(kept)
        starts, *columns = (events.values(number) for number in range(len(events.schema)))
        ends = [start + TICK for start in starts]
        parts = zip(starts, ends, events.shape.parts[1].made(columns))
        # In C, as in Shape.made
        lifetimes = list(map(tuple.__new__, repeat(Lifetime), parts))
    else:
        lifetimes = [Lifetime(e.startTime, e.endTime, e.payload) for e in compress(events, kept)]
    for key, lifetime in zip(compress(keys, kept), lifetimes):
        found[key].append(lifetime)
    return found


class ClosingPoints(NamedTuple):
    """The points of a frame, by whether its increments, without that at infinity, close their windows."""

    closing: dict[tuple[Any, TimeWindow], slice]
    """By key and window, where the points in each that closes are in ``columns``."""
    columns: list[list[Any]]
    """Those of points window by window, those of a key in the order in which they came."""
    payload: Shape
    staying: Mapping[Any, list[Lifetime]]
    """By key, the points that are in a window which is open behind ``increment``."""
    increment: int

    @classmethod
    def of(
        cls,
        windows: LifetimeWindows,
        frame: Frame,
        keys: Sequence[Any],
        starts: NDArray[Any],
        kept: NDArray[np.bool_],
    ) -> ClosingPoints | None:
        """Those that are ``kept``; None if they are not points of a table, each in windows of a grid."""
        events, watermarks = frame.records.values, frame.marks.watermarks
        passed = watermarks[watermarks < MAX_TIMESTAMP]
        if not (
            isinstance(windows, HoppingLifetimeWindows)
            and windows.hop <= windows.size
            and isinstance(events, RowColumns)
            and events.shape.kind is PointEvent
            and frame.records.immutable
            and starts.dtype == np.int64
            and int(starts.min()) - abs(windows.offset) - 2 * windows.size > MIN_TIMESTAMP
            and len(passed)
        ):
            return None
        # An increment at c is Watermark(c - 1)
        increment = int(passed[-1]) + 1
        size, hop = windows.size, windows.hop
        first = windows.offset + size
        ends = first + ((starts - first) // hop + 1) * hop
        rows, of_rows = [], []
        staying = np.zeros(len(starts), dtype=bool)
        for _ in range(-(-size // hop)):
            within = kept & (ends - size <= starts)
            closed = within & (ends <= increment)
            rows.append(np.flatnonzero(closed))
            of_rows.append(ends[closed])
            staying |= within & ~closed
            ends = ends + hop
        closing, order = _closing(keys, np.concatenate(rows), np.concatenate(of_rows), size)
        ordered = events.take(order)
        columns = [ordered.values(number) for number in range(len(ordered.schema))]
        left = lifetimes_by_key(keys, events, staying)
        return cls(closing, columns, ordered.shape.parts[1], left, increment)

    def inWindow(self, part: slice) -> list[IntervalEvent[Any]]:
        """A part of the points as intervals. They are made when their window closes, and so stay in the cache."""
        starts, *columns = [column[part] for column in self.columns]
        payloads = self.payload.made(columns)
        return list(map(part_of_interval, starts, [start + TICK for start in starts], payloads))


def _closing(
    keys: Sequence[Any], rows: NDArray[np.intp], ends: NDArray[np.int64], size: int
) -> tuple[dict[tuple[Any, TimeWindow], slice], NDArray[np.intp]]:
    """The rows window by window, and the place of each key and window among them."""
    numbers = dict(zip(dict.fromkeys(keys), count()))
    codes = np.fromiter(map(numbers.__getitem__, keys), np.intp, len(keys))[rows]
    order = np.lexsort((rows, codes, ends))
    rows, ends, codes = rows[order], ends[order], codes[order]
    begins = np.flatnonzero(np.diff(ends, prepend=ends[:1] - 1) | np.diff(codes, prepend=-1))
    of_codes, bounds = list(numbers), [*begins.tolist(), len(rows)]
    return {
        (of_codes[code], TimeWindow(end - size, end)): slice(*bounds[number : number + 2])
        for number, (code, end) in enumerate(zip(codes[begins].tolist(), ends[begins].tolist()))
    }, rows
