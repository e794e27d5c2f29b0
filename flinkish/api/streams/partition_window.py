"""``PartitionWindowedStream``: all elements of a bounded stream at once, or all of a key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, Generic, Union

from flinkish.api.arguments import instance
from flinkish.api.functions.adapt import checked_callable, key_call, positional_arity
from flinkish.api.functions.functions import (
    AggregateFunction,
    Collector,
    Function,
    KeySelectorLike,
    ReduceLike,
    declares_methods,
)
from flinkish.api.plan.window_operator import WindowCall
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.streams.keyed_stream import KeyedStream
from flinkish.api.streams.windowed_stream import BaseWindowedStream
from flinkish.api.type_variables import ACC, R, T
from flinkish.api.types.fields import Field
from flinkish.api.types.type_info import TypeInformation
from flinkish.api.windowing.assigners import GlobalWindows
from flinkish.api.windowing.windows import GlobalWindow


class Order(Enum):
    """The direction of sorting (Flink: ``Order``)."""

    ASCENDING = "ASCENDING"
    DESCENDING = "DESCENDING"


@declares_methods
class MapPartitionFunction(Function, ABC, Generic[T, R]):
    """Processes all elements of a partition together (Flink: ``MapPartitionFunction``)."""

    @abstractmethod
    def mapPartition(self, values: Iterable[T], out: Collector[R]) -> Iterable[R] | None:
        """Write the results for all ``values`` to ``out``, or return or yield them."""


MapPartitionLike = Union[MapPartitionFunction[T, R], Callable[[Iterable[T]], Iterable[R]]]


class PartitionWindowedStream(Generic[T]):
    """One window over the whole input, which fires at its end (Flink: ``PartitionWindowedStream``).

    A partition is all elements of a key on a keyed stream, otherwise the whole stream.

    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(lambda words: words.fullWindowPartition().sortPartition("*"))
    >>> for word in ("to", "be", "or"):
    ...     harness.processElement(word)
    >>> harness.endInput()
    >>> [record.value for record in harness.getOutput()[:-1]]
    ['be', 'or', 'to']
    """

    def __init__(self, input: DataStream[T]) -> None:  # noqa: A002 - Flink's name
        self._input = input

    def mapPartition(
        self,
        mapPartitionFunction: MapPartitionLike[T, R],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]:
        """Hand all elements of a partition to ``f(values[, out])`` when the input has ended."""
        call = _partition_call(mapPartitionFunction)
        # A lambda, as the name of the function is part of the uid
        function: WindowCall = lambda key, window, context, elements, out: call(elements, out)  # noqa: E731
        result = self._windowed()._collect(function, function, outputType)
        return result.name("MapPartition")

    def sortPartition(
        self, field: Field | KeySelectorLike[T, Any], order: Order = Order.ASCENDING
    ) -> SingleOutputStreamOperator[T]:
        """The elements of a partition sorted by a field or ``f(element)``; equal ones keep their
        order."""
        instance("sortPartition", order, Order, "Pass Order.ASCENDING or Order.DESCENDING.")
        key, descending = key_call(field, "sortPartition"), order is Order.DESCENDING

        def ordered(values: Iterable[T]) -> Iterable[T]:
            return sorted(values, key=key, reverse=descending)

        return self.mapPartition(ordered, self._input.getType()).name("SortPartition")

    def reduce(self, reduceFunction: ReduceLike[T]) -> SingleOutputStreamOperator[T]:
        """The reduction of all elements of a partition."""
        return self._windowed()._reduce(reduceFunction, None, None)

    def aggregate(
        self, aggregateFunction: AggregateFunction[T, ACC, R]
    ) -> SingleOutputStreamOperator[R]:
        """The aggregate of all elements of a partition."""
        return self._windowed()._aggregate(aggregateFunction, None, None)

    def _windowed(self) -> BaseWindowedStream[T, GlobalWindow]:
        windows = GlobalWindows.createWithEndOfStreamTrigger()
        if isinstance(self._input, KeyedStream):
            return self._input.window(windows)
        return self._input.windowAll(windows)


def _partition_call(function: Any) -> Callable[[Iterable[Any], Collector[Any]], Any]:
    if isinstance(function, MapPartitionFunction):
        return function.mapPartition
    wanted = "a MapPartitionFunction, f(values) or f(values, out)"
    call = checked_callable("mapPartition", function, wanted, 1, 2)
    return call if positional_arity(call) == 2 else lambda values, out: call(values)
