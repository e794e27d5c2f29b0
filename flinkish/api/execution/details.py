"""``JobDetails``: what a running job knows about itself, as plain data (Flink: ``JobDetailsInfo``).

The driver gathers it from the reports of each batch. Reading it costs no Spark job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from flinkish.api.execution.client import JobStatus, OperatorMetrics
from flinkish.api.execution.read_progress import UNKNOWN_BACKLOG, SourceBacklog


@dataclass(frozen=True)
class InputDetails:
    """The watermark of one input of an operator, or of one split of a source."""

    name: str
    """The source or operator that it comes from, or the split."""
    isSplit: bool
    currentWatermark: int | None
    """The lowest (ms) over the key groups; None before the first."""
    idle: bool
    since: int
    """The time (ms since the epoch) at which the watermark rose last, or the input became idle or
    active."""
    holdsBack: bool
    """Whether the other inputs are ahead, so that the operator's watermark waits for this one."""
    lag: int | None = None
    """The lag (ms) behind the input or split that is furthest ahead; None if it is idle, or
    before its first watermark."""


@dataclass(frozen=True)
class WatermarkHold:
    """The input that the watermark of an operator waits for, traced back to its source or split."""

    operator: str
    """The operator or source by name."""
    split: str | None
    """The split of that source, if it has several."""
    currentWatermark: int | None
    since: int
    """The time (ms since the epoch) at which that watermark rose last."""
    isGenerated: bool = True
    """Whether a watermark strategy generates it; False for that of a source without one."""
    lastTimestamp: int | None = None
    """The highest timestamp (ms) of the elements that have come from there; None if none has one."""
    lastElement: int | None = None
    """The time (ms since the epoch) at which the last element came from there; None before the
    first."""


@dataclass(frozen=True)
class KeyGroupState:
    """The keyed state of an operator in one key group."""

    entries: int
    pages: int
    bytes: int
    """As in ``BatchDetails.stateBytes``."""
    openWindows: int


@dataclass(frozen=True)
class OperatorDetails:
    """An operator of a vertex: its metrics, and the inputs and splits that it distinguishes."""

    metrics: OperatorMetrics
    inputs: tuple[InputDetails, ...] = ()
    heldBackBy: WatermarkHold | None = None
    waitsForEventTime: bool = False
    """Whether it has windows open that only a watermark closes."""
    keyedState: Mapping[int, KeyGroupState] = field(default_factory=dict)
    """By key group."""


@dataclass(frozen=True)
class SourceDetails:
    """The position of a source, as the engine reports it: JSON texts, None where it reports
    none."""

    startOffset: str | None
    endOffset: str | None
    latestOffset: str | None
    backlog: SourceBacklog = UNKNOWN_BACKLOG
    """As of its last batch."""


@dataclass(frozen=True)
class VertexDetails:
    """A vertex of the job graph: operators that run without a shuffle between them."""

    id: str
    name: str
    level: int
    """The number of shuffles before it."""
    isSource: bool
    isSink: bool
    parallelism: int
    numRecordsIn: int
    numRecordsOut: int
    busyShare: float
    """The part of the last batch's time in which its tasks worked, from 0 to 1."""
    busyMillis: int
    """The working time of all its tasks so far."""
    skew: float
    """The records of the fullest key group in the last batch, divided by the mean of all key
    groups."""
    keyGroups: Mapping[int, int]
    """The records that came in so far, by key group."""
    operators: tuple[OperatorDetails, ...]
    source: SourceDetails | None = None
    drawing: tuple[str, ...] = ()
    """Lines that draw what its operators do, as the states of a pattern."""
    backPressureShare: float = 0.0
    """The part of the last batch's time in which later stages and sinks worked, so that the vertex
    could not read more, from 0 to 1; together with ``busyShare`` at most 1."""

    @property
    def currentWatermark(self) -> int | None:
        """The watermark after its last operator."""
        return self.operators[-1].metrics.currentWatermark if self.operators else None


@dataclass(frozen=True)
class EdgeDetails:
    """An edge between two vertices, and the records that went over it."""

    source: str
    target: str
    operator: str
    """The operator that writes to it."""
    shipStrategy: str
    inputIndex: int
    sideOutput: str | None
    records: int


@dataclass(frozen=True)
class BatchDetails:
    """A batch, which is also a checkpoint, unless the job runs locally."""

    id: int
    startTime: int
    """ms since the epoch."""
    duration: int
    """ms."""
    phases: Mapping[str, int] = field(default_factory=dict)
    """Milliseconds by phase: Spark's own (``latestOffset``, ``walCommit``, ``getBatch``, ``queryPlanning``,
    ``addBatch``, ``commitOffsets``), and of ``addBatch`` the part in the ``stages`` and the one in the
    ``sinks``, which are the phases of a job that runs locally."""
    recordsIn: int = 0
    """The records that the sources read."""
    recordsOut: int = 0
    """The records that the sinks received."""
    lateRecordsDropped: int = 0
    skew: float = 1.0
    """The highest over the vertices."""
    stateBytes: int = 0
    """The size of the pages of state after the batch, in bytes: estimated from the mean size of the
    pages that batches touch, exact for a job that runs locally. On disk Spark's store needs more,
    until it removes old versions."""
    openWindows: int = 0
    """The windows with contents after the batch, counted for each key, of all operators."""
    inputLag: int = 0
    """The distance (ms) between the inputs of an operator, or splits of a source, after the batch:
    the highest of any operator."""
    run: int = 0
    """The time (ms since the epoch) at which this run of the job began; after a restart it differs
    from that of the batch before."""


