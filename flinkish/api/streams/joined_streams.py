"""Window joins and coGroups.

As in Flink the two streams become one of tagged elements, which is keyed and windowed like any
other; its window function separates the two sides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar, cast

from flinkish.api.arguments import instance
from flinkish.api.errors import IllegalStateError
from flinkish.api.functions.adapt import (
    checked_callable,
    key_call,
    one_result,
    positional_arity,
)
from flinkish.api.functions.function_types import (
    collected_type,
    generic_argument,
    returned_item_type,
    returned_type,
)
from flinkish.api.functions.functions import Collector, KeySelectorLike
from flinkish.api.functions.join import (
    CoGroupFunction,
    CoGroupLike,
    FlatJoinFunction,
    JoinFunction,
    JoinLike,
    TaggedUnion,
)
from flinkish.api.functions.tagged import JoinCall, Tagger, sides
from flinkish.api.plan.operators import InOrderDescription
from flinkish.api.plan.output_types import check_key_types
from flinkish.api.plan.window_operator import WindowCall
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.streams.keyed_stream import KeyedStream
from flinkish.api.streams.window_builder import WindowSettings
from flinkish.api.type_variables import T1, T2, R
from flinkish.api.types.type_info import TypeInformation, Types
from flinkish.api.windowing.assigners import WindowAssigner
from flinkish.api.windowing.windows import W

KEY = TypeVar("KEY")


class _Inputs(Generic[T1, T2]):
    """Two streams of one environment."""

    _method: ClassVar[str]

    def __init__(self, input1: DataStream[T1], input2: DataStream[T2]) -> None:
        instance(self._method, input1, DataStream, "Call it on the first stream.")
        verb = self._method.removeprefix("co").lower()
        instance(self._method, input2, DataStream, f"Pass the stream to {verb} with.")
        input1._check_environment(self._method, input2.getExecutionEnvironment())
        self._inputs = (input1, input2)


class KeyedSides(Generic[T1, T2, KEY]):
    """Two streams, and the key selectors given so far."""

    def __init__(
        self,
        input1: DataStream[T1],
        input2: DataStream[T2],
        keySelector1: Callable[[T1], KEY],
        keyType: TypeInformation[KEY] | None,
        keySelector2: Callable[[T2], KEY] | None = None,
    ) -> None:
        self._inputs = (input1, input2)
        self._key1 = keySelector1
        self._keyType = keyType
        self._key2 = keySelector2

    def tagged(self, inOrder: bool) -> KeyedStream[TaggedUnion[T1, T2], KEY]:
        """Both streams as one. ``inOrder``: if both derive from one stream, their elements keep its
        order."""
        first: DataStream[TaggedUnion[T1, T2]] = self._inputs[0].map(Tagger(1))
        second: DataStream[TaggedUnion[T1, T2]] = self._inputs[1].map(Tagger(2))
        key1, key2 = self._key1, self._key2
        if key2 is None:
            raise IllegalStateError(
                "where: the join has a key of its first stream only. Call equalTo(key) next."
            )

        def key_of(element: TaggedUnion[T1, T2]) -> KEY:
            if element.tag == 1:
                return key1(cast(T1, element.value))
            return key2(cast(T2, element.value))

        both = first.union(second)
        return (both._transform(InOrderDescription()) if inOrder else both).keyBy(key_of)


class SidesWithWindow(WindowSettings[TaggedUnion[T1, T2], W], Generic[T1, T2, KEY, W]):
    """A join or coGroup waiting for ``apply(...)``; its windows contain the elements of both sides."""

    def __init__(
        self,
        keys: KeyedSides[T1, T2, KEY],
        assigner: WindowAssigner[TaggedUnion[T1, T2], W],
    ) -> None:
        super().__init__(assigner)
        self._keys = keys

    def _apply(
        self, function: object, call: WindowCall, outputType: TypeInformation[R] | None
    ) -> SingleOutputStreamOperator[R]:
        description = replace(self._build(None, function, call), ofTwoStreams=True)
        union = self._keys.tagged(inOrder=not description.firesOnce)
        result = union._transform(description, outputType or Types.PICKLED_BYTE_ARRAY())
        return result.setDescription(description.description)


class JoinedStreams(_Inputs[T1, T2]):
    """A join of two streams waiting for ``where(...)`` (Flink: ``JoinedStreams``).

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

    _method = "join"

    def where(
        self,
        keySelector: KeySelectorLike[T1, KEY] | str,
        keyType: TypeInformation[KEY] | None = None,
    ) -> JoinWhere[T1, T2, KEY]:
        """Set the key of the first stream."""
        return JoinWhere(*self._inputs, key_call(keySelector, "where"), keyType)


