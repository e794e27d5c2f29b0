"""``ConnectServer``: the driver of a session of Spark Connect, on another file system."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkish.api.errors import JobExecutionError, NotSupportedError
from flinkish.spark.connect.directories import local_path, make_directory, remove_directory
from flinkish.spark.connect.travelling import Travelling
from flinkish.spark.session.artifacts import archives_of, send_code
from flinkish.spark.session.driver import Driver, TemporaryPlace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CONNECT_SECONDS = 2.0

_ROOT = "spark.sql.streaming.checkpointLocation"
"""Spark's setting for the folder of checkpoints whose directory is not given."""

_IS_MISSING = (
    "BEGIN DECLARE EXIT HANDLER FOR PATH_NOT_FOUND VALUES (true);"
    " SELECT 1 FROM text.`{}` WITH ('path' = '{}') LIMIT 0; VALUES (false); END"
)

_SWITCHED_OFF = ("UNSUPPORTED_FEATURE.SQL_SCRIPTING", "TABLE_OR_VIEW_NOT_FOUND")
"""Spark's error conditions for such a script without spark.sql.scripting.enabled or spark.sql.runSQLOnFiles."""


def is_remote(session: SparkSession) -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect")


class ConnectServer(Driver):
    reachesWorkers = False

    def isGone(self) -> bool:
        """Whether the server no longer answers, or was restarted and does not know the session."""
        if not self.listens():
            return True
        try:
            self.session.conf.get("spark.sql.session.timeZone", None)
        except Exception:
            return True
        return False

    def goneError(self) -> JobExecutionError:
        return JobExecutionError(
            "the server of Spark Connect is gone, or was started anew and does not know this session any more."
            " Make a new session; a job with enableCheckpointing(directory) goes on after its last batch."
        )

    def listens(self) -> bool:
        """Whether something listens at the server's address; True if this process does not know.
        Asking the server itself may take ten minutes, as the client retries."""
        client: Any = self.session.client
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
            # The network may be down, for which the client retries
            return True
        return True

    def close(self) -> None:
        """Let no call retry, as nothing listens there any more."""
        with suppress(Exception):
            self.session.client.close()

    def prepareWorkers(self) -> None:
        send_code(self.session)

    @property
    def archives(self) -> tuple[str, ...]:
        return archives_of(self.session)

    def travelling(self, content: Any) -> Any:
        return Travelling(self.archives, content)

    def named(self, path: str) -> str:
        plain = path.startswith("/") and self.plainPathsAreLocal()
        return f"file:{path}".rstrip("/") if plain else path.rstrip("/")

    def isFile(self, path: str) -> bool:
        # A directory has files with other names
        files = self.session.read.text(path).inputFiles()
        return [file.rpartition("/")[2] for file in files] == [path.rpartition("/")[2]]

    def isMissing(self, path: str) -> bool:
        from pyspark.errors import PySparkException

        # A server logs each error of a client with a stack trace, so the error is handled there.
        # For a single missing path it also logs a warning with one.
        name, text = path.replace("`", "``"), path.replace("\\", "\\\\").replace("'", "\\'")
        try:
            return bool(self.session.sql(_IS_MISSING.format(name, text)).collect()[0][0])
        except PySparkException as error:
            if error.getCondition() not in _SWITCHED_OFF:
                raise
            return super().isMissing(path)

    def plainPathsAreLocal(self) -> bool:
        with suppress(Exception):
            return _plain_paths_are_local(self.session)
        # The server does not report the location of its Java
        return super().plainPathsAreLocal()

    def makeDirectory(self, path: str) -> None:
        there = local_path(path)
        if there is not None:
            self._call(partial(make_directory, there))

    def canRemove(self, path: str) -> bool:
        return local_path(path) is not None

    def removeDirectory(self, path: str) -> None:
        there = local_path(path)
        with suppress(Exception):
            if there is not None and self.listens():
                self._call(partial(remove_directory, there))

    def temporaryPlace(self) -> TemporaryPlace:
        root = self.session.conf.get(_ROOT, None) or self._temporary_folder()
        uri = f"{root.rstrip('/')}/flinkish-{uuid.uuid4().hex[:12]}"
        return TemporaryPlace(uri, partial(self.removeDirectory, uri))

    def _temporary_folder(self) -> str:
        try:
            return Path(_property(self.session, "java.io.tmpdir")).as_uri()
        except Exception as error:
            raise NotSupportedError(
                "Spark Connect: the server does not tell its directory for temporary files"
                f" ({str(error).splitlines()[0]}). Call env.enableCheckpointing(directory) with a path or URI that"
                f" the server can write, or set {_ROOT} for the session."
            ) from None

    def _call(self, function: Callable[..., Iterator[Any]]) -> None:
        """Call ``function`` in a Python process of the server."""
        rows = self.session.range(1, numPartitions=1)
        rows.mapInArrow(function, "id long").collect()


@lru_cache(maxsize=1)
def _plain_paths_are_local(session: SparkSession) -> bool:
    # A file of Java's is on the server's own file system for sure
    file = f"{_property(session, 'java.home')}/lib/modules"
    if ConnectServer(session).isMissing(file):
        return False
    return session.read.text(file).inputFiles()[0].startswith("file:")


def _property(session: SparkSession, name: str) -> str:
    """A property of the server's JVM."""
    asked = f"SELECT reflect('java.lang.System', 'getProperty', '{name}') FROM VALUES (1)"
    return str(session.sql(asked).collect()[0][0])
