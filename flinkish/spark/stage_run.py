"""``StageRun``: one level of a job in a worker, with Spark's pages of a key group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import cloudpickle
from pyspark import TaskContext

from flinkish.runtime.closing import closed_on_error
from flinkish.runtime.task.gates import FrameRow
from flinkish.runtime.task.plan import Subtask
from flinkish.runtime.task.stage import StageTask
from flinkish.runtime.task.store import OPEN_TASKS, JobRun, TaskKey
from flinkish.spark.frame_rows import frame_rows, spark_rows
from flinkish.spark.page_store import MapStatePageStore
from flinkish.spark.profiled_batches import is_profiled


class StageRun:
    """Runs the vertices of one level. ``payload`` is the pickled ([VertexPlan], TaskSettings).
    Groups below zero contain rows for later levels, which are passed on. ``run`` and ``level``
    identify the opened task in the ``TaskStore``; without a run it is closed after each batch."""

    def __init__(self, payload: bytes, run: JobRun | None, level: int) -> None:
        self._payload = payload
        self._run = run
        self._level = level
        self._task: StageTask | None = None
        self._key: TaskKey | None = None

    def process(self, group: int, rows: Iterable[Any], pages: Any) -> Iterator[Any]:
        """Process the rows of a group; ``pages`` is the ``MapState`` with the group's state."""
        if group < 0:
            yield from spark_rows(frame_rows(rows))
            return
        # The task is put back only when the key group is finished, so that a failed task is not
        # kept.
        task, self._task = self._task or self._opened(), None
        frames: list[FrameRow] = list(frame_rows(rows))
        store = MapStatePageStore(pages, frames[0].key_group)
        # Spark closes a processor only after the last element
        with closed_on_error(task):
            task.profile(is_profiled())
            yield from spark_rows(task.process(frames[0].key_group, frames, store))
        self._task = task

    def close(self) -> None:
        """End the batch: keep the task for the next one, or close it."""
        task, self._task = self._task, None
        if task is None:
            return
        if self._key is None or not task.reusable:
            task.close()
        else:
            with closed_on_error(task):
                task.endBatch()
            OPEN_TASKS.keep(self._key, task)

    def _opened(self) -> StageTask:
        subtask = this_subtask()
        if self._run is not None:
            self._key = TaskKey(self._run, f"stage {self._level}", subtask.index)
            kept: StageTask | None = OPEN_TASKS.take(self._key)
            if subtask.attempt > 0:
                # Functions know their attempt, so a retry must not reuse the task of a failed
                # attempt.
                self._key = None
                if kept is not None:
                    kept.close()
            elif kept is not None:
                return kept
        plans, settings = cloudpickle.loads(self._payload)
        task = StageTask(plans, settings, subtask)
        with closed_on_error(task):
            task.open()
        return task


def this_subtask() -> Subtask:
    context = TaskContext.get()
    return Subtask(context.partitionId(), context.attemptNumber()) if context else Subtask()
