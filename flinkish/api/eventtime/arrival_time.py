"""``ArrivalTimeStrategy``: timestamps and watermarks from event time and arrival time together.

The arrival time of an element bounds its timestamp: one far in the future, from a sender whose
clock is wrong, would otherwise raise the watermark and make all other elements late. The arrival
time also advances the watermark while no elements come. Azure Stream Analytics works this way;
Flink has nothing like it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic

from flinkish.api.arguments import length_from_zero, positive_length
from flinkish.api.errors import InvalidProgramError
from flinkish.api.eventtime.watermarks import TimestampAssignerLike, assigner_call
from flinkish.api.functions.adapt import key_call
from flinkish.api.functions.functions import KeySelectorLike
from flinkish.api.output_tag import OutputTag, checked_tag
from flinkish.api.stored_names import stored_as
from flinkish.api.time.durations import TimeLike
from flinkish.api.type_variables import T
from flinkish.api.types.fields import Field


class OrderingPolicy(enum.Enum):
    """The treatment of an element whose timestamp is too late or out of order."""

    DROP = "drop"
    """Drop it; it goes to the side output for dead letters, if one is set."""
    ADJUST = "adjust"
    """Set its timestamp to the nearest one that is allowed. Its fields stay unchanged."""


@stored_as("DeadLetterReason")
class DeadLetterReason(enum.Enum):
    """The reason for which an element was dropped."""

    EARLY = "early"
    """Its timestamp is too far after its arrival."""
    LATE = "late"
    """It arrived too long after its timestamp, or after its windows had closed."""
    OUT_OF_ORDER = "out of order"
    """Its timestamp is below the watermark."""


@stored_as("DeadLetter")
@dataclass(frozen=True)
class DeadLetter(Generic[T]):
    """An element that was dropped, with the reason."""

    value: T
    timestamp: int | None
    """Its original timestamp, in ms."""
    arrival: int
    """Its arrival time, in ms."""
    reason: DeadLetterReason


@dataclass(frozen=True, kw_only=True)
class ArrivalTimeStrategy(Generic[T]):
    """Timestamps and watermarks from event time and arrival time together, for
    ``DataStream.assignTimestampsAndWatermarks``. Flink has nothing like it.

    Each element is checked in this order:

    1. too early (timestamp - arrival > ``earlyArrivalTolerance``): dropped;
    2. too late (arrival - timestamp > ``lateArrivalTolerance``): dropped, or its timestamp becomes
       arrival - tolerance;
    3. out of order (timestamp below the watermark): dropped, or its timestamp becomes the watermark.

    Then the watermark rises to the highest timestamp so far - ``outOfOrderTolerance``. While no
    elements come, it follows the estimated arrival time (the last arrival plus the time since) -
    ``lateArrivalTolerance``. It is the lowest timestamp that may still come, so the ``Watermark`` that
    is emitted, after every run of elements, is 1 ms below it.

    >>> from flinkish import ArrivalTimeStrategy, Time
    >>> from flinkish.testing import StreamTestHarness
    >>> strategy = ArrivalTimeStrategy(
    ...     timestampAssigner=lambda reading, timestamp: reading["at"],
    ...     arrivalTime=lambda reading, timestamp: reading["enqueued"],
    ...     lateArrivalTolerance=Time.seconds(5),
    ... )
    >>> harness = StreamTestHarness(lambda s: s.assignTimestampsAndWatermarks(strategy))
    >>> harness.processElement({"at": 1_000, "enqueued": 9_000})
    >>> harness.getOutput()[0]
    StreamRecord(value={'at': 1000, 'enqueued': 9000}, timestamp=4000)
    """

    timestampAssigner: TimestampAssignerLike[T] | Field | None = None
    """The event time of an element in ms, or the field that holds it; None: its arrival time."""
    arrivalTime: TimestampAssignerLike[T] | Field | None = None
    """The arrival time of an element in ms, such as the time when a broker enqueued it, or the field
    that holds it; None: the clock when it is read."""
    earlyArrivalTolerance: TimeLike | None = None
    """The maximum by which a timestamp may be after the arrival; None: any."""
    lateArrivalTolerance: TimeLike | None = None
    """The maximum by which a timestamp may be before the arrival; None: any, and the watermark does
    not move without elements."""
    lateArrivalPolicy: OrderingPolicy = OrderingPolicy.ADJUST
    outOfOrderTolerance: TimeLike = 0
    """The delay of the watermark behind the highest timestamp."""
    outOfOrderPolicy: OrderingPolicy = OrderingPolicy.ADJUST
    substreamKey: KeySelectorLike[T, Any] | Field | None = None
    """Gives every key a separate watermark, against which its elements are checked. The watermark
    of the stream is the lowest of them, except those that lag behind arrival -
    ``lateArrivalTolerance``. An element must not be below the watermark of the stream either, so
    the first elements of a new key may be adjusted or dropped. Keys are never forgotten."""
    independentSubstreams: bool = False
    """Keep the watermark of the stream at arrival - ``lateArrivalTolerance``, the lowest timestamp that
    a new key may begin with. Then each key is treated as if it were the only one, but windows
    close later by that tolerance."""
    inputPartition: KeySelectorLike[T, Any] | Field | None = None
    """Selects the partition of the input that an element is from, or names the field that holds it.
    Each partition has a separate watermark, which follows its arrivals; the watermark of the
    stream is the lowest of them. A partition counts from its first element on, and is never
    forgotten. None: directly after a source its splits (``Source.withSplits``) are the partitions; any
    other stream is one partition."""
    inOrder: bool = False
    """Emit elements in the order of their timestamps, and those of one timestamp as they came: each
    waits until the watermark of the stream has reached it. Without a tolerance, substreams and
    partitions nothing waits, as elements are in order then."""
    deadLetters: OutputTag[DeadLetter[T]] | None = None
    """The side output for dropped elements."""
    estimateInterval: TimeLike = 1_000
    """The interval at which a batch runs to advance the watermark while no elements come."""

    def __post_init__(self) -> None:
        for name in ("earlyArrivalTolerance", "lateArrivalTolerance", "outOfOrderTolerance"):
            if (length := getattr(self, name)) is not None:
                length = length_from_zero(f"ArrivalTimeStrategy: {name}", length)
                object.__setattr__(self, name, length)
        interval = positive_length("ArrivalTimeStrategy: estimateInterval", self.estimateInterval)
        object.__setattr__(self, "estimateInterval", interval)
        for name in ("timestampAssigner", "arrivalTime"):
            time_call(f"ArrivalTimeStrategy: {name}", getattr(self, name))
        for name in ("substreamKey", "inputPartition"):
            selector = getattr(self, name)
            if selector is not None:
                key_call(selector, f"ArrivalTimeStrategy: {name}")
        if self.independentSubstreams and None in (self.substreamKey, self.lateArrivalTolerance):
            raise InvalidProgramError(
                "ArrivalTimeStrategy: independentSubstreams is set, but it needs both substreamKey and"
                " lateArrivalTolerance, the distance by which a new key may lag behind. Set both."
            )
        if self.deadLetters is not None:
            checked_tag("ArrivalTimeStrategy: deadLetters", self.deadLetters)

    @property
    def holdsElements(self) -> bool:
        """Whether elements wait for the watermark."""
        several = self.substreamKey is not None or self.inputPartition is not None
        return self.inOrder and (several or self.outOfOrderTolerance != 0)


TimeCall = Callable[[Any, int], int]


@dataclass(frozen=True)
class FieldTime:
    """Reads a time from a field of an element."""

    read: Callable[[Any], int]

    def __call__(self, element: Any, timestamp: int) -> int:
        return self.read(element)


@dataclass(frozen=True)
class TimeOfSome:
    """An arrival time that not all elements have: the others arrive when they are read."""

    read: Callable[[Any], int | None]

    def __call__(self, element: Any, timestamp: int) -> int | None:
        return self.read(element)


def time_call(method: str, time: TimestampAssignerLike[Any] | Field | None) -> TimeCall | None:
    """``time`` as ``f(element, timestamp)``; None stays None.

    Raises InvalidProgramError or IllegalArgumentError, which name ``method``, for anything that is
    neither a field nor a function.
    """
    if time is None:
        return None
    if isinstance(time, (str, int)):
        return FieldTime(key_call(time, method))
    return assigner_call(method, time)
