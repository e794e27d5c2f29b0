"""Queries in StreamInsight's words: input, operators and joins of event streams."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any, TypeVar

from flinkish.api.arguments import instance, time_in_millis
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError, shown
from flinkish.api.functions.adapt import checked_callable
from flinkish.api.output_tag import OutputTag
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.time.durations import TimeLike
from flinkish.compat.streaminsight.advance_time import AdvanceTimeSettings, advanceTime
from flinkish.compat.streaminsight.events import EdgeEvent, IntervalEvent, PointEvent, TemporalEvent
from flinkish.compat.streaminsight.windows import (
    CountByStartTimeWindows,
    HoppingLifetimeWindows,
    LifetimeWindowedStream,
    SnapshotWindows,
    TumblingLifetimeWindows,
)

S = TypeVar("S")
T = TypeVar("T")


# ---------------------------------------------------------------------- streams of events


def toPointStreamable(
    source: DataStream[S],
    selector: Callable[[S], PointEvent[T]],
    settings: AdvanceTimeSettings,
    violations: OutputTag[TemporalEvent[T]] | None = None,
) -> SingleOutputStreamOperator[TemporalEvent[T]]:
    """The elements as point events, with time that advances as ``settings`` say.

    Events dropped for a violation go to the side output ``violations``, or are counted as late.
    """
    return _events(source, selector, PointEvent, settings, violations)


def toIntervalStreamable(
    source: DataStream[S],
    selector: Callable[[S], IntervalEvent[T]],
    settings: AdvanceTimeSettings,
    violations: OutputTag[TemporalEvent[T]] | None = None,
) -> SingleOutputStreamOperator[TemporalEvent[T]]:
    """The same, as interval events."""
    return _events(source, selector, IntervalEvent, settings, violations)


def toEdgeStreamable(
    source: DataStream[S],
    selector: Callable[[S], EdgeEvent[T]],
    settings: AdvanceTimeSettings,
    violations: OutputTag[TemporalEvent[T]] | None = None,
) -> SingleOutputStreamOperator[TemporalEvent[T]]:
    """The same, as edge events."""
    return _events(source, selector, EdgeEvent, settings, violations)


def _events(
    source: DataStream[S],
    selector: Callable[[S], TemporalEvent[T]],
    shape: type[Any],
    settings: AdvanceTimeSettings,
    violations: OutputTag[TemporalEvent[T]] | None,
) -> SingleOutputStreamOperator[TemporalEvent[T]]:
    instance(f"to{shape.__name__}", source, DataStream, "Pass the stream first.")
    checked_callable(
        f"to{shape.__name__}: selector", selector, f"f(element), which gives a {shape.__name__}", 1
    )

    def event(element: S) -> TemporalEvent[T]:
        selected = selector(element)
        fits: bool = isinstance(selected, shape)
        if not fits:
            raise other_shape(selected)
        return selected

    def other_shape(selected: TemporalEvent[T]) -> InvalidProgramError:
        return InvalidProgramError(
            f"{shape.__name__}: the selector gave {shown(selected)}. Let it return a"
            f" {shape.__name__}, or use the function for the shape that it returns."
        )

    return advanceTime(source.map(event).name(shape.__name__), settings, violations)


# ---------------------------------------------------------------------- windows


def hoppingWindow(
    stream: DataStream[TemporalEvent[T]],
    windowSize: TimeLike,
    hopSize: TimeLike,
    alignment: int | datetime.datetime = 0,
) -> LifetimeWindowedStream[T]:
    """Windows of ``windowSize``, one every ``hopSize``; of each key if the stream is keyed.

    One of them starts at ``alignment``: a time in ms, or an aware datetime. By default the epoch.
    """
    offset = _alignment("hoppingWindow", alignment)
    return LifetimeWindowedStream(stream, HoppingLifetimeWindows(windowSize, hopSize, offset))


def tumblingWindow(
    stream: DataStream[TemporalEvent[T]],
    windowSize: TimeLike,
    alignment: int | datetime.datetime = 0,
) -> LifetimeWindowedStream[T]:
    """Windows of ``windowSize``, one after another; one of them starts at ``alignment``."""
    offset = _alignment("tumblingWindow", alignment)
    return LifetimeWindowedStream(stream, TumblingLifetimeWindows(windowSize, offset))


def _alignment(method: str, alignment: int | datetime.datetime) -> int:
    if not isinstance(alignment, datetime.datetime):
        return time_in_millis(f"{method}: alignment", alignment)
    if alignment.tzinfo is None:
        raise IllegalArgumentError(
            f"{method}: alignment: {alignment} has no time zone. Pass one with tzinfo=timezone.utc."
        )
    return (alignment - _EPOCH) // datetime.timedelta(milliseconds=1)


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def snapshotWindow(stream: DataStream[TemporalEvent[T]]) -> LifetimeWindowedStream[T]:
    """Windows from each start or end of an event to the next."""
    return LifetimeWindowedStream(stream, SnapshotWindows())


def countByStartTimeWindow(
    stream: DataStream[TemporalEvent[T]], numberOfEventStartTimes: int
) -> LifetimeWindowedStream[T]:
    """Windows from each start of an event over a number of distinct starts."""
    return LifetimeWindowedStream(stream, CountByStartTimeWindows(numberOfEventStartTimes))


# ---------------------------------------------------------------------- several streams


def union(
    stream: DataStream[TemporalEvent[T]], *streams: DataStream[TemporalEvent[T]]
) -> DataStream[TemporalEvent[T]]:
    """The streams as one, whose increment is the lowest of theirs."""
    instance("union", stream, DataStream, "Pass the streams, one after another.")
    return stream.union(*streams)
