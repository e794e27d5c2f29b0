"""Alignment of sources: a source waits if its watermark is ahead of the others in its group (Flink:
``SourceCoordinator``).

After each batch the driver notes the watermarks of all aligned sources. A planner looks at the
notes before it plans a step. So a source always waits with a whole batch, and a planned step is
read. After a restart the notes are the same as before, and steps already planned are read first: no
batch depends on when a planner looked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flinkish.api.execution.read_progress import SourceBacklog
from flinkish.runtime.sources.planners import SourcePlanner, Step, Task

Watermarks = Mapping[str, int | None]
"""The watermark of each aligned source by its uid. It is None before the first, and the highest
possible at the source's end and while it is idle."""


@dataclass(frozen=True)
class SourceAlignment:
    """The group a source is aligned with. ``members`` are its uids, the source's included."""

    uid: str
    members: tuple[str, ...]
    maxDrift: int
    updateInterval: int

    def mayRead(self, watermarks: Watermarks) -> bool:
        """Whether the source may read on: if it has no watermark yet, or is at most ``maxDrift``
        ahead of the lowest member. A member without a watermark holds the others back."""
        own = watermarks.get(self.uid)
        if own is None:
            return True
        others = [watermarks.get(member) for member in self.members]
        known = [watermark for watermark in others if watermark is not None]
        return len(known) == len(others) and own <= min(known) + self.maxDrift


class AlignedPlanner(SourcePlanner):
    """Plans ``planner``'s steps when the source may read on, by the driver's ``watermarks``."""

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
