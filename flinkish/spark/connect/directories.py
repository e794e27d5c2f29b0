"""Creates and removes directories on a server's machine, in its Python processes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow as pa


def local_path(uri: str) -> Path | None:
    """The path of ``uri`` on a machine's own file system, None if it is elsewhere."""
    parsed = urlparse(uri)
    return Path(unquote(parsed.path)) if parsed.scheme == "file" else None


def make_directory(path: Path, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Creates a directory, for its owner only; for ``mapInArrow``."""
    for _ in batches:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
    yield from ()


def remove_directory(path: Path, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Removes a directory with its contents; for ``mapInArrow``."""
    for _ in batches:
        shutil.rmtree(path, ignore_errors=True)
    yield from ()
