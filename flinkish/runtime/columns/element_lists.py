"""``ElementLists``: the elements of open sessions as columns, for functions that get all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.runtime.columns.panes import Positions
from flinkish.runtime.records.rows import RowColumns, bounds_of, by_code, decoded
from flinkish.runtime.records.shapes import shape_of, with_shape

_NAME = "elements"


class ElementLists:
    """Lists elements where ``ColumnFold`` folds them: the accumulator of a session is a row with the
    list of its elements, in the order in which ``MergingWindowSet`` has them listed."""

    def follows(self, values: RowColumns) -> bool:
        """Whether elements like ``values`` can be listed as columns."""
        return bool(values.schema.types) and not values.mayDiffer

    def mergesInAnyOrder(self, values: RowColumns) -> bool:
        """See ``ColumnFold``: the order of a list is that of the merges."""
        return False

    def merges(self, values: RowColumns) -> bool:
        """See ``ColumnFold``."""
        return True

    def listed(
        self,
        stored: pa.RecordBatch | None,
        values: RowColumns,
        sessions: Positions,
        count: int,
        places: Positions | None,
    ) -> pa.RecordBatch | None:
        """The elements of ``count`` sessions: those of the rows of ``stored``, and ``values``.
        ``sessions`` and ``places``: for each row and then for each value, its session and its place
        there; None: in this order. None if the rows are of other elements."""
        columns = decoded(values.batch).columns
        elements = pa.StructArray.from_arrays(columns, [str(n) for n in range(len(columns))])
        schema = pa.schema([(_NAME, pa.list_(elements.type))])
        schema = with_shape(schema, values.shape)
        if stored is not None:
            if not stored.schema.equals(schema, check_metadata=True):
                return None
            lists = stored.column(0)
            repeats = np.append(_lengths(lists), np.ones(len(values), dtype=np.intp))
            sessions = np.repeat(sessions, repeats)
            places = None if places is None else np.repeat(places, repeats)
            elements = pa.concat_arrays([lists.flatten(), elements])
        order = by_code(sessions, count) if places is None else np.lexsort((places, sessions))
        ordered = elements.take(pa.array(order))
        offsets = bounds_of(np.bincount(sessions, minlength=count))
        lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), ordered)
        return pa.RecordBatch.from_arrays([lists], schema=schema)

    @staticmethod
    def hasMade(folded: pa.RecordBatch) -> bool:
        """Whether ``folded`` are lists of elements."""
        return folded.schema.names == [_NAME] and bool(pa.types.is_list(folded.schema.types[0]))

    def results(self, folded: pa.RecordBatch) -> None:
        """The window function is called for each session."""

    def accumulators(self, folded: pa.RecordBatch) -> list[Any]:
        """The elements of each session as a list of objects."""
        lists = folded.column(0)
        columns = lists.flatten().flatten()
        batch = pa.RecordBatch.from_arrays(columns, [str(n) for n in range(len(columns))])
        elements = RowColumns(batch, shape_of(folded.schema))
        elements.encodeTexts()
        return list(elements.parts(bounds_of(_lengths(lists)).tolist()))


def _lengths(lists: pa.ListArray) -> NDArray[np.intp]:
    lengths: NDArray[np.intp] = lists.value_lengths().to_numpy().astype(np.intp)
    return lengths
