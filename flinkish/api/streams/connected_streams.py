"""Connected streams: two streams of different types with one operator for both; and broadcast streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar, Union, overload

from flinkish.api.absent import AbsentMethods
from flinkish.api.arguments import instance
from flinkish.api.errors import InvalidProgramError, NotSupportedError
from flinkish.api.functions.adapt import map_call
from flinkish.api.functions.broadcast import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from flinkish.api.functions.functions import KeySelectorLike
from flinkish.api.functions.state import MapStateDescriptor
from flinkish.api.functions.two_input import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    TwoMapFunctions,
)
from flinkish.api.plan.output_types import check_key_types, output_type
from flinkish.api.plan.transformations import Transformation, TwoInputTransformation, unkeyed
from flinkish.api.plan.two_input import (
    BroadcastProcessDescription,
    CoFlatMapDescription,
    CoMapDescription,
    CoProcessDescription,
    TwoInputDescription,
)
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.streams.keyed_stream import KeyedStream
from flinkish.api.type_variables import OUT, K
from flinkish.api.types.fields import Field, TupleOfFields
from flinkish.api.types.type_info import TypeInformation

if TYPE_CHECKING:
    from flinkish.api.environment.environment import StreamExecutionEnvironment

IN1_co = TypeVar("IN1_co", covariant=True)
IN2_co = TypeVar("IN2_co", covariant=True)


FieldOrFields = Union[Field, Sequence[Field]]


class BroadcastStream(Generic[IN2_co]):
    """A stream whose elements all go to every task, with the descriptors of the broadcast states that
    they change (Flink: ``BroadcastStream``). Pass it to ``stream.connect(broadcast)``."""

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        transformation: Transformation,
        broadcastStateDescriptors: tuple[MapStateDescriptor[Any, Any], ...],
    ) -> None:
        self._environment = environment
        self._transformation = transformation
        self._descriptors = broadcastStateDescriptors

    def getExecutionEnvironment(self) -> StreamExecutionEnvironment:
        """The environment that the stream belongs to."""
        return self._environment

    def getTransformation(self) -> Transformation:
        """The transformation whose output this stream is."""
        return self._transformation

    def getBroadcastStateDescriptors(self) -> tuple[MapStateDescriptor[Any, Any], ...]:
        """The descriptors of the broadcast states."""
        return self._descriptors


SECOND_co = TypeVar("SECOND_co", bound=Union[DataStream[Any], BroadcastStream[Any]], covariant=True)


class _TwoStreams(AbsentMethods, Generic[IN1_co, IN2_co, SECOND_co]):
    """The base of connected streams: two streams of one environment for one operator."""

    def __init__(
        self, environment: StreamExecutionEnvironment, input1: DataStream[IN1_co], input2: SECOND_co
    ) -> None:
        fix = "Call it on one stream and pass the other: stream1.connect(stream2)."
        instance("connect", input1, DataStream, fix)
        if not isinstance(input2, BroadcastStream):
            instance("connect", input2, DataStream, fix)
        input1._check_environment("connect", input2.getExecutionEnvironment())
        self._environment = environment
        self._input1 = input1
        self._input2 = input2

    def getExecutionEnvironment(self) -> StreamExecutionEnvironment:
        """The environment that the streams belong to."""
        return self._environment

    def getFirstInput(self) -> DataStream[IN1_co]:
        """The first stream."""
        return self._input1

    def getSecondInput(self) -> SECOND_co:
        """The second stream."""
        return self._input2

    def getType1(self) -> TypeInformation[IN1_co]:
        """The type of the first stream's elements."""
        return self._input1.getType()

    def getType2(self) -> TypeInformation[IN2_co]:
        """The type of the second stream's elements."""
        return output_type(self._input2.getTransformation())

    def _transform(
        self, operator: TwoInputDescription, outputType: TypeInformation[Any] | None
    ) -> SingleOutputStreamOperator[Any]:
        first, second = self._input1.getTransformation(), self._input2.getTransformation()
        if not operator.keyed:
            # It runs in one task, which must receive all elements of both inputs. Partitioning one of
            # them by key, or broadcasting it, would separate them.
            first, second = unkeyed(first), unkeyed(second)
        transformation = TwoInputTransformation(operator, first, second)
        transformation.outputType = outputType
        return SingleOutputStreamOperator(self._environment, transformation)


