"""``coGroup`` of two streams over windows."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from flinkish.api.arguments import instance
from flinkish.api.callables import checked_callable, key_call, positional_arity
from flinkish.api.data_stream import DataStream
from flinkish.api.functions import Collector, KeySelectorLike
from flinkish.api.join_functions import CoGroupFunction, CoGroupLike
from flinkish.api.output_types import check_key_types
from flinkish.api.single_output_stream_operator import SingleOutputStreamOperator
from flinkish.api.tagged_streams import KeyedSides, SidesWithWindow, TaggedUnion, sides
from flinkish.api.type_extraction import collected_type, generic_argument, returned_item_type
from flinkish.api.types import TypeInformation
from flinkish.api.window_calls import WindowCall
from flinkish.api.windowing.window_assigner import WindowAssigner
from flinkish.api.windowing.windows import Window

T1 = TypeVar("T1")
T2 = TypeVar("T2")
KEY = TypeVar("KEY")
W = TypeVar("W", bound=Window)
R = TypeVar("R")


class CoGroupedStreams(Generic[T1, T2]):
    """A coGroup of two streams that wants its keys (Flink: ``CoGroupedStreams``)."""

    def __init__(self, input1: DataStream[T1], input2: DataStream[T2]) -> None:
        instance("coGroup", input1, DataStream, "Call it on the first stream.")
        instance("coGroup", input2, DataStream, "Pass the stream to group with.")
        input1._check_environment("coGroup", input2.getExecutionEnvironment())
        self._inputs = (input1, input2)

    def where(
        self,
        keySelector: KeySelectorLike[T1, KEY] | str,
        keyType: TypeInformation[KEY] | None = None,
    ) -> CoGroupWhere[T1, T2, KEY]:
        """The key of the first stream's elements."""
        return CoGroupWhere(*self._inputs, key_call(keySelector, "where"), keyType)


class CoGroupWhere(KeyedSides[T1, T2, KEY]):
    """A coGroup that wants the key of its second stream (Flink: ``CoGroupedStreams.Where``)."""

    def equalTo(
        self,
        keySelector: KeySelectorLike[T2, KEY] | str,
        keyType: TypeInformation[KEY] | None = None,
    ) -> CoGroupEqualTo[T1, T2, KEY]:
        """The key of the second stream's elements."""
        check_key_types("coGroup", self._keyType, keyType)
        key2 = key_call(keySelector, "equalTo")
        return CoGroupEqualTo(self._input1, self._input2, self._key1, keyType, key2)


class CoGroupEqualTo(KeyedSides[T1, T2, KEY]):
    """A coGroup that wants its windows (Flink: ``CoGroupedStreams.Where.EqualTo``)."""

    def window(
        self, assigner: WindowAssigner[TaggedUnion[T1, T2], W]
    ) -> CoGroupWithWindow[T1, T2, KEY, W]:
        """Group elements of the same window."""
        return CoGroupWithWindow(self, assigner)


class CoGroupWithWindow(SidesWithWindow[T1, T2, KEY, W]):
    """A coGroup that wants its function (Flink: ``CoGroupedStreams.WithWindow``)."""

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
