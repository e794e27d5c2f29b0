"""Windowed streams: ``WindowedStream`` with windows for each key, ``AllWindowedStream`` without keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Self, overload

from flinkish.api.absent import AbsentMethods
from flinkish.api.arguments import instance
from flinkish.api.functions.aggregations import FieldAggregator
from flinkish.api.functions.functions import AggregateFunction, Collector, ReduceLike
from flinkish.api.functions.window import (
    AllWindowFunction,
    AllWindowLike,
    ProcessAllWindowFunction,
    ProcessAllWindowLike,
    ProcessWindowFunction,
    ProcessWindowLike,
    WindowContext,
    WindowFunction,
    WindowLike,
)
from flinkish.api.output_tag import OutputTag, checked_tag
from flinkish.api.plan.partitioning import HashPartitioning
from flinkish.api.plan.transformations import PartitionTransformation
from flinkish.api.plan.window_operator import (
    WindowCall,
    WindowOperatorDescription,
    all_window_function_call,
    apply_all_call,
    apply_call,
    process_all_call,
    process_call,
    window_function_call,
)
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.streams.field_aggregations import FieldAggregations
from flinkish.api.streams.keyed_stream import KeyedStream
from flinkish.api.streams.window_builder import WindowSettings
from flinkish.api.type_variables import ACC, K, R, T, V
from flinkish.api.types.type_info import TypeInformation
from flinkish.api.windowing.assigners import WindowAssigner
from flinkish.api.windowing.windows import W

if TYPE_CHECKING:
    from flinkish.api.environment.environment import StreamExecutionEnvironment


class BaseWindowedStream(WindowSettings[T, W], FieldAggregations[T], AbsentMethods):
    """The base of windowed streams. Each runs on a keyed stream; without keys it has a constant
    one.

    All results of a window carry ``window.maxTimestamp()``.
    """

    def __init__(
        self,
        input: KeyedStream[T, Any],  # noqa: A002
        windowAssigner: WindowAssigner[T, W],
        windowFunctionCall: Callable[[Any], WindowCall],
    ) -> None:
        """``windowFunctionCall``: how to call the function after ``reduce`` or ``aggregate``."""
        super().__init__(windowAssigner)
        self._window_function_call = windowFunctionCall
        fix = "Call it on a keyed stream: stream.keyBy(key).window(assigner)."
        self._input = instance("window", input, KeyedStream, fix)

    def sideOutputLateData(self, outputTag: OutputTag[T]) -> Self:
        """Send late elements to that side output, instead of dropping and counting them."""
        self._late_tag = checked_tag("sideOutputLateData", outputTag)
        return self

    def getExecutionEnvironment(self) -> StreamExecutionEnvironment:
        """The environment that the stream belongs to."""
        return self._input.getExecutionEnvironment()

    def getInputType(self) -> TypeInformation[T]:
        """The type of the input elements."""
        return self._input.getType()

    # ------------------------------------------------------------------ building

    def _reduce(
        self, function: Any, windowFunction: Any, outputType: TypeInformation[Any] | None
    ) -> SingleOutputStreamOperator[Any]:
        call = None if windowFunction is None else self._window_function_call(windowFunction)
        return self._result(self._reducing(function, windowFunction, call), outputType)

    def _aggregate(
        self, function: Any, windowFunction: Any, outputType: TypeInformation[Any] | None
    ) -> SingleOutputStreamOperator[Any]:
        call = None if windowFunction is None else self._window_function_call(windowFunction)
        return self._result(self._aggregating(function, windowFunction, call), outputType)

    def _collect(
        self, function: Any, call: WindowCall, outputType: TypeInformation[Any] | None
    ) -> SingleOutputStreamOperator[Any]:
        return self._result(self._build(None, function, call), outputType)

    def _aggregated(self, aggregator: FieldAggregator[T]) -> SingleOutputStreamOperator[T]:
        aggregator.checkType(self.getInputType())
        return self._reduce(aggregator, None, None)

    def _result(
        self, description: WindowOperatorDescription, outputType: TypeInformation[Any] | None
    ) -> SingleOutputStreamOperator[Any]:
        result = self._input._transform(description, outputType)
        return result.setDescription(description.description)


class WindowedStream(BaseWindowedStream[T, W], Generic[T, K, W]):
    """A keyed stream divided into windows (Flink: ``WindowedStream``).

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
        super().__init__(input, windowAssigner, window_function_call)

    @overload
    def reduce(
        self, function: ReduceLike[T], *, outputType: TypeInformation[T] | None = None
    ) -> SingleOutputStreamOperator[T]: ...

    @overload
    def reduce(
        self,
        function: ReduceLike[T],
        windowFunction: ProcessWindowFunction[T, R, K, W]
        | WindowFunction[T, R, K, W]
        | Callable[[K, WindowContext[W], Iterable[T]], Iterable[R]],
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
        return self._reduce(function, windowFunction, outputType)

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
        windowFunction: ProcessWindowFunction[V, R, K, W]
        | WindowFunction[V, R, K, W]
        | Callable[[K, WindowContext[W], Iterable[V]], Iterable[R]],
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
        not emitted, as in Flink. Results have the timestamp ``window.maxTimestamp()``.
        ``accumulatorType`` is Flink's parameter and has no effect here."""
        return self._aggregate(aggregateFunction, windowFunction, outputType)

    @overload
    def process(
        self,
        function: ProcessWindowFunction[T, R, K, W]
        | Callable[[K, WindowContext[W], Iterable[T]], Iterable[R]],
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
        return self._collect(function, process_call(function), outputType)

    @overload
    def apply(
        self,
        function: WindowFunction[T, R, K, W] | Callable[[K, W, Iterable[T]], Iterable[R]],
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
        return self._collect(function, apply_call(function), outputType)

    def enableAsyncState(self) -> Self:
        """Accepted for ported jobs: state is read a page at a time, so there is no waiting."""
        return self


class AllWindowedStream(BaseWindowedStream[T, W]):
    """A whole stream divided into windows, as if all elements had one key; so it runs in one task
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
        super().__init__(input.keyBy(constant_key), windowAssigner, all_window_function_call)

    @overload
    def reduce(
        self, function: ReduceLike[T], *, outputType: TypeInformation[T] | None = None
    ) -> SingleOutputStreamOperator[T]: ...

    @overload
    def reduce(
        self,
        function: ReduceLike[T],
        windowFunction: ProcessAllWindowFunction[T, R, W]
        | AllWindowFunction[T, R, W]
        | Callable[[WindowContext[W], Iterable[T]], Iterable[R]],
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
        return self._reduce(function, windowFunction, outputType)

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
        windowFunction: ProcessAllWindowFunction[V, R, W]
        | AllWindowFunction[V, R, W]
        | Callable[[WindowContext[W], Iterable[V]], Iterable[R]],
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
        not emitted, as in Flink. Results have the timestamp ``window.maxTimestamp()``.
        ``accumulatorType`` is Flink's parameter and has no effect here."""
        return self._aggregate(aggregateFunction, windowFunction, outputType)

    @overload
    def process(
        self,
        function: ProcessAllWindowFunction[T, R, W]
        | Callable[[WindowContext[W], Iterable[T]], Iterable[R]],
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
        return self._collect(function, process_all_call(function), outputType)

    @overload
    def apply(
        self,
        function: AllWindowFunction[T, R, W] | Callable[[W, Iterable[T]], Iterable[R]],
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
        return self._collect(function, apply_all_call(function), outputType)


def constant_key(element: object) -> int:
    """The key selector of a stream without keys (Flink: ``NullByteKeySelector``)."""
    return 0


def with_null_keys(stream: DataStream[T]) -> KeyedStream[T, Any]:
    """``stream`` with None as a key, as in other systems; with ``constant_key`` if it is not keyed."""
    allowing = copy(stream if isinstance(stream, KeyedStream) else stream.keyBy(constant_key))
    partitioned = allowing._transformation
    assert isinstance(partitioned, PartitionTransformation)
    assert isinstance(partitioned.partitioning, HashPartitioning)
    partitioning = replace(partitioned.partitioning, allowsNullKeys=True)
    allowing._transformation = PartitionTransformation(partitioning, *partitioned.inputs)
    return allowing
