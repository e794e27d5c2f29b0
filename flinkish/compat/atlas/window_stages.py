"""A pipeline of Atlas's stages, as a function from stream to stream."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypedDict, TypeVar, Unpack, overload

from flinkish.api.arguments import instance, integer, member
from flinkish.api.errors import IllegalArgumentError, IllegalStateError, shown
from flinkish.api.eventtime.arrival_time import DeadLetter, DeadLetterReason
from flinkish.api.eventtime.watermarks import TimestampAssignerLike, WatermarkStrategy
from flinkish.api.functions.adapt import checked_callable
from flinkish.api.functions.functions import Collector, KeySelectorLike
from flinkish.api.functions.process import ProcessContext
from flinkish.api.output_tag import OutputTag
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.streams.windowed_stream import AllWindowedStream, WindowedStream, with_null_keys
from flinkish.api.suggestions import suggestion_or_all
from flinkish.api.windowing.assigners import (
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from flinkish.api.windowing.windows import TimeWindow
from flinkish.compat.atlas.closing_trigger import (
    AfterAllowedLatenessTrigger,
    ProcessingTimeOrEndTrigger,
)
from flinkish.compat.atlas.idle_advance import withIdleAdvance
from flinkish.compat.atlas.session_windows import ExclusiveSessionWindows

T = TypeVar("T")
K = TypeVar("K")
R = TypeVar("R")


Unit = Literal["ms", "second", "minute", "hour", "day"]


MILLISECONDS = {"ms": 1, "second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}


@dataclass(frozen=True)
class Interval:
    """A length of time as Atlas writes it: ``{size: 5, unit: "minute"}``.

    >>> Interval(5, "minute").toMillis()
    300000
    """

    size: int
    unit: Unit

    def __post_init__(self) -> None:
        integer("Interval: size", self.size)
        if self.unit not in tuple(MILLISECONDS):
            raise IllegalArgumentError(
                f"Interval: the unit {shown(self.unit)} is none of {', '.join(MILLISECONDS)}."
            )

    def toMillis(self) -> int:
        """The length in ms."""
        return self.size * MILLISECONDS[self.unit]


IntervalLike = Interval | Mapping[Literal["size", "unit"], Any]
"""An ``Interval``, or the document that Atlas writes: ``{"size": 5, "unit": "minute"}``."""


class Boundary(enum.Enum):
    """The time that assigns events to windows and closes them."""

    EVENT_TIME = "eventTime"
    PROCESSING_TIME = "processingTime"


class WindowStage(Generic[T, R]):
    """The output of a window stage."""

    def __init__(
        self, results: SingleOutputStreamOperator[R], late: OutputTag[T] | None, name: str
    ) -> None:
        self.results = results
        """The output of the stage's pipeline, with the last ms of the window as timestamp."""
        self._late = late
        self._name = name

    @property
    def deadLetterQueue(self) -> DataStream[DeadLetter[T]]:
        """The events that came after all their windows had closed.

        Raises IllegalStateError if the stage was made without ``deadLetterQueue=True``.
        """
        if self._late is None:
            raise IllegalStateError(
                f"{self._name}: there is no dead letter queue, and late events are counted and"
                " dropped. Pass deadLetterQueue=True."
            )
        return self.results.getSideOutput(self._late).process(_dead_letter).name("Dead Letters")


def source(
    stream: DataStream[T], timeField: TimestampAssignerLike[T] | None = None
) -> SingleOutputStreamOperator[T]:
    """``$source``: event times in ms from ``timeField(event, timestamp)``, and the highest of them as the watermark.

    Without a ``timeField`` the timestamps that the stream has count: those of Kafka's records, say.
    """
    instance("source", stream, DataStream, "Pass the stream first, then timeField.")
    strategy = WatermarkStrategy[T].forMonotonousTimestamps()
    if timeField is not None:
        strategy = strategy.withTimestampAssigner(timeField)
    return stream.assignTimestampsAndWatermarks(strategy)


class WindowOptions(TypedDict, total=False):
    """The options of both window stages beside their windows and their pipeline.

    Anything else is refused with IllegalArgumentError; None is as if left out.
    """

    boundary: Boundary
    """The time domain of the window; event time by default."""
    offset: IntervalLike
    """By how much windows are moved against UTC."""
    idleTimeout: IntervalLike
    """The time for which an input must be idle after a window's end by the clock to close the
    window. The watermark then is the highest event time of the stage's input, whatever it was."""
    allowedLateness: IntervalLike
    """By how much the closing of a window is delayed."""
    deadLetterQueue: bool
    """Whether events that come after the close are kept for the stage's ``deadLetterQueue``."""


@overload
def tumblingWindow(
    stream: DataStream[T],
    *,
    interval: IntervalLike,
    pipeline: Callable[[AllWindowedStream[T, TimeWindow]], SingleOutputStreamOperator[R]],
    **options: Unpack[WindowOptions],
) -> WindowStage[T, R]: ...


