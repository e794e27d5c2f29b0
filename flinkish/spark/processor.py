"""``StageProcessor``: one level of a job as a Spark ``StatefulProcessor``; adds only state and life cycle."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import cloudpickle
from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from flinkish.runtime.closing import closed_on_error
from flinkish.runtime.task.gates import FrameRow
from flinkish.runtime.task.plan import Subtask
from flinkish.runtime.task.stage import StageTask
from flinkish.runtime.task.store import OPEN_TASKS, JobRun, TaskKey
from flinkish.spark.frame_rows import frame_rows, spark_rows

_DRIVER_WORKER = "pyspark.sql.streaming.transform_with_state_driver_worker"

GROUP = "group"
"""The grouping column."""


class MapStatePageStore:
    """Pages in a Spark ``MapState``, one entry for each page."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def get(self, page: bytes) -> bytes | None:
        content = self._state.getValue((page,))
        return None if content is None else bytes(content[0])

    def put(self, page: bytes, content: bytes) -> None:
        self._state.updateValue((page,), (content,))

    def remove(self, page: bytes) -> None:
        self._state.removeKey((page,))


class StageProcessor(StatefulProcessor):
    """Runs the vertices of one level. ``payload`` is the pickled ([VertexPlan], TaskSettings).

    Groups below zero hold rows for later levels, which are passed on. ``run`` and ``level`` identify the
    opened task in the ``TaskStore``; without a run it is closed after each batch.
    """

    def __init__(self, payload: bytes, run: JobRun | None = None, level: int = 0) -> None:
        self._payload = payload
        self._run = run
        self._level = level
        self._task: StageTask | None = None
        self._key: TaskKey | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if getattr(sys.modules["__main__"].__spec__, "name", "") == _DRIVER_WORKER:
            # The process in which Spark inspects a processor before the first batch prints each of its
            # steps to standard output.
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115

    def init(self, handle: StatefulProcessorHandle) -> None:
        pages = handle.getMapState("pages", "page binary", "content binary")
        self._store = MapStatePageStore(pages)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        if key[0] < 0:
            yield from spark_rows(frame_rows(rows))
            return
        # Not in init(), which Spark also calls where no element will ever come. The task is put back
        # only when the key group is finished, so that a failed one is not kept.
        task, self._task = self._task or self._opened(), None
        frames: list[FrameRow] = list(frame_rows(rows))
        # Spark closes a processor only after the last element
        with closed_on_error(task):
            yield from spark_rows(task.process(frames[0].key_group, frames, self._store))
        self._task = task

    def close(self) -> None:
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
        subtask = _subtask()
        if self._run is not None:
            self._key = TaskKey(self._run, f"stage {self._level}", subtask.index)
            kept: StageTask | None = OPEN_TASKS.take(self._key)
            if subtask.attempt > 0:
                # Functions know their attempt, so a retried task must not reuse that of a failed one.
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


def _subtask() -> Subtask:
    context = TaskContext.get()
    return Subtask(context.partitionId(), context.attemptNumber()) if context else Subtask()
