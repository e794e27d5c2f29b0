"""``PartFiles``: the lines of a ``FileSink``, written by the tasks of the operator that emits the
elements.

In each batch a task appends to one file, in a directory beside the results whose name readers of
tables skip. When all tasks of a batch are done, ``publish`` names the files and moves them to the
results together. The file of a task that failed is left behind.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flinkish.api.errors import JobExecutionError
from flinkish.runtime.sinks.lines import LineWriter

_UNFINISHED = "_unfinished"


@dataclass(frozen=True)
class PartFiles:
    """The directory that the tasks of a sink write to, and the writer of the lines."""

    directory: str
    ending: str
    writer: LineWriter

    def begun(self) -> Path:
        """The path of a new file that only one task writes."""
        return self._unfinished / uuid.uuid4().hex

    def append(self, part: Path, values: Sequence[Any]) -> None:
        content, head = self.writer.content(values), self.writer.head
        try:
            part.parent.mkdir(parents=True, exist_ok=True)
            with part.open("ab") as file:
                if head is not None and file.tell() == 0:
                    file.write(f"{head}\n".encode())
                file.write(content)
        except OSError as error:
            raise self._unwritten(error) from None

    def publish(self, parts: Sequence[str], batchId: int) -> None:
        """Make the files ``parts`` the batch's, in place of those of an earlier run of it."""
        target = Path(self.directory, f"batch={batchId}")
        whole = self._unfinished / target.name
        try:
            shutil.rmtree(whole, ignore_errors=True)
            whole.mkdir()
            for number, part in enumerate(parts):
                os.rename(self._unfinished / part, whole / f"part-{number:05d}.{self.ending}")
            if target.exists():
                shutil.rmtree(target)
            os.rename(whole, target)
        except FileNotFoundError as error:
            raise JobExecutionError(
                f"{self.writer.sink}: {error.filename}, which a worker has written, is not on this machine."
                " Write to a directory on a mount that all machines of the cluster have, or to a store"
                " like S3."
            ) from None
        except OSError as error:
            raise self._unwritten(error) from None

    def clear(self) -> None:
        """Remove the files of tasks that failed."""
        shutil.rmtree(self._unfinished, ignore_errors=True)

    @property
    def _unfinished(self) -> Path:
        return Path(self.directory, _UNFINISHED)

    def _unwritten(self, error: OSError) -> JobExecutionError:
        return JobExecutionError(
            f"{self.writer.sink}: cannot write to {self.directory} ({error}). Make room there, or give the user"
            " of the workers the right to write; a job with a checkpoint then continues."
        )
