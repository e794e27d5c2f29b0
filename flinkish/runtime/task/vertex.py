"""``VertexTask``: runs a vertex, the operators between two shuffles, on one part of a batch.

``SourceTask`` runs a vertex that begins with a source, for one Spark partition. ``KeyGroupTask``
runs a vertex after a shuffle, for one key group after another: it loads the state of the key group,
reads its frames through the gates, and returns the frames written and the new state. User functions
are opened once and stay open; everything else is loaded again for each batch.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from heapq import nsmallest
from time import perf_counter_ns
from typing import Any, TypeVar

from flinkish.api.connectors.malformed_record import MalformedRecord
from flinkish.api.errors import IncompatibleCheckpointError, InvalidProgramError, elements_hidden
from flinkish.api.functions.runtime_context import TaskInfo
from flinkish.api.plan.partitioning import HashPartitioning
from flinkish.api.stored_values import pickled, unpickled
from flinkish.api.time.elements import MAX_TIMESTAMP, Watermark
from flinkish.runtime.attribute_changes import AttributeChange, FunctionAttributes
from flinkish.runtime.closing import close_all
from flinkish.runtime.columns.panes import PaneFold
from flinkish.runtime.columns.tracing.column_function import ColumnFunction
from flinkish.runtime.columns.tracing.column_runs import ColumnScope
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.output import Input, Output
from flinkish.runtime.profiling import StackSampler, largest_keys
from flinkish.runtime.records.frames import SplitMark, decode_frame
from flinkish.runtime.records.records import NO_TIMESTAMP, Records
from flinkish.runtime.records.user_code import naming_internal_errors, user_method_of
from flinkish.runtime.reports import SOURCE_PART, InputReport, OperatorReport, this_worker
from flinkish.runtime.state.backend import NotedState
from flinkish.runtime.state.heap import HeapKeyedStateBackend
from flinkish.runtime.state.page_store import MeteredPageStore, PageStore
from flinkish.runtime.state.paged_backend import PagedKeyedStateBackend
from flinkish.runtime.task.chain import ChainedEdge, ChainedNode, OperatorChain
from flinkish.runtime.task.gates import FrameRow, InputGates, Slice
from flinkish.runtime.task.plan import (
    TICK_GATE,
    Exchange,
    ExitPlan,
    Subtask,
    TaskSettings,
    VertexPlan,
    key_groups,
)
from flinkish.runtime.task.restored_state import RESTORED_GATE, restored_state
from flinkish.runtime.task.writer import (
    BroadcastRecordWriter,
    KeyedRecordWriter,
    MarkedSplitWriter,
    PartFileWriter,
    RecordWriter,
    SingleRecordWriter,
    SinkRecordWriter,
    SplitRecordWriter,
)
from flinkish.runtime.task_logs import TaskLog
from flinkish.runtime.time.clock import ProcessingTimeService
from flinkish.runtime.time.watermark_generation import JoinedSplits
from flinkish.runtime.windowing.window_contents import TABLE as WINDOW_CONTENTS

T = TypeVar("T")


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pauses Python's cycle collector inside the block. Elements are created by the hundred
    thousand and none is garbage yet, so each collection would visit all of them and free none:
    500,000 rows in a window took 0.46 s with the collector and 0.24 s without."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


ONE_SUBTASK = Subtask()

_UNSEEN = nullcontext()

MALFORMED_A_RUN = 1_000

SPLITS_REPORTED = 64
"""If a source has more splits, only those with the lowest watermarks are reported."""

RECORDS_IN_ERRORS = "numRecordsInErrors"
"""The name of a source's counter of malformed records, as in Flink."""


