"""``PlanLog``: the steps of a planned source, kept in the checkpoint.

A *step* is what one batch reads of a source: a list of pieces, such as ranges of files. It is logged before
Spark learns of it. So if the job crashes after planning a step, the next run reads exactly that step
first, and results do not depend on the crash, even if new files have appeared meanwhile.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from flinkish.api.errors import IllegalStateError, IncompatibleCheckpointError
from flinkish.api.execution.read_progress import UNKNOWN_BACKLOG, SourceBacklog
from flinkish.runtime.sources.planners import Step
from flinkish.spark.checkpoint.storage import write_once, write_whole

_STEP = ".step"

_SNAPSHOT = ".snapshot"


class PlanLog:
    """The steps of one source, numbered from 1, one file each; a snapshot replaces old ones.
    ``retained`` is the number of steps kept for batches that may run again (Spark keeps 100)."""

    def __init__(self, directory: str | Path, retained: int = 100) -> None:
        self._directory = Path(directory)
        self._retained = retained
        self.latest = max(self._numbers(_STEP), default=0)
        """The number of the last step, 0 if there is none."""
        self._folded = max(self._numbers(_SNAPSHOT), default=0)

    @property
    def ended(self) -> bool:
        """Whether the last step is the source's last."""
        return self.latest > 0 and self._header(self.latest)["last"] is True

    def append(self, step: Step, backlog: SourceBacklog = UNKNOWN_BACKLOG) -> int:
        """Log the next step atomically, with the source's backlog after it, and return its number.
        Raises IllegalStateError if another process has logged a step of that number: a planner that
        outlives its killed job for a moment, or a second run of the job."""
        number = self.latest + 1
        text = _text({"last": step.last, "backlog": backlog.asDict()}, step.pieces)
        try:
            write_once(self._file(number, _STEP), text)
        except FileExistsError:
            raise IllegalStateError(
                f"another run of the job has planned the step {number} of {self._directory}. One checkpoint"
                " directory is for one running job: stop the other run, then start this one again."
            ) from None
        self.latest = number
        return number

    def read(self, number: int) -> Step:
        """The step of that number. Raises IncompatibleCheckpointError if it is missing or
        damaged."""
        try:
            lines = _lines(self._file(number, _STEP))
            return Step(lines[1:], lines[0]["last"])
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise self._broken(number, _STEP, error) from None

    def backlog(self, number: int) -> SourceBacklog:
        """The backlog that was logged with the step of that number. Raises
        IncompatibleCheckpointError if the step is missing or damaged."""
        return SourceBacklog.of(self._header(number).get("backlog", {}))

    def restored(self) -> tuple[list[Any] | None, Iterator[Step]]:
        """The last snapshot, None if there is none, and the steps after it."""
        snapshot = None
        if self._folded:
            try:
                snapshot = _lines(self._file(self._folded, _SNAPSHOT))[1:]
            except (OSError, ValueError) as error:
                raise self._broken(self._folded, _SNAPSHOT, error) from None
        return snapshot, (self.read(n) for n in range(self._folded + 1, self.latest + 1))

    def restoredUpTo(self, number: int) -> tuple[list[Any] | None, Iterator[Step]] | None:
        """Like ``restored``, up to the step of that number; None if the snapshot is later."""
        if self._folded > number:
            return None
        snapshot, _ = self.restored()
        return snapshot, (self.read(n) for n in range(self._folded + 1, number + 1))

    @property
    def isDue(self) -> bool:
        """Whether there are enough steps for a snapshot."""
        return self.latest - self._folded >= 2 * self._retained

    def fold(self, snapshot: Iterable[Any]) -> None:
        """Write ``snapshot``, the planner's state after all steps so far, and remove old steps."""
        self._folded = self.latest
        text = _text({"steps": self._folded}, snapshot)
        write_whole(self._file(self._folded, _SNAPSHOT), text)
        for suffix, keep in ((_SNAPSHOT, 0), (_STEP, self._retained)):
            for number in self._numbers(suffix):
                if number < self._folded - keep:
                    self._file(number, suffix).unlink(missing_ok=True)

    def _header(self, number: int) -> dict[str, Any]:
        try:
            with self._file(number, _STEP).open(encoding="utf-8") as stream:
                header: dict[str, Any] = json.loads(stream.readline())
            return header
        except (OSError, ValueError) as error:
            raise self._broken(number, _STEP, error) from None

    def _numbers(self, suffix: str) -> list[int]:
        if not self._directory.is_dir():
            return []
        names = (os.path.splitext(name) for name in os.listdir(self._directory))
        return [int(stem) for stem, ending in names if ending == suffix and stem.isdigit()]

    def _file(self, number: int, suffix: str) -> Path:
        return self._directory / f"{number:012d}{suffix}"

    def _broken(self, number: int, suffix: str, error: Exception) -> IncompatibleCheckpointError:
        reason = "is not there" if isinstance(error, FileNotFoundError) else f"is broken ({error})"
        return IncompatibleCheckpointError(
            f"the checkpoint's plan of a source {reason}: {self._file(number, suffix)}. The job cannot"
            " go on without it: restore the checkpoint's directory from a copy, or begin anew with"
            " another one. What toDataFrame() reads is planned there too: give it a directory that"
            " stays, with env.enableCheckpointing(directory)."
        )


def last_step_read(log: Path, offset: str) -> int:
    """The last step whose descriptors Spark has read up to ``offset``, 0 if there is none. ``log`` is
    Spark's own, of the files that it has read, whose names begin with the step."""
    files = (file for file in log.iterdir() if file.name[0].isdigit())
    read = (json.loads(line) for file in files for line in file.read_text().splitlines()[1:])
    last = json.loads(offset)["logOffset"]
    steps = (int(Path(r["path"]).name.partition("-")[0]) for r in read if r["batchId"] <= last)
    return max(steps, default=0)


def _text(header: dict[str, Any], lines: Iterable[Any]) -> str:
    return "".join(f"{json.dumps(line, ensure_ascii=True)}\n" for line in (header, *lines))


def _lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]
