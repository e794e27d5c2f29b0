"""Directories by path or URI, and the small texts and tables of a checkpoint.

Spark reaches every file system that a directory can be on; a local directory is written without a
Spark job, which is faster for small jobs.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from flinkish.runtime.sources.alignment import Watermarks
from flinkish.spark.session.drivers import driver_of
from flinkish.spark.session.this_process import not_accessed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Directory:
    """A directory by its path or URI; a plain path is on Spark's default file system. ``path`` is
    the same string for the same directory."""

    def __init__(self, session: SparkSession, path: str) -> None:
        self._session = session
        self._driver = driver_of(session)
        self.local = self._driver.localPath(path)
        """The path on this machine's file system, None if the directory is elsewhere."""
        self.path = self._driver.named(path)

    def child(self, name: str) -> str:
        return f"{self.path}/{name}"

    def holds(self, pattern: str) -> bool:
        if self.local is not None:
            return any(self.local.glob(pattern))
        return not self._driver.isMissing(self.child(pattern))


class CheckpointStorage(Directory):
    """The directory of a job's checkpoint (Flink: ``CheckpointStorage``)."""

    def create(self) -> None:
        """Create the directory, for its owner only, if it does not exist. On another file system
        than this machine's, Spark creates it with that file system's defaults."""
        self._driver.makeDirectory(self.path)

    def readText(self, name: str) -> str | None:
        """The text written under ``name``, None if there is none."""
        if self.local:
            file = self.local / name / "text"
            with self._accessed("read"):
                return file.read_text("utf-8", "replace") if file.exists() else None
        path = self.child(name)
        if self._driver.isMissing(path):
            return None
        rows = self._session.read.text(path, wholetext=True).collect()
        return "".join(row[0] for row in rows).rstrip("\x00") if rows else None

    def lastBatch(self, log: str) -> int | None:
        """The number of the last batch in one of Spark's logs, None if there is none."""
        if self.local:
            with self._accessed("read"):
                names = [file.name for file in (self.local / log).glob("[0-9]*")]
        elif self._driver.isMissing(pattern := self.child(f"{log}/[0-9]*")):
            return None
        else:
            # For a single pattern Spark logs a warning with a stack trace
            files = self._session.read.text([pattern, pattern]).inputFiles()
            names = [file.rpartition("/")[2] for file in files]
        return max((int(name) for name in names if name.isdigit()), default=None)

    def offsets(self, batch: int) -> list[str]:
        """The offsets of the sources that Spark has logged after a batch."""
        file = f"query/offsets/{batch}"
        if self.local:
            with self._accessed("read"):
                lines = (self.local / file).read_text("utf-8").splitlines()
        else:
            rows = self._session.read.text(self.child(file), wholetext=True).collect()
            lines = rows[0][0].splitlines() if rows else []
        # The version and the settings come first
        return lines[2:]

    def writeText(self, name: str, text: str) -> None:
        """Write ``text`` under ``name`` atomically."""
        if self.local:
            with self._accessed("written"):
                write_whole(self.local / name / "text", text)
        else:
            frame = self._session.createDataFrame([(text,)], "value string").coalesce(1)
            frame.write.mode("overwrite").option("lineSep", "\x00").text(self.child(name))

    def appendLine(self, name: str, line: str, number: int) -> None:
        """Add a file with one line, the ``number``-th, to the directory ``name``."""
        if self.local:
            with self._accessed("written"):
                write_whole(self.local / name / f"{number:012d}.txt", line + "\n")
        else:
            frame = self._session.createDataFrame([(line,)], "value string").coalesce(1)
            frame.write.mode("append").text(self.child(name))

    @contextmanager
    def _accessed(self, how: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            assert self.local is not None
            raise not_accessed(self.local, how, error) from error


def write_whole(file: Path, text: str) -> None:
    """Write ``text`` to ``file`` atomically."""
    _drafted(file.with_name(f".{file.name}.draft"), text).rename(file)


def write_once(file: Path, text: str) -> None:
    """Write ``text`` to ``file`` atomically. Raises FileExistsError if the file exists, also if
    another process is just writing it."""
    # Each of two processes that write it has its own draft
    draft = _drafted(file.with_name(f".{file.name}.{uuid.uuid4().hex}.draft"), text)
    try:
        os.link(draft, file)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links
        os.close(os.open(file, os.O_CREAT | os.O_EXCL))
        draft.rename(file)
    finally:
        draft.unlink(missing_ok=True)


def _drafted(draft: Path, text: str) -> Path:
    """Write ``text`` to ``draft``, flushed to disk. Spark does not list names with a dot first."""
    draft.parent.mkdir(parents=True, exist_ok=True)
    with draft.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    return draft


_WATERMARKS = "aligned-watermarks.json"


def note_watermarks(checkpoint: Path, watermarks: Watermarks) -> None:
    """Write the watermarks of aligned sources into the ``checkpoint``, a directory of this machine,
    for the processes that plan the sources."""
    write_whole(checkpoint / _WATERMARKS, json.dumps(watermarks))


def noted_watermarks(checkpoint: Path) -> Watermarks:
    """The watermarks that were written last; none at first."""
    with suppress(OSError, ValueError):
        noted: dict[str, int | None] = json.loads((checkpoint / _WATERMARKS).read_text("utf-8"))
        return noted
    return {}
