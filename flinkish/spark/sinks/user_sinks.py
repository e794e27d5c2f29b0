"""Writes a batch to a user's sink: the workers write, and the driver commits.

Between writing and committing, the committables are recorded in the checkpoint with the id of the
batch. A batch that comes again is written anew if they were not recorded, as nothing was committed
then; otherwise the recorded ones are committed, unless that was done already.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flinkish.api.connectors.sink import Sink
from flinkish.api.functions.runtime_context import TaskInfo
from flinkish.api.pickled_functions import dumps
from flinkish.api.program_classes import ProgramClasses
from flinkish.api.stored_values import as_text, of_text
from flinkish.deployment.vertex_plans import shipped_sink
from flinkish.graph.stream_graph import StreamNode
from flinkish.runtime.attribute_changes import AttributeChange, AttributeWarnings
from flinkish.runtime.sinks.user_sinks import BatchContext, commit, write
from flinkish.runtime.task.plan import Subtask
from flinkish.spark.checkpoint.storage import CheckpointStorage
from flinkish.spark.sinks.sink_tasks import Part, WorkerSink, runs_of


@dataclass(frozen=True)
class UserWriteTask:
    """Writes with a user's writer, and reports committables and changed attributes."""

    payload: bytes
    name: str
    batchId: int
    parallelism: int

    def __call__(self, parts: Iterable[Part], subtask: Subtask) -> bytes:
        tasks = self.parallelism
        info = TaskInfo(self.name, tasks, tasks, subtask.index, subtask.attempt)
        sink: Sink[Any] = pickle.loads(self.payload)
        prepared, changes = write(self.name, sink, runs_of(parts), BatchContext(info, self.batchId))
        return dumps((list(prepared), [tuple(each) for each in changes]))


class UserSink(WorkerSink):
    def __init__(self, node: StreamNode, storage: CheckpointStorage, parallelism: int) -> None:
        assert isinstance(node.content, Sink)
        self.parallelism = parallelism
        self._sink = node.content
        self._name = node.name
        self._payload = shipped_sink(node.name, node.content)
        self._classes = ProgramClasses.of([node.content])
        self._storage = storage
        self._path = f"sinks/{node.uid}"
        self._changes = AttributeWarnings()

    def writeTask(self, batchId: int, timeZone: str) -> UserWriteTask | None:
        if self._note["batch"] == batchId:
            return None
        return UserWriteTask(self._payload, self._name, batchId, self.parallelism)

    def finish(self, batchId: int, reports: Sequence[bytes]) -> None:
        if not reports and self._note["batch"] != batchId:
            return
        with self._classes.current():
            self._finish(batchId, reports)

    def _finish(self, batchId: int, reports: Sequence[bytes]) -> None:
        if self._note["batch"] != batchId:
            written = [pickle.loads(report) for report in reports]
            changes = (AttributeChange(*change) for _, found in written for change in found)
            self._changes.warn(changes)
            prepared = [as_text(each) for found, _ in written for each in found]
            self._note = {"batch": batchId, "prepared": prepared, "done": False}
            if prepared:
                self._write_note()
        if not self._note["done"]:
            prepared = [of_text(text) for text in self._note["prepared"]]
            commit(self._name, self._sink, prepared, BatchContext(TaskInfo(self._name), batchId))
            self._note |= {"prepared": [], "done": True}
            self._write_note()

    @cached_property
    def _note(self) -> dict[str, Any]:
        """The last batch that was prepared, and its committables unless they are committed."""
        note: dict[str, Any] = json.loads(self._storage.readText(self._path) or '{"batch": null}')
        return note

    def _write_note(self) -> None:
        self._storage.writeText(self._path, json.dumps(self._note))
