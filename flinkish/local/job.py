"""``LocalJob``: runs a job batch by batch and stage by stage, with the tasks that also run on
Spark.

The tasks, the frames between them and the state in pages are the same as on Spark; only the shuffle
and the state store are replaced. So a job has the same results as on Spark. Functions are pickled
copies of the user's here too, so that a job that runs locally also runs on Spark.
"""

from __future__ import annotations

import atexit
import logging
import queue
import threading
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

import cloudpickle

from flinkish.api.connectors.malformed_record import MalformedRecord
from flinkish.api.environment.configuration import ExecutionConfig
from flinkish.api.errors import (
    ElementsNeededError,
    FlinkishError,
    IllegalStateError,
    JobExecutionError,
    hide_elements,
    said_by,
)
from flinkish.api.execution.client import JobStatus
from flinkish.api.execution.details import SourceDetails
from flinkish.api.time.elements import Watermark
from flinkish.deployment.alignments import Alignments
from flinkish.deployment.interrupts import interrupts_held, wait_for
from flinkish.deployment.job_client import FollowedJobClient
from flinkish.deployment.restarts import is_recoverable, restart_backoff
from flinkish.deployment.savepoint.files import SavepointDirectory
from flinkish.deployment.savepoint.metadata import SavepointMetadata, SourcePosition
from flinkish.deployment.status.batch_history import BatchHistory
from flinkish.deployment.status.job_details import JobDetailsView
from flinkish.deployment.status.job_monitor import JobMonitor, clock
from flinkish.deployment.vertex_plans import shipped, vertex_plan
from flinkish.graph.job_graph import JobGraph, JobVertex
from flinkish.local.page_store import RevertiblePageStore
from flinkish.local.savepoint import LocalSavepoint, captured_states, checked_directory
from flinkish.local.sinks import opened_sink
from flinkish.local.sources import LocalSource, opened_source
from flinkish.runtime.attribute_changes import AttributeWarnings
from flinkish.runtime.closing import Closeable, close_all, closed_on_error
from flinkish.runtime.kafka.exactly_once import check_prefixes
from flinkish.runtime.metrics_totals import MetricsTotals
from flinkish.runtime.records.frames import SplitMark, decode_frame
from flinkish.runtime.reports import OperatorReport, decode_reports, sink_report
from flinkish.runtime.task.gates import FrameRow, Slice
from flinkish.runtime.task.plan import TaskSettings, clock_ticks
from flinkish.runtime.task.stage import METRICS, StageTask
from flinkish.runtime.task.vertex import SourceTask
from flinkish.runtime.task_logs import log_unhandled

_LOG = logging.getLogger("flinkish")

_POLL_SECONDS = 0.01
"""The time to wait when there is neither input nor a due timer."""


_END_SLICE = 1 << 62
"""The number of a slice after all other slices of a source."""


class _Cancelled(Exception):
    """The job was cancelled."""


@dataclass
class _Batch:
    """The current batch: the input that it has read and the sinks that it has written, which it
    need not repeat after a failure."""

    number: int
    now: int = field(default_factory=clock)
    asked: set[str] = field(default_factory=set)
    """The sources that were asked for input."""
    reading: list[str] = field(default_factory=list)
    """The sources that have input."""
    due: dict[str, list[int]] | None = None
    reports: list[OperatorReport] = field(default_factory=list)
    written: set[str] = field(default_factory=set)
    """The sinks that have written the batch."""


@dataclass
class _Wanted:
    directory: str
    stop: bool
    error: BaseException | None = None
    done: threading.Event = field(default_factory=threading.Event)