class VertexTask:
    """The chain of a vertex with its writers (Flink: ``StreamTask``)."""

    def __init__(
        self, plan: VertexPlan, settings: TaskSettings, subtask: Subtask = ONE_SUBTASK
    ) -> None:
        self.plan = plan
        self.name = plan.sourceName or plan.nodes[0].name
        """The name of the task in errors."""
        self._settings = settings
        self._subtask = subtask
        self._clock = ProcessingTimeService()
        self._busy = 0
        self._log = TaskLog(plan.sourceName or plan.uid, settings.logLevel)
        self._backend = PagedKeyedStateBackend(plan.uid, settings.keyRules.earlierHashes)
        self._writers: list[RecordWriter] = []
        self._writing = ColumnScope(settings.columnChecks)
        """The functions of the writers: key selectors, and folds before a shuffle."""
        self._attributes: list[FunctionAttributes] = []
        self.profiled = False
        """Whether the stacks of this batch are sampled."""
        self._sampler = StackSampler()
        self.reusable = True
        """Whether no user function has changed attributes that no snapshot has."""
        self.sourceOutput = Output()
        sources = (
            {} if plan.source is None else {plan.source: (self.sourceOutput, plan.sourceEdges)}
        )
        self._chain = OperatorChain(
            nodes=plan.nodes,
            sources=sources,
            context=self._context,
            exit=self._exit,
            reusesObjects=settings.reusesObjects,
            tracesFunctions=settings.tracesFunctions,
            columnChecks=settings.columnChecks,
            keyRules=settings.keyRules,
        )

    def open(self) -> None:
        self._chain.open()
        plan = self.plan
        selectors = [(exit_plan.edge, exit_plan.operator) for exit_plan in plan.exits]
        selectors += [(edge, node.name) for node in plan.nodes for edge in node.inputs]
        self._attributes = [
            FunctionAttributes(operator, edge.partitioning) for edge, operator in selectors
        ]
        self._attributes += [FunctionAttributes(e.operator, e.splits) for e in plan.exits]

    def attributeChanges(self) -> list[AttributeChange]:
        """The attributes changed by user functions that no snapshot has, each reported once."""
        changes = self._chain.attributeChanges()
        changes += [change for held in self._attributes for change in held.changes()]
        self.reusable = self.reusable and not changes
        return changes

    def endBatch(self) -> None:
        """Drop everything that belongs to the batch; the next one loads its state again."""
        self._backend.endBatch()
        self._chain.restore(None)
        self._chain.trim()
        for writer in self._writers:
            writer.trim()
            writer.close()

    def close(self) -> None:
        close_all([self._chain, *self._writers])

    def _working(self) -> AbstractContextManager[object]:
        """Samples the stack inside the block, if the batch is profiled."""
        return self._sampler if self.profiled else _UNSEEN

    def _begin(self, part: Slice, snapshot: dict[str, Any] | None) -> None:
        self._clock.begin(part.clock)
        for operator in self._chain.operators.values():
            operator.metrics.reset()
            operator.output.emitted, operator.output.onlyNulls = 0, True
        self._chain.restore(snapshot)
        self._chain.initializeFunctions(part.number)
        for writer in self._writers:
            writer.begin(part)

    def _finish(self) -> list[FrameRow]:
        self._chain.endSlice()
        return [row for writer in self._writers for row in writer.finish()]

    def _reports(self, keyGroup: int) -> list[OperatorReport]:
        """The reports of the operators, without what ``_of_vertex`` adds to one of them."""
        reports = []
        for uid, operator in self._chain.operators.items():
            metrics = operator.metrics
            with user_method_of(operator.name, "a gauge"):
                gauges = metrics.userGauges()
            report = OperatorReport(
                uid,
                operator.name,
                keyGroup,
                metrics.numRecordsIn,
                operator.output.emitted,
                metrics.numLateRecordsDropped,
                operator.reportedWatermark,
                operator.numEventTimeTimers() + operator.numProcessingTimeTimers(),
                nextProcessingTime=operator.nextProcessingTimeTimer(),
                userCounts=metrics.userCounts(),
                userGauges=gauges,
                userHistograms=metrics.userHistograms(),
                inputs=tuple(_lowest(operator.splits())),
                userMeters=metrics.userMeters(),
                accumulators=metrics.changedAccumulators(),
                columnRuns=self._chain.columnRuns(uid),
                vertex=self.plan.uid,
                onlyNulls=operator.output.onlyNulls,
            )
            reports.append(report)
        return reports

    def _of_vertex(self, report: OperatorReport) -> OperatorReport:
        """``report``, of what the vertex begins with, with the work of the whole vertex."""
        return report._replace(
            edges=tuple(writer.report for writer in self._writers),
            busyNanoseconds=self._busy,
            logs=self._log.reports(),
            columnRuns=(*report.columnRuns, *self._writing.reports()),
            stacks=self._sampler.taken(),
            worker=this_worker(),
        )

    def _context(self, node: ChainedNode) -> OperatorContext:
        head = node.uid == self.plan.uid
        if head:
            self._backend.earlierStates = [NotedState(*state) for state in node.earlierStates]
        return OperatorContext(
            uid=node.uid,
            name=node.name,
            backend=self._backend if head else HeapKeyedStateBackend(),
            clock=self._clock,
            output=Output(),
            taskInfo=self._task_info(node.name),
            autoWatermarkInterval=self._settings.autoWatermarkInterval,
            emitsAfterSlices=True,
            tracesFunctions=self._settings.tracesFunctions,
            jobParameters=self._settings.jobParameters,
            keepsAttributes=self.plan.source is None,
            batch=self._settings.batch,
        )

    def _task_info(self, name: str) -> TaskInfo:
        most, subtask = self._settings.maxParallelism, self._subtask
        if self.plan.single or self.plan.source is not None:
            return TaskInfo(name, 1, most, 0, subtask.attempt)
        return TaskInfo(name, self._settings.parallelism, most, subtask.index, subtask.attempt)

    def _exit(self, edge: ChainedEdge) -> Input | None:
        for exit_plan in self.plan.exits:
            if exit_plan.edge is edge:
                with self._writing.entered():
                    writer = self._writer(exit_plan)
                self._writers.append(writer)
                return writer
        return None

    def _writer(self, plan: ExitPlan) -> RecordWriter:
        groups = key_groups(plan.gate.target, plan.single, self._settings)
        traces = self._settings.tracesFunctions
        if plan.exchange is Exchange.KEYED:
            partitioning = plan.edge.partitioning
            assert isinstance(partitioning, HashPartitioning)
            selector = partitioning.keySelector
            folds = traces and self._settings.foldsBeforeShuffle
            fold = PaneFold.before(plan.window) if plan.window and folds else None
            columns = ColumnFunction(selector) if traces else None
            rules = self._settings.keyRules.of(partitioning)
            return KeyedRecordWriter(
                plan.gate, plan.operator, selector, groups, fold, columns, rules
            )
        if plan.exchange is Exchange.BROADCAST:
            return BroadcastRecordWriter(plan.gate, plan.operator, groups)
        if plan.exchange is Exchange.SPLIT and len(groups) > 1:
            return self._split_writer(plan, groups)
        if plan.exchange is not Exchange.SINK:
            return SingleRecordWriter(plan.gate, plan.operator, groups[0], traces)
        if plan.files is not None:
            return PartFileWriter(plan.gate, plan.operator, plan.columns, plan.files)
        return SinkRecordWriter(plan.gate, plan.operator, plan.columns, plan.buckets)

    def _split_writer(self, plan: ExitPlan, groups: Sequence[int]) -> RecordWriter:
        assert plan.splits is not None
        split_of, ticks = plan.splits.of, plan.splits.changeByTime and not self._settings.batch
        traces = self._settings.tracesFunctions
        if split_of is None:
            return MarkedSplitWriter(plan.gate, plan.operator, groups, ticks, traces)
        columns = ColumnFunction(split_of) if traces else None
        rules = replace(self._settings.keyRules, nulls=True)
        return SplitRecordWriter(plan.gate, plan.operator, split_of, groups, columns, ticks, rules)


