"""``ColumnEvictingWindows``: a ``ColumnWindowOperator`` with an evictor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.api.windowing.evictors import CountEvictor, TimestampedValue
from flinkish.runtime.columns.eviction import SEES_ELEMENTS
from flinkish.runtime.columns.known_triggers import fires_with_timers, why_element_by_element
from flinkish.runtime.columns.pane_segments import RunPanes, Segments, Spans, ranges
from flinkish.runtime.columns.tracing.column_fold import ColumnFold
from flinkish.runtime.columns.tracing.value_shapes import after
from flinkish.runtime.columns.triggered_windows import ColumnWindowOperator, added, stamped
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.records.records import Records, timestamps_of
from flinkish.runtime.records.rows import RowColumns, concatenated
from flinkish.runtime.windowing.window_functions import Evicted
from flinkish.runtime.windowing.window_operator import EvictingWindowOperator

_MOST_HELD = 8
"""With more elements from before a run for each of its own, it is processed one by one: these are
converted only for panes that fire."""

_GATHERED_AT_ONCE = 1 << 20
"""So many elements of windows are gathered at once; an element is in several."""


def why_evicted_element_by_element(description: WindowOperatorDescription) -> str | None:
    """Why the windows of an evictor, which are not aligned, are folded element by element. None:
    they are not."""
    reason = why_element_by_element(description)
    if reason is not None:
        return reason
    if fires_with_timers(description):
        return "has an evictor, and is called as timers fire"
    return SEES_ELEMENTS if _count_evictor(description) is None else None


def _count_evictor(description: WindowOperatorDescription) -> CountEvictor | None:
    """The evictor, if it keeps a number of elements."""
    evictor = description.evictor
    return evictor if type(evictor) is CountEvictor and evictor._max_count > 0 else None


class ColumnEvictingWindows(ColumnWindowOperator, EvictingWindowOperator):
    """A ``ColumnWindowOperator`` with an evictor, which adds the elements of a run to their panes at
    once.

    Where a CountTrigger fires and a CountEvictor evicts, as in ``countWindow(size, slide)``, each
    firing sees a span of a pane's elements, and all spans of a run are folded as columns.
    """

    def __init__(self, context: OperatorContext, description: WindowOperatorDescription) -> None:
        super().__init__(context, description)
        aggregation = description.aggregation
        self._count_evictor = _count_evictor(description)
        folds = aggregation is not None and self.tracesFunctions
        self._span_fold = ColumnFold(aggregation) if folds else None

    def _list(self, records: Records, panes: RunPanes, segments: Segments) -> bool:
        kept = self._lists(panes)
        if self._count_evictor is not None and len(segments.firing):
            if not self._evict_by_count(self._count_evictor, records, kept, panes, segments):
                return False
        else:
            self._evict_by_call(records, kept, panes, segments)
        self._write(panes, kept, segments)
        return True

    # ------------------------------------------------------------------ any evictor

    def _evict_by_call(
        self, records: Records, kept: list[Any], panes: RunPanes, segments: Segments
    ) -> None:
        """Add the elements to what is ``kept`` of the panes, and call evictor and function for those
        that fire."""
        values, backend, firing = records.values, self.backend, segments.firing
        assert isinstance(values, RowColumns)
        parts = stamped(values.take(panes.order), records.timestamps[panes.order], segments.bounds)
        element = 0
        with self.userCodeOf(lambda: values[element]):
            for pane, place, segment in zip(
                panes.groups[firing].tolist(), firing.tolist(), segments.groups[firing].tolist()
            ):
                element = place
                key, window = panes.keys[pane], panes.windows[pane]
                backend.currentKey = key
                self._set_window(window)
                remaining = self._function.process(key, window, added(kept[pane], parts[segment]))
                kept[pane] = None if self._purges else remaining or None
        self.output.flush()
        self._add_last(kept, parts, segments)

    # ------------------------------------------------------------------ evictors that count

    def _evict_by_count(
        self,
        evictor: CountEvictor,
        records: Records,
        kept: list[Any],
        panes: RunPanes,
        segments: Segments,
    ) -> bool:
        """As ``_evict_by_call``, without calls of the evictor. False, with nothing done, if so many
        elements are kept that it is slower."""
        values = records.values
        assert isinstance(values, RowColumns)
        before = [element for elements in kept for element in elements or ()]
        if len(before) > _MOST_HELD * len(values):
            return False
        held = np.array([len(elements or ()) for elements in kept], dtype=np.intp)
        spans = Spans.of(panes, segments, held, evictor._max_count, evictor._after, self._purges)
        former = [element.value for element in before]
        stamps = timestamps_of([element.timestamp for element in before])
        times = np.concatenate([stamps, records.timestamps])[spans.sequence]
        stay, bounds = spans.staying
        columns = self._columns(values, former)
        results = None if columns is None else self._folded_spans(columns, spans)
        if (
            columns is not None
            and results is not None
            and self._emit(results, panes, segments.firing)
        ):
            left = stamped(columns.take(spans.sequence[stay]), times[stay], bounds)
        else:
            both = [*former, *values.anew()]
            elements = list(map(both.__getitem__, spans.sequence.tolist()))
            self._call(panes, values, _calls(elements, panes, segments, spans), own=True)
            timestamped = list(map(TimestampedValue, elements, times.tolist()))
            left = [timestamped[a:b] for a, b in zip(spans.stays.tolist(), spans.ends.tolist())]
        kept[:] = [elements or None for elements in left]
        return True

    def _columns(self, values: RowColumns, former: Sequence[Any]) -> RowColumns | None:
        """The elements from before a run, and those of it, as columns. None if their functions have
        to be called."""
        if self._span_fold is None or not self._span_fold.follows(values):
            return None
        return after(former, values)

    def _folded_spans(self, columns: RowColumns, spans: Spans) -> RowColumns | None:
        """The aggregation's result for each span; None if it has to be called for each."""
        fold = self._span_fold
        assert fold is not None
        lengths = spans.stops - spans.starts
        ends = np.cumsum(lengths)
        chunks = np.flatnonzero(np.diff((ends - 1) // _GATHERED_AT_ONCE)) + 1
        found: list[pa.RecordBatch] = []
        for first, last in zip([0, *chunks.tolist()], [*chunks.tolist(), len(ends)]):
            some = lengths[first:last]
            places = ranges(spans.starts[first:last], some)
            groups = np.repeat(np.arange(len(some)), some)
            folded = fold.fold(columns.take(spans.sequence[places]), groups, len(some))
            if folded is None:
                return None
            found.append(folded)
        return fold.results(concatenated(found))


def _calls(
    elements: list[Any], panes: RunPanes, segments: Segments, spans: Spans
) -> Iterator[tuple[int, int, Evicted]]:
    """The pane of each firing, the position of the element at which it fires, and the values for the
    function."""
    firing = segments.firing
    for pane, place, start, stop in zip(
        panes.groups[firing].tolist(), firing.tolist(), spans.starts.tolist(), spans.stops.tolist()
    ):
        yield pane, place, Evicted(elements[start:stop])
