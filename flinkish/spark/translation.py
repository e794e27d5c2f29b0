"""Translates a job graph to one streaming DataFrame of frames.

Each source becomes a ``mapInArrow`` over its DataFrame, and each level one ``transformWithState``. Rows for
a later level or a sink pass through the levels in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import cloudpickle

from flinkish.api.connectors.file_source import FileSource
from flinkish.api.errors import InvalidProgramError
from flinkish.api.plan.partitioning import BroadcastPartitioning, HashPartitioning
from flinkish.api.plan.windows import WindowOperatorDescription
from flinkish.graph.job_graph import JobEdge, JobGraph, JobVertex
from flinkish.graph.stream_graph import StreamNode
from flinkish.runtime.task.gates import Gate
from flinkish.runtime.task.plan import Exchange, ExitPlan, TaskSettings, VertexPlan
from flinkish.runtime.task.store import JobRun
from flinkish.spark.frame_rows import FRAME_SCHEMA
from flinkish.spark.placement import balanced_integers
from flinkish.spark.processor import GROUP, StageProcessor
from flinkish.spark.sinks.columns import sink_columns
from flinkish.spark.sources.function import ControlFunction, SourceFunction
from flinkish.spark.sources.reader import SourceStream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def vertex_plan(vertex: JobVertex) -> VertexPlan:
    """The plan of ``vertex`` for its tasks."""
    head = vertex.head
    return VertexPlan(
        vertex.uid,
        vertex.level,
        head.uid if head.isSource else None,
        tuple(head.outputs) if head.isSource else (),
        tuple(vertex.operators),
        tuple(_gate(edge) for edge in vertex.inputs),
        _single(vertex),
        tuple(_exit(edge) for edge in vertex.outputs),
        head.name if head.isSource else "",
        _malformed_records(head),
    )


def _malformed_records(head: StreamNode) -> str | None:
    content = head.content
    tag = content.malformedRecords if isinstance(content, FileSource) else None
    return None if tag is None else tag.getId()


def _single(vertex: JobVertex) -> bool:
    of_parallelism_1 = vertex.head.parallelism == 1
    return of_parallelism_1 or all(_exchange(edge) is Exchange.SINGLE for edge in vertex.inputs)


def _exit(edge: JobEdge) -> ExitPlan:
    source = next(node for node in edge.source.nodes if node.uid == edge.edge.sourceUid)
    columns = sink_columns(edge.target.head) if edge.target.head.isSink else None
    return ExitPlan(
        edge.edge,
        _gate(edge),
        _exchange(edge),
        source.name,
        _single(edge.target),
        columns,
        _window(edge),
    )


def _window(edge: JobEdge) -> WindowOperatorDescription | None:
    # Before the end of the batch a watermark would come between elements
    if not edge.folded or edge.target.head.isSink:
        return None
    operator = edge.target.head.operator
    return operator if isinstance(operator, WindowOperatorDescription) else None


def _gate(edge: JobEdge) -> Gate:
    return Gate(
        edge.target.level,
        edge.target.uid,
        edge.gate,
        edge.name,
        edge.edge.inputIndex,
        edge.source.head.isSource,
        edge.folded,
        getattr(edge.edge.partitioning, "name", None) == BroadcastPartitioning.name,
    )


def _exchange(edge: JobEdge) -> Exchange:
    if edge.target.head.isSink:
        return Exchange.SINK
    if not edge.target.head.operator.keyed:
        return Exchange.SINGLE
    if isinstance(edge.edge.partitioning, HashPartitioning):
        return Exchange.KEYED
    if isinstance(edge.edge.partitioning, BroadcastPartitioning):
        return Exchange.BROADCAST
    return Exchange.SINGLE


def translate(
    graph: JobGraph,
    sources: dict[str, SourceStream],
    control: DataFrame,
    settings: TaskSettings,
    run: JobRun | None,
) -> DataFrame:
    """The streaming DataFrame of the frames that arrive at the job's sinks.

    ``sources`` are the opened sources by uid, ``control`` is the control stream. ``run`` identifies the
    tasks that workers keep open between batches; None if they keep none.
    """
    from pyspark.sql import functions as F

    streams = [
        _source_frames(vertex, sources[vertex.uid], settings, run) for vertex in graph.sources
    ]
    ending = [v for v in graph.sources if not sources[v.uid].endsItself]
    streams.append(_control_frames(graph, ending, control, settings))
    frames = streams[0]
    for stream in streams[1:]:
        frames = frames.unionAll(stream)
    # Spark logs the timestamp of a batch, so a batch that is run again has the same one.
    frames = frames.withColumn("clock", F.unix_millis(F.current_timestamp()))
    for level in range(1, graph.levels):
        frames = _stage(frames, graph.stage(level), level, settings, run)
    return frames


def _source_frames(
    vertex: JobVertex, stream: SourceStream, settings: TaskSettings, run: JobRun | None
) -> DataFrame:
    payload = shipped(vertex.operators, (vertex_plan(vertex), settings, stream.decoder))
    # A source read whole in one batch has no next batch
    function = SourceFunction(payload, None if stream.whole else run, vertex.uid)
    return stream.dataframe.mapInArrow(function.__call__, FRAME_SCHEMA)


def _control_frames(
    graph: JobGraph, ending: list[JobVertex], control: DataFrame, settings: TaskSettings
) -> DataFrame:
    """``ending``: the sources whose rows do not announce their end."""
    bounded = [vertex_plan(v) for v in ending if v.head.content.bounded]  # type: ignore[union-attr]
    stages = [vertex_plan(v) for level in range(1, graph.levels) for v in graph.stage(level)]
    operators = [node for vertex in graph.vertices for node in vertex.operators]
    payload = shipped(operators, (bounded, stages, settings))
    return control.mapInArrow(ControlFunction(payload).__call__, FRAME_SCHEMA)


def _stage(
    frames: DataFrame,
    vertices: Sequence[JobVertex],
    level: int,
    settings: TaskSettings,
    run: JobRun | None,
) -> DataFrame:
    from pyspark.sql import functions as F

    operators = [node for vertex in vertices for node in vertex.operators]
    payload = shipped(operators, ([vertex_plan(vertex) for vertex in vertices], settings))
    own = balanced_integers(settings.keyGroups, settings.parallelism)
    own_groups = F.element_at(F.array(*map(F.lit, own)), F.col("key_group") + 1)
    passing = -1 - F.pmod(F.col("slice"), F.lit(settings.parallelism)).cast("int")
    grouped = frames.withColumn(
        GROUP, F.when(F.col("level") == level, own_groups).otherwise(passing)
    )
    return grouped.groupBy(GROUP).transformWithState(
        StageProcessor(payload, run, level),
        outputStructType=FRAME_SCHEMA,
        outputMode="append",
        timeMode="none",
    )


def shipped(operators: Sequence[StreamNode], content: Any) -> bytes:
    """``content`` as bytes for the workers. Raises InvalidProgramError, which names the operator, if a
    function cannot be pickled."""
    try:
        return bytes(cloudpickle.dumps(content))
    except Exception as error:
        for node in operators:
            for function in node.operator.userFunctions:
                _check_ships(node.name, function)
        raise InvalidProgramError(f"the job cannot be pickled for the workers: {error}") from error


def _check_ships(operator: str, function: Any) -> None:
    try:
        cloudpickle.dumps(function)
    except Exception as error:
        raise InvalidProgramError(
            f"{operator}: its function {function!r} cannot be pickled for the workers: {error}. It"
            " probably refers to a lock, a file, a connection or the SparkSession: create that in"
            " open() of a rich function instead."
        ) from None
