"""``WindowAssigner``: says which windows an element belongs to.

========================  =================================================  ======================
windows                   bounds                                             windows per element
========================  =================================================  ======================
tumbling                  of one size, side by side                          1
sliding                   of one size, a new one every slide                 size / slide
session                   from the first element to a gap without elements   1, which grows and merges
global                    none: fires only by a user-defined trigger          1
========================  =================================================  ======================

Time windows come in two forms. *Event-time* windows go by the timestamps of elements and end with
the watermark, so results do not depend on when elements arrive. *Processing-time* windows go by the
clock at the moment an element is processed.

A window ``[start, end)`` includes its start and excludes its end; ``maxTimestamp()``, which is
``end - 1`` ms, is the timestamp of its results. Tumbling and sliding windows are aligned with the
epoch, 1970-01-01 00:00 UTC, whatever the first element: windows of a day at UTC+8 need an offset of
-8 hours.
"""

from __future__ import annotations

import enum
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Generic, Self, Union

from flinkish.api.arguments import instance, milliseconds, positive_length
from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.api.functions.adapt import checked_callable
from flinkish.api.functions.functions import Function, declares_methods
from flinkish.api.short_lengths import length_of_user
from flinkish.api.time.durations import TimeLike, remainder, to_long
from flinkish.api.type_variables import T, T_contra, X
from flinkish.api.windowing.triggers import (
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    Trigger,
)
from flinkish.api.windowing.windows import GlobalWindow, TimeWindow, W, Window, window_start


class WindowAssignerContext(ABC):
    """The clock for an assigner (Flink: ``WindowAssigner.WindowAssignerContext``)."""

    __slots__ = ()

    @abstractmethod
    def getCurrentProcessingTime(self) -> int:
        """The processing-time clock, in ms; on Spark the timestamp of the batch."""


