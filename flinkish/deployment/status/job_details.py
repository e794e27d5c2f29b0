"""Builds the ``JobDetails`` of a job from its graph and its monitor."""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, replace
from pathlib import Path

from flinkish.api.environment.configuration import ExecutionConfig
from flinkish.api.errors import UserFunctionError
from flinkish.api.execution.client import JobStatus, OperatorMetrics
from flinkish.api.execution.details import (
    BatchDetails,
    CheckpointDetails,
    EdgeDetails,
    ExceptionDetails,
    InputDetails,
    JobDetails,
    OperatorDetails,
    VertexDetails,
    WatermarkHold,
)
from flinkish.api.plan.partitioning import Partitioning
from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.api.time.elements import MIN_TIMESTAMP
from flinkish.deployment.source_lines import with_source_lines
from flinkish.deployment.status.job_monitor import JobMonitor, clock
from flinkish.deployment.status.operator_names import operator_names
from flinkish.deployment.vertex_plans import vertex_plan
from flinkish.graph.job_graph import JobEdge, JobGraph, JobVertex
from flinkish.graph.stream_graph import StreamNode
from flinkish.runtime.progress import InputWatermark, VertexLoad, input_lags, lowest, visible
from flinkish.runtime.task.plan import TaskSettings

_PACKAGE = Path(__file__).parents[2]

_ON_THE_ELEMENT = re.compile(r" on the element (.*)\Z", re.DOTALL)


