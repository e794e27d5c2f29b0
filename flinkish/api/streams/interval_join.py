"""``KeyedStream.intervalJoin``: joins elements whose timestamps are within an interval of one another.

A left element at t joins the right elements with the same key from t + lower to t + upper (ms), both
included unless you exclude them: with ``between(-5, 10)`` one at 100 joins those from 95 to 110.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar

from flinkish.api.arguments import milliseconds
from flinkish.api.errors import IllegalArgumentError, NotSupportedError
from flinkish.api.functions.adapt import checked_callable, function_of
from flinkish.api.functions.join import ProcessJoinFunction, ProcessJoinLike
from flinkish.api.output_tag import OutputTag, checked_tag
from flinkish.api.plan.transformations import TwoInputTransformation
from flinkish.api.plan.two_input import IntervalJoinDescription
from flinkish.api.streams.data_stream import SingleOutputStreamOperator
from flinkish.api.time.durations import TimeLike
from flinkish.api.type_variables import OUT, K
from flinkish.api.types.type_info import TypeInformation

if TYPE_CHECKING:
    from flinkish.api.streams.keyed_stream import KeyedStream

IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")


@dataclass(frozen=True)
class IntervalJoin(Generic[IN1, IN2, K]):
    """An interval join waiting for ``between(...)`` (Flink: ``KeyedStream.IntervalJoin``)."""

    left: KeyedStream[IN1, K]
    right: KeyedStream[IN2, K]

    def inEventTime(self) -> Self:
        """Join in event time, which is the default and the only choice."""
        return self

    def inProcessingTime(self) -> NoReturn:
        """Not supported, as in Flink."""
        raise NotSupportedError(
            "intervalJoin: streams are only joined over intervals of event time. Leave"
            " inProcessingTime() out, and give elements without timestamps the time of their"
            " arrival in assignTimestampsAndWatermarks."
        )

    def between(self, lowerBound: TimeLike, upperBound: TimeLike) -> IntervalJoined[IN1, IN2, K]:
        """Join ``left`` and ``right`` if left's timestamp + lowerBound <= right's timestamp <=
        left's timestamp + upperBound. Bounds may be negative."""
        lower = milliseconds("between: lowerBound", lowerBound)
        upper = milliseconds("between: upperBound", upperBound)
        if lower > upper:
            raise IllegalArgumentError(
                f"intervalJoin: the lower bound ({lower} ms) is above the upper bound ({upper} ms)."
                " Swap them: between(lowerBound, upperBound)."
            )
        return IntervalJoined(self.left, self.right, lower, upper)


@dataclass(frozen=True)
class IntervalJoined(Generic[IN1, IN2, K]):
    """An interval join waiting for ``process(...)`` (Flink: ``KeyedStream.IntervalJoined``)."""

    left: KeyedStream[IN1, K]
    right: KeyedStream[IN2, K]
    lower: int
    upper: int
    lowerInclusive: bool = True
    upperInclusive: bool = True
    leftLateTag: OutputTag[IN1] | None = None
    rightLateTag: OutputTag[IN2] | None = None

    def lowerBoundExclusive(self) -> Self:
        """Exclude the lower bound itself."""
        return replace(self, lowerInclusive=False)

    def upperBoundExclusive(self) -> Self:
        """Exclude the upper bound itself."""
        return replace(self, upperInclusive=False)

    def sideOutputLeftLateData(self, outputTag: OutputTag[IN1]) -> Self:
        """Emit late left elements to a side output, instead of dropping them."""
        return replace(self, leftLateTag=checked_tag("sideOutputLeftLateData", outputTag))

    def sideOutputRightLateData(self, outputTag: OutputTag[IN2]) -> Self:
        """Emit late right elements to a side output, instead of dropping them."""
        return replace(self, rightLateTag=checked_tag("sideOutputRightLateData", outputTag))

    def enableAsyncState(self) -> Self:
        """Accepted for ported jobs: state is read a page at a time, so there is no waiting."""
        return self

    def process(
        self,
        processJoinFunction: ProcessJoinLike[IN1, IN2, OUT],
        outputType: TypeInformation[OUT] | None = None,
    ) -> SingleOutputStreamOperator[OUT]:
        """Call the function for every pair. Results carry the later of the two timestamps."""
        call: Any
        if isinstance(processJoinFunction, ProcessJoinFunction):
            call = processJoinFunction.processElement
        else:
            wanted = "a ProcessJoinFunction or f(left, right, ctx, out)"
            call = checked_callable("intervalJoin", processJoinFunction, wanted, 4)
        operator = IntervalJoinDescription(
            function=function_of(processJoinFunction),
            call=call,
            lower=self.lower if self.lowerInclusive else self.lower + 1,
            upper=self.upper if self.upperInclusive else self.upper - 1,
            leftLateTag=self.leftLateTag,
            rightLateTag=self.rightLateTag,
        )
        transformation = TwoInputTransformation(
            operator, self.left.getTransformation(), self.right.getTransformation()
        )
        transformation.outputType = outputType
        return SingleOutputStreamOperator(self.left.getExecutionEnvironment(), transformation)
