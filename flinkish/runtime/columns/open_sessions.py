"""``OpenSessions``: open sessions as rows of columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.windowing.windows import TimeWindow
from flinkish.runtime.columns.element_lists import ElementLists
from flinkish.runtime.columns.panes import Positions
from flinkish.runtime.columns.tracing.column_fold import ColumnFold
from flinkish.runtime.records.records import Hashes
from flinkish.runtime.records.rows import RowColumns, python_values

_START, _END, _KEY, _FIELDS = 2, 3, 4, 5
_NAMES = ("hash", "due", "start", "end", "key")

_GROWN = "flinkish.grown"
"""The last column of sessions with a dynamic gap: whether they are longer than the window that they
began with."""

Mask = NDArray[np.bool_]
Times = NDArray[np.int64]


@dataclass(frozen=True)
class OpenSession:
    """A session with its accumulator as a Python object."""

    key: Any
    window: TimeWindow
    stateWindow: TimeWindow
    """The window itself, or another if the session has grown."""
    accumulator: Any


class OpenSessions:
    """Open sessions, as rows of columns."""

    def __init__(self, rows: pa.RecordBatch, fold: ColumnFold | ElementLists) -> None:
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
        end = self.rows.num_columns - (self.grown is not None)
        return self.rows.select(list(range(_FIELDS, end)))

    @property
    def grown(self) -> Mask | None:
        """Which sessions have grown; None with a fixed gap, where it makes no difference."""
        if self.rows.schema.names[-1] != _GROWN:
            return None
        grown: Mask = self.rows.column(self.rows.num_columns - 1).to_numpy(zero_copy_only=False)
        return grown

    @property
    def stateEnds(self) -> Times:
        """The ends of windows that stand for the state windows: these are shorter if the sessions
        have grown."""
        return self.ends if self.grown is None else self.ends - self.grown

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
        for key, start, end, state_end, accumulator in zip(
            python_values(self.keys),
            self.starts.tolist(),
            self.ends.tolist(),
            self.stateEnds.tolist(),
            accumulators,
        ):
            yield OpenSession(
                key, TimeWindow(start, end), TimeWindow(start, state_end), accumulator
            )

    def _numbers(self, column: int) -> Times:
        numbers: Times = self.rows.column(column).to_numpy()
        return numbers


def session_rows(
    hashes: Hashes,
    starts: Times,
    ends: Times,
    keys: pa.Array,
    folded: pa.RecordBatch,
    grown: Mask | None,
) -> pa.RecordBatch:
    """Rows of sessions that have not fired."""
    if grown is not None:
        folded = folded.append_column(_GROWN, pa.array(grown))
    arrays = [*map(pa.array, (hashes, ends - 1, starts, ends)), keys]
    fields = [(name, array.type) for name, array in zip(_NAMES, arrays)]
    fields += [(field.name, field.type) for field in folded.schema]
    schema = pa.schema(fields, metadata=folded.schema.metadata)
    return pa.RecordBatch.from_arrays([*arrays, *folded.columns], schema=schema)
