"""One level of a job as a Spark ``StatefulProcessor``: state and the life cycle, nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from flinkish.runtime.record_writer import FrameRow
from flinkish.runtime.stage_task import StageTask
from flinkish.spark.frame_rows import frame_rows, spark_rows

GROUP = "group"
"""The grouping column."""


class MapStatePageStore:
    """Pages in a Spark ``MapState``: one entry a page."""

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

    Groups below zero carry rows meant for later levels; they pass through.
    """

    def __init__(self, payload: bytes) -> None:
        self._payload = payload

    def init(self, handle: StatefulProcessorHandle) -> None:
        pages = handle.getMapState("pages", "page binary", "content binary")
        self._store = MapStatePageStore(pages)
        plans, settings = cloudpickle.loads(self._payload)
        self._task = StageTask(plans, settings)
        self._task.open()

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        if key[0] < 0:
            yield from spark_rows(frame_rows(rows))
            return
        frames: list[FrameRow] = list(frame_rows(rows))
        yield from spark_rows(self._task.process(frames[0].key_group, frames, self._store))

    def close(self) -> None:
        self._task.close()
