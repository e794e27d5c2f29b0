"""``AsyncDataStream``: applies an asynchronous function to a stream."""

from __future__ import annotations

from typing import Any

from flinkish.api.arguments import instance, positive, positive_length
from flinkish.api.functions.adapt import checked_callable, function_of
from flinkish.api.functions.async_function import (
    AsyncFunction,
    AsyncLike,
    AsyncRetryStrategies,
    AsyncRetryStrategy,
)
from flinkish.api.plan.operators import AsyncWaitDescription
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.time.durations import TimeLike, TimeUnit
from flinkish.api.type_variables import R, T
from flinkish.api.types.type_info import TypeInformation

DEFAULT_CAPACITY = 100


class AsyncDataStream:
    """Asynchronous I/O (Flink: ``AsyncDataStream``).

    Up to ``capacity`` elements are in flight at once in each task. One that takes longer than
    ``timeout``, retries included, goes to ``AsyncFunction.timeout``. A batch is committed once all
    its results have arrived, and a watermark is emitted after the results of all elements before
    it.

    >>> from flinkish.testing import StreamTestHarness
    >>> async def doubled(value):
    ...     return [value, value]
    >>> harness = StreamTestHarness(lambda s: AsyncDataStream.orderedWait(s, doubled, 1000))
    >>> harness.processElement(7)
    >>> [record.value for record in harness.getOutput()]
    [7, 7]
    """

    @staticmethod
    def unorderedWait(
        input: DataStream[T],  # noqa: A002 - Flink's name
        func: AsyncLike[T, R],
        timeout: TimeLike,
        timeUnit: TimeUnit = TimeUnit.MILLISECONDS,
        capacity: int = DEFAULT_CAPACITY,
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]:
        """Results between two watermarks may come in any order. Here it is the order of the
        elements, so that a batch that is run again repeats it. ``timeout`` is a Duration, or a
        number of ``timeUnit``."""
        return _waiting(input, func, timeout, timeUnit, None, capacity, outputType, False)

    @staticmethod
    def orderedWait(
        input: DataStream[T],  # noqa: A002 - Flink's name
        func: AsyncLike[T, R],
        timeout: TimeLike,
        timeUnit: TimeUnit = TimeUnit.MILLISECONDS,
        capacity: int = DEFAULT_CAPACITY,
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]:
        """Results come in the order of the elements."""
        return _waiting(input, func, timeout, timeUnit, None, capacity, outputType, True)

    @staticmethod
    def unorderedWaitWithRetry(
        input: DataStream[T],  # noqa: A002 - Flink's name
        func: AsyncLike[T, R],
        timeout: TimeLike,
        timeUnit: TimeUnit = TimeUnit.MILLISECONDS,
        asyncRetryStrategy: AsyncRetryStrategy | int = AsyncRetryStrategies.NO_RETRY_STRATEGY,
        capacity: int | AsyncRetryStrategy = DEFAULT_CAPACITY,
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]:
        """``unorderedWait`` with retries. Strategy and capacity may come in either order: Java has
        the capacity first."""
        strategy = asyncRetryStrategy
        return _waiting(input, func, timeout, timeUnit, strategy, capacity, outputType, False)

    @staticmethod
    def orderedWaitWithRetry(
        input: DataStream[T],  # noqa: A002 - Flink's name
        func: AsyncLike[T, R],
        timeout: TimeLike,
        timeUnit: TimeUnit = TimeUnit.MILLISECONDS,
        asyncRetryStrategy: AsyncRetryStrategy | int = AsyncRetryStrategies.NO_RETRY_STRATEGY,
        capacity: int | AsyncRetryStrategy = DEFAULT_CAPACITY,
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]:
        """``orderedWait`` with retries. Strategy and capacity may come in either order."""
        strategy = asyncRetryStrategy
        return _waiting(input, func, timeout, timeUnit, strategy, capacity, outputType, True)


def _waiting(
    stream: DataStream[Any],
    func: Any,
    timeout: TimeLike,
    unit: TimeUnit,
    strategy: Any,
    capacity: Any,
    outputType: TypeInformation[Any] | None,
    ordered: bool,
) -> SingleOutputStreamOperator[Any]:
    method = f"{'ordered' if ordered else 'unordered'}Wait{'' if strategy is None else 'WithRetry'}"
    if isinstance(capacity, AsyncRetryStrategy):  # Java's order
        strategy, capacity = capacity, DEFAULT_CAPACITY if strategy is None else strategy
    instance(f"{method}: input", stream, DataStream, "Pass the stream first.")
    unit = instance(f"{method}: timeUnit", unit, TimeUnit, "Pass one, such as TimeUnit.SECONDS.")
    length = unit.toMillis(timeout) if isinstance(timeout, int) else timeout
    if not isinstance(func, AsyncFunction):
        checked_callable(method, func, "an AsyncFunction or async def f(value)", 1)
    if strategy is not None:
        fix = "Make one with AsyncRetryStrategies."
        instance(f"{method}: asyncRetryStrategy", strategy, AsyncRetryStrategy, fix)
    description = AsyncWaitDescription(
        function=function_of(func),
        call=func.asyncInvoke if isinstance(func, AsyncFunction) else func,
        timeout=positive_length(f"{method}: timeout", length),
        capacity=positive(f"{method}: capacity", capacity),
        ordered=ordered,
        retries=strategy or AsyncRetryStrategies.NO_RETRY_STRATEGY,
    )
    return stream._transform(description, outputType)
