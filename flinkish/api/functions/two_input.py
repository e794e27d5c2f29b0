"""Functions of two connected streams, which can share state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeAlias

from typing_extensions import TypeAliasType, TypeVar

from flinkish.api.functions.functions import Collector, Function, RichFunction, declares_methods
from flinkish.api.functions.process import (
    KeyedProcessContext,
    KeyedTimerContext,
    ProcessContext,
    TimerContext,
)
from flinkish.api.type_variables import IN1_contra, IN2_contra, K_contra, OUT_co

K_co = TypeVar("K_co", covariant=True, default=Any)


@declares_methods
class CoMapFunction(Function, ABC, Generic[IN1_contra, IN2_contra, OUT_co]):
    """Turns each element of either stream into one result (Flink: ``CoMapFunction``)."""

    @abstractmethod
    def map1(self, value: IN1_contra) -> OUT_co:
        """Called for elements of the first stream. The result keeps the timestamp."""

    @abstractmethod
    def map2(self, value: IN2_contra) -> OUT_co:
        """Called for elements of the second stream. The result keeps the timestamp."""


class TwoMapFunctions(CoMapFunction[IN1_contra, IN2_contra, OUT_co]):
    """A plain function for each stream."""

    def __init__(
        self, first: Callable[[IN1_contra], OUT_co], second: Callable[[IN2_contra], OUT_co]
    ) -> None:
        self._first, self._second = first, second

    def map1(self, value: IN1_contra) -> OUT_co:
        return self._first(value)

    def map2(self, value: IN2_contra) -> OUT_co:
        return self._second(value)


@declares_methods
class CoFlatMapFunction(Function, ABC, Generic[IN1_contra, IN2_contra, OUT_co]):
    """Turns each element of either stream into any number of results (Flink:
    ``CoFlatMapFunction``)."""

    @abstractmethod
    def flatMap1(self, value: IN1_contra, out: Collector[OUT_co]) -> Iterable[OUT_co] | None:
        """Called for elements of the first stream; write the results to ``out``, or return or yield them.
        They keep the timestamp of the element."""

    @abstractmethod
    def flatMap2(self, value: IN2_contra, out: Collector[OUT_co]) -> Iterable[OUT_co] | None:
        """Called for elements of the second stream; write the results to ``out``, or return or yield them.
        They keep the timestamp of the element."""


class RichCoMapFunction(RichFunction, CoMapFunction[IN1_contra, IN2_contra, OUT_co]):
    """A ``CoMapFunction`` with open, close and a runtime context (Flink: ``RichCoMapFunction``)."""


class RichCoFlatMapFunction(RichFunction, CoFlatMapFunction[IN1_contra, IN2_contra, OUT_co]):
    """A ``CoFlatMapFunction`` with open, close and a runtime context (Flink: ``RichCoFlatMapFunction``)."""


@declares_methods
class CoProcessFunction(RichFunction, ABC, Generic[IN1_contra, IN2_contra, OUT_co]):
    """A process function of two streams (Flink: ``CoProcessFunction``).

    Timers and keyed state need both streams to be keyed; then write a ``KeyedCoProcessFunction``, whose
    contexts also have the key.
    """

    Context: TypeAlias = ProcessContext
    OnTimerContext: TypeAlias = TimerContext

    @abstractmethod
    def processElement1(
        self, value: IN1_contra, ctx: ProcessContext, out: Collector[OUT_co]
    ) -> Iterable[OUT_co] | None:
        """Called for elements of the first stream; write the results to ``out``, or return or yield them.
        They keep the timestamp of the element."""

    @abstractmethod
    def processElement2(
        self, value: IN2_contra, ctx: ProcessContext, out: Collector[OUT_co]
    ) -> Iterable[OUT_co] | None:
        """Called for elements of the second stream; write the results to ``out``, or return or yield them.
        They keep the timestamp of the element."""

    def onTimer(
        self, timestamp: int, ctx: TimerContext, out: Collector[OUT_co]
    ) -> Iterable[OUT_co] | None:
        """Called when a timer is due, for the key that registered it; ``timestamp`` is the timer's (ms).

        Results carry the timestamp of the timer in event time, and none in processing time.
        """
        return None


@declares_methods
class KeyedCoProcessFunction(RichFunction, ABC, Generic[K_contra, IN1_contra, IN2_contra, OUT_co]):
    """A process function of two keyed streams (Flink: ``KeyedCoProcessFunction``).

    Elements of both streams with the same key share state and timers:

    >>> class Enrich(KeyedCoProcessFunction[int, str, float, tuple[str, float]]):
    ...     def open(self, openContext):
    ...         from flinkish.api.functions.state import ValueStateDescriptor
    ...         self.ride = self.getRuntimeContext().getState(ValueStateDescriptor("ride"))
    ...     def processElement1(self, value, ctx, out):
    ...         self.ride.update(value)
    ...     def processElement2(self, value, ctx, out):
    ...         if self.ride.value() is not None:
    ...             out.collect((self.ride.value(), value))
    """

    Context = TypeAliasType("Context", KeyedProcessContext[K_co], type_params=(K_co,))
    OnTimerContext = TypeAliasType("OnTimerContext", KeyedTimerContext[K_co], type_params=(K_co,))

    @abstractmethod
    def processElement1(
        self, value: IN1_contra, ctx: KeyedProcessContext[K_contra], out: Collector[OUT_co]
    ) -> Iterable[OUT_co] | None:
        """Called for elements of the first stream; write the results to ``out``, or return or yield them.
        They keep the timestamp of the element."""

    @abstractmethod
    def processElement2(
        self, value: IN2_contra, ctx: KeyedProcessContext[K_contra], out: Collector[OUT_co]
    ) -> Iterable[OUT_co] | None:
        """Called for elements of the second stream; write the results to ``out``, or return or yield them.
        They keep the timestamp of the element."""

    def onTimer(
        self, timestamp: int, ctx: KeyedTimerContext[K_contra], out: Collector[OUT_co]
    ) -> Iterable[OUT_co] | None:
        """Called when a timer is due, for the key that registered it; ``timestamp`` is the timer's (ms).

        Results carry the timestamp of the timer in event time, and none in processing time.
        """
        return None
