"""``AsyncDataStream``: applies an asynchronous function to a stream."""

from __future__ import annotations

from flinkish.api.arguments import instance
from flinkish.api.streams.async_data_stream import AsyncDataStream as Core
from flinkish.api.time.durations import TimeUnit
from flinkish.pyflink.common.arguments import declared_type_or_none, millis_of_time, user_function
from flinkish.pyflink.common.time import Time
from flinkish.pyflink.common.typeinfo import TypeInformation
from flinkish.pyflink.datastream.adapters import AsyncAdapter, RetryAdapter
from flinkish.pyflink.datastream.async_retry_strategies import AsyncRetryStrategy
from flinkish.pyflink.datastream.data_stream import DataStream
from flinkish.pyflink.datastream.functions import AsyncFunction

_DEFAULT_CAPACITY = 100


class AsyncDataStream:
    """Asynchronous I/O (PyFlink: ``AsyncDataStream``)."""

    @staticmethod
    def unordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction,
        timeout: Time,
        capacity: int = _DEFAULT_CAPACITY,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Results between two watermarks may come in any order; here it is the order of the
        elements."""
        retries = AsyncRetryStrategy.no_restart()
        return _waiting(False, data_stream, async_function, timeout, retries, capacity, output_type)

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction,
        timeout: Time,
        async_retry_strategy: AsyncRetryStrategy,
        capacity: int = _DEFAULT_CAPACITY,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """``unordered_wait`` with retries."""
        retries = async_retry_strategy
        return _waiting(False, data_stream, async_function, timeout, retries, capacity, output_type)

    @staticmethod
    def ordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction,
        timeout: Time,
        capacity: int = _DEFAULT_CAPACITY,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Results come in the order of the elements."""
        retries = AsyncRetryStrategy.no_restart()
        return _waiting(True, data_stream, async_function, timeout, retries, capacity, output_type)

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction,
        timeout: Time,
        async_retry_strategy: AsyncRetryStrategy,
        capacity: int = _DEFAULT_CAPACITY,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """``ordered_wait`` with retries."""
        retries = async_retry_strategy
        return _waiting(True, data_stream, async_function, timeout, retries, capacity, output_type)


def _waiting(
    ordered: bool,
    stream: DataStream,
    function: AsyncFunction,
    timeout: Time,
    strategy: AsyncRetryStrategy,
    capacity: int,
    output_type: TypeInformation | None,
) -> DataStream:
    method = "ordered_wait" if ordered else "unordered_wait"
    instance(f"{method}: data_stream", stream, DataStream, "Pass the stream first.")
    user_function(method, function, AsyncFunction)
    fix = "Pass one such as AsyncRetryStrategy.fixed_delay(3, 100)."
    instance(f"{method}: async_retry_strategy", strategy, AsyncRetryStrategy, fix)
    declared_type_or_none(f"{method}: output_type", output_type)
    millis = millis_of_time(f"{method}: timeout", timeout)
    wait = Core.orderedWaitWithRetry if ordered else Core.unorderedWaitWithRetry
    adapter = AsyncAdapter(stream._dependencies, function, output_type)
    retries = RetryAdapter(strategy)
    result = wait(stream.core, adapter, millis, TimeUnit.MILLISECONDS, retries, capacity)
    return stream._result(result, output_type)
