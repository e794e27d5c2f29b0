"""The checkpoint directory: small texts and tables in it, written and read through Spark.

Spark reaches every file system that a checkpoint can be on; a plain local directory is written
without a Spark job, which is faster for small jobs.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class CheckpointStorage:
    """A directory by its path or URI."""

    def __init__(self, session: SparkSession, path: str) -> None:
        self._session = session
        local_by_default = _default_scheme(session) == "file"
        self._local = _local_path(path, local_by_default)
        if self._local is None:
            self.path = path.rstrip("/")
        else:
            self.path = f"{'' if local_by_default else 'file://'}{self._local}"

    @property
    def isLocal(self) -> bool:
        """Whether it is on this machine's file system."""
        return self._local is not None

    def child(self, name: str) -> str:
        """The path of ``name`` in the directory."""
        return f"{self.path}/{name}"

    def readText(self, name: str) -> str | None:
        """The text written under ``name``, None if there is none."""
        if self._local:
            file = self._local / name / "text"
            return file.read_text("utf-8") if file.exists() else None
        return self._read_with_spark(name)

    def writeText(self, name: str, text: str) -> None:
        """Write ``text`` under ``name``, all of it or nothing."""
        if self._local:
            _write_whole(self._local / name / "text", text)
        else:
            frame = self._session.createDataFrame([(text,)], "value string").coalesce(1)
            frame.write.mode("overwrite").option("lineSep", "\x00").text(self.child(name))

    def appendLine(self, name: str, line: str, number: int) -> None:
        """Add a file with one line, the ``number``-th, to the directory ``name``."""
        if self._local:
            _write_whole(self._local / name / f"{number:012d}.txt", line + "\n")
        else:
            frame = self._session.createDataFrame([(line,)], "value string").coalesce(1)
            frame.write.mode("append").text(self.child(name))

    def writeTable(self, name: str, frame: DataFrame, mode: str, rowsPerFile: int = 0) -> None:
        """Write a DataFrame as Parquet under ``name``, in files of so many rows if that is said."""
        writer = frame.write.mode(mode).option("maxRecordsPerFile", rowsPerFile)
        writer.parquet(self.child(name))

    def _read_with_spark(self, name: str) -> str | None:
        from pyspark.errors import AnalysisException

        try:
            rows = self._session.read.text(self.child(name), wholetext=True).collect()
        except AnalysisException:
            return None
        return "".join(row[0] for row in rows).rstrip("\x00") if rows else None


def _default_scheme(session: SparkSession) -> str:
    """That of the file system which Spark means by a path without one: ``file``, ``hdfs``."""
    configuration = session.sparkContext._jsc.hadoopConfiguration()
    return str(urlparse(configuration.get("fs.defaultFS")).scheme)


def _local_path(path: str, localByDefault: bool) -> Path | None:
    """``path`` on this machine's file system, None if it is elsewhere."""
    uri = urlparse(path)
    if uri.scheme == "file":
        return Path(unquote(uri.path)).absolute()
    # One letter before a colon is a drive, not a scheme.
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", path) or not localByDefault:
        return None
    return Path(path).absolute()


def _write_whole(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    # Spark's listing passes over names that begin with a dot.
    draft = file.with_name(f".{file.name}.draft")
    with draft.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    draft.rename(file)
