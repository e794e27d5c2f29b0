"""``KeyedStream``: a stream partitioned by key, as state, timers and windows need it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Self

from flinkish.api.arguments import instance
from flinkish.api.errors import InvalidProgramError
from flinkish.api.functions.adapt import function_of, reduce_call
from flinkish.api.functions.aggregations import FieldAggregator
from flinkish.api.functions.functions import ReduceLike
from flinkish.api.functions.process import KeyedProcessLike
from flinkish.api.plan.operators import (
    KeyedReduceDescription,
    OperatorDescription,
    keyed_process_description,
    under_key,
)
from flinkish.api.plan.output_types import check_key_types
from flinkish.api.plan.partitioning import HashPartitioning, Partitioning
from flinkish.api.plan.transformations import PartitionTransformation, Transformation
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.streams.field_aggregations import FieldAggregations
from flinkish.api.streams.interval_join import IntervalJoin
from flinkish.api.type_variables import T2, K, R, T_co
from flinkish.api.types.type_info import TypeInformation, Types
from flinkish.api.windowing.assigners import GlobalWindows, WindowAssigner
from flinkish.api.windowing.windows import GlobalWindow, W

if TYPE_CHECKING:
    from flinkish.api.environment.environment import StreamExecutionEnvironment
    from flinkish.api.streams.windowed_stream import WindowedStream


class KeyedStream(FieldAggregations[T_co], DataStream[T_co], Generic[T_co, K]):
    """A stream partitioned by key (Flink: ``KeyedStream``).

    All elements of a key are processed by the same task, in their order, with the state of that key.
    """

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        transformation: Transformation,
        keySelector: Callable[[T_co], K],
        keyType: TypeInformation[K] | None = None,
        inferredKeyType: TypeInformation[Any] | None = None,
    ) -> None:
        known = keyType or inferredKeyType
        partitioning = HashPartitioning(keySelector, "" if known is None else str(known))
        partitioned = PartitionTransformation(partitioning, transformation)
        super().__init__(environment, partitioned)
        self._keySelector = keySelector
        if keyType is not None:
            instance("keyBy: keyType", keyType, TypeInformation, "Pass one, as Types.STRING().")
        self.givenKeyType = keyType
        """The type that the user declared, None if it was not declared."""
        self._keyType = known or Types.PICKLED_BYTE_ARRAY()

    def getKeySelector(self) -> Callable[[T_co], K]:
        """The key selector, as a callable."""
        return self._keySelector

    def getKeyType(self) -> TypeInformation[Any]:
        """The type of the keys: the one declared, else that of the selector's annotation or of the
        field, else PICKLED_BYTE_ARRAY."""
        return self._keyType

    # ------------------------------------------------------------------ process functions

    def process(
        self,
        processFunction: KeyedProcessLike[K, T_co, R],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]:
        """Call ``processFunction`` for every element, with the state and timers of its key.

        It is a KeyedProcessFunction or ``f(value, ctx, out)``. A ProcessFunction has keyed state, but no
        timers, as in Flink.
        """
        return self._transform(keyed_process_description(processFunction), outputType)

    # ------------------------------------------------------------------ rolling aggregations

    def reduce(self, reducer: ReduceLike[T_co]) -> SingleOutputStreamOperator[T_co]:
        """Emit, for each element, the reduction of all elements of its key so far, with the timestamp of
        the element."""
        return self._transform(KeyedReduceDescription(function_of(reducer), reduce_call(reducer)))

    def _aggregated(self, aggregator: FieldAggregator[T_co]) -> SingleOutputStreamOperator[T_co]:
        aggregator.checkType(self.getType())
        return self._transform(
            KeyedReduceDescription(aggregator, aggregator.reduce, aggregation=True)
        )

    # ------------------------------------------------------------------ windows

    def window(self, assigner: WindowAssigner[T_co, W]) -> WindowedStream[T_co, K, W]:
        """Divide the elements of each key into windows."""
        from flinkish.api.streams.windowed_stream import WindowedStream

        return WindowedStream(self, assigner)

    def countWindow(
        self, size: int, slide: int | None = None
    ) -> WindowedStream[T_co, K, GlobalWindow]:
        """Windows of ``size`` elements of a key; with ``slide``, a window of the last ``size`` elements
        after every ``slide`` elements of the key."""
        return self.window(GlobalWindows.create())._counting(size, slide)

    # ------------------------------------------------------------------ interval join

    def intervalJoin(self, otherStream: KeyedStream[T2, K]) -> IntervalJoin[T_co, T2, K]:
        """Join elements with those of ``otherStream`` that have the same key and a timestamp within an
        interval:
        ``a.intervalJoin(b).between(lower, upper).process(f)``."""
        instance("intervalJoin", otherStream, KeyedStream, "Call keyBy(...) on it too.")
        self._check_environment("intervalJoin", otherStream.getExecutionEnvironment())
        check_key_types("intervalJoin", self.givenKeyType, otherStream.givenKeyType)
        return IntervalJoin(self, otherStream)

    # ------------------------------------------------------------------ without effect

    def enableAsyncState(self) -> Self:
        """Accepted for ported jobs: state is read a page at a time, so there is no waiting."""
        return self

    # ------------------------------------------------------------------ building

    def _transform(
        self, operator: OperatorDescription, outputType: TypeInformation[Any] | None = None
    ) -> SingleOutputStreamOperator[Any]:
        return super()._transform(under_key(operator), outputType)

    def _partition(self, partitioning: Partitioning) -> DataStream[T_co]:
        raise InvalidProgramError(
            f"{partitioning.name.lower()}: a keyed stream is partitioned by its key already. Call it"
            " before keyBy, or on the result of the keyed operator."
        )
