"""What ``WindowedStream`` and ``AllWindowedStream`` share beside their functions: late data, aggregations by field."""

from __future__ import annotations

from typing import Any, Self, TypeVar

from flinkish.api.aggregations import (
    ComparableAggregator,
    FieldAggregator,
    FieldLike,
    SumAggregator,
)
from flinkish.api.arguments import instance
from flinkish.api.environment import StreamExecutionEnvironment
from flinkish.api.keyed_stream import KeyedStream
from flinkish.api.output_tag import OutputTag
from flinkish.api.single_output_stream_operator import SingleOutputStreamOperator
from flinkish.api.types import TypeInformation
from flinkish.api.window_operators import WindowOperatorDescription
from flinkish.api.window_settings import WindowSettings
from flinkish.api.windowing.window_assigner import WindowAssigner
from flinkish.api.windowing.windows import Window

T = TypeVar("T")
W = TypeVar("W", bound=Window)


class BaseWindowedStream(WindowSettings[T, W]):
    """A stream cut into windows, keyed or under one constant key.

    What a window gives, also by field, has the timestamp ``window.maxTimestamp()``. The aggregations
    by field raise InvalidProgramError if the type of the elements has no such field.
    """

    def __init__(self, input: KeyedStream[T, Any], windowAssigner: WindowAssigner[T, W]) -> None:  # noqa: A002
        super().__init__(windowAssigner)
        mend = "Call it on a keyed stream: stream.keyBy(key).window(assigner)."
        self._input = instance("window", input, KeyedStream, mend)

    def sideOutputLateData(self, outputTag: OutputTag[T]) -> Self:
        """Send elements that come too late there, instead of counting and dropping them."""
        self._builder.sideOutputLateData(outputTag)
        return self

    def getExecutionEnvironment(self) -> StreamExecutionEnvironment:
        """The environment that the stream belongs to."""
        return self._input.getExecutionEnvironment()

    def getInputType(self) -> TypeInformation[T]:
        """The type of the elements that come in."""
        return self._input.getType()

    # ------------------------------------------------------------------ by field

    def sum(self, field: FieldLike[T]) -> SingleOutputStreamOperator[T]:
        """The first element of the window, with the sum of ``field`` in it: a position, a name, or a
        function that reads one field, such as ``lambda flight: flight.delay``."""
        return self._aggregated(SumAggregator(field))

    def min(self, field: FieldLike[T]) -> SingleOutputStreamOperator[T]:
        """The first element of the window, with the lowest ``field`` in it."""
        return self._aggregated(ComparableAggregator(field, "min"))

    def max(self, field: FieldLike[T]) -> SingleOutputStreamOperator[T]:
        """The first element of the window, with the highest ``field`` in it."""
        return self._aggregated(ComparableAggregator(field, "max"))

    def minBy(self, field: FieldLike[T], first: bool = True) -> SingleOutputStreamOperator[T]:
        """The element with the lowest ``field``, which may be any function of it; of equal ones the
        first, or with ``first=False`` the last."""
        return self._aggregated(ComparableAggregator(field, "minBy", first))

    def maxBy(self, field: FieldLike[T], first: bool = True) -> SingleOutputStreamOperator[T]:
        """The element with the highest ``field``, which may be any function of it; of equal ones the
        first, or with ``first=False`` the last."""
        return self._aggregated(ComparableAggregator(field, "maxBy", first))

    # ------------------------------------------------------------------ building

    def _aggregated(self, aggregator: FieldAggregator[T]) -> SingleOutputStreamOperator[T]:
        aggregator.checkType(self.getInputType())
        return self._result(self._builder.reduce(aggregator, None, None), None)

    def _result(
        self, description: WindowOperatorDescription, outputType: TypeInformation[Any] | None
    ) -> SingleOutputStreamOperator[Any]:
        result = self._input._transform(description, outputType)
        return result.setDescription(description.description)
