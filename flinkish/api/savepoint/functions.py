"""The functions that read the state of a savepoint, and those that create state for a new one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeAlias

from typing_extensions import TypeVar

from flinkish.api.functions.broadcast import BroadcastState
from flinkish.api.functions.checkpointed import CheckpointedFunction
from flinkish.api.functions.functions import Collector, RichFunction, declares_methods
from flinkish.api.functions.process import TimerService
from flinkish.api.functions.runtime_context import KeyedStateStore
from flinkish.api.functions.state import MapStateDescriptor, StateDescriptor
from flinkish.api.type_variables import IN_contra, K_contra, OUT_co

K = TypeVar("K", default=Any)
V = TypeVar("V", default=Any)
K_co = TypeVar("K_co", covariant=True, default=Any)
W_co = TypeVar("W_co", covariant=True, default=Any)
W_contra = TypeVar("W_contra", contravariant=True)


class KeyedStateReaderContext(ABC):
    """The timers of a key (Flink: ``KeyedStateReaderFunction.Context``)."""

    __slots__ = ()

    @abstractmethod
    def registeredEventTimeTimers(self) -> set[int]:
        """The times (ms) at which the event-time timers of the key are due."""

    @abstractmethod
    def registeredProcessingTimeTimers(self) -> set[int]:
        """The times (ms) at which the processing-time timers of the key are due."""


@declares_methods
class KeyedStateReaderFunction(RichFunction, ABC, Generic[K_contra, OUT_co]):
    """Reads all state of a key of an operator at once (Flink: ``KeyedStateReaderFunction``).

    Get the states in ``open`` with the descriptors of the function that owns them. Changes of state
    here are not kept.

    >>> class Read(KeyedStateReaderFunction[str, tuple[str, int]]):
    ...     def open(self, openContext):
    ...         self.count = self.getRuntimeContext().getState(ValueStateDescriptor("count", int))
    ...     def readKey(self, key, ctx, out):
    ...         out.collect((key, self.count.value(), len(ctx.registeredEventTimeTimers())))
    """

    Context: TypeAlias = KeyedStateReaderContext

    @abstractmethod
    def readKey(
        self, key: K_contra, ctx: KeyedStateReaderContext, out: Collector[OUT_co]
    ) -> Iterable[OUT_co] | None:
        """Called for every key that has state or a timer; write results to ``out``, return or yield
        them."""


class WindowReaderContext(ABC, Generic[W_co]):
    """A window of a key, and the state kept with it (Flink:
    ``WindowReaderFunction.Context``)."""

    __slots__ = ()

    @abstractmethod
    def getWindow(self) -> W_co:
        """The window."""

    @abstractmethod
    def triggerState(self, descriptor: StateDescriptor[Any]) -> Any:
        """The state that the trigger keeps for the key and window."""

    @abstractmethod
    def windowState(self) -> KeyedStateStore:
        """The state of the key and window."""

    @abstractmethod
    def globalState(self) -> KeyedStateStore:
        """The state of the key."""

    @abstractmethod
    def registeredEventTimeTimers(self) -> set[int]:
        """The times (ms) at which the event-time timers of the key and window are due. Windows that only the watermark
        fires have no such timers."""

    @abstractmethod
    def registeredProcessingTimeTimers(self) -> set[int]:
        """The times (ms) at which the processing-time timers of the key and window are due."""


@declares_methods
class WindowReaderFunction(RichFunction, ABC, Generic[IN_contra, OUT_co, K_contra, W_contra]):
    """Reads an open window of a key (Flink: ``WindowReaderFunction``).

    ``elements`` are what the window function would get: the elements, or the one result of ``reduce`` or
    ``aggregate``.
    """

    Context: TypeAlias = WindowReaderContext

    @abstractmethod
    def readWindow(
        self,
        key: K_contra,
        context: WindowReaderContext[Any],
        elements: Iterable[IN_contra],
        out: Collector[OUT_co],
    ) -> Iterable[OUT_co] | None:
        """Called for every key and open window; write results to ``out``, return or yield them."""


# ---------------------------------------------------------------------- bootstrap


class KeyedStateBootstrapContext(ABC, Generic[K_co]):
    """The context of an element from which keyed state is created (Flink:
    ``KeyedStateBootstrapFunction.Context``)."""

    __slots__ = ()

    @abstractmethod
    def timerService(self) -> TimerService:
        """Registers timers of the key; none of them fires before a job is restored from the
        savepoint."""

    @abstractmethod
    def getCurrentKey(self) -> K_co:
        """The key of the element."""


@declares_methods
class KeyedStateBootstrapFunction(RichFunction, ABC, Generic[K_contra, IN_contra]):
    """Creates keyed state and timers from elements (Flink: ``KeyedStateBootstrapFunction``).

    >>> class Counts(KeyedStateBootstrapFunction[str, tuple[str, int]]):
    ...     def open(self, openContext):
    ...         self.count = self.getRuntimeContext().getState(ValueStateDescriptor("count", int))
    ...     def processElement(self, value, ctx):
    ...         self.count.update(value[1])
    ...         ctx.timerService().registerEventTimeTimer(60_000)
    """

    Context: TypeAlias = KeyedStateBootstrapContext

    @abstractmethod
    def processElement(self, value: IN_contra, ctx: KeyedStateBootstrapContext[Any]) -> None:
        """Called for every element, under its key."""


class StateBootstrapContext(ABC):
    """The context of an element from which operator state is created (Flink: ``StateBootstrapFunction.Context``)."""

    __slots__ = ()

    @abstractmethod
    def currentProcessingTime(self) -> int:
        """The processing-time clock, in ms."""


@declares_methods
class StateBootstrapFunction(RichFunction, CheckpointedFunction, ABC, Generic[IN_contra]):
    """Creates lists of operator state from elements (Flink: ``StateBootstrapFunction``): get them in
    ``initializeState``, and fill them here or in ``snapshotState``."""

    Context: TypeAlias = StateBootstrapContext

    @abstractmethod
    def processElement(self, value: IN_contra, ctx: StateBootstrapContext) -> None:
        """Called for every element."""


class BroadcastStateBootstrapContext(StateBootstrapContext):
    """The context of an element from which broadcast state is created (Flink:
    ``BroadcastStateBootstrapFunction.Context``)."""

    __slots__ = ()

    @abstractmethod
    def getBroadcastState(self, descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
        """The broadcast state of that descriptor."""


@declares_methods
class BroadcastStateBootstrapFunction(RichFunction, ABC, Generic[IN_contra]):
    """Creates broadcast state from elements (Flink: ``BroadcastStateBootstrapFunction``)."""

    Context: TypeAlias = BroadcastStateBootstrapContext

    @abstractmethod
    def processElement(self, value: IN_contra, ctx: BroadcastStateBootstrapContext) -> None:
        """Called for every element."""
