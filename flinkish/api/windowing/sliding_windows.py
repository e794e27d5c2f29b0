"""``SlidingEventTimeWindows`` and ``SlidingProcessingTimeWindows``: windows that overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flinkish.api.arguments import milliseconds
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.java_long import to_long
from flinkish.api.time import TimeLike
from flinkish.api.windowing.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from flinkish.api.windowing.trigger import Trigger
from flinkish.api.windowing.window_assigner import WindowAssigner, WindowAssignerContext
from flinkish.api.windowing.windows import TimeWindow, Window, window_start


class SlidingWindows(WindowAssigner[object, TimeWindow]):
    """What the two have in common: windows of one size that begin at even distances.

    With a slide greater than the size there are gaps, and elements in them go nowhere.
    """

    def __init__(self, size: TimeLike, slide: TimeLike, offset: TimeLike = 0) -> None:
        name = type(self).__name__
        size, slide = milliseconds(f"{name}: size", size), milliseconds(f"{name}: slide", slide)
        offset = milliseconds(f"{name}: offset", offset)
        if abs(offset) >= slide or size <= 0:
            raise IllegalArgumentError(
                f"{name}: size is {size} ms, slide {slide} ms and offset {offset} ms,"
                " but abs(offset) < slide and size > 0 must hold. Choose a size and a slide above"
                " 0, and an offset within the slide."
            )
        self.size = size
        self.slide = slide
        self.offset = offset

    def getSize(self) -> int:
        """The length of a window in ms."""
        return self.size

    def getSlide(self) -> int:
        """The distance between the beginnings of windows in ms."""
        return self.slide

    def _windows_at(self, timestamp: int) -> Sequence[TimeWindow]:
        last = window_start(timestamp, self.offset, self.slide)
        size = self.size
        return [
            TimeWindow(to_long(start), to_long(start + size))
            for start in range(last, timestamp - size, -self.slide)
        ]

    def windowType(self) -> type[Window]:
        return TimeWindow

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.slide})"


class SlidingEventTimeWindows(SlidingWindows):
    """Windows of one size, a new one every slide, by the timestamps of elements (Flink:
    ``SlidingEventTimeWindows``). Results get the timestamp of the window's last ms.

    >>> from flinkish import SlidingEventTimeWindows
    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(
    ...     lambda clicks: clicks.keyBy(0).window(SlidingEventTimeWindows.of(1_000, 500)).sum(1)
    ... )
    >>> harness.processElement(("ada", 1), 700)
    >>> harness.processWatermark(2_000)
    >>> harness.getOutput()[:2]
    [StreamRecord(value=('ada', 1), timestamp=999), StreamRecord(value=('ada', 1), timestamp=1499)]
    """

    @staticmethod
    def of(size: TimeLike, slide: TimeLike, offset: TimeLike = 0) -> SlidingEventTimeWindows:
        """Windows of ``size`` that begin at ``offset`` and every ``slide`` before and after.

        Raises IllegalArgumentError unless ``size`` and ``slide`` are above 0 and ``abs(offset)`` is
        below ``slide``.
        """
        return SlidingEventTimeWindows(size, slide, offset)

    def assignWindows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return self._windows_at(timestamp)

    def getDefaultTrigger(self) -> Trigger[Any, TimeWindow]:
        return EventTimeTrigger.create()

    def isEventTime(self) -> bool:
        return True


class SlidingProcessingTimeWindows(SlidingWindows):
    """Windows of one size, a new one every slide, by the clock when elements come (Flink:
    ``SlidingProcessingTimeWindows``). On Spark that is the timestamp of the batch.

    >>> from flinkish import Duration, SlidingProcessingTimeWindows
    >>> windows = SlidingProcessingTimeWindows.of(Duration.ofMinutes(5), Duration.ofMinutes(1))
    """

    @staticmethod
    def of(size: TimeLike, slide: TimeLike, offset: TimeLike = 0) -> SlidingProcessingTimeWindows:
        """Windows of ``size`` that begin at ``offset`` and every ``slide`` before and after.

        Raises IllegalArgumentError unless ``size`` and ``slide`` are above 0 and ``abs(offset)`` is
        below ``slide``.
        """
        return SlidingProcessingTimeWindows(size, slide, offset)

    def assignWindows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return self._windows_at(context.getCurrentProcessingTime())

    def getDefaultTrigger(self) -> Trigger[Any, TimeWindow]:
        return ProcessingTimeTrigger.create()

    def isEventTime(self) -> bool:
        return False
