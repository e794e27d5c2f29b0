"""``TaskStore``: keeps opened tasks in a worker process from one batch to the next.

Flink opens a function once in the life of a task. Spark starts a new task for each batch, so the
opened functions, with the connections or models that they have loaded, would be lost each time.
Instead, a worker keeps a task after its part of a batch, and takes it again for the next batch if
it gets the same subtask.

A task is either in the store or in use, never both. So a task that failed half-way is not in the
store and cannot be used again: its user closes it.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import OrderedDict
from typing import Any, NamedTuple

from flinkish.runtime.closing import Closeable

_LOG = logging.getLogger("flinkish")

MOST_TASKS = 64
"""The number of tasks that a worker keeps; beyond that, the least recently used is closed."""


class JobRun(NamedTuple):
    """One run of a job: ``job`` is the same for all runs of it, ``run`` is unique."""

    job: str
    run: str


class TaskKey(NamedTuple):
    """The identity of a task: the run, the source or stage, and the subtask."""

    run: JobRun
    vertex: str
    subtask: int


class TaskStore:
    """The opened tasks of this process that are not in use; keeps the ``most`` recent ones."""

    def __init__(self, most: int = MOST_TASKS) -> None:
        self._most = most
        self._tasks: OrderedDict[TaskKey, Closeable] = OrderedDict()
        self._lock = threading.Lock()
        self._process = os.getpid()

    def take(self, key: TaskKey) -> Any:
        """Remove the task of ``key`` from the store and return it; None if there is none. Tasks of
        other runs of the job are closed, as the job has been restarted."""
        with self._lock:
            self._own()
            task = self._tasks.pop(key, None)
            displaced = self._removed(lambda k: k.run.job == key.run.job and k.run != key.run)
        _close(displaced)
        return task

    def keep(self, key: TaskKey, task: Closeable) -> None:
        """Store a task that is no longer in use."""
        with self._lock:
            self._own()
            displaced = [t for t in (self._tasks.pop(key, None),) if t is not None]
            self._tasks[key] = task
            while len(self._tasks) > self._most:
                displaced.append(self._tasks.popitem(last=False)[1])
        _close(displaced)

    def closeRun(self, run: JobRun) -> None:
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
            # After a fork these tasks belong to the parent process, which closes them
            self._process = os.getpid()
            self._tasks.clear()


def _close(tasks: list[Closeable]) -> None:
    # Logged, not raised, as the current task did not cause the error
    for task in tasks:
        try:
            task.close()
        except Exception:
            _LOG.exception("close() of a function that was kept open has failed")


OPEN_TASKS = TaskStore()
"""The store of this worker."""
