"""Checks whether the executors of a cluster see the checkpoint, if that is a directory of the
driver's machine.

The path alone does not show it: it may be on a mount, or all processes may be on one machine. So
tasks look for a file that the driver has just written.
"""

from __future__ import annotations

import shutil
import socket
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import pyarrow as pa

from flinkish.api.errors import CheckpointStorageError
from flinkish.spark.checkpoint.storage import CheckpointStorage
from flinkish.spark.session.artifacts import runs_in_driver

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_MARKER = ".seen-by-executors"

_ROWS = 1 << 16
"""A number of rows large enough that Spark starts a task on each of its cores."""

_PATIENCE = 2.0
"""The seconds after which a mount shows the files of another machine, whatever it caches."""

_shared: WeakKeyDictionary[SparkContext, set[Path]] = WeakKeyDictionary()
"""The parents of directories that executors have seen."""


def check_shared(session: SparkSession, storage: CheckpointStorage) -> None:
    """Raises CheckpointStorageError, which names machines, unless the executors that run now see
    ``storage``. Does nothing if the directory is not on a machine's own file system or if the
    executors are in this process's JVM, and checks each folder only once."""
    local = storage.local
    if local is None:
        return
    from pyspark import SparkContext

    context = SparkContext.getOrCreate()
    folders = _shared.setdefault(context, set())
    if local.parent in folders or runs_in_driver(context.master):
        return
    text = uuid.uuid4().hex
    try:
        storage.writeText(_MARKER, text)
        looking = LookingFunction(str(local / _MARKER / "text"), text)
        rows = session.range(_ROWS).mapInArrow(looking.__call__, "machine string")
        blind = sorted({row[0] for row in rows.collect()})
    finally:
        shutil.rmtree(local / _MARKER, ignore_errors=True)
    if blind:
        raise CheckpointStorageError(
            f"the checkpoint directory {local} of the driver is not there for executors, on"
            f" {', '.join(blind[:3])}{', ...' if len(blind) > 3 else ''}. Call env.enableCheckpointing(directory)"
            " with a path on a mount that the driver and all executors have, and where they may write, or with"
            " a URI such as s3a://bucket/path."
        )
    folders.add(local.parent)


@dataclass(frozen=True)
class LookingFunction:
    """Returns the name of the task's machine if ``file`` does not contain ``text`` there."""

    file: str
    text: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        until = time.monotonic() + _PATIENCE
        while not (seen := self._is_seen()) and time.monotonic() < until:
            time.sleep(_PATIENCE / 10)
        if not seen:
            yield pa.RecordBatch.from_pydict({"machine": [socket.gethostname()]})

    def _is_seen(self) -> bool:
        try:
            return Path(self.file).read_text("utf-8") == self.text
        except (OSError, UnicodeDecodeError):
            return False