class WindowAssigner(ABC, Generic[T_contra, W]):
    """Assigns each element to zero or more windows (Flink: ``WindowAssigner``).

    >>> from flinkish import EventTimeTrigger, TimeWindow
    >>> class UntilNextFullSecond(WindowAssigner[object, TimeWindow]):
    ...     def assignWindows(self, element, timestamp, context):
    ...         return [TimeWindow(timestamp, (timestamp // 1000 + 1) * 1000)]
    ...     def getDefaultTrigger(self):
    ...         return EventTimeTrigger.create()
    ...     def isEventTime(self):
    ...         return True
    """

    @abstractmethod
    def assignWindows(
        self, element: T_contra, timestamp: int, context: WindowAssignerContext
    ) -> Collection[W]:
        """The windows of ``element``; none if it belongs to no window.

        ``timestamp`` is in ms, ``MIN_TIMESTAMP`` if the element has none, as in Flink.
        """

    @abstractmethod
    def getDefaultTrigger(self) -> Trigger[Any, W]:
        """The trigger to use unless the user sets another."""

    @abstractmethod
    def isEventTime(self) -> bool:
        """True if windows end by the watermark, False if by the clock."""

    def windowType(self) -> type[Window] | None:
        """The class of the assigner's windows, None if unknown. If known, a trigger that does not
        support them is refused when the job is built."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class MergeCallback(ABC, Generic[W]):
    """Receives the merges that ``mergeWindows`` finds (Flink:
    ``MergingWindowAssigner.MergeCallback``)."""

    __slots__ = ()

    @abstractmethod
    def merge(self, toBeMerged: Iterable[W], mergeResult: W) -> None:
        """Replace the windows ``toBeMerged`` by ``mergeResult``."""


class MergingWindowAssigner(WindowAssigner[T_contra, W]):
    """An assigner whose windows may merge, as sessions do (Flink: ``MergingWindowAssigner``).

    Each element first gets a separate window; the operator then merges it with the open windows of
    the key (``MergingWindowSet``).
    """

    @abstractmethod
    def mergeWindows(self, windows: Sequence[W], callback: MergeCallback[W]) -> None:
        """Called for each new window with all open windows of the key, the new one among them. Call
        ``callback.merge`` for every group of windows that must become one."""


class WindowStagger(enum.Enum):
    """How tumbling windows are shifted, so that not all of them fire at the same time (Flink:
    ``WindowStagger``)."""

    ALIGNED = "ALIGNED"
    """No shift: all windows of a size start and end together."""
    RANDOM = "RANDOM"
    """A random shift, less than the size."""
    NATURAL = "NATURAL"
    """Windows start at the clock time of the first element."""

    def getStaggerOffset(self, currentProcessingTime: int, size: int) -> int:
        """The shift in ms of windows of ``size`` ms, for a first element at
        ``currentProcessingTime``."""
        if self is WindowStagger.RANDOM:
            return int(random.random() * size)
        if self is WindowStagger.NATURAL:
            start = window_start(currentProcessingTime, 0, size)
            return max(0, currentProcessingTime - start)
        return 0


class InEventTime:
    """Mixin of the assigners of windows that end with the watermark."""

    def getDefaultTrigger(self) -> Trigger[Any, TimeWindow]:
        return EventTimeTrigger.create()

    def isEventTime(self) -> bool:
        return True

    def windowType(self) -> type[Window]:
        return TimeWindow


class InProcessingTime:
    """Mixin of the assigners of windows that end by the clock."""

    def getDefaultTrigger(self) -> Trigger[Any, TimeWindow]:
        return ProcessingTimeTrigger.create()

    def isEventTime(self) -> bool:
        return False

    def windowType(self) -> type[Window]:
        return TimeWindow


class TumblingWindows(WindowAssigner[object, TimeWindow]):
    """The base of tumbling windows in event time and in processing time."""

    def __init__(
        self,
        size: TimeLike,
        offset: TimeLike = 0,
        windowStagger: WindowStagger = WindowStagger.ALIGNED,
    ) -> None:
        name = type(self).__name__
        size, offset = (
            length_of_user(f"{name}: size", size),
            milliseconds(f"{name}: offset", offset),
        )
        if abs(offset) >= size:
            raise IllegalArgumentError(
                f"{name}: size is {size} ms and offset {offset} ms, but abs(offset) <"
                " size must hold. Choose a size above 0, and an offset within it."
            )
        self.size = size
        self.offset = offset
        fix = "Pass one, such as WindowStagger.RANDOM."
        self.windowStagger = instance(f"{name}: windowStagger", windowStagger, WindowStagger, fix)
        self.staggerOffset: int | None = None
        """The shift in ms; set with the first element, None before."""

    @classmethod
    def of(
        cls,
        size: TimeLike,
        offset: TimeLike = 0,
        windowStagger: WindowStagger = WindowStagger.ALIGNED,
    ) -> Self:
        """Windows of ``size`` that start at ``offset`` and every ``size`` before and after.

        Lengths are in ms if they are ints. ``windowStagger`` shifts the windows of each key group (in
        Flink: of each task) by a different amount, so that they do not all fire at once.

        Raises IllegalArgumentError unless ``size`` is above 0 and ``abs(offset)`` below it.
        """
        return cls(size, offset, windowStagger)

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

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size})"


class TumblingEventTimeWindows(InEventTime, TumblingWindows):
    """Windows of one size, side by side, by the timestamps of elements (Flink:
    ``TumblingEventTimeWindows``). Results carry the last ms of their window as timestamp.

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

    def assignWindows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return self._window_at(timestamp, context)


