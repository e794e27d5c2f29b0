"""``ColumnUse``: the columns of a source that its task uses, as far as its functions can be traced.

Elements are the source's Rows until a function converts them. The trace of a function says which
columns it reads, and so does the fold before a shuffle, after which there are only accumulators.
Any other reader may use a whole element, and needs all columns.

This only decides which columns are read at once. Code that needs another column still gets it
(``PartlyRead``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from flinkish.api.eventtime.watermarks import TimestampAssigner
from flinkish.api.plan.operators import (
    FilterDescription,
    MapDescription,
    TimestampsAndWatermarksDescription,
)
from flinkish.api.plan.partitioning import HashPartitioning
from flinkish.runtime.columns.panes import PaneFold
from flinkish.runtime.columns.tracing.column_function import ColumnFunction, may_be_traced
from flinkish.runtime.formats.base import FileFormat
from flinkish.runtime.formats.parquet_format import ParquetFormat
from flinkish.runtime.records.keys import has_dictionary
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.task.chain import ChainedEdge, ChainedNode
from flinkish.runtime.task.plan import Exchange, ExitPlan, VertexPlan

Numbers = frozenset[int]

_NONE: Numbers = frozenset()


@dataclass(frozen=True)
class ColumnUse:
    """The indices (``numbers``) of the columns that are used; None: all, as the operator with the
    uid ``reader`` may use whole elements."""

    numbers: Numbers | None
    reader: str = ""


def column_use(plan: VertexPlan, schema: pa.Schema) -> ColumnUse:
    """The columns of rows of ``schema`` that a source's task uses if functions are traced."""
    rows = RowColumns(pa.RecordBatch.from_pylist([], schema=schema))
    try:
        return ColumnUse(_Reading(plan, rows).ofEdges(plan.sourceEdges))
    except _WholeElements as found:
        return ColumnUse(None, *found.args)


def with_columns_used(format_: FileFormat, plan: VertexPlan, traces: bool) -> FileFormat:
    """``format_``, the format of the source of ``plan``, set to read at once only the columns that
    the task uses, if the format can. ``traces``: whether functions are traced."""
    if not isinstance(format_, ParquetFormat) or not traces:
        return format_
    return replace(format_, used=column_use(plan, format_.schema).numbers)


class _WholeElements(Exception):
    """The operator with the uid that is the argument may use whole elements."""


class _Reading:
    """Finds the columns that are read of elements like ``rows``, which is empty. Methods raise
    _WholeElements if any column may be read."""

    def __init__(self, plan: VertexPlan, rows: RowColumns) -> None:
        self._plan = plan
        self._rows = rows
        self._nodes = {node.uid: node for node in plan.nodes}

    def ofEdges(self, edges: Iterable[ChainedEdge]) -> Numbers:
        """The columns read by everything that the edges lead to."""
        return _NONE.union(*(self._of_edge(edge) for edge in edges))

    def _of_edge(self, edge: ChainedEdge) -> Numbers:
        node = self._nodes.get(edge.targetUid)
        if node is None:
            return self._of_exit(next(e for e in self._plan.exits if e.edge is edge))
        forward = edge.sideOutput is None and not isinstance(edge.partitioning, HashPartitioning)
        if not forward or len(node.inputs) > 1:
            raise _WholeElements(node.uid)
        return self._of_operator(node)

    def _of_operator(self, node: ChainedNode) -> Numbers:
        description = node.operator
        if isinstance(description, MapDescription):
            return self._of_function(node, description.call)
        if isinstance(description, FilterDescription):
            return self._of_function(node, description.call) | self.ofEdges(node.outputs)
        if isinstance(description, TimestampsAndWatermarksDescription) and not description.stateful:
            read = self.ofEdges(node.outputs)
            assigner = description.strategy.timestampAssigner
            if isinstance(assigner, TimestampAssigner):
                assigner = assigner.extractTimestamp
            return read if assigner is None else read | self._of_function(node, assigner, 2)
        raise _WholeElements(node.uid)

    def _of_exit(self, plan: ExitPlan) -> Numbers:
        """The columns read by the writer of an edge that leaves the task."""
        fold = None if plan.window is None else PaneFold.before(plan.window)
        if plan.exchange is not Exchange.KEYED or fold is None:
            raise _WholeElements(plan.gate.target)
        # Elements are folded only if their key is a column
        partitioning = plan.edge.partitioning
        assert isinstance(partitioning, HashPartitioning)
        key = ColumnFunction(partitioning.keySelector).passes(self._rows)
        if key is None or not has_dictionary(self._rows.schema.types[key]):
            raise _WholeElements(plan.gate.target)
        folding, read = fold.fold.plan(self._rows), fold.fold.reads(self._rows)
        if folding is None or read is None or not folding.combination.exactInAnyGrouping:
            raise _WholeElements(plan.gate.target)
        return frozenset({key, *read})

    def _of_function(
        self, node: ChainedNode, function: Callable[..., Any], arguments: int = 1
    ) -> Numbers:
        traced = may_be_traced(function)
        read = ColumnFunction(function, arguments).reads(self._rows) if traced else None
        if read is None:
            raise _WholeElements(node.uid)
        return frozenset(read)
