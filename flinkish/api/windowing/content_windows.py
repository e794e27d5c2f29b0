"""Windows that follow from what is in them: what elements there are says where they begin and end."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

from flinkish.api.arguments import positive_length
from flinkish.api.time.durations import TimeLike
from flinkish.api.windowing.assigners import WindowAssigner, WindowAssignerContext
from flinkish.api.windowing.triggers import EventTimeTrigger, Trigger
from flinkish.api.windowing.windows import TimeWindow, Window


class ContentChange(NamedTuple):
    """What has become of a key's elements at a time."""

    window: TimeWindow | None = None
    """The window that is complete, None if there is none."""
    begin: int = 0
    """The first of the elements in it."""
    end: int = 0
    """The element after its last."""
    keepFrom: int = 0
    """The first element that a later window may still have."""
    memory: Any = None
    """What the assigner wants to know of this key next time; picklable."""


class ContentWindows(WindowAssigner[object, TimeWindow]):
    """Event-time windows that no element can be put into as it comes.

    A key's elements are kept in the order of their timestamps. When the watermark has passed a time
    that an element named (``changes``), the assigner sees all of them up to that time and says which
    window is complete (``changeAt``). Triggers, evictors and allowed lateness have no say.
    """

    @abstractmethod
    def changes(self, timestamp: int) -> Sequence[int]:
        """The times, at or after ``timestamp``, at which an element of that timestamp may begin or
        end a window."""

    @abstractmethod
    def changeAt(self, time: int, timestamps: Sequence[int], memory: Any) -> ContentChange:
        """Called at each of those times with the timestamps, in order, of the elements kept up to
        ``time``, and with the memory of the last call of this key, None at first."""

    def assignWindows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        """None: nobody knows before the watermark has passed."""
        return ()

    def getDefaultTrigger(self) -> Trigger[Any, TimeWindow]:
        return EventTimeTrigger.create()

    def isEventTime(self) -> bool:
        return True

    def windowType(self) -> type[Window]:
        return TimeWindow


class ContentChangeWindows(ContentWindows):
    """The last ``size`` of time, each time that what is in it changes: when an element enters, and
    when one leaves and others stay.

    The window at time ``t`` has the elements after ``t - size`` up to ``t``; its results carry ``t``.
    Flink has no such windows, Azure Stream Analytics calls them sliding.

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
        """Windows of ``size``."""
        return ContentChangeWindows(size)

    def changes(self, timestamp: int) -> Sequence[int]:
        return timestamp, timestamp + self.size

    def changeAt(self, time: int, timestamps: Sequence[int], memory: Any) -> ContentChange:
        begin, end = bisect_right(timestamps, time - self.size), len(timestamps)
        window = TimeWindow(time - self.size + 1, time + 1) if begin < end else None
        return ContentChange(window, begin, end, begin)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size})"
