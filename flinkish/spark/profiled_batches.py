"""Tells tasks to sample their stacks for a batch: by a local property of Spark, which comes with
each task.

Properties belong to the SparkContext. A session of Spark Connect has none, and some managed
platforms do not give access to it: jobs run there too, without profiles.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import SparkContext, TaskContext
from pyspark.sql import SparkSession

_PROFILED = "flinkish.profiled"

_LOG = logging.getLogger("flinkish")


@contextmanager
def profiled_jobs(session: SparkSession) -> Iterator[None]:
    """Sample the tasks of the Spark jobs that this thread starts inside the block. The JVM answers
    the thread of a sink in the thread that runs the batch, and so its tasks have the property."""
    context = _context_of(session)
    if context is None:
        _LOG.warning("no batch can be profiled, as this session has no SparkContext")
    else:
        context.setLocalProperty(_PROFILED, "true")
    try:
        yield
    finally:
        if context is not None:
            context.setLocalProperty(_PROFILED, None)  # type: ignore[arg-type]


def is_profiled() -> bool:
    context = TaskContext.get()
    return context is not None and context.getLocalProperty(_PROFILED) is not None


def spark_ui(session: SparkSession) -> str | None:
    """The address of Spark's own web page, None if it is off or unknown."""
    context = _context_of(session)
    return None if context is None else context.uiWebUrl


def _context_of(session: SparkSession) -> SparkContext | None:
    if not isinstance(session, SparkSession):
        # A session of Spark Connect: getOrCreate() would start another Spark in this process
        return None
    try:
        return SparkContext.getOrCreate()
    except Exception:
        return None
