"""Creates and removes directories on a server's machine, in its Python processes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow as pa


def local_path(uri: str) -> Path | None:
    """The path of ``uri`` on a machine's own file system, None if it is elsewhere."""
    parsed = urlparse(uri)
    return Path(unquote(parsed.path)) if parsed.scheme == "file" else None


@dataclass(frozen=True)
class MakeDirectory:
    """Creates a directory, for its owner only; for ``mapInArrow``."""

    path: Path

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir(mode=0o700, exist_ok=True)
        yield from ()


@dataclass(frozen=True)
class RemoveDirectory:
    """Removes a directory with its contents; for ``mapInArrow``."""

    path: Path

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            shutil.rmtree(self.path, ignore_errors=True)
        yield from ()