@overload
def tumblingWindow(
    stream: DataStream[T],
    *,
    interval: IntervalLike,
    pipeline: Callable[[WindowedStream[T, K, TimeWindow]], SingleOutputStreamOperator[R]],
    groupBy: KeySelectorLike[T, K],
    **options: Unpack[WindowOptions],
) -> WindowStage[T, R]: ...


def tumblingWindow(
    stream: DataStream[T],
    *,
    interval: IntervalLike,
    pipeline: Callable[[Any], SingleOutputStreamOperator[R]],
    groupBy: Any = None,
    **options: Unpack[WindowOptions],
) -> WindowStage[T, R]:
    """``$tumblingWindow``: windows of ``interval``, one after another.

    ``pipeline`` turns the windowed stream into results; with ``groupBy``, the ``_id`` of a
    ``$group``, it gets a stream windowed by key. The options are those of ``WindowOptions``.

    >>> from flinkish.testing import StreamTestHarness
    >>> def counts(stream):
    ...     return tumblingWindow(
    ...         stream,
    ...         interval=Interval(5, "minute"),
    ...         pipeline=lambda windows: windows.apply(lambda window, events: [len(list(events))]),
    ...         allowedLateness=Interval(2, "minute"),
    ...     ).results
    >>> harness = StreamTestHarness(counts)
    >>> harness.processElement("a", 240_000)
    >>> harness.processWatermark(420_000 - 1)
    >>> harness.getOutput()[0]
    StreamRecord(value=1, timestamp=299999)
    """
    size = _length("tumblingWindow", "interval", interval, 1)
    return _stage("tumblingWindow", stream, size, size, pipeline, groupBy, options)


@overload
def hoppingWindow(
    stream: DataStream[T],
    *,
    interval: IntervalLike,
    hopSize: IntervalLike,
    pipeline: Callable[[AllWindowedStream[T, TimeWindow]], SingleOutputStreamOperator[R]],
    **options: Unpack[WindowOptions],
) -> WindowStage[T, R]: ...


@overload
def hoppingWindow(
    stream: DataStream[T],
    *,
    interval: IntervalLike,
    hopSize: IntervalLike,
    pipeline: Callable[[WindowedStream[T, K, TimeWindow]], SingleOutputStreamOperator[R]],
    groupBy: KeySelectorLike[T, K],
    **options: Unpack[WindowOptions],
) -> WindowStage[T, R]: ...


def hoppingWindow(
    stream: DataStream[T],
    *,
    interval: IntervalLike,
    hopSize: IntervalLike,
    pipeline: Callable[[Any], SingleOutputStreamOperator[R]],
    groupBy: Any = None,
    **options: Unpack[WindowOptions],
) -> WindowStage[T, R]:
    """``$hoppingWindow``: windows of ``interval``, one every ``hopSize``; the rest is as with
    ``tumblingWindow``.

    A hop below the interval makes them overlap. One above it leaves gaps; what happened in a gap
    belongs to no window.
    """
    size = _length("hoppingWindow", "interval", interval, 1)
    hop = _length("hoppingWindow", "hopSize", hopSize, 1)
    return _stage("hoppingWindow", stream, size, hop, pipeline, groupBy, options)


def sessionWindow(
    stream: DataStream[T],
    *,
    gap: IntervalLike,
    pipeline: Callable[[Any], SingleOutputStreamOperator[R]],
    groupBy: Any = None,
    **options: Unpack[WindowOptions],
) -> WindowStage[T, R]:
    """``$sessionWindow``: of each ``groupBy``, which is Atlas's ``partitionBy``, the events that
    follow each other in less than ``gap``. Flink's sessions also take an event that is exactly the
    gap later.

    The rest is as with ``tumblingWindow``, but there are neither ``offset`` nor ``idleTimeout``.
    """
    name = "sessionWindow"
    fix = "Give the source WatermarkStrategy.withIdleness(...) instead."
    for option, instead in (("offset", "Leave it out."), ("idleTimeout", fix)):
        if options.get(option) is not None:
            raise IllegalArgumentError(f"{name}: sessions have no {option}. {instead}")
    return _stage(name, stream, _length(name, "gap", gap, 1), None, pipeline, groupBy, options)


@dataclass(frozen=True)
class WindowSettings:
    """The windows of a stage, in ms. ``hop`` is None for sessions, whose ``size`` is their gap."""

    size: int
    hop: int | None
    offset: int
    boundary: Boundary
    idleTimeout: int
    allowedLateness: int

    @property
    def assigner(self) -> Any:
        """The windows of flinkish."""
        by_event_time = self.boundary is Boundary.EVENT_TIME
        if self.hop is None:
            return ExclusiveSessionWindows(self.size, by_event_time)
        if self.size == self.hop:
            tumbling = TumblingEventTimeWindows if by_event_time else TumblingProcessingTimeWindows
            return tumbling.of(self.size, self.offset)
        sliding = SlidingEventTimeWindows if by_event_time else SlidingProcessingTimeWindows
        return sliding.of(self.size, self.hop, self.offset)

    def advanced(self, stream: DataStream[T], strategy: WatermarkStrategy[T]) -> DataStream[T]:
        """The stream, with a watermark that advances while its input is idle if there is an idle timeout."""
        if self.hop is None or not self.idleTimeout:
            return stream
        end = (self.offset + self.size) % self.hop
        return stream.assignTimestampsAndWatermarks(
            withIdleAdvance(strategy, self.idleTimeout, self.hop, end, self.allowedLateness)
        )


