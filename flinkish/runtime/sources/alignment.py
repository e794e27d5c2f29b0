"""Alignment of sources: a source waits if its watermark is ahead of the others in its group (Flink:
``SourceCoordinator``).

After each batch the driver notes the watermarks of all aligned sources. They are looked at before a
step is planned. So a source always waits with a whole batch, and a planned step is read. After a
restart the notes are the same as before, and steps already planned are read first: no batch depends
on when they were looked at.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

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


@dataclass
class AlignedReading:
    """Says before each step whether the source may read on, by the driver's ``watermarks``."""

    alignment: SourceAlignment
    watermarks: Callable[[], Watermarks]
    clock: Callable[[], float] = time.monotonic
    _next_look: float = field(default=0.0, init=False)

    def __call__(self) -> bool:
        now = self.clock()
        if now < self._next_look:
            return False
        may = self.alignment.mayRead(self.watermarks())
        if not may:
            self._next_look = now + self.alignment.updateInterval / 1000
        return may
