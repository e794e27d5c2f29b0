"""What a task is told to run: its operators, where its input comes from and its output goes."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from flinkish.runtime.records.columns import ElementColumns
from flinkish.runtime.records.keys import key_group_of, stable_hash
from flinkish.runtime.task.chain import ChainedEdge, ChainedNode
from flinkish.runtime.task.gates import Gate


class Exchange(enum.Enum):
    """How records leave a task."""

    KEYED = "keyed"
    BROADCAST = "broadcast"
    SINGLE = "single"
    SINK = "sink"


@dataclass(frozen=True)
class ExitPlan:
    """An edge that leaves a task."""

    edge: ChainedEdge
    gate: Gate
    exchange: Exchange
    operator: str
    """The name of the operator that writes to it."""
    single: bool
    """Whether the vertex that it leads to is there once."""
    columns: ElementColumns | None = None
    """What the elements become on the way to a sink that writes columns."""


@dataclass(frozen=True)
class VertexPlan:
    """A vertex: chained operators, after a source or a shuffle.

    ``source`` is the uid of the source it begins with, None if it begins with an operator.
    """

    uid: str
    level: int
    source: str | None
    sourceEdges: tuple[ChainedEdge, ...]
    nodes: tuple[ChainedNode, ...]
    gates: tuple[Gate, ...]
    single: bool
    """Whether it is there once, in the one key group that all its input goes to."""
    exits: tuple[ExitPlan, ...]
    sourceName: str = ""
    malformedRecords: str | None = None
    """The id of the side output that malformed records of the source go to, None if they are errors."""


@dataclass(frozen=True)
class TaskSettings:
    """What holds for all tasks of a job."""

    keyGroups: int
    """How many parts keyed state is in. One if there is one task: then all keys keep one order."""
    parallelism: int
    sinkLevel: int
    autoWatermarkInterval: int
    maxParallelism: int
    """What functions are told: the number of key groups, of which one task has them all."""
    reusesObjects: bool = False
    elementsHiddenInErrors: bool = False


def key_groups(uid: str, single: bool, settings: TaskSettings) -> Sequence[int]:
    """The key groups of a vertex: all, or the one of a vertex that is there once."""
    if single:
        return (key_group_of(stable_hash(uid), settings.keyGroups),)
    return range(settings.keyGroups)


@dataclass(frozen=True)
class Subtask:
    """Which of the tasks of a stage one is, from 0, and which try of it."""

    index: int = 0
    attempt: int = 0
