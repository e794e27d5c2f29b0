"""Stores the history of a job's batches in its checkpoint directory, on whatever file system that
is.

On this machine's file system each line is appended to a file. Elsewhere a file cannot grow, and
writing one takes a Spark job: there the whole history is written now and then and at the end of a
run, alternately to two places, so that one of them is complete whenever the job is killed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from flinkish.deployment.status.batch_history import BATCHES_KEPT, HistoryLog
from flinkish.spark.checkpoint.storage import CheckpointStorage, write_whole
from flinkish.spark.session.quiet_logs import quiet_py4j

_MOST_LINES = 2 * BATCHES_KEPT

_SECONDS = 30.0
"""The shortest time between two writes to another file system."""

_PLACES = ("history/even", "history/odd")


def history_log(storage: CheckpointStorage) -> HistoryLog:
    local = storage.local
    return (
        StoredHistory(storage)
        if local is None
        else HistoryFile(local / "history" / "batches.jsonl")
    )


class HistoryFile:
    """A history in a file of this machine."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lines = 0

    def read(self) -> Iterator[str]:
        with suppress(OSError, UnicodeDecodeError), self._file.open(encoding="utf-8") as stream:
            for line in stream:
                self._lines += 1
                yield line

    def append(self, line: str, whole: Callable[[], list[str]]) -> None:
        # A full disk must not end the job because of its history
        with suppress(OSError):
            if self._lines >= _MOST_LINES:
                lines = whole()
                write_whole(self._file, "".join(f"{kept}\n" for kept in lines))
                self._lines = len(lines)
                return
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a", encoding="utf-8") as stream:
                stream.write(f"{line}\n")
            self._lines += 1

    def flush(self, whole: Callable[[], list[str]]) -> None:
        """Does nothing, as all lines have been written."""


class StoredHistory:
    """A history in two texts of ``storage``, each with a number in its first line."""

    def __init__(self, storage: CheckpointStorage) -> None:
        self._storage = storage
        self._number = 0
        self._changed = False
        self._next = time.monotonic() + _SECONDS

    def read(self) -> Iterator[str]:
        """The lines of both texts, the older text first."""
        texts: list[tuple[int, list[str]]] = []
        for place in _PLACES:
            # Whatever is wrong with the history, the job must not fail because of it
            with quiet_py4j(), suppress(Exception):
                first, *lines = (self._storage.readText(place) or "").split("\n")
                texts.append((int(first), lines))
        texts.sort(key=lambda text: text[0])
        for self._number, lines in texts:
            yield from lines

    def append(self, line: str, whole: Callable[[], list[str]]) -> None:
        """Write all lines, unless they were written recently."""
        self._changed = True
        if time.monotonic() >= self._next:
            self._write(whole())

    def flush(self, whole: Callable[[], list[str]]) -> None:
        if self._changed:
            self._write(whole())

    def _write(self, lines: list[str]) -> None:
        self._number += 1
        with quiet_py4j(), suppress(Exception):
            text = "\n".join([str(self._number), *lines])
            self._storage.writeText(_PLACES[self._number % 2], text)
        self._changed = False
        self._next = time.monotonic() + _SECONDS
