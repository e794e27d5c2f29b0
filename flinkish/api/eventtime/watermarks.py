"""Event time: timestamp assigners, watermark generators, and the strategy that joins the two."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NoReturn, Union, overload

from typing_extensions import TypeVar

from flinkish.api.arguments import length_from_zero, positive_length
from flinkish.api.errors import NotSupportedError
from flinkish.api.eventtime.clock import ManualClock, RelativeClock
from flinkish.api.functions.adapt import checked_callable
from flinkish.api.stored_names import stored_as
from flinkish.api.time.durations import TimeLike
from flinkish.api.time.elements import MIN_TIMESTAMP, Watermark

# For what an assigner alone decides. pyright takes an unknown parameter of a lambda to be of the
# bound, mypy of the default.
T = TypeVar("T", bound=Any, default=Any)
T_contra = TypeVar("T_contra", contravariant=True, default=object)


class WatermarkOutput(ABC):
    """Where a generator puts its watermarks (Flink: ``WatermarkOutput``)."""

    __slots__ = ()

    @abstractmethod
    def emitWatermark(self, watermark: Watermark) -> None:
        """Emit ``watermark``; one that is not above the last is ignored. Also marks active."""

    @abstractmethod
    def markIdle(self) -> None:
        """This input does not hold the watermark back until the next watermark."""

    @abstractmethod
    def markActive(self) -> None:
        """This input takes part in the watermark again."""


class WatermarkGenerator(ABC, Generic[T_contra]):
    """Makes watermarks from the elements it sees (Flink: ``WatermarkGenerator``).

    What lives in its attributes is checkpointed with the job, so it must be picklable.
    """

    @abstractmethod
    def onEvent(self, event: T_contra, eventTimestamp: int, output: WatermarkOutput) -> None:
        """Called for every element, with its timestamp in ms, right after the element went on.

        A watermark emitted here is visible to the very next element.
        """

    @abstractmethod
    def onPeriodicEmit(self, output: WatermarkOutput) -> None:
        """Called on Spark once at the end of every batch that brings the generator elements or a tick
        of the clock, and on the harness once per auto-watermark interval."""

    def nextPeriodicEmit(self) -> int | None:
        """When the clock must call ``onPeriodicEmit`` even if no element comes: in ms of processing
        time, or None (the default) if elements alone move the watermark.

        Flink calls every interval and so needs no such method. On Spark a call without elements
        costs a batch, so a generator that reads the clock (``getInputActivityClock`` of the context
        it is made with) says when the next is worth it. The harness calls then too, beside every
        auto-watermark interval.
        """
        return None


@stored_as("BoundedOutOfOrdernessWatermarks")
class BoundedOutOfOrdernessWatermarks(WatermarkGenerator[Any]):
    """Emits ``maxTimestamp - bound - 1`` (Flink: the class of this name)."""

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
    """For timestamps that never fall: bounded out-of-orderness with a bound of 0 ms (Flink:
    ``AscendingTimestampsWatermarks``)."""

    def __init__(self) -> None:
        super().__init__(0)


@stored_as("NoWatermarksGenerator")
class NoWatermarksGenerator(WatermarkGenerator[Any]):
    """Never emits a watermark: for jobs in processing time (Flink: ``NoWatermarksGenerator``)."""

    def onEvent(self, event: Any, eventTimestamp: int, output: WatermarkOutput) -> None:
        pass

    def onPeriodicEmit(self, output: WatermarkOutput) -> None:
        pass


class TimestampAssigner(ABC, Generic[T_contra]):
    """Gives an element its timestamp (Flink: ``TimestampAssigner``)."""

    @abstractmethod
    def extractTimestamp(self, element: T_contra, recordTimestamp: int) -> int:
        """The timestamp of ``element`` in ms since the epoch.

        ``recordTimestamp`` is the one it has so far, -2**63 if none.
        """


@dataclass(frozen=True)
class WatermarkGeneratorContext:
    """Passed to the function that makes a generator (Flink: ``WatermarkGeneratorSupplier.Context``).

    ``inputActivityClock`` is what ``getInputActivityClock`` gives; by default a clock that stands.
    """

    inputActivityClock: RelativeClock = field(default_factory=ManualClock)

    def getInputActivityClock(self) -> RelativeClock:
        """The processing-time clock of the input, on Spark the batch's. A generator may keep it: it
        is still the running one after a restart."""
        return self.inputActivityClock


@dataclass(frozen=True)
class TimestampAssignerContext:
    """Passed to the function that makes a timestamp assigner (Flink:
    ``TimestampAssignerSupplier.Context``); empty, as there is nothing to know."""


GeneratorSupplier = Callable[[WatermarkGeneratorContext], WatermarkGenerator[T]]


TimestampAssignerLike = Union[TimestampAssigner[T], Callable[[T, int], int]]


@dataclass(frozen=True)
class WatermarkStrategy(Generic[T_contra]):
    """How a stream gets timestamps and watermarks (Flink: ``WatermarkStrategy``).

    >>> strategy = (
    ...     WatermarkStrategy.forBoundedOutOfOrderness(5_000)
    ...     .withTimestampAssigner(lambda event, timestamp: event["at"])
    ... )
    """

    generatorSupplier: GeneratorSupplier[T_contra]
    timestampAssigner: TimestampAssignerLike[T_contra] | None = None
    idleTimeout: int | None = None
    """Milliseconds of processing time without an element after which the input is idle."""

    def __post_init__(self) -> None:
        supplied = "f(context), which makes a WatermarkGenerator"
        checked_callable("forGenerator", self.generatorSupplier, supplied, 1)
        if self.timestampAssigner is not None:
            assigner_call("withTimestampAssigner", self.timestampAssigner)

    @staticmethod
    def forMonotonousTimestamps() -> WatermarkStrategy[T_contra]:
        """For timestamps that never fall: the watermark is the highest timestamp - 1 ms."""
        return WatermarkStrategy(lambda context: AscendingTimestampsWatermarks())

    @staticmethod
    def forBoundedOutOfOrderness(maxOutOfOrderness: TimeLike) -> WatermarkStrategy[T_contra]:
        """For elements that come at most ``maxOutOfOrderness`` after a later one: the watermark is the
        highest timestamp - ``maxOutOfOrderness`` - 1 ms.

        Raises IllegalArgumentError if it is negative.
        """
        bound = BoundedOutOfOrdernessWatermarks(maxOutOfOrderness).outOfOrdernessMillis
        return WatermarkStrategy(lambda context: BoundedOutOfOrdernessWatermarks(bound))

    @staticmethod
    def noWatermarks() -> WatermarkStrategy[T_contra]:
        """Never a watermark: for jobs in processing time."""
        return WatermarkStrategy(lambda context: NoWatermarksGenerator())

    @staticmethod
    def forGenerator(generatorSupplier: GeneratorSupplier[T]) -> WatermarkStrategy[T]:
        """With generators of your own, made by ``generatorSupplier(context)``.

        It is called for each generator that runs, and once more where the job is started, to see of
        what class they are.
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
        """With timestamps from ``assigner``: a TimestampAssigner or ``f(element, timestamp)``."""
        assigner_call("withTimestampAssigner", assigner)
        return replace(self, timestampAssigner=assigner)

    def withIdleness(self, idleTimeout: TimeLike) -> WatermarkStrategy[T_contra]:
        """Mark an input idle after ``idleTimeout`` of processing time without an element.

        Raises IllegalArgumentError unless it is above 0.
        """
        return replace(self, idleTimeout=positive_length("withIdleness: idleTimeout", idleTimeout))

    def withWatermarkAlignment(self, *arguments: object) -> NoReturn:
        """Refused: Spark reads sources in batches, and no source can be told to wait for another."""
        raise NotSupportedError(
            "withWatermarkAlignment is not supported: Spark reads what there is of every source. What"
            " is ahead waits in state for the lowest watermark, so results are the same. To keep"
            " that state small, limit how much a batch reads of the source that is ahead:"
            " FileSource.withFilesPerBatch(n), or the options of Spark's reader"
            " (maxOffsetsPerTrigger for Kafka)."
        )

    def createWatermarkGenerator(
        self, context: WatermarkGeneratorContext | None = None
    ) -> WatermarkGenerator[T_contra]:
        """A new generator of this strategy, which runs with ``context``."""
        return self.generatorSupplier(context or WatermarkGeneratorContext())


def assigner_call(method: str, assigner: TimestampAssignerLike[T]) -> Callable[[T, int], int]:
    """The assigner as a callable; raises InvalidProgramError, which names ``method``."""
    if isinstance(assigner, TimestampAssigner):
        return assigner.extractTimestamp
    return checked_callable(method, assigner, "a TimestampAssigner or f(element, timestamp)", 2)
