"""The functions of joins: over windows ``JoinFunction`` and ``CoGroupFunction``, over intervals of time
``ProcessJoinFunction``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Generic, TypeAlias, TypeVar, Union

from flinkish.api.functions import Collector, Function, RichFunction
from flinkish.api.output_tag import OutputTag

IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")
X = TypeVar("X")


class JoinFunction(Function, ABC, Generic[IN1, IN2, OUT]):
    """Makes one result of a pair (Flink: ``JoinFunction``). It gets the timestamp of the window's last
    ms, ``window.maxTimestamp()``; so do those of the other functions of window joins.

    >>> class Pair(JoinFunction[str, int, tuple[str, int]]):
    ...     def join(self, first, second):
    ...         return (first, second)
    """

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> OUT:
        """The result of a pair of the same key and window."""


class FlatJoinFunction(Function, ABC, Generic[IN1, IN2, OUT]):
    """Makes any number of results of a pair (Flink: ``FlatJoinFunction``)."""

    @abstractmethod
    def join(self, first: IN1, second: IN2, out: Collector[OUT]) -> Iterable[OUT] | None:
        """Put the results of a pair of the same key and window into ``out``, or return or yield
        them."""


class CoGroupFunction(Function, ABC, Generic[IN1, IN2, OUT]):
    """Makes results of both sides of a window (Flink: ``CoGroupFunction``)."""

    @abstractmethod
    def coGroup(
        self, first: Iterable[IN1], second: Iterable[IN2], out: Collector[OUT]
    ) -> Iterable[OUT] | None:
        """Called for every key and window with elements on either side; write to ``out``, or return
        or yield the results."""


class RichJoinFunction(RichFunction, JoinFunction[IN1, IN2, OUT]):
    """A ``JoinFunction`` with open, close and a runtime context (Flink: ``RichJoinFunction``)."""


class RichFlatJoinFunction(RichFunction, FlatJoinFunction[IN1, IN2, OUT]):
    """A ``FlatJoinFunction`` with open, close and a runtime context (Flink: ``RichFlatJoinFunction``)."""


class RichCoGroupFunction(RichFunction, CoGroupFunction[IN1, IN2, OUT]):
    """A ``CoGroupFunction`` with open, close and a runtime context (Flink: ``RichCoGroupFunction``)."""


class JoinContext(ABC):
    """What a ``ProcessJoinFunction`` may ask about a pair (Flink: ``ProcessJoinFunction.Context``).
    Timestamps are in ms."""

    __slots__ = ()

    @abstractmethod
    def getLeftTimestamp(self) -> int:
        """The timestamp of the left element."""

    @abstractmethod
    def getRightTimestamp(self) -> int:
        """The timestamp of the right element."""

    @abstractmethod
    def getTimestamp(self) -> int:
        """The timestamp of the pair: the later of the two."""

    @abstractmethod
    def output(self, outputTag: OutputTag[X], value: X) -> None:
        """Emit ``value`` to a side output, with the timestamp of the pair."""


class ProcessJoinFunction(RichFunction, ABC, Generic[IN1, IN2, OUT]):
    """Makes results of the pairs of an interval join (Flink: ``ProcessJoinFunction``).

    >>> class Pair(ProcessJoinFunction[str, str, str]):
    ...     def processElement(self, left, right, ctx, out):
    ...         out.collect(f"{left}-{right}")
    """

    Context: TypeAlias = JoinContext

    @abstractmethod
    def processElement(
        self, left: IN1, right: IN2, ctx: JoinContext, out: Collector[OUT]
    ) -> Iterable[OUT] | None:
        """Called for every pair; write to ``out``, or return or yield the results, which get the later
        of the two timestamps."""


JoinLike = Union[
    JoinFunction[IN1, IN2, OUT], FlatJoinFunction[IN1, IN2, OUT], Callable[[IN1, IN2], OUT]
]
CoGroupLike = Union[
    CoGroupFunction[IN1, IN2, OUT], Callable[[Iterable[IN1], Iterable[IN2]], Iterable[OUT]]
]
ProcessJoinLike = Union[
    ProcessJoinFunction[IN1, IN2, OUT],
    Callable[[IN1, IN2, JoinContext, Collector[OUT]], Iterable[OUT] | None],
]