class TumblingProcessingTimeWindows(InProcessingTime, TumblingWindows):
    """Windows of one size, side by side, by the clock (Flink: ``TumblingProcessingTimeWindows``).

    On Spark the clock is the timestamp of the batch, so all elements of a batch are in the same
    window. Results carry the last ms of their window as timestamp.

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

    def assignWindows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return self._window_at(context.getCurrentProcessingTime(), context)


class SlidingWindows(WindowAssigner[object, TimeWindow]):
    """The base of sliding windows in event time and in processing time.

    If the slide is greater than the size, there are gaps between windows. An element in a gap
    belongs to no window; it is dropped, but does not count as late.
    """

    def __init__(self, size: TimeLike, slide: TimeLike, offset: TimeLike = 0) -> None:
        name = type(self).__name__
        size, slide = length_of_user(f"{name}: size", size), length_of_user(f"{name}: slide", slide)
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

    @classmethod
    def of(cls, size: TimeLike, slide: TimeLike, offset: TimeLike = 0) -> Self:
        """Windows of ``size`` that start at ``offset`` and every ``slide`` before and after.

        Raises IllegalArgumentError unless ``size`` and ``slide`` are above 0 and ``abs(offset)`` is
        below ``slide``.
        """
        return cls(size, slide, offset)

    def getSize(self) -> int:
        """The length of a window in ms."""
        return self.size

    def getSlide(self) -> int:
        """The distance between the starts of two windows in ms."""
        return self.slide

    def _windows_at(self, timestamp: int) -> Sequence[TimeWindow]:
        last = window_start(timestamp, self.offset, self.slide)
        size = self.size
        return [
            TimeWindow(to_long(start), to_long(start + size))
            for start in range(last, timestamp - size, -self.slide)
        ]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.slide})"


class SlidingEventTimeWindows(InEventTime, SlidingWindows):
    """Windows of one size, a new one every slide, by the timestamps of elements (Flink:
    ``SlidingEventTimeWindows``). Results carry the last ms of their window as timestamp.

    >>> from flinkish import SlidingEventTimeWindows, Time
    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(
    ...     lambda clicks: clicks.keyBy(0)
    ...     .window(SlidingEventTimeWindows.of(Time.seconds(1), Time.milliseconds(500))).sum(1)
    ... )
    >>> harness.processElement(("ada", 1), 700)
    >>> harness.processWatermark(2_000)
    >>> harness.getOutput()[:2]
    [StreamRecord(value=('ada', 1), timestamp=999), StreamRecord(value=('ada', 1), timestamp=1499)]
    """

    def assignWindows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return self._windows_at(timestamp)


class SlidingProcessingTimeWindows(InProcessingTime, SlidingWindows):
    """Windows of one size, a new one every slide, by the clock (Flink:
    ``SlidingProcessingTimeWindows``). On Spark the clock is the timestamp of the batch.

    >>> from flinkish import Duration, SlidingProcessingTimeWindows
    >>> windows = SlidingProcessingTimeWindows.of(Duration.ofMinutes(5), Duration.ofMinutes(1))
    """

    def assignWindows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return self._windows_at(context.getCurrentProcessingTime())


@declares_methods
class SessionWindowTimeGapExtractor(Function, ABC, Generic[T_contra]):
    """Reads the session gap from an element (Flink: ``SessionWindowTimeGapExtractor``)."""

    @abstractmethod
    def extract(self, element: T_contra) -> TimeLike:
        """The gap after ``element`` (ms if an int), greater than 0."""


GapLike = Union[SessionWindowTimeGapExtractor[T], Callable[[T], TimeLike]]


class SessionWindows(MergingWindowAssigner[T_contra, TimeWindow]):
    """The base of session windows.

    Each element makes a window from its time to that time plus the gap, and windows of a key that
    overlap or touch merge. With a gap of 10 ms, elements at 0 and 10 are in one session [0, 20); an
    element at 21 begins another.
    """

    def mergeWindows(
        self, windows: Sequence[TimeWindow], callback: MergeCallback[TimeWindow]
    ) -> None:
        TimeWindow.mergeWindows(windows, callback)


class _FixedGap(SessionWindows[object]):
    """The same gap after every element."""

    def __init__(self, sessionTimeout: TimeLike) -> None:
        gap = f"{type(self).__name__}: gap"
        self.sessionTimeout = positive_length(gap, length_of_user(gap, sessionTimeout))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.sessionTimeout})"


class _DynamicGap(SessionWindows[T], Generic[T]):
    """A gap read from each element."""

    def __init__(self, sessionWindowTimeGapExtractor: GapLike[T]) -> None:
        extractor = sessionWindowTimeGapExtractor
        if isinstance(extractor, SessionWindowTimeGapExtractor):
            self._gap: Callable[[T], TimeLike] = extractor.extract
        else:
            wanted = "a SessionWindowTimeGapExtractor or f(element)"
            self._gap = checked_callable("withDynamicGap", extractor, wanted, 1)

    def _window_from(self, element: T, begin: int) -> Sequence[TimeWindow]:
        gap = self._gap(element)
        if type(gap) is not int:
            gap = milliseconds(
                f"{type(self).__name__}: the gap of the element {shown(element)}", gap
            )
        if gap <= 0:
            raise IllegalArgumentError(
                f"{type(self).__name__}: the gap of the element {shown(element)} is {gap} ms, but must be"
                " greater than 0. Let the gap extractor return at least 1."
            )
        return (TimeWindow(begin, to_long(begin + gap)),)


class EventTimeSessionWindows(InEventTime, _FixedGap):
    """Sessions by the timestamps of elements (Flink: ``EventTimeSessionWindows``).

    A session fires when the watermark passes its end, which is the gap after its last element.

    >>> from flinkish import Duration, EventTimeSessionWindows
    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(
    ...     lambda clicks: clicks.keyBy(0)
    ...     .window(EventTimeSessionWindows.withGap(Duration.ofSeconds(10)))
    ...     .sum(1)
    ... )
    >>> for at in (0, 8_000, 30_000):
    ...     harness.processElement(("ada", 1), at)
    >>> harness.processWatermark(20_000)
    >>> harness.getOutput()[0]
    StreamRecord(value=('ada', 2), timestamp=17999)
    """

    @staticmethod
    def withGap(size: TimeLike) -> EventTimeSessionWindows:
        """Sessions that end when no element has come for ``size`` (ms if an int).

        Raises IllegalArgumentError unless ``size`` is above 0.
        """
        return EventTimeSessionWindows(size)

    @staticmethod
    def withDynamicGap(
        sessionWindowTimeGapExtractor: GapLike[X],
    ) -> DynamicEventTimeSessionWindows[X]:
        """Sessions whose gap is read from each element, by a SessionWindowTimeGapExtractor or
        ``f(element)``."""
        return DynamicEventTimeSessionWindows(sessionWindowTimeGapExtractor)

    def assignWindows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return (TimeWindow(timestamp, to_long(timestamp + self.sessionTimeout)),)


class ProcessingTimeSessionWindows(InProcessingTime, _FixedGap):
    """Sessions by the clock (Flink: ``ProcessingTimeSessionWindows``); on Spark that is the timestamp
    of the batch."""

    @staticmethod
    def withGap(size: TimeLike) -> ProcessingTimeSessionWindows:
        """Sessions that end when no element has come for ``size`` (ms if an int).

        Raises IllegalArgumentError unless ``size`` is above 0.
        """
        return ProcessingTimeSessionWindows(size)

    @staticmethod
    def withDynamicGap(
        sessionWindowTimeGapExtractor: GapLike[X],
    ) -> DynamicProcessingTimeSessionWindows[X]:
        """Sessions whose gap is read from each element, by a SessionWindowTimeGapExtractor or
        ``f(element)``."""
        return DynamicProcessingTimeSessionWindows(sessionWindowTimeGapExtractor)

    def assignWindows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        now = context.getCurrentProcessingTime()
        return (TimeWindow(now, to_long(now + self.sessionTimeout)),)


class DynamicEventTimeSessionWindows(InEventTime, _DynamicGap[T], Generic[T]):
    """Sessions by timestamps, whose gap is read from each element (Flink:
    ``DynamicEventTimeSessionWindows``)."""

    @staticmethod
    def withDynamicGap(
        sessionWindowTimeGapExtractor: GapLike[X],
    ) -> DynamicEventTimeSessionWindows[X]:
        """Sessions whose gap is read from each element, by a SessionWindowTimeGapExtractor or
        ``f(element)``."""
        return DynamicEventTimeSessionWindows(sessionWindowTimeGapExtractor)

    def assignWindows(
        self, element: T, timestamp: int, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return self._window_from(element, timestamp)


class DynamicProcessingTimeSessionWindows(InProcessingTime, _DynamicGap[T], Generic[T]):
    """Sessions by the clock, whose gap is read from each element (Flink:
    ``DynamicProcessingTimeSessionWindows``)."""

    @staticmethod
    def withDynamicGap(
        sessionWindowTimeGapExtractor: GapLike[X],
    ) -> DynamicProcessingTimeSessionWindows[X]:
        """Sessions whose gap is read from each element, by a SessionWindowTimeGapExtractor or
        ``f(element)``."""
        return DynamicProcessingTimeSessionWindows(sessionWindowTimeGapExtractor)

    def assignWindows(
        self, element: T, timestamp: int, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return self._window_from(element, context.getCurrentProcessingTime())


class GlobalWindows(WindowAssigner[object, GlobalWindow]):
    """Assigns all elements of a key to one window that never ends (Flink: ``GlobalWindows``).

    By default it never fires: set a trigger, such as ``CountTrigger``, or use
    ``createWithEndOfStreamTrigger()``.
    """

    def __init__(self, defaultTrigger: Trigger[Any, GlobalWindow] | None = None) -> None:
        fix = "Pass one, or call GlobalWindows.create() for one that never fires."
        trigger = NeverTrigger() if defaultTrigger is None else defaultTrigger
        self._default_trigger = instance("GlobalWindows", trigger, Trigger, fix)

    @staticmethod
    def create() -> GlobalWindows:
        """The assigner whose default trigger never fires."""
        return GlobalWindows()

    @staticmethod
    def createWithEndOfStreamTrigger() -> GlobalWindows:
        """The assigner whose default trigger fires at the end of the input."""
        return GlobalWindows(EndOfStreamTrigger())

    def assignWindows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> Sequence[GlobalWindow]:
        return (GlobalWindow.get(),)

    def getDefaultTrigger(self) -> Trigger[Any, GlobalWindow]:
        return self._default_trigger

    def isEventTime(self) -> bool:
        return False

    def windowType(self) -> type[Window]:
        return GlobalWindow