class ConnectedStreams(_TwoStreams[IN1_co, IN2_co, DataStream[IN2_co]]):
    """Two streams that one operator reads, each with a separate method (``ConnectedStreams``).

    If both are keyed, they share keyed state and timers. The operator's watermark is the lower of
    the two.

    >>> from flinkish.api.environment.environment import StreamExecutionEnvironment
    >>> class Label(CoMapFunction[int, str, str]):
    ...     def map1(self, value):
    ...         return f"number {value}"
    ...     def map2(self, value):
    ...         return f"word {value}"
    >>> env = StreamExecutionEnvironment()
    >>> env.fromElements(1, 2).connect(env.fromElements("a")).map(Label()).getName()
    'Co-Map'
    """

    @overload
    def keyBy(
        self,
        keySelector1: KeySelectorLike[IN1_co, K],
        keySelector2: KeySelectorLike[IN2_co, K],
        keyType: TypeInformation[K] | None = None,
    ) -> ConnectedStreams[IN1_co, IN2_co]: ...

    @overload
    def keyBy(
        self, keySelector1: FieldOrFields, keySelector2: FieldOrFields
    ) -> ConnectedStreams[IN1_co, IN2_co]: ...

    def keyBy(
        self, keySelector1: Any, keySelector2: Any, keyType: TypeInformation[Any] | None = None
    ) -> ConnectedStreams[IN1_co, IN2_co]:
        """Partition both streams by key, so that elements with the same key share state.

        A key is ``f(element)``, a KeySelector, a field by name or position, or a list of fields, which
        makes a tuple.
        """
        return ConnectedStreams(
            self._environment,
            self._input1.keyBy(_selector(keySelector1), keyType),
            self._input2.keyBy(_selector(keySelector2), keyType),
        )

    def enableAsyncState(self) -> Self:
        """Accepted for ported jobs: state is read a page at a time, so there is no waiting."""
        return self

    def transform(self, *arguments: object) -> NoReturn:
        """Not supported: a custom operator works on Flink's internals."""
        raise NotSupportedError(
            "transform is not supported: a custom operator works on Flink's internals. Write"
            " a CoProcessFunction or KeyedCoProcessFunction, which have state, timers, side outputs"
            " and a life cycle."
        )

    @overload
    def map(
        self,
        coMapper: CoMapFunction[IN1_co, IN2_co, OUT],
        outputType: TypeInformation[OUT] | None = None,
    ) -> SingleOutputStreamOperator[OUT]: ...

    @overload
    def map(
        self,
        coMapper: Callable[[IN1_co], OUT],
        outputType: Callable[[IN2_co], OUT],
    ) -> SingleOutputStreamOperator[OUT]: ...

    def map(self, coMapper: Any, outputType: Any = None) -> SingleOutputStreamOperator[Any]:
        """Turn each element of either stream into one result, which keeps its timestamp.

        Two plain functions, one for each stream, will do too: ``map(f, g)``.
        """
        if callable(outputType) and not isinstance(outputType, TypeInformation):
            coMapper, outputType = TwoMapFunctions(map_call(coMapper), map_call(outputType)), None
        _check("map", coMapper, CoMapFunction)
        return self._transform(CoMapDescription(coMapper, keyed=self._keyed()), outputType)

    def flatMap(
        self,
        coFlatMapper: CoFlatMapFunction[IN1_co, IN2_co, OUT],
        outputType: TypeInformation[OUT] | None = None,
    ) -> SingleOutputStreamOperator[OUT]:
        """Turn each element of either stream into any number of results, which keep its timestamp."""
        _check("flatMap", coFlatMapper, CoFlatMapFunction)
        return self._transform(CoFlatMapDescription(coFlatMapper, keyed=self._keyed()), outputType)

    def process(
        self,
        coProcessFunction: CoProcessFunction[IN1_co, IN2_co, OUT]
        | KeyedCoProcessFunction[Any, IN1_co, IN2_co, OUT],
        outputType: TypeInformation[OUT] | None = None,
    ) -> SingleOutputStreamOperator[OUT]:
        """Call a process function for the elements of both streams, with state and timers if both are
        keyed."""
        _check("process", coProcessFunction, CoProcessFunction, KeyedCoProcessFunction)
        keyed = self._keyed()
        if not keyed and isinstance(coProcessFunction, KeyedCoProcessFunction):
            raise InvalidProgramError(
                f"{type(coProcessFunction).__name__} is a KeyedCoProcessFunction, but not both of"
                " the connected streams are keyed. Call keyBy(key1, key2) before process, or write"
                " a CoProcessFunction."
            )
        return self._transform(CoProcessDescription(coProcessFunction, keyed=keyed), outputType)

    def _keyed(self) -> bool:
        first, second = self._input1, self._input2
        if not (isinstance(first, KeyedStream) and isinstance(second, KeyedStream)):
            return False
        check_key_types("connect", first.givenKeyType, second.givenKeyType)
        return True


class BroadcastConnectedStream(_TwoStreams[IN1_co, IN2_co, BroadcastStream[IN2_co]]):
    """A stream, keyed or not, connected with a broadcast one (``BroadcastConnectedStream``)."""

    def process(
        self,
        function: KeyedBroadcastProcessFunction[Any, IN1_co, IN2_co, OUT]
        | BroadcastProcessFunction[IN1_co, IN2_co, OUT],
        outputType: TypeInformation[OUT] | None = None,
    ) -> SingleOutputStreamOperator[OUT]:
        """Call a KeyedBroadcastProcessFunction if the stream is keyed, otherwise a
        BroadcastProcessFunction."""
        _check("process", function, KeyedBroadcastProcessFunction, BroadcastProcessFunction)
        keyed = isinstance(self._input1, KeyedStream)
        name = type(function).__name__
        if keyed and isinstance(function, BroadcastProcessFunction):
            raise InvalidProgramError(
                f"{name} is a BroadcastProcessFunction, but the stream is keyed. Write a"
                " KeyedBroadcastProcessFunction, or connect before keyBy."
            )
        if not keyed and isinstance(function, KeyedBroadcastProcessFunction):
            raise InvalidProgramError(
                f"{name} is a KeyedBroadcastProcessFunction, but the stream is not keyed. Call"
                " keyBy(...) before connect, or write a BroadcastProcessFunction."
            )
        descriptors = self._input2.getBroadcastStateDescriptors()
        description = BroadcastProcessDescription(function, descriptors, keyed=keyed)
        return self._transform(description, outputType)


def _selector(fields: Any) -> Any:
    return TupleOfFields(tuple(fields)) if isinstance(fields, (list, tuple)) else fields


def _check(method: str, function: Any, *kinds: type[Any]) -> None:
    if not isinstance(function, kinds):
        wanted = " or a ".join(kind.__name__ for kind in kinds)
        raise InvalidProgramError(
            f"{method} of connected streams: {function!r} of type {type(function).__name__} is not"
            f" a function of two streams. Pass a {wanted}."
        )
