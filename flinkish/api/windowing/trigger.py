"""``Trigger``: says when the contents of a window are handed to the window function."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar, overload

from flinkish.api.errors import NotSupportedError
from flinkish.api.metrics import MetricGroup
from flinkish.api.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from flinkish.api.windowing.windows import Window

T = TypeVar("T")
IN = TypeVar("IN")
OUT = TypeVar("OUT")
UK = TypeVar("UK")
UV = TypeVar("UV")
T_contra = TypeVar("T_contra", contravariant=True)
W_contra = TypeVar("W_contra", bound=Window, contravariant=True)


class TriggerResult(enum.Enum):
    """What is to happen to a window (Flink: ``TriggerResult``)."""

    CONTINUE = (False, False)
    """Nothing."""
    FIRE_AND_PURGE = (True, True)
    """Hand the contents to the window function, then drop them."""
    FIRE = (True, False)
    """Hand the contents to the window function and keep them."""
    PURGE = (False, True)
    """Drop the contents."""

    def isFire(self) -> bool:
        """Whether the contents are handed to the window function."""
        return self.value[0]

    def isPurge(self) -> bool:
        """Whether the contents are dropped."""
        return self.value[1]


class TriggerContext(ABC):
    """What a trigger may ask for; all of it is of the current key and window
    (Flink: ``Trigger.TriggerContext``)."""

    __slots__ = ()

    @abstractmethod
    def getCurrentProcessingTime(self) -> int:
        """The clock, in ms."""

    @abstractmethod
    def getCurrentWatermark(self) -> int:
        """The watermark, in ms."""

    @abstractmethod
    def getMetricGroup(self) -> MetricGroup:
        """The metrics of the window operator."""

    @abstractmethod
    def registerProcessingTimeTimer(self, time: int) -> None:
        """Have ``onProcessingTime`` called when the clock reaches ``time``."""

    @abstractmethod
    def registerEventTimeTimer(self, time: int) -> None:
        """Have ``onEventTime`` called when the watermark reaches ``time``."""

    @abstractmethod
    def deleteProcessingTimeTimer(self, time: int) -> None:
        """Delete the timer, if it is there."""

    @abstractmethod
    def deleteEventTimeTimer(self, time: int) -> None:
        """Delete the timer, if it is there."""

    @overload
    def getPartitionedState(self, stateDescriptor: ValueStateDescriptor[T]) -> ValueState[T]: ...

    @overload
    def getPartitionedState(self, stateDescriptor: ListStateDescriptor[T]) -> ListState[T]: ...

    @overload
    def getPartitionedState(
        self, stateDescriptor: ReducingStateDescriptor[T]
    ) -> ReducingState[T]: ...

    @overload
    def getPartitionedState(
        self, stateDescriptor: AggregatingStateDescriptor[IN, Any, OUT]
    ) -> AggregatingState[IN, OUT]: ...

    @overload
    def getPartitionedState(
        self, stateDescriptor: MapStateDescriptor[UK, UV]
    ) -> MapState[UK, UV]: ...

    @abstractmethod
    def getPartitionedState(self, stateDescriptor: StateDescriptor[Any]) -> Any:
        """The state of that descriptor, of the current key and window."""


class OnMergeContext(TriggerContext):
    """What a trigger may ask for while windows merge (Flink: ``Trigger.OnMergeContext``)."""

    __slots__ = ()

    @abstractmethod
    def mergePartitionedState(self, stateDescriptor: StateDescriptor[Any]) -> None:
        """Merge the state of the windows that merged into that of the current window.

        The state must be a list, reducing or aggregating one.
        """


class Trigger(ABC, Generic[T_contra, W_contra]):
    """Says when a window fires (Flink: ``Trigger``).

    One instance serves all keys and windows: what it remembers of them is state that it gets
    from the context.

    >>> class EveryElement(Trigger[object, Window]):
    ...     def onElement(self, element, timestamp, window, ctx):
    ...         return TriggerResult.FIRE
    ...     def onProcessingTime(self, time, window, ctx):
    ...         return TriggerResult.CONTINUE
    ...     def onEventTime(self, time, window, ctx):
    ...         return TriggerResult.CONTINUE
    ...     def clear(self, window, ctx):
    ...         pass
    """

    @abstractmethod
    def onElement(
        self, element: T_contra, timestamp: int, window: W_contra, ctx: TriggerContext
    ) -> TriggerResult:
        """Called for every element, after it was added to ``window``.

        ``timestamp`` is ``MIN_TIMESTAMP`` if the element has none, as in Flink.
        """

    @abstractmethod
    def onProcessingTime(self, time: int, window: W_contra, ctx: TriggerContext) -> TriggerResult:
        """Called when a processing-time timer registered with ``ctx`` is due."""

    @abstractmethod
    def onEventTime(self, time: int, window: W_contra, ctx: TriggerContext) -> TriggerResult:
        """Called when an event-time timer registered with ``ctx`` is due."""

    @abstractmethod
    def clear(self, window: W_contra, ctx: TriggerContext) -> None:
        """Called when ``window`` goes: delete its timers and state here.

        A purge does not call it.
        """

    def canMerge(self) -> bool:
        """Whether the trigger works where windows merge (sessions); ``onMerge`` is then needed."""
        return False

    def onMerge(self, window: W_contra, ctx: OnMergeContext) -> None:
        """Called after several windows have become ``window``: merge their state, and register
        the timers that ``window`` needs. ``clear`` is called for each of them afterwards."""
        raise NotSupportedError(
            f"{type(self).__name__} does not support merging. Implement canMerge() and onMerge(),"
            " or use a window assigner that does not merge."
        )

    def windowType(self) -> type[Window]:
        """What windows the trigger works on. A job in which the assigner makes others is refused
        when it is put together; in Flink it fails on the first element."""
        return Window

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
