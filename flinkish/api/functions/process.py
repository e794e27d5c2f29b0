"""Functions that see each element with its time and its timers: the process functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, Generic, TypeAlias, Union

from typing_extensions import TypeAliasType, TypeVar

from flinkish.api.functions.functions import Collector, RichFunction, declares_methods
from flinkish.api.output_tag import OutputTag

T_contra = TypeVar("T_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)
K_contra = TypeVar("K_contra", contravariant=True)
X = TypeVar("X")
K_co = TypeVar("K_co", covariant=True, default=Any)


class TimeDomain(Enum):
    """Which clock a timer goes by (Flink: ``TimeDomain``)."""

    EVENT_TIME = "EVENT_TIME"
    """The watermark."""
    PROCESSING_TIME = "PROCESSING_TIME"
    """The clock of the machine; on Spark the batch's timestamp."""


class TimerService(ABC):
    """The clocks, and the timers of the current key (Flink: ``TimerService``). Times are in ms.

    Timers are only there on a keyed stream; elsewhere setting one raises IllegalStateError.
    """

    __slots__ = ()

    @abstractmethod
    def currentProcessingTime(self) -> int:
        """The processing-time clock."""

    @abstractmethod
    def currentWatermark(self) -> int:
        """The watermark, -2**63 before the first."""

    @abstractmethod
    def registerProcessingTimeTimer(self, time: int) -> None:
        """Call ``onTimer`` when the clock reaches ``time``. Twice is once."""

    @abstractmethod
    def registerEventTimeTimer(self, time: int) -> None:
        """Call ``onTimer`` when the watermark reaches ``time``. Twice is once."""

    @abstractmethod
    def deleteProcessingTimeTimer(self, time: int) -> None:
        """Delete the timer; does nothing if there is none."""

    @abstractmethod
    def deleteEventTimeTimer(self, time: int) -> None:
        """Delete the timer; does nothing if there is none."""


class ProcessContext(ABC):
    """What all contexts of process functions offer (Flink: ``ProcessFunction.Context``). Good only
    during the call it is passed to."""

    __slots__ = ()

    @abstractmethod
    def timestamp(self) -> int | None:
        """The timestamp in ms of the element or timer at hand, None if the element has none."""

    @abstractmethod
    def timerService(self) -> TimerService:
        """The clocks and timers."""

    @abstractmethod
    def output(self, outputTag: OutputTag[X], value: X) -> None:
        """Emit ``value`` to a side output, with the timestamp of the element or timer at hand."""


class KeyedProcessContext(ProcessContext, Generic[K_co]):
    """A context under a current key (Flink: ``KeyedProcessFunction.Context``)."""

    __slots__ = ()

    @abstractmethod
    def getCurrentKey(self) -> K_co:
        """The key of the element or timer at hand."""


class TimerContext(ProcessContext):
    """A context of a timer (Flink: ``ProcessFunction.OnTimerContext``)."""

    __slots__ = ()

    @abstractmethod
    def timeDomain(self) -> TimeDomain:
        """Which clock the timer went by."""


class KeyedTimerContext(TimerContext, KeyedProcessContext[K_co], Generic[K_co]):
    """A context of a timer under a current key (Flink: ``KeyedProcessFunction.OnTimerContext``)."""

    __slots__ = ()


@declares_methods
class ProcessFunction(RichFunction, ABC, Generic[T_contra, R_co]):
    """One element in, any number out, to the main and to side outputs (Flink: ``ProcessFunction``).

    >>> class Split(ProcessFunction[int, int]):
    ...     odd = OutputTag[int]("odd")
    ...     def processElement(self, value, ctx, out):
    ...         if value % 2:
    ...             ctx.output(self.odd, value)
    ...         else:
    ...             out.collect(value)
    """

    Context: TypeAlias = ProcessContext
    OnTimerContext: TypeAlias = TimerContext

    @abstractmethod
    def processElement(
        self, value: T_contra, ctx: ProcessContext, out: Collector[R_co]
    ) -> Iterable[R_co] | None:
        """Called for every element; write to ``out``, or return or yield the results, which get the
        element's timestamp."""


@declares_methods
class KeyedProcessFunction(RichFunction, ABC, Generic[K_contra, T_contra, R_co]):
    """A process function under a key, with keyed state and timers (Flink: ``KeyedProcessFunction``).

    Emits a key once it has been quiet for a minute of event time:

    >>> class Quiet(KeyedProcessFunction[str, tuple[str, int], str]):
    ...     def open(self, openContext):
    ...         from flinkish.api.functions.state import ValueStateDescriptor
    ...         self.last = self.getRuntimeContext().getState(ValueStateDescriptor("last"))
    ...     def processElement(self, value, ctx, out):
    ...         self.last.update(ctx.timestamp())
    ...         ctx.timerService().registerEventTimeTimer(ctx.timestamp() + 60_000)
    ...     def onTimer(self, timestamp, ctx, out):
    ...         if timestamp == self.last.value() + 60_000:
    ...             out.collect(ctx.getCurrentKey())
    """

    Context = TypeAliasType("Context", KeyedProcessContext[K_co], type_params=(K_co,))
    OnTimerContext = TypeAliasType("OnTimerContext", KeyedTimerContext[K_co], type_params=(K_co,))

    @abstractmethod
    def processElement(
        self, value: T_contra, ctx: KeyedProcessContext[K_contra], out: Collector[R_co]
    ) -> Iterable[R_co] | None:
        """Called for every element; write to ``out``, or return or yield the results, which get the
        element's timestamp."""

    def onTimer(
        self, timestamp: int, ctx: KeyedTimerContext[K_contra], out: Collector[R_co]
    ) -> Iterable[R_co] | None:
        """Called when a timer is due, under the key it was registered under.

        What it writes to ``out``, returns or yields gets the timer's timestamp in event time, and none
        in processing time.
        """
        return None


ProcessLike = Union[
    ProcessFunction[T_contra, R_co],
    Callable[[T_contra, ProcessContext, Collector[R_co]], Iterable[R_co] | None],
]


KeyedProcessLike = Union[
    KeyedProcessFunction[K_contra, T_contra, R_co],
    ProcessFunction[T_contra, R_co],
    Callable[[T_contra, KeyedProcessContext[K_contra], Collector[R_co]], Iterable[R_co] | None],
]
