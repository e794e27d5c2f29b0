"""Writes the sinks that workers write, in the same Spark job that collects the rest of the batch in
the driver.

Each sink has separate tasks, as many as its parallelism, behind a shuffle of frames. So all
operators are done with the batch before anything is written, and the same task always writes the
elements of a key group.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import pyarrow as pa

from flinkish.api.errors import hide_elements
from flinkish.runtime.records.frames import decode_frame
from flinkish.runtime.records.records import Records
from flinkish.runtime.sinks.batch_writer import SendCounts
from flinkish.runtime.task.gates import FrameRow
from flinkish.runtime.task.plan import Subtask
from flinkish.spark.frame_rows import ARROW_SCHEMA, FRAME_SCHEMA, arrow_batch
from flinkish.spark.placement import balanced_integers
from flinkish.spark.stage_run import this_subtask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Part:
    """The elements of one slice that arrive at one gate of a sink. If the slice comes from an
    operator behind a ``keyBy``, each run of a batch has the same elements in the same order."""

    gate: int
    slice: int
    runs: Iterable[Records]
    """Must be read before the next part is requested."""


WriteTask = Callable[[Iterable[Part], Subtask], bytes]
"""Writes a task's part of a batch to a sink, and returns a report. It is pickled."""


class WorkerSink(ABC):
    """The driver's side of a sink that workers write. ``parallelism`` is the maximum number of its
    tasks."""

    parallelism: int

    @abstractmethod
    def writeTask(self, batchId: int, timeZone: str) -> WriteTask | None:
        """The task that writes a batch; None if that is written. Called before each batch."""

    @abstractmethod
    def finish(self, batchId: int, reports: Sequence[bytes]) -> SendCounts | None:
        """Called when a batch is written, with its tasks' reports; perhaps without elements."""

    def close(self) -> None:
        """Called when the run has ended."""


def written_by_workers(
    frame: DataFrame,
    sinks: Mapping[str, WorkerSink],
    batchId: int,
    elementsHidden: bool,
    timeZone: str,
) -> DataFrame:
    """``frame`` with one row for each task of ``sinks``, by uid, in place of the rows that the task
    writes: its column ``frame`` has the task's report. Other rows pass through."""
    from pyspark.sql import functions as F

    most = max(sink.parallelism for sink in sinks.values())
    tasks: dict[str, WriteTask | None] = {}
    place = F.pmod("slice", F.lit(most))
    for uid, sink in sinks.items():
        tasks[uid] = sink.writeTask(batchId, timeZone)
        if sink.parallelism < most:
            own = F.pmod("slice", F.lit(sink.parallelism))
            place = F.when(F.col("target") == uid, own).otherwise(place)
    rows = frame.coalesce(1)
    if most > 1:
        # Integers that Spark's hash sends to the partitions 0, 1, 2 ...
        balanced = F.array(*map(F.lit, balanced_integers(most, most)))
        rows = frame.repartition(most, F.element_at(balanced, place.cast("int") + 1))
    ordered = rows.sortWithinPartitions("target", "gate", "slice", "sequence")
    function = WriteFunction(tasks, elementsHidden)
    return ordered.mapInArrow(function.__call__, FRAME_SCHEMA)


@dataclass(frozen=True)
class WriteFunction:
    """Writes the rows of sinks, and passes on the others, for ``mapInArrow``. ``tasks`` has the
    task of each sink by uid; if it is None, the sink's rows are dropped."""

    tasks: Mapping[str, WriteTask | None]
    elementsHidden: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        hide_elements(self.elementsHidden)
        subtask = this_subtask()
        for target, runs in groupby(_by_target(batches), key=lambda found: found[0]):
            rows = (batch for _, batch in runs)
            if target not in self.tasks:
                # Spark knows some columns to be non-null; all returned batches need one schema
                yield from (batch.cast(ARROW_SCHEMA) for batch in rows)
                continue
            write = self.tasks[target]
            if write is not None:
                report = write(_parts(rows), subtask)
                yield arrow_batch([FrameRow(0, target, slice=subtask.index, frame=report)])


def _by_target(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
    for batch in batches:
        start = 0
        for target, same in groupby(batch.column("target").to_pylist()):
            count = sum(1 for _ in same)
            yield target, batch.slice(start, count)
            start += count


def _parts(batches: Iterable[pa.RecordBatch]) -> Iterator[Part]:
    places = ("gate", "slice", "frame")
    rows = (row for b in batches for row in zip(*(b.column(name).to_pylist() for name in places)))
    for (gate, number), same in groupby(rows, key=lambda row: row[:2]):
        yield Part(gate, number, (decode_frame(row[2]).records for row in same))


def runs_of(parts: Iterable[Part]) -> Iterator[Records]:
    return (run for part in parts for run in part.runs)
