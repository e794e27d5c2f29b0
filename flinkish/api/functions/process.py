"""Process functions: the lowest level of the API, with time, timers, state and side outputs.

A ``KeyedProcessFunction`` can express any per-key logic: it keeps state for a key, registers timers, and
is called back when the watermark or the clock reaches them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, Generic, TypeAlias, Union

from typing_extensions import TypeAliasType, TypeVar

from flinkish.api.functions.functions import Collector, RichFunction, declares_methods
from flinkish.api.output_tag import OutputTag
from flinkish.api.type_variables import K_contra, R_co, T_contra, X

K_co = TypeVar("K_co", covariant=True, default=Any)


class TimeDomain(Enum):
    """Whether a timer is in event time or in processing time (Flink: ``TimeDomain``)."""

    EVENT_TIME = "EVENT_TIME"
    """Event time: the timer fires when the watermark reaches it."""
    PROCESSING_TIME = "PROCESSING_TIME"
    """Processing time: the timer fires when the clock reaches it; on Spark that is the timestamp of
    the batch."""


class TimerService(ABC):
    """The current times, and the timers of the current key (Flink: ``TimerService``). All times are in
    ms since the epoch.

    Timers need a keyed stream; on any other, registering one raises IllegalStateError. Timers are
    checkpointed. A key has at most one timer for each timestamp and time domain.
    """

    __slots__ = ()

    @abstractmethod
    def currentProcessingTime(self) -> int:
        """The processing-time clock."""

    @abstractmethod
    def currentWatermark(self) -> int:
        """The current watermark, -2**63 before the first."""

    @abstractmethod
    def registerProcessingTimeTimer(self, time: int) -> None:
        """Call ``onTimer`` when the clock reaches ``time``; does nothing if already registered."""

    @abstractmethod
    def registerEventTimeTimer(self, time: int) -> None:
        """Call ``onTimer`` when the watermark reaches ``time``; does nothing if already registered."""

    @abstractmethod
    def deleteProcessingTimeTimer(self, time: int) -> None:
        """Delete the timer, if it is registered."""

    @abstractmethod
    def deleteEventTimeTimer(self, time: int) -> None:
        """Delete the timer, if it is registered."""


class ProcessContext(ABC):
    """The base of all contexts of process functions (Flink: ``ProcessFunction.Context``).

    It is valid only during the call that it is passed to: one object serves all elements.
    """

    __slots__ = ()

    @abstractmethod
    def timestamp(self) -> int | None:
        """The timestamp (ms) of the current element or timer, None if it has none."""

    @abstractmethod
    def timerService(self) -> TimerService:
        """The current times and the timers."""

    @abstractmethod
    def output(self, outputTag: OutputTag[X], value: X) -> None:
        """Emit ``value`` to a side output, with the timestamp of the current element or timer."""


class KeyedProcessContext(ProcessContext, Generic[K_co]):
    """The context of an element on a keyed stream (Flink: ``KeyedProcessFunction.Context``)."""

    __slots__ = ()

    @abstractmethod
    def getCurrentKey(self) -> K_co:
        """The key of the current element or timer."""


class TimerContext(ProcessContext):
    """The context of a timer (Flink: ``ProcessFunction.OnTimerContext``)."""

    __slots__ = ()

    @abstractmethod
    def timeDomain(self) -> TimeDomain:
        """The time domain of the timer."""


class KeyedTimerContext(TimerContext, KeyedProcessContext[K_co], Generic[K_co]):
    """The context of a timer on a keyed stream (Flink: ``KeyedProcessFunction.OnTimerContext``)."""

    __slots__ = ()


@declares_methods
class ProcessFunction(RichFunction, ABC, Generic[T_contra, R_co]):
    """Turns each element into any number of results, in the main output and in side outputs (Flink:
    ``ProcessFunction``).

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
        """Called for every element; write the results to ``out``, or return or yield them. They keep the
        timestamp of the element."""


@declares_methods
class KeyedProcessFunction(RichFunction, ABC, Generic[K_contra, T_contra, R_co]):
    """A process function on a keyed stream, with keyed state and timers (Flink:
    ``KeyedProcessFunction``).

    This one emits a key after a minute of event time without an element:

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
        """Called for every element; write the results to ``out``, or return or yield them. They keep the
        timestamp of the element."""

    def onTimer(
        self, timestamp: int, ctx: KeyedTimerContext[K_contra], out: Collector[R_co]
    ) -> Iterable[R_co] | None:
        """Called when a timer is due, for the key that registered it; ``timestamp`` is the timer's (ms).

        Results carry the timestamp of the timer in event time, and none in processing time.
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
