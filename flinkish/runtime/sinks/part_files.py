"""``PartFiles``: the files of a ``FileSink``, written by the tasks of the operator that emits the
elements.

In each batch a task writes one file, in a directory beside the results whose name readers of
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

from pyarrow.parquet import ParquetWriter

from flinkish.api.errors import JobExecutionError
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.sinks.lines import LineWriter

_UNFINISHED = "_unfinished"


@dataclass(frozen=True)
class PartFiles:
    """The directory that the tasks of ``sink`` write to. ``writer``: the writer of the lines; None
    if elements come as columns, which become files of Parquet."""

    directory: str
    ending: str
    sink: str
    writer: LineWriter | None

    def begun(self) -> PartFile:
        """A new file that only one task writes."""
        return PartFile(self, Path(self.directory, _UNFINISHED, uuid.uuid4().hex))

    def publish(self, parts: Sequence[str], batchId: int) -> None:
        """Make the files named ``parts`` the result of a batch. They replace those of an earlier
        run of the batch."""
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
                f"{self.sink}: {error.filename}, which a worker has written, is not on this machine."
                " Write to a directory on a mount that all machines of the cluster have, or to a store"
                " like S3."
            ) from None
        except OSError as error:
            raise self.unwritten(error) from None

    def clear(self) -> None:
        """Remove the files of tasks that failed."""
        shutil.rmtree(self._unfinished, ignore_errors=True)

    @property
    def _unfinished(self) -> Path:
        return Path(self.directory, _UNFINISHED)

    def unwritten(self, error: OSError) -> JobExecutionError:
        return JobExecutionError(
            f"{self.sink}: cannot write to {self.directory} ({error}). Make room there, or give the user"
            " of the workers the right to write; a job with a checkpoint then continues."
        )


class PartFile:
    def __init__(self, files: PartFiles, path: Path) -> None:
        self.name = path.name
        self._files = files
        self._path = path
        self._parquet: ParquetWriter | None = None

    def append(self, values: Sequence[Any]) -> None:
        writer = self._files.writer
        content = b"" if writer is None else writer.content(values)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if writer is None:
                assert isinstance(values, RowColumns)
                self._parquet = self._parquet or ParquetWriter(self._path, values.schema)
                self._parquet.write_batch(values.batch)
                return
            with self._path.open("ab") as file:
                if writer.head is not None and file.tell() == 0:
                    file.write(f"{writer.head}\n".encode())
                file.write(content)
        except OSError as error:
            raise self._files.unwritten(error) from None

    def close(self) -> None:
        """Called when the batch has no more elements, or the task has failed."""
        try:
            if self._parquet is not None:
                self._parquet.close()
        except OSError as error:
            raise self._files.unwritten(error) from None
