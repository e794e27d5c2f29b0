"""Queries in Azure's words: TIMESTAMP BY, policies and windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from flinkish.api.arguments import instance, integer, positive, whole_number
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError, shown
from flinkish.api.eventtime.arrival_time import ArrivalTimeStrategy, DeadLetter, OrderingPolicy
from flinkish.api.eventtime.watermarks import TimestampAssignerLike
from flinkish.api.execution.client import OperatorMetrics
from flinkish.api.functions.functions import KeySelectorLike
from flinkish.api.functions.process import ProcessContext
from flinkish.api.functions.window import WindowContext
from flinkish.api.output_tag import OutputTag
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.types.fields import Field
from flinkish.api.windowing.assigners import (
    InEventTime,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
    WindowAssignerContext,
)
from flinkish.api.windowing.content_windows import ContentChangeWindows
from flinkish.api.windowing.windows import TimeWindow
from flinkish.compat.stream_analytics.dates import MILLISECONDS, UNITS
from flinkish.compat.stream_analytics.windows import CappedSessionWindows

T = TypeVar("T")


TimeUnit = Literal[
    "day", "dd", "d", "hour", "hh", "minute", "mi", "n", "second", "ss", "s", "millisecond", "ms"
]


_MILLISECONDS = {name: MILLISECONDS[unit] for name, unit in UNITS.items() if unit in MILLISECONDS}


# ---------------------------------------------------------------------- event ordering


@dataclass(frozen=True, kw_only=True)
class EventOrdering:
    """The event ordering settings of a job, under the names they have there."""

    eventsLateArrivalMaxDelayInSeconds: int = 5
    """The time after its event time within which an event may arrive, 20 days at most; -1: any
    time."""
    eventsOutOfOrderMaxDelayInSeconds: int = 0
    """The delay of the watermark behind the latest event time, 9 minutes and 59 seconds at most."""
    eventsOutOfOrderPolicy: OrderingPolicy | Literal["Adjust", "Drop"] = OrderingPolicy.ADJUST
    """The policy for events that come too late or out of order; also as Azure writes it."""
    earlyArrivalToleranceInSeconds: int | None = 300
    """The time before its event time from which an event may arrive. Azure fixes it to 5 minutes; None switches
    it off."""

    def __post_init__(self) -> None:
        for setting, least, most, said in (
            ("eventsLateArrivalMaxDelayInSeconds", -1, LARGEST_LATE_ARRIVAL, "20 days"),
            ("eventsOutOfOrderMaxDelayInSeconds", 0, LARGEST_OUT_OF_ORDER, "9:59 minutes"),
        ):
            seconds = whole_number(f"EventOrdering: {setting}", getattr(self, setting), least)
            if seconds > most:
                raise IllegalArgumentError(
                    f"EventOrdering: {setting} is {seconds}, but Stream Analytics allows {most} at most"
                    f" ({said}). Pass that or less, or give the stream an ArrivalTimeStrategy, which has no"
                    " such limit."
                )
        early = self.earlyArrivalToleranceInSeconds
        if early is not None:
            whole_number("EventOrdering: earlyArrivalToleranceInSeconds", early)
        _ordering_policy(self.eventsOutOfOrderPolicy)


LARGEST_LATE_ARRIVAL = 20 * 86_400
"""The largest tolerance for late arrival in Azure, in seconds: 20 days."""


LARGEST_OUT_OF_ORDER = 9 * 60 + 59
"""The largest tolerance for events out of order in Azure, in seconds: 9 minutes and 59 seconds."""


def _ordering_policy(policy: OrderingPolicy | str) -> OrderingPolicy:
    for known in OrderingPolicy:
        if policy in (known, known.name.capitalize()):
            return known
    raise IllegalArgumentError(
        f"EventOrdering: eventsOutOfOrderPolicy is {shown(policy)}. Pass OrderingPolicy.ADJUST or"
        ' OrderingPolicy.DROP, or "Adjust" or "Drop".'
    )


def timestampBy(
    stream: DataStream[T],
    timestamp: TimestampAssignerLike[T] | Field,
    *,
    over: KeySelectorLike[T, Any] | Field | None = None,
    arrivalTime: TimestampAssignerLike[T] | Field | None = None,
    inputPartition: KeySelectorLike[T, Any] | Field | None = None,
    ordering: EventOrdering = EventOrdering(),
    deadLetters: OutputTag[DeadLetter[T]] | None = None,
    independentSubstreams: bool = False,
) -> SingleOutputStreamOperator[T]:
    """``TIMESTAMP BY timestamp OVER over``: event times in ms from ``timestamp(event, t)``,
    compared with arrival times in ms from ``arrivalTime(event, t)``; either may be the name of a
    field.

    ``arrivalTime`` stands for ``EventEnqueuedUtcTime`` and its kin; without it the clock says when an event arrives.
    ``inputPartition`` says which partition of the input an event is of, such as ``"PartitionId"``: each has a separate
    watermark, and the stream the lowest of them. Without it the splits of the source count, if it has such
    (``withSplits``). ``over`` gives each of its values a separate watermark; with ``independentSubstreams`` nothing
    else judges its events, and windows close later by the late arrival tolerance. Dropped events go to the side output
    ``deadLetters`` of the result.

    Events go on in the order of their timestamps, those of one timestamp as they came, once the watermark has reached them.
    """
    instance("timestampBy", stream, DataStream, "Pass the stream first, then the timestamp.")
    instance("timestampBy: ordering", ordering, EventOrdering, "Pass EventOrdering(...).")
    policy = _ordering_policy(ordering.eventsOutOfOrderPolicy)
    late = ordering.eventsLateArrivalMaxDelayInSeconds
    early = ordering.earlyArrivalToleranceInSeconds
    strategy = ArrivalTimeStrategy(
        timestampAssigner=timestamp,
        arrivalTime=arrivalTime,
        earlyArrivalTolerance=None if early is None else early * 1_000,
        lateArrivalTolerance=None if late == -1 else late * 1_000,
        lateArrivalPolicy=policy,
        outOfOrderTolerance=ordering.eventsOutOfOrderMaxDelayInSeconds * 1_000,
        outOfOrderPolicy=policy,
        substreamKey=over,
        independentSubstreams=independentSubstreams,
        inputPartition=inputPartition,
        inOrder=True,
        deadLetters=deadLetters,
    )
    return stream.assignTimestampsAndWatermarks(strategy)


def byArrivalTime(
    stream: DataStream[T],
    arrivalTime: TimestampAssignerLike[T] | Field | None = None,
    *,
    inputPartition: KeySelectorLike[T, Any] | Field | None = None,
) -> SingleOutputStreamOperator[T]:
    """A query without ``TIMESTAMP BY``: the event time is the arrival time, and no setting for late
    or disordered events matters. While nothing comes the watermark keeps 5 seconds behind."""
    instance("byArrivalTime", stream, DataStream, "Pass the stream first.")
    strategy = ArrivalTimeStrategy[T](
        arrivalTime=arrivalTime,
        lateArrivalTolerance=5_000,
        inputPartition=inputPartition,
        inOrder=True,
    )
    return stream.assignTimestampsAndWatermarks(strategy)


class System:
    """The ``System`` object of a query."""

    @staticmethod
    def Timestamp(of: TimeWindow | WindowContext[TimeWindow] | ProcessContext) -> int:
        """``System.Timestamp()`` in ms: the end of a window, or the event time of an event as the
        ordering has left it.

        >>> System.Timestamp(TimeWindow(1, 300_001))
        300000
        """
        if isinstance(of, TimeWindow):
            return of.maxTimestamp()
        if isinstance(of, WindowContext):
            return of.window().maxTimestamp()
        instance(
            "System.Timestamp",
            of,
            ProcessContext,
            "Pass a TimeWindow or the context of a function.",
        )
        timestamp = of.timestamp()
        if timestamp is None:
            raise InvalidProgramError(
                "System.Timestamp: the event has no timestamp. Call timestampBy or byArrivalTime on"
                " the stream first."
            )
        return timestamp


# ---------------------------------------------------------------------- windows


@dataclass(frozen=True)
class Offset:
    """By how much windows are moved: with ``Offset("ms", -1)`` they include their start and exclude their end."""

    timeunit: TimeUnit
    offsetsize: int

    def toMillis(self) -> int:
        """The offset in ms."""
        return _milliseconds(
            "Offset", self.timeunit, integer("Offset: offsetsize", self.offsetsize)
        )


def TumblingWindow(
    timeunit: TimeUnit, windowsize: int, offset: Offset | None = None
) -> TumblingEventTimeWindows:
    """Windows of ``windowsize``, one after another; each leaves out its start and takes in its end.

    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(
    ...     lambda events: events.windowAll(TumblingWindow("minute", 5))
    ...     .process(lambda context, found: [(System.Timestamp(context), list(found))])
    ... )
    >>> harness.processElement("at the end", 300_000)
    >>> harness.endInput()
    >>> harness.getOutput()[0].value
    (300000, ['at the end'])
    """
    size = _length("TumblingWindow", "windowsize", timeunit, windowsize)
    return TumblingEventTimeWindows.of(size, _start("TumblingWindow", offset, size))


def HoppingWindow(
    timeunit: TimeUnit, windowsize: int, hopsize: int, offset: Offset | None = None
) -> SlidingEventTimeWindows:
    """Windows of ``windowsize``, one every ``hopsize``; each leaves out its start and takes in its
    end."""
    hop = _length("HoppingWindow", "hopsize", timeunit, hopsize)
    size = _length("HoppingWindow", "windowsize", timeunit, windowsize)
    return SlidingEventTimeWindows.of(size, hop, _start("HoppingWindow", offset, hop))


def SlidingWindow(timeunit: TimeUnit, windowsize: int) -> ContentChangeWindows:
    """The last ``windowsize``, each time that an event enters it or leaves it, unless it is empty."""
    return ContentChangeWindows(_length("SlidingWindow", "windowsize", timeunit, windowsize))


def SessionWindow(
    timeunit: TimeUnit, timeoutSize: int, maxDurationSize: int
) -> CappedSessionWindows:
    """Events that follow each other within the timeout, until the maximum duration is up. It is
    checked at multiples of itself, so a window may last for nearly twice as long."""
    return CappedSessionWindows(
        _length("SessionWindow", "timeoutSize", timeunit, timeoutSize),
        _length("SessionWindow", "maxDurationSize", timeunit, maxDurationSize),
    )


class SnapshotWindow(InEventTime, WindowAssigner[object, TimeWindow]):
    """Events of the same timestamp (``GROUP BY System.Timestamp()``)."""

    def assignWindows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> tuple[TimeWindow]:
        return (TimeWindow(timestamp, timestamp + 1),)


def _length(window: str, argument: str, timeunit: str, size: int) -> int:
    return _milliseconds(window, timeunit, positive(f"{window}: {argument}", size))


def _milliseconds(name: str, timeunit: str, size: int) -> int:
    if timeunit not in tuple(_MILLISECONDS):
        raise IllegalArgumentError(
            f"{name}: the time unit {shown(timeunit)} is none of {', '.join(_MILLISECONDS)}."
        )
    return size * _MILLISECONDS[timeunit]


def _start(window: str, offset: Offset | None, step: int) -> int:
    """Flink's windows take in their start: a ms later they take in their end instead."""
    if offset is None:
        return 1 % step
    instance(f"{window}: offset", offset, Offset, 'Pass one, such as Offset("ms", -1).')
    return (1 + offset.toMillis()) % step


