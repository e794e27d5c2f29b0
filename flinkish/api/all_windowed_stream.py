"""``AllWindowedStream``: a whole stream cut into windows, without a key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, overload

from flinkish.api.arguments import instance
from flinkish.api.base_windowed_stream import BaseWindowedStream
from flinkish.api.data_stream import DataStream
from flinkish.api.functions import AggregateFunction, Collector, ReduceLike
from flinkish.api.single_output_stream_operator import SingleOutputStreamOperator
from flinkish.api.types import TypeInformation
from flinkish.api.window_calls import all_window_function_call, apply_all_call, process_all_call
from flinkish.api.window_functions import (
    AllWindowFunction,
    AllWindowLike,
    ProcessAllWindowFunction,
    ProcessAllWindowLike,
    WindowContext,
)
from flinkish.api.windowing.window_assigner import WindowAssigner
from flinkish.api.windowing.windows import Window

T = TypeVar("T")
W = TypeVar("W", bound=Window)
R = TypeVar("R")
V = TypeVar("V")
ACC = TypeVar("ACC")


class AllWindowedStream(BaseWindowedStream[T, W]):
    """A whole stream cut into windows: the same as under one constant key, so by one task
    (Flink: ``AllWindowedStream``).

    The settings change this object and return it.

    >>> from flinkish import Time, TumblingEventTimeWindows
    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(
    ...     lambda numbers: numbers.windowAll(TumblingEventTimeWindows.of(Time.seconds(1)))
    ...     .reduce(lambda a, b: a + b)
    ... )
    >>> for number in (1, 2, 3):
    ...     harness.processElement(number, number)
    >>> harness.processWatermark(1000)
    >>> harness.getOutput()[0]
    StreamRecord(value=6, timestamp=999)
    """

    def __init__(self, input: DataStream[T], windowAssigner: WindowAssigner[T, W]) -> None:  # noqa: A002
        instance(
            "windowAll", input, DataStream, "Call it on the stream: stream.windowAll(assigner)."
        )
        super().__init__(input.keyBy(constant_key), windowAssigner)

    @overload
    def reduce(
        self, function: ReduceLike[T], *, outputType: TypeInformation[T] | None = None
    ) -> SingleOutputStreamOperator[T]: ...

    @overload
    def reduce(
        self,
        function: ReduceLike[T],
        windowFunction: ProcessAllWindowFunction[T, R, W] | AllWindowFunction[T, R, W],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    @overload
    def reduce(
        self,
        function: ReduceLike[T],
        windowFunction: Callable[[WindowContext[W], Iterable[T]], Iterable[R]],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    def reduce(
        self,
        function: ReduceLike[T],
        windowFunction: Any = None,
        outputType: TypeInformation[Any] | None = None,
    ) -> SingleOutputStreamOperator[Any]:
        """Reduce the elements of a window to one, as they come; ``windowFunction`` (one as for
        ``process``, or an AllWindowFunction) then gets that one. Results have the timestamp
        ``window.maxTimestamp()``."""
        call = None if windowFunction is None else all_window_function_call(windowFunction)
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
        windowFunction: ProcessAllWindowFunction[V, R, W] | AllWindowFunction[V, R, W],
        accumulatorType: TypeInformation[ACC] | None = None,
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    @overload
    def aggregate(
        self,
        aggregateFunction: AggregateFunction[T, ACC, V],
        windowFunction: Callable[[WindowContext[W], Iterable[V]], Iterable[R]],
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
        ``process``, or an AllWindowFunction) then gets the one result. A result of None is
        no result, as in Flink. Results have the timestamp ``window.maxTimestamp()``."""
        call = None if windowFunction is None else all_window_function_call(windowFunction)
        description = self._builder.aggregate(aggregateFunction, windowFunction, call)
        return self._result(description, outputType)

    @overload
    def process(
        self,
        function: ProcessAllWindowFunction[T, R, W],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    @overload
    def process(
        self,
        function: Callable[[WindowContext[W], Iterable[T]], Iterable[R]],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    @overload
    def process(
        self,
        function: Callable[[WindowContext[W], Iterable[T], Collector[R]], None],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    def process(
        self,
        function: ProcessAllWindowLike[T, R, W],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]:
        """Keep the elements and hand all of them to ``function(context, elements[, out])`` when the
        window fires. Results have the timestamp ``window.maxTimestamp()``."""
        description = self._builder.collect(function, process_all_call(function))
        return self._result(description, outputType)

    @overload
    def apply(
        self,
        function: AllWindowFunction[T, R, W],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    @overload
    def apply(
        self,
        function: Callable[[W, Iterable[T]], Iterable[R]],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    @overload
    def apply(
        self,
        function: Callable[[W, Iterable[T], Collector[R]], None],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    def apply(
        self,
        function: AllWindowLike[T, R, W],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]:
        """Keep the elements and hand all of them to ``function(window, elements[, out])`` when the
        window fires. Results have the timestamp ``window.maxTimestamp()``."""
        return self._result(self._builder.collect(function, apply_all_call(function)), outputType)


def constant_key(element: object) -> int:
    """The one key of a stream without keys (Flink: ``NullByteKeySelector``)."""
    return 0
