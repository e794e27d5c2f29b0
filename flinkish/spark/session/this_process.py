"""``ThisProcess``: the usual driver, this process with its own JVM, which starts the workers."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import unquote, urlparse

from flinkish.api.errors import CheckpointStorageError, JobExecutionError
from flinkish.spark.session.artifacts import give_package
from flinkish.spark.session.driver import Driver, TemporaryPlace
from flinkish.spark.session.quiet_logs import quiet_loggers, quiet_py4j, quiet_state
from flinkish.spark.session.temporary_directories import TemporaryDirectory
from flinkish.spark.session.worker_python import set_worker_memory, set_worker_python


class ThisProcess(Driver):
    reachesWorkers = True

    def isGone(self) -> bool:
        try:
            with quiet_py4j():
                # Any call that is not cached
                self.session.conf.get("spark.master", None)
        except Exception:
            return True
        return False

    def goneError(self) -> JobExecutionError:
        return jvm_gone_error()

    def quietLoggers(self) -> AbstractContextManager[None]:
        return quiet_loggers(self.session)

    def quietState(self) -> None:
        quiet_state(self.session)

    def prepareWorkers(self) -> None:
        set_worker_python(self.session)
        set_worker_memory()
        give_package(self.session)

    def localPath(self, path: str) -> Path | None:
        uri = urlparse(path)
        if uri.scheme == "file":
            return Path(os.path.abspath(unquote(uri.path)))
        # One letter before a colon is a drive, not a scheme.
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", path):
            return None
        return Path(os.path.abspath(path)) if self.plainPathsAreLocal() else None

    def isFile(self, path: str) -> bool:
        return os.path.isfile(path.removeprefix("file:"))

    def makeDirectory(self, path: str) -> None:
        local = self.localPath(path)
        if local is None:
            return
        try:
            local.parent.mkdir(parents=True, exist_ok=True)
            local.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise not_accessed(local, "written", error) from error

    def canRemove(self, path: str) -> bool:
        return self.localPath(path) is not None

    def removeDirectory(self, path: str) -> None:
        local = self.localPath(path)
        if local is not None:
            shutil.rmtree(local, ignore_errors=True)

    def temporaryPlace(self) -> TemporaryPlace:
        directory = TemporaryDirectory()
        # A URI, as Spark may read a plain path on another file system
        return TemporaryPlace(directory.path.as_uri(), directory.remove)


def jvm_gone_error() -> JobExecutionError:
    return JobExecutionError(
        "the JVM that Spark runs in is gone: it ran out of memory, or was killed. Restart Python, with"
        " more memory for it (spark.driver.memory) if that was short; a job with"
        " enableCheckpointing(directory) goes on after its last batch."
    )


def not_accessed(directory: Path, how: str, error: OSError) -> CheckpointStorageError:
    """The error for a checkpoint's directory that this process cannot read or write."""
    return CheckpointStorageError(
        f"the checkpoint directory {directory} cannot be {how}: {error}. Pass"
        " enableCheckpointing(...) a directory that this process may make and write, on a disk"
        " with space left."
    )
