"""Bolts with windows, and ``setBolt``, which sets bolts on streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeAlias

from flinkish.api.arguments import (
    instance,
    integer,
    length_from_zero,
    member,
    positive,
    positive_length,
)
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError, shown
from flinkish.api.functions.functions import Collector, KeySelectorLike
from flinkish.api.output_tag import OutputTag
from flinkish.api.plan.partitioning import HashPartitioning
from flinkish.api.plan.transformations import PartitionTransformation, unkeyed
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.streams.keyed_stream import KeyedStream
from flinkish.api.streams.windowed_stream import constant_key
from flinkish.api.time import durations as time
from flinkish.api.time.durations import TimeLike, TimeUnit
from flinkish.api.type_variables import K, R, T
from flinkish.api.types.fields import Field, checked_field, field_getter
from flinkish.compat.storm.bolts import Bolt, Stateful
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

TupleWindow: TypeAlias = PolicyWindow[T]
"""A window with ``get``, ``getNew``, ``getExpired`` and its timestamps (Storm: the same name)."""


class Duration(time.Duration):
    """A length of time, as ``BaseWindowedBolt.Duration`` writes it.

    >>> Duration(5, TimeUnit.SECONDS) == Duration.seconds(5)
    True
    """

    def __init__(self, value: int, timeUnit: TimeUnit = TimeUnit.MILLISECONDS) -> None:
        """``value`` units. Raises IllegalArgumentError for an object that is not a number or not a
        unit."""
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


class BaseWindowedBolt(Bolt[T, R], PolicyWindowFunction[T, R]):
    """A bolt over windows (Storm: the same name).

    Subclasses have ``execute(inputWindow, collector)``, or ``execute(inputWindow)`` and the collector from
    ``prepare``; for a bolt without more to it pass ``function(window[, out])``.
    The settings change this object and return it.
    """

    Count: TypeAlias = Count
    Duration: TypeAlias = Duration

    # Here, as the __init__ of a subclass need not call this one
    _function: PolicyWindowLike[T, R] | None = None
    _length: Extent | None = None
    _slide: Extent | None = None
    _timestamp: Callable[[T], int] | None = None
    _lag: TimeLike | None = None
    _interval: TimeLike | None = None
    _late_tag: OutputTag[T] | None = None

    def __init__(self, function: PolicyWindowLike[T, R] | None = None) -> None:
        self._function = function

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
        """The delay of the watermark behind the latest timestamp. By default 0."""
        self._lag = length_from_zero("withLag", duration)
        return self

    def withWatermarkInterval(self, interval: TimeLike) -> Self:
        """The interval at which the watermark is computed, in processing time. By default every
        second."""
        self._interval = positive_length("withWatermarkInterval", interval)
        return self

    def withLateTupleStream(self, streamId: str) -> Self:
        """Send late tuples to the side output ``OutputTag(streamId)``, instead of counting and
        dropping them."""
        self._late_tag = OutputTag(streamId)
        return self

    # ------------------------------------------------------------------ on the primitives

    def process(self, window: PolicyWindow[T], out: Collector[R]) -> None:
        assert isinstance(out, PolicyWindowCollector)
        self._run(window, out.collect, out.output)

    def _set_on(
        self, streams: tuple[DataStream[T], ...], key: KeySelectorLike[T, Any] | None, tasks: int
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
        if self._function is None and type(self).execute is Bolt.execute:
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
            lag=(0 if self._lag is None else self._lag) if _in_order(streams) else None,
        )
        if self._late_tag is not None:
            windows.sideOutputLateData(self._late_tag)
        result = windows.process(self if self._function is None else self._function)
        return result.name(self._component or type(self).__name__)

    def _timed(self, streams: tuple[DataStream[T], ...]) -> DataStream[T]:
        timestamp = self._timestamp
        if timestamp is None:
            return streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]
        return unionWithLag(
            *streams,
            lag=0 if self._lag is None else self._lag,
            watermarkInterval=1_000 if self._interval is None else self._interval,
            timestampAssigner=lambda element, _: timestamp(element),
        )


def _in_order(streams: tuple[DataStream[Any], ...]) -> bool:
    """Whether the elements come in the order of one source.

    Storm looks for the elements of a window until one is further ahead than the lag. Its streams come side by
    side. In a batch they come one after another, as do the key groups of a stream behind a shuffle, so that
    there an element that is ahead says nothing about those after it.
    """
    node = unkeyed(streams[0]._transformation)
    while len(node.inputs) == 1:
        partitioning = node.partitioning if isinstance(node, PartitionTransformation) else None
        if isinstance(partitioning, HashPartitioning) and (
            partitioning.keySelector is not constant_key
        ):
            return False
        (node,) = node.inputs
    return len(streams) == 1 and not node.inputs


class BaseStatefulWindowedBolt(Stateful, BaseWindowedBolt[T, R]):
    """A bolt over windows with a ``KeyValueState``, which it gets by ``initState(state)`` (Storm: the same
    name).

    >>> from flinkish.testing import StreamTestHarness
    >>> class Total(BaseStatefulWindowedBolt[int, int]):
    ...     def initState(self, state):
    ...         self.state = state
    ...     def execute(self, inputWindow, collector):
    ...         self.state.put("total", self.state.get("total", 0) + sum(inputWindow.get()))
    ...         collector.emit(self.state.get("total"))
    >>> bolt = Total().withTumblingWindow(Count(2)).withPersistence()
    >>> harness = StreamTestHarness(lambda numbers: setBolt(bolt, numbers))
    >>> for number in (1, 2, 3, 4):
    ...     harness.processElement(number)
    >>> [record.value for record in harness.getOutput()]
    [3, 10]
    """

    def withPersistence(self) -> Self:
        """Accepted: the queue of a window is always in the checkpoint and on disk, not only in memory."""
        return self

    def withMaxEventsInMemory(self, maxEventsInMemory: int) -> Self:
        """Accepted, without effect: the state backend decides what is in memory."""
        positive("withMaxEventsInMemory", maxEventsInMemory)
        return self

    def withMessageIdField(self, fieldName: str) -> Self:
        """Accepted, without effect: no tuple comes twice."""
        checked_field("withMessageIdField", fieldName)
        return self


def setBolt(
    bolt: Bolt[T, R],
    *streams: DataStream[T],
    fieldsGrouping: KeySelectorLike[T, K] | str | None = None,
) -> SingleOutputStreamOperator[R]:
    """Return the stream of tuples that ``bolt`` emits when it reads ``streams``. ``TopologyBuilder.setBolt`` names them
    instead.

    The bolt is one task, so its windows are over all tuples. With ``fieldsGrouping``, a key
    selector or the name of a field, each key has separate windows; a single keyed stream brings
    its own.

    Raises InvalidProgramError for a bolt without a window, IllegalArgumentError for a late tuple
    stream without timestamps.
    """
    instance("setBolt", bolt, Bolt, "Pass the bolt first, and then the streams that it reads.")
    if not streams or not all(isinstance(stream, DataStream) for stream in streams):
        raise InvalidProgramError(f"setBolt: pass the streams to read, not {shown(streams)}.")
    if fieldsGrouping is None:
        keyed = [stream for stream in streams if isinstance(stream, KeyedStream)]
        if keyed and len(streams) > 1:
            raise InvalidProgramError(
                "setBolt: of several streams none brings a key for all. Pass fieldsGrouping=..."
                " instead of a keyed stream."
            )
        return bolt._set_on(streams, keyed[0].getKeySelector() if keyed else None, 1)
    selector = field_getter(fieldsGrouping) if isinstance(fieldsGrouping, str) else fieldsGrouping
    return bolt._set_on(streams, selector, 1)