def _stage(
    name: str,
    stream: DataStream[T],
    size: int,
    hop: int | None,
    pipeline: Callable[[Any], SingleOutputStreamOperator[R]],
    groupBy: Any,
    options: WindowOptions,
) -> WindowStage[T, R]:
    instance(name, stream, DataStream, "Pass the stream of the stage before it first.")
    checked_callable(f"{name}: pipeline", pipeline, _PIPELINE, 1)
    known = list(WindowOptions.__annotations__)
    for option in options:
        if option not in known:
            fix = suggestion_or_all(option, known)
            raise IllegalArgumentError(f"{name}: there is no option {option}.{fix}")
    boundary = member(f"{name}: boundary", options.get("boundary") or Boundary.EVENT_TIME, Boundary)
    settings = WindowSettings(
        size,
        hop,
        _option(name, "offset", options.get("offset"), None),
        boundary,
        _option(name, "idleTimeout", options.get("idleTimeout"), 1),
        _option(name, "allowedLateness", options.get("allowedLateness"), 0),
    )
    if boundary is Boundary.PROCESSING_TIME and (settings.idleTimeout or settings.allowedLateness):
        raise IllegalArgumentError(
            f"{name}: windows of processing time close by the clock, so neither idleTimeout nor"
            " allowedLateness means anything. Leave them out, or take Boundary.EVENT_TIME."
        )
    if hop is not None and abs(settings.offset) >= hop:
        repeats = "interval" if name == "tumblingWindow" else "hopSize"
        raise IllegalArgumentError(
            f"{name}: offset is {settings.offset} ms, but must be within the {repeats} of {hop} ms, after"
            f" which windows repeat. Pass {settings.offset % hop} ms."
        )
    stream = settings.advanced(stream, WatermarkStrategy[T].forMonotonousTimestamps())
    late = bool(options.get("deadLetterQueue"))
    return window_stage(name, stream, settings, pipeline, groupBy, late)


def window_stage(
    name: str,
    stream: DataStream[T],
    settings: WindowSettings,
    pipeline: Callable[[Any], SingleOutputStreamOperator[R]],
    groupBy: Any,
    keepsLate: bool,
) -> WindowStage[T, R]:
    """The stage of windows whose settings are checked."""
    assigner = settings.assigner
    windowed: Any = (
        stream.windowAll(assigner)
        if groupBy is None
        else with_null_keys(stream.keyBy(groupBy)).window(assigner)
    )
    if settings.boundary is Boundary.PROCESSING_TIME:
        windowed.trigger(ProcessingTimeOrEndTrigger())
    if settings.allowedLateness:
        trigger = AfterAllowedLatenessTrigger(settings.allowedLateness)
        windowed.allowedLateness(settings.allowedLateness).trigger(trigger)
    late = OutputTag[Any]("dead letters") if keepsLate else None
    if late is not None:
        windowed.sideOutputLateData(late)
    results = pipeline(windowed)
    instance(
        f"{name}: what the pipeline returns",
        results,
        SingleOutputStreamOperator,
        f"Pass {_PIPELINE}.",
    )
    return WindowStage(results, late, name)


_PIPELINE = (
    "f(windows), which returns the results, such as lambda windows: windows.aggregate(function);"
    " Atlas's list of stages is a chain of methods here"
)


def _option(name: str, option: str, interval: IntervalLike | None, lowest: int | None) -> int:
    return 0 if interval is None else _length(name, option, interval, lowest)


def _length(name: str, option: str, interval: IntervalLike, lowest: int | None) -> int:
    """``interval`` in ms; refused if it is below ``lowest`` ms."""
    subject = f"{name}: {option}"
    if isinstance(interval, Mapping) and set(interval) == {"size", "unit"}:
        interval = Interval(interval["size"], interval["unit"])
    instance(subject, interval, Interval, 'Pass one, such as Interval(5, "minute").')
    assert isinstance(interval, Interval)
    length = interval.toMillis()
    if lowest is not None and length < lowest:
        bound = "greater than zero" if lowest else "0 or more"
        raise IllegalArgumentError(
            f'{subject} is Interval({interval.size}, "{interval.unit}"), but must be {bound}.'
        )
    return length


def _dead_letter(event: T, context: ProcessContext, out: Collector[DeadLetter[T]]) -> None:
    now = context.timerService().currentProcessingTime()
    out.collect(DeadLetter(event, context.timestamp(), now, DeadLetterReason.LATE))
