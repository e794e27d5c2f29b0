"""``SavepointReader`` and ``SavepointWriter`` in this process: a local job creates new state."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any

from flinkish.api.environment.configuration import ExecutionConfig
from flinkish.api.pickled_functions import dumps
from flinkish.api.program_classes import ProgramClasses
from flinkish.api.savepoint.queries import StateQuery
from flinkish.api.savepoint.writer import SavepointChanges
from flinkish.deployment.savepoint.changes import JOB_NAME, KeptStates, SavepointChange
from flinkish.deployment.savepoint.files import SavepointDirectory
from flinkish.deployment.savepoint.metadata import SavepointMetadata
from flinkish.deployment.savepoint.reading import as_rows, reading_of
from flinkish.local.job import LocalJob
from flinkish.local.savepoint import captured_states
from flinkish.runtime.savepoint.bootstrap import bootstrapped
from flinkish.runtime.savepoint.saved_state import SavedState

_METHOD = "SavepointWriter"


class SavedRows(Iterable[Any]):
    """The answer of a query, read again in each iteration."""

    def __init__(self, directory: SavepointDirectory, query: StateQuery) -> None:
        self._directory = directory
        self._metadata = directory.readMetadata()
        # A copy, as on Spark: functions that work here work there
        self._query: StateQuery = pickle.loads(dumps(query))
        self._classes = ProgramClasses.of([query])
        reading_of(self._query, self._metadata, directory.path)

    def __iter__(self) -> Iterator[Any]:
        reading = reading_of(self._query, self._metadata, self._directory.path)
        states: Iterable[SavedState] = self._directory.readState(self._metadata)
        states = filter(reading.wants, states)
        if reading.grouped:
            states = sorted(states, key=lambda saved: saved.keyGroup)
        return self._classes.reading(as_rows(self._query, reading.rows(states)))


def write_changed_savepoint(
    config: ExecutionConfig, changes: SavepointChanges, directory: str
) -> None:
    target = SavepointDirectory(f"{_METHOD}.write", directory)
    target.checkEmpty()
    existing: SavepointDirectory | None = None
    metadata: SavepointMetadata | None = None
    if changes.existing is not None:
        existing = SavepointDirectory(f"{_METHOD}.fromExistingSavepoint", changes.existing)
        metadata = existing.readMetadata()
    change = SavepointChange(changes, metadata, config)
    settings = None
    asked: Mapping[str, set[tuple[str, str, str]]] = {}
    states: Iterable[SavedState] = ()
    if existing is not None and metadata is not None:
        states = filter(None, map(KeptStates(changes).kept, existing.readState(metadata)))
    if change.graph is not None:
        settings = change.settings(config.parallelism or 1)
        job = LocalJob(JOB_NAME, change.graph, settings, config)
        job.run()
        asked = job.metrics.states
        made = (saved for saved in captured_states(job.stores) if saved.operator in changes.added)
        states = settings.classes.reading(chain(states, filter(None, map(bootstrapped, made))))
    target.write(states, partial(change.metadata, settings, asked))
