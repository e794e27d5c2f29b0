"""Savepoints in a directory of this machine's file system, written and read in this process."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from flinkish.api.errors import CheckpointStorageError
from flinkish.deployment.savepoint.metadata import (
    METADATA,
    STATE,
    SavepointMetadata,
    StateFile,
    damaged,
)
from flinkish.runtime.savepoint.saved_state import (
    SCHEMA,
    SavedState,
    arrow_batch,
    checksum_of,
    saved_states,
)

_ROWS_A_GROUP = 64

_FILE = "part-00000.parquet"


def check_empty(directory: Path) -> None:
    """Raises CheckpointStorageError if a savepoint cannot be written to ``directory``."""
    if directory.is_dir() and any(directory.iterdir()):
        raise CheckpointStorageError(
            f"the savepoint directory {directory} is not empty. Pass a new directory for each savepoint."
        )


def write_state(directory: Path, states: Iterable[SavedState]) -> dict[str, StateFile]:
    """Write the rows of a savepoint."""
    rows = checksum = 0
    try:
        (directory / STATE).mkdir(parents=True, exist_ok=True)
        with pq.ParquetWriter(directory / STATE / _FILE, SCHEMA) as writer:
            left = iter(states)
            while part := list(islice(left, _ROWS_A_GROUP)):
                writer.write_batch(arrow_batch(part))
                rows += len(part)
                checksum += sum(state.checksum for state in part)
    except OSError as error:
        raise CheckpointStorageError(
            f"the savepoint directory {directory} cannot be written: {error}. Pass a directory that this"
            " process may make and write, on a disk with space left."
        ) from error
    return {_FILE: StateFile(rows, checksum)}


def write_metadata(directory: Path, metadata: SavepointMetadata) -> None:
    """Write the metadata, after all else: a savepoint without it is none."""
    (directory / METADATA).mkdir(parents=True, exist_ok=True)
    draft = directory / METADATA / ".draft"
    with draft.open("w", encoding="utf-8") as file:
        file.write(metadata.asText())
        file.flush()
        os.fsync(file.fileno())
    draft.rename(directory / METADATA / "text")


def read_metadata(directory: Path) -> SavepointMetadata:
    """The metadata, from one file or, if Spark wrote it to another file system, from what that left."""
    where = directory / METADATA
    names = sorted(os.listdir(where)) if where.is_dir() else []
    files = [where / name for name in names if not name.startswith((".", "_"))]
    text = "".join(file.read_text("utf-8", "replace") for file in files).rstrip("\0")
    return SavepointMetadata.ofText(text if files else None, str(where / "text"))


def read_state(directory: Path, metadata: SavepointMetadata) -> Iterator[SavedState]:
    """The rows of a savepoint, which are compared with its metadata first.

    Raises CorruptCheckpointError, which names the file.
    """
    files = {file.name: file for file in sorted((directory / STATE).glob("*.parquet"))}
    found = {name: _checked(file, str(directory)) for name, file in files.items()}
    metadata.checkFiles(found, str(directory))
    return (
        state
        for file in files.values()
        for batch in _batches(file)
        for state in saved_states(batch)
    )


def _checked(file: Path, where: str) -> StateFile:
    rows = checksum = 0
    try:
        for batch in _batches(file):
            for state, noted in zip(saved_states(batch), batch.column("checksum").to_pylist()):
                if checksum_of(state.operator, state.content) == noted:
                    rows, checksum = rows + 1, checksum + noted
    except (OSError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException) as error:
        raise damaged(file.name, where, error) from None
    return StateFile(rows, checksum)


def _batches(file: Path) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(file) as parquet:
        yield from parquet.iter_batches(batch_size=_ROWS_A_GROUP)
