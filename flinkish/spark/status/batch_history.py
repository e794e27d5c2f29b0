"""``BatchHistory``: the last batches and errors of a job, which the checkpoint keeps from run to run."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flinkish.api.execution.details import BatchDetails, ExceptionDetails

BATCHES_KEPT = 600

EXCEPTIONS_KEPT = 16

_BATCH = "batch"
_EXCEPTION = "exception"


class BatchHistory:
    """Batches and errors, in a file of a line of JSON for each; ``file`` is None where it is not kept.

    It is there to be looked at, and no job depends on it: what is damaged or cannot be written is left out.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._batches: dict[int, BatchDetails] = {}
        self._exceptions: deque[ExceptionDetails] = deque(maxlen=EXCEPTIONS_KEPT)
        self._lines = 0
        for line in _lines(file):
            self._lines += 1
            # A line may be cut off where the job was killed, or be of another version
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
        """Note a batch; it replaces one of its id. It is written when it is ``whole``."""
        with self._lock:
            self._keep(batch)
            if whole:
                self._write({_BATCH: asdict(batch)})

    def addException(self, exception: ExceptionDetails) -> None:
        """Note an error that ended a run."""
        with self._lock:
            self._exceptions.append(exception)
            self._write({_EXCEPTION: asdict(exception)})

    def _take(self, line: dict[str, Any]) -> None:
        if _BATCH in line:
            self._keep(BatchDetails(**line[_BATCH]))
        else:
            self._exceptions.append(ExceptionDetails(**line[_EXCEPTION]))

    def _keep(self, batch: BatchDetails) -> None:
        # A job that went back to a copy of its checkpoint runs later batches again
        for later, known in list(self._batches.items()):
            if later > batch.id and known.startTime < batch.startTime:
                del self._batches[later]
        self._batches[batch.id] = batch
        while len(self._batches) > BATCHES_KEPT:
            del self._batches[next(iter(self._batches))]

    def _write(self, line: dict[str, Any]) -> None:
        if self._file is None:
            return
        # A full disk must not end the job for the sake of its history
        with suppress(OSError):
            if self._lines >= 2 * BATCHES_KEPT:
                self._rewrite(self._file)
                return
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(line) + "\n")
            self._lines += 1

    def _rewrite(self, file: Path) -> None:
        lines: list[dict[str, Any]] = [{_EXCEPTION: asdict(e)} for e in self._exceptions]
        lines += [{_BATCH: asdict(batch)} for batch in self._batches.values()]
        draft = file.with_name(f".{file.name}.draft")
        draft.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        draft.rename(file)
        self._lines = len(lines)


def _lines(file: Path | None) -> Iterator[str]:
    if file is None:
        return
    with suppress(OSError, UnicodeDecodeError), file.open(encoding="utf-8") as stream:
        yield from stream
