"""``SavepointReader``: reads a savepoint (Flink: the class of this name)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, TypeVar, overload

from flinkish.api.arguments import instance, text
from flinkish.api.environment.environment import StreamExecutionEnvironment
from flinkish.api.errors import InvalidProgramError, shown
from flinkish.api.functions.adapt import check_methods, reduce_call
from flinkish.api.functions.functions import AggregateFunction
from flinkish.api.functions.state import ListStateDescriptor, MapStateDescriptor, StateDescriptor
from flinkish.api.savepoint.functions import KeyedStateReaderFunction, WindowReaderFunction
from flinkish.api.savepoint.operator_identifier import OperatorLike, uid_of
from flinkish.api.savepoint.queries import (
    Aggregation,
    KeyedFunctionQuery,
    KeyedStateQuery,
    OperatorStateMode,
    OperatorStateQuery,
    StateQuery,
    TimersQuery,
    WindowStateQuery,
)
from flinkish.api.types.type_info import TypeInformation
from flinkish.api.windowing.assigners import WindowAssigner
from flinkish.api.windowing.evictors import Evictor

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Table = TypeVar("Table")
"""A ``DataFrame``, or without Spark an iterable of rows."""

TypeLike: TypeAlias = TypeInformation[Any] | type[Any] | None


class SavepointReader(Generic[Table]):
    """Reads the state in a savepoint (Flink: ``SavepointReader``).

    Each method returns a table of rows, or of the elements that a reader function emits. With
    ``read(spark, directory)`` or an environment on Spark the tables are DataFrames; with
    ``read(directory)`` or an environment in local execution they are iterables, which read lazily.

    A column whose type is given by neither a descriptor nor an argument is text in a DataFrame:
    ``str(value)``. In an iterable all values are as they were stored.
    """

    def __init__(self, environment: StreamExecutionEnvironment, savepointPath: str) -> None:
        fix = "Call SavepointReader.read(spark, directory) or SavepointReader.read(directory)."
        instance("SavepointReader", environment, StreamExecutionEnvironment, fix)
        self._environment = environment
        self._path = text("SavepointReader: savepointPath", savepointPath)

    @overload
    @staticmethod
    def read(savepointPath: str, /) -> SavepointReader[Iterable[Any]]: ...

    @overload
    @staticmethod
    def read(spark: SparkSession, savepointPath: str, /) -> SavepointReader[DataFrame]: ...

    @overload
    @staticmethod
    def read(
        environment: StreamExecutionEnvironment, savepointPath: str, /
    ) -> SavepointReader[Any]: ...

    @staticmethod
    def read(where: Any, savepointPath: str | None = None, /) -> SavepointReader[Any]:
        """The savepoint in a directory; it is checked when it is first read from."""
        if savepointPath is None:
            path = text("SavepointReader.read: savepointPath", where)
            return SavepointReader(StreamExecutionEnvironment().setLocalExecution(), path)
        return SavepointReader(environment_of("SavepointReader.read", where), savepointPath)

    # ------------------------------------------------------------------ keyed state

    def readKeyedState(
        self,
        operator: OperatorLike,
        state: StateDescriptor[Any] | KeyedStateReaderFunction[Any, Any],
        keyType: TypeLike = None,
        outputType: TypeLike = None,
    ) -> Table:
        """A state by its descriptor, as rows ``key, value``; or what a ``KeyedStateReaderFunction`` emits,
        of ``outputType``.

        The ``value`` of a list is an array and that of a map is a map. With a descriptor ``outputType`` is
        the type of ``value``, for an aggregating state, whose descriptor does not say it.
        """
        uid = uid_of("readKeyedState", operator)
        given, key = _type(outputType), _type(keyType)
        if isinstance(state, KeyedStateReaderFunction):
            check_methods(state)
            return self._answer(KeyedFunctionQuery(uid, state, given))
        fix = 'Pass a descriptor, such as ValueStateDescriptor("name"), or a KeyedStateReaderFunction.'
        instance("readKeyedState: state", state, StateDescriptor, fix)
        return self._answer(KeyedStateQuery(uid, state, key, given))

    def readTimers(self, operator: OperatorLike, keyType: TypeLike = None) -> Table:
        """The pending timers as rows ``key, timestamp`` (ms), ``timeDomain, namespace``; the namespace of a
        window's timer is the window as text, of any other None."""
        return self._answer(TimersQuery(uid_of("readTimers", operator), _type(keyType)))

    # ------------------------------------------------------------------ windows

    def readWindowState(
        self,
        operator: OperatorLike,
        aggregation: Aggregation | None = None,
        readerFunction: WindowReaderFunction[Any, Any, Any, Any] | None = None,
        keyType: TypeLike = None,
        outputType: TypeLike = None,
    ) -> Table:
        """The open windows as rows ``key, start, end, value``, or what ``readerFunction`` emits.

        ``aggregation`` is what the job passes to ``reduce`` or ``aggregate``, and ``value`` its
        result so far; without one, ``value`` is the list of elements. ``outputType`` is the type of
        the result, of an element, or of what ``readerFunction`` emits.
        """
        if aggregation is not None and not isinstance(aggregation, AggregateFunction):
            reduce_call(aggregation, "readWindowState: aggregation")
        if readerFunction is not None:
            fix = "Derive yours from it."
            instance("readWindowState", readerFunction, WindowReaderFunction, fix)
            check_methods(readerFunction)
        query = WindowStateQuery(
            uid_of("readWindowState", operator),
            aggregation,
            readerFunction,
            _type(keyType),
            _type(outputType),
        )
        return self._answer(query)

    def window(self, assigner: WindowAssigner[Any, Any]) -> WindowSavepointReader[Table]:
        """Reads windows with Flink's methods."""
        fix = "Pass one, such as TumblingEventTimeWindows.of(Duration.ofMinutes(1))."
        instance("window", assigner, WindowAssigner, fix)
        return WindowSavepointReader(self)

    # ------------------------------------------------------------------ operator state

    def readListState(
        self, operator: OperatorLike, descriptor: ListStateDescriptor[Any] | str
    ) -> Table:
        """A list of operator state, as rows ``value``: the lists of all subtasks."""
        return self._list("readListState", operator, descriptor, "list")

    def readUnionState(
        self, operator: OperatorLike, descriptor: ListStateDescriptor[Any] | str
    ) -> Table:
        """A union list of operator state, as rows ``value``."""
        return self._list("readUnionState", operator, descriptor, "union list")

    def readBroadcastState(
        self, operator: OperatorLike, descriptor: MapStateDescriptor[Any, Any] | str
    ) -> Table:
        """A broadcast state, as rows ``key, value``."""
        given: Any = MapStateDescriptor(descriptor) if isinstance(descriptor, str) else descriptor
        instance(
            "readBroadcastState", given, MapStateDescriptor, 'Pass MapStateDescriptor("name").'
        )
        uid = uid_of("readBroadcastState", operator)
        return self._answer(OperatorStateQuery(uid, given, "broadcast"))

    def _list(
        self,
        method: str,
        operator: OperatorLike,
        descriptor: ListStateDescriptor[Any] | str,
        mode: OperatorStateMode,
    ) -> Table:
        given: Any = ListStateDescriptor(descriptor) if isinstance(descriptor, str) else descriptor
        instance(method, given, ListStateDescriptor, 'Pass ListStateDescriptor("name").')
        return self._answer(OperatorStateQuery(uid_of(method, operator), given, mode))

    def _answer(self, query: StateQuery) -> Table:
        table: Table = self._environment._executor().readSavepoint(
            self._environment, self._path, query
        )
        return table


