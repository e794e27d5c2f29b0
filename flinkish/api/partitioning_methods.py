"""How a ``DataStream`` is spread over tasks without a key: on Spark, what matters is ``broadcast``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from flinkish.api.callables import key_call, partition_call
from flinkish.api.errors import InvalidProgramError
from flinkish.api.fields import Field
from flinkish.api.functions import KeySelectorLike, PartitionerLike
from flinkish.api.partitioning import ArbitraryPartitioning, BroadcastPartitioning, Partitioning
from flinkish.api.state import MapStateDescriptor

if TYPE_CHECKING:
    from flinkish.api.connected_streams import BroadcastStream
    from flinkish.api.data_stream import DataStream

T_co = TypeVar("T_co", covariant=True)
K = TypeVar("K")


class PartitioningMethods(ABC, Generic[T_co]):
    """What a ``DataStream`` does to say which task has an element; a key is ``keyBy``'s."""

    @abstractmethod
    def _partition(self, partitioning: Partitioning) -> DataStream[T_co]:
        """The same stream, spread over tasks in that way."""

    @overload
    def broadcast(self) -> DataStream[T_co]: ...

    @overload
    def broadcast(
        self,
        descriptor: MapStateDescriptor[Any, Any],
        /,
        *broadcastStateDescriptors: MapStateDescriptor[Any, Any],
    ) -> BroadcastStream[T_co]: ...

    def broadcast(
        self, *broadcastStateDescriptors: MapStateDescriptor[Any, Any]
    ) -> DataStream[T_co] | BroadcastStream[T_co]:
        """With descriptors, every element to every task, for the broadcast state pattern:
        ``stream.connect(rules.broadcast(descriptor)).process(f)``.

        Without, the same stream: an operator without keys runs in one place, so it sees every
        element, and once, however many tasks there are.
        """
        from flinkish.api.connected_streams import BroadcastStream

        for descriptor in broadcastStateDescriptors:
            if not isinstance(descriptor, MapStateDescriptor):
                raise InvalidProgramError(
                    f"broadcast: broadcast state is a map, but {descriptor!r} describes none. Pass"
                    " a MapStateDescriptor."
                )
        if not broadcastStateDescriptors:
            return self._partition(ArbitraryPartitioning("BROADCAST"))
        everywhere = self._partition(BroadcastPartitioning())
        return BroadcastStream(
            everywhere.getExecutionEnvironment(),
            everywhere.getTransformation(),
            broadcastStateDescriptors,
        )

    def rebalance(self) -> DataStream[T_co]:
        """The same stream: how elements are dealt to tasks cannot be seen in the results."""
        return self._partition(ArbitraryPartitioning("REBALANCE"))

    def rescale(self) -> DataStream[T_co]:
        """The same stream, like ``rebalance``."""
        return self._partition(ArbitraryPartitioning("RESCALE"))

    def shuffle(self) -> DataStream[T_co]:
        """The same stream, like ``rebalance``."""
        return self._partition(ArbitraryPartitioning("SHUFFLE"))

    def forward(self) -> DataStream[T_co]:
        """The same stream, like ``rebalance``."""
        return self._partition(ArbitraryPartitioning("FORWARD"))

    def global_(self) -> DataStream[T_co]:
        """The same stream, like ``rebalance`` (Flink: ``global``, which Python keeps)."""
        return self._partition(ArbitraryPartitioning("GLOBAL"))

    def partitionCustom(
        self, partitioner: PartitionerLike[K], keySelector: KeySelectorLike[T_co, K] | Field
    ) -> DataStream[T_co]:
        """The same stream, like ``rebalance``: which task has an element cannot be seen in the
        results, so ``partitioner(key, numPartitions)`` is not asked."""
        partition_call(partitioner)
        key_call(keySelector)
        return self._partition(ArbitraryPartitioning("CUSTOM"))
