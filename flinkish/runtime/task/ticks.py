"""Ticks of the clock: rows that let key groups see the time when no element comes.

A tick is no element and comes over no gate. It only makes a batch call a key group of a vertex, with
the batch's clock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from flinkish.runtime.task.gates import FrameRow
from flinkish.runtime.task.plan import TaskSettings, VertexPlan, key_groups

TICK_GATE = -1
"""Stands in a row where others name their gate."""


def clock_ticks(
    vertices: Iterable[VertexPlan],
    settings: TaskSettings,
    clock: int,
    due: Mapping[str, Collection[int]] | None = None,
) -> list[FrameRow]:
    """A tick for the key groups of ``vertices`` that are due.

    ``due``: the key groups that want the clock, by the uid of the operator; None: all of all.
    """
    return [
        FrameRow(plan.level, plan.uid, group, TICK_GATE, group, 0, clock, b"")
        for plan in vertices
        for group in (
            key_groups(plan.uid, plan.single, settings)
            if due is None
            else _due_key_groups(plan, due)
        )
    ]


def _due_key_groups(plan: VertexPlan, due: Mapping[str, Collection[int]]) -> Iterable[int]:
    return sorted({group for node in plan.nodes for group in due.get(node.uid, ())})