class WindowSavepointReader(Generic[Table]):
    """Reads the windows of an operator (Flink: ``WindowSavepointReader``): ``readWindowState`` by other
    names. The savepoint itself records its windows, and whether an evictor kept all elements."""

    def __init__(self, reader: SavepointReader[Table]) -> None:
        self._reader = reader

    def evictor(self, evictor: Evictor[Any, Any] | None = None) -> Self:
        """Does nothing, for ported programs."""
        if evictor is not None:
            instance("evictor", evictor, Evictor, "Pass one, or nothing.")
        return self

    def reduce(
        self,
        operator: OperatorLike,
        function: Aggregation,
        readerFunction: WindowReaderFunction[Any, Any, Any, Any] | None = None,
        keyType: TypeLike = None,
        outputType: TypeLike = None,
    ) -> Table:
        """The windows of ``reduce(function)``."""
        reduce_call(function, "reduce")  # type: ignore[arg-type]  # an AggregateFunction is refused
        return self._reader.readWindowState(operator, function, readerFunction, keyType, outputType)

    def aggregate(
        self,
        operator: OperatorLike,
        aggregateFunction: AggregateFunction[Any, Any, Any],
        readerFunction: WindowReaderFunction[Any, Any, Any, Any] | None = None,
        keyType: TypeLike = None,
        outputType: TypeLike = None,
    ) -> Table:
        """The windows of ``aggregate(aggregateFunction)``."""
        fix = "Pass one, with createAccumulator, add and getResult."
        instance("aggregate", aggregateFunction, AggregateFunction, fix)
        return self._reader.readWindowState(
            operator, aggregateFunction, readerFunction, keyType, outputType
        )

    def process(
        self,
        operator: OperatorLike,
        readerFunction: WindowReaderFunction[Any, Any, Any, Any] | None = None,
        keyType: TypeLike = None,
        outputType: TypeLike = None,
    ) -> Table:
        """The windows of ``apply`` or ``process``, which keep their elements."""
        return self._reader.readWindowState(operator, None, readerFunction, keyType, outputType)


def environment_of(method: str, where: Any) -> StreamExecutionEnvironment:
    """``where`` if it is an environment, else an environment on that SparkSession."""
    if isinstance(where, StreamExecutionEnvironment):
        return where
    if not hasattr(type(where), "readStream"):
        raise InvalidProgramError(
            f"{method}: {shown(where)} is neither a SparkSession nor a StreamExecutionEnvironment. Pass"
            " one of these and the directory, or the directory alone to do without Spark."
        )
    return StreamExecutionEnvironment(where)


def _type(given: TypeLike) -> TypeInformation[Any] | None:
    return None if given is None else TypeInformation.of(given)
