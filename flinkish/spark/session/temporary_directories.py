"""Directories in the temporary folder, readable by their owner only, and removed with the job, also after a crash."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import uuid
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

_PREFIX = "flinkish-"

_LOCK = ".lock"


class TemporaryDirectory:
    """A new temporary directory. Its lock is held until the directory is removed or this process
    ends, so that the next run recognises the directories that a crash has left, and removes
    them."""

    def __init__(self) -> None:
        folder = Path(tempfile.gettempdir())
        _clear_left_behind(folder)
        # Renamed only once its lock is held, as other processes remove directories with such names.
        draft = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}"))
        self._lock = os.open(draft / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.path = draft.rename(folder / f"{_PREFIX}{uuid.uuid4().hex[:12]}")
        self._removed = False

    def remove(self) -> None:
        """Remove the directory with its contents; does nothing the second time."""
        if not self._removed:
            self._removed = True
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)


@lru_cache
def _clear_left_behind(folder: Path) -> None:
    """Remove the directories of runs that have ended; done once in a process."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX):
                with suppress(OSError):
                    _remove_unlocked(entry)


def _remove_unlocked(entry: os.DirEntry[str]) -> None:
    # Others may write to the folder: follow no links, and touch no other user's files.
    if not entry.is_dir(follow_symlinks=False):
        return
    if entry.stat(follow_symlinks=False).st_uid != os.getuid():
        return
    lock = os.open(Path(entry.path, _LOCK), os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(entry.path, ignore_errors=True)
    finally:
        os.close(lock)
