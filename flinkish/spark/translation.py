"""Translates a job graph to one DataFrame of frames, a streaming one unless the job runs in BATCH.

Each source becomes a ``mapInArrow`` over its DataFrame, and each level one ``transformWithState``. Rows for
a later level or a sink pass through the levels in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pyspark import cloudpickle
from pyspark.cloudpickle import register_pickle_by_value

from flinkish.deployment.vertex_plans import shipped, vertex_plan
from flinkish.graph.job_graph import JobGraph, JobVertex
from flinkish.runtime.sinks.part_files import PartFiles
from flinkish.runtime.task.column_use import with_columns_used
from flinkish.runtime.task.plan import TaskSettings
from flinkish.runtime.task.store import JobRun
from flinkish.spark import processor
from flinkish.spark.batch_stage import run_batch_stage
from flinkish.spark.frame_rows import FRAME_SCHEMA
from flinkish.spark.placement import balanced_integers
from flinkish.spark.processor import GROUP, StageProcessor
from flinkish.spark.session.drivers import driver_of
from flinkish.spark.sources.decoding import FilePieceDecoder
from flinkish.spark.sources.function import ControlFunction, SourceFunction
from flinkish.spark.sources.reader import SourceStream
from flinkish.spark.stage_run import StageRun

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# For each stage of a query Spark starts a process that only asks for the states of the stage. It
# would import all of flinkish to find the class of the processor, which took half of its time.
register_pickle_by_value(processor)  # type: ignore[no-untyped-call]


def translate(
    graph: JobGraph,
    sources: dict[str, SourceStream],
    control: DataFrame,
    settings: TaskSettings,
    files: Mapping[str, PartFiles],
    run: JobRun | None = None,
) -> DataFrame:
    """The DataFrame of the frames that arrive at the job's sinks: a static one in BATCH mode.

    ``sources`` are the opened sources by uid, ``control`` is the control stream, or in BATCH mode has
    the signal of the end of the input, and ``files`` are the sinks that tasks write, by uid. ``run``
    identifies the tasks that workers keep open between batches; None if workers keep no tasks.
    """
    from pyspark.sql import functions as F

    streams = [
        _source_frames(vertex, sources[vertex.uid], settings, files, run)
        for vertex in graph.sources
    ]
    ending = [v for v in graph.sources if not sources[v.uid].endsItself]
    streams.append(_control_frames(graph, ending, control, settings))
    frames = streams[0]
    for stream in streams[1:]:
        frames = frames.unionAll(stream)
    # Spark logs the timestamp of a batch, so a batch that runs again has the same timestamp.
    frames = frames.withColumn("clock", F.unix_millis(F.current_timestamp()))
    for level in range(1, graph.levels):
        vertices = graph.stage(level)
        plans = [vertex_plan(vertex, files) for vertex in vertices]
        payload = shipped([n for v in vertices for n in v.operators], (plans, settings))
        grouped = _grouped(frames, level, settings)
        if settings.batch:
            sorted_ = grouped.repartition(settings.parallelism, GROUP).sortWithinPartitions(GROUP)
            frames = sorted_.mapInArrow(partial(run_batch_stage, payload), FRAME_SCHEMA)
        else:
            frames = grouped.groupBy(GROUP).transformWithState(
                StageProcessor(_pickled(frames, StageRun(payload, run, level))),
                outputStructType=FRAME_SCHEMA,
                outputMode="append",
                timeMode="none",
            )
    return frames


def _source_frames(
    vertex: JobVertex,
    stream: SourceStream,
    settings: TaskSettings,
    files: Mapping[str, PartFiles],
    run: JobRun | None,
) -> DataFrame:
    plan, decoder = vertex_plan(vertex, files), stream.decoder
    if isinstance(decoder, FilePieceDecoder):
        format_ = with_columns_used(decoder.format, plan, settings.tracesFunctions)
        decoder = replace(decoder, format=format_)
    payload = shipped(vertex.operators, (plan, settings, decoder))
    # A source that one batch reads completely has no next batch
    function = SourceFunction(payload, None if stream.whole else run, vertex.uid)
    return _mapped(stream.dataframe, function)


def _control_frames(
    graph: JobGraph, ending: list[JobVertex], control: DataFrame, settings: TaskSettings
) -> DataFrame:
    """``ending``: the sources whose rows do not signal their end."""
    bounded = [vertex_plan(v) for v in ending if v.source.bounded]
    stages = [vertex_plan(v) for level in range(1, graph.levels) for v in graph.stage(level)]
    operators = [node for vertex in graph.vertices for node in vertex.operators]
    payload = shipped(operators, (bounded, stages, settings))
    return _mapped(control, ControlFunction(payload))


def _mapped(frame: DataFrame, function: SourceFunction | ControlFunction) -> DataFrame:
    return frame.mapInArrow(
        driver_of(frame.sparkSession).travelling(function.__call__), FRAME_SCHEMA
    )


def _pickled(frames: DataFrame, stage: StageRun) -> bytes:
    # The pickler that knows which modules are pickled by value
    pickled = cloudpickle.dumps(driver_of(frames.sparkSession).travelling(stage))  # type: ignore[no-untyped-call]
    return bytes(pickled)


def _grouped(frames: DataFrame, level: int, settings: TaskSettings) -> DataFrame:
    """``frames`` with each row's group: a key group of ``level``, or rows to pass on."""
    from pyspark.sql import functions as F

    own = balanced_integers(settings.keyGroups, settings.parallelism)
    own_groups = F.element_at(F.array(*map(F.lit, own)), F.col("key_group") + 1)
    passing = -1 - F.pmod(F.col("slice"), F.lit(settings.parallelism)).cast("int")
    return frames.withColumn(GROUP, F.when(F.col("level") == level, own_groups).otherwise(passing))
