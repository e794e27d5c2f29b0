"""The broadcast state pattern: one stream, such as rules, goes to all tasks of another stream's operator.

Each task keeps a copy of the broadcast state. Only broadcast elements may change it, and all tasks see
the same ones, so the copies agree; elements of the other stream only read it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeAlias, Union

from typing_extensions import TypeAliasType, TypeVar

from flinkish.api.functions.functions import Collector, RichFunction, declares_methods
from flinkish.api.functions.process import KeyedProcessContext, KeyedTimerContext
from flinkish.api.functions.state import (
    MapEntry,
    MapStateDescriptor,
    State,
    StateDescriptor,
)
from flinkish.api.output_tag import OutputTag
from flinkish.api.type_variables import (
    UK,
    UV,
    IN1_contra,
    IN2_contra,
    K_contra,
    OUT_co,
    T,
    X,
)

K_co = TypeVar("K_co", covariant=True, default=Any)
S_contra = TypeVar("S_contra", bound=State, contravariant=True)
S = TypeVar("S", bound=State)


class ReadOnlyBroadcastState(State, Generic[UK, UV]):
    """Broadcast state as the other stream's elements see it: read only (Flink:
    ``ReadOnlyBroadcastState``)."""

    __slots__ = ()

    @abstractmethod
    def get(self, key: UK) -> UV | None:
        """The value under ``key``, or None."""

    @abstractmethod
    def contains(self, key: UK) -> bool:
        """Whether ``key`` has an entry."""

    @abstractmethod
    def immutableEntries(self) -> Iterable[MapEntry[UK, UV]]:
        """All entries as pairs, in the order they were first put."""


class BroadcastState(ReadOnlyBroadcastState[UK, UV]):
    """Broadcast state as broadcast elements see it: they may change it (Flink:
    ``BroadcastState``)."""

    __slots__ = ()

    @abstractmethod
    def put(self, key: UK, value: UV) -> None:
        """Set the value under ``key``."""

    @abstractmethod
    def putAll(self, map: Mapping[UK, UV]) -> None:  # noqa: A002 - Flink's name
        """Put every entry of ``map``."""

    @abstractmethod
    def remove(self, key: UK) -> None:
        """Remove the entry of ``key``, if there is one."""

    @abstractmethod
    def entries(self) -> Iterable[MapEntry[UK, UV]]:
        """All entries as pairs; the state may be changed during the iteration."""

    @abstractmethod
    def iterator(self) -> Iterator[MapEntry[UK, UV]]:
        """An iterator over the entries."""


class KeyedStateFunction(Protocol[K_contra, S_contra]):
    """The function for ``applyToKeyedState``, as a class (Flink: ``KeyedStateFunction``)."""

    def process(self, key: K_contra, state: S_contra, /) -> None:
        """Called with every key and its state, which may be read and changed."""


KeyedStateLike = Union[KeyedStateFunction[Any, S], Callable[[Any, S], None]]


class BaseBroadcastContext(ABC):
    """The base of all contexts of broadcast process functions."""

    __slots__ = ()

    @abstractmethod
    def timestamp(self) -> int | None:
        """The timestamp (ms) of the current element or timer, None if it has none."""

    @abstractmethod
    def currentProcessingTime(self) -> int:
        """The processing-time clock, in ms."""

    @abstractmethod
    def currentWatermark(self) -> int:
        """The combined watermark of both inputs, in ms."""

    @abstractmethod
    def output(self, outputTag: OutputTag[X], value: X) -> None:
        """Emit ``value`` to a side output, with the timestamp of the current element or timer."""


class BroadcastReadOnlyContext(BaseBroadcastContext):
    """The context of an element that is not broadcast."""

    __slots__ = ()

    @abstractmethod
    def getBroadcastState(
        self, stateDescriptor: MapStateDescriptor[UK, UV]
    ) -> ReadOnlyBroadcastState[UK, UV]:
        """The broadcast state of a descriptor that was given to ``broadcast(...)``."""


class BroadcastContext(BaseBroadcastContext):
    """The context of a broadcast element."""

    __slots__ = ()

    @abstractmethod
    def getBroadcastState(
        self, stateDescriptor: MapStateDescriptor[UK, UV]
    ) -> BroadcastState[UK, UV]:
        """The broadcast state of a descriptor that was given to ``broadcast(...)``.

        Each task has a copy, so a change may depend only on the element and on the state itself.
        """


class KeyedBroadcastReadOnlyContext(BroadcastReadOnlyContext, KeyedProcessContext[K_co]):
    """The context of an element that is not broadcast, under its key."""

    __slots__ = ()


class KeyedBroadcastTimerContext(KeyedBroadcastReadOnlyContext[K_co], KeyedTimerContext[K_co]):
    """The context of a timer."""

    __slots__ = ()


class KeyedBroadcastContext(BroadcastContext, Generic[K_co]):
    """The context of a broadcast element, which has no key."""

    __slots__ = ()

    @abstractmethod
    def applyToKeyedState(
        self, stateDescriptor: StateDescriptor[T, S], function: KeyedStateLike[S]
    ) -> None:
        """Call ``function(key, state)`` for every key with an entry in that state.

        Changes that the function makes to the state are kept.
        """


@declares_methods
class BroadcastProcessFunction(RichFunction, ABC, Generic[IN1_contra, IN2_contra, OUT_co]):
    """Joins a stream with a broadcast one (Flink: ``BroadcastProcessFunction``)."""

    ReadOnlyContext: TypeAlias = BroadcastReadOnlyContext
    Context: TypeAlias = BroadcastContext

    @abstractmethod
    def processElement(
        self, value: IN1_contra, ctx: BroadcastReadOnlyContext, out: Collector[OUT_co]
    ) -> Iterable[OUT_co] | None:
        """Called for elements of the first stream; write the results to ``out``, or return or yield them.
        They keep the timestamp of the element."""

    @abstractmethod
    def processBroadcastElement(
        self, value: IN2_contra, ctx: BroadcastContext, out: Collector[OUT_co]
    ) -> Iterable[OUT_co] | None:
        """Called for broadcast elements; write the results to ``out``, or return or yield them. They
        keep the timestamp of the element."""


@declares_methods
class KeyedBroadcastProcessFunction(
    RichFunction, ABC, Generic[K_contra, IN1_contra, IN2_contra, OUT_co]
):
    """Joins a keyed stream with a broadcast one (Flink: ``KeyedBroadcastProcessFunction``).

    >>> from flinkish.api.functions.state import MapStateDescriptor
    >>> limits = MapStateDescriptor[str, int]("limits")
    >>> class Above(KeyedBroadcastProcessFunction[str, tuple[str, int], tuple[str, int], int]):
    ...     def processElement(self, value, ctx, out):
    ...         limit = ctx.getBroadcastState(limits).get(ctx.getCurrentKey())
    ...         if limit is not None and value[1] > limit:
    ...             out.collect(value[1])
    ...     def processBroadcastElement(self, value, ctx, out):
    ...         ctx.getBroadcastState(limits).put(*value)
    """

    ReadOnlyContext = TypeAliasType(
        "ReadOnlyContext", KeyedBroadcastReadOnlyContext[K_co], type_params=(K_co,)
    )
    Context = TypeAliasType("Context", KeyedBroadcastContext[K_co], type_params=(K_co,))
    OnTimerContext = TypeAliasType(
        "OnTimerContext", KeyedBroadcastTimerContext[K_co], type_params=(K_co,)
    )

    @abstractmethod
    def processElement(
        self,
        value: IN1_contra,
        ctx: KeyedBroadcastReadOnlyContext[K_contra],
        out: Collector[OUT_co],
    ) -> Iterable[OUT_co] | None:
        """Called for elements of the keyed stream; write the results to ``out``, or return or yield them.
        They keep the timestamp of the element."""

    @abstractmethod
    def processBroadcastElement(
        self, value: IN2_contra, ctx: KeyedBroadcastContext[K_contra], out: Collector[OUT_co]
    ) -> Iterable[OUT_co] | None:
        """Called for broadcast elements; write the results to ``out``, or return or yield them. They
        keep the timestamp of the element.

        On Spark every key group calls it for its copy of the broadcast state, but results are emitted
        once, by one of them. So results must not depend on keyed state, except those emitted inside
        the function given to ``applyToKeyedState``, which are emitted for every key.
        """

    def onTimer(
        self, timestamp: int, ctx: KeyedBroadcastTimerContext[K_contra], out: Collector[OUT_co]
    ) -> Iterable[OUT_co] | None:
        """Called when a timer is due, for the key that registered it; ``timestamp`` is the timer's (ms).

        Results carry the timestamp of the timer in event time, and none in processing time.
        """
        return None
