"""Session windows: elements of a key that follow each other within a gap."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, Union

from flinkish.api.arguments import milliseconds, positive_length
from flinkish.api.callables import checked_callable
from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.api.functions import Function, declares_methods
from flinkish.api.java_long import to_long
from flinkish.api.time import TimeLike
from flinkish.api.windowing.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from flinkish.api.windowing.trigger import Trigger
from flinkish.api.windowing.window_assigner import (
    MergeCallback,
    MergingWindowAssigner,
    WindowAssignerContext,
)
from flinkish.api.windowing.windows import TimeWindow, Window

T = TypeVar("T")
X = TypeVar("X")
T_contra = TypeVar("T_contra", contravariant=True)


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
