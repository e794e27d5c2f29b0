"""Windows whose bounds depend on their elements and are known once the watermark passes."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

from flinkish.api.arguments import positive_length
from flinkish.api.time.durations import TimeLike
from flinkish.api.windowing.assigners import InEventTime, WindowAssigner, WindowAssignerContext
from flinkish.api.windowing.windows import TimeWindow


class ContentChange(NamedTuple):
    """The window of a key that is complete at some time, and the elements to keep for later
    ones."""

    window: TimeWindow | None = None
    """The window that is complete at that time, None if there is none."""
    begin: int = 0
    """The index of the first element in the window."""
    end: int = 0
    """The index after the last element in the window."""
    keepFrom: int = 0
    """The index of the first element that a later window may contain; earlier ones are dropped."""
    memory: Any = None
    """Passed to the next call for this key; must be picklable. None keeps nothing."""


class ContentWindows(InEventTime, WindowAssigner[object, TimeWindow]):
    """Event-time windows that cannot be assigned to an element on its arrival, because an earlier
    element may still come and change them. Flink has nothing like it.

    The elements of a key are kept in timestamp order. ``changes`` names the times at which an
    element may begin or end a window. When the watermark reaches such a time, all elements up to it
    are known, and the assigner says which window is complete (``changeAt``). Triggers, evictors and
    allowed lateness do not apply.
    """

    @abstractmethod
    def changes(self, timestamp: int) -> Sequence[int]:
        """The times (ms), at or after ``timestamp``, at which an element of that timestamp may begin
        or end a window."""

    @abstractmethod
    def changeAt(self, time: int, timestamps: Sequence[int], memory: Any) -> ContentChange:
        """Called when the watermark reaches one of the times that ``changes`` returned.

        ``timestamps``: of the kept elements up to ``time``, ascending. ``memory``: what the
        previous call for this key returned, None at first.
        """

    def assignWindows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        """No windows: they are known only once the watermark passes."""
        return ()


class ContentChangeWindows(ContentWindows):
    """Windows over the last ``size`` of time, one for each change of their contents: when an element
    enters, and when one leaves while others stay.

    The window at time ``t`` contains the elements after ``t - size`` up to and including ``t``, and
    its results carry ``t``. Flink has no such windows; Azure Stream Analytics calls them sliding.

    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(
    ...     lambda numbers: numbers.windowAll(ContentChangeWindows.of(10)).reduce(lambda a, b: a + b)
    ... )
    >>> harness.processElement(1, 3)
    >>> harness.processElement(2, 7)
    >>> harness.endInput()
    >>> [(record.value, record.timestamp) for record in harness.getOutput()[:-1]]
    [(1, 3), (3, 7), (2, 13)]
    """

    def __init__(self, size: TimeLike) -> None:
        self.size = positive_length(f"{type(self).__name__}: size", size)

    @staticmethod
    def of(size: TimeLike) -> ContentChangeWindows:
        """Windows of ``size`` (ms if an int). Raises IllegalArgumentError unless it is above 0."""
        return ContentChangeWindows(size)

    def changes(self, timestamp: int) -> Sequence[int]:
        return timestamp, timestamp + self.size

    def changeAt(self, time: int, timestamps: Sequence[int], memory: Any) -> ContentChange:
        begin, end = bisect_right(timestamps, time - self.size), len(timestamps)
        window = TimeWindow(time - self.size + 1, time + 1) if begin < end else None
        return ContentChange(window, begin, end, begin)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size})"
