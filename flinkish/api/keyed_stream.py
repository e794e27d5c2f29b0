"""``KeyedStream``: a stream partitioned by key, where state, timers and windows live."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from flinkish.api.data_stream import DataStream
from flinkish.api.partitioning import HashPartitioning
from flinkish.api.transformations import PartitionTransformation, Transformation
from flinkish.api.types import TypeInformation

if TYPE_CHECKING:
    from flinkish.api.environment import StreamExecutionEnvironment

T = TypeVar("T")
K = TypeVar("K")


class KeyedStream(DataStream[T], Generic[T, K]):
    """A stream partitioned by key (Flink: ``KeyedStream``)."""

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        transformation: Transformation,
        keySelector: Callable[[T], K],
        keyType: TypeInformation[K] | None = None,
    ) -> None:
        partitioned = PartitionTransformation(HashPartitioning(keySelector), transformation)
        super().__init__(environment, partitioned)
        self._keySelector = keySelector
        self._keyType = keyType

    def getKeySelector(self) -> Callable[[T], K]:
        """The key selector, as a callable."""
        return self._keySelector

    def getKeyType(self) -> TypeInformation[Any] | None:
        """The type of the keys, if it was given."""
        return self._keyType
