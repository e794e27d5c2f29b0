"""Sessions that end once nothing has come for their gap; an event just that much later begins the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flinkish.api.arguments import positive_length
from flinkish.api.time.durations import TimeLike, to_long
from flinkish.api.windowing.assigners import MergeCallback, SessionWindows, WindowAssignerContext
from flinkish.api.windowing.triggers import EventTimeTrigger, ProcessingTimeTrigger, Trigger
from flinkish.api.windowing.windows import TimeWindow


class ExclusiveSessionWindows(SessionWindows[object]):
    """Windows from each event to the ``gap`` after it merge where they overlap, not where they only touch.

    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(
    ...     lambda s: s.windowAll(ExclusiveSessionWindows(10, eventTime=True)).reduce(max)
    ... )
    >>> for at in (0, 9, 19):
    ...     harness.processElement(at, at)
    >>> harness.endInput()
    >>> [(record.value, record.timestamp) for record in harness.getOutput()[:2]]
    [(9, 18), (19, 28)]
    """

    def __init__(self, gap: TimeLike, eventTime: bool) -> None:
        self.gap = positive_length(f"{type(self).__name__}: gap", gap)
        self._event_time = eventTime

    def assignWindows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        begin = timestamp if self._event_time else context.getCurrentProcessingTime()
        return (TimeWindow(begin, to_long(begin + self.gap)),)

    def mergeWindows(
        self, windows: Sequence[TimeWindow], callback: MergeCallback[TimeWindow]
    ) -> None:
        session: list[TimeWindow] = []
        for window in sorted(set(windows)):
            if session and window.start >= max(part.end for part in session):
                _merge(session, callback)
                session = []
            session.append(window)
        _merge(session, callback)

    def getDefaultTrigger(self) -> Trigger[Any, TimeWindow]:
        return EventTimeTrigger.create() if self._event_time else ProcessingTimeTrigger.create()

    def isEventTime(self) -> bool:
        return self._event_time

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.gap})"


def _merge(session: list[TimeWindow], callback: MergeCallback[TimeWindow]) -> None:
    if len(session) > 1:
        callback.merge(session, TimeWindow(session[0].start, max(w.end for w in session)))
