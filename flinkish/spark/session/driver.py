"""``Driver``: what drives the queries of a session. This process does, or a server of Spark Connect."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlparse

from flinkish.api.errors import JobExecutionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class TemporaryPlace:
    """A directory for a job, by its URI, and what removes it."""

    uri: str
    remove: Callable[[], None]


class Driver(ABC):
    """The driver of ``session``: what it calls, and which files it sees."""

    reachesWorkers: ClassVar[bool]
    """Whether this process reaches the workers of a query: to close what they keep, and to have them sample a batch."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session

    # ------------------------------------------------------------------ its life

    @abstractmethod
    def isGone(self) -> bool:
        """Whether it no longer answers."""

    @abstractmethod
    def goneError(self) -> JobExecutionError:
        """The error for a job whose driver is gone."""

    @abstractmethod
    def quietLoggers(self) -> AbstractContextManager[None]:
        """Spark's loggers are quiet inside, and where several jobs run, until the last has ended."""

    @abstractmethod
    def quietState(self) -> None:
        """Silence the warnings of states for good, for a query whose end only its user knows."""

    # ------------------------------------------------------------------ code

    @abstractmethod
    def prepareWorkers(self) -> None:
        """Let workers that are started from now on find the flinkish of this process, and its modules."""

    @property
    def archives(self) -> tuple[str, ...]:
        """The names of the archives that workers have to find code in by themselves."""
        return ()

    @abstractmethod
    def travelling(self, content: Any) -> Any:
        """``content`` as the Python processes of a streaming query can unpickle it."""

    # ------------------------------------------------------------------ files

    @abstractmethod
    def localPath(self, path: str) -> Path | None:
        """``path`` on the file system of this machine, None if it is elsewhere."""

    def named(self, path: str) -> str:
        """``path``, as it is the same text for the same directory."""
        local = self.localPath(path)
        return path.rstrip("/") if local is None else f"file:{local}"

    @abstractmethod
    def isFile(self, path: str) -> bool:
        """Whether ``path`` is a file, and no directory."""

    @abstractmethod
    def makeDirectory(self, path: str) -> None:
        """Make a directory of a machine's file system, for its owner only. Does nothing if it is elsewhere."""

    @abstractmethod
    def canRemove(self, path: str) -> bool:
        """Whether ``removeDirectory`` removes ``path``."""

    @abstractmethod
    def removeDirectory(self, path: str) -> None:
        """Remove a directory of a machine's file system, if there is one."""

    @abstractmethod
    def temporaryPlace(self) -> TemporaryPlace:
        """A new directory for what is temporary. Raises NotSupportedError if there is none to be had."""

    def missing(self, path: str) -> str | None:
        """None if ``path`` exists, else the whole URI that Spark reports as missing."""
        return _missing(self.session, path)

    def plainPathsAreLocal(self) -> bool:
        """Whether Spark's default file system is that of a machine."""
        return _plain_paths_are_local(self.session)


@lru_cache(maxsize=1)
def _plain_paths_are_local(session: SparkSession) -> bool:
    # Remembered, since a job has many directories, and each question is a query to Spark
    nowhere = _missing(session, f"/{uuid.uuid4().hex}")
    return urlparse(nowhere).scheme == "file"


def _missing(session: SparkSession, path: str) -> str | None:
    from pyspark.errors import AnalysisException

    try:
        # Of one path that is not there, Spark also logs a warning with a stack trace.
        session.read.text([path, path]).inputFiles()
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return str((error.getMessageParameters() or {}).get("path", path))
    return None