@dataclass(eq=False, repr=False)
class JobDetailsView:
    """The details of one run of a job, built on request. ``directory`` is the directory of the
    checkpoint, None if that is temporary; ``checkpointed``: whether the batches are checkpoints at
    all."""

    graph: JobGraph
    settings: TaskSettings
    monitor: JobMonitor
    config: InitVar[ExecutionConfig]
    directory: str | None
    checkpointed: bool
    engineUI: str | None = None

    def __post_init__(self, config: ExecutionConfig) -> None:
        graph = self.graph
        self._shown = _shown(config)
        self._restart_strategy = config.getRestartStrategy().getDescription()
        self._names = operator_names(graph)
        self._single = {v.uid: vertex_plan(v).single for v in graph.vertices if not v.head.isSource}

    def details(
        self, jid: str, name: str, status: JobStatus, startTime: int, runtime: int
    ) -> JobDetails:
        """The details known so far; ``runtime`` (ms) is used once the job has ended."""
        monitor = self.monitor
        endTime = startTime + runtime if status.isGloballyTerminalState() else None
        batches = monitor.history.batches
        metrics = {found.uid: found for found in monitor.metrics.metrics().values()}
        last = batches[-1] if batches and monitor.completed else None
        behind = {} if last is None else self._behind(last)
        checkpointed = self.checkpointed
        return JobDetails(
            jid=jid,
            name=name,
            status=status,
            startTime=startTime,
            endTime=endTime,
            # The runtime comes from a monotonic clock, which can be ahead of the wall clock
            now=max(clock(), endTime or startTime),
            parallelism=self.settings.parallelism,
            maxParallelism=self.settings.maxParallelism,
            vertices=tuple(
                self._vertex(v, metrics, last.duration if last else 0, behind)
                for v in self.graph.vertices
            ),
            edges=tuple(self._edge(edge) for v in self.graph.vertices for edge in v.inputs),
            batches=batches,
            checkpoint=CheckpointDetails(
                self.directory,
                monitor.completed if checkpointed else 0,
                last if checkpointed else None,
                monitor.restored,
                checkpointed,
            ),
            exceptions=monitor.history.exceptions,
            settings=self._shown,
            completedBatches=monitor.completed,
            numRestarts=monitor.numRestarts,
            restartStrategy=self._restart_strategy,
            operatorBatches=dict(monitor.operatorBatches),
            profile=monitor.metrics.profiler.last,
            profileRequested=monitor.metrics.profiler.requested,
            workers=monitor.metrics.workers,
            engineUI=self.engineUI,
            batchSince=monitor.batchSince,
        )

    def exception(self, error: BaseException) -> ExceptionDetails:
        """An error that ended a run of the query, with the operator and the element that its message names."""
        message, kind = str(error), type(error).__name__
        names = {node.name for vertex in self.graph.vertices for node in vertex.nodes}
        named = [name for name in names if message.startswith(f"{name}: ")]
        found = _ON_THE_ELEMENT.search(message) if kind == UserFunctionError.__name__ else None
        element = None if found is None else found.group(1)
        operator = max(named, key=len, default=None)
        return ExceptionDetails(
            timestamp=clock(),
            type=kind,
            message=message,
            operator=operator,
            element=element,
            trace=_trace(error),
        )

    def _behind(self, last: BatchDetails) -> dict[int, float]:
        """The working time (ms) in a batch of the stages after each level, and of sinks."""
        worked = float(last.phases.get("sinks", 0))
        behind: dict[int, float] = {}
        for level in reversed(range(self.graph.levels)):
            behind[level] = worked
            loads = self.monitor.metrics.loads.vertices
            worked += sum(
                loads[v.uid].lastBusyNanoseconds / 1e6 / self._parallelism(v)
                for v in self.graph.vertices
                if v.level == level and v.uid in loads
            )
        return behind

    def _parallelism(self, vertex: JobVertex) -> int:
        return 1 if self._single.get(vertex.uid) else self.settings.parallelism

    def _vertex(
        self,
        vertex: JobVertex,
        metrics: dict[str, OperatorMetrics],
        duration: int,
        behind: Mapping[int, float],
    ) -> VertexDetails:
        loads = self.monitor.metrics.loads
        load = loads.vertices.get(vertex.uid, VertexLoad())
        head = vertex.head
        received = sum(self._records(edge) for edge in vertex.inputs)
        if head.isSource:
            received = metrics[vertex.uid].numRecordsOut if vertex.uid in metrics else 0
        parallelism = self._parallelism(vertex)
        busy = load.lastBusyNanoseconds / 1e6
        share = min(1.0, busy / (duration * parallelism)) if duration else 0.0
        waited = behind.get(vertex.level, 0) / duration if duration and vertex.outputs else 0.0
        return VertexDetails(
            id=vertex.uid,
            name=" -> ".join([self._names[head.uid], *(node.name for node in vertex.nodes[1:])]),
            level=vertex.level,
            isSource=head.isSource,
            isSink=head.isSink,
            parallelism=1 if head.isSink else parallelism,
            numRecordsIn=received,
            numRecordsOut=sum(self._records(edge) for edge in vertex.outputs),
            busyShare=share,
            busyMillis=round(load.busyNanoseconds / 1e6),
            skew=load.skew,
            keyGroups=dict(loads.keyGroups.get(vertex.uid, {})),
            operators=tuple(
                self._operator(vertex, node, metrics)
                for node in vertex.nodes
                if not node.isSink or node.uid in metrics
            ),
            source=self.monitor.readUpTo.get(vertex.uid),
            drawing=tuple(
                line
                for node in vertex.nodes
                if not (node.isSource or node.isSink)
                for line in node.operator.drawing
            ),
            backPressureShare=min(waited, 1.0 - share),
        )

    def _operator(
        self, vertex: JobVertex, node: StreamNode, metrics: dict[str, OperatorMetrics]
    ) -> OperatorDetails:
        found = metrics.get(node.uid, OperatorMetrics(node.uid, node.name))
        found = self.monitor.metrics.ofVertex(found, vertex.uid)
        found = replace(found, name=self._names[node.uid])
        inputs = self.monitor.metrics.inputs.of(node.uid)
        return OperatorDetails(
            found,
            (*self._inputs(vertex, inputs, split=False), *self._inputs(vertex, inputs, split=True)),
            self._hold(vertex, node.uid),
            found.timers > 0
            and isinstance(node.operator, WindowOperatorDescription)
            and node.operator.assigner.isEventTime(),
            self.monitor.metrics.stateOf(node.uid),
        )

    def _hold(self, vertex: JobVertex, uid: str) -> WatermarkHold | None:
        """Find what the watermark behind the operator ``uid`` of ``vertex`` waits for: the lowest
        input, and what that input waits for. None for a watermark that does not depend on an input,
        as a source or a strategy generates it."""
        metrics = self.monitor.metrics
        inputs = metrics.inputs.of(vertex.uid)
        split = lowest(read for read in inputs if read.isSplit)
        if split is not None:
            return WatermarkHold(
                operator=self._names[_origin(vertex, vertex.head).uid],
                split=split.name,
                currentWatermark=visible(split.watermark),
                since=split.since,
                lastTimestamp=None if split.lastTimestamp is None else visible(split.lastTimestamp),
                lastElement=split.lastElement,
            )
        held = lowest(read for read in inputs if not read.isSplit)
        if held is None or _generator(vertex, uid) is not None:
            return None
        edge = _edge_named(vertex, held.name)
        further = self._hold(edge.source, edge.edge.sourceUid)
        if further is not None:
            return further
        generator = _generator(edge.source, edge.edge.sourceUid)
        emits = generator or edge.source.head
        written = metrics.loads.lastTimestamps.get((vertex.uid, edge.name), MIN_TIMESTAMP)
        return WatermarkHold(
            operator=self._upstream(edge),
            split=None,
            currentWatermark=visible(held.watermark),
            since=held.since,
            isGenerated=generator is not None,
            lastTimestamp=visible(written),
            lastElement=metrics.lastEmitted.get((emits.uid, edge.source.uid)),
        )

    def _edge(self, edge: JobEdge) -> EdgeDetails:
        partitioning = edge.edge.partitioning
        return EdgeDetails(
            source=edge.source.uid,
            target=edge.target.uid,
            operator=self._names[_writer(edge).uid],
            shipStrategy=partitioning.name if partitioning else Partitioning.name,
            inputIndex=edge.edge.inputIndex,
            sideOutput=edge.edge.sideOutput,
            records=self._records(edge),
        )

    def _upstream(self, edge: JobEdge) -> str:
        """The name of the source that an edge comes from, directly or through the strategy that
        generates its watermarks; else of that strategy, or of the operator that writes to it."""
        generator = _generator(edge.source, edge.edge.sourceUid) or _writer(edge)
        return self._names[_origin(edge.source, generator).uid]

    def _inputs(
        self, vertex: JobVertex, inputs: Sequence[InputWatermark], split: bool
    ) -> list[InputDetails]:
        found = [read for read in inputs if read.isSplit == split]
        held = lowest(found)
        ahead = max((r.watermark for r in found if not r.idle), default=None)
        lags = input_lags(found)
        return [
            InputDetails(
                name=read.name if split else self._upstream(_edge_named(vertex, read.name)),
                isSplit=split,
                currentWatermark=visible(read.watermark),
                idle=read.idle,
                since=read.since,
                holdsBack=read is held and read.watermark != ahead,
                lag=lags.get((read.name, split)),
            )
            for read in found
        ]

    def _records(self, edge: JobEdge) -> int:
        return self.monitor.metrics.loads.edges.get((edge.target.uid, edge.name), 0)


