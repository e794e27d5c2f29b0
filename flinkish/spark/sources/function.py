"""Runs the chain of a source, before the first shuffle, as a function over Arrow batches."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass

import cloudpickle
import pyarrow as pa

from flinkish.api.connectors.malformed_record import MalformedRecord
from flinkish.api.errors import hide_elements
from flinkish.api.program_classes import use_classes
from flinkish.api.time.elements import Watermark
from flinkish.runtime.closing import close_all, closed_at_end, closed_on_error
from flinkish.runtime.records.frames import SplitMark
from flinkish.runtime.task.gates import FrameRow, Slice
from flinkish.runtime.task.plan import TaskSettings, VertexPlan, clock_ticks
from flinkish.runtime.task.restored_state import restored_row
from flinkish.runtime.task.stage import metrics_row
from flinkish.runtime.task.store import OPEN_TASKS, JobRun, TaskKey
from flinkish.runtime.task.vertex import SourceTask
from flinkish.spark.frame_rows import arrow_batch
from flinkish.spark.profiled_batches import is_profiled
from flinkish.spark.sources.decoding import END_OF_SOURCE

END_OF_INPUT = "end"

CLOCK_TICK = "tick "
"""The beginning of a line with the due key groups as JSON, the ``due`` of ``clock_ticks``."""

RESTORED = "restored "
"""The beginning of a line that continues with a key group, the uid of a vertex and a part of its
state from a savepoint, the last two in base 64."""

NO_CLOCK = 0
"""Stands for the clock in a source, which needs none. Frames get the timestamp of the batch when
they leave the source: a column in every input row would cost more than parsing the row."""

_LAST_SLICE = 1 << 62
"""The number of the slice with the end of the input, after all others of its batch."""


@dataclass(frozen=True)
class SourceFunction:
    """Runs the chain of one source over a partition's slice of a batch. ``payload`` is the pickled
    (VertexPlan, TaskSettings, ArrowDecoder). ``run`` and ``uid`` identify the opened task in the
    ``TaskStore``; without a run it is closed after each batch."""

    payload: bytes
    run: JobRun | None = None
    uid: str = ""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        # The same key for all partitions, as a source is one subtask
        key = None if self.run is None else TaskKey(self.run, f"source {self.uid}", 0)
        opened: _OpenedSource = (key and OPEN_TASKS.take(key)) or _OpenedSource(self.payload)
        task, settings, decoder = opened.task, opened.settings, opened.decoder
        task.profiled = is_profiled()
        # Another job may have used this worker since the task was opened.
        hide_elements(settings.elementsHiddenInErrors)
        use_classes(settings.classes)
        with closed_on_error(opened):
            part: int | None = None
            for batch in batches:
                if batch.num_rows == 0:
                    continue
                for number, records in task.reading(decoder.decode(batch)):
                    number = partition if number is None else number
                    if number != part:
                        if part is not None:
                            yield from _finished(task, settings, part)
                        part = number
                        task.begin(Slice(part, NO_CLOCK))
                    if records is END_OF_SOURCE:
                        task.endInput()
                    elif isinstance(records, MalformedRecord):
                        yield from _batches(task.malformed(records))
                    elif isinstance(records, SplitMark):
                        task.split(records)
                    elif isinstance(records, Watermark):
                        task.watermark(records)
                    else:
                        yield from _batches(task.process(records))
            if part is not None:
                yield from _finished(task, settings, part)
            if key is not None and task.reusable:
                task.endBatch()
                OPEN_TASKS.keep(key, opened)
                return
        opened.close()


class _OpenedSource:
    def __init__(self, payload: bytes) -> None:
        plan, self.settings, self.decoder = cloudpickle.loads(payload)
        hide_elements(self.settings.elementsHiddenInErrors)
        use_classes(self.settings.classes)
        self.task = SourceTask(plan, self.settings, held=self.decoder)
        with closed_on_error(self.task):
            self.task.open()

    def close(self) -> None:
        close_all((self.task, self.decoder))


@dataclass(frozen=True)
class ControlFunction:
    """Turns the signals of the control stream into frames: the end of bounded sources, ticks, and
    the state of a savepoint. ``payload`` is the pickled ([bounded VertexPlan], [VertexPlan after a
    shuffle], TaskSettings)."""

    payload: bytes

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sources, vertices, settings = cloudpickle.loads(self.payload)
        hide_elements(settings.elementsHiddenInErrors)
        levels = {plan.uid: plan.level for plan in vertices}
        restored = 0
        for batch in batches:
            if batch.num_rows == 0:
                continue
            signals = batch.column(0).to_pylist()
            for signal in signals:
                if signal.startswith(RESTORED):
                    group, name, data = signal.removeprefix(RESTORED).split(" ")
                    uid, content = base64.b64decode(name).decode(), base64.b64decode(data)
                    row = restored_row(levels, uid, int(group), content, restored, NO_CLOCK)
                    yield from _batches([row])
                    restored += 1
                elif signal.startswith(CLOCK_TICK):
                    due = json.loads(signal.removeprefix(CLOCK_TICK))
                    yield from _batches(clock_ticks(vertices, settings, NO_CLOCK, due))
            if END_OF_INPUT in signals:
                for plan in sources:
                    yield from self._end(plan, settings)

    def _end(self, plan: VertexPlan, settings: TaskSettings) -> Iterator[pa.RecordBatch]:
        task = SourceTask(plan, settings)
        with closed_at_end(task):
            task.open()
            task.begin(Slice(_LAST_SLICE, NO_CLOCK))
            task.endInput()
            rows, _ = task.finish()
            yield from _batches(rows)


def _finished(task: SourceTask, settings: TaskSettings, part: int) -> Iterator[pa.RecordBatch]:
    rows, reports = task.finish()
    changes = task.attributeChanges()
    yield from _batches([*rows, metrics_row(settings, part, NO_CLOCK, reports, changes)])


def _batches(rows: list[FrameRow]) -> Iterator[pa.RecordBatch]:
    if rows:
        yield arrow_batch(rows)
