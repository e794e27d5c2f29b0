"""Joins events whose lifetimes overlap, and holds events until they are final."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from flinkish.api.all_windowed_stream import constant_key
from flinkish.api.co_functions import KeyedCoProcessFunction
from flinkish.api.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.errors import InvalidProgramError
from flinkish.api.functions import Collector
from flinkish.api.keyed_stream import KeyedStream
from flinkish.api.process_functions import (
    KeyedProcessContext,
    KeyedProcessFunction,
    KeyedTimerContext,
)
from flinkish.api.runtime_context import OpenContext
from flinkish.api.state import MapStateDescriptor, ValueStateDescriptor
from flinkish.api.temporal_events import EdgeEvent, EdgeType, IntervalEvent, TemporalEvent

T1 = TypeVar("T1")
T2 = TypeVar("T2")
T = TypeVar("T")
R = TypeVar("R")

LATE = "lateEvents"
"""The counter of events that were dropped, as what they would change is final."""


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
    keyed = [isinstance(stream, KeyedStream) for stream in (left, right)]
    if any(keyed) and not all(keyed):
        raise InvalidProgramError(
            "temporalJoin: one stream is keyed and the other is not. Call keyBy on both or on none."
        )
    if not any(keyed):
        left, right = left.keyBy(constant_key), right.keyBy(constant_key)
    function = TemporalJoinFunction(where, select)
    return left.connect(right).process(function).name("Temporal Join")


@dataclass(frozen=True)
class _Pair:
    """Two payloads that go together from ``start`` on; ``begun`` once the start edge is out."""

    start: int
    payload: Any
    begun: bool = False


class TemporalJoinFunction(KeyedCoProcessFunction[Any, Any, Any, Any], Generic[T1, T2, R]):
    """The function of ``temporalJoin``. Each side's events are kept until the watermark has passed
    their ends."""

    def __init__(self, where: Callable[[T1, T2], bool], select: Callable[[T1, T2], R]) -> None:
        self.where, self.select = where, select

    def open(self, openContext: OpenContext) -> None:
        context = self.getRuntimeContext()
        self.sides = [
            context.getMapState(MapStateDescriptor[int, TemporalEvent[Any]](name))
            for name in ("left", "right")
        ]
        self.pairs = context.getMapState(MapStateDescriptor[tuple[int, int], _Pair]("pairs"))
        self.number = context.getState(ValueStateDescriptor("number", default=0))
        self.late = context.getMetricGroup().counter(LATE)

    def processElement1(
        self, value: TemporalEvent[T1], ctx: KeyedProcessContext[Any], out: Collector[Any]
    ) -> None:
        self._take(0, value, ctx)

    def processElement2(
        self, value: TemporalEvent[T2], ctx: KeyedProcessContext[Any], out: Collector[Any]
    ) -> None:
        self._take(1, value, ctx)

    def _take(self, side: int, event: TemporalEvent[Any], ctx: KeyedProcessContext[Any]) -> None:
        timers = ctx.timerService()
        if event.syncTime <= timers.currentWatermark():
            self.late.inc()
            return
        if event.endTime is not None:
            timers.registerEventTimeTimer(event.endTime)
        if isinstance(event, EdgeEvent) and event.edgeType is EdgeType.End:
            self._end(side, event)
            return
        number = self.number.value() or 0
        self.number.update(number + 1)
        self.sides[side].put(number, event)
        for other, known in self.sides[1 - side].entries():
            self._match(side, (number, event), (other, known), ctx)

    def _end(self, side: int, end: EdgeEvent[Any]) -> None:
        for number, event in self.sides[side].entries():
            begun = event.startTime == end.startTime and event.payload == end.payload
            if begun and event.endTime is None:
                self.sides[side].put(number, end)
                return

    def _match(
        self,
        side: int,
        one: tuple[int, TemporalEvent[Any]],
        other: tuple[int, TemporalEvent[Any]],
        ctx: KeyedProcessContext[Any],
    ) -> None:
        (left, left_event), (right, right_event) = (one, other) if side == 0 else (other, one)
        start = max(left_event.startTime, right_event.startTime)
        end = _earlier(left_event.endTime, right_event.endTime)
        if end is not None and end <= start:
            return
        if self.where(left_event.payload, right_event.payload):
            payload = self.select(left_event.payload, right_event.payload)
            self.pairs.put((left, right), _Pair(start, payload))
            ctx.timerService().registerEventTimeTimer(start)

    def onTimer(self, timestamp: int, ctx: KeyedTimerContext[Any], out: Collector[Any]) -> None:
        left, right = (dict(side.entries()) for side in self.sides)
        for (one, other), pair in list(self.pairs.entries()):
            end = _earlier(left[one].endTime, right[other].endTime)
            # A lifetime that is still open does not end before timestamp + 1
            final = None not in (left[one].endTime, right[other].endTime) or (
                end is not None and end <= timestamp + 1
            )
            if end is not None and end <= pair.start:
                self.pairs.remove((one, other))
            elif not pair.begun and pair.start <= timestamp and final:
                assert end is not None
                out.collect(IntervalEvent(pair.start, end, pair.payload))
                self.pairs.remove((one, other))
            elif not pair.begun and pair.start <= timestamp:
                out.collect(EdgeEvent.createStart(pair.start, pair.payload))
                self.pairs.put((one, other), replace(pair, begun=True))
            elif pair.begun and end is not None and end <= timestamp:
                out.collect(EdgeEvent.createEnd(pair.start, end, pair.payload))
                self.pairs.remove((one, other))
        for side, events in zip(self.sides, (left, right)):
            for number, event in events.items():
                if event.endTime is not None and event.endTime <= timestamp:
                    side.remove(number)


def _earlier(one: int | None, other: int | None) -> int | None:
    return min((end for end in (one, other) if end is not None), default=None)


def committed(events: DataStream[TemporalEvent[T]]) -> SingleOutputStreamOperator[TemporalEvent[T]]:
    """The events in the order of their ``syncTime``, each when it is final: when the watermark has
    reached it. Events that the watermark has passed are counted and dropped.

    StreamInsight gives its output so; flinkish hands elements on as they come.
    """
    return events.keyBy(constant_key).process(CommitFunction()).name("Commit")


class CommitFunction(KeyedProcessFunction[int, TemporalEvent[T], TemporalEvent[T]]):
    """The function of ``committed``."""

    def open(self, openContext: OpenContext) -> None:
        self.late = self.getRuntimeContext().getMetricGroup().counter(LATE)
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
        self.waiting.put(time, [*(self.waiting.get(time) or []), value])
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
