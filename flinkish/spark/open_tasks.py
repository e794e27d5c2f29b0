"""The driver's side of the ``TaskStore``: tasks that workers keep open between batches."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from flinkish.api.connectors.kafka.sink import KafkaSink
from flinkish.api.connectors.kafka.source import KafkaSource
from flinkish.api.functions.functions import RichFunction
from flinkish.graph.job_graph import JobGraph
from flinkish.runtime.task.store import OPEN_TASKS, JobRun
from flinkish.spark.session.drivers import driver_of
from flinkish.spark.session.session import JOB_SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger("flinkish")

VISITS_A_CORE = 3
"""The number of small tasks per core that reach all workers: Spark uses idle workers in turn, and
has one or two for each task that runs at a time."""


def job_run(session: SparkSession, checkpoint: str | None, graph: JobGraph) -> JobRun | None:
    """An id for a new run of the job with that checkpoint; None if Spark does not reuse its workers
    from batch to batch, or if their tasks must be closed at the end and the driver cannot reach
    them, as over Spark Connect."""
    if _is_held(graph) and not driver_of(session).reachesWorkers:
        return None
    for setting in ("spark.python.worker.reuse", "spark.python.use.daemon"):
        if (session.conf.get(setting, None) or "true").lower() != "true":
            return None
    run = uuid.uuid4().hex
    return JobRun(checkpoint or run, run)


def _closed(run: JobRun, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Closes the tasks of a run in the worker that calls it."""
    OPEN_TASKS.closeRun(run)
    yield from ()


def close_open_tasks(session: SparkSession, run: JobRun | None, graph: JobGraph) -> None:
    """Called when a run has ended: close the tasks that workers keep for it, where Spark reaches
    them. Does nothing without a ``close`` of users or open connections."""
    if run is None or not _is_held(graph):
        return
    try:
        # In as many partitions as there are cores
        rows = a_core = _like_the_query(session).range(1000)
        for _ in range(1, VISITS_A_CORE):
            rows = rows.union(a_core)
        rows.mapInArrow(partial(_closed, run), "id long").collect()
    except Exception:  # the session has been stopped, and its workers are gone
        _LOG.debug("functions that were kept open have not been closed", exc_info=True)


def _like_the_query(session: SparkSession) -> SparkSession:
    """A session that shares the Python workers of the query: its Python settings are equal."""
    own = session.newSession()
    for name, value in {**session.conf.getAll, **JOB_SETTINGS}.items():
        if name.startswith("spark.sql.execution.pyspark."):
            own.conf.set(name, value)
    return own


def _is_held(graph: JobGraph) -> bool:
    """Whether a task of the job has something to close."""
    functions = [f for v in graph.vertices for n in v.operators for f in n.operator.userFunctions]
    return (
        any(isinstance(v.head.content, KafkaSource) for v in graph.sources)
        or any(isinstance(v.head.content, KafkaSink) for v in graph.sinks)
        or any(map(_closes, functions))
    )


def _closes(function: object) -> bool:
    return isinstance(function, RichFunction) and type(function).close is not RichFunction.close
