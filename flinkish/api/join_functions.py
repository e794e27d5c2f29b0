"""Functions of joins over intervals of time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar, Union

from flinkish.api.functions import Collector, RichFunction
from flinkish.api.output_tag import OutputTag

IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")
X = TypeVar("X")


class JoinContext(ABC):
    """What a ``ProcessJoinFunction`` may ask about a pair. Timestamps are in ms."""

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
    def processElement(self, left: IN1, right: IN2, ctx: JoinContext, out: Collector[OUT]) -> None:
        """Called for every pair; what goes to ``out`` gets the later of the two timestamps."""


ProcessJoinLike = Union[
    ProcessJoinFunction[IN1, IN2, OUT], Callable[[IN1, IN2, JoinContext, Collector[OUT]], None]
]
