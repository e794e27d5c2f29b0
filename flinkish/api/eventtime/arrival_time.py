"""Event time held against arrival time: what is too early, too late or out of order, and what then.

The time when an element arrived bounds what its own timestamp may be, gives the watermark something
to go by while nothing comes, and lets clocks of several senders drift apart only so far.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from flinkish.api.errors import IllegalArgumentError, InvalidProgramError, shown
from flinkish.api.eventtime.watermarks import TimestampAssignerLike, assigner_call
from flinkish.api.functions.adapt import key_call
from flinkish.api.functions.functions import KeySelectorLike
from flinkish.api.output_tag import OutputTag
from flinkish.api.stored_names import stored_as
from flinkish.api.time.durations import TimeLike, to_milliseconds
from flinkish.api.types.fields import Field

T = TypeVar("T")


class OrderingPolicy(enum.Enum):
    """What happens to an element whose timestamp will not do."""

    DROP = "drop"
    """It goes to the dead letters, if there are any, and nowhere else."""
    ADJUST = "adjust"
    """It gets the nearest timestamp that will do. Its fields stay."""


@stored_as("DeadLetterReason")
class DeadLetterReason(enum.Enum):
    """Why an element was dropped."""

    EARLY = "early"
    """Its timestamp is too far after its arrival."""
    LATE = "late"
    """It came too late: too long after its timestamp, or after its windows had closed."""
    OUT_OF_ORDER = "out of order"
    """Its timestamp is below the watermark."""


@stored_as("DeadLetter")
@dataclass(frozen=True)
class DeadLetter(Generic[T]):
    """An element that was dropped."""

    value: T
    timestamp: int | None
    """The timestamp that it came with, in ms."""
    arrival: int
    """When it arrived, in ms."""
    reason: DeadLetterReason


@dataclass(frozen=True, kw_only=True)
class ArrivalTimeStrategy(Generic[T]):
    """Timestamps and watermarks by event time and arrival time together. For
    ``DataStream.assignTimestampsAndWatermarks``; Flink has nothing like it.

    An element is looked at in this order:

    1. too early (timestamp - arrival > ``earlyArrivalTolerance``): dropped;
    2. too late (arrival - timestamp > ``lateArrivalTolerance``): dropped, or its timestamp becomes
       arrival - tolerance;
    3. out of order (timestamp below the watermark): dropped, or its timestamp becomes the watermark.

    Then the watermark rises to the highest timestamp so far - ``outOfOrderTolerance``. While nothing
    comes it follows the estimated arrival time (the last arrival and the time since) -
    ``lateArrivalTolerance``. It is the lowest timestamp that may still come; so Flink's ``Watermark``
    stands 1 ms below it. That goes out after every run of elements.

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
    """How far a timestamp may be after the arrival; None: any distance."""
    lateArrivalTolerance: TimeLike | None = None
    """How far a timestamp may be before the arrival; None: any distance, and without elements the
    watermark stands."""
    lateArrivalPolicy: OrderingPolicy = OrderingPolicy.ADJUST
    outOfOrderTolerance: TimeLike = 0
    """How far the watermark is behind the highest timestamp."""
    outOfOrderPolicy: OrderingPolicy = OrderingPolicy.ADJUST
    substreamKey: KeySelectorLike[T, Any] | Field | None = None
    """Gives every key a watermark of its own, by which its elements are judged. The stream has the
    lowest of them; one that lags behind arrival - ``lateArrivalTolerance`` does not hold it back.
    No element may be below the stream's either, and so the first ones of a new key may be adjusted
    or dropped. A key is remembered for good."""
    independentSubstreams: bool = False
    """Keep the stream's watermark at arrival - ``lateArrivalTolerance``, as low as a new key may
    begin. Then each key is judged as if it were the only one; but windows close so much later."""
    inputPartition: KeySelectorLike[T, Any] | Field | None = None
    """Says which partition of the input an element is of, or names the field that does. Each has a
    watermark of its own, by which its elements are judged and which follows its own arrivals; the
    stream has the lowest of them. A partition counts from its first element on, and is remembered for
    good. None: the splits of the source (``Source.withSplits``), while the elements are still those of
    the source; of another stream all is one partition."""
    deadLetters: OutputTag[DeadLetter[T]] | None = None
    """The side output for what is dropped."""
    estimateInterval: TimeLike = 1_000
    """How often, while nothing comes, a batch is worth its cost for the watermark to move on."""

    def __post_init__(self) -> None:
        self._hold("earlyArrivalTolerance", 0)
        self._hold("lateArrivalTolerance", 0)
        self._hold("outOfOrderTolerance", 0)
        self._hold("estimateInterval", 1)
        for name in ("timestampAssigner", "arrivalTime"):
            time_call(f"ArrivalTimeStrategy: {name}", getattr(self, name))
        for name in ("substreamKey", "inputPartition"):
            selector = getattr(self, name)
            if selector is not None:
                key_call(selector, f"ArrivalTimeStrategy: {name}")
        if self.independentSubstreams and None in (self.substreamKey, self.lateArrivalTolerance):
            raise InvalidProgramError(
                "ArrivalTimeStrategy: independentSubstreams is set, but not both of substreamKey and"
                " lateArrivalTolerance. Set them: a new key may begin so far behind the arrival."
            )
        if not (self.deadLetters is None or isinstance(self.deadLetters, OutputTag)):
            raise InvalidProgramError(
                f"ArrivalTimeStrategy: deadLetters is {shown(self.deadLetters)}, but must be an"
                ' OutputTag, such as OutputTag("dead letters"). Read it with getSideOutput on the'
                " result."
            )

    def _hold(self, name: str, lowest: int) -> None:
        """Turn a length of time into ms and refuse it below ``lowest``."""
        length = getattr(self, name)
        if length is None:
            return
        milliseconds = to_milliseconds(length)
        if milliseconds < lowest:
            raise IllegalArgumentError(
                f"ArrivalTimeStrategy: {name} is {milliseconds} ms, but must be at least {lowest} ms."
            )
        object.__setattr__(self, name, milliseconds)


TimeCall = Callable[[Any, int], int]


@dataclass(frozen=True)
class FieldTime:
    """The time that a field of an element holds."""

    read: Callable[[Any], int]

    def __call__(self, element: Any, timestamp: int) -> int:
        return self.read(element)


def time_call(method: str, time: TimestampAssignerLike[Any] | Field | None) -> TimeCall | None:
    """A time of an element as ``f(element, timestamp)``; raises InvalidProgramError or
    IllegalArgumentError, which name ``method``, for what is none."""
    if time is None:
        return None
    if isinstance(time, (str, int)):
        return FieldTime(key_call(time, method))
    return assigner_call(method, time)