# ---------------------------------------------------------------------- metrics


@dataclass(frozen=True)
class StreamAnalyticsMetrics:
    """The metrics of event ordering, over all inputs of a job."""

    InputEvents: int
    EarlyInputEvents: int
    """Events dropped because they came too early."""
    LateInputEvents: int
    """Events that came too late, dropped or adjusted."""
    OutOfOrderEvents: int
    """Events out of order, dropped or adjusted (``DroppedOrAdjustedEvents``)."""
    WatermarkDelaySeconds: float
    """The clock less the watermark, of the input that is furthest behind."""

    @staticmethod
    def of(operators: Mapping[str, OperatorMetrics]) -> StreamAnalyticsMetrics:
        """The metrics of a job: ``StreamAnalyticsMetrics.of(env.execute().getMetrics())``."""
        fix = "Pass those of a job's result: env.execute().getMetrics()."
        instance("StreamAnalyticsMetrics", operators, Mapping, fix)
        inputs = [metrics for metrics in operators.values() if "outOfOrderElements" in metrics.user]

        def total(count: Callable[[OperatorMetrics], float]) -> int:
            return int(sum(map(count, inputs)))

        delays = (metrics.user["watermarkDelay"] / 1_000 for metrics in inputs)
        return StreamAnalyticsMetrics(
            total(lambda metrics: metrics.numRecordsIn),
            total(lambda metrics: metrics.user["earlyElements"]),
            total(lambda metrics: metrics.user["lateElements"]),
            total(lambda metrics: metrics.user["outOfOrderElements"]),
            max(delays, default=0.0),
        )
