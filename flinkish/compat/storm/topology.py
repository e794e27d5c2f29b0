"""Bolts with windows, and how they are set on streams."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Generic, Self, TypeAlias, TypeVar, overload

from flinkish.api.arguments import integer, length_from_zero, member, positive_length, text
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError, shown
from flinkish.api.functions.functions import Collector, KeySelectorLike
from flinkish.api.functions.runtime_context import OpenContext, RuntimeContext
from flinkish.api.output_tag import OutputTag
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.streams.keyed_stream import KeyedStream
from flinkish.api.time import durations as time
from flinkish.api.time.durations import TimeLike, TimeUnit
from flinkish.api.types.fields import Field, checked_field, field_getter
from flinkish.compat.storm.watermarks import unionWithLag
from flinkish.compat.storm.windows import (
    Count,
    Extent,
    PolicyWindow,
    PolicyWindowCollector,
    PolicyWindowedStream,
    PolicyWindowFunction,
    PolicyWindowLike,
)

T = TypeVar("T")
R = TypeVar("R")
K = TypeVar("K")
X = TypeVar("X")


__all__ = [
    "BaseWindowedBolt",
    "Count",
    "Duration",
    "OutputCollector",
    "OutputFieldsDeclarer",
    "TupleWindow",
    "setBolt",
]


TupleWindow: TypeAlias = PolicyWindow[T]
"""A window with ``get``, ``getNew``, ``getExpired`` and its timestamps (Storm: the same name)."""


class Duration(time.Duration):
    """A length of time, as ``BaseWindowedBolt.Duration`` writes it.

    >>> Duration(5, TimeUnit.SECONDS) == Duration.seconds(5)
    True
    """

    def __init__(self, value: int, timeUnit: TimeUnit = TimeUnit.MILLISECONDS) -> None:
        """``value`` units. Raises IllegalArgumentError for what is no number or no unit."""
        unit = member("Duration: timeUnit", timeUnit, TimeUnit)
        super().__init__(unit.toMillis(integer("Duration: value", value)))

    @classmethod
    def of(cls, milliseconds: int) -> Duration:
        """``milliseconds`` milliseconds."""
        return cls.ofMillis(milliseconds)

    @classmethod
    def seconds(cls, seconds: int) -> Duration:
        """``seconds`` seconds."""
        return cls.ofSeconds(seconds)

    @classmethod
    def minutes(cls, minutes: int) -> Duration:
        """``minutes`` minutes."""
        return cls.ofMinutes(minutes)

    @classmethod
    def hours(cls, hours: int) -> Duration:
        """``hours`` hours."""
        return cls.ofHours(hours)

    @classmethod
    def days(cls, days: int) -> Duration:
        """``days`` days of 24 hours."""
        return cls.ofDays(days)


class OutputFieldsDeclarer:
    """Where a bolt says which streams it has (Storm: the same name)."""

    def __init__(self) -> None:
        self.streams: set[str] = set()

    def declare(self, *fields: object) -> None:
        """Accepted: tuples are what the bolt emits, and need no names."""

    def declareStream(self, streamId: str, *fields: object) -> None:
        """A stream besides the default one: read it with ``getSideOutput(OutputTag(streamId))``."""
        self.streams.add(text("declareStream: streamId", streamId))


class OutputCollector(Generic[R]):
    """Where a bolt puts its results (Storm: the same name). Spark does the anchoring and acks."""

    def __init__(self, bolt: str, out: Collector[R], streams: Collection[str] = ()) -> None:
        self._bolt = bolt
        self._out = out
        self._streams = streams

    @overload
    def emit(self, value: R, /) -> None: ...

    @overload
    def emit(self, streamId: str, value: object, /) -> None: ...

    @overload
    def emit(self, anchors: object, value: R, /) -> None: ...

    @overload
    def emit(self, streamId: str, anchors: object, value: object, /) -> None: ...

    def emit(self, *arguments: Any) -> None:
        """Emit a value, with the end of the window as its timestamp: to the default stream, or to the one whose id comes
        first and that ``declareOutputFields`` declares. Anchors, before the value, have no effect.

        Raises InvalidProgramError for a stream that is not declared.
        """
        *before, value = arguments
        stream = before[0] if before and isinstance(before[0], str) else _DEFAULT_STREAM
        if stream == _DEFAULT_STREAM:
            self._out.collect(value)
        elif stream in self._streams and isinstance(self._out, PolicyWindowCollector):
            self._out.output(OutputTag(stream), value)
        else:
            raise InvalidProgramError(
                f"{self._bolt}: emit: no stream {shown(stream)} is declared. Write"
                f" declarer.declareStream({stream!r}) in declareOutputFields(declarer); to anchor a value to a text,"
                " leave the text out."
            )

    def ack(self, input: object) -> None:  # noqa: A002 - Storm's name
        """Accepted, without effect: each tuple counts once."""


_DEFAULT_STREAM = "default"


class BaseWindowedBolt(PolicyWindowFunction[T, R]):
    """A bolt over windows (Storm: the same name).

    Subclasses have ``execute``; for a bolt without more to it pass ``function(window[, out])``.
    The settings change this object and return it.
    """

    Count: TypeAlias = Count
    Duration: TypeAlias = Duration

    def __init__(self, function: PolicyWindowLike[T, R] | None = None) -> None:
        self._function = function
        self._length: Extent | None = None
        self._slide: Extent | None = None
        self._timestamp: Callable[[T], int] | None = None
        self._lag: TimeLike = 0
        self._interval: TimeLike = 1_000
        self._late_tag: OutputTag[T] | None = None
        self._streams: frozenset[str] = frozenset()

    # ------------------------------------------------------------------ what a bolt does

    def prepare(self, context: RuntimeContext) -> None:
        """Called before the first window, once for as long as a worker keeps the task. ``context`` has keyed
        state and metrics."""

    def execute(
        self, inputWindow: TupleWindow[T], collector: OutputCollector[R]
    ) -> Iterable[R] | None:
        """Called with each window that has tuples. Emits to ``collector``, or returns or yields the results."""
        return None

    def declareOutputFields(self, declarer: OutputFieldsDeclarer) -> None:
        """Declare the streams that ``execute`` emits to, besides the default one."""

    def cleanup(self) -> None:
        """Called at the end, as often as ``prepare``."""

    # ------------------------------------------------------------------ settings

    def withWindow(self, windowLength: Extent, slidingInterval: Extent | None = None) -> Self:
        """Windows of ``windowLength``, one every ``slidingInterval``: each a ``Count`` or a
        ``Duration``. Without an interval there is a window at each tuple."""
        self._length = windowLength
        self._slide = Count(1) if slidingInterval is None else slidingInterval
        return self

    def withTumblingWindow(self, length: Extent) -> Self:
        """Windows of ``length``, one after another."""
        return self.withWindow(length, length)

    def withTimestampField(self, fieldName: Field) -> Self:
        """Go by event time: the field of that name or position has it, in ms."""
        return self.withTimestampExtractor(
            field_getter(checked_field("withTimestampField", fieldName))
        )

    def withTimestampExtractor(self, timestampExtractor: Callable[[T], int]) -> Self:
        """Go by event time: ``timestampExtractor(tuple)`` gives it, in ms."""
        self._timestamp = timestampExtractor
        return self

    def withLag(self, duration: TimeLike) -> Self:
        """How far the watermark stays behind the latest timestamp. By default 0."""
        self._lag = length_from_zero("withLag", duration)
        return self

    def withWatermarkInterval(self, interval: TimeLike) -> Self:
        """How often the watermark is computed, in processing time. By default every second."""
        self._interval = positive_length("withWatermarkInterval", interval)
        return self

    def withLateTupleStream(self, streamId: str) -> Self:
        """Send late tuples to the side output ``OutputTag(streamId)``, instead of counting and
        dropping them."""
        self._late_tag = OutputTag(streamId)
        return self

    # ------------------------------------------------------------------ on the primitives

    def open(self, openContext: OpenContext) -> None:
        self.prepare(self.getRuntimeContext())

    def close(self) -> None:
        self.cleanup()

    def process(self, window: PolicyWindow[T], out: Collector[R]) -> Iterable[R] | None:
        collector = OutputCollector(type(self).__name__, out, self._streams)
        return self.execute(window, collector)

    def _windowed(
        self, streams: tuple[DataStream[T], ...], key: KeySelectorLike[T, K] | None
    ) -> SingleOutputStreamOperator[R]:
        if self._length is None:
            raise InvalidProgramError(
                f"setBolt: {type(self).__name__} has no window. Call withWindow or"
                " withTumblingWindow on it."
            )
        if self._late_tag is not None and self._timestamp is None:
            raise IllegalArgumentError(
                f"setBolt: {type(self).__name__} has a late tuple stream but no timestamps, so no"
                " tuple is late. Call withTimestampField on it."
            )
        declarer = OutputFieldsDeclarer()
        self.declareOutputFields(declarer)
        self._streams = frozenset(declarer.streams)
        own = type(self).execute is not BaseWindowedBolt.execute
        if self._function is None and not own:
            raise InvalidProgramError(
                f"setBolt: {type(self).__name__} has nothing to do. Write its"
                " execute(inputWindow, collector), or pass BaseWindowedBolt a function."
            )
        stream = self._timed(streams)
        windows = PolicyWindowedStream.of(
            stream if key is None else stream.keyBy(key),
            self._length,
            self._slide,
            eventTime=self._timestamp is not None,
            lag=self._lag,
        )
        if self._late_tag is not None:
            windows.sideOutputLateData(self._late_tag)
        result = windows.process(self if self._function is None else self._function)
        return result.name(type(self).__name__)

    def _timed(self, streams: tuple[DataStream[T], ...]) -> DataStream[T]:
        timestamp = self._timestamp
        if timestamp is None:
            return streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]
        return unionWithLag(
            *streams,
            lag=self._lag,
            watermarkInterval=self._interval,
            timestampAssigner=lambda element, _: timestamp(element),
        )


def setBolt(
    bolt: BaseWindowedBolt[T, R],
    *streams: DataStream[T],
    fieldsGrouping: KeySelectorLike[T, K] | str | None = None,
) -> SingleOutputStreamOperator[R]:
    """What ``bolt`` emits when it reads ``streams`` (Storm: ``TopologyBuilder.setBolt``).

    The bolt is one task, so its windows are over all tuples. With ``fieldsGrouping``, a key
    selector or the name of a field, each key has windows of its own; a single keyed stream brings
    its own.

    Raises InvalidProgramError for a bolt without a window, IllegalArgumentError for a late tuple
    stream without timestamps.
    """
    if not streams or not all(isinstance(stream, DataStream) for stream in streams):
        raise InvalidProgramError(f"setBolt: pass the streams to read, not {shown(streams)}.")
    if fieldsGrouping is None:
        keyed = [stream for stream in streams if isinstance(stream, KeyedStream)]
        if keyed and len(streams) > 1:
            raise InvalidProgramError(
                "setBolt: of several streams none brings a key for all. Pass fieldsGrouping=..."
                " instead of a keyed stream."
            )
        return bolt._windowed(streams, keyed[0].getKeySelector() if keyed else None)
    selector = field_getter(fieldsGrouping) if isinstance(fieldsGrouping, str) else fieldsGrouping
    return bolt._windowed(streams, selector)
