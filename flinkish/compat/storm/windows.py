"""Windows that a trigger policy fires and an eviction policy fills, and how they are set on a stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Self, TypeAlias, Union

from flinkish.api.arguments import instance, length_from_zero, positive
from flinkish.api.errors import InvalidProgramError, shown
from flinkish.api.functions.adapt import positional_arity
from flinkish.api.functions.functions import Collector, RichFunction, declares_methods
from flinkish.api.output_tag import OutputTag, checked_tag
from flinkish.api.plan.operators import OperatorDescription
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.streams.keyed_stream import KeyedStream
from flinkish.api.streams.windowed_stream import with_null_keys
from flinkish.api.time.durations import TimeLike
from flinkish.api.type_variables import R, T, X
from flinkish.api.types.type_info import TypeInformation
from flinkish.compat.storm.policies import (
    CountEvictionPolicy,
    CountTriggerPolicy,
    EvictionPolicy,
    TimeEvictionPolicy,
    TimeTriggerPolicy,
    TriggerPolicy,
    WatermarkCountEvictionPolicy,
    WatermarkCountTriggerPolicy,
    WatermarkTimeEvictionPolicy,
    WatermarkTimeTriggerPolicy,
)


@dataclass(frozen=True)
class Count:
    """A number of elements, as the length or the slide of a window (Storm: ``Count``)."""

    value: int

    def __post_init__(self) -> None:
        positive("Count", self.value)

    @classmethod
    def of(cls, value: int) -> Count:
        """``value`` elements."""
        return cls(value)


Extent: TypeAlias = Union[Count, TimeLike]
"""The length or slide of a window: a ``Count``, or a length of time."""


@dataclass(frozen=True)
class PolicyWindow(Generic[T]):
    """A window that has fired, and how it differs from the one before (Storm: ``Window``)."""

    key: object
    """The key of the elements; None if the stream has no keys."""
    elements: Sequence[T]
    newElements: Sequence[T]
    expiredElements: Sequence[T]
    startTimestamp: int | None
    endTimestamp: int

    def get(self) -> Sequence[T]:
        """The elements of the window, in the order in which they came."""
        return self.elements

    def getNew(self) -> Sequence[T]:
        """The tuples that were not in the window that fired before."""
        return self.newElements

    def getExpired(self) -> Sequence[T]:
        """The tuples that expired as this window fired (Storm: the same).

        A window without elements is not handed on. What expires when one would have fired is in no
        window's ``getExpired``.
        """
        return self.expiredElements

    def getStartTimestamp(self) -> int | None:
        """The start of the window (ms); elements at exactly that time are not in it. None if its
        length is a count."""
        return self.startTimestamp

    def getEndTimestamp(self) -> int:
        """The end of the window (ms); elements at exactly that time are in it."""
        return self.endTimestamp


@declares_methods
class PolicyWindowFunction(RichFunction, ABC, Generic[T, R]):
    """Turns a window into results; may have keyed state (Storm: a windowed bolt)."""

    @abstractmethod
    def process(self, window: PolicyWindow[T], out: Collector[R]) -> Iterable[R] | None:
        """Called when a window fires that has elements. May write to ``out``, or return or yield
        the results; they get the end of the window as their timestamp."""


class PolicyWindowCollector(Collector[R]):
    """The collector that a function of policy windows gets."""

    __slots__ = ()

    @abstractmethod
    def output(self, outputTag: OutputTag[X], value: X) -> None:
        """Emit ``value`` to a side output, with the end of the window as its timestamp."""


PolicyWindowLike: TypeAlias = Union[
    PolicyWindowFunction[T, R],
    Callable[[PolicyWindow[T]], Iterable[R]],
    Callable[[PolicyWindow[T], Collector[R]], None],
]


class PolicyWindowedStream(Generic[T]):
    """A stream whose windows a ``TriggerPolicy`` fires and an ``EvictionPolicy`` fills: those of
    each key apart if it is keyed, else those of the whole stream.

    The sum of the last three numbers, at every second one:

    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(
    ...     lambda numbers: PolicyWindowedStream.of(numbers, Count(3), Count(2), eventTime=False)
    ...     .process(lambda window: [sum(window.get())])
    ... )
    >>> for number in (1, 2, 3, 4):
    ...     harness.processElement(number)
    >>> [record.value for record in harness.getOutput()]
    [3, 9]
    """

    def __init__(
        self,
        stream: DataStream[T],
        triggerPolicy: TriggerPolicy[T],
        evictionPolicy: EvictionPolicy[T],
    ) -> None:
        """Raises InvalidProgramError if one policy uses event time and the other does not."""
        instance("policy windows", stream, DataStream, "Pass the stream first, then the windows.")
        fix = "Pass the TriggerPolicy first and then the EvictionPolicy."
        instance("policy windows", triggerPolicy, TriggerPolicy, fix)
        instance("policy windows", evictionPolicy, EvictionPolicy, fix)
        if triggerPolicy.isEventTime() != evictionPolicy.isEventTime():
            raise InvalidProgramError(
                f"policy windows: of {type(triggerPolicy).__name__} and"
                f" {type(evictionPolicy).__name__} one goes by event time and the other does not."
                " Use two policies whose isEventTime() is the same."
            )
        self._keyed = isinstance(stream, KeyedStream)
        self._input: DataStream[T] = with_null_keys(stream)
        self._trigger = triggerPolicy
        self._eviction = evictionPolicy
        self._late_tag: OutputTag[T] | None = None

    @staticmethod
    def of(
        stream: DataStream[X],
        length: Extent,
        slide: Extent | None = None,
        eventTime: bool = True,
        lag: TimeLike | None = None,
    ) -> PolicyWindowedStream[X]:
        """Windows of ``length``, one every ``slide``; without a slide one after another. Each is a
        ``Count`` or a length of time.

        With ``eventTime`` they go by the elements' timestamps and the watermark, else by the order
        of the elements and the clock. ``lag`` is that of ``WatermarkTimeEvictionPolicy``.

        Raises IllegalArgumentError for a negative lag.
        """
        if lag is not None:
            length_from_zero("PolicyWindowedStream.of: lag", lag)
        return PolicyWindowedStream(
            stream,
            trigger_policy(length if slide is None else slide, eventTime),
            eviction_policy(length, eventTime, lag),
        )

    def sideOutputLateData(self, outputTag: OutputTag[T]) -> Self:
        """Send elements that the watermark has passed there, instead of counting and dropping
        them."""
        self._late_tag = checked_tag("sideOutputLateData", outputTag)
        return self

    def process(
        self, function: PolicyWindowLike[T, R], outputType: TypeInformation[R] | None = None
    ) -> SingleOutputStreamOperator[R]:
        """Hand each window that fires to a PolicyWindowFunction or ``function(window[, out])``.

        Results get the end of the window as their timestamp.
        """
        description = PolicyWindowDescription(
            self._trigger, self._eviction, self._keyed, self._late_tag, *_called(function)
        )
        return self._input._transform(description, outputType)


def trigger_policy(slide: Extent, eventTime: bool) -> TriggerPolicy[object]:
    if isinstance(slide, Count):
        count = slide.value
        return WatermarkCountTriggerPolicy(count) if eventTime else CountTriggerPolicy(count)
    return WatermarkTimeTriggerPolicy(slide) if eventTime else TimeTriggerPolicy(slide)


def eviction_policy(
    length: Extent, eventTime: bool, lag: TimeLike | None = None
) -> EvictionPolicy[object]:
    if isinstance(length, Count):
        count = length.value
        return WatermarkCountEvictionPolicy(count) if eventTime else CountEvictionPolicy(count)
    return WatermarkTimeEvictionPolicy(length, lag) if eventTime else TimeEvictionPolicy(length)


PolicyWindowCall: TypeAlias = Callable[[PolicyWindow[Any], Collector[Any]], "Iterable[Any] | None"]


@dataclass(frozen=True)
class PolicyWindowDescription(OperatorDescription):
    """All of an operator of policy windows. ``grouped``: the keys are the user's."""

    kind: ClassVar[str] = "PolicyWindow"
    name: ClassVar[str] = "Policy Windows"
    lateDataMethod: ClassVar[str] = (
        "withLateTupleStream(streamId), or sideOutputLateData(tag) on windows,"
    )

    keyed: bool = field(default=True, init=False)

    triggerPolicy: TriggerPolicy[Any]
    evictionPolicy: EvictionPolicy[Any]
    grouped: bool
    lateDataOutputTag: OutputTag[Any] | None
    function: Any
    call: PolicyWindowCall

    @property
    def stateLayout(self) -> str:
        return f"{type(self.triggerPolicy).__name__}, {type(self.evictionPolicy).__name__}"

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return self.function, self.triggerPolicy, self.evictionPolicy


def _called(function: Any) -> tuple[Any, PolicyWindowCall]:
    """The function, and the way to call it."""
    call: Any = function.process if isinstance(function, PolicyWindowFunction) else function
    if callable(call) and not isinstance(call, type):
        arity = positional_arity(call)
        if arity == 2:
            return function, call
        if arity == 1:
            return function, lambda window, out: call(window)
    raise InvalidProgramError(
        f"process: {shown(function)} is not a function of policy windows. Pass a"
        " PolicyWindowFunction or f(window[, out])."
    )
