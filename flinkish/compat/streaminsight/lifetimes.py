"""Moves and resizes the lifetimes of events, and time itself along with their starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from flinkish.api.arguments import instance, milliseconds
from flinkish.api.functions.adapt import checked_callable
from flinkish.api.plan.operators import OperatorDescription
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.time.durations import TimeLike
from flinkish.api.type_variables import T
from flinkish.compat.streaminsight.events import (
    EdgeEvent,
    EdgeType,
    IntervalEvent,
    PointEvent,
    TemporalEvent,
)
from flinkish.compat.streaminsight.time_span import ENDLESS

_ENDLESS_MILLIS = milliseconds("ENDLESS", ENDLESS)


def shiftEventTime(
    events: DataStream[TemporalEvent[T]], shift: TimeLike
) -> SingleOutputStreamOperator[TemporalEvent[T]]:
    """The events later by ``shift``, or earlier if it is negative, and the watermarks with them
    (StreamInsight: ``ShiftEventTime``).

    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(lambda events: shiftEventTime(events, 100))
    >>> harness.processElement(PointEvent(5, "p"), 5)
    >>> harness.processWatermark(7)
    >>> harness.getOutput()[0].value, harness.getOutput()[1]
    (PointEvent(startTime=105, payload='p'), Watermark(timestamp=107))
    """
    millis = milliseconds("shiftEventTime: shift", shift)
    return _changed("shiftEventTime", events, millis, lambda event: _shifted(event, millis))


def alterEventLifetime(
    events: DataStream[TemporalEvent[T]],
    shift: TimeLike,
    duration: Callable[[TemporalEvent[T]], TimeLike],
) -> SingleOutputStreamOperator[TemporalEvent[T]]:
    """The events as intervals that start later by ``shift`` and last ``duration(event)``, and the
    watermarks later by ``shift`` (StreamInsight: ``AlterEventLifetime``).

    End edges go: how long an event lasts is known from its start. With ``ENDLESS`` it has no end: it comes as a start
    edge, to be clipped by ``clipEventDuration``.
    """
    millis = milliseconds("alterEventLifetime: shift", shift)
    length_of = checked_callable("alterEventLifetime", duration, "f(event)", 1)

    def altered(event: TemporalEvent[T]) -> TemporalEvent[T] | None:
        if isinstance(event, EdgeEvent) and event.edgeType is EdgeType.End:
            return None
        start = event.startTime + millis
        length = milliseconds("alterEventLifetime: duration", length_of(event))
        if length >= _ENDLESS_MILLIS:
            return EdgeEvent.createStart(start, event.payload)
        return IntervalEvent(start, start + length, event.payload)

    return _changed("alterEventLifetime", events, millis, altered)


def alterEventDuration(
    events: DataStream[TemporalEvent[T]], duration: Callable[[TemporalEvent[T]], TimeLike]
) -> SingleOutputStreamOperator[TemporalEvent[T]]:
    """The events as intervals that last ``duration(event)`` from where they start (StreamInsight:
    ``AlterEventDuration``)."""
    return alterEventLifetime(events, 0, duration)


def toPointEventStream(
    events: DataStream[TemporalEvent[T]],
) -> SingleOutputStreamOperator[TemporalEvent[T]]:
    """The events as points at their starts; end edges go (StreamInsight: ``ToPointEventStream``).

    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(toPointEventStream)
    >>> harness.processElement(IntervalEvent(5, 9, "p"), 5)
    >>> harness.getOutput()[0].value
    PointEvent(startTime=5, payload='p')
    """

    def pointed(event: TemporalEvent[T]) -> TemporalEvent[T] | None:
        is_end = isinstance(event, EdgeEvent) and event.edgeType is EdgeType.End
        return None if is_end else PointEvent(event.startTime, event.payload)

    return _changed("toPointEventStream", events, 0, pointed)


def _shifted(event: TemporalEvent[T], shift: int) -> TemporalEvent[T]:
    start = event.startTime + shift
    if isinstance(event, PointEvent):
        return replace(event, startTime=start)
    if isinstance(event, IntervalEvent):
        return replace(event, startTime=start, endTime=event.endTime + shift)
    end = None if event.endTime is None else event.endTime + shift
    return replace(event, startTime=start, endTime=end)


def _changed(
    method: str,
    events: DataStream[TemporalEvent[T]],
    shift: int,
    change: Callable[[TemporalEvent[T]], TemporalEvent[T] | None],
) -> SingleOutputStreamOperator[TemporalEvent[T]]:
    instance(method, events, DataStream, "Pass the stream of events first.")
    return events._transform(LifetimeChangeDescription(shift, change))


@dataclass(frozen=True)
class LifetimeChangeDescription(OperatorDescription):
    """``change(event)`` of each event, None if it goes; watermarks later by ``shift`` ms."""

    kind: ClassVar[str] = "LifetimeChange"
    name: ClassVar[str] = "Lifetime Change"

    shift: int
    change: Callable[[Any], Any]

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (self.change,)
