"""Ticks: rows for key groups that have a processing-time timer due but no elements.

Spark calls a key group only if a batch has rows for it. A tick is such a row: it carries no
element, has no gate, and its only effect is that the key group runs with the clock of the batch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from flinkish.runtime.task.gates import FrameRow
from flinkish.runtime.task.plan import TaskSettings, VertexPlan, key_groups

TICK_GATE = -1
"""The gate number in the row of a tick."""


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
