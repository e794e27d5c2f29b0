"""Makes current-time increments of events, and holds events against the last one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flinkish.api.advance_time import AdvanceTimeGenerationSettings, AdvanceTimePolicy
from flinkish.api.temporal_events import EdgeEvent, EdgeType, IntervalEvent, TemporalEvent


class IncrementGeneration:
    """Counts events, or measures the time between them, as the settings say."""

    def __init__(self, settings: AdvanceTimeGenerationSettings, snapshot: Any) -> None:
        self._settings = settings
        self._count: int = 0
        self._last: int | None = None
        if snapshot is not None:
            self._count, self._last = snapshot

    def snapshot(self) -> tuple[int, int | None]:
        """What ``__init__`` takes."""
        return self._count, self._last

    def after(self, event: TemporalEvent[Any]) -> int | None:
        """The increment that ``event`` makes, or None."""
        if isinstance(event, EdgeEvent) and event.edgeType is EdgeType.End:
            return None
        due = self._count_due() if self._settings.duration is None else self._time_due(event)
        return event.startTime - self._settings.delay if due else None

    def _count_due(self) -> bool:
        assert self._settings.eventCount is not None
        self._count = (self._count + 1) % self._settings.eventCount
        return self._count == 0

    def _time_due(self, event: TemporalEvent[Any]) -> bool:
        assert self._settings.duration is not None
        due = self._last is not None and event.startTime >= self._last + self._settings.duration
        if self._last is None or due:
            self._last = event.startTime
        return due


class ViolationPolicy:
    """Holds events against the last increment.

    It remembers the start edges that it dropped or moved, until their ends come.
    """

    def __init__(self, policy: AdvanceTimePolicy, snapshot: Any) -> None:
        self._adjusts = policy is AdvanceTimePolicy.Adjust
        self._moved: list[tuple[EdgeEvent[Any], int | None]] = [] if snapshot is None else snapshot

    def snapshot(self) -> list[tuple[EdgeEvent[Any], int | None]]:
        """What ``__init__`` takes."""
        return self._moved

    def admit(self, event: TemporalEvent[Any], increment: int) -> TemporalEvent[Any] | None:
        """``event`` as it may go on after an increment at ``increment``, None if it may not."""
        if isinstance(event, EdgeEvent):
            if event.edgeType is EdgeType.End:
                return self._end(event, increment)
            return self._start(event, increment)
        if event.startTime >= increment:
            return event
        if self._adjusts and isinstance(event, IntervalEvent) and event.endTime > increment:
            return replace(event, startTime=increment)
        return None

    def _start(self, event: EdgeEvent[Any], increment: int) -> EdgeEvent[Any] | None:
        if event.startTime >= increment:
            return event
        start = increment if self._adjusts else None
        self._moved.append((event, start))
        return None if start is None else replace(event, startTime=start)

    def _end(self, event: EdgeEvent[Any], increment: int) -> EdgeEvent[Any] | None:
        end = event.endTime
        assert end is not None
        for position, (start, moved_to) in enumerate(self._moved):
            if start.startTime == event.startTime and start.payload == event.payload:
                del self._moved[position]
                if moved_to is None:
                    return None
                event = replace(event, startTime=moved_to)
                break
        return event if end >= increment else None
