"""Savepoints of jobs that run in this process: the same files as on Spark."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote, urlparse

from flinkish.api.arguments import text
from flinkish.api.errors import NotSupportedError
from flinkish.deployment.savepoint.local_files import (
    check_empty,
    read_metadata,
    read_state,
    write_metadata,
    write_state,
)
from flinkish.deployment.savepoint.metadata import (
    SavepointMetadata,
    SourcePosition,
    entries_by_state,
)
from flinkish.deployment.savepoint.restore import Restoration
from flinkish.graph.identities import Identities
from flinkish.graph.job_graph import JobGraph
from flinkish.runtime.savepoint.capture import captured
from flinkish.runtime.savepoint.saved_state import KEYED, SavedState
from flinkish.runtime.state.page_store import DictPageStore
from flinkish.runtime.task.gates import FrameRow
from flinkish.runtime.task.plan import TaskSettings
from flinkish.runtime.task.restored_state import restored_row
from flinkish.runtime.task.stage import DIRECTORY, decode_directory


def checked_directory(method: str, directory: str) -> str:
    """``directory`` as a path. Raises CheckpointStorageError if there is something in it."""
    path = _path(method, directory)
    check_empty(path)
    return str(path)


def write_savepoint(
    directory: str,
    jobName: str,
    batch: int,
    graph: JobGraph,
    settings: TaskSettings,
    states: Mapping[str, set[tuple[str, str, str]]],
    sources: Mapping[str, SourcePosition],
    stores: Mapping[tuple[int, int], DictPageStore],
) -> None:
    """Write a savepoint of a job between two batches; ``stores`` has its pages by stage and key group."""
    counts: list[tuple[str, str, str, int]] = []
    files = write_state(Path(directory), _counted(_captured(stores), counts))
    entries = entries_by_state(counts)
    metadata = SavepointMetadata.of(
        jobName, batch, graph, settings, states, sources, files, entries
    )
    write_metadata(Path(directory), metadata)


def _captured(stores: Mapping[tuple[int, int], DictPageStore]) -> Iterable[SavedState]:
    met: set[str] = set()
    for (_, group), store in sorted(stores.items()):
        for uid, saved in decode_directory(store.pages.get(DIRECTORY)).items():
            yield from captured(uid, group, saved, store.pages, uid not in met)
            met.add(uid)


def _counted(
    states: Iterable[SavedState], counts: list[tuple[str, str, str, int]]
) -> Iterable[SavedState]:
    for state in states:
        counts.append((state.operator, state.table, state.state, state.entries))
        yield state


@dataclass(frozen=True)
class RestoredJob:
    """What a job begins with: ``nextBatch`` is the number of its first batch."""

    nextBatch: int
    positions: Mapping[str, Mapping[str, Any]]
    restoration: Restoration
    keyed: list[SavedState]

    def rows(self, clock: int) -> list[FrameRow]:
        """The rows that bring the state to the tasks."""
        levels = self.restoration.levels
        parts = [*self.restoration.tasks(), *self.restoration.keyed.parts(self.keyed)]
        return [
            restored_row(levels, uid, group, content, number, clock)
            for number, (uid, group, content) in enumerate(parts)
        ]


class LocalSavepoint:
    """A savepoint that was read. Raises CorruptCheckpointError if it is not whole."""

    def __init__(self, path: Path, metadata: SavepointMetadata, states: list[SavedState]) -> None:
        self._path = path
        self._metadata = metadata
        self._states = states

    @classmethod
    def read(cls, directory: str) -> Self:
        """The savepoint in ``directory``."""
        path = _path("setSavepoint", directory)
        metadata = read_metadata(path)
        return cls(path, metadata, list(read_state(path, metadata)))

    @property
    def identities(self) -> Identities:
        """What the sources and operators of the job were known by."""
        return self._metadata.identities

    def restored(
        self, graph: JobGraph, settings: TaskSettings, allowNonRestoredState: bool
    ) -> RestoredJob:
        """The savepoint as the beginning of a job. Raises IncompatibleCheckpointError."""
        keyed = [state for state in self._states if state.table in KEYED]
        others = [state for state in self._states if state.table not in KEYED]
        restoration = Restoration(
            self._metadata, others, graph, settings, allowNonRestoredState, str(self._path)
        )
        return RestoredJob(self._metadata.nextBatch, self._metadata.positions, restoration, keyed)


def _path(method: str, directory: str) -> Path:
    uri = urlparse(text(f"{method}: directory", directory))
    if uri.scheme == "file":
        return Path(os.path.abspath(unquote(uri.path)))
    if len(uri.scheme) > 1 and "://" in directory:
        raise NotSupportedError(
            f"{method}: {directory} is not on this machine's file system, and this job runs without"
            " Spark. Pass a local directory, or leave setLocalExecution out."
        )
    return Path(os.path.abspath(directory))