@dataclass(frozen=True)
class OperatorBatch:
    """The figures of one operator for a batch, and its state afterwards."""

    numRecordsIn: int
    numRecordsOut: int
    numLateRecordsDropped: int
    currentWatermark: int | None
    timers: int
    stateEntries: int
    openWindows: int
    stateBytes: int
    """As in ``BatchDetails``."""
    busyMillis: int
    """The working time of the tasks of its vertex, if the vertex begins with this operator."""


@dataclass(frozen=True)
class ProfiledStack:
    """A call stack in which a task of a vertex was seen."""

    vertex: str
    calls: tuple[str, ...]
    """Functions with file and line, the outermost first."""
    millis: int
    """The duration (ms), estimated from samples."""


@dataclass(frozen=True)
class ProfiledKey:
    """A key of a vertex with many records."""

    vertex: str
    keyGroup: int
    key: str
    """As text, shortened."""
    records: int
    """Counted after the shuffle: records that were folded before it count once."""


@dataclass(frozen=True)
class BatchProfile:
    """The profile of one batch: samples of the stacks of its tasks, and the keys with the most
    records."""

    batch: int
    timestamp: int
    """The time (ms since the epoch) at which it was complete."""
    interval: int
    """The time (ms) between two samples of a stack."""
    stacks: tuple[ProfiledStack, ...]
    keys: tuple[ProfiledKey, ...] = ()
    """The keys with the most records first; none if elements are hidden."""


@dataclass(frozen=True)
class WorkerDetails:
    """A Python process that runs tasks, as of the last batch in which it did."""

    host: str
    process: int
    residentBytes: int
    peakBytes: int
    """The highest number of bytes that were resident at any time."""
    processorSeconds: float
    collections: int
    """The number of runs of Python's cycle collector."""
    lastBatch: int
    """The id of that batch."""


@dataclass(frozen=True)
class CheckpointDetails:
    """The checkpoints of a job: one for each batch."""

    directory: str | None
    """None if it is removed when the job ends."""
    completed: int
    """In this run."""
    latest: BatchDetails | None
    restored: int | None
    """The batch after which this run continued, or was last restarted; None if it started afresh,
    or if no history was found."""
    enabled: bool = True
    """False for a job that runs locally, which takes none."""


@dataclass(frozen=True)
class ExceptionDetails:
    """The error that ended a run of the job, or after which it was restarted."""

    timestamp: int
    type: str
    message: str
    operator: str | None = None
    element: str | None = None
    """The element on which a user function failed, as the error shows it."""
    trace: str = ""
    """The position in the user's code at which it was raised."""


@dataclass(frozen=True)
class JobDetails:
    """The state of a job as of its last batch (Flink: ``JobDetailsInfo``)."""

    jid: str
    name: str
    status: JobStatus
    startTime: int
    endTime: int | None
    now: int
    """The clock (ms since the epoch) when these details were read."""
    parallelism: int
    maxParallelism: int
    vertices: tuple[VertexDetails, ...]
    edges: tuple[EdgeDetails, ...]
    batches: tuple[BatchDetails, ...]
    """The last ones, of earlier runs too, the oldest first."""
    checkpoint: CheckpointDetails
    exceptions: tuple[ExceptionDetails, ...]
    """The errors that ended runs or led to restarts, of earlier runs too, the latest first."""
    settings: Mapping[str, str] = field(default_factory=dict)
    completedBatches: int = 0
    """In this run."""
    numRestarts: int = 0
    """The number of times that this run failed and was restarted."""
    restartStrategy: str = "Restart deactivated."
    """The restart strategy, described in a sentence."""
    operatorBatches: Mapping[int, Mapping[str, OperatorBatch]] = field(default_factory=dict)
    """The figures of each operator for the last batches of this program, by batch id and uid."""
    profile: BatchProfile | None = None
    """The profile that ``JobClient.profileBatch`` last requested, once it is complete."""
    profileRequested: bool = False
    """Whether a profile is still to come."""
    workers: tuple[WorkerDetails, ...] = ()
    """The Python processes in which tasks of the last batches ran."""
    engineUI: str | None = None
    """The address of Spark's own web page, if the session has one."""
    batchSince: int | None = None
    """The time (ms since the epoch) at which the current batch began; None if none runs."""

    @property
    def outputWatermark(self) -> int | None:
        """The lowest watermark (ms) of the operators that write to sinks, or that end the graph;
        None while one of them has none."""
        found = [
            operator.metrics.currentWatermark
            for vertex in self.vertices
            if not vertex.isSink
            for operator in self._last(vertex)
        ]
        known = [watermark for watermark in found if watermark is not None]
        return min(known) if known and len(known) == len(found) else None

    def _last(self, vertex: VertexDetails) -> Sequence[OperatorDetails]:
        """The operators of a vertex after which its elements leave the graph."""
        sinks = {other.id for other in self.vertices if other.isSink}
        edges = [edge for edge in self.edges if edge.source == vertex.id]
        writers = {edge.operator for edge in edges if edge.target in sinks}
        if not edges:
            return vertex.operators[-1:]
        return [operator for operator in vertex.operators if operator.metrics.name in writers]

    @property
    def operators(self) -> dict[str, OperatorDetails]:
        """All operators, by uid."""
        return {
            operator.metrics.uid: operator
            for vertex in self.vertices
            for operator in vertex.operators
        }
