"""``Driver``: drives the queries of a session: this process, or a Spark Connect server."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
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
    """The URI of a temporary directory for a job, and the function that removes it."""

    uri: str
    remove: Callable[[], None]


@dataclass(frozen=True, eq=False)
class Driver(ABC):
    """The driver of ``session``: its life, its code and its files."""

    reachesWorkers: ClassVar[bool]
    """Whether this process reaches the workers of a query, to close tasks and to sample."""

    session: SparkSession

    # ------------------------------------------------------------------ its life

    @abstractmethod
    def isGone(self) -> bool:
        """Whether the driver no longer answers."""

    @abstractmethod
    def goneError(self) -> JobExecutionError:
        """The error for a job whose driver is gone."""

    def quietLoggers(self) -> AbstractContextManager[None]:
        """Silence Spark's loggers inside the block, of several until the last has ended; does nothing
        if they are those of a server, which others use too."""
        return nullcontext()

    def quietState(self) -> None:
        """Silence the warnings of states for good, for a query whose end only its user knows."""

    # ------------------------------------------------------------------ code

    @abstractmethod
    def prepareWorkers(self) -> None:
        """Let workers that start from now on find the flinkish of this process, and its modules."""

    @property
    def archives(self) -> tuple[str, ...]:
        """The names of the archives that workers have to put on their path themselves."""
        return ()

    def travelling(self, content: Any) -> Any:
        """``content`` in a form that the Python processes of a streaming query can unpickle."""
        return content

    # ------------------------------------------------------------------ files

    def localPath(self, path: str) -> Path | None:
        """``path`` on the file system of this machine, None if it is elsewhere."""
        return None

    def named(self, path: str) -> str:
        """``path`` normalised: the same string for the same directory."""
        local = self.localPath(path)
        return path.rstrip("/") if local is None else f"file:{local}"

    @abstractmethod
    def isFile(self, path: str) -> bool:
        """Whether ``path`` is a file and not a directory."""

    @abstractmethod
    def makeDirectory(self, path: str) -> None:
        """Create a directory of the driver's own file system, for its owner only."""

    @abstractmethod
    def canRemove(self, path: str) -> bool:
        """Whether ``removeDirectory`` removes ``path``."""

    @abstractmethod
    def removeDirectory(self, path: str) -> None:
        """Remove a directory from the driver's own file system, if it exists."""

    @abstractmethod
    def temporaryPlace(self) -> TemporaryPlace:
        """A new temporary directory. Raises NotSupportedError if none can be created."""

    def isMissing(self, path: str) -> bool:
        """Whether no file or directory matches ``path``, which may be a pattern."""
        return _missing(self.session, path) is not None

    def plainPathsAreLocal(self) -> bool:
        """Whether Spark's default file system is that of its machine."""
        return _plain_paths_are_local(self.session)


@lru_cache(maxsize=1)
def _plain_paths_are_local(session: SparkSession) -> bool:
    # Cached, since a job has many directories, and each call is a query to Spark
    nowhere = _missing(session, f"/{uuid.uuid4().hex}")
    return urlparse(nowhere).scheme == "file"


def _missing(session: SparkSession, path: str) -> str | None:
    """None if ``path`` exists, else the whole URI that Spark reports as missing."""
    from pyspark.errors import AnalysisException

    try:
        # For a single missing path Spark also logs a warning with a stack trace.
        session.read.text([path, path]).inputFiles()
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return str((error.getMessageParameters() or {}).get("path", path))
    return None
