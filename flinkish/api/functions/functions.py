"""The function classes a user implements, and the collector that process functions write to.

Where Flink takes a functional interface (``MapFunction`` and its kin), flinkish takes the class
or a plain callable. Functions that need a life cycle or state derive from the ``Rich`` variants.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Union

from flinkish.api.errors import IllegalStateError, InvalidProgramError

if TYPE_CHECKING:
    from flinkish.api.functions.runtime_context import OpenContext, RuntimeContext

T = TypeVar("T")
R = TypeVar("R")
K = TypeVar("K")
ACC = TypeVar("ACC")
T_contra = TypeVar("T_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)
K_co = TypeVar("K_co", covariant=True)
K_contra = TypeVar("K_contra", contravariant=True)
IN_contra = TypeVar("IN_contra", contravariant=True)
OUT_co = TypeVar("OUT_co", covariant=True)
C = TypeVar("C", bound=type)


def declares_methods(kind: C) -> C:
    """Decorates a class whose methods the user writes: those of subclasses must take the parameters
    that are declared here."""
    _DECLARING.add(kind)
    return kind


def methods_are_declared_by(kind: type) -> bool:
    """Whether ``kind`` itself, not only a base of it, declares methods for the user to write."""
    return kind in _DECLARING


_DECLARING: set[type] = set()


class Collector(ABC, Generic[T_contra]):
    """Where a function puts its results, none, one or many an element (Flink: ``Collector``)."""

    __slots__ = ()

    @abstractmethod
    def collect(self, value: T_contra) -> None:
        """Emit ``value``."""

    def close(self) -> None:
        """Called by nobody in flinkish; there so that ported code finds it."""


class Function:
    """Base of all user functions (Flink: ``Function``)."""


@declares_methods
class RichFunction(Function):
    """A function with a life cycle and a runtime context (Flink: ``RichFunction``)."""

    _runtime_context: RuntimeContext | None = None

    def open(self, openContext: OpenContext) -> None:
        """Called before the first element: on the harness once, on Spark at least once in each worker
        that serves the subtask, and again after an error, a restart, or a change of an attribute."""

    def close(self) -> None:
        """Called after the last element, and also if ``open`` or anything else has failed.

        On Spark a function stays open between batches. It is closed at the end of the input, after a
        batch in which it changed its attributes, when a worker keeps too many open, or when a newer run
        of the job comes to the worker. A worker that is killed, or that Spark ends since it is idle,
        calls it not: what must not be lost is not left to it."""

    def getRuntimeContext(self) -> RuntimeContext:
        """State, metrics and task information. Only there from ``open`` on."""
        if self._runtime_context is None:
            raise IllegalStateError(
                f"{type(self).__name__}.getRuntimeContext(): the runtime context is only there while"
                " the job runs. Ask for it in open(), not in __init__()."
            )
        return self._runtime_context

    def setRuntimeContext(self, context: RuntimeContext) -> None:
        """Called by the operator before ``open``."""
        self._runtime_context = context

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_runtime_context", None)
        return state


@declares_methods
class MapFunction(Function, ABC, Generic[T_contra, R_co]):
    """One element in, one element out (Flink: ``MapFunction``).

    >>> class Length(MapFunction[str, int]):
    ...     def map(self, value):
    ...         return len(value)
    """

    @abstractmethod
    def map(self, value: T_contra) -> R_co:
        """The element that takes the place of ``value``. The timestamp stays."""


@declares_methods
class FilterFunction(Function, ABC, Generic[T_contra]):
    """Keeps or drops an element (Flink: ``FilterFunction``).

    >>> class Even(FilterFunction[int]):
    ...     def filter(self, value):
    ...         return value % 2 == 0
    """

    @abstractmethod
    def filter(self, value: T_contra) -> bool:
        """True to keep ``value``."""


@declares_methods
class FlatMapFunction(Function, ABC, Generic[T_contra, R_co]):
    """One element in, any number out (Flink: ``FlatMapFunction``).

    >>> class Words(FlatMapFunction[str, str]):
    ...     def flatMap(self, value, out):
    ...         for word in value.split():
    ...             out.collect(word)
    """

    @abstractmethod
    def flatMap(self, value: T_contra, out: Collector[R_co]) -> Iterable[R_co] | None:
        """Put the elements that take the place of ``value`` into ``out``, or return or yield them.
        The timestamp stays."""


@declares_methods
class KeySelector(Function, ABC, Generic[T_contra, K_co]):
    """Takes the key out of an element (Flink: ``KeySelector``).

    >>> class ByUser(KeySelector[tuple[str, int], str]):
    ...     def getKey(self, value):
    ...         return value[0]
    """

    @abstractmethod
    def getKey(self, value: T_contra) -> K_co:
        """The key of ``value``: the same each time it is asked, and hashable in a stable way."""


@declares_methods
class Partitioner(Function, ABC, Generic[K_contra]):
    """Says which task an element goes to (Flink: ``Partitioner``)."""

    @abstractmethod
    def partition(self, key: K_contra, numPartitions: int) -> int:
        """The number of the task, from 0."""


@declares_methods
class ReduceFunction(Function, ABC, Generic[T]):
    """Joins two elements into one of the same type (Flink: ``ReduceFunction``).

    >>> class Sum(ReduceFunction[tuple[str, int]]):
    ...     def reduce(self, value1, value2):
    ...         return (value1[0], value1[1] + value2[1])
    """

    @abstractmethod
    def reduce(self, value1: T, value2: T) -> T:
        """The sum, so to say, of what came so far (``value1``) and ``value2``."""


@declares_methods
class AggregateFunction(Function, ABC, Generic[IN_contra, ACC, OUT_co]):
    """Folds elements into an accumulator (Flink: ``AggregateFunction``).

    >>> class Mean(AggregateFunction[float, tuple[float, int], float]):
    ...     def createAccumulator(self):
    ...         return (0.0, 0)
    ...     def add(self, value, accumulator):
    ...         return (accumulator[0] + value, accumulator[1] + 1)
    ...     def getResult(self, accumulator):
    ...         return accumulator[0] / accumulator[1]
    ...     def merge(self, a, b):
    ...         return (a[0] + b[0], a[1] + b[1])
    """

    @abstractmethod
    def createAccumulator(self) -> ACC:
        """A new, empty accumulator."""

    @abstractmethod
    def add(self, value: IN_contra, accumulator: ACC) -> ACC:
        """The accumulator with ``value`` in it: ``accumulator`` itself, changed, or a new one."""

    @abstractmethod
    def getResult(self, accumulator: ACC) -> OUT_co:
        """The result of what the accumulator holds."""

    def merge(self, a: ACC, b: ACC) -> ACC:
        """The accumulator of both. Only asked for where windows merge (sessions)."""
        raise InvalidProgramError(
            f"{type(self).__name__}.merge is needed because the windows merge (session windows do)."
            " Implement merge(a, b), or use a window assigner that does not merge."
        )


class RichMapFunction(RichFunction, MapFunction[T_contra, R_co]):
    """A ``MapFunction`` with open, close and a runtime context (Flink: ``RichMapFunction``)."""


class RichFilterFunction(RichFunction, FilterFunction[T_contra]):
    """A ``FilterFunction`` with open, close and a runtime context (Flink: ``RichFilterFunction``)."""


class RichFlatMapFunction(RichFunction, FlatMapFunction[T_contra, R_co]):
    """A ``FlatMapFunction`` with open, close and a runtime context (Flink: ``RichFlatMapFunction``)."""


class RichReduceFunction(RichFunction, ReduceFunction[T]):
    """A ``ReduceFunction`` with open, close and a runtime context (Flink: ``RichReduceFunction``)."""


class RichAggregateFunction(RichFunction, AggregateFunction[IN_contra, ACC, OUT_co]):
    """An ``AggregateFunction`` with open, close and a runtime context (Flink: ``RichAggregateFunction``)."""


MapLike = Union[MapFunction[T, R], Callable[[T], R]]


FilterLike = Union[FilterFunction[T], Callable[[T], bool]]


FlatMapLike = Union[FlatMapFunction[T, R], Callable[[T], Iterable[R]]]


KeySelectorLike = Union[KeySelector[T, K], Callable[[T], K]]


ReduceLike = Union[ReduceFunction[T], Callable[[T, T], T]]


PartitionerLike = Union[Partitioner[K], Callable[[K, int], int]]
