"""The functions that turn matches into results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar, Union

from flinkish.api.functions.functions import Collector, Function, RichFunction, declares_methods
from flinkish.api.output_tag import OutputTag

T = TypeVar("T")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
L = TypeVar("L")
L_co = TypeVar("L_co", covariant=True)
X = TypeVar("X")


class PatternContext(ABC):
    """The context of a PatternProcessFunction (Flink: ``PatternProcessFunction.Context``)."""

    __slots__ = ()

    @abstractmethod
    def timestamp(self) -> int:
        """In event time, the timestamp in ms of the event that completed the match, or of the time at
        which a partial match timed out; in processing time, the clock at that moment."""

    @abstractmethod
    def currentProcessingTime(self) -> int:
        """The processing-time clock, in ms."""

    @abstractmethod
    def output(self, outputTag: OutputTag[X], value: X) -> None:
        """Emit ``value`` to a side output."""


@declares_methods
class PatternProcessFunction(RichFunction, ABC, Generic[T, R_co]):
    """Turns each match into any number of results (Flink: ``PatternProcessFunction``).

    Derive it from ``TimedOutPartialMatchHandler`` too to receive the partial matches that take too
    long. As in Flink, its runtime context has no keyed state.
    """

    Context = PatternContext

    @abstractmethod
    def processMatch(
        self, match: Mapping[str, Sequence[T]], ctx: PatternContext, out: Collector[R_co]
    ) -> Iterable[R_co] | None:
        """Called for each match. Write the results to ``out``, or return or yield them."""


@declares_methods
class TimedOutPartialMatchHandler(ABC, Generic[T]):
    """Receives the partial matches that exceed ``within`` (Flink: ``TimedOutPartialMatchHandler``).
    A PatternProcessFunction that derives from it too is called for both."""

    @abstractmethod
    def processTimedOutMatch(self, match: Mapping[str, Sequence[T]], ctx: PatternContext) -> None:
        """Called for each partial match that took too long. Results go to side outputs."""


@declares_methods
class PatternSelectFunction(Function, ABC, Generic[T, R_co]):
    """Turns each match into one result (Flink: ``PatternSelectFunction``)."""

    @abstractmethod
    def select(self, pattern: Mapping[str, Sequence[T]]) -> R_co:
        """The result for a match."""


class RichPatternSelectFunction(PatternSelectFunction[T, R_co], RichFunction):
    """A PatternSelectFunction with ``open`` and ``close`` (Flink: the class of this name)."""


@declares_methods
class PatternFlatSelectFunction(Function, ABC, Generic[T, R_co]):
    """Turns each match into any number of results (Flink: ``PatternFlatSelectFunction``)."""

    @abstractmethod
    def flatSelect(
        self, pattern: Mapping[str, Sequence[T]], out: Collector[R_co]
    ) -> Iterable[R_co] | None:
        """Write the results for a match to ``out``, or return or yield them."""


class RichPatternFlatSelectFunction(PatternFlatSelectFunction[T, R_co], RichFunction):
    """A PatternFlatSelectFunction with ``open`` and ``close`` (Flink: the class of this name)."""


@declares_methods
class PatternTimeoutFunction(Function, ABC, Generic[T, L_co]):
    """Turns each partial match that took too long into one result (Flink:
    ``PatternTimeoutFunction``)."""

    @abstractmethod
    def timeout(self, pattern: Mapping[str, Sequence[T]], timeoutTimestamp: int) -> L_co:
        """The result for a partial match that timed out at ``timeoutTimestamp`` (ms)."""


@declares_methods
class PatternFlatTimeoutFunction(Function, ABC, Generic[T, L_co]):
    """Turns each partial match that took too long into any number of results (Flink:
    ``PatternFlatTimeoutFunction``)."""

    @abstractmethod
    def timeout(
        self,
        pattern: Mapping[str, Sequence[T]],
        timeoutTimestamp: int,
        out: Collector[L_co],
    ) -> Iterable[L_co] | None:
        """Write the results for a partial match that timed out at ``timeoutTimestamp`` (ms) to ``out``,
        or return or yield them."""


class EventComparator(ABC, Generic[T]):
    """Orders events with the same timestamp (Flink: ``EventComparator``)."""

    @abstractmethod
    def compare(self, a: T, b: T) -> int:
        """Below zero if ``a`` comes first, above zero if ``b`` does, zero if they keep their
        order."""


EventComparatorLike = Union[EventComparator[T], Callable[[T, T], int]]
PatternSelectLike = Union[PatternSelectFunction[T, R], Callable[[Mapping[str, Sequence[T]]], R]]
PatternFlatSelectLike = Union[
    PatternFlatSelectFunction[T, R],
    Callable[[Mapping[str, Sequence[T]]], Iterable[R]],
    Callable[[Mapping[str, Sequence[T]], Collector[R]], "Iterable[R] | None"],
]
PatternTimeoutLike = Union[
    PatternTimeoutFunction[T, L], Callable[[Mapping[str, Sequence[T]], int], L]
]
PatternFlatTimeoutLike = Union[
    PatternFlatTimeoutFunction[T, L],
    Callable[[Mapping[str, Sequence[T]], int], Iterable[L]],
    Callable[[Mapping[str, Sequence[T]], int, Collector[L]], "Iterable[L] | None"],
]
PatternProcessLike = Union[
    PatternProcessFunction[T, R],
    Callable[[Mapping[str, Sequence[T]], PatternContext, Collector[R]], "Iterable[R] | None"],
]

MatchCall = Callable[[Any, Any, Any], Any]
"""``f(match, ctx, out)``: writes to ``out``, or returns an iterable of results or None."""
