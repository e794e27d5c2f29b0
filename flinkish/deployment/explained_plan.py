"""The plan of a job, with which functions are vectorised and which columns are read."""

from __future__ import annotations

from collections.abc import Iterator

from flinkish.api.connectors.file_source import FileSource
from flinkish.api.connectors.source import DataFrameSource
from flinkish.api.connectors.table_source import TableSource
from flinkish.api.errors import FlinkishError
from flinkish.api.plan.partitioning import HashPartitioning
from flinkish.api.types.table_schema import table_schema
from flinkish.deployment.vertex_plans import vertex_plan
from flinkish.graph.job_graph import JobGraph, JobVertex
from flinkish.graph.job_plan import JobPlan
from flinkish.graph.stream_graph import NodeContent, StreamNode
from flinkish.runtime.explanation import elements_behind, explained, explained_key, typical_elements
from flinkish.runtime.formats.arrow_types import arrow_schema
from flinkish.runtime.formats.file_formats import file_format
from flinkish.runtime.formats.parquet_format import ParquetFormat
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.task.column_use import ColumnUse, column_use


def explained_plan(graph: JobGraph, traces: bool) -> JobPlan:
    """The plan of ``graph``. ``traces``: whether functions are traced."""
    sources = {vertex.uid: vertex for vertex in graph.sources}
    names = {node.uid: node.name for vertex in graph.vertices for node in vertex.nodes}

    nodes = {node.uid: node for vertex in graph.vertices for node in vertex.nodes}
    known: dict[str, RowColumns | None] = {}

    def behind(node: StreamNode) -> RowColumns | None:
        if node.uid not in known:
            known[node.uid] = (
                _elements_of(node.content)
                if node.isSource
                else elements_behind(node.operator, before(node))
            )
        return known[node.uid]

    def before(node: StreamNode) -> RowColumns | None:
        """Typical input of ``node``; None if its inputs differ."""
        if any(edge.sideOutput is not None for edge in node.inputs) or not traces:
            return None
        found = [behind(nodes[edge.sourceUid]) for edge in node.inputs]
        first = found[0] if found else None
        alike = first is not None and all(
            other is not None and other.schema.equals(first.schema) and other.shape == first.shape
            for other in found
        )
        return first if alike else None

    def lines(node: StreamNode) -> Iterator[str]:
        selectors = {
            (edge.inputIndex, id(edge.partitioning.keySelector)): edge.partitioning.keySelector
            for edge in node.inputs
            if isinstance(edge.partitioning, HashPartitioning)
        }
        # The inputs of a union have the same lines
        for selector in selectors.values():
            yield explained_key(selector, traces, before(node))
        if node.isSource:
            yield from _columns_read(sources[node.uid], names, traces)
        elif not node.isSink:
            yield from explained(node.operator, traces, before(node))
            yield from node.operator.drawing

    return JobPlan(graph, lines)


def _elements_of(source: NodeContent) -> RowColumns | None:
    """Typical elements of a source of tables; None for any other source."""
    try:
        if isinstance(source, TableSource):
            return typical_elements(source.table.schema)
        if isinstance(source, DataFrameSource):
            return typical_elements(arrow_schema(table_schema(source.dataframe.schema)))
        if isinstance(source, FileSource) and source.schema is not None:
            return typical_elements(arrow_schema(table_schema(source.schema)))
    except FlinkishError:
        pass  # the job raises it when it starts
    return None


def _columns_read(vertex: JobVertex, names: dict[str, str], traces: bool) -> Iterator[str]:
    """A line that says which columns a Parquet source reads."""
    source = vertex.head.content
    if not isinstance(source, FileSource) or source.schema is None:
        return
    try:
        schema = table_schema(source.schema)
        format_ = file_format(source, schema)
        if not isinstance(format_, ParquetFormat):
            return
        use = column_use(vertex_plan(vertex), format_.schema) if traces else ColumnUse(None)
    except FlinkishError:
        return  # the job raises it when it starts
    names_of = schema.fieldNames
    if use.numbers is not None and len(use.numbers) == len(names_of):
        yield f"reads all {len(names_of)} columns"
    elif use.numbers is not None:
        used = ", ".join(names_of[number] for number in sorted(use.numbers))
        yield f"reads {used or 'none'} of {len(names_of)} columns"
    elif traces:
        yield f"reads all columns, as {names[use.reader]} may look at whole elements"
    else:
        yield "reads all columns, as functions are not traced (disableFunctionTracing)"
