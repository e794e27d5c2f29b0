"""Which windows the elements of a run fall into, all at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flinkish.api.windowing.tumbling_windows import TumblingEventTimeWindows
from flinkish.api.windowing.windows import TimeWindow
from flinkish.runtime.elements import Timestamps

Positions = NDArray[np.intp]


class AlignedWindows:
    """Windows of ``size`` that begin at ``offset`` and every ``slide`` before and after it.

    Tumbling windows are those whose slide is their size.
    """

    __slots__ = ("offset", "size", "slide")

    def __init__(self, size: int, slide: int, offset: int) -> None:
        self.size = size
        self.slide = slide
        self.offset = offset

    @classmethod
    def of(cls, assigner: Any) -> AlignedWindows:
        """The windows of ``assigner``, a TumblingEventTimeWindows or SlidingEventTimeWindows."""
        if isinstance(assigner, TumblingEventTimeWindows):
            return cls(assigner.size, assigner.size, assigner.offset)
        return cls(assigner.size, assigner.slide, assigner.offset)

    @property
    def overlap(self) -> bool:
        """Whether an element may be in several windows."""
        return self.slide < self.size

    def lastStarts(self, timestamps: Timestamps) -> Timestamps:
        """For each timestamp where the last of its windows begins, were they long enough."""
        return timestamps - np.mod(timestamps - self.offset, self.slide)

    def firstEnds(self, timestamps: Timestamps) -> Timestamps:
        """For each timestamp where the first of its windows ends, were they long enough."""
        return timestamps - np.mod(timestamps - self.offset - self.size, self.slide) + self.slide

    def gaps(self, timestamps: Timestamps) -> NDArray[np.bool_] | None:
        """Which of the timestamps are in no window; None if there are no gaps between windows."""
        if self.slide <= self.size:
            return None
        return timestamps - self.lastStarts(timestamps) >= self.size

    def split(self, timestamps: Timestamps) -> Iterator[tuple[TimeWindow, Positions | None]]:
        """Every window that one of ``timestamps`` falls into, the latest first, with the positions
        of those that do, in order; None stands for all of them."""
        size = self.size
        if len(timestamps) == 0:
            return
        lowest, highest = int(timestamps.min()), int(timestamps.max())
        starts = self._starts(timestamps)
        if len(starts) == 1 and starts[0] <= lowest and highest < starts[0] + size:
            yield TimeWindow(starts[0], starts[0] + size), None
            return
        order = np.argsort(timestamps, kind="stable")
        ordered = timestamps[order]
        begins = np.searchsorted(ordered, np.array(starts, dtype=np.int64))
        ends = np.searchsorted(ordered, np.array(starts, dtype=np.int64) + size)
        for start, begin, end in zip(starts, begins.tolist(), ends.tolist()):
            if begin == 0 and end == len(order):
                yield TimeWindow(start, start + size), None
            elif begin < end:
                yield TimeWindow(start, start + size), np.sort(order[begin:end])

    def _starts(self, timestamps: Timestamps) -> list[int]:
        last = np.unique(self.lastStarts(timestamps))
        overlaps = -(-self.size // self.slide)
        if overlaps > 1:
            steps = np.arange(overlaps, dtype=np.int64) * self.slide
            last = np.unique(last[:, np.newaxis] - steps)
        starts: list[int] = last[::-1].tolist()
        return starts