@dataclass(eq=False, repr=False)
class LocalJob:
    """The tasks of a job and its state. ``cancel`` may be called from any thread."""

    name: str
    graph: JobGraph
    settings: TaskSettings
    config: ExecutionConfig
    restored: LocalSavepoint | None = None

    def __post_init__(self) -> None:
        graph, settings, config = self.graph, self.settings, self.config
        self._savepoints: queue.SimpleQueue[_Wanted] = queue.SimpleQueue()
        self.metrics = MetricsTotals()
        self.monitor = JobMonitor(graph, self.metrics, BatchHistory(None))
        self.view = JobDetailsView(
            graph=graph,
            settings=settings,
            monitor=self.monitor,
            config=config,
            directory=None,
            checkpointed=False,
        )
        self._cancelled = threading.Event()
        self._changes = AttributeWarnings()
        self._levels = range(1, graph.levels)
        self._vertices = {vertex.uid: vertex for vertex in graph.vertices}
        self._source_plans = {v.uid: shipped(v.operators, vertex_plan(v)) for v in graph.sources}
        self._stage_plans = {level: _shipped_stage(graph.stage(level)) for level in self._levels}
        self._unbounded = not all(vertex.source.bounded for vertex in graph.sources)
        self._source_tasks: dict[str, SourceTask] = {}
        self._stage_tasks: dict[int, StageTask] = {}
        self.stores: dict[tuple[int, int], RevertiblePageStore] = {}
        """The pages of state, by stage and key group."""
        check_prefixes(vertex.head.content for vertex in graph.sinks)
        self._sinks = {
            vertex.uid: opened_sink(vertex.head, self.restored is not None)
            for vertex in graph.sinks
        }
        self._sink_names = {vertex.uid: vertex.head.name for vertex in graph.sinks}
        self._sources: dict[str, LocalSource] = {}
        self._alignments = Alignments(graph)
        self._aligned: dict[str, int | None] = {}
        self._batch = _Batch(0 if self.restored is None else self.restored.metadata.nextBatch)
        self._profiled = False
        self._backoff = restart_backoff(config.getRestartStrategy())
        self.restarting = False
        """Whether the job has failed, and waits for its restart."""

    def cancel(self) -> None:
        """Stop the job before its next run of elements."""
        self._cancelled.set()

    def wantSavepoint(self, directory: str, stop: bool) -> _Wanted:
        """Request a savepoint after the current batch; with ``stop`` the job then stops. May be
        called from any thread."""
        wanted = _Wanted(directory, stop)
        self._savepoints.put(wanted)
        return wanted

    def run(self) -> bool:
        """Run the job to its end; False if it was cancelled."""
        hide_elements(self.config.elementsHiddenInErrors)
        with self.settings.classes.current(), closed_on_error(self):
            try:
                self._open_sources()
                while not self._all_batches_run():
                    pass  # once more, from the batch that failed
            except _Cancelled:
                pass
        self.close()
        return not self._cancelled.is_set()

    def _open_sources(self) -> None:
        for uid in self._vertices:
            if self._vertices[uid].head.isSource:
                source = self._vertices[uid].source
                self._sources[uid] = opened_source(source, self.config)
                plan = vertex_plan(self._vertices[uid])
                self._sources[uid].readFor(plan, self.settings.tracesFunctions)
                if self.restored is not None and uid in self.restored.metadata.positions:
                    self._sources[uid].begin(self.restored.metadata.positions[uid])

    def close(self) -> None:
        tasks = self._taken_tasks()
        close_all([*tasks, *self._sources.values(), *self._sinks.values()])

    def _taken_tasks(self) -> list[Closeable]:
        tasks: list[Closeable] = [*self._stage_tasks.values(), *self._source_tasks.values()]
        self._stage_tasks, self._source_tasks = {}, {}
        return tasks

    # ------------------------------------------------------------------ batches

    def _all_batches_run(self) -> bool:
        """Run batches until the end of the input; False if a batch failed and has to run again."""
        try:
            if self.settings.batch:
                self._run_in_one_batch()
            else:
                self._run_batches()
        except _Cancelled:
            raise
        except ElementsNeededError as error:
            if not self.settings.foldsBeforeShuffle:
                raise
            _LOG.info("%s runs its batch again, element by element: %s", self.name, error)
            self.settings = replace(self.settings, foldsBeforeShuffle=False)
            self._recover(0)
            return False
        except Exception as error:
            delay = None
            if is_recoverable(error):
                delay = self._backoff.afterFailure(round(time.monotonic() * 1000))
            if delay is None:
                self.monitor.noteRestarts(error)
                raise
            self.monitor.restart(self.view.exception(error))
            self._recover(delay)
            return False
        return True

    def _recover(self, delay: int) -> None:
        """Return to the state before the current batch, once ``delay`` (ms) has passed."""
        self.restarting = True
        with suppress(Exception):  # the earlier failure counts
            close_all(self._taken_tasks())
        for store in self.stores.values():
            store.revert()
        if self._cancelled.wait(delay / 1000):
            raise _Cancelled
        if self.settings.batch:
            close_all(self._sources.values())
            self._open_sources()
        for source in self._sources.values():
            source.reopen()
        self.restarting = False

    def _run_in_one_batch(self) -> None:
        batch = self._batch
        batch.reports.clear()
        rows: list[FrameRow] = []
        for uid, source in self._sources.items():
            part = 0
            while not source.ended:
                if source.nextBatch():
                    rows += self._read(uid, source, batch.now, part)
                    part += 1
                elif self._cancelled.wait(_POLL_SECONDS):
                    raise _Cancelled
        self._run_stages(rows, batch)

    def _run_batches(self) -> None:
        while True:
            began = time.monotonic()
            batch = self._batch
            for uid, source in self._sources.items():
                if uid not in batch.asked:
                    if not source.ended and self._may_read(uid) and source.nextBatch():
                        batch.reading.append(uid)
                    batch.asked.add(uid)
            if batch.due is None:
                batch.due = self.metrics.due(batch.now) if self._unbounded else {}
            batch.reports.clear()
            self._profiled = self.metrics.profiler.begin()
            worked = bool(batch.reading or batch.due or self.restored)
            if worked:
                self.monitor.beginBatch()
            rows: list[FrameRow] = []
            for uid in batch.reading:
                rows += self._read(uid, self._sources[uid], batch.now)
            if batch.due:
                rows += self._ticks(batch.now, batch.due)
            if self.restored is not None:
                rows += self.restored.rows(batch.now)
            if worked:
                self._run_stages(rows, batch)
                self.restored = None
                for source in self._sources.values():
                    source.batchEnded()
            self._batch = _Batch(batch.number + worked)
            self._write_savepoints()
            if all(source.ended for source in self._sources.values()):
                return
            pause = began + self.config.triggerIntervalOf(self._unbounded) / 1000 - time.monotonic()
            if self._cancelled.wait(max(pause, 0 if worked else _POLL_SECONDS)):
                raise _Cancelled
            self._batch.now = clock()

    def _write_savepoints(self) -> None:
        stop = False
        while not self._savepoints.empty():
            wanted = self._savepoints.get()
            try:
                target = SavepointDirectory("savepoint", wanted.directory)
                target.write(captured_states(self.stores), self._described())
            except BaseException as error:
                wanted.error = error
            else:
                stop = stop or wanted.stop
            wanted.done.set()
        if stop:
            self._cancelled.set()
            raise _Cancelled

    def _described(self) -> partial[SavepointMetadata]:
        positions = {
            uid: SourcePosition(self._vertices[uid].source.kind, source.savedPosition())
            for uid, source in self._sources.items()
        }
        last, states = self._batch.number - 1, self.metrics.states
        return partial(
            SavepointMetadata.of, self.name, last, self.graph, self.settings, states, positions
        )

    def _may_read(self, uid: str) -> bool:
        alignment = self._alignments.ofSource.get(uid)
        return alignment is None or alignment.mayRead(self._aligned)

    def _read(self, uid: str, source: LocalSource, now: int, part: int = 0) -> list[FrameRow]:
        """Read a source's input for this batch, and run it through the source's chain."""
        task = self._source_tasks.get(uid)
        if task is None:
            task = SourceTask(cloudpickle.loads(self._source_plans[uid]), self.settings, source)
            self._source_tasks[uid] = task
            task.open()
        rows: list[FrameRow] = []
        task.profiled = self._profiled
        task.begin(Slice(part, now))
        for result in source.read():
            self._check_cancelled()
            if isinstance(result, MalformedRecord):
                rows += task.malformed(result)
            elif isinstance(result, SplitMark):
                task.split(result)
            elif isinstance(result, Watermark):
                task.watermark(result)
            else:
                rows += task.process(result)
        rows += self._finished(task)
        if source.ended:
            task.begin(Slice(_END_SLICE, now))
            task.endInput()
            rows += self._finished(task)
        self._changes.warn(changes := task.attributeChanges())
        if changes or source.ended:
            del self._source_tasks[uid]
            task.close()
        else:
            task.endBatch()
        return rows

    def _finished(self, task: SourceTask) -> list[FrameRow]:
        rows, reports = task.finish()
        self._batch.reports.extend(reports)
        return rows

    def _ticks(self, now: int, due: dict[str, list[int]]) -> list[FrameRow]:
        plans = [
            plan for level in self._levels for plan in cloudpickle.loads(self._stage_plans[level])
        ]
        return clock_ticks(plans, self.settings, now, due)

    def _run_stages(self, rows: list[FrameRow], batch: _Batch) -> None:
        for level in self._levels:
            rows = self._run_stage(level, rows)
        stages = clock()
        by_sink: dict[str, list[FrameRow]] = {}
        for row in sorted(rows, key=lambda row: (row.gate, row.slice, row.sequence)):
            by_sink.setdefault(row.target, []).append(row)
        for row in by_sink.pop(METRICS, ()):
            reports, changes = decode_reports(row.frame)
            batch.reports.extend(reports)
            self._changes.warn(changes)
        for uid, sink in self._sinks.items():
            if uid in by_sink and uid not in batch.written:
                self._check_cancelled()
                runs = [decode_frame(row.frame).records for row in by_sink[uid]]
                counts = sink.write(runs, batch.number)
                if counts is not None:
                    batch.reports.append(sink_report(uid, self._sink_names[uid], counts))
                batch.written.add(uid)
        log_unhandled(record for report in batch.reports for record in report.logs)
        self.metrics.add(batch.reports)
        for store in self.stores.values():
            store.endBatch()
        ended = clock()
        self.metrics.endBatch(ended)
        self._aligned = self._alignments.watermarks(self.metrics)
        self.monitor.readUpTo = {
            uid: SourceDetails(None, source.position, None, source.backlog)
            for uid, source in self._sources.items()
        }
        self.monitor.stateBytes = sum(store.bytes for store in self.stores.values())
        self.monitor.endBatch(batch.number, batch.now / 1000, stages / 1000, ended / 1000)

    def _run_stage(self, level: int, rows: list[FrameRow]) -> list[FrameRow]:
        written = [row for row in rows if row.level != level]
        groups: dict[int, list[FrameRow]] = {}
        for row in rows:
            if row.level == level:
                groups.setdefault(row.key_group, []).append(row)
        if not groups:
            return written
        task = self._stage_tasks.get(level)
        if task is None:
            task = StageTask(cloudpickle.loads(self._stage_plans[level]), self.settings)
            self._stage_tasks[level] = task
            task.open()
        task.profile(self._profiled)
        for group, members in sorted(groups.items()):
            store = self.stores.setdefault((level, group), RevertiblePageStore())
            for row in task.process(group, members, store):
                written.append(row)
            self._check_cancelled()
        if task.reusable:
            task.endBatch()
        else:
            del self._stage_tasks[level]
            task.close()
        return written

    def _check_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise _Cancelled