class SourceTask(VertexTask):
    """Runs a vertex that begins with a source; it has no state from one slice to the next. ``held``
    is the reader of the source, which, like an operator, may hold user functions."""

    def __init__(self, plan: VertexPlan, settings: TaskSettings, held: object = None) -> None:
        super().__init__(plan, settings)
        self._held = held

    def open(self) -> None:
        super().open()
        self._attributes.append(FunctionAttributes("Source", self._held))

    def begin(self, part: Slice) -> None:
        self._malformed = self.sourceOutput.emitted = 0
        self._begin(part, None)

    def reading(self, runs: Iterable[T]) -> Iterator[T]:
        """The runs that the source reads; reading them counts as work."""
        began = perf_counter_ns()
        for run in runs:
            self._busy += perf_counter_ns() - began
            yield run
            began = perf_counter_ns()
        self._busy += perf_counter_ns() - began

    @naming_internal_errors
    def process(self, records: Records) -> list[FrameRow]:
        """Process a run of the source's records, and return the frames that are full."""
        began = perf_counter_ns()
        with collection_paused(), self._log.kept(), self._working():
            self.sourceOutput.emitRecords(records)
            self.sourceOutput.flush()
            rows = [row for writer in self._writers for row in writer.rows()]
        self._busy += perf_counter_ns() - began
        return rows

    def malformed(self, record: MalformedRecord) -> list[FrameRow]:
        """Emit a malformed record, without a timestamp, to the source's side output for such
        records. Raises MalformedRecordError if there is none."""
        if self.plan.malformedRecords is None:
            raise record.error(self.plan.sourceName)
        self._malformed += 1
        self.sourceOutput.collectSide(self.plan.malformedRecords, record, NO_TIMESTAMP)
        if self._malformed % MALFORMED_A_RUN:
            return []
        self.sourceOutput.flush()
        return [row for writer in self._writers for row in writer.rows()]

    def split(self, mark: SplitMark) -> None:
        """Emit a split mark: the next records are of the mark's split."""
        self.sourceOutput.emitSplit(mark)

    def watermark(self, watermark: Watermark) -> None:
        if not self._settings.batch:
            self.sourceOutput.emitWatermark(watermark.timestamp)

    def endInput(self) -> None:
        """Emit the last watermark, as the source has ended."""
        self.sourceOutput.emitWatermark(MAX_TIMESTAMP)

    @naming_internal_errors
    def finish(self) -> tuple[list[FrameRow], list[OperatorReport]]:
        """End the slice; returns the remaining frames and the operators' metrics."""
        began = perf_counter_ns()
        with self._log.kept(), self._working():
            self.sourceOutput.flush()
            rows = self._finish()
        self._busy += perf_counter_ns() - began
        reports = [self._source_report(), *self._reports(SOURCE_PART)]
        self._busy = 0
        return rows, reports

    def _source_report(self) -> OperatorReport:
        """The report of the source: the records that it read, and the malformed ones."""
        plan, read = self.plan, self.sourceOutput.emitted
        counts = {RECORDS_IN_ERRORS: float(self._malformed)} if self._malformed else {}
        report = OperatorReport(plan.uid, plan.sourceName, SOURCE_PART, numRecordsOut=read)
        return self._of_vertex(report._replace(userCounts=counts, vertex=plan.uid))


