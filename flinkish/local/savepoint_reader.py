"""Reads the state in a savepoint in this process."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from flinkish.api.pickled_functions import dumps
from flinkish.api.program_classes import ProgramClasses
from flinkish.api.savepoint.queries import StateQuery
from flinkish.deployment.savepoint.files import SavepointDirectory
from flinkish.deployment.savepoint.reading import as_rows, reading_of
from flinkish.runtime.savepoint.reading import StateReading
from flinkish.runtime.savepoint.saved_state import SavedState


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
        states = self._directory.readState(self._metadata)
        answers = _answers(reading, filter(reading.wants, states))
        return self._classes.reading(as_rows(self._query, answers))


def _answers(reading: StateReading, states: Iterable[SavedState]) -> Iterator[Any]:
    if not reading.grouped:
        yield from reading.rows(states)
        return
    by_group = sorted(states, key=lambda saved: saved.keyGroup)
    for _, members in groupby(by_group, key=lambda saved: saved.keyGroup):
        yield from reading.rows(members)
