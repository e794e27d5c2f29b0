"""The plan of a vertex for its tasks (Flink: ``TaskDeploymentDescriptor``), and how it is shipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flinkish.api.connectors.file_source import FileSource
from flinkish.api.connectors.function_source import FunctionSource
from flinkish.api.connectors.kafka.sink import KafkaSink
from flinkish.api.connectors.kafka.source import KafkaSource
from flinkish.api.connectors.sink import ForEachPartitionSink, Sink
from flinkish.api.connectors.source import Source
from flinkish.api.errors import InvalidProgramError
from flinkish.api.pickled_functions import dumps
from flinkish.api.plan.partitioning import BroadcastPartitioning, HashPartitioning
from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.deployment.sink_columns import sink_buckets, sink_columns
from flinkish.deployment.unpicklable import refuse_unpicklable
from flinkish.graph.job_graph import JobEdge, JobVertex
from flinkish.graph.stream_graph import StreamNode
from flinkish.runtime.sinks.part_files import PartFiles
from flinkish.runtime.task.gates import Gate
from flinkish.runtime.task.plan import Exchange, ExitPlan, VertexPlan

_NO_FILES: Mapping[str, PartFiles] = {}


def vertex_plan(vertex: JobVertex, files: Mapping[str, PartFiles] = _NO_FILES) -> VertexPlan:
    """The plan of ``vertex`` for its tasks. ``files``: sinks that tasks write, by uid."""
    head = vertex.head
    return VertexPlan(
        uid=vertex.uid,
        level=vertex.level,
        source=head.uid if head.isSource else None,
        sourceEdges=tuple(head.outputs) if head.isSource else (),
        nodes=tuple(vertex.operators),
        gates=tuple(_gate(edge) for edge in vertex.inputs),
        single=_single(vertex),
        exits=tuple(_exit(edge, files) for edge in vertex.outputs),
        sourceName=head.name if head.isSource else "",
        malformedRecords=_malformed_records(head),
        bySplit=is_by_split(vertex),
    )


def _malformed_records(head: StreamNode) -> str | None:
    content = head.content
    if not isinstance(content, (FileSource, KafkaSource)) or content.malformedRecords is None:
        return None
    return content.malformedRecords.getId()


def is_by_split(vertex: JobVertex) -> bool:
    """Whether the splits of the vertex's input are distributed over several key groups."""
    head = vertex.head
    if head.isSource or head.isSink or head.parallelism == 1:
        return False
    return not head.operator.keyed and head.operator.splits is not None


def _single(vertex: JobVertex) -> bool:
    of_parallelism_1 = vertex.head.parallelism == 1
    return of_parallelism_1 or all(_exchange(edge) is Exchange.SINGLE for edge in vertex.inputs)


def _exit(edge: JobEdge, files: Mapping[str, PartFiles]) -> ExitPlan:
    source = next(node for node in edge.source.nodes if node.uid == edge.edge.sourceUid)
    columns = sink_columns(edge.target.head) if edge.target.head.isSink else None
    return ExitPlan(
        edge=edge.edge,
        gate=_gate(edge),
        exchange=_exchange(edge),
        operator=source.name,
        single=_single(edge.target),
        columns=columns,
        window=_window(edge),
        buckets=sink_buckets(edge.target.head),
        files=files.get(edge.target.uid),
        splits=edge.target.head.operator.splits if is_by_split(edge.target) else None,
    )


def _window(edge: JobEdge) -> WindowOperatorDescription | None:
    if edge.target.head.isSink:
        return None
    operator = edge.target.head.operator
    return operator if isinstance(operator, WindowOperatorDescription) else None


def _gate(edge: JobEdge) -> Gate:
    return Gate(
        level=edge.target.level,
        target=edge.target.uid,
        index=edge.gate,
        name=edge.name,
        inputIndex=edge.edge.inputIndex,
        sequential=edge.source.head.isSource,
        folded=edge.folded,
        broadcast=getattr(edge.edge.partitioning, "name", None) == BroadcastPartitioning.name,
        joinsSplits=is_by_split(edge.source) and not edge.folded and not edge.target.head.isSink,
        strategy=edge.strategy,
    )


def _exchange(edge: JobEdge) -> Exchange:
    if edge.target.head.isSink:
        return Exchange.SINK
    if is_by_split(edge.target):
        return Exchange.SPLIT
    if not edge.target.head.operator.keyed:
        return Exchange.SINGLE
    if isinstance(edge.edge.partitioning, HashPartitioning):
        return Exchange.KEYED
    if isinstance(edge.edge.partitioning, BroadcastPartitioning):
        return Exchange.BROADCAST
    return Exchange.SINGLE


def shipped(operators: Sequence[StreamNode], content: Any) -> bytes:
    """``content`` as bytes for the workers. Raises InvalidProgramError, which names the operator, if a
    function cannot be pickled."""
    try:
        return dumps(content)
    except Exception as error:
        refuse_unpicklable(operators, content, error)


def shipped_source(source: Source[Any]) -> bytes:
    """A user's source as bytes. Raises InvalidProgramError if it cannot be pickled."""
    name, method = type(source).__name__, "read()"
    if isinstance(source, FunctionSource):
        name, method = source.name, "run(ctx)"
    return _shipped(
        source, f"{name}: the source", "process that reads it", f"open that in {method}"
    )


def shipped_sink(name: str, sink: Sink[Any]) -> bytes:
    """A sink that workers write as bytes. Raises InvalidProgramError if it cannot be pickled."""
    place = "serialize()" if isinstance(sink, KafkaSink) else "createWriter(context)"
    if isinstance(sink, ForEachPartitionSink):
        place = "the function"
    return _shipped(
        sink, f"{name}: the {type(sink).__name__}", "workers", f"create that in {place}"
    )


def _shipped(value: Any, subject: str, receiver: str, fix: str) -> bytes:
    try:
        return dumps(value)
    except Exception as error:
        raise InvalidProgramError(
            f"{subject} cannot be pickled for the {receiver}: {error}. It probably has a lock, a file or a"
            f" connection: {fix}."
        ) from error
