"""``WindowedStream``: a keyed stream cut into windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, Self, TypeVar, overload

from flinkish.api.base_windowed_stream import BaseWindowedStream
from flinkish.api.functions import AggregateFunction, Collector, ReduceLike
from flinkish.api.keyed_stream import KeyedStream
from flinkish.api.single_output_stream_operator import SingleOutputStreamOperator
from flinkish.api.types import TypeInformation
from flinkish.api.window_calls import apply_call, process_call, window_function_call
from flinkish.api.window_functions import (
    ProcessWindowFunction,
    ProcessWindowLike,
    WindowContext,
    WindowFunction,
    WindowLike,
)
from flinkish.api.windowing.window_assigner import WindowAssigner
from flinkish.api.windowing.windows import Window

T = TypeVar("T")
K = TypeVar("K")
W = TypeVar("W", bound=Window)
R = TypeVar("R")
V = TypeVar("V")
ACC = TypeVar("ACC")


class WindowedStream(BaseWindowedStream[T, W], Generic[T, K, W]):
    """A keyed stream cut into windows (Flink: ``WindowedStream``).

    The settings change this object and return it.

    >>> from flinkish import EventTimeSessionWindows, Time
    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(
    ...     lambda words: words.keyBy(len)
    ...     .window(EventTimeSessionWindows.withGap(Time.seconds(1)))
    ...     .apply(lambda key, window, elements: [(key, window.start, list(elements))])
    ... )
    >>> for word, timestamp in [("to", 0), ("be", 400), ("or", 3000)]:
    ...     harness.processElement(word, timestamp)
    >>> harness.processWatermark(2000)
    >>> harness.getOutput()[0].value
    (2, 0, ['to', 'be'])
    """

    def __init__(self, input: KeyedStream[T, K], windowAssigner: WindowAssigner[T, W]) -> None:  # noqa: A002
        super().__init__(input, windowAssigner)

    @overload
    def reduce(
        self, function: ReduceLike[T], *, outputType: TypeInformation[T] | None = None
    ) -> SingleOutputStreamOperator[T]: ...

    @overload
    def reduce(
        self,
        function: ReduceLike[T],
        windowFunction: ProcessWindowFunction[T, R, K, W] | WindowFunction[T, R, K, W],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    @overload
    def reduce(
        self,
        function: ReduceLike[T],
        windowFunction: Callable[[K, WindowContext[W], Iterable[T]], Iterable[R]],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    def reduce(
        self,
        function: ReduceLike[T],
        windowFunction: Any = None,
        outputType: TypeInformation[Any] | None = None,
    ) -> SingleOutputStreamOperator[Any]:
        """Reduce the elements of a window to one, as they come; ``windowFunction`` (one as for
        ``process``, or a WindowFunction) then gets that one. Results have the timestamp
        ``window.maxTimestamp()``."""
        call = None if windowFunction is None else window_function_call(windowFunction)
        return self._result(self._builder.reduce(function, windowFunction, call), outputType)

    @overload
    def aggregate(
        self,
        aggregateFunction: AggregateFunction[T, ACC, R],
        *,
        accumulatorType: TypeInformation[ACC] | None = None,
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    @overload
    def aggregate(
        self,
        aggregateFunction: AggregateFunction[T, ACC, V],
        windowFunction: ProcessWindowFunction[V, R, K, W] | WindowFunction[V, R, K, W],
        accumulatorType: TypeInformation[ACC] | None = None,
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    @overload
    def aggregate(
        self,
        aggregateFunction: AggregateFunction[T, ACC, V],
        windowFunction: Callable[[K, WindowContext[W], Iterable[V]], Iterable[R]],
        accumulatorType: TypeInformation[ACC] | None = None,
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    def aggregate(
        self,
        aggregateFunction: AggregateFunction[T, Any, Any],
        windowFunction: Any = None,
        accumulatorType: TypeInformation[Any] | None = None,
        outputType: TypeInformation[Any] | None = None,
    ) -> SingleOutputStreamOperator[Any]:
        """Aggregate the elements of a window as they come; ``windowFunction`` (one as for
        ``process``, or a WindowFunction) then gets the one result. A result of None is
        no result, as in Flink. Results have the timestamp ``window.maxTimestamp()``."""
        call = None if windowFunction is None else window_function_call(windowFunction)
        description = self._builder.aggregate(aggregateFunction, windowFunction, call)
        return self._result(description, outputType)

    @overload
    def process(
        self,
        function: ProcessWindowFunction[T, R, K, W],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    @overload
    def process(
        self,
        function: Callable[[K, WindowContext[W], Iterable[T]], Iterable[R]],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    @overload
    def process(
        self,
        function: Callable[[K, WindowContext[W], Iterable[T], Collector[R]], None],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    def process(
        self,
        function: ProcessWindowLike[T, R, K, W],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]:
        """Keep the elements and hand all of them to ``function(key, context, elements[, out])``
        when the window fires. Results have the timestamp ``window.maxTimestamp()``."""
        return self._result(self._builder.collect(function, process_call(function)), outputType)

    @overload
    def apply(
        self,
        function: WindowFunction[T, R, K, W],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    @overload
    def apply(
        self,
        function: Callable[[K, W, Iterable[T]], Iterable[R]],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    @overload
    def apply(
        self,
        function: Callable[[K, W, Iterable[T], Collector[R]], None],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    def apply(
        self,
        function: WindowLike[T, R, K, W],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]:
        """Keep the elements and hand all of them to ``function(key, window, elements[, out])``
        when the window fires. Results have the timestamp ``window.maxTimestamp()``."""
        return self._result(self._builder.collect(function, apply_call(function)), outputType)

    def enableAsyncState(self) -> Self:
        """Accepted for ported jobs: state is read a page at a time, so there is no waiting."""
        return self
