"""The server of a session of Spark Connect: whether it answers, and directories on its machine."""

from __future__ import annotations

import shutil
import socket
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

import pyarrow as pa

from flinkish.api.errors import NotSupportedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CONNECT_SECONDS = 2.0

_ROOT = "spark.sql.streaming.checkpointLocation"
"""Spark's setting for the folder of checkpoints whose directory is not given."""


def is_remote(session: SparkSession) -> bool:
    """Whether ``session`` is one of Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def server_is_gone(session: SparkSession) -> bool:
    """Whether the server of ``session`` no longer answers, or has been started anew and does not know it."""
    if not server_listens(session):
        return True
    try:
        session.conf.get("spark.sql.session.timeZone", None)
    except Exception:
        return True
    return False


def server_listens(session: SparkSession) -> bool:
    """Whether something listens where the server was; True if that cannot be told from here.

    Asking the server itself may take ten minutes, as the client tries again.
    """
    client: Any = session.client
    if client.is_closed:
        return False
    endpoint = getattr(getattr(client, "_builder", None), "endpoint", None)
    if not isinstance(endpoint, str):
        return True
    host, _, port = endpoint.rpartition(":")
    if not port.isdigit():
        return True
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
    except ConnectionRefusedError:
        return False
    except OSError:
        # The network may be away, for which the client has its patience
        return True
    return True


def temporary_directory(session: SparkSession) -> str:
    """A URI for a new directory where the server keeps what is temporary.

    Raises NotSupportedError if the server does not say where that is.
    """
    root = session.conf.get(_ROOT, None)
    if not root:
        try:
            asked = "SELECT reflect('java.lang.System', 'getProperty', 'java.io.tmpdir') FROM VALUES (1)"
            root = Path(session.sql(asked).collect()[0][0]).as_uri()
        except Exception as error:
            raise NotSupportedError(
                "Spark Connect: the server does not say where it keeps what is temporary"
                f" ({str(error).splitlines()[0]}). Call env.enableCheckpointing(directory) with a path or URI that"
                f" the server can write, or set {_ROOT} for the session."
            ) from None
    return f"{root.rstrip('/')}/flinkish-{uuid.uuid4().hex[:12]}"


def local_path(uri: str) -> Path | None:
    """Where ``uri`` is on the file system of a machine, None if it is elsewhere."""
    parsed = urlparse(uri)
    return Path(unquote(parsed.path)) if parsed.scheme == "file" else None


def make_directory(session: SparkSession, path: str) -> None:
    """Make a directory of the server's machine, for its owner only. Does nothing if it is elsewhere."""
    _called_there(session, MakeDirectory(path))


def remove_directory(session: SparkSession, path: str) -> None:
    """Remove a directory of the server's machine, if it still answers. Does nothing if it is elsewhere."""
    with suppress(Exception):
        if server_listens(session):
            _called_there(session, RemoveDirectory(path))


def _called_there(session: SparkSession, function: MakeDirectory | RemoveDirectory) -> None:
    if function.local is not None:
        session.range(1, numPartitions=1).mapInArrow(function.__call__, "id long").collect()


@dataclass(frozen=True)
class _OnDirectory:
    """Called in a worker, for ``mapInArrow``."""

    path: str

    @property
    def local(self) -> Path | None:
        """Where the directory is on the file system of a machine, None if it is elsewhere."""
        return local_path(self.path)


class MakeDirectory(_OnDirectory):
    """Makes a directory, for its owner only."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            assert self.local is not None
            self.local.parent.mkdir(parents=True, exist_ok=True)
            self.local.mkdir(mode=0o700, exist_ok=True)
        yield from ()


class RemoveDirectory(_OnDirectory):
    """Removes a directory with its contents."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            assert self.local is not None
            shutil.rmtree(self.local, ignore_errors=True)
        yield from ()
