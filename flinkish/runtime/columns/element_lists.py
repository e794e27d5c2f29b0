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
    list of its elements, in the order of their arrival."""

    def follows(self, values: RowColumns) -> bool:
        """Whether elements like ``values`` can be listed as columns."""
        return bool(values.schema.types)

    def mergesInAnyOrder(self, values: RowColumns) -> bool:
        """The elements of sessions that merge come one session behind the other."""
        return False

    def fold(
        self,
        values: RowColumns,
        groups: Positions,
        count: int,
        start: pa.RecordBatch | None = None,
        started: NDArray[np.bool_] | None = None,
    ) -> pa.RecordBatch | None:
        """The elements of each group behind those in its row of ``start``, if it has ``started``; None:
        all have. None if the elements are no columns, or others than those of ``start``."""
        if values.mayDiffer:
            return None
        columns = decoded(values.batch).columns
        elements = pa.StructArray.from_arrays(columns, [str(n) for n in range(len(columns))])
        schema = pa.schema([(_NAME, pa.list_(elements.type))])
        schema = with_shape(schema, values.shape)
        if start is not None:
            if not start.schema.equals(schema, check_metadata=True):
                return None
            before = start.column(0)
            rows = np.arange(count)
            if started is not None:
                before, rows = before.filter(pa.array(started)), rows[started]
            groups = np.concatenate([np.repeat(rows, _lengths(before)), groups])
            elements = pa.concat_arrays([before.flatten(), elements])
        ordered = elements.take(pa.array(by_code(groups, count)))
        offsets = bounds_of(np.bincount(groups, minlength=count))
        lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), ordered)
        return pa.RecordBatch.from_arrays([lists], schema=schema)

    @staticmethod
    def hasMade(folded: pa.RecordBatch) -> bool:
        """Whether ``folded`` are lists of elements."""
        return folded.schema.names == [_NAME] and bool(pa.types.is_list(folded.schema.types[0]))

    def combine(self, parts: pa.RecordBatch, groups: Positions, count: int) -> None:
        """Sessions whose parts merge are kept one by one."""

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
