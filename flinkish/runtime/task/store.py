"""Keeps opened tasks in a worker from one batch to the next."""

from __future__ import annotations

import logging
import os
import threading
from collections import OrderedDict
from typing import Any, NamedTuple

from flinkish.runtime.closing import Closeable

_LOG = logging.getLogger("flinkish")


MOST_TASKS = 64
"""How many tasks a worker keeps; the one that has waited longest is closed first."""


class JobRun(NamedTuple):
    """One run of a job: ``job`` is what its runs have in common, ``run`` is its own."""

    job: str
    run: str


class TaskKey(NamedTuple):
    """Which task it is: of a run, of a source or stage, and which of its subtasks."""

    run: JobRun
    vertex: str
    subtask: int


class TaskStore:
    """Opened tasks, each with whoever works with it or here, never both.

    So a task that raised, or is half done, is not here: who works with it closes it.
    """

    def __init__(self, most: int = MOST_TASKS) -> None:
        self._most = most
        self._tasks: OrderedDict[TaskKey, Closeable] = OrderedDict()
        self._lock = threading.Lock()
        self._process = os.getpid()

    def take(self, key: TaskKey) -> Any:
        """The task of that key, which leaves the store; None if there is none. Tasks of other runs of the
        job are closed: it was started again."""
        with self._lock:
            self._own()
            task = self._tasks.pop(key, None)
            displaced = self._removed(lambda k: k.run.job == key.run.job and k.run != key.run)
        _close(displaced)
        return task

    def keep(self, key: TaskKey, task: Closeable) -> None:
        """Put a task in, which nobody works with any more."""
        with self._lock:
            self._own()
            displaced = [t for t in (self._tasks.pop(key, None),) if t is not None]
            self._tasks[key] = task
            while len(self._tasks) > self._most:
                displaced.append(self._tasks.popitem(last=False)[1])
        _close(displaced)

    def closeRun(self, run: JobRun) -> None:
        """Close all tasks of a run, which has ended."""
        with self._lock:
            self._own()
            ended = self._removed(lambda key: key.run == run)
        _close(ended)

    def __len__(self) -> int:
        return len(self._tasks)

    def _removed(self, which: Any) -> list[Closeable]:
        return [self._tasks.pop(key) for key in [key for key in self._tasks if which(key)]]

    def _own(self) -> None:
        if self._process != os.getpid():
            # The tasks of the process that this one was forked from are that one's to close.
            self._process = os.getpid()
            self._tasks.clear()


def _close(tasks: list[Closeable]) -> None:
    # Whoever is at work now is not to blame for them.
    for task in tasks:
        try:
            task.close()
        except Exception:
            _LOG.exception("close() of a function that was kept open has failed")


OPEN_TASKS = TaskStore()
"""The store of this worker."""