def _shipped_stage(vertices: Sequence[JobVertex]) -> bytes:
    operators = [node for vertex in vertices for node in vertex.operators]
    return shipped(operators, [vertex_plan(vertex) for vertex in vertices])


_running: weakref.WeakSet[LocalJobClient] = weakref.WeakSet()


_LONGEST_END = 10.0
"""The seconds that a program waits, at its end, for a job that it has not awaited."""


@atexit.register
def _cancel_running() -> None:
    # If a thread is in the middle of a batch when Python ends, Python may abort or hang
    running = list(_running)
    for client in running:
        client.cancelSoon()
    for client in running:
        client.awaitEnd(_LONGEST_END)


class LocalJobClient(FollowedJobClient):
    """The client of a job that runs in a thread of this process."""

    def __init__(self, name: str, job: LocalJob) -> None:
        super().__init__(name, job.monitor, job.view)
        self._job = job
        self._thread = threading.Thread(target=self._run, name=f"flinkish {name}", daemon=True)
        with self.cancelledOnInterrupt(), interrupts_held():
            self._thread.start()
            _running.add(self)

    def getJobStatus(self) -> JobStatus:
        restarting = self._job.restarting and not self._status.isGloballyTerminalState()
        return JobStatus.RESTARTING if restarting else self._status

    def cancel(self) -> None:
        self._job.cancel()
        if threading.current_thread() is not self._thread:
            wait_for(self._ended)

    def cancelSoon(self) -> None:
        self._job.cancel()

    def awaitEnd(self, timeout: float) -> None:
        self._thread.join(timeout)

    def stopWithSavepoint(self, savepointDirectory: str | None = None) -> str:
        if savepointDirectory is None:
            raise IllegalStateError(
                f"stopWithSavepoint: the job {self._name!r} runs locally, and takes no checkpoints. Pass"
                " a directory for a savepoint, leave setLocalExecution out, or cancel() the job."
            )
        return self._savepoint("stopWithSavepoint", savepointDirectory, stop=True)

    def profileBatch(self) -> None:
        self._check_runs("profileBatch")
        self._job.metrics.profiler.request()

    def triggerSavepoint(self, savepointDirectory: str) -> str:
        return self._savepoint("triggerSavepoint", savepointDirectory, stop=False)

    def _savepoint(self, method: str, savepointDirectory: str, stop: bool) -> str:
        directory = checked_directory(method, savepointDirectory)
        if threading.current_thread() is self._thread:
            raise IllegalStateError(
                f"{method}: a function of the job {self._name!r} calls it, which would wait for itself."
                " Call it from the program that started the job."
            )
        wanted = self._job.wantSavepoint(directory, stop)
        with self.cancelledOnInterrupt():
            while not wanted.done.wait(_POLL_SECONDS):
                if self._ended.is_set() and not wanted.done.is_set():
                    self._check_runs(method, ", and wrote no savepoint")
            if stop and wanted.error is None:
                wait_for(self._ended)
        if wanted.error is not None:
            raise wanted.error
        return directory

    def _run(self) -> None:
        began = time.monotonic()
        status = JobStatus.FAILED
        try:
            finished = self._job.run()
            status = JobStatus.FINISHED if finished else JobStatus.CANCELED
        except FlinkishError as error:
            self._error = error
        except BaseException as error:
            self._error = JobExecutionError(f"the job failed: {said_by(error)}")
            self._error.__cause__ = error
        finally:
            failed = None if self._error is None else self._job.view.exception(self._error)
            self._job.monitor.end(self._name, failed)
            self._runtime = round((time.monotonic() - began) * 1000)
            self._status = status
            self._ended.set()
