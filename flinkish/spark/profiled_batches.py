"""How tasks learn that the stacks of their batch are sampled: by a local property of Spark's, which comes with each task."""

from __future__ import annotations

from pyspark import SparkContext, TaskContext

_PROFILED = "flinkish.profiled"


def profile_jobs(context: SparkContext, profiled: bool) -> None:
    """Say whether the tasks of the Spark jobs that this thread starts are sampled. The JVM answers a sink's thread in
    the one that runs the batch, and so its tasks have the property."""
    context.setLocalProperty(_PROFILED, "true" if profiled else None)  # type: ignore[arg-type]


def is_profiled() -> bool:
    """Whether the task in which this is called is sampled."""
    context = TaskContext.get()
    return context is not None and context.getLocalProperty(_PROFILED) is not None
