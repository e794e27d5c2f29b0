"""The plan of a job with what is known of its functions: which run over columns, and what sources read."""

from __future__ import annotations

from collections.abc import Iterator

from flinkish.api.connectors.file_source import FileSource
from flinkish.api.errors import FlinkishError
from flinkish.api.plan.partitioning import HashPartitioning
from flinkish.api.types.table_schema import table_schema
from flinkish.deployment.vertex_plans import vertex_plan
from flinkish.graph.job_graph import JobGraph, JobVertex
from flinkish.graph.job_plan import JobPlan
from flinkish.graph.stream_graph import StreamNode
from flinkish.runtime.explanation import explained, explained_key
from flinkish.runtime.formats.file_formats import file_format
from flinkish.runtime.formats.parquet_format import ParquetFormat
from flinkish.runtime.task.column_use import ColumnUse, column_use


def explained_plan(graph: JobGraph, traces: bool) -> JobPlan:
    """The plan of ``graph``. ``traces``: whether functions are traced."""
    sources = {vertex.uid: vertex for vertex in graph.sources}
    names = {node.uid: node.name for vertex in graph.vertices for node in vertex.nodes}

    def lines(node: StreamNode) -> Iterator[str]:
        selectors = {
            (edge.inputIndex, id(edge.partitioning.keySelector)): edge.partitioning.keySelector
            for edge in node.inputs
            if isinstance(edge.partitioning, HashPartitioning)
        }
        # Those of a union have the same
        for selector in selectors.values():
            yield explained_key(selector, traces)
        if node.isSource:
            yield from _columns_read(sources[node.uid], names, traces)
        elif not node.isSink:
            yield from explained(node.operator, traces)
            yield from node.operator.drawing

    return JobPlan(graph, lines)


def _columns_read(vertex: JobVertex, names: dict[str, str], traces: bool) -> Iterator[str]:
    """A line that says which columns a source of Parquet reads."""
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
        return  # which the job raises when it starts
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
