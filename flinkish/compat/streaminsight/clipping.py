"""Cuts the lifetimes of events where events of another stream live or begin."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Generic, NamedTuple

from flinkish.api.functions.adapt import checked_callable
from flinkish.api.functions.functions import Collector
from flinkish.api.functions.process import KeyedTimerContext, TimerService
from flinkish.api.functions.runtime_context import OpenContext
from flinkish.api.functions.state import MapStateDescriptor
from flinkish.api.stored_names import stored_as
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.time.elements import earliest
from flinkish.api.type_variables import T1, T2
from flinkish.compat.streaminsight.events import (
    TICK,
    EdgeEvent,
    IntervalEvent,
    PointEvent,
    TemporalEvent,
)
from flinkish.compat.streaminsight.paired_streams import (
    PairedStreamsFunction,
    check_streams,
    connected,
)


def leftAntiSemiJoin(
    left: DataStream[TemporalEvent[T1]],
    right: DataStream[TemporalEvent[T2]],
    where: Callable[[T1, T2], bool],
) -> SingleOutputStreamOperator[TemporalEvent[T1]]:
    """The events of ``left`` for as long as no event of ``right`` lives for which ``where(left, right)`` is true;
    if both streams are keyed, none of the same key (StreamInsight: ``LeftAntiJoin``, ``IsEmpty()`` of an inner
    query).

    A piece of a lifetime comes out when the watermark has reached its start: as an interval if its end is final by
    then (as a point for a point), else as a start edge and later an end edge.

    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(lambda a, b: leftAntiSemiJoin(a, b, lambda x, y: x == y))
    >>> harness.processElement1(IntervalEvent(0, 9, "a"), 0)
    >>> harness.processElement2(IntervalEvent(2, 5, "a"), 2)
    >>> harness.endInput()
    >>> [(r.value.startTime, r.value.endTime) for r in harness.getOutput()[:-1]]
    [(0, 2), (5, 9)]
    """
    return _pieces("leftAntiSemiJoin", left, right, where, AntiSemiJoinFunction)


def clipEventDuration(
    left: DataStream[TemporalEvent[T1]],
    right: DataStream[TemporalEvent[T2]],
    where: Callable[[T1, T2], bool],
) -> SingleOutputStreamOperator[TemporalEvent[T1]]:
    """The events of ``left``, each at most until the first event of ``right`` begins after it for which
    ``where(left, right)`` is true; if both streams are keyed, one of the same key (StreamInsight:
    ``ClipEventDuration``).

    With ``alterEventDuration(points, lambda event: ENDLESS)`` before it, points become the signal that holds until
    the next. Events come out as from ``leftAntiSemiJoin``.
    """
    return _pieces("clipEventDuration", left, right, where, ClipFunction)


def _pieces(
    method: str,
    left: DataStream[Any],
    right: DataStream[Any],
    where: Callable[[Any, Any], bool],
    function: type[PiecesFunction[Any, Any]],
) -> SingleOutputStreamOperator[TemporalEvent[Any]]:
    check_streams(method, left, right)
    checked_callable(f"{method}: where", where, "f(left, right)", 2)
    return connected(method, left, right, function(where), function.title)


@stored_as("streaminsight.Remaining")
class Remaining(NamedTuple):
    """An event of the left stream, and the pieces of it emitted so far."""

    event: Any
    since: int | None
    """The start of the piece whose end is not emitted yet."""
    until: int
    """The time up to which pieces have been emitted."""


class PiecesFunction(PairedStreamsFunction, Generic[T1, T2]):
    """Emits pieces of the left events. The timer of a time decides all that changes at that time."""

    title: ClassVar[str]

    def __init__(self, where: Callable[[T1, T2], bool]) -> None:
        self.where = where

    @abstractmethod
    def begins(self, left: TemporalEvent[T1], time: int, living: list[Any]) -> bool:
        """Whether a piece of ``left`` lives from ``time`` on, where the right events ``living`` match it."""

    @abstractmethod
    def ends(self, left: TemporalEvent[T1], time: int, living: list[Any]) -> bool:
        """Whether a piece of ``left`` that lives until ``time`` ends there."""

    def isNeeded(self, right: TemporalEvent[T2], time: int) -> bool:
        """Whether ``right`` matters after ``time``."""
        return right.endTime is None or right.endTime > time

    def isDone(self, remaining: Remaining) -> bool:
        """Whether an event that still lives can yield no further piece."""
        return False

    def open(self, openContext: OpenContext) -> None:
        super().open(openContext)
        context = self.getRuntimeContext()
        self.left = context.getMapState(MapStateDescriptor[int, Remaining]("left"))
        self.right = context.getMapState(MapStateDescriptor[int, TemporalEvent[Any]]("right"))

    def known(self, side: int) -> Iterable[tuple[int, TemporalEvent[Any]]]:
        if side == 1:
            return self.right.entries()
        return ((number, remaining.event) for number, remaining in self.left.entries())

    def keep(self, side: int, number: int, event: TemporalEvent[Any], timers: TimerService) -> None:
        timers.registerEventTimeTimer(event.syncTime)
        if event.endTime is not None:
            timers.registerEventTimeTimer(event.endTime)
        if side == 1:
            self.right.put(number, event)
            return
        before = self.left.get(number)
        begun = Remaining(event, None, event.startTime)
        self.left.put(number, begun if before is None else before._replace(event=event))

    def onTimer(self, timestamp: int, ctx: KeyedTimerContext[Any], out: Collector[Any]) -> None:
        final = ctx.timerService().currentWatermark() + TICK
        rights = sorted(
            (event for _, event in self.right.entries()), key=lambda event: event.startTime
        )
        for number, remaining in sorted(self.left.entries()):
            left = remaining.event
            if left.startTime > timestamp:
                continue
            matching = [right for right in rights if self.where(left.payload, right.payload)]
            now = self._decided(remaining, timestamp, final, matching, out)
            if (left.endTime is not None and left.endTime <= timestamp) or self.isDone(now):
                self.left.remove(number)
            elif now is not remaining:
                self.left.put(number, now)
        for number, right in list(self.right.entries()):
            if not self.isNeeded(right, timestamp):
                self.right.remove(number)

    def _decided(
        self, before: Remaining, time: int, final: int, rights: list[Any], out: Collector[Any]
    ) -> Remaining:
        left = before.event
        is_over = left.endTime is not None and left.endTime <= time
        if before.since is not None:
            if not is_over and not self.ends(left, time, rights):
                return before
            out.collect(EdgeEvent.createEnd(before.since, time, left.payload))
            return Remaining(left, None, time)
        if is_over or time < before.until or not self.begins(left, time, rights):
            return before
        changes = {right.startTime for right in rights if right.startTime > time}
        clip = next((c for c in sorted(changes) if self.ends(left, c, rights)), None)
        end = earliest((left.endTime, clip))
        if end is None or end > final:
            out.collect(EdgeEvent.createStart(time, left.payload))
            return Remaining(left, time, time)
        is_point = isinstance(left, PointEvent)
        out.collect(left if is_point else IntervalEvent(time, end, left.payload))
        return Remaining(left, None, end)


class AntiSemiJoinFunction(PiecesFunction[T1, T2]):
    title = "Left Anti Semi Join"

    def begins(self, left: TemporalEvent[T1], time: int, living: list[Any]) -> bool:
        return not self.ends(left, time, living)

    def ends(self, left: TemporalEvent[T1], time: int, living: list[Any]) -> bool:
        return any(
            right.startTime <= time and (right.endTime is None or time < right.endTime)
            for right in living
        )


class ClipFunction(PiecesFunction[T1, T2]):
    title = "Clip Event Duration"

    def begins(self, left: TemporalEvent[T1], time: int, living: list[Any]) -> bool:
        return time == left.startTime

    def ends(self, left: TemporalEvent[T1], time: int, living: list[Any]) -> bool:
        return any(right.startTime == time and right.endTime != time for right in living)

    def isNeeded(self, right: TemporalEvent[T2], time: int) -> bool:
        return right.startTime > time

    def isDone(self, remaining: Remaining) -> bool:
        return remaining.since is None and remaining.until > remaining.event.startTime