class KeyGroupTask(VertexTask):
    """Runs a vertex after a shuffle, for one key group after another."""

    def __init__(
        self, plan: VertexPlan, settings: TaskSettings, subtask: Subtask = ONE_SUBTASK
    ) -> None:
        super().__init__(plan, settings, subtask)
        self._head = self._chain.operators[plan.uid]
        several = settings.keyGroups > 1
        gates = [replace(gate, joinsSplits=gate.joinsSplits and several) for gate in plan.gates]
        self._gates = InputGates(gates, self._head.inputs)
        self._tells_splits = plan.bySplit and several and not settings.batch
        self._first_key_group = key_groups(plan.uid, plan.single, settings)[0]

    @property
    def ended(self) -> bool:
        """Whether the input has ended for the key group processed last."""
        return self._gates.ended

    def endBatch(self) -> None:
        super().endBatch()
        self._gates.restore(None)

    @naming_internal_errors
    def process(
        self,
        key_group: int,
        rows: Sequence[FrameRow],
        store: PageStore,
        snapshot: dict[str, Any] | None,
    ) -> tuple[list[FrameRow], dict[str, Any] | None, list[OperatorReport]]:
        """Process the frames that a batch has for a key group. ``snapshot`` is the one that the
        call for the key group's previous batch returned; None at first. Returns the frames written,
        the new snapshot, and the operators' metrics."""
        if self._tells_splits and snapshot is None and all(row.gate == TICK_GATE for row in rows):
            return [], None, []  # no split has come to this key group
        began = perf_counter_ns()
        clock = max(row.clock for row in rows)
        restored = [row for row in rows if row.gate == RESTORED_GATE]
        metered = MeteredPageStore(store)
        self._clock.begin(clock)  # the time of access of restored state that has none
        if restored:
            snapshot = restored_state(self._backend, self.plan.uid, restored, metered)
        self._head.inFirstKeyGroup = key_group == self._first_key_group
        self._backend.load(metered, snapshot and snapshot["backend"])
        self._begin(Slice(key_group, clock), snapshot and self._chain_of(snapshot))
        self._gates.restore(snapshot and snapshot["gates"])
        # Key groups may differ from those of the savepoint, so each sends its splits again
        told = None if restored else self._head.joinedSplits()
        with collection_paused(), self._log.kept(), self._working():
            if self.plan.uid in self._settings.bootstraps:
                self._gates.processElements(rows)
            elif self._settings.batch:
                self._chain.advanceProcessingTime(clock)
                self._gates.processWhole(rows)
                self._head.endInput()
            else:
                # Timers that the clock has reached fire before the elements of the batch
                self._chain.advanceProcessingTime(clock)
                self._gates.process(row for row in rows if row.gate >= 0)
                # Timers that these elements registered for now or earlier must not wait for the
                # next batch
                self._chain.advanceProcessingTime(clock)
            written = self._finish_of_splits(told) if self._tells_splits else self._finish()
        directory = {
            "backend": self._backend.flush(),
            "chain": self._stored_chain(),
            "gates": self._gates.snapshot(),
        }
        self._busy = perf_counter_ns() - began
        reports = self._reports(key_group)
        head = list(self._chain.operators).index(self.plan.uid)
        reports[head] = self._of_head(reports[head], metered)
        if self._tells_splits:
            reports = self._of_splits(key_group, reports)
        if self.profiled:
            # Decoded again, so that batches that are not profiled do not pay for counting
            frames = (decode_frame(row.frame).records for row in rows if row.gate >= 0)
            keys = largest_keys(key for records in frames for key in records.keys or ())
            reports[head] = reports[head]._replace(keys=keys)
        return written, directory, reports

    def _of_head(self, report: OperatorReport, store: MeteredPageStore) -> OperatorReport:
        """The report of the first operator, with the inputs of the vertex and its keyed state."""
        backend, (pages, size) = self._backend, store.touched
        return self._of_vertex(report)._replace(
            stateEntries=backend.numEntries(),
            statePages=backend.numPages(),
            states=backend.noted(),
            inputs=(*self._gates.reports(), *report.inputs),
            openWindows=backend.numEntries(WINDOW_CONTENTS),
            touchedPages=pages,
            touchedBytes=size,
        )

    def _chain_of(self, snapshot: dict[str, Any]) -> Any:
        """The operators' state besides keyed state."""
        try:
            return unpickled(snapshot["chain"])
        except IncompatibleCheckpointError as error:
            raise IncompatibleCheckpointError(f"{self.plan.uid}: {error}") from None

    def _stored_chain(self) -> bytes:
        try:
            return pickled(self._chain.snapshot())
        except InvalidProgramError as error:
            raise InvalidProgramError(f"{self.plan.uid}: {error}") from None

    def _of_splits(self, key_group: int, reports: list[OperatorReport]) -> list[OperatorReport]:
        """``reports`` as those of one of several key groups with splits."""
        joined = self._head.joinedSplits()
        idle = joined is None or joined.idle
        reports = [report._replace(idle=idle) for report in reports]
        if not elements_hidden():
            return reports
        # Split names are hidden behind numbers, and each key group numbers its own splits
        return [
            report._replace(
                inputs=tuple(
                    read._replace(name=f"{read.name} of key group {key_group}")
                    if read.isSplit
                    else read
                    for read in report.inputs
                )
            )
            for report in reports
        ]

    def _finish_of_splits(self, told: JoinedSplits | None) -> list[FrameRow]:
        """``_finish`` if the readers combine the splits of all key groups. ``told`` are the splits
        of this key group as the readers know them."""
        for writer in self._writers:
            writer.beginClosing()
        self._chain.endSlice()
        joined = self._head.joinedSplits()
        if joined is not None and joined != told:
            for writer in self._writers:
                writer.tellSplits(joined)
        return [row for writer in self._writers for row in writer.finish()]


def _lowest(splits: Iterable[InputReport]) -> list[InputReport]:
    """The splits that hold the others back, at most ``SPLITS_REPORTED``."""
    return nsmallest(SPLITS_REPORTED, splits, key=lambda split: (split.idle, split.watermark))
