"""The function classes that a user implements, and the ``Collector`` that they write to.

Where Flink takes a functional interface such as ``MapFunction``, flinkish takes an instance of the class or
a plain callable. Functions that need state, metrics, ``open`` or ``close`` derive from the ``Rich`` form.

Functions with any number of results can write to ``out``, return an iterable, or yield.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Union

from flinkish.api.errors import IllegalStateError, InvalidProgramError
from flinkish.api.type_variables import ACC, IN_contra, K, K_contra, OUT_co, R, R_co, T, T_contra

if TYPE_CHECKING:
    from flinkish.api.functions.runtime_context import OpenContext, RuntimeContext

K_co = TypeVar("K_co", covariant=True)
C = TypeVar("C", bound=type)


def declares_methods(kind: C) -> C:
    """Decorates a class whose methods users implement; their parameters are checked against those
    declared here."""
    _DECLARING.add(kind)
    return kind


def methods_are_declared_by(kind: type) -> bool:
    """Whether ``kind`` itself, not only a base of it, is decorated with ``declares_methods``."""
    return kind in _DECLARING


_DECLARING: set[type] = set()


class Collector(ABC, Generic[T_contra]):
    """Receives the results of a function, any number for each element (Flink: ``Collector``)."""

    __slots__ = ()

    @abstractmethod
    def collect(self, value: T_contra) -> None:
        """Emit ``value``."""

    def close(self) -> None:
        """Does nothing; it exists for ported code that calls it."""


class Function:
    """The base of all user functions (Flink: ``Function``)."""


@declares_methods
class RichFunction(Function):
    """A function with a life cycle and a runtime context (Flink: ``RichFunction``).

    Create connections, models and state handles in ``open``, not in ``__init__``: the function is
    pickled and sent to the workers in between. Attributes are not state; a change of one after
    ``open`` is reported and undone before the next batch.
    """

    _runtime_context: RuntimeContext | None = None

    def open(self, openContext: OpenContext) -> None:
        """Called before the first element.

        On Spark it is called at least once in each worker that runs the subtask, and again after an
        error, a restart, or a change of an attribute; in the harness once.
        """

    def close(self) -> None:
        """Called after the last element, and also if ``open`` or an element failed.

        On Spark a function stays open between batches. It is closed at the end of the input, after a
        batch in which it changed its attributes, when a worker has too many open functions, or when a
        newer run of the job reaches the worker. It is not called if the worker is killed or if Spark
        stops an idle worker, so do not rely on it to save data.
        """

    def getRuntimeContext(self) -> RuntimeContext:
        """State, metrics and task information. Raises IllegalStateError before ``open``."""
        if self._runtime_context is None:
            raise IllegalStateError(
                f"{type(self).__name__}.getRuntimeContext(): the runtime context exists only while"
                " the job runs. Call it in open(), not in __init__()."
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
    """Turns each element into one result (Flink: ``MapFunction``).

    >>> class Length(MapFunction[str, int]):
    ...     def map(self, value):
    ...         return len(value)
    """

    @abstractmethod
    def map(self, value: T_contra) -> R_co:
        """The result for ``value``; it keeps the timestamp of the element."""


@declares_methods
class FilterFunction(Function, ABC, Generic[T_contra]):
    """Decides which elements to keep (Flink: ``FilterFunction``).

    >>> class Even(FilterFunction[int]):
    ...     def filter(self, value):
    ...         return value % 2 == 0
    """

    @abstractmethod
    def filter(self, value: T_contra) -> bool:
        """True to keep ``value``, False to drop it."""


@declares_methods
class FlatMapFunction(Function, ABC, Generic[T_contra, R_co]):
    """Turns each element into any number of results (Flink: ``FlatMapFunction``).

    >>> class Words(FlatMapFunction[str, str]):
    ...     def flatMap(self, value, out):
    ...         for word in value.split():
    ...             out.collect(word)
    """

    @abstractmethod
    def flatMap(self, value: T_contra, out: Collector[R_co]) -> Iterable[R_co] | None:
        """Write the results for ``value`` to ``out``, or return or yield them. They keep the timestamp of
        the element."""


@declares_methods
class KeySelector(Function, ABC, Generic[T_contra, K_co]):
    """Extracts the key of an element (Flink: ``KeySelector``).

    >>> class ByUser(KeySelector[tuple[str, int], str]):
    ...     def getKey(self, value):
    ...         return value[0]
    """

    @abstractmethod
    def getKey(self, value: T_contra) -> K_co:
        """The key of ``value``. It must be the same at each call, and hash alike in every process: None,
        numbers, texts, dates, or tuples of these."""


@declares_methods
class Partitioner(Function, ABC, Generic[K_contra]):
    """Selects the task that an element is sent to (Flink: ``Partitioner``)."""

    @abstractmethod
    def partition(self, key: K_contra, numPartitions: int) -> int:
        """The index of the task, from 0 to ``numPartitions - 1``."""


@declares_methods
class ReduceFunction(Function, ABC, Generic[T]):
    """Combines two elements into one of the same type (Flink: ``ReduceFunction``).

    For windows that merge it must be associative.

    >>> class Sum(ReduceFunction[tuple[str, int]]):
    ...     def reduce(self, value1, value2):
    ...         return (value1[0], value1[1] + value2[1])
    """

    @abstractmethod
    def reduce(self, value1: T, value2: T) -> T:
        """The combination of the result so far, ``value1``, with ``value2``; never None."""


@declares_methods
class AggregateFunction(Function, ABC, Generic[IN_contra, ACC, OUT_co]):
    """Aggregates elements in an accumulator (Flink: ``AggregateFunction``).

    Only the accumulator is kept in state, so a window of a million elements needs no more space than
    one of a single element. Input, accumulator and result may be of different types.

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
        """Add ``value`` and return the accumulator, the same object or a new one; never None."""

    @abstractmethod
    def getResult(self, accumulator: ACC) -> OUT_co:
        """The result for the accumulator."""

    def merge(self, a: ACC, b: ACC) -> ACC:
        """Combine two accumulators. Called only if windows merge, such as sessions."""
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
