"""``WindowAssigner``: says which windows an element goes into."""

from __future__ import annotations

import enum
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Generic, TypeVar, Union

from flinkish.api.arguments import instance, milliseconds, positive_length
from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.api.functions.adapt import checked_callable
from flinkish.api.functions.functions import Function, declares_methods
from flinkish.api.time.durations import TimeLike, remainder, to_long
from flinkish.api.windowing.triggers import (
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    Trigger,
)
from flinkish.api.windowing.windows import GlobalWindow, TimeWindow, Window, window_start

T_contra = TypeVar("T_contra", contravariant=True)
W = TypeVar("W", bound=Window)
T = TypeVar("T")
X = TypeVar("X")


class WindowAssignerContext(ABC):
    """What an assigner may ask for (Flink: ``WindowAssigner.WindowAssignerContext``)."""

    __slots__ = ()

    @abstractmethod
    def getCurrentProcessingTime(self) -> int:
        """The clock, in ms."""


class WindowAssigner(ABC, Generic[T_contra, W]):
    """Says which windows an element goes into (Flink: ``WindowAssigner``)."""

    @abstractmethod
    def assignWindows(
        self, element: T_contra, timestamp: int, context: WindowAssignerContext
    ) -> Collection[W]:
        """The windows of ``element``.

        ``timestamp`` is ``MIN_TIMESTAMP`` if the element has none, as in Flink.
        """

    @abstractmethod
    def getDefaultTrigger(self) -> Trigger[Any, W]:
        """The trigger where the user sets none."""

    @abstractmethod
    def isEventTime(self) -> bool:
        """Whether windows end with the watermark (or else with the clock)."""

    def windowType(self) -> type[Window] | None:
        """What windows the assigner makes, or None if it does not say; where it does, a trigger
        that cannot work on them is refused when the job is put together."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class MergeCallback(ABC, Generic[W]):
    """Takes what ``mergeWindows`` found (Flink: ``MergingWindowAssigner.MergeCallback``)."""

    __slots__ = ()

    @abstractmethod
    def merge(self, toBeMerged: Iterable[W], mergeResult: W) -> None:
        """The windows ``toBeMerged`` are to become ``mergeResult``."""


class MergingWindowAssigner(WindowAssigner[T_contra, W]):
    """An assigner whose windows may merge, as sessions do (Flink: ``MergingWindowAssigner``)."""

    @abstractmethod
    def mergeWindows(self, windows: Sequence[W], callback: MergeCallback[W]) -> None:
        """Called with all windows of a key when a new one comes: call ``callback.merge`` for every
        group that is to be one window."""


class WindowStagger(enum.Enum):
    """By how much the windows of a task are moved (Flink: ``WindowStagger``)."""

    ALIGNED = "ALIGNED"
    """Not at all."""
    RANDOM = "RANDOM"
    """By a random part of their size."""
    NATURAL = "NATURAL"
    """So that they begin when the first element came."""

    def getStaggerOffset(self, currentProcessingTime: int, size: int) -> int:
        """By how many ms windows of ``size`` are moved that are first needed now."""
        if self is WindowStagger.RANDOM:
            return int(random.random() * size)
        if self is WindowStagger.NATURAL:
            start = window_start(currentProcessingTime, 0, size)
            return max(0, currentProcessingTime - start)
        return 0


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


@declares_methods
class SessionWindowTimeGapExtractor(Function, ABC, Generic[T_contra]):
    """Reads the gap of a session from an element (Flink: the same name)."""

    @abstractmethod
    def extract(self, element: T_contra) -> TimeLike:
        """The gap after ``element`` in ms, greater than 0."""


GapLike = Union[SessionWindowTimeGapExtractor[T], Callable[[T], TimeLike]]


class SessionWindows(MergingWindowAssigner[T_contra, TimeWindow]):
    """What all sessions have in common: windows that overlap or touch become one."""

    def mergeWindows(
        self, windows: Sequence[TimeWindow], callback: MergeCallback[TimeWindow]
    ) -> None:
        TimeWindow.mergeWindows(windows, callback)

    def windowType(self) -> type[Window]:
        return TimeWindow


class _FixedGap(SessionWindows[object]):
    """The same gap after every element."""

    def __init__(self, sessionTimeout: TimeLike) -> None:
        self.sessionTimeout = positive_length(f"{type(self).__name__}: gap", sessionTimeout)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.sessionTimeout})"


class _DynamicGap(SessionWindows[T], Generic[T]):
    """A gap that each element brings along."""

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
                f"{type(self).__name__}: the gap of the element {shown(element)} is {gap} ms, but 0 <"
                " gap must hold. Let the gap extractor give at least 1."
            )
        return (TimeWindow(begin, to_long(begin + gap)),)


class EventTimeSessionWindows(_FixedGap):
    """Sessions by the timestamps of elements (Flink: ``EventTimeSessionWindows``)."""

    @staticmethod
    def withGap(size: TimeLike) -> EventTimeSessionWindows:
        """Sessions that end when no element has come for ``size``."""
        return EventTimeSessionWindows(size)

    @staticmethod
    def withDynamicGap(
        sessionWindowTimeGapExtractor: GapLike[X],
    ) -> DynamicEventTimeSessionWindows[X]:
        """Sessions whose gap is read from each element."""
        return DynamicEventTimeSessionWindows(sessionWindowTimeGapExtractor)

    def assignWindows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return (TimeWindow(timestamp, to_long(timestamp + self.sessionTimeout)),)

    def getDefaultTrigger(self) -> Trigger[Any, TimeWindow]:
        return EventTimeTrigger.create()

    def isEventTime(self) -> bool:
        return True


class ProcessingTimeSessionWindows(_FixedGap):
    """Sessions by the clock when elements come (Flink: ``ProcessingTimeSessionWindows``)."""

    @staticmethod
    def withGap(size: TimeLike) -> ProcessingTimeSessionWindows:
        """Sessions that end when no element has come for ``size``."""
        return ProcessingTimeSessionWindows(size)

    @staticmethod
    def withDynamicGap(
        sessionWindowTimeGapExtractor: GapLike[X],
    ) -> DynamicProcessingTimeSessionWindows[X]:
        """Sessions whose gap is read from each element."""
        return DynamicProcessingTimeSessionWindows(sessionWindowTimeGapExtractor)

    def assignWindows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        now = context.getCurrentProcessingTime()
        return (TimeWindow(now, to_long(now + self.sessionTimeout)),)

    def getDefaultTrigger(self) -> Trigger[Any, TimeWindow]:
        return ProcessingTimeTrigger.create()

    def isEventTime(self) -> bool:
        return False


class DynamicEventTimeSessionWindows(_DynamicGap[T], Generic[T]):
    """Sessions by timestamps, each element with a gap of its own (Flink: the same name)."""

    @staticmethod
    def withDynamicGap(
        sessionWindowTimeGapExtractor: GapLike[X],
    ) -> DynamicEventTimeSessionWindows[X]:
        """Sessions whose gap is read from each element."""
        return DynamicEventTimeSessionWindows(sessionWindowTimeGapExtractor)

    def assignWindows(
        self, element: T, timestamp: int, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return self._window_from(element, timestamp)

    def getDefaultTrigger(self) -> Trigger[Any, TimeWindow]:
        return EventTimeTrigger.create()

    def isEventTime(self) -> bool:
        return True


class DynamicProcessingTimeSessionWindows(_DynamicGap[T], Generic[T]):
    """Sessions by the clock, each element with a gap of its own (Flink: the same name)."""

    @staticmethod
    def withDynamicGap(
        sessionWindowTimeGapExtractor: GapLike[X],
    ) -> DynamicProcessingTimeSessionWindows[X]:
        """Sessions whose gap is read from each element."""
        return DynamicProcessingTimeSessionWindows(sessionWindowTimeGapExtractor)

    def assignWindows(
        self, element: T, timestamp: int, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return self._window_from(element, context.getCurrentProcessingTime())

    def getDefaultTrigger(self) -> Trigger[Any, TimeWindow]:
        return ProcessingTimeTrigger.create()

    def isEventTime(self) -> bool:
        return False


class GlobalWindows(WindowAssigner[object, GlobalWindow]):
    """Puts every element into the one global window (Flink: ``GlobalWindows``).

    By default it never fires: set a trigger, or let it fire at the end of the input.
    """

    def __init__(self, defaultTrigger: Trigger[Any, GlobalWindow] | None = None) -> None:
        mend = "Pass one, or call GlobalWindows.create() for one that never fires."
        trigger = NeverTrigger() if defaultTrigger is None else defaultTrigger
        self._default_trigger = instance("GlobalWindows", trigger, Trigger, mend)

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
