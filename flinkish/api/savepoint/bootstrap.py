"""Builds transformations that create the state of an operator from elements (Flink: ``OperatorTransformation`` and
what follows it)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, overload

from flinkish.api.arguments import instance
from flinkish.api.environment.environment import StreamExecutionEnvironment
from flinkish.api.errors import InvalidProgramError, NotSupportedError, shown
from flinkish.api.eventtime.watermarks import WatermarkStrategy
from flinkish.api.functions.adapt import check_methods
from flinkish.api.functions.checkpointed import CheckpointedFunction
from flinkish.api.functions.functions import (
    AggregateFunction,
    Function,
    KeySelectorLike,
    ReduceLike,
)
from flinkish.api.savepoint.functions import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    StateBootstrapFunction,
)
from flinkish.api.streams.data_stream import DataStream
from flinkish.api.streams.keyed_stream import KeyedStream
from flinkish.api.streams.windowed_stream import WindowedStream
from flinkish.api.time.durations import TimeLike
from flinkish.api.type_variables import T
from flinkish.api.types.fields import Field
from flinkish.api.types.row import Row, row_of
from flinkish.api.windowing.assigners import WindowAssigner
from flinkish.api.windowing.evictors import Evictor
from flinkish.api.windowing.triggers import Trigger

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class OperatorTransformation:
    """Starts a transformation with ``bootstrapWith`` (Flink: ``OperatorTransformation``)."""

    @overload
    @staticmethod
    def bootstrapWith(
        data: DataStream[T] | Iterable[T],
    ) -> OneInputOperatorTransformation[T]: ...

    @overload
    @staticmethod
    def bootstrapWith(data: DataFrame) -> OneInputOperatorTransformation[Row]: ...

    @staticmethod
    def bootstrapWith(data: Any) -> OneInputOperatorTransformation[Any]:
        """Create state from the elements of a bounded stream, the Rows of a DataFrame of Spark or pandas or of a
        table of pyarrow, or the elements of a collection."""
        return OneInputOperatorTransformation(_stream_of(data))


BootstrapFunction: TypeAlias = (
    KeyedStateBootstrapFunction[Any, Any]
    | StateBootstrapFunction[Any]
    | BroadcastStateBootstrapFunction[Any]
)


@dataclass(frozen=True)
class StateBootstrapTransformation:
    """How the state of an operator is created (Flink: ``StateBootstrapTransformation``): by
    ``function`` from the elements of ``stream``, or without a function by the window operator that
    emits ``stream``.
    """

    stream: DataStream[Any]
    function: BootstrapFunction | None = None

    def __post_init__(self) -> None:
        fix = "Begin with OperatorTransformation.bootstrapWith(data)."
        instance("StateBootstrapTransformation: stream", self.stream, DataStream, fix)
        if self.function is not None:
            instance("StateBootstrapTransformation: function", self.function, Function, fix)
            check_methods(self.function)


class OneInputOperatorTransformation(Generic[T]):
    """Elements from which state is created (Flink: ``OneInputOperatorTransformation``)."""

    def __init__(self, stream: DataStream[T]) -> None:
        self._stream = instance("bootstrapWith", stream, DataStream, _DATA)

    def assignTimestamps(
        self, assigner: Callable[[T, int], int]
    ) -> OneInputOperatorTransformation[T]:
        """Give the elements timestamps (ms), which windows need."""
        strategy: WatermarkStrategy[T] = WatermarkStrategy.noWatermarks()
        timed = strategy.withTimestampAssigner(assigner)
        return OneInputOperatorTransformation(self._stream.assignTimestampsAndWatermarks(timed))

    def keyBy(self, keySelector: KeySelectorLike[T, Any] | Field) -> KeyedOperatorTransformation[T]:
        """Create keyed state, with keys as in ``DataStream.keyBy``."""
        key: Any = keySelector
        return KeyedOperatorTransformation(self._stream.keyBy(key))

    def transform(
        self, function: StateBootstrapFunction[T] | BroadcastStateBootstrapFunction[T]
    ) -> StateBootstrapTransformation:
        """Create lists of operator state, or broadcast state."""
        if isinstance(function, BroadcastStateBootstrapFunction):
            return StateBootstrapTransformation(self._stream, function)
        fix = "Derive yours from it, or call keyBy(...) before a KeyedStateBootstrapFunction."
        instance("transform", function, StateBootstrapFunction, fix)
        return StateBootstrapTransformation(self._stream, function)


class KeyedOperatorTransformation(Generic[T]):
    """Elements by key (Flink: ``KeyedOperatorTransformation``)."""

    def __init__(self, stream: KeyedStream[T, Any]) -> None:
        self._stream = instance(
            "keyBy", stream, KeyedStream, "Call keyBy(key) after bootstrapWith."
        )

    def transform(
        self, function: KeyedStateBootstrapFunction[Any, T]
    ) -> StateBootstrapTransformation:
        """Create keyed state and timers."""
        fix = "Derive yours from it."
        instance("transform", function, KeyedStateBootstrapFunction, fix)
        if isinstance(function, CheckpointedFunction):
            raise NotSupportedError(
                f"transform: {type(function).__name__} makes keyed state and operator state at once. Write one"
                " function for each, and give the operator a uid for one of them."
            )
        return StateBootstrapTransformation(self._stream, function)

    def window(self, assigner: WindowAssigner[T, Any]) -> WindowedOperatorTransformation[T]:
        """Create open windows; none of them fires before a job is restored from the savepoint."""
        return WindowedOperatorTransformation(self._stream.window(assigner))


class WindowedOperatorTransformation(Generic[T]):
    """Elements in windows (Flink: ``WindowedOperatorTransformation``); its methods are those of
    ``WindowedStream``, and the job must have the same assigner, trigger, evictor and function."""

    def __init__(self, stream: WindowedStream[T, Any, Any]) -> None:
        fix = "Call window(assigner) after keyBy."
        self._stream = instance("window", stream, WindowedStream, fix)

    def trigger(self, trigger: Trigger[T, Any]) -> Self:
        """Create the state of ``trigger`` too."""
        self._stream.trigger(trigger)
        return self

    def evictor(self, evictor: Evictor[T, Any]) -> Self:
        """Keep all elements with their timestamps, for an evictor."""
        self._stream.evictor(evictor)
        return self

    def allowedLateness(self, lateness: TimeLike) -> Self:
        """Keep windows this much longer (ms, Time or Duration)."""
        self._stream.allowedLateness(lateness)
        return self

    def reduce(
        self, function: ReduceLike[T], windowFunction: Any = None
    ) -> StateBootstrapTransformation:
        """Windows of ``reduce``."""
        return StateBootstrapTransformation(self._stream.reduce(function, windowFunction))

    def aggregate(
        self, aggregateFunction: AggregateFunction[T, Any, Any], windowFunction: Any = None
    ) -> StateBootstrapTransformation:
        """Windows of ``aggregate``."""
        stream = self._stream.aggregate(aggregateFunction, windowFunction)
        return StateBootstrapTransformation(stream)

    def apply(self, function: Any) -> StateBootstrapTransformation:
        """Windows of ``apply``."""
        return StateBootstrapTransformation(self._stream.apply(function))

    def process(self, function: Any) -> StateBootstrapTransformation:
        """Windows of ``process``."""
        return StateBootstrapTransformation(self._stream.process(function))


_DATA = "Pass a DataStream, a DataFrame, or a list of elements."


def _stream_of(data: Any) -> DataStream[Any]:
    if isinstance(data, DataStream):
        return data
    environment = StreamExecutionEnvironment()
    if hasattr(type(data), "mapInArrow") and hasattr(type(data), "isStreaming"):
        return environment.fromDataFrame(data)
    if hasattr(type(data), "itertuples"):
        names = tuple(map(str, data.columns))
        rows = zip(*(data[name].tolist() for name in data.columns))
        return environment.fromCollection([row_of(names, row) for row in rows])
    if hasattr(type(data), "to_pylist") and hasattr(type(data), "column_names"):
        columns = [column.to_pylist() for column in data.columns]
        return environment.fromCollection(
            [row_of(tuple(data.column_names), row) for row in zip(*columns)]
        )
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        raise InvalidProgramError(f"bootstrapWith: {shown(data)} is no stream of elements. {_DATA}")
    return environment.fromCollection(data)
