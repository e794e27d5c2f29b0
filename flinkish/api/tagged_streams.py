"""Two streams as one, as window joins and coGroups take them.

As in Flink both are one stream of tagged elements, keyed and windowed like any other, whose
window function takes the two sides apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, NamedTuple, TypeVar, cast

from flinkish.api.data_stream import DataStream
from flinkish.api.errors import IllegalStateError
from flinkish.api.functions import MapFunction
from flinkish.api.keyed_stream import KeyedStream
from flinkish.api.operators import InOrderDescription
from flinkish.api.single_output_stream_operator import SingleOutputStreamOperator
from flinkish.api.stored_names import stored_as
from flinkish.api.types import TypeInformation, Types
from flinkish.api.window_calls import WindowCall
from flinkish.api.window_settings import WindowSettings
from flinkish.api.windowing.window_assigner import WindowAssigner
from flinkish.api.windowing.windows import Window

T1 = TypeVar("T1")
T2 = TypeVar("T2")
KEY = TypeVar("KEY")
W = TypeVar("W", bound=Window)
R = TypeVar("R")


@stored_as("TaggedUnion")
class TaggedUnion(NamedTuple, Generic[T1, T2]):
    """An element of either side (Flink: ``CoGroupedStreams.TaggedUnion``): what the trigger, the
    evictor and the assigner of a join see."""

    tag: int
    """1 or 2."""
    value: T1 | T2

    def isOne(self) -> bool:
        """Whether the element is of the first stream."""
        return self.tag == 1

    def isTwo(self) -> bool:
        """Whether the element is of the second stream."""
        return self.tag == 2

    def getOne(self) -> T1 | None:
        """The element, if it is of the first stream."""
        return cast(T1, self.value) if self.tag == 1 else None

    def getTwo(self) -> T2 | None:
        """The element, if it is of the second stream."""
        return cast(T2, self.value) if self.tag == 2 else None


class Tagger(MapFunction[Any, "TaggedUnion[Any, Any]"]):
    """Says which side an element is of (Flink: ``Input1Tagger``, ``Input2Tagger``)."""

    def __init__(self, tag: int) -> None:
        self._tag = tag

    def map(self, value: Any) -> TaggedUnion[Any, Any]:
        return TaggedUnion(self._tag, value)


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
        self._input1 = input1
        self._input2 = input2
        self._key1 = keySelector1
        self._keyType = keyType
        self._key2 = keySelector2

    def tagged(self, inOrder: bool) -> KeyedStream[TaggedUnion[T1, T2], KEY]:
        """Both streams as one. ``inOrder``: if they part from one stream, their elements come in
        its order."""
        first: DataStream[TaggedUnion[T1, T2]] = self._input1.map(Tagger(1))
        second: DataStream[TaggedUnion[T1, T2]] = self._input2.map(Tagger(2))
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
    """A join or coGroup that wants its function; its windows hold the elements of both sides."""

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
        description = self._builder.collect(function, call)
        union = self._keys.tagged(inOrder=not description.firesOnce)
        result = union._transform(description, outputType or Types.PICKLED_BYTE_ARRAY())
        return result.setDescription(description.description)


def sides(elements: Iterable[TaggedUnion[Any, Any]]) -> tuple[list[Any], list[Any]]:
    """The elements of the first stream and those of the second."""
    one: list[Any] = []
    two: list[Any] = []
    for element in elements:
        if element.tag == 1:
            one.append(element.value)
        else:
            two.append(element.value)
    return one, two
