"""Writes a batch to a sink that a user wrote: in the workers, and committed by the driver.

What is to be committed is noted in the checkpoint between the two, with the id of the batch. A batch that
comes again is written anew if there is no note of it, as nothing of it was committed; else it is committed
from the note, or left alone if that was done.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import cloudpickle
import pyarrow as pa

from flinkish.api.connectors.sink import Sink
from flinkish.api.errors import hide_elements
from flinkish.api.functions.runtime_context import TaskInfo
from flinkish.api.program_classes import ProgramClasses
from flinkish.api.stored_values import as_text, of_text
from flinkish.deployment.vertex_plans import shipped_sink
from flinkish.graph.stream_graph import StreamNode
from flinkish.runtime.attribute_changes import AttributeChange, AttributeWarnings
from flinkish.runtime.records.frames import decode_frame
from flinkish.runtime.records.records import Records
from flinkish.runtime.sinks.user_sinks import BatchContext, commit, write
from flinkish.spark.checkpoint.storage import CheckpointStorage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class WriteFunction:
    """Writes rows of frames with a user's writer, and returns what it prepared to commit and the attributes it
    changed, for ``mapInArrow``."""

    payload: bytes
    name: str
    batchId: int
    elementsHidden: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        hide_elements(self.elementsHidden)
        runs = runs_of(batches)
        if runs is None:
            return
        task = TaskContext.get()
        index, attempt = (task.partitionId(), task.attemptNumber()) if task else (0, 0)
        info = TaskInfo(self.name, index + 1, index + 1, index, attempt)
        sink: Sink[Any] = pickle.loads(self.payload)
        prepared, changes = write(self.name, sink, runs, BatchContext(info, self.batchId))
        written = cloudpickle.dumps((list(prepared), [tuple(change) for change in changes]))
        yield pa.RecordBatch.from_pydict({"written": pa.array([written], pa.binary())})


def frames_of(frame: DataFrame, uid: str) -> DataFrame:
    """The rows that ``frame`` has for a sink. In each partition they are in order, and those of a key group
    are in one partition."""
    return frame.filter(frame["target"] == uid).sortWithinPartitions("gate", "slice", "sequence")


def runs_of(batches: Iterator[pa.RecordBatch]) -> Iterator[Records] | None:
    """The elements in rows of frames, None if there are no rows."""
    first = next((batch for batch in batches if batch.num_rows), None)
    return None if first is None else _records(chain([first], batches))


def _records(batches: Iterable[pa.RecordBatch]) -> Iterator[Records]:
    for batch in batches:
        for data in batch.column(batch.schema.get_field_index("frame")).to_pylist():
            yield decode_frame(data).records


class UserSink:
    """A sink of a job that a user wrote."""

    def __init__(self, node: StreamNode, storage: CheckpointStorage, elementsHidden: bool) -> None:
        assert isinstance(node.content, Sink)
        self._sink = node.content
        self._name = node.name
        self._uid = node.uid
        self._payload = shipped_sink(node.name, node.content)
        self._classes = ProgramClasses.of([node.content])
        self._storage = storage
        self._note = f"sinks/{node.uid}"
        self._hidden = elementsHidden
        self._changes = AttributeWarnings()

    def write(self, frame: DataFrame, batchId: int) -> None:
        """Write and commit the elements that ``frame`` has for this sink."""
        with self._classes.current():
            self._write(frame, batchId)

    def _write(self, frame: DataFrame, batchId: int) -> None:
        note = json.loads(self._storage.readText(self._note) or "{}")
        if note.get("batch") != batchId:
            prepared = self._prepare(frame, batchId)
            note = {"batch": batchId, "prepared": [as_text(p) for p in prepared], "done": False}
            if prepared:
                self._storage.writeText(self._note, json.dumps(note))
        if not note["done"]:
            prepared = [of_text(text) for text in note["prepared"]]
            context = BatchContext(TaskInfo(self._name), batchId)
            commit(self._name, self._sink, prepared, context)
            self._storage.writeText(self._note, json.dumps({**note, "prepared": [], "done": True}))

    def _prepare(self, frame: DataFrame, batchId: int) -> list[Any]:
        function = WriteFunction(self._payload, self._name, batchId, self._hidden)
        rows = frames_of(frame, self._uid)
        found = rows.mapInArrow(function.__call__, "written binary").collect()
        written = [pickle.loads(row[0]) for row in found]
        self._changes.warn(AttributeChange(*change) for _, changes in written for change in changes)
        return [each for prepared, _ in written for each in prepared]
