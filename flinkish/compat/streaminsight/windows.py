"""Windows over events with a lifetime: an event is in every window that it lives in.

Beside hopping windows there are snapshots, which the events' own starts and ends cut, and windows of
so many starts. All are StreamInsight's.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, ClassVar, Generic, Self, Union, overload

from flinkish.api.arguments import instance, milliseconds, positive, positive_length
from flinkish.api.errors import NotSupportedError
from flinkish.api.functions.adapt import checked_callable
from flinkish.api.functions.functions import Collector
from flinkish.api.functions.window import AllWindowFunction, WindowFunction
from flinkish.api.output_tag import OutputTag, checked_tag
from flinkish.api.plan.operators import OperatorDescription
from flinkish.api.plan.window_operator import WindowCall, apply_all_call, apply_call
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.streams.keyed_stream import KeyedStream
from flinkish.api.streams.windowed_stream import with_null_keys
from flinkish.api.time.durations import TimeLike
from flinkish.api.type_variables import R, T
from flinkish.api.types.type_info import TypeInformation
from flinkish.api.windowing.windows import TimeWindow
from flinkish.compat.streaminsight.events import IntervalEvent, PointEvent, TemporalEvent


class LifetimeWindows(ABC):
    """Base of the ways to cut lifetimes into windows."""


class HoppingLifetimeWindows(LifetimeWindows):
    """Windows of ``size``, one every ``hop``, from ``offset`` on and before. An event is in each
    that it overlaps (StreamInsight: ``HoppingWindow``).

    The result of a window lasts as long as the window. So the watermark that goes out is held back
    to the start of the earliest window that is still open.
    """

    def __init__(self, size: TimeLike, hop: TimeLike, offset: TimeLike = 0) -> None:
        self.size = positive_length("HoppingLifetimeWindows: size", size)
        self.hop = positive_length("HoppingLifetimeWindows: hop", hop)
        self.offset = milliseconds("HoppingLifetimeWindows: offset", offset)


class TumblingLifetimeWindows(HoppingLifetimeWindows):
    """Hopping windows one after another (StreamInsight: ``TumblingWindow``)."""

    def __init__(self, size: TimeLike, offset: TimeLike = 0) -> None:
        super().__init__(size, size, offset)


@dataclass(frozen=True)
class SnapshotWindows(LifetimeWindows):
    """From each start or end of an event to the next: in a snapshot the same events live throughout
    (StreamInsight: ``SnapshotWindow``).

    The result of a snapshot lasts as long as it. The watermark that goes out is held back to the
    start of the earliest snapshot that is still open.
    """


@dataclass(frozen=True)
class CountByStartTimeWindows(LifetimeWindows):
    """From each start of an event to the ``count``-th, events that start together counting as one
    (StreamInsight: ``CountByStartTimeWindow``).

    An event is in the windows that it starts in. The result is a point, at the last of the starts.
    """

    count: int

    def __post_init__(self) -> None:
        positive("CountByStartTimeWindows", self.count)


LifetimeWindowLike = Union[
    WindowFunction[IntervalEvent[T], R, Any, TimeWindow],
    AllWindowFunction[IntervalEvent[T], R, TimeWindow],
    Callable[[TimeWindow, Iterable[IntervalEvent[T]]], Iterable[R]],
    Callable[[TimeWindow, Iterable[IntervalEvent[T]], Collector[R]], None],
    Callable[[Any, TimeWindow, Iterable[IntervalEvent[T]]], Iterable[R]],
    Callable[[Any, TimeWindow, Iterable[IntervalEvent[T]], Collector[R]], None],
]


class LifetimeWindowedStream(Generic[T]):
    """Temporal events cut into windows: those of each key apart if the stream is keyed.

    How many cars are on the bridge, from change to change:

    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(
    ...     lambda cars: LifetimeWindowedStream(cars, SnapshotWindows())
    ...     .apply(lambda window, cars: [len(list(cars))])
    ... )
    >>> harness.processElement(IntervalEvent(0, 5, "red"), 0)
    >>> harness.processElement(IntervalEvent(3, 9, "blue"), 3)
    >>> harness.endInput()
    >>> [(r.value.startTime, r.value.payload) for r in harness.getOutput()[:-1]]
    [(0, 1), (3, 2), (5, 1)]
    """

    def __init__(self, stream: DataStream[TemporalEvent[T]], windows: LifetimeWindows) -> None:
        instance("lifetime windows", stream, DataStream, "Pass the stream first, then the windows.")
        fix = "Pass SnapshotWindows() or HoppingLifetimeWindows(size, hop), for instance."
        instance("lifetime windows", windows, LifetimeWindows, fix)
        self._keyed = isinstance(stream, KeyedStream)
        self._input = with_null_keys(stream)
        self._windows = windows
        self._late_tag: OutputTag[TemporalEvent[T]] | None = None

    def sideOutputLateData(self, outputTag: OutputTag[TemporalEvent[T]]) -> Self:
        """Send events that the watermark has passed there, instead of counting and dropping
        them."""
        self._late_tag = checked_tag("sideOutputLateData", outputTag)
        return self

    def apply(
        self,
        function: LifetimeWindowLike[T, R],
        outputType: TypeInformation[TemporalEvent[R]] | None = None,
    ) -> SingleOutputStreamOperator[TemporalEvent[R]]:
        """Hand the events of each window that has some to ``function(window, events[, out])``, with
        the key first if the stream is keyed, or to a WindowFunction or AllWindowFunction.

        The events come as intervals, cut to the window. Each result becomes an event, with its
        start as its timestamp.
        """
        call = apply_call(function) if self._keyed else apply_all_call(function)
        late = None if self._late_tag is None else self._late_tag.getId()
        description = LifetimeWindowDescription(self._windows, late, function, call)
        return self._input._transform(description, outputType)

    @overload
    def take(
        self, count: int, orderBy: Callable[[T], Any], descending: bool = ...
    ) -> SingleOutputStreamOperator[TemporalEvent[T]]: ...

    @overload
    def take(
        self,
        count: int,
        orderBy: Callable[[T], Any],
        descending: bool = ...,
        *,
        select: Callable[[T, int], R],
    ) -> SingleOutputStreamOperator[TemporalEvent[R]]: ...

    @overload
    def take(
        self,
        count: int,
        orderBy: Callable[[T], Any],
        descending: bool,
        select: Callable[[T, int], R],
    ) -> SingleOutputStreamOperator[TemporalEvent[R]]: ...

    def take(
        self,
        count: int,
        orderBy: Callable[[T], Any],
        descending: bool = False,
        select: Callable[[T, int], Any] | None = None,
    ) -> SingleOutputStreamOperator[TemporalEvent[Any]]:
        """The first ``count`` payloads of each window in the order of ``orderBy(payload)``, and with the last of them
        all that are equal to it (StreamInsight: ``orderby``, ``Take``).

        ``select(payload, rank)`` makes the result of each. Ranks are from 1 on, the same for equal ones: 1, 2, 2, 4.

        Raises NotSupportedError for windows of so many starts, as StreamInsight does.
        """
        most = positive("take: count", count)
        order = checked_callable("take: orderBy", orderBy, "f(payload)", 1)
        fix = "Pass True or False."
        reverse = instance("take: descending", descending, bool, fix)
        if select is not None:
            checked_callable("take: select", select, "f(payload, rank)", 2)
        if isinstance(self._windows, CountByStartTimeWindows):
            raise NotSupportedError(
                "take: windows of so many starts have no order. Use snapshotWindow, hoppingWindow or"
                " tumblingWindow, or rank the events in apply(function)."
            )

        def best(events: Iterable[IntervalEvent[T]]) -> Iterable[Any]:
            keyed = [(order(event.payload), event.payload) for event in events]
            keyed.sort(key=itemgetter(0), reverse=reverse)
            rank = 0
            for position, (key, payload) in enumerate(keyed, 1):
                if position == 1 or key != keyed[position - 2][0]:
                    rank = position
                if rank > most:
                    return
                yield payload if select is None else select(payload, rank)

        if self._keyed:
            return self.apply(lambda key, window, events: best(events))
        return self.apply(lambda window, events: best(events))


@dataclass(frozen=True)
class LifetimeWindowDescription(OperatorDescription):
    """All of an operator of lifetime windows."""

    kind: ClassVar[str] = "LifetimeWindow"
    lateDataMethod: ClassVar[str] = "sideOutputLateData(tag)"

    keyed: bool = field(default=True, init=False)

    windows: LifetimeWindows
    lateDataOutput: str | None
    function: Any
    call: WindowCall

    @property
    def name(self) -> str:
        return type(self.windows).__name__

    @property
    def stateLayout(self) -> str:
        return type(self.windows).__name__

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (self.function,)

    def result(self, window: TimeWindow, payload: Any) -> TemporalEvent[Any]:
        """The event that a result of ``window`` becomes."""
        if isinstance(self.windows, CountByStartTimeWindows):
            return PointEvent(window.maxTimestamp(), payload)
        return IntervalEvent(window.start, window.end, payload)
