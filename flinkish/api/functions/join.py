"""Functions of joins: ``JoinFunction`` and ``CoGroupFunction`` for window joins, ``ProcessJoinFunction`` for
interval joins; and ``TaggedUnion``, what window joins put into their windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeAlias, Union, cast

from flinkish.api.functions.functions import Collector, Function, RichFunction, declares_methods
from flinkish.api.output_tag import OutputTag
from flinkish.api.stored_names import stored_as
from flinkish.api.type_variables import T1, T2, IN1_contra, IN2_contra, OUT_co, X


@declares_methods
class JoinFunction(Function, ABC, Generic[IN1_contra, IN2_contra, OUT_co]):
    """Turns each pair of a window join into one result (Flink: ``JoinFunction``).

    Results of window joins carry ``window.maxTimestamp()``, the last ms of the window.

    >>> class Pair(JoinFunction[str, int, tuple[str, int]]):
    ...     def join(self, first, second):
    ...         return (first, second)
    """

    @abstractmethod
    def join(self, first: IN1_contra, second: IN2_contra) -> OUT_co:
        """The result for two elements with the same key in the same window."""


@declares_methods
class FlatJoinFunction(Function, ABC, Generic[IN1_contra, IN2_contra, OUT_co]):
    """Turns each pair of a window join into any number of results (Flink: ``FlatJoinFunction``)."""

    @abstractmethod
    def join(
        self, first: IN1_contra, second: IN2_contra, out: Collector[OUT_co]
    ) -> Iterable[OUT_co] | None:
        """Write the results for two elements with the same key in the same window to ``out``, or return
        or yield them."""


@declares_methods
class CoGroupFunction(Function, ABC, Generic[IN1_contra, IN2_contra, OUT_co]):
    """Turns the elements of both sides of a window into results (Flink: ``CoGroupFunction``)."""

    @abstractmethod
    def coGroup(
        self, first: Iterable[IN1_contra], second: Iterable[IN2_contra], out: Collector[OUT_co]
    ) -> Iterable[OUT_co] | None:
        """Called for every key and window with elements on at least one side; write the results to
        ``out``, or return or yield them."""


class RichJoinFunction(RichFunction, JoinFunction[IN1_contra, IN2_contra, OUT_co]):
    """A ``JoinFunction`` with open, close and a runtime context (Flink: ``RichJoinFunction``)."""


class RichFlatJoinFunction(RichFunction, FlatJoinFunction[IN1_contra, IN2_contra, OUT_co]):
    """A ``FlatJoinFunction`` with open, close and a runtime context (Flink: ``RichFlatJoinFunction``)."""


class RichCoGroupFunction(RichFunction, CoGroupFunction[IN1_contra, IN2_contra, OUT_co]):
    """A ``CoGroupFunction`` with open, close and a runtime context (Flink: ``RichCoGroupFunction``)."""


class JoinContext(ABC):
    """The timestamps (ms) and side outputs for a pair (Flink: ``ProcessJoinFunction.Context``)."""

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


@declares_methods
class ProcessJoinFunction(RichFunction, ABC, Generic[IN1_contra, IN2_contra, OUT_co]):
    """Turns each pair of an interval join into any number of results (Flink:
    ``ProcessJoinFunction``).

    >>> class Pair(ProcessJoinFunction[str, str, str]):
    ...     def processElement(self, left, right, ctx, out):
    ...         out.collect(f"{left}-{right}")
    """

    Context: TypeAlias = JoinContext

    @abstractmethod
    def processElement(
        self, left: IN1_contra, right: IN2_contra, ctx: JoinContext, out: Collector[OUT_co]
    ) -> Iterable[OUT_co] | None:
        """Called for every pair; write the results to ``out``, or return or yield them. They carry the
        later of the two timestamps."""


JoinLike = Union[
    JoinFunction[IN1_contra, IN2_contra, OUT_co],
    FlatJoinFunction[IN1_contra, IN2_contra, OUT_co],
    Callable[[IN1_contra, IN2_contra], OUT_co],
]


CoGroupLike = Union[
    CoGroupFunction[IN1_contra, IN2_contra, OUT_co],
    Callable[[Iterable[IN1_contra], Iterable[IN2_contra]], Iterable[OUT_co]],
]


ProcessJoinLike = Union[
    ProcessJoinFunction[IN1_contra, IN2_contra, OUT_co],
    Callable[[IN1_contra, IN2_contra, JoinContext, Collector[OUT_co]], Iterable[OUT_co] | None],
]


@stored_as("TaggedUnion")
class TaggedUnion(NamedTuple, Generic[T1, T2]):
    """An element of either side, as the trigger, evictor and assigner of a join see it (Flink:
    ``CoGroupedStreams.TaggedUnion``)."""

    tag: int
    """The number of the stream: 1 or 2."""
    value: T1 | T2

    def isOne(self) -> bool:
        """Whether the element is of the first stream."""
        return self.tag == 1

    def isTwo(self) -> bool:
        """Whether the element is of the second stream."""
        return self.tag == 2

    def getOne(self) -> T1 | None:
        """The element, if it is of the first stream."""
        return cast(T1, self.value) if self.tag == 1 else None

    def getTwo(self) -> T2 | None:
        """The element, if it is of the second stream."""
        return cast(T2, self.value) if self.tag == 2 else None
