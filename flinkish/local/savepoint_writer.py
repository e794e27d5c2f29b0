"""Builds and changes savepoints in this process: a local job creates their state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flinkish.api.environment.configuration import ExecutionConfig
from flinkish.api.savepoint.writer import SavepointChanges
from flinkish.deployment.savepoint.changes import JOB_NAME, SavepointChange
from flinkish.deployment.savepoint.files import SavepointDirectory
from flinkish.deployment.savepoint.metadata import SavepointMetadata, entries_by_state
from flinkish.local.job import LocalJob
from flinkish.local.savepoint import captured_states, counted
from flinkish.runtime.savepoint.bootstrap import bootstrapped
from flinkish.runtime.savepoint.saved_state import SavedState
from flinkish.runtime.task.plan import TaskSettings

_METHOD = "SavepointWriter"


def write_changed_savepoint(
    config: ExecutionConfig, changes: SavepointChanges, directory: str
) -> None:
    """Write the savepoint that ``changes`` describe."""
    target = SavepointDirectory(f"{_METHOD}.write", directory)
    target.checkEmpty()
    existing: SavepointDirectory | None = None
    metadata: SavepointMetadata | None = None
    if changes.existing is not None:
        existing = SavepointDirectory(f"{_METHOD}.fromExistingSavepoint", changes.existing)
        metadata = existing.readMetadata()
    change = SavepointChange(changes, metadata, config)
    settings = None if change.graph is None else change.settings(config.parallelism or 1)
    job = _run(change, settings, config)
    counts: list[tuple[str, str, str, int]] = []
    states = _states(change, job, existing, metadata, changes)
    if settings is not None:
        states = settings.classes.reading(states)
    files = target.writeState(counted(states, counts))
    asked: Mapping[str, set[tuple[str, str, str]]] = {} if job is None else job.metrics.states
    target.writeMetadata(change.metadata(settings, asked, files, entries_by_state(counts)))


def _run(
    change: SavepointChange, settings: TaskSettings | None, config: ExecutionConfig
) -> LocalJob | None:
    if change.graph is None or settings is None:
        return None
    job = LocalJob(JOB_NAME, change.graph, settings, config)
    job.run()
    return job


def _states(
    change: SavepointChange,
    job: LocalJob | None,
    existing: SavepointDirectory | None,
    metadata: SavepointMetadata | None,
    changes: SavepointChanges,
) -> Iterator[SavedState]:
    if existing is not None and metadata is not None:
        keeps = change.kept
        for saved in existing.readState(metadata):
            if (kept := keeps.kept(saved)) is not None:
                yield kept
    if job is not None:
        for saved in captured_states(job.stores):
            if saved.operator in changes.added and (made := bootstrapped(saved)) is not None:
                yield made
