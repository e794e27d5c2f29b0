"""``BatchHistory``: the last batches and errors of a job, kept in its checkpoint."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Protocol

from flinkish.api.execution.details import BatchDetails, ExceptionDetails

BATCHES_KEPT = 600

EXCEPTIONS_KEPT = 16

_BATCH = "batch"
_EXCEPTION = "exception"


class HistoryLog(Protocol):
    """Stores a history as lines. It skips unreadable lines, and raises nothing."""

    def read(self) -> Iterator[str]:
        """The stored lines, the oldest first; a line may come twice."""

    def append(self, line: str, whole: Callable[[], list[str]]) -> None:
        """Store a line. ``whole`` returns all lines to store, including this one."""

    def flush(self, whole: Callable[[], list[str]]) -> None:
        """Called at the end of a run."""


class BatchHistory:
    """Batches and errors, each a line of JSON; ``log`` is None if they are not stored. The history
    is only shown, and no job depends on it: lines that are damaged or cannot be written are left
    out."""

    def __init__(self, log: HistoryLog | None) -> None:
        self._log = log
        self._lock = threading.Lock()
        # A separate lock, so that readers of the batches do not wait for a write
        self._writing = threading.Lock()
        self._batches: dict[int, BatchDetails] = {}
        self._exceptions: deque[ExceptionDetails] = deque(maxlen=EXCEPTIONS_KEPT)
        for line in () if log is None else log.read():
            # A line may be truncated by a kill, or come from another version
            with suppress(ValueError, TypeError, KeyError):
                self._take(json.loads(line))

    @property
    def batches(self) -> tuple[BatchDetails, ...]:
        """The last batches, the oldest first."""
        with self._lock:
            return tuple(self._batches.values())

    @property
    def exceptions(self) -> tuple[ExceptionDetails, ...]:
        """The last errors, the last first."""
        with self._lock:
            return tuple(reversed(self._exceptions))

    def add(self, batch: BatchDetails, whole: bool) -> None:
        """Add a batch, or replace the one with its id. It is stored when it is ``whole``."""
        with self._lock:
            self._keep(batch)
        if whole:
            self._write({_BATCH: asdict(batch)})

    def addException(self, exception: ExceptionDetails) -> None:
        with self._lock:
            self._exceptions.append(exception)
        self._write({_EXCEPTION: asdict(exception)})

    def flush(self) -> None:
        if self._log is not None:
            with self._writing:
                self._log.flush(self._lines)

    def _take(self, line: dict[str, Any]) -> None:
        if _BATCH in line:
            self._keep(BatchDetails(**line[_BATCH]))
        else:
            exception = ExceptionDetails(**line[_EXCEPTION])
            if exception not in self._exceptions:
                self._exceptions.append(exception)

    def _keep(self, batch: BatchDetails) -> None:
        # A job that was started from a copy of its checkpoint runs later batches again
        for later, known in list(self._batches.items()):
            if later > batch.id and known.startTime < batch.startTime:
                del self._batches[later]
        self._batches[batch.id] = batch
        while len(self._batches) > BATCHES_KEPT:
            del self._batches[next(iter(self._batches))]

    def _write(self, line: dict[str, Any]) -> None:
        if self._log is not None:
            with self._writing:
                self._log.append(json.dumps(line), self._lines)

    def _lines(self) -> list[str]:
        lines: list[dict[str, Any]] = [{_EXCEPTION: asdict(e)} for e in reversed(self.exceptions)]
        lines += [{_BATCH: asdict(batch)} for batch in self.batches]
        return [json.dumps(line) for line in lines]
