"""``WindowColumns``: the contents of aligned windows as columns, if the window's function allows
it.

A window gets many elements of many keys. If they are columns, and the aggregation can be traced,
the columns are folded as arrays, without a Python object for an element or a key. The window is
then a list of runs in a ``ColumnTable``. A *folded* run has a row for each key, with the fields of
its accumulator as columns. A run of *elements* has the elements unchanged, for a window function
that reads all of them, or until they are folded.

``AlignedWindowOperator`` keeps a window either here or, key by key, in a ``WindowTable``. It moves
the window to the ``WindowTable`` when elements come that columns cannot represent exactly: a sum
beyond 64 bits, a null, an object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.windowing.windows import TimeWindow
from flinkish.runtime.columns.element_runs import (
    ElementsByKey,
    are_elements,
    are_tagged,
    elements_of,
    key_column,
    keyed_run,
    merged_elements,
    numbered,
    of_one_kind,
    stamped,
)
from flinkish.runtime.columns.eviction import Eviction
from flinkish.runtime.columns.panes import (
    Positions,
    accumulators_of,
    combined_run,
    folded_run,
    folded_schema,
)
from flinkish.runtime.columns.tracing.column_fold import ColumnFold
from flinkish.runtime.columns.window_sides import WindowSides
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.rows import (
    RowColumns,
    concatenated,
    decoded,
    grouped,
    python_values,
)
from flinkish.runtime.records.tagged_columns import tag_of
from flinkish.runtime.state.backend import ColumnTable, kind_of_run

ELEMENTS_A_RUN = 1 << 16
"""Runs of elements are merged up to this size, and longer ones are cut."""


_LARGER = 16
"""If a window has this many times more rows than came, the new rows are kept beside it and folded
later."""


class WindowColumns:
    """The windows of a key group that are columns. ``fold`` is None for windows that list their
    elements, such as those with an ``eviction``, which keep the timestamps too."""

    def __init__(
        self, table: ColumnTable, fold: ColumnFold | None, eviction: Eviction | None = None
    ) -> None:
        self._table = table
        self._fold = fold
        self._eviction = eviction
        self._new: dict[TimeWindow, list[pa.RecordBatch]] = {}
        """The elements that came since the last call of ``settle``."""
        self._waiting: dict[bytes, set[bytes]] = {}
        """By the kind of folded run: the kinds of the elements that wait to be folded into it."""
        self._arrived: dict[TimeWindow, int] = {}
        """The number of tagged elements in the windows of ``_new``."""
        table.mergeBy(self._fewer)

    def windows(self) -> list[TimeWindow]:
        """The windows that have contents here."""
        return list({**dict.fromkeys(self._table.windows()), **self._new})

    def __contains__(self, window: TimeWindow) -> bool:
        return window in self._new or window in self._table

    def size(self, window: TimeWindow) -> int:
        """An upper bound of the number of keys in ``window``: a key counts once in each run."""
        new: int = sum(run.num_rows for run in self._new.get(window, ()))
        return self._table.size(window) + new

    def forget(self) -> None:
        """Drop the elements that are not settled yet."""
        self._new.clear()
        self._arrived.clear()

    # ------------------------------------------------------------------ adding

    def add(self, window: TimeWindow, records: Records) -> None:
        """Add elements, which are columns; they are stored once they are settled."""
        run, values = keyed_run(records), records.values
        assert isinstance(values, RowColumns)
        if tag_of(values.shape) is not None:
            arrived = self._arrived.get(window)
            arrived = self._table.size(window) if arrived is None else arrived
            self._arrived[window] = arrived + len(values)
            run = numbered(run, arrived)
        elif self._eviction is not None:
            run = stamped(run, records.timestamps)
        self._new.setdefault(window, []).append(run)

    def takes(self, window: TimeWindow, folded: pa.Schema) -> bool:
        """Whether a run of the schema ``folded``, whose first field is the key, may be added to
        ``window``: it must be empty, or have only runs of that kind and elements that fold into
        it."""
        if window not in self._table:
            return True
        kind = kind_of_run(folded)
        return self._table.kinds(window) <= {kind, *self._waiting.get(kind, ())}

    def addFolded(self, window: TimeWindow, run: RowColumns, distinct: bool) -> bool:
        """Add elements that were folded by key; ``distinct``: each key has one row. False, with
        nothing added, if columns cannot hold the combined rows of a key."""
        batch: pa.RecordBatch | None = decoded(run.batch)
        assert batch is not None
        if not distinct:
            batch = self._joined(batch)
        if batch is not None:
            self._table.append(window, batch)
        return batch is not None

    def unsettled(self) -> list[TimeWindow]:
        """The windows with elements that are not settled."""
        return list(self._new)

    def settle(self, window: TimeWindow) -> bool:
        """Fold the new elements of ``window``. False if columns cannot hold their accumulators."""
        runs = self._new.get(window)
        if runs is None:
            return True
        if self._fold is None:
            for run in runs:
                for start in range(0, run.num_rows, ELEMENTS_A_RUN):
                    self._table.append(window, run.slice(start, ELEMENTS_A_RUN))
        else:
            if not of_one_kind(runs):
                return False
            values = concatenated(runs)
            plan = self._fold.plan(elements_of(values))
            if plan is None:
                return False
            schema = folded_schema(values.column(key_column(values)).type, plan.schema)
            if not self.takes(window, schema):
                return False
            exact = plan.combination.exactInAnyGrouping
            apart = exact or window not in self._table
            # Elements may wait if the window has far more rows, and the result is the same later
            few = self._table.size(window) > _LARGER * values.num_rows
            beside = not apart and few and not plan.traced.readsValues
            older = [] if apart or beside else self._table.runs(window)
            folded = self._merged([*older, values], whole=True)
            if folded is None:
                return False
            if older:
                self._table.remove(window)
            if beside:
                self._waiting.setdefault(kind_of_run(schema), set()).add(kind_of_run(values.schema))
            self._table.append(window, values if beside else folded)
        self._forget(window)
        return True

    def updates(self, window: TimeWindow, records: Records) -> pa.RecordBatch | None:
        """A row for each of some further elements of ``window``, which is settled: their keys with
        the accumulators after them. Below these are the contents of the window with all of them.
        None if columns cannot hold the accumulators."""
        base = None
        if window in self._table:
            base = self.folded(window)
            if base is None:
                return None
        return self._folded(keyed_run(records), base, np.arange(len(records)))

    def replace(self, window: TimeWindow, folded: pa.RecordBatch) -> None:
        """Replace the contents of ``window``, which is settled."""
        self._table.remove(window)
        self._table.append(window, folded)

    # ------------------------------------------------------------------ contents

    def folded(self, window: TimeWindow) -> pa.RecordBatch | None:
        """The settled contents of ``window`` as one folded run, without what is evicted; None if
        there is no aggregation, or if columns cannot hold the accumulators."""
        if self._fold is None and self._eviction is None:
            return None
        runs = self._table.runs(window)
        if self._eviction is not None:
            return self._eviction.folded(runs)
        return runs[0] if len(runs) == 1 and not are_elements(runs[0]) else self._merged(runs, True)

    def results(self, folded: pa.RecordBatch) -> RowColumns | None:
        """The function's result for each key, as columns; None if the function has to be called."""
        fold = self._fold if self._eviction is None else self._eviction.fold
        assert fold is not None
        return fold.results(accumulators_of(folded))

    def accumulators(self, folded: pa.RecordBatch) -> Iterator[tuple[Any, Any]]:
        """The keys of a folded run with their accumulators."""
        assert self._fold is not None
        return zip(
            python_values(folded.column(0)), self._fold.accumulators(accumulators_of(folded))
        )

    def listed(self, window: TimeWindow) -> Iterator[tuple[Any, Any]] | None:
        """The keys of ``window``, which lists its elements, with each key's elements in their
        order; None if the window has to be kept by key."""
        runs = self._table.runs(window)
        if self._eviction is not None:
            return self._eviction.listed(runs)
        if are_tagged(runs[0]):
            sides = WindowSides.of(runs)
            return None if sides is None else sides.listed()
        if not of_one_kind(runs):
            return None
        by_key = ElementsByKey(concatenated(runs))
        return zip(python_values(by_key.keys), by_key.parts())

    def sides(self, window: TimeWindow) -> WindowSides | None:
        """The settled elements of ``window`` if they are tagged; None if not, or if the window has
        to be kept by key."""
        runs = self._table.runs(window)
        return WindowSides.of(runs) if are_tagged(runs[0]) else None

    def remove(self, window: TimeWindow) -> None:
        """Remove ``window`` with its contents."""
        self._forget(window)
        self._table.remove(window)

    def taken(self, window: TimeWindow) -> list[pa.RecordBatch]:
        """Remove ``window`` and return all its runs."""
        runs = [*self._table.runs(window), *self._new.get(window, ())]
        self.remove(window)
        return runs

    def _forget(self, window: TimeWindow) -> None:
        self._new.pop(window, None)
        self._arrived.pop(window, None)

    # ------------------------------------------------------------------ folding

    def _fewer(
        self, runs: Sequence[pa.RecordBatch], whole: bool
    ) -> Sequence[pa.RecordBatch] | None:
        """See ``ColumnMerge``."""
        if self._fold is None:
            few = sum(run.num_rows for run in runs) <= ELEMENTS_A_RUN
            return merged_elements(runs) if few else None
        merged = self._merged(runs, whole)
        return None if merged is None else [merged]

    def _merged(self, runs: Sequence[pa.RecordBatch], whole: bool) -> pa.RecordBatch | None:
        """``runs``, of accumulators and perhaps elements, folded into one; None if they have to
        stay apart."""
        base, added = (None, runs) if are_elements(runs[0]) else (runs[0], runs[1:])
        if base is not None and not any(map(are_elements, added)):
            return self._combined(runs)
        if not whole or not all(map(are_elements, added)) or not of_one_kind(added):
            return None
        return self._folded(concatenated(added), base)

    def _folded(
        self,
        elements: pa.RecordBatch,
        base: pa.RecordBatch | None,
        places: Positions | None = None,
    ) -> pa.RecordBatch | None:
        """The accumulators of ``base`` after adding ``elements``; None if columns cannot hold
        them. Above them are those after each element at ``places``."""
        assert self._fold is not None
        keys, values = elements.column(key_column(elements)), elements_of(elements)
        start: pa.RecordBatch | None = None
        started: NDArray[np.bool_] | None = None
        if base is None:
            known, (groups, distinct) = 0, grouped(keys)
            touched = np.arange(len(distinct))
        elif base.column(0).type != keys.type:
            return None
        else:
            # The keys of a folded run are distinct, so their codes are their rows
            known = base.num_rows
            codes, distinct = grouped(pa.concat_arrays([base.column(0), keys]))
            touched, groups = np.unique(codes[known:], return_inverse=True)
            started = touched < known
            start = accumulators_of(base.take(pa.array(np.where(started, touched, 0))))
        count, of_rows = len(touched), distinct.take(pa.array(touched))
        if places is None:
            folded = self._fold.fold(values, groups, count, start, started)
        else:
            folded = self._fold.foldAfter(values, groups, count, places, start, started)
            of_rows = pa.concat_arrays([keys.take(pa.array(places)), of_rows])
        if folded is None:
            return None
        new = folded_run(of_rows, folded).batch
        if base is None:
            return new
        if not of_one_kind([folded, accumulators_of(base)]):
            return None
        above = len(of_rows) - count
        rows = np.arange(len(distinct))
        rows[touched] = known + above + np.arange(count)
        both = concatenated([base, new])
        return both.take(pa.array(np.r_[known + np.arange(above), rows]))

    def _combined(self, runs: Sequence[pa.RecordBatch]) -> pa.RecordBatch | None:
        """Folded runs combined into one; None if they are of several kinds."""
        assert self._fold is not None
        if len(runs) == 1:
            return runs[0]
        if not of_one_kind(runs):
            return None
        return self._joined(concatenated(runs))

    def _joined(self, run: pa.RecordBatch) -> pa.RecordBatch | None:
        """Folded rows combined into one for each key; None if columns cannot hold the result."""
        assert self._fold is not None
        codes, distinct = grouped(run.column(0))
        combined = combined_run(self._fold, run, distinct, codes)
        return None if combined is None else combined.batch
