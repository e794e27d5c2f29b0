"""Runs a job as Spark would, batch by batch and stage by stage, in this process without Spark.

The tasks are those that run on Spark, each made anew for every batch and pickled on the way, or kept
open between batches; only the shuffle and the state store are stood in for. So a property of the engine can be tested with
thousands of jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import cloudpickle
import pyarrow as pa

from flinkish import StreamExecutionEnvironment
from flinkish.api.connectors.sink import PrintSink
from flinkish.api.connectors.source import CollectionSource
from flinkish.api.plan.transformations import SinkTransformation
from flinkish.api.streams.data_stream import DataStream
from flinkish.deployment.vertex_plans import vertex_plan
from flinkish.graph.job_graph import JobGraph, JobVertex
from flinkish.graph.stream_graph import StreamGraph
from flinkish.runtime.attribute_changes import AttributeChange
from flinkish.runtime.metrics_totals import MetricsTotals
from flinkish.runtime.records.frames import SplitMark, decode_frame
from flinkish.runtime.records.keys import KeyRules
from flinkish.runtime.records.records import NO_TIMESTAMP, Records, timestamps_of
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.reports import decode_reports
from flinkish.runtime.task.gates import FrameRow, Slice
from flinkish.runtime.task.plan import TaskSettings, clock_ticks
from flinkish.runtime.task.stage import METRICS, StageTask
from flinkish.runtime.task.store import JobRun, TaskKey, TaskStore
from flinkish.runtime.task.vertex import SourceTask
from tests.runtime.counting_page_store import CountingPageStore

LAST_SLICE = 1 << 62

Element = tuple[Any, int | None]
Batch = Sequence[Sequence[Element | SplitMark]]
"""The elements of each partition of a source in a batch, in order."""


@dataclass(frozen=True)
class Result:
    """A record at a sink: in which batch it came, its value and timestamp."""

    batch: int
    value: Any
    timestamp: int | None


class MicroBatches:
    """A job of one source; ``build`` returns the stream, or streams, to look at.

    ``keepsTasks``: what is opened stays open, as in one worker that serves all partitions. ``batch``: it runs
    in BATCH. ``columns``: elements, which are Rows with the same fields, come as columns, as those of files do.
    """

    def __init__(
        self,
        build: Callable[[DataStream[Any]], DataStream[Any] | Sequence[DataStream[Any]]],
        keyGroups: int,
        parallelism: int = 1,
        keepsTasks: bool = False,
        batch: bool = False,
        columns: bool = False,
    ) -> None:
        environment = StreamExecutionEnvironment()
        source = environment.fromSource(CollectionSource(()))
        built = build(source)
        streams = [built] if isinstance(built, DataStream) else list(built)
        sinks = [
            SinkTransformation(f"Sink {i}", PrintSink(), stream.getTransformation())
            for i, stream in enumerate(streams)
        ]
        self.graph = JobGraph(StreamGraph.of([source.getTransformation(), *sinks]))
        config = environment.getConfig()
        self._settings = TaskSettings(
            keyGroups,
            parallelism,
            self.graph.levels,
            200,
            keyGroups,
            config.isObjectReuseEnabled(),
            batch=batch,
            keyRules=KeyRules(nulls=config.nullKeysAllowed),
            classes=self.graph.classes(),
        )
        self._plans = {v.uid: cloudpickle.dumps(vertex_plan(v)) for v in self.graph.vertices}
        self.stores: dict[tuple[int, int], CountingPageStore] = {}
        self.results: list[list[Result]] = [[] for _ in streams]
        self.metrics = MetricsTotals()
        self.attributeChanges: list[AttributeChange] = []
        self._batch = 0
        self.columns = columns
        self._kept = TaskStore() if keepsTasks else None

    def run(self, batches: Sequence[Batch]) -> list[list[Result]]:
        """Run all batches and then the end of the input."""
        for batch in batches:
            self.process(batch)
        self.end()
        return self.results

    def process(self, batch: Batch, clock: int = 0, tick: bool = False) -> None:
        """Run one batch, with a tick of the clock in it or without."""
        rows = self._ticks(clock) if tick else []
        for number, elements in enumerate(batch):
            if elements:
                task = self._source_task()
                task.begin(Slice(number, clock))
                for marks, run in groupby(elements, key=lambda e: isinstance(e, SplitMark)):
                    if marks:
                        for mark in run:
                            task.split(mark)  # type: ignore[arg-type]
                    else:
                        rows.extend(task.process(_records(run, self.columns)))  # type: ignore[arg-type]
                written, reports = task.finish()
                rows.extend(written)
                self.metrics.add(reports)
                self.attributeChanges.extend(task.attributeChanges())
                self._done("source", task)
        self._stages(rows)

    def end(self, clock: int = 0, tick: bool = False) -> None:
        """Run the batch that ends the input."""
        task = self._source_task()
        task.begin(Slice(LAST_SLICE, clock))
        task.endInput()
        rows = task.finish()[0]
        task.close()
        self._stages([*(self._ticks(clock) if tick else []), *rows])

    def tickDue(self, clock: int) -> dict[str, list[int]]:
        """If any key group wants the clock by then, run a batch of ticks for those, as a job on Spark
        does. Gives the key groups by operator."""
        due = self.metrics.due(clock)
        if due:
            self._stages(self._ticks(clock, due))
        return due

    def _ticks(self, clock: int, due: dict[str, list[int]] | None = None) -> list[FrameRow]:
        vertices = [v for v in self.graph.vertices if 0 < v.level < self.graph.levels]
        return clock_ticks(map(self._plan, vertices), self._settings, clock, due)

    def _plan(self, vertex: JobVertex) -> Any:
        """A new plan for each caller, as each task has."""
        return cloudpickle.loads(self._plans[vertex.uid])

    def _source_task(self) -> SourceTask:
        kept: SourceTask | None = self._taken("source")
        if kept:
            return kept
        task = SourceTask(self._plan(self.graph.sources[0]), self._settings)
        task.open()
        return task

    def _stages(self, rows: list[FrameRow]) -> None:
        for level in range(1, self.graph.levels):
            rows = self._stage(level, rows)
        uids = [vertex.uid for vertex in self.graph.sinks]
        for row in sorted(rows, key=lambda row: (row.gate, row.slice, row.sequence)):
            if row.target == METRICS:
                reports, changes = decode_reports(row.frame)
                self.metrics.add(reports)
                self.attributeChanges.extend(changes)
            else:
                records = decode_frame(row.frame).records
                for value, timestamp in zip(records.values, records.timestamps.tolist()):
                    shown = None if timestamp == NO_TIMESTAMP else timestamp
                    self.results[uids.index(row.target)].append(Result(self._batch, value, shown))
        self.metrics.endBatch()
        self._batch += 1

    def _stage(self, level: int, rows: list[FrameRow]) -> list[FrameRow]:
        written = [row for row in rows if row.level != level]
        groups: dict[int, list[FrameRow]] = {}
        for row in rows:
            if row.level == level:
                groups.setdefault(row.key_group, []).append(row)
        name = f"stage {level}"
        task: StageTask | None = self._taken(name)
        if task is None:
            task = StageTask([self._plan(v) for v in self.graph.stage(level)], self._settings)
            task.open()
        for group, members in sorted(groups.items()):
            # Spark's shuffle keeps no order among the rows of a group.
            members.sort(key=lambda row: hash((row.sequence, row.slice, row.gate)))
            store = self.stores.setdefault((level, group), CountingPageStore())
            written.extend(task.process(group, members, store))
        self._done(name, task)
        return written

    def _taken(self, name: str) -> Any:
        return None if self._kept is None else self._kept.take(_key(name))

    def _done(self, name: str, task: SourceTask | StageTask) -> None:
        if self._kept is None or not task.reusable:
            task.close()
        else:
            task.endBatch()
            self._kept.keep(_key(name), task)


def _records(elements: Iterable[Element], columns: bool) -> Records:
    values, stamps = zip(*elements)
    rows: Sequence[Any] = list(values)
    if columns:
        rows = RowColumns(pa.RecordBatch.from_pylist([row.asDict() for row in rows]))
    return Records(rows, timestamps_of([NO_TIMESTAMP if t is None else t for t in stamps]))


def _key(name: str) -> TaskKey:
    return TaskKey(JobRun("job", "run"), name, 0)
