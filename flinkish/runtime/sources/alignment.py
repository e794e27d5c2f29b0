"""Alignment of sources: one whose watermark is ahead of the others of its group waits (Flink: ``SourceCoordinator``).

After each batch the driver notes the watermarks of all aligned sources. A planner looks at them before it plans
a step, so what waits is a whole batch of a source, and a step that has been planned is read. After a restart
the notes are what they were, and steps already planned come first: no batch depends on when a planner looked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flinkish.api.execution.read_progress import SourceBacklog
from flinkish.runtime.sources.planners import SourcePlanner, Step, Task

Watermarks = Mapping[str, int | None]
"""The watermark of each aligned source by its uid: None before the first; the highest of all at its end, and
while it is idle."""


@dataclass(frozen=True)
class SourceAlignment:
    """The group that a source is aligned with: its ``members`` by uid, the source among them."""

    uid: str
    members: tuple[str, ...]
    maxDrift: int
    updateInterval: int

    def mayRead(self, watermarks: Watermarks) -> bool:
        """Whether the source may read on. A source without a watermark may, and so may the one with the lowest."""
        own = watermarks.get(self.uid)
        if own is None:
            return True
        others = [watermarks.get(member) for member in self.members]
        known = [watermark for watermark in others if watermark is not None]
        return len(known) == len(others) and own <= min(known) + self.maxDrift


class AlignedPlanner(SourcePlanner):
    """Plans the steps of ``planner`` when the source may read on; ``watermarks`` tells what is noted."""

    def __init__(
        self,
        planner: SourcePlanner,
        alignment: SourceAlignment,
        watermarks: Callable[[], Watermarks],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._planner = planner
        self._alignment = alignment
        self._watermarks = watermarks
        self._clock = clock
        self._next_look = 0.0

    def plan(self) -> Step | None:
        now = self._clock()
        if now < self._next_look:
            return None
        if not self._alignment.mayRead(self._watermarks()):
            self._next_look = now + self._alignment.updateInterval / 1000
            return None
        return self._planner.plan()

    def restore(self, snapshot: list[Any] | None, steps: Iterable[Step]) -> None:
        self._planner.restore(snapshot, steps)

    def snapshot(self) -> list[Any]:
        return self._planner.snapshot()

    def position(self) -> dict[str, Any]:
        return self._planner.position()

    def backlog(self) -> SourceBacklog:
        return self._planner.backlog()

    def begin(self, position: Mapping[str, Any]) -> None:
        self._planner.begin(position)

    def tasks(self, step: Step) -> list[Task]:
        return self._planner.tasks(step)

    def clear(self) -> None:
        self._planner.clear()

    def freeze(self) -> None:
        self._planner.freeze()

    def descriptors(self, step: Step, firstPart: int) -> list[list[str]]:
        return self._planner.descriptors(step, firstPart)
