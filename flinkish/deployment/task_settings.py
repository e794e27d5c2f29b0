"""The settings of the tasks of a job, from its configuration, and whether it runs as a batch."""

from __future__ import annotations

from flinkish.api.connectors.source import Source
from flinkish.api.environment.configuration import ExecutionConfig, RuntimeExecutionMode
from flinkish.api.errors import InvalidProgramError
from flinkish.graph.job_graph import JobGraph
from flinkish.graph.stream_graph import StreamGraph
from flinkish.runtime.records.keys import KeyRules
from flinkish.runtime.task.plan import TaskSettings

KEY_GROUPS_A_TASK = 4
"""Key groups per task, unless there is only one task or the user sets their number."""


def task_settings(
    graph: JobGraph,
    config: ExecutionConfig,
    parallelism: int,
    maxParallelism: int | None = None,
    keyGroups: int | None = None,
    batch: bool = False,
    earlierHashes: bool = False,
) -> TaskSettings:
    """The settings of the tasks of ``graph``. ``maxParallelism`` and ``keyGroups`` are those of the
    checkpoint that the job continues from, None if there is none; ``earlierHashes``: whether it stores
    state by version 1 of the hashes."""
    most = config.maxParallelism or maxParallelism or parallelism * KEY_GROUPS_A_TASK
    return TaskSettings(
        # One key group keeps elements in one order, like Flink's single task.
        keyGroups=keyGroups or (1 if parallelism == 1 else most),
        parallelism=parallelism,
        sinkLevel=graph.levels,
        autoWatermarkInterval=config.autoWatermarkInterval,
        maxParallelism=most,
        reusesObjects=config.isObjectReuseEnabled(),
        elementsHiddenInErrors=config.elementsHiddenInErrors,
        tracesFunctions=config.isFunctionTracingEnabled(),
        jobParameters=config.getGlobalJobParameters(),
        batch=batch,
        columnChecks=config.getColumnChecks(),
        keyRules=KeyRules(nulls=config.nullKeysAllowed, earlierHashes=earlierHashes),
        classes=graph.classes(),
    )


def runs_as_batch(graph: StreamGraph, mode: RuntimeExecutionMode) -> bool:
    """Whether the job is a batch. Raises InvalidProgramError for BATCH with an unbounded source."""
    if mode is RuntimeExecutionMode.STREAMING:
        return False
    unbounded = [
        node.name for node in graph if isinstance(node.content, Source) and not node.content.bounded
    ]
    if unbounded and mode is RuntimeExecutionMode.BATCH:
        raise InvalidProgramError(
            f"setRuntimeMode(BATCH): {', '.join(unbounded)} has no end, and a batch begins its work with"
            " the end of its input. Bound the source, or write setRuntimeMode(STREAMING) or AUTOMATIC."
        )
    return not unbounded