class JoinWhere(KeyedSides[T1, T2, KEY]):
    """A join waiting for ``equalTo(...)``, the key of its second stream (Flink:
    ``JoinedStreams.Where``)."""

    def equalTo(
        self,
        keySelector: KeySelectorLike[T2, KEY] | str,
        keyType: TypeInformation[KEY] | None = None,
    ) -> JoinEqualTo[T1, T2, KEY]:
        """Set the key of the second stream."""
        check_key_types("join", self._keyType, keyType)
        key2 = key_call(keySelector, "equalTo")
        return JoinEqualTo(*self._inputs, self._key1, keyType, key2)


class JoinEqualTo(KeyedSides[T1, T2, KEY]):
    """A join waiting for ``window(...)`` (Flink: ``JoinedStreams.Where.EqualTo``)."""

    def window(
        self, assigner: WindowAssigner[TaggedUnion[T1, T2], W]
    ) -> JoinWithWindow[T1, T2, KEY, W]:
        """Join elements in the same window."""
        return JoinWithWindow(self, assigner)


class JoinWithWindow(SidesWithWindow[T1, T2, KEY, W]):
    """A join waiting for ``apply(...)`` (Flink: ``JoinedStreams.WithWindow``)."""

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
    return JoinCall(join, flat)


def _join_type(function: Any) -> TypeInformation[Any] | None:
    if isinstance(function, JoinFunction):
        return generic_argument(function, JoinFunction, 2, "join")
    if isinstance(function, FlatJoinFunction):
        return generic_argument(function, FlatJoinFunction, 2)
    return returned_type(function) or collected_type(function)


class CoGroupedStreams(_Inputs[T1, T2]):
    """A coGroup of two streams waiting for ``where(...)`` (Flink: ``CoGroupedStreams``)."""

    _method = "coGroup"

    def where(
        self,
        keySelector: KeySelectorLike[T1, KEY] | str,
        keyType: TypeInformation[KEY] | None = None,
    ) -> CoGroupWhere[T1, T2, KEY]:
        """Set the key of the first stream."""
        return CoGroupWhere(*self._inputs, key_call(keySelector, "where"), keyType)


class CoGroupWhere(KeyedSides[T1, T2, KEY]):
    """A coGroup waiting for ``equalTo(...)``, the key of its second stream (Flink:
    ``CoGroupedStreams.Where``)."""

    def equalTo(
        self,
        keySelector: KeySelectorLike[T2, KEY] | str,
        keyType: TypeInformation[KEY] | None = None,
    ) -> CoGroupEqualTo[T1, T2, KEY]:
        """Set the key of the second stream."""
        check_key_types("coGroup", self._keyType, keyType)
        key2 = key_call(keySelector, "equalTo")
        return CoGroupEqualTo(*self._inputs, self._key1, keyType, key2)


class CoGroupEqualTo(KeyedSides[T1, T2, KEY]):
    """A coGroup waiting for ``window(...)`` (Flink: ``CoGroupedStreams.Where.EqualTo``)."""

    def window(
        self, assigner: WindowAssigner[TaggedUnion[T1, T2], W]
    ) -> CoGroupWithWindow[T1, T2, KEY, W]:
        """Group elements in the same window."""
        return CoGroupWithWindow(self, assigner)


class CoGroupWithWindow(SidesWithWindow[T1, T2, KEY, W]):
    """A coGroup waiting for ``apply(...)`` (Flink: ``CoGroupedStreams.WithWindow``)."""

    def apply(
        self, function: CoGroupLike[T1, T2, R], outputType: TypeInformation[R] | None = None
    ) -> SingleOutputStreamOperator[R]:
        """Call ``function`` for every key and window: a CoGroupFunction or
        ``f(first, second[, out])``. Results have the timestamp ``window.maxTimestamp()``."""
        call = _co_group_call(function)
        return self._apply(function, call, outputType or _co_group_type(function))


def _co_group_call(function: Any) -> WindowCall:
    group: Any = function.coGroup if isinstance(function, CoGroupFunction) else function
    wanted = "a CoGroupFunction, f(first, second) or f(first, second, out)"
    checked_callable("apply", group, wanted, 2, 3)
    writes = positional_arity(group) == 3

    def call(key: Any, window: Any, context: Any, elements: Any, out: Collector[Any]) -> Any:
        one, two = sides(elements)
        return group(one, two, out) if writes else group(one, two)

    return call


def _co_group_type(function: Any) -> TypeInformation[Any] | None:
    if isinstance(function, CoGroupFunction):
        return generic_argument(function, CoGroupFunction, 2)
    return returned_item_type(function) or collected_type(function)
