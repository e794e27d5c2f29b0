"""Converts a retained checkpoint to a savepoint: a job may begin from any batch that the checkpoint
still has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING

from flinkish.api.connectors.source import Source
from flinkish.api.environment.configuration import ExecutionConfig
from flinkish.api.errors import CheckpointStorageError
from flinkish.api.plan.transformations import SinkTransformation
from flinkish.deployment.savepoint.metadata import METADATA
from flinkish.deployment.task_settings import task_settings
from flinkish.graph.job_graph import JobGraph
from flinkish.graph.stream_graph import StreamGraph
from flinkish.spark.checkpoint.plan import CheckpointPlan
from flinkish.spark.checkpoint.storage import CheckpointStorage
from flinkish.spark.savepoint import JobSavepoints
from flinkish.spark.sources.reader import SourceReader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BATCH = re.compile(r"(.+?)/+chk-(\d+)/*")
"""Flink's name of a checkpoint in its directory."""

_SAVEPOINT = "begun-from"


def restore_path(
    session: SparkSession,
    config: ExecutionConfig,
    sinks: Sequence[SinkTransformation],
    path: str,
    storage: CheckpointStorage,
) -> str:
    """The directory of the savepoint to restore for ``path``.

    ``path`` may also be a checkpoint's directory, or ``chk-N`` in one, which means batch N: its
    state is written as a savepoint into the new checkpoint, ``storage``. The job must be the one
    that wrote the checkpoint.
    """
    found = _BATCH.fullmatch(path)
    directory, batch = (path, None) if found is None else (found.group(1), int(found.group(2)))
    checkpoint = CheckpointStorage(session, directory)
    if checkpoint.readText(METADATA) is not None or not checkpoint.holds("plan"):
        return path
    plan = CheckpointPlan(checkpoint)
    last = checkpoint.lastBatch("query/commits")
    batch = last if batch is None else batch
    if batch is None or not checkpoint.holds(f"query/commits/{batch}"):
        kept = "no finished batch" if last is None else f"the last ones up to {last}"
        raise CheckpointStorageError(
            f"setSavepoint: the checkpoint {directory} does not have the batch {batch}, but {kept}. Spark keeps"
            " as many as spark.sql.streaming.minBatchesToRetain says, 100 if it is not set."
        )
    own = copy(config)
    own.maxParallelism = None
    graph = JobGraph(StreamGraph.of(sinks, plan.identities))
    parallelism = plan.parallelism
    assert parallelism is not None
    settings = task_settings(graph, own, parallelism, plan.maxParallelism, plan.keyGroups)
    plan.check(graph, settings)
    reader = SourceReader(
        session,
        checkpoint,
        config.elementsPerBatch,
        config.elementsHiddenInErrors,
        positions=plan.positions,
    )
    streams = {}
    for vertex in graph.sources:
        source = vertex.head.content
        assert isinstance(source, Source)
        streams[vertex.uid] = reader.streamOf(source, vertex.uid)
    target = storage.child(_SAVEPOINT)
    savepoints = JobSavepoints(
        session=session,
        storage=checkpoint,
        plan=plan,
        graph=graph,
        settings=settings,
        sources=streams,
    )
    savepoints.writeBatch(target, batch, "checkpoint")
    return target
