"""What a job makes of Flink's settings for checkpoints."""

from __future__ import annotations

import warnings

from flinkish.api.connectors.source import Source
from flinkish.api.environment.configuration import CheckpointConfig, ExecutionConfig
from flinkish.graph.job_graph import JobGraph


def trigger_interval(
    config: ExecutionConfig, checkpoints: CheckpointConfig, graph: JobGraph
) -> int:
    """The interval (ms) at which batches start. As every batch is a checkpoint, it is that of the checkpoints where
    no other was set and a source has no end; a job that ends should not wait between its batches."""
    bounded = all(
        vertex.head.content.bounded
        for vertex in graph.sources
        if isinstance(vertex.head.content, Source)
    )
    if config.triggerIntervalIsSet or bounded:
        return config.triggerInterval
    return max(checkpoints.getCheckpointInterval(), 0)


def warn_of_no_directory(checkpoints: CheckpointConfig) -> None:
    """Warn that a job with an interval for checkpoints has no directory for them."""
    if checkpoints.getCheckpointInterval() > 0 and checkpoints.getCheckpointStorage() is None:
        warnings.warn(
            f"enableCheckpointing({checkpoints.getCheckpointInterval()}): no directory is set, so nothing survives"
            ' the program; write enableCheckpointing(interval, checkpointStorage="directory"), or set the option'
            " state.checkpoints.dir.",
            stacklevel=2,
        )


def warn_of_local_execution(checkpoints: CheckpointConfig) -> None:
    """Warn that a job in local execution keeps no checkpoints, if it asks for some."""
    if checkpoints.getCheckpointInterval() > 0 or checkpoints.getCheckpointStorage() is not None:
        warnings.warn(
            "enableCheckpointing: local execution keeps no checkpoints, so nothing survives the program; leave"
            " setLocalExecution out, or stop the job with stopWithSavepoint(directory) and go on from there.",
            stacklevel=2,
        )
