"""Savepoints of jobs that run in this process: the same files as on Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

from flinkish.deployment.savepoint.files import SavepointDirectory
from flinkish.deployment.savepoint.restore import Restoration
from flinkish.graph.job_graph import JobGraph
from flinkish.runtime.savepoint.capture import captured
from flinkish.runtime.savepoint.saved_state import KEYED, SavedState
from flinkish.runtime.state.page_store import DictPageStore
from flinkish.runtime.task.gates import FrameRow
from flinkish.runtime.task.plan import TaskSettings
from flinkish.runtime.task.restored_state import restored_row
from flinkish.runtime.task.stage import DIRECTORY, decode_directory


def checked_directory(method: str, directory: str) -> str:
    """``directory`` as a path. Raises CheckpointStorageError if it is not empty."""
    found = SavepointDirectory(method, directory)
    found.checkEmpty()
    return found.path


def captured_states(stores: Mapping[tuple[int, int], DictPageStore]) -> Iterable[SavedState]:
    met: set[str] = set()
    for (_, group), store in sorted(stores.items()):
        for uid, saved in decode_directory(store.pages.get(DIRECTORY)).items():
            yield from captured(uid, group, saved, store.pages, uid not in met)
            met.add(uid)


class LocalSavepoint:
    """The savepoint in a directory, as the beginning of a job. Raises CorruptCheckpointError if it is
    incomplete or damaged."""

    def __init__(self, directory: str) -> None:
        found = SavepointDirectory("setSavepoint", directory)
        self._path = found.path
        self.metadata = found.readMetadata()
        self._states = list(found.readState(self.metadata))

    def restore(self, graph: JobGraph, settings: TaskSettings, allowNonRestoredState: bool) -> None:
        """Distribute the state to the tasks of ``graph``. Raises IncompatibleCheckpointError if that
        job cannot begin from it."""
        others = [state for state in self._states if state.table not in KEYED]
        self._restoration = Restoration(
            metadata=self.metadata,
            others=others,
            graph=graph,
            settings=settings,
            allowNonRestoredState=allowNonRestoredState,
            where=self._path,
        )

    def rows(self, clock: int) -> list[FrameRow]:
        """The rows that carry the state to the tasks."""
        levels, keyed = self._restoration.levels, self._restoration.keyed
        parts = chain(self._restoration.tasks(), keyed.parts(self._states))
        return [
            restored_row(
                levels=levels, uid=uid, keyGroup=group, content=content, number=number, clock=clock
            )
            for number, (uid, group, content) in enumerate(parts)
        ]
