"""``TumblingEventTimeWindows`` and ``TumblingProcessingTimeWindows``: one window after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flinkish.api.arguments import instance, milliseconds
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.java_long import remainder, to_long
from flinkish.api.time import TimeLike
from flinkish.api.windowing.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from flinkish.api.windowing.trigger import Trigger
from flinkish.api.windowing.window_assigner import WindowAssigner, WindowAssignerContext
from flinkish.api.windowing.window_stagger import WindowStagger
from flinkish.api.windowing.windows import TimeWindow, Window, window_start


class TumblingWindows(WindowAssigner[object, TimeWindow]):
    """What the two have in common: windows of one size, side by side."""

    def __init__(
        self,
        size: TimeLike,
        offset: TimeLike = 0,
        windowStagger: WindowStagger = WindowStagger.ALIGNED,
    ) -> None:
        name = type(self).__name__
        size, offset = milliseconds(f"{name}: size", size), milliseconds(f"{name}: offset", offset)
        if abs(offset) >= size:
            raise IllegalArgumentError(
                f"{name}: size is {size} ms and offset {offset} ms, but abs(offset) <"
                " size must hold. Choose a size above 0, and an offset within it."
            )
        self.size = size
        self.offset = offset
        mend = "Pass one, such as WindowStagger.RANDOM."
        self.windowStagger = instance(f"{name}: windowStagger", windowStagger, WindowStagger, mend)
        self.staggerOffset: int | None = None
        """By how much windows are moved here: settled with the first element."""

    def _window_at(self, timestamp: int, context: WindowAssignerContext) -> Sequence[TimeWindow]:
        stagger = self.staggerOffset
        if stagger is None:
            stagger = self.staggerOffset = self.windowStagger.getStaggerOffset(
                context.getCurrentProcessingTime(), self.size
            )
        start = to_long(
            window_start(timestamp, remainder(self.offset + stagger, self.size), self.size)
        )
        return (TimeWindow(start, to_long(start + self.size)),)

    def windowType(self) -> type[Window]:
        return TimeWindow

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size})"


class TumblingEventTimeWindows(TumblingWindows):
    """Windows of one size, one after another, by the timestamps of elements (Flink:
    ``TumblingEventTimeWindows``). Results get the timestamp of the window's last ms.

    >>> from flinkish import Time, TumblingEventTimeWindows
    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(
    ...     lambda numbers: numbers.keyBy(lambda n: n % 2)
    ...     .window(TumblingEventTimeWindows.of(Time.seconds(1)))
    ...     .reduce(lambda a, b: a + b)
    ... )
    >>> for number in range(5):
    ...     harness.processElement(number, number * 100)
    >>> harness.processWatermark(1000)
    >>> harness.getOutput()[:2]
    [StreamRecord(value=6, timestamp=999), StreamRecord(value=4, timestamp=999)]
    """

    @staticmethod
    def of(
        size: TimeLike, offset: TimeLike = 0, windowStagger: WindowStagger = WindowStagger.ALIGNED
    ) -> TumblingEventTimeWindows:
        """Windows of ``size`` that begin at ``offset`` and every ``size`` before and after.

        ``windowStagger`` moves them in each key group (in Flink: in each task) by an amount of its own,
        so that they do not all fire at once.

        Raises IllegalArgumentError unless ``size`` is above 0 and ``abs(offset)`` below it.
        """
        return TumblingEventTimeWindows(size, offset, windowStagger)

    def assignWindows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return self._window_at(timestamp, context)

    def getDefaultTrigger(self) -> Trigger[Any, TimeWindow]:
        return EventTimeTrigger.create()

    def isEventTime(self) -> bool:
        return True


class TumblingProcessingTimeWindows(TumblingWindows):
    """Windows of one size, one after another, by the clock when elements come (Flink:
    ``TumblingProcessingTimeWindows``). On Spark that is the timestamp of the batch.

    >>> from flinkish import TumblingProcessingTimeWindows
    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(
    ...     lambda words: words.keyBy(len).window(TumblingProcessingTimeWindows.of(1_000)).max(0)
    ... )
    >>> harness.processElement(("one", "two"))
    >>> harness.setProcessingTime(1_000)
    >>> harness.getOutput()
    [StreamRecord(value=('one', 'two'), timestamp=999)]
    """

    @staticmethod
    def of(
        size: TimeLike, offset: TimeLike = 0, windowStagger: WindowStagger = WindowStagger.ALIGNED
    ) -> TumblingProcessingTimeWindows:
        """Windows of ``size`` that begin at ``offset`` and every ``size`` before and after.

        ``windowStagger`` moves them in each key group (in Flink: in each task) by an amount of its own,
        so that they do not all fire at once.

        Raises IllegalArgumentError unless ``size`` is above 0 and ``abs(offset)`` below it.
        """
        return TumblingProcessingTimeWindows(size, offset, windowStagger)

    def assignWindows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return self._window_at(context.getCurrentProcessingTime(), context)

    def getDefaultTrigger(self) -> Trigger[Any, TimeWindow]:
        return ProcessingTimeTrigger.create()

    def isEventTime(self) -> bool:
        return False
