"""``SavepointDirectory``: writes and reads a savepoint's files with pyarrow, without Spark."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from flinkish.api.arguments import text
from flinkish.api.errors import (
    CheckpointStorageError,
    IllegalArgumentError,
    NotSupportedError,
    shown,
)
from flinkish.deployment.savepoint.metadata import (
    METADATA,
    STATE,
    SavepointMetadata,
    StateFile,
    damaged,
    entries_by_state,
)
from flinkish.runtime.savepoint.saved_state import SCHEMA, SavedState, arrow_batch, saved_states

_ROWS_A_GROUP = 64

_FILE = "part-00000.parquet"
_TEXT = "text"


class SavepointDirectory:
    """The directory of a savepoint, by a path on this machine or a URI. Errors name ``method``."""

    def __init__(self, method: str, directory: str) -> None:
        self.path = text(f"{method}: directory", directory).rstrip("/") or "/"
        """The absolute path, or the URI."""
        if any("\ud800" <= character <= "\udfff" for character in directory):
            raise IllegalArgumentError(
                f"{method}: {shown(directory)} is not Unicode, as the path of a savepoint must be. Rename the"
                " directory."
            )
        uri = urlparse(directory)
        # One letter before a colon is a drive
        if uri.scheme == "file" or not re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", directory):
            local = unquote(uri.path) if uri.scheme == "file" else directory
            self.path = self._base = os.path.abspath(local)
            self._files: fs.FileSystem = fs.LocalFileSystem()
            return
        try:
            self._files, self._base = fs.FileSystem.from_uri(self.path)
        except (pa.ArrowException, OSError, ValueError, ImportError) as error:
            raise NotSupportedError(
                f"{method}: pyarrow knows no file system for {directory} ({error}). Pass a path, a URI"
                " such as s3://bucket/savepoint, or leave setLocalExecution out, as Spark may know it."
            ) from None

    def checkEmpty(self) -> None:
        """Raises CheckpointStorageError if the directory is not empty."""
        if self._children(self._base):
            raise CheckpointStorageError(
                f"the savepoint directory {self.path} is not empty. Pass a new directory for each savepoint."
            )

    # ------------------------------------------------------------------ writing

    def write(
        self,
        states: Iterable[SavedState],
        described: Callable[
            [Mapping[str, StateFile], Mapping[str, Mapping[str, int]]], SavepointMetadata
        ],
    ) -> None:
        """Write the rows of a savepoint, and then the metadata that ``described`` makes of its files
        and of the number of entries of each state, by operator."""
        rows = checksum = 0
        counts: list[tuple[str, str, str, int]] = []
        try:
            self._files.create_dir(self._child(STATE))
            with (
                self._files.open_output_stream(self._child(STATE, _FILE)) as file,
                pq.ParquetWriter(file, SCHEMA) as writer,
            ):
                left = iter(states)
                while part := list(islice(left, _ROWS_A_GROUP)):
                    writer.write_batch(arrow_batch(part))
                    rows += len(part)
                    checksum += sum(state.checksum for state in part)
                    counts += ((s.operator, s.table, s.state, s.entries) for s in part)
        except OSError as error:
            raise CheckpointStorageError(
                f"the savepoint directory {self.path} cannot be written: {error}. Pass a directory that this"
                " process may make and write, on a disk with space left."
            ) from error
        files = {_FILE: StateFile(rows, checksum)}
        self._write_metadata(described(files, entries_by_state(counts)))

    def _write_metadata(self, metadata: SavepointMetadata) -> None:
        """Write the metadata, after everything else: a directory without it is not a savepoint."""
        self._files.create_dir(self._child(METADATA))
        content = metadata.asText().encode()
        if not isinstance(self._files, fs.LocalFileSystem):
            # In a store, an object appears only when it is complete
            with self._files.open_output_stream(self._child(METADATA, _TEXT)) as stream:
                stream.write(content)
            return
        draft = Path(self._child(METADATA, ".draft"))
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(draft.with_name(_TEXT))

    # ------------------------------------------------------------------ reading

    def readMetadata(self) -> SavepointMetadata:
        found = self.readText(METADATA)
        return SavepointMetadata.ofText(found, f"{self.path}/{METADATA}/{_TEXT}")

    def readText(self, name: str) -> str | None:
        """The text written under ``name``, in one file or, if Spark wrote it to another file system, in
        Spark's part files; None if there is none."""
        files = [
            file
            for file in self._children(self._child(name))
            if not file.base_name.startswith((".", "_"))
        ]
        content = b"".join(self._read(file.path) for file in files)
        return content.decode("utf-8", "replace").rstrip("\0") if files else None

    def readState(self, metadata: SavepointMetadata) -> Iterator[SavedState]:
        """Compare the rows of a savepoint with its metadata, and return them. Raises
        CorruptCheckpointError, which names the file."""
        self.check(metadata)
        return self.states()

    def states(self) -> Iterator[SavedState]:
        """The rows of a savepoint, unchecked. Raises CorruptCheckpointError, which names a file
        that cannot be read."""
        for file in self._stateFiles():
            try:
                for batch in self._batches(file.path):
                    yield from saved_states(batch)
            except (OSError, ValueError, KeyError, pa.ArrowException) as error:
                raise damaged(file.base_name, self.path, error) from None

    def check(self, metadata: SavepointMetadata) -> None:
        """Raises CorruptCheckpointError, which names the file, if a row is not as written."""
        found = {file.base_name: self._checked(file) for file in self._stateFiles()}
        metadata.checkFiles(found, self.path)

    def sizes(self) -> dict[str, int]:
        return {file.base_name: file.size or 0 for file in self._stateFiles()}

    def _stateFiles(self) -> list[fs.FileInfo]:
        files = self._children(self._child(STATE))
        return [file for file in files if file.base_name.endswith(".parquet")]

    def _checked(self, file: fs.FileInfo) -> StateFile:
        rows = checksum = 0
        try:
            for batch in self._batches(file.path):
                for state, noted in zip(saved_states(batch), batch.column("checksum").to_pylist()):
                    if state.checksum == noted:
                        rows, checksum = rows + 1, checksum + noted
        except (
            OSError,
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            pa.ArrowException,
        ) as error:
            raise damaged(file.base_name, self.path, error) from None
        return StateFile(rows, checksum)

    def _batches(self, path: str) -> Iterator[pa.RecordBatch]:
        with self._files.open_input_file(path) as file, pq.ParquetFile(file) as parquet:
            yield from parquet.iter_batches(batch_size=_ROWS_A_GROUP)

    def _read(self, path: str) -> bytes:
        with self._files.open_input_stream(path, compression=None) as stream:
            content: bytes = stream.read()
        return content

    def _children(self, directory: str) -> list[fs.FileInfo]:
        found = self._files.get_file_info(fs.FileSelector(directory, allow_not_found=True))
        return sorted(found, key=lambda file: file.base_name)

    def _child(self, *names: str) -> str:
        return "/".join([self._base.rstrip("/"), *names])
