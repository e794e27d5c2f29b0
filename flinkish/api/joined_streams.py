"""``join`` of two streams over windows."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from flinkish.api.arguments import instance
from flinkish.api.callables import checked_callable, key_call, one_result, positional_arity
from flinkish.api.data_stream import DataStream
from flinkish.api.functions import Collector, KeySelectorLike
from flinkish.api.join_functions import FlatJoinFunction, JoinFunction, JoinLike
from flinkish.api.output_types import check_key_types
from flinkish.api.returned_results import results_of
from flinkish.api.single_output_stream_operator import SingleOutputStreamOperator
from flinkish.api.tagged_streams import KeyedSides, SidesWithWindow, TaggedUnion, sides
from flinkish.api.type_extraction import collected_type, generic_argument, returned_type
from flinkish.api.types import TypeInformation
from flinkish.api.window_calls import WindowCall
from flinkish.api.windowing.window_assigner import WindowAssigner
from flinkish.api.windowing.windows import Window

T1 = TypeVar("T1")
T2 = TypeVar("T2")
KEY = TypeVar("KEY")
W = TypeVar("W", bound=Window)
R = TypeVar("R")


class JoinedStreams(Generic[T1, T2]):
    """A join of two streams that wants its keys (Flink: ``JoinedStreams``).

    >>> from flinkish import Time, TumblingEventTimeWindows
    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(
    ...     lambda orders, payments: orders.join(payments)
    ...     .where(lambda order: order[0]).equalTo(lambda payment: payment[0])
    ...     .window(TumblingEventTimeWindows.of(Time.minutes(1)))
    ...     .apply(lambda order, payment: (*order, payment[1]))
    ... )
    >>> harness.processElement1(("a", 5), 0)
    >>> harness.processElement2(("a", "paid"), 30_000)
    >>> harness.endInput()
    >>> harness.getOutput()[0].value
    ('a', 5, 'paid')
    """

    def __init__(self, input1: DataStream[T1], input2: DataStream[T2]) -> None:
        instance("join", input1, DataStream, "Call it on the first stream.")
        instance("join", input2, DataStream, "Pass the stream to join with.")
        input1._check_environment("join", input2.getExecutionEnvironment())
        self._inputs = (input1, input2)

    def where(
        self,
        keySelector: KeySelectorLike[T1, KEY] | str,
        keyType: TypeInformation[KEY] | None = None,
    ) -> JoinWhere[T1, T2, KEY]:
        """The key of the first stream's elements."""
        return JoinWhere(*self._inputs, key_call(keySelector, "where"), keyType)


class JoinWhere(KeyedSides[T1, T2, KEY]):
    """A join that wants the key of its second stream (Flink: ``JoinedStreams.Where``)."""

    def equalTo(
        self,
        keySelector: KeySelectorLike[T2, KEY] | str,
        keyType: TypeInformation[KEY] | None = None,
    ) -> JoinEqualTo[T1, T2, KEY]:
        """The key of the second stream's elements."""
        check_key_types("join", self._keyType, keyType)
        key2 = key_call(keySelector, "equalTo")
        return JoinEqualTo(self._input1, self._input2, self._key1, keyType, key2)


class JoinEqualTo(KeyedSides[T1, T2, KEY]):
    """A join that wants its windows (Flink: ``JoinedStreams.Where.EqualTo``)."""

    def window(
        self, assigner: WindowAssigner[TaggedUnion[T1, T2], W]
    ) -> JoinWithWindow[T1, T2, KEY, W]:
        """Join elements of the same window."""
        return JoinWithWindow(self, assigner)


class JoinWithWindow(SidesWithWindow[T1, T2, KEY, W]):
    """A join that wants its function (Flink: ``JoinedStreams.WithWindow``)."""

    def apply(
        self, function: JoinLike[T1, T2, R], outputType: TypeInformation[R] | None = None
    ) -> SingleOutputStreamOperator[R]:
        """Call ``function`` for every pair: a JoinFunction or ``f(first, second)`` returns one
        result, a FlatJoinFunction or ``f(first, second, out)`` writes any number. Results have the
        timestamp ``window.maxTimestamp()``."""
        call = _join_call(function)
        return self._apply(function, call, outputType or _join_type(function))


def _join_call(function: Any) -> WindowCall:
    flat = isinstance(function, FlatJoinFunction)
    join: Any = function
    if isinstance(function, (JoinFunction, FlatJoinFunction)):
        join = function.join
    wanted = "a JoinFunction, a FlatJoinFunction, f(first, second) or f(first, second, out)"
    checked_callable("apply", join, wanted, 2, 3)
    flat = flat or positional_arity(join) == 3
    if not flat:
        one_result("apply", join, "pass f(first, second, out), which may yield any number")

    def call(key: Any, window: Any, context: Any, elements: Any, out: Collector[Any]) -> None:
        one, two = sides(elements)
        for first in one:
            for second in two:
                if flat:
                    for result in results_of(join(first, second, out), wrote=True):
                        out.collect(result)
                else:
                    out.collect(join(first, second))

    return call


def _join_type(function: Any) -> TypeInformation[Any] | None:
    if isinstance(function, JoinFunction):
        return generic_argument(function, JoinFunction, 2, "join")
    if isinstance(function, FlatJoinFunction):
        return generic_argument(function, FlatJoinFunction, 2)
    return returned_type(function) or collected_type(function)
