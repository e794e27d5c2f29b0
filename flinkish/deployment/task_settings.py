"""The settings of the tasks of a job, from its configuration."""

from __future__ import annotations

from flinkish.api.environment.configuration import ExecutionConfig
from flinkish.graph.job_graph import JobGraph
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
