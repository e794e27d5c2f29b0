"""The plan of a task that is sent to the workers: operators, gates, exits and settings; and the
ticks of its key groups."""

from __future__ import annotations

import enum
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from flinkish.api.environment.configuration import DEFAULT_COLUMN_CHECKS
from flinkish.api.plan.operators import Splits
from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.api.program_classes import ProgramClasses
from flinkish.runtime.records.columns import ElementColumns
from flinkish.runtime.records.keys import KEY_RULES, KeyRules, key_group_of
from flinkish.runtime.records.stable_hashes import stable_hash
from flinkish.runtime.sinks.buckets import Buckets
from flinkish.runtime.sinks.part_files import PartFiles
from flinkish.runtime.task.chain import ChainedEdge, ChainedNode
from flinkish.runtime.task.gates import FrameRow, Gate


class Exchange(enum.Enum):
    """How records are distributed when they leave a task."""

    KEYED = "keyed"
    BROADCAST = "broadcast"
    SPLIT = "split"
    SINGLE = "single"
    SINK = "sink"


@dataclass(frozen=True)
class ExitPlan:
    """An edge that leaves a task."""

    edge: ChainedEdge
    gate: Gate
    exchange: Exchange
    operator: str
    """The name of the operator that writes to the edge."""
    single: bool
    """Whether the target vertex runs in a single key group."""
    columns: ElementColumns | None = None
    """Converts the elements for a sink that writes columns; None for any other."""
    window: WindowOperatorDescription | None = None
    """The window operator that reads the edge and allows its writer to fold, if any."""
    buckets: Buckets | None = None
    """Finds the buckets of the elements for a sink that writes into buckets."""
    files: PartFiles | None = None
    """Writes the elements to files of the sink; None if they are sent to the sink."""
    splits: Splits | None = None
    """The splits by which the target vertex divides its input; None for any other."""


@dataclass(frozen=True)
class VertexPlan:
    """A vertex: the chained operators after a source or a shuffle. ``source`` is the uid of the
    source with which the vertex begins; None after a shuffle."""

    uid: str
    level: int
    source: str | None
    sourceEdges: tuple[ChainedEdge, ...]
    nodes: tuple[ChainedNode, ...]
    gates: tuple[Gate, ...]
    single: bool
    """Whether the vertex runs in a single key group, which gets all the input."""
    exits: tuple[ExitPlan, ...]
    sourceName: str = ""
    malformedRecords: str | None = None
    """The id of the side output for malformed records of the source; None if they are errors."""
    bySplit: bool = False
    """Whether the splits of the input are divided among the key groups, if there are several."""


@dataclass(frozen=True)
class TaskSettings:
    """The settings shared by all tasks of a job."""

    keyGroups: int
    """The number of key groups: one at parallelism 1, which keeps all elements in order."""
    parallelism: int
    sinkLevel: int
    autoWatermarkInterval: int
    maxParallelism: int
    """The number of key groups as reported to user functions."""
    reusesObjects: bool = False
    elementsHiddenInErrors: bool = False
    tracesFunctions: bool = True
    """Whether functions that only compute are traced and run over columns."""
    logLevel: int = logging.WARNING
    """The level from which on messages of user code are sent to the driver's log."""
    jobParameters: Mapping[str, str] = field(default_factory=dict)
    """The global parameters of the job, for user functions."""
    batch: bool = False
    """Whether all input comes in one batch with only final results (mode BATCH)."""
    columnChecks: int = DEFAULT_COLUMN_CHECKS
    """The number of elements of a columnar run for which the function is called as a check."""
    foldsBeforeShuffle: bool = True
    """Whether a task may fold elements for the windows after its shuffle."""
    bootstraps: frozenset[str] = frozenset()
    """The uids of the vertices in a savepoint: they get elements, but no watermarks."""
    keyRules: KeyRules = KEY_RULES
    classes: ProgramClasses = field(default_factory=ProgramClasses, compare=False, repr=False)
    """The classes that are stored by name."""


def key_groups(uid: str, single: bool, settings: TaskSettings) -> Sequence[int]:
    """The key groups of a vertex: all of them, or one if ``single``."""
    if single:
        return (key_group_of(stable_hash(uid), settings.keyGroups),)
    return range(settings.keyGroups)


@dataclass(frozen=True)
class Subtask:
    """The index of a task in its stage and the number of its attempt, both from 0."""

    index: int = 0
    attempt: int = 0


TICK_GATE = -1
"""The gate number in the row of a *tick*, which carries no element. Spark calls a key group only if
a batch has rows for it, and a tick lets one with a timer due run with the clock of the batch."""


def tick(level: int, target: str, keyGroup: int, part: int, clock: int) -> FrameRow:
    return FrameRow(level, target, keyGroup, TICK_GATE, slice=part, clock=clock)


def clock_ticks(
    vertices: Iterable[VertexPlan],
    settings: TaskSettings,
    clock: int,
    due: Mapping[str, Collection[int]] | None = None,
) -> list[FrameRow]:
    """Ticks for the due key groups of ``vertices``, with the time ``clock`` (ms). ``due`` lists, by
    the uid of an operator, the key groups with a due timer; None: all key groups of all
    vertices."""
    ticks = []
    for plan in vertices:
        groups: Iterable[int] = key_groups(plan.uid, plan.single, settings)
        if due is not None:
            groups = sorted({group for node in plan.nodes for group in due.get(node.uid, ())})
        ticks += [tick(plan.level, plan.uid, group, group, clock) for group in groups]
    return ticks