def _trace(error: BaseException) -> str:
    """The lines of the user's code that raised ``error``, in a worker or in this process."""
    notes = getattr(error, "__notes__", [])
    cause = error.__cause__
    if notes or cause is None:
        return "\n".join(notes)
    frames = traceback.extract_tb(cause.__traceback__)
    own = [frame for frame in frames if not Path(frame.filename).is_relative_to(_PACKAGE)]
    return with_source_lines("".join(traceback.format_list(own)).rstrip())


def _shown(config: ExecutionConfig) -> dict[str, str]:
    return {
        "parallelism": str(config.parallelism or "default"),
        "maxParallelism": str(config.maxParallelism or "default"),
        "triggerInterval": f"{config.triggerIntervalOf(unbounded=True)} ms",
        "autoWatermarkInterval": f"{config.autoWatermarkInterval} ms",
        "elementsPerBatch": str(config.elementsPerBatch or "default"),
        "objectReuse": str(config.isObjectReuseEnabled()).lower(),
        "elementsHiddenInErrors": str(config.elementsHiddenInErrors).lower(),
    }


def _origin(vertex: JobVertex, node: StreamNode) -> StreamNode:
    """The source that ``vertex`` begins with, or that it reads if ``node`` is its watermark strategy; else ``node``."""
    generates = node is vertex.head and node.generatesWatermarks
    if generates and len(vertex.inputs) == 1:
        vertex = vertex.inputs[0].source
    return vertex.head if vertex.head.isSource else node


def _writer(edge: JobEdge) -> StreamNode:
    return next(node for node in edge.source.nodes if node.uid == edge.edge.sourceUid)


def _generator(vertex: JobVertex, uid: str) -> StreamNode | None:
    """The operator of ``vertex`` that generates the watermarks behind the node ``uid``."""
    return next((node for node in vertex.upTo(uid) if node.generatesWatermarks), None)


def _edge_named(vertex: JobVertex, name: str) -> JobEdge:
    return next(edge for edge in vertex.inputs if edge.name == name)
