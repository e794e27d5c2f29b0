"""Joins events whose lifetimes overlap, and holds events until they are final."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, NamedTuple

from flinkish.api.arguments import instance
from flinkish.api.functions.adapt import checked_callable
from flinkish.api.functions.functions import Collector
from flinkish.api.functions.process import (
    KeyedProcessContext,
    KeyedProcessFunction,
    KeyedTimerContext,
    TimerService,
)
from flinkish.api.functions.runtime_context import OpenContext
from flinkish.api.functions.state import MapState, MapStateDescriptor
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.streams.windowed_stream import constant_key
from flinkish.api.time.elements import earliest
from flinkish.api.type_variables import T1, T2, R, T
from flinkish.compat.streaminsight.events import TICK, EdgeEvent, IntervalEvent, TemporalEvent
from flinkish.compat.streaminsight.paired_streams import (
    PairedStreamsFunction,
    check_streams,
    connected,
)
from flinkish.runtime.metrics import LATE_RECORDS_DROPPED


def temporalJoin(
    left: DataStream[TemporalEvent[T1]],
    right: DataStream[TemporalEvent[T2]],
    where: Callable[[T1, T2], bool],
    select: Callable[[T1, T2], R],
) -> SingleOutputStreamOperator[TemporalEvent[R]]:
    """``select(left, right)`` of each pair of payloads for which ``where`` is true, for as long as
    both live. If both streams are keyed, of pairs of one key.

    A pair comes out when the watermark has reached the start of what the two have in common: as an
    interval if its end is final by then, else as a start edge and later an end edge. So the result
    is as live as the slower of the two streams.

    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(
    ...     lambda a, b: temporalJoin(a, b, lambda x, y: True, lambda x, y: x + y)
    ... )
    >>> harness.processElement1(IntervalEvent(0, 8, "a"), 0)
    >>> harness.processElement2(IntervalEvent(5, 12, "b"), 5)
    >>> harness.endInput()
    >>> harness.getOutput()[0].value
    IntervalEvent(startTime=5, endTime=8, payload='ab')
    """
    check_streams("temporalJoin", left, right)
    checked_callable("temporalJoin: where", where, "f(left, right)", 2)
    checked_callable("temporalJoin: select", select, "f(left, right)", 2)
    function = TemporalJoinFunction(where, select)
    return connected("temporalJoin", left, right, function, "Temporal Join")


class _Pair(NamedTuple, Generic[R]):
    """Two events that match from ``start`` on, by their numbers, and their result."""

    left: int
    right: int
    start: int
    payload: R


class TemporalJoinFunction(PairedStreamsFunction, Generic[T1, T2, R]):
    """The function of ``temporalJoin``. Each side's events are kept until the watermark has passed
    their ends."""

    def __init__(self, where: Callable[[T1, T2], bool], select: Callable[[T1, T2], R]) -> None:
        self.where, self.select = where, select

    def open(self, openContext: OpenContext) -> None:
        super().open(openContext)
        context = self.getRuntimeContext()
        self.sides = [
            context.getMapState(MapStateDescriptor[int, TemporalEvent[Any]](name))
            for name in ("left", "right")
        ]
        self.beginnings = context.getMapState(MapStateDescriptor[int, list[_Pair[R]]]("beginnings"))
        self.pairs = context.getMapState(MapStateDescriptor[tuple[int, int], _Pair[R]]("begun"))
        self.endings = context.getMapState(
            MapStateDescriptor[int, list[tuple[int, int]]]("endings")
        )

    def known(self, side: int) -> Iterable[tuple[int, TemporalEvent[Any]]]:
        return self.sides[side].entries()

    def keep(self, side: int, number: int, event: TemporalEvent[Any], timers: TimerService) -> None:
        self.sides[side].put(number, event)
        if event.endTime is not None:
            _append(self.endings, event.endTime, (side, number))
            timers.registerEventTimeTimer(event.endTime)

    def begun(
        self, side: int, number: int, event: TemporalEvent[Any], timers: TimerService
    ) -> None:
        for other, known in self.sides[1 - side].entries():
            if side == 0:
                self._match(number, event, other, known, timers)
            else:
                self._match(other, known, number, event, timers)

    def _match(
        self,
        left: int,
        leftEvent: TemporalEvent[Any],
        right: int,
        rightEvent: TemporalEvent[Any],
        timers: TimerService,
    ) -> None:
        start = max(leftEvent.startTime, rightEvent.startTime)
        end = earliest((leftEvent.endTime, rightEvent.endTime))
        if end is not None and end <= start:
            return
        if self.where(leftEvent.payload, rightEvent.payload):
            payload = self.select(leftEvent.payload, rightEvent.payload)
            _append(self.beginnings, start, _Pair(left, right, start, payload))
            timers.registerEventTimeTimer(start)

    def onTimer(self, timestamp: int, ctx: KeyedTimerContext[Any], out: Collector[Any]) -> None:
        for pair in self.beginnings.get(timestamp) or []:
            self._begin(pair, out)
        self.beginnings.remove(timestamp)
        endings = self.endings.get(timestamp)
        if endings is not None:
            self._finish(timestamp, out)
            for side, number in endings:
                self.sides[side].remove(number)
            self.endings.remove(timestamp)

    def _begin(self, pair: _Pair[R], out: Collector[Any]) -> None:
        ends = self._ends(pair)
        if ends is None:
            return  # one of the two has ended already
        end = earliest(ends)
        if end is not None and end <= pair.start:
            return
        # Time is past the start, so a lifetime that is still open lasts for a tick at least
        if end is not None and (None not in ends or end <= pair.start + TICK):
            out.collect(IntervalEvent(pair.start, end, pair.payload))
        else:
            out.collect(EdgeEvent.createStart(pair.start, pair.payload))
            self.pairs.put((pair.left, pair.right), pair)

    def _finish(self, time: int, out: Collector[Any]) -> None:
        """End the pairs in which one event has ended at ``time``."""
        for numbers, pair in list(self.pairs.entries()):
            end = earliest(self._ends(pair) or ())
            if end == time:
                out.collect(EdgeEvent.createEnd(pair.start, end, pair.payload))
                self.pairs.remove(numbers)

    def _ends(self, pair: _Pair[R]) -> tuple[int | None, int | None] | None:
        """The ends of the two, None where one is not known; None if one of them is gone."""
        left, right = self.sides[0].get(pair.left), self.sides[1].get(pair.right)
        if left is None or right is None:
            return None
        return left.endTime, right.endTime


def _append(lists: MapState[int, list[T]], time: int, value: T) -> None:
    lists.put(time, [*(lists.get(time) or []), value])


def committed(events: DataStream[TemporalEvent[T]]) -> SingleOutputStreamOperator[TemporalEvent[T]]:
    """The events in the order of their ``syncTime``, each when it is final: when the watermark has
    reached it. Events that the watermark has passed are counted and dropped.

    StreamInsight gives its output so; flinkish hands elements on as they come.
    """
    instance("committed", events, DataStream, "Pass the stream of events.")
    return events.keyBy(constant_key).process(CommitFunction()).name("Commit")


class CommitFunction(KeyedProcessFunction[int, TemporalEvent[T], TemporalEvent[T]]):
    def open(self, openContext: OpenContext) -> None:
        self.late = self.getRuntimeContext().getMetricGroup().counter(LATE_RECORDS_DROPPED)
        self.waiting = self.getRuntimeContext().getMapState(
            MapStateDescriptor[int, list[TemporalEvent[T]]]("waiting")
        )

    def processElement(
        self,
        value: TemporalEvent[T],
        ctx: KeyedProcessContext[int],
        out: Collector[TemporalEvent[T]],
    ) -> None:
        timers, time = ctx.timerService(), value.syncTime
        if time <= timers.currentWatermark():
            self.late.inc()
            return
        _append(self.waiting, time, value)
        timers.registerEventTimeTimer(time)

    def onTimer(
        self,
        timestamp: int,
        ctx: KeyedTimerContext[int],
        out: Collector[TemporalEvent[T]],
    ) -> None:
        for event in self.waiting.get(timestamp) or []:
            out.collect(event)
        self.waiting.remove(timestamp)
