"""Event time: timestamp assigners, watermark generators, and ``WatermarkStrategy``, which combines them.

In *event time* an element belongs where its own timestamp says, whenever it arrives. As elements arrive
out of order, an operator must know when it has seen all of a period. A *watermark* says so:
``Watermark(t)`` promises that no element with a timestamp <= t will follow. Windows ending at or before
t can fire, and timers up to t are due. Watermarks travel in the stream among its elements.

A promise is a guess. A generator that waits longer gives complete but later results; one that waits
less makes more elements *late*, which means at or below the watermark. With
``forBoundedOutOfOrderness`` of 5 s:

==================  ====================  ====================================================
element at (ms)     highest timestamp     watermark
==================  ====================  ====================================================
10 000              10 000                4 999
7 000               10 000                4 999: 3 s out of order is within the bound
16 000              16 000                10 999: the window [0, 10 000) fires
9 000               16 000                10 999: this element is late
==================  ====================  ====================================================

An operator with several inputs has the lowest watermark of those that are not *idle*. So one input
without elements would hold all others back; ``withIdleness`` marks it idle after a while.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Self, Union, overload

from typing_extensions import TypeVar

from flinkish.api.absent import AbsentMethods
from flinkish.api.arguments import length_from_zero, positive_length, text
from flinkish.api.eventtime.clock import ManualClock, RelativeClock
from flinkish.api.functions.adapt import checked_callable
from flinkish.api.short_lengths import length_of_user
from flinkish.api.stored_names import stored_as
from flinkish.api.time.durations import TimeLike
from flinkish.api.time.elements import MIN_TIMESTAMP, Watermark

# An element type that an assigner alone decides. For an unknown parameter of a lambda pyright uses
# the bound, mypy the default.
T = TypeVar("T", bound=Any, default=Any)
T_contra = TypeVar("T_contra", contravariant=True, default=object)


class WatermarkOutput(ABC):
    """Receives the watermarks of a generator (Flink: ``WatermarkOutput``)."""

    __slots__ = ()

    @abstractmethod
    def emitWatermark(self, watermark: Watermark) -> None:
        """Emit ``watermark``, and mark this input active. A watermark not above the last is ignored."""

    @abstractmethod
    def markIdle(self) -> None:
        """Mark this input idle: until its next watermark it does not hold others back."""

    @abstractmethod
    def markActive(self) -> None:
        """Mark this input active: it takes part in the watermark again."""


class WatermarkGenerator(ABC, Generic[T_contra]):
    """Generates watermarks from the elements that pass (Flink: ``WatermarkGenerator``).

    Its attributes are checkpointed with the job, so they must be picklable; in Flink they are not.

    A *punctuated* generator emits in ``onEvent``, a *periodic* one only notes the element there and
    emits in ``onPeriodicEmit``:

    >>> class EndMarkers(WatermarkGenerator[dict]):
    ...     def onEvent(self, event, eventTimestamp, output):
    ...         if event["kind"] == "end":
    ...             output.emitWatermark(Watermark(eventTimestamp))
    ...     def onPeriodicEmit(self, output):
    ...         pass
    >>> strategy = WatermarkStrategy.forGenerator(lambda context: EndMarkers())
    """

    @abstractmethod
    def onEvent(self, event: T_contra, eventTimestamp: int, output: WatermarkOutput) -> None:
        """Called for every element with its timestamp in ms, right after the element was emitted.

        A watermark emitted here takes effect before the next element.
        """

    @abstractmethod
    def onPeriodicEmit(self, output: WatermarkOutput) -> None:
        """Called on Spark at the end of every batch that brings the generator elements or a tick of
        the clock; in the harness once per auto-watermark interval, as in Flink."""

    def nextPeriodicEmit(self) -> int | None:
        """The processing time (ms) at which to call ``onPeriodicEmit`` even if no element comes. None,
        the default: only elements move the watermark.

        Flink calls at every interval and needs no such method. On Spark a call without elements
        costs a batch, so a generator that reads the clock (``getInputActivityClock`` of its
        context) says when the next call is worth one. The harness calls at that time as well as at
        every auto-watermark interval.
        """
        return None


@stored_as("BoundedOutOfOrdernessWatermarks")
class BoundedOutOfOrdernessWatermarks(WatermarkGenerator[Any]):
    """Emits the highest timestamp - ``maxOutOfOrderness`` - 1 ms, periodically (Flink:
    ``BoundedOutOfOrdernessWatermarks``).

    The 1 ms is there because another element with the lowest timestamp allowed may still come.
    """

    def __init__(self, maxOutOfOrderness: TimeLike) -> None:
        self.outOfOrdernessMillis = length_from_zero(
            f"{type(self).__name__}: maxOutOfOrderness", maxOutOfOrderness
        )
        self.maxTimestamp = MIN_TIMESTAMP + self.outOfOrdernessMillis + 1

    def onEvent(self, event: Any, eventTimestamp: int, output: WatermarkOutput) -> None:
        self.maxTimestamp = max(self.maxTimestamp, eventTimestamp)

    def onPeriodicEmit(self, output: WatermarkOutput) -> None:
        output.emitWatermark(Watermark(self.maxTimestamp - self.outOfOrdernessMillis - 1))


@stored_as("AscendingTimestampsWatermarks")
class AscendingTimestampsWatermarks(BoundedOutOfOrdernessWatermarks):
    """For timestamps that never decrease: emits the highest timestamp - 1 ms, periodically (Flink:
    ``AscendingTimestampsWatermarks``)."""

    def __init__(self) -> None:
        super().__init__(0)


@stored_as("NoWatermarksGenerator")
class NoWatermarksGenerator(WatermarkGenerator[Any]):
    """Never emits a watermark, for jobs in processing time (Flink: ``NoWatermarksGenerator``)."""

    def onEvent(self, event: Any, eventTimestamp: int, output: WatermarkOutput) -> None:
        pass

    def onPeriodicEmit(self, output: WatermarkOutput) -> None:
        pass


class TimestampAssigner(ABC, Generic[T_contra]):
    """Extracts the timestamp of an element (Flink: ``TimestampAssigner``)."""

    @abstractmethod
    def extractTimestamp(self, element: T_contra, recordTimestamp: int) -> int:
        """The timestamp of ``element`` in ms since the epoch.

        ``recordTimestamp`` is the timestamp that it has already, -2**63 if none.
        """


SerializableTimestampAssigner = TimestampAssigner
"""``TimestampAssigner``: every function is pickled (Flink: ``SerializableTimestampAssigner``)."""


@dataclass(frozen=True)
class WatermarkGeneratorContext:
    """The argument of a generator supplier (Flink: ``WatermarkGeneratorSupplier.Context``).

    ``inputActivityClock`` is returned by ``getInputActivityClock``; by default it is a clock that
    stands still.
    """

    inputActivityClock: RelativeClock = field(default_factory=ManualClock)

    def getInputActivityClock(self) -> RelativeClock:
        """The processing-time clock of the input; on Spark it shows the timestamp of the batch. A
        generator may keep it in an attribute: after a restart it shows the current time again."""
        return self.inputActivityClock


@dataclass(frozen=True)
class TimestampAssignerContext:
    """The argument of a timestamp assigner supplier (Flink: ``TimestampAssignerSupplier.Context``);
    it is empty."""


GeneratorSupplier = Callable[[WatermarkGeneratorContext], WatermarkGenerator[T]]


TimestampAssignerLike = Union[TimestampAssigner[T], Callable[[T, int], int]]


@dataclass(frozen=True)
class WatermarkAlignmentParams:
    """The arguments of ``withWatermarkAlignment`` (Flink: ``WatermarkAlignmentParams``); times in
    ms."""

    maxAllowedWatermarkDrift: int
    watermarkGroup: str
    updateInterval: int


@dataclass(frozen=True)
class WatermarkStrategy(AbsentMethods, Generic[T_contra]):
    """How a stream gets timestamps and watermarks (Flink: ``WatermarkStrategy``).

    It combines a supplier of watermark generators, a timestamp assigner and an idle timeout; pass
    it to ``env.fromSource`` or ``stream.assignTimestampsAndWatermarks``. Each method returns a new
    strategy and leaves this one unchanged.

    On Spark a periodic generator emits at the end of each batch, not by a timer: the watermark is as
    far as the elements of the batch allow.

    >>> strategy = (
    ...     WatermarkStrategy.forBoundedOutOfOrderness(5_000)
    ...     .withTimestampAssigner(lambda event, timestamp: event["at"])
    ...     .withIdleness(60_000)
    ... )
    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(lambda s: s.assignTimestampsAndWatermarks(strategy))
    >>> harness.processElement({"at": 10_000})
    >>> harness.setProcessingTime(200)
    >>> harness.getOutput()
    [StreamRecord(value={'at': 10000}, timestamp=10000), Watermark(timestamp=4999)]
    """

    generatorSupplier: GeneratorSupplier[T_contra]
    timestampAssigner: TimestampAssignerLike[T_contra] | None = None
    idleTimeout: int | None = None
    """Milliseconds of processing time without an element after which the input is idle."""
    alignment: WatermarkAlignmentParams | None = None
    """The group of sources with which its watermark is aligned."""

    def __post_init__(self) -> None:
        supplied = "f(context), which makes a WatermarkGenerator"
        checked_callable("forGenerator", self.generatorSupplier, supplied, 1)
        if self.timestampAssigner is not None:
            assigner_call("withTimestampAssigner", self.timestampAssigner)

    @staticmethod
    def forMonotonousTimestamps() -> WatermarkStrategy[T_contra]:
        """For timestamps that never decrease: the watermark is the highest timestamp - 1 ms."""
        return WatermarkStrategy(lambda context: AscendingTimestampsWatermarks())

    @staticmethod
    def forBoundedOutOfOrderness(maxOutOfOrderness: TimeLike) -> WatermarkStrategy[T_contra]:
        """For elements up to ``maxOutOfOrderness`` (ms if an int) older than the newest so far: the
        watermark is the highest timestamp - ``maxOutOfOrderness`` - 1 ms.

        Raises IllegalArgumentError if ``maxOutOfOrderness`` is negative.
        """
        length = length_of_user("forBoundedOutOfOrderness: maxOutOfOrderness", maxOutOfOrderness)
        bound = BoundedOutOfOrdernessWatermarks(length).outOfOrdernessMillis
        return WatermarkStrategy(lambda context: BoundedOutOfOrdernessWatermarks(bound))

    @staticmethod
    def noWatermarks() -> WatermarkStrategy[T_contra]:
        """Without watermarks, for jobs in processing time."""
        return WatermarkStrategy(lambda context: NoWatermarksGenerator())

    @staticmethod
    def forGenerator(generatorSupplier: GeneratorSupplier[T]) -> WatermarkStrategy[T]:
        """With your own generators, created by ``generatorSupplier(context)``.

        The supplier is called once for each generator that runs, and once more when the job starts,
        to determine their class.
        """
        return WatermarkStrategy(generatorSupplier)

    @overload
    def withTimestampAssigner(
        self: WatermarkStrategy[object], assigner: TimestampAssignerLike[T]
    ) -> WatermarkStrategy[T]: ...

    @overload
    def withTimestampAssigner(
        self, assigner: TimestampAssignerLike[T_contra]
    ) -> WatermarkStrategy[T_contra]: ...

    def withTimestampAssigner(self, assigner: TimestampAssignerLike[Any]) -> WatermarkStrategy[Any]:
        """With timestamps from ``assigner``: a TimestampAssigner or ``f(element, timestamp)``, which
        returns ms since the epoch.

        Its argument ``timestamp`` is the one set by the source, -2**63 if there is none.
        """
        assigner_call("withTimestampAssigner", assigner)
        return replace(self, timestampAssigner=assigner)

    def withIdleness(self, idleTimeout: TimeLike) -> Self:
        """Mark an input idle after ``idleTimeout`` (ms if an int) of processing time without elements,
        so that it does not hold the watermark of other inputs back.

        The watermark does not advance by this alone. Raises IllegalArgumentError unless
        ``idleTimeout`` is above 0.
        """
        subject = "withIdleness: idleTimeout"
        timeout = length_of_user(subject, idleTimeout)
        return replace(self, idleTimeout=positive_length(subject, timeout))

    def withWatermarkAlignment(
        self,
        watermarkGroup: str,
        maxAllowedWatermarkDrift: TimeLike,
        updateInterval: TimeLike = 1_000,
    ) -> Self:
        """Pause a source while its watermark is ahead of the lowest in ``watermarkGroup`` by more
        than ``maxAllowedWatermarkDrift``; it is checked again after ``updateInterval`` (both ms if
        an int).

        A source pauses between two batches, so it may exceed the drift by what one batch reads:
        keep batches small with ``FileSource.withFilesPerBatch`` or ``setElementsPerBatch``. This
        works for sources whose batches flinkish plans: files, collections, generators, KafkaSource,
        and your own.
        """
        return replace(
            self,
            alignment=WatermarkAlignmentParams(
                length_from_zero(
                    "withWatermarkAlignment: maxAllowedWatermarkDrift", maxAllowedWatermarkDrift
                ),
                text("withWatermarkAlignment: watermarkGroup", watermarkGroup),
                positive_length("withWatermarkAlignment: updateInterval", updateInterval),
            ),
        )

    def createWatermarkGenerator(
        self, context: WatermarkGeneratorContext | None = None
    ) -> WatermarkGenerator[T_contra]:
        """A new generator of this strategy, created with ``context``."""
        return self.generatorSupplier(context or WatermarkGeneratorContext())


def assigner_call(method: str, assigner: TimestampAssignerLike[T]) -> Callable[[T, int], int]:
    """``assigner`` as a callable. Raises InvalidProgramError, which names ``method``, if it is none."""
    if isinstance(assigner, TimestampAssigner):
        return assigner.extractTimestamp
    return checked_callable(method, assigner, "a TimestampAssigner or f(element, timestamp)", 2)
