"""Converts a retained checkpoint to a savepoint: a job may begin from any batch that the checkpoint
still has.

A job that was killed has planned a batch, and may have written it in part. That batch is first finished in
the checkpoint, as if the job went on there: with the parallelism, the writers and the marks by which sinks
recognise a batch that comes again.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING

from flinkish.api.environment.configuration import ExecutionConfig
from flinkish.api.environment.savepoint_settings import SavepointRestoreSettings
from flinkish.api.errors import CheckpointStorageError, JobExecutionError, NotSupportedError
from flinkish.api.plan.transformations import SinkTransformation
from flinkish.deployment.savepoint.metadata import METADATA
from flinkish.spark.checkpoint.plan import CheckpointPlan
from flinkish.spark.checkpoint.storage import CheckpointStorage
from flinkish.spark.job import SparkJobClient
from flinkish.spark.queries import Queries
from flinkish.spark.sinks.delivery import COMMITS, delivered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger("flinkish")

_BATCH = re.compile(r"(.+?)/+chk-(\d+)/*")
"""Flink's name of a checkpoint in its directory."""

_SAVEPOINT = "begun-from"


def restore_path(
    session: SparkSession,
    config: ExecutionConfig,
    sinks: Sequence[SinkTransformation],
    begin: SavepointRestoreSettings,
    storage: CheckpointStorage,
    jobName: str | None,
) -> str:
    """The directory of the savepoint to restore.

    The path of ``begin`` may also be a checkpoint's directory, or ``chk-N`` in one, which means batch
    N: its state is written as a savepoint into the new checkpoint, ``storage``. The job must be the
    one that wrote the checkpoint. Without a ``jobName`` the query is the user's, and cannot finish a
    batch.
    """
    path = begin.getRestorePath()
    assert path is not None
    found = _BATCH.fullmatch(path)
    directory, batch = (path, None) if found is None else (found.group(1), int(found.group(2)))
    checkpoint = CheckpointStorage(session, directory)
    if checkpoint.readText(METADATA) is not None or not checkpoint.holds("plan"):
        return path
    plan = CheckpointPlan(checkpoint)
    own = copy(config)
    own.parallelism = own.maxParallelism = None
    name = jobName or "checkpoint"
    queries = Queries(session, own, checkpoint, plan, sinks, directory, name, single=True)
    plan.check(queries.graph, queries.settings)
    last = checkpoint.lastBatch(COMMITS)
    if batch in (None, last) and not begin.allowRepeatedOutput() and _is_unfinished(checkpoint):
        _finish(queries, directory, jobName is None)
        batch = last = checkpoint.lastBatch(COMMITS)
    batch = last if batch is None else batch
    if batch is None or last is None:
        raise CheckpointStorageError(
            f"setSavepoint: the checkpoint {directory} has no finished batch. Pass what its job was begun from, or"
            " leave setSavepoint out to begin with the first element."
        )
    if not checkpoint.holds(f"{COMMITS}/{batch}"):
        raise CheckpointStorageError(
            f"setSavepoint: the checkpoint {directory} does not have the batch {batch}, but the last ones up to"
            f" {last}. Spark keeps as many as spark.sql.streaming.minBatchesToRetain says, 100 if it is not set."
        )
    if batch < last:
        _LOG.warning(
            "the job begins after batch %d of the checkpoint %s, so the output of its batches %d to %d comes again",
            *(batch, directory, batch + 1, last),
        )
    target = storage.child(_SAVEPOINT)
    queries.writeSavepoint(target, batch)
    return target


def _is_unfinished(checkpoint: CheckpointStorage) -> bool:
    """Whether a batch was planned that is not committed, or not delivered to the sinks."""
    last, planned = checkpoint.lastBatch(COMMITS), checkpoint.lastBatch("query/offsets")
    noted = delivered(checkpoint)
    return planned != last or (noted is not None and last is not None and noted < last)


def _finish(queries: Queries, directory: str, isUsers: bool) -> None:
    """Run the batch that was planned last, in the checkpoint ``directory``."""
    left = f"the last run on the checkpoint {directory} has left a batch unfinished, which"
    otherwise = "Or pass allowRepeatedOutput=True, to begin before it and write its output again."
    if isUsers:
        raise NotSupportedError(
            f"toDataFrame: {left} only the job with its sinks can finish: start that there, and stop it with a"
            f" savepoint. {otherwise}"
        )
    try:
        with queries.starting():
            client = SparkJobClient(queries, cleanUp=lambda: None)
        client.getJobExecutionResult()
    except Exception as error:
        raise JobExecutionError(
            f"setSavepoint: {left} may be written in part and has to be finished first, and that failed: {error}"
            f" Fix it, and start again. {otherwise}"
        ) from error
