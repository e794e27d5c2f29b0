"""``AllWindowedStream``: a whole stream cut into windows, without a key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, Self, TypeVar, overload

from flinkish.api.aggregations import FieldAggregator
from flinkish.api.data_stream import DataStream
from flinkish.api.environment import StreamExecutionEnvironment
from flinkish.api.field_aggregations import FieldAggregations
from flinkish.api.fields import field_type
from flinkish.api.functions import AggregateFunction, Collector, ReduceLike
from flinkish.api.output_tag import OutputTag
from flinkish.api.single_output_stream_operator import SingleOutputStreamOperator
from flinkish.api.time import TimeLike
from flinkish.api.types import TypeInformation
from flinkish.api.window_builder import WindowOperatorBuilder
from flinkish.api.window_calls import all_window_function_call, apply_all_call, process_all_call
from flinkish.api.window_functions import (
    AllWindowFunction,
    AllWindowLike,
    ProcessAllWindowFunction,
    ProcessAllWindowLike,
    WindowContext,
)
from flinkish.api.window_operators import WindowOperatorDescription
from flinkish.api.windowing.evictor import Evictor
from flinkish.api.windowing.trigger import Trigger
from flinkish.api.windowing.window_assigner import WindowAssigner
from flinkish.api.windowing.windows import Window

T = TypeVar("T")
W = TypeVar("W", bound=Window)
R = TypeVar("R")
V = TypeVar("V")
ACC = TypeVar("ACC")


class AllWindowedStream(FieldAggregations[T], Generic[T, W]):
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
        self._input = input.keyBy(constant_key)
        self._builder = WindowOperatorBuilder(windowAssigner)

    # ------------------------------------------------------------------ settings

    def trigger(self, trigger: Trigger[T, W]) -> Self:
        """Let ``trigger`` say when windows fire, instead of the assigner's default."""
        self._builder.trigger(trigger)
        return self

    def evictor(self, evictor: Evictor[T, W]) -> Self:
        """Let ``evictor`` take out elements when a window fires. All elements are then kept."""
        self._builder.evictor(evictor)
        return self

    def allowedLateness(self, lateness: TimeLike) -> Self:
        """Keep event-time windows for so long after the watermark has passed them: elements that
        come meanwhile fire them again. By default 0."""
        self._builder.allowedLateness(lateness)
        return self

    def sideOutputLateData(self, outputTag: OutputTag[T]) -> Self:
        """Send elements that come too late there, instead of counting and dropping them."""
        self._builder.sideOutputLateData(outputTag)
        return self

    # ------------------------------------------------------------------ functions

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
        ``process``, or an AllWindowFunction) then gets that one."""
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
        no result, as in Flink."""
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
        window fires."""
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
        window fires."""
        return self._result(self._builder.collect(function, apply_all_call(function)), outputType)

    # ------------------------------------------------------------------ building

    def _aggregated(self, aggregator: FieldAggregator[T]) -> SingleOutputStreamOperator[T]:
        field_type(self.getInputType(), aggregator.field, "aggregation")
        return self.reduce(aggregator)

    def getExecutionEnvironment(self) -> StreamExecutionEnvironment:
        """The environment that the stream belongs to."""
        return self._input.getExecutionEnvironment()

    def getInputType(self) -> TypeInformation[T]:
        """The type of the elements that come in."""
        return self._input.getType()

    def _result(
        self, description: WindowOperatorDescription, outputType: TypeInformation[Any] | None
    ) -> SingleOutputStreamOperator[Any]:
        result = self._input._transform(description, outputType)
        return result.setDescription(description.description)


def constant_key(element: object) -> int:
    """The one key of a stream without keys (Flink: ``NullByteKeySelector``)."""
    return 0
