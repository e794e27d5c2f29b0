"""``CappedSessionWindows``: sessions that end after some time even if elements keep coming."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from flinkish.api.arguments import positive_length
from flinkish.api.time.durations import TimeLike
from flinkish.api.windowing.content_windows import ContentChange, ContentWindows
from flinkish.api.windowing.windows import TimeWindow


class _Cut(NamedTuple):
    """A session that was ended while elements kept coming."""

    at: int
    last: int
    """The timestamp of its last element."""


class CappedSessionWindows(ContentWindows):
    """Sessions with a longest duration (Azure Stream Analytics: ``SessionWindow``).

    A session ends ``gap`` after its last element; one that comes just then begins the next. Whether it
    is too long is checked at every multiple of ``maxDuration``: the first check at which it has
    lasted for ``maxDuration`` ends it, so it may get nearly twice as long. Elements that follow such
    an end within the gap are a session that began there. The results carry the time of the end.

    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(
    ...     lambda numbers: numbers.windowAll(CappedSessionWindows.of(5, 10))
    ...     .apply(lambda window, elements: [list(elements)])
    ... )
    >>> for number in (3, 7, 11, 15, 19, 23):
    ...     harness.processElement(number, number)
    >>> harness.endInput()
    >>> [(record.value, record.timestamp) for record in harness.getOutput()[:-1]]
    [([3, 7, 11, 15, 19], 20), ([23], 28)]
    """

    def __init__(self, gap: TimeLike, maxDuration: TimeLike) -> None:
        name = type(self).__name__
        self.gap = positive_length(f"{name}: gap", gap)
        self.maxDuration = positive_length(f"{name}: maxDuration", maxDuration)

    @staticmethod
    def of(gap: TimeLike, maxDuration: TimeLike) -> CappedSessionWindows:
        """Sessions that end ``gap`` after an element, or when they get too long."""
        return CappedSessionWindows(gap, maxDuration)

    def changes(self, timestamp: int) -> Sequence[int]:
        # its own end, and the checks that may end a session which it begins or goes on with
        return timestamp + self.gap, self._check_after(timestamp), self._cap(timestamp)

    def changeAt(self, time: int, timestamps: Sequence[int], memory: _Cut | None) -> ContentChange:
        if memory is not None and not timestamps:
            return ContentChange(memory=memory if time < memory.last + self.gap else None)
        begin = start = timestamps[0]
        cap = self._cap(begin)
        if memory is not None and begin < memory.last + self.gap:
            start, cap = memory.at, self._check_after(begin)
        count = self._count(timestamps, cap)
        last = timestamps[count - 1]
        end = min(last + self.gap, cap)
        if end > time:
            return ContentChange(memory=memory)
        cut = _Cut(end, last) if end < last + self.gap else None
        return ContentChange(TimeWindow(start, end + 1), 0, count, count, cut)

    def _count(self, timestamps: Sequence[int], cap: int) -> int:
        """The number of elements in the session of the first."""
        before_cap = bisect_left(timestamps, cap)
        for i in range(1, before_cap):
            if timestamps[i] >= timestamps[i - 1] + self.gap:
                return i
        return before_cap

    def _cap(self, start: int) -> int:
        """The first check at which a session that begins at ``start`` is too long."""
        return -(-(start + self.maxDuration) // self.maxDuration) * self.maxDuration

    def _check_after(self, time: int) -> int:
        return (time // self.maxDuration + 1) * self.maxDuration

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.gap}, {self.maxDuration})"
