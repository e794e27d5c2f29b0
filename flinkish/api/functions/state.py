"""Keyed state: what a function remembers for each key, checkpointed with the job.

A *descriptor* gives a state its name and type. A rich function gets the state in ``open`` from its runtime
context; from then on the state object reads and writes the entry of the key of the current element or
timer. The name identifies the state within its operator, also after a restart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Generic, NoReturn, TypeAlias

from typing_extensions import TypeVar

from flinkish.api.arguments import instance, text
from flinkish.api.errors import NotSupportedError
from flinkish.api.functions.adapt import reduce_call
from flinkish.api.functions.functions import AggregateFunction, ReduceLike
from flinkish.api.functions.ttl import StateTtlConfig
from flinkish.api.types.type_info import TypeInformation

T = TypeVar("T", default=Any)
IN = TypeVar("IN", default=Any)
OUT = TypeVar("OUT", default=Any)
ACC = TypeVar("ACC", default=Any)
UK = TypeVar("UK", default=Any)
UV = TypeVar("UV", default=Any)
S = TypeVar("S", default=Any)
"""The state that a descriptor describes."""


_TypeLike: TypeAlias = TypeInformation[T] | type[T] | None
"""A type, a Python type that stands for one, or None for any type."""


def _given(typeLike: _TypeLike[T]) -> TypeInformation[T] | None:
    return None if typeLike is None else TypeInformation.of(typeLike)


class State(ABC):
    """The base of all states.

    If you change a value in place after reading it, write it back with ``update`` or ``put``. Otherwise
    the change may be kept or lost, depending on where the batch ends.
    """

    __slots__ = ()

    @abstractmethod
    def clear(self) -> None:
        """Remove the entry of the current key."""


class ValueState(State, Generic[T]):
    """One value for each key (Flink: ``ValueState``)."""

    __slots__ = ()

    @abstractmethod
    def value(self) -> T | None:
        """The value; if there is none, the descriptor's default, or None."""

    @abstractmethod
    def update(self, value: T | None) -> None:
        """Set the value; None removes it."""


class AppendingState(State, Generic[IN, OUT]):
    """A state to which elements are added (Flink: ``AppendingState``)."""

    __slots__ = ()

    @abstractmethod
    def add(self, value: IN) -> None:
        """Add ``value``."""

    @abstractmethod
    def get(self) -> OUT | None:
        """The list, reduction or aggregate of the elements added, None if there are none."""


class ListState(AppendingState[T, Iterable[T]], Generic[T]):
    """A list for each key (Flink: ``ListState``). It cannot hold None."""

    __slots__ = ()

    @abstractmethod
    def get(self) -> Iterable[T]:
        """The elements in the order in which they were added; empty if there are none."""

    @abstractmethod
    def update(self, values: Iterable[T]) -> None:
        """Replace the whole list; an empty one removes the entry."""

    @abstractmethod
    def addAll(self, values: Iterable[T]) -> None:
        """Append all of ``values``."""


class ReducingState(AppendingState[T, T], Generic[T]):
    """The reduction of all elements added, for each key (Flink: ``ReducingState``)."""

    __slots__ = ()


class AggregatingState(AppendingState[IN, OUT], Generic[IN, OUT]):
    """The aggregate of all elements added, for each key (Flink: ``AggregatingState``)."""

    __slots__ = ()


class MapEntry(tuple[UK, UV]):
    """An entry of a map, a pair of its key and value (Java: ``Map.Entry``)."""

    __slots__ = ()

    def getKey(self) -> UK:
        """The key."""
        key: UK = self[0]
        return key

    def getValue(self) -> UV:
        """The value; ``MapState.put(key, value)`` changes it."""
        value: UV = self[1]
        return value

    def __reduce__(self) -> Any:
        return tuple, (tuple(self),)  # a plain pair where it is stored or sent on


class MapState(State, Generic[UK, UV]):
    """A map for each key, whose entries are read and written one by one (Flink: ``MapState``)."""

    __slots__ = ()

    @abstractmethod
    def get(self, key: UK) -> UV | None:
        """The value under ``key``, or None."""

    @abstractmethod
    def put(self, key: UK, value: UV) -> None:
        """Set the value under ``key``."""

    @abstractmethod
    def putAll(self, map: dict[UK, UV]) -> None:  # noqa: A002 - Flink's name
        """Put every entry of ``map``."""

    @abstractmethod
    def remove(self, key: UK) -> None:
        """Remove the entry of ``key``, if there is one."""

    @abstractmethod
    def contains(self, key: UK) -> bool:
        """Whether ``key`` has an entry."""

    @abstractmethod
    def entries(self) -> Iterable[MapEntry[UK, UV]]:
        """All entries: pairs, with Java's ``getKey`` and ``getValue``."""

    @abstractmethod
    def keys(self) -> Iterable[UK]:
        """All keys."""

    @abstractmethod
    def values(self) -> Iterable[UV]:
        """All values."""

    @abstractmethod
    def isEmpty(self) -> bool:
        """Whether there are no entries."""

    def iterator(self) -> Iterator[MapEntry[UK, UV]]:
        """An iterator over the entries."""
        return iter(self.entries())

    def immutableEntries(self) -> Iterable[MapEntry[UK, UV]]:
        """All entries, under the name that read-only broadcast state has in Flink."""
        return self.entries()


class StateDescriptor(Generic[T, S]):
    """The name of a state, its type, and its time to live (Flink: ``StateDescriptor``)."""

    def __init__(self, name: str, type: _TypeLike[T] = None) -> None:  # noqa: A002
        self.name = text(f"{self.__class__.__name__}: name", name)
        self.type = _given(type)
        self.ttlConfig: StateTtlConfig | None = None

    def getName(self) -> str:
        """The name of the state, unique in its operator."""
        return self.name

    def getType(self) -> TypeInformation[Any] | None:
        """The type of the state's values, if it was given."""
        return self.type

    def setQueryable(self, *arguments: object) -> NoReturn:
        """Not supported; Flink has deprecated queryable state too."""
        raise NotSupportedError(
            "setQueryable is not supported. Write the state to a sink that can be queried, or read"
            " the checkpoint with Spark's state data source."
        )

    def enableTimeToLive(self, ttlConfig: StateTtlConfig) -> None:
        """Let entries expire after the time to live of ``ttlConfig``."""
        fix = "Pass one, as StateTtlConfig.newBuilder(Duration.ofHours(1)).build()."
        self.ttlConfig = instance(f"{self}: enableTimeToLive", ttlConfig, StateTtlConfig, fix)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class ValueStateDescriptor(StateDescriptor[T, ValueState[T]]):
    """Describes a ``ValueState``; ``value()`` returns ``default`` while there is no value (Flink:
    ``ValueStateDescriptor``).

    >>> from flinkish import KeyedProcessFunction
    >>> from flinkish.testing import StreamTestHarness
    >>> class Numbered(KeyedProcessFunction[str, str, tuple[str, int]]):
    ...     def open(self, openContext):
    ...         self.count = self.getRuntimeContext().getState(ValueStateDescriptor("count", int, 0))
    ...     def processElement(self, value, ctx, out):
    ...         self.count.update(self.count.value() + 1)
    ...         out.collect((value, self.count.value()))
    >>> harness = StreamTestHarness(lambda words: words.keyBy(len).process(Numbered()))
    >>> for word in ("one", "three", "two"):
    ...     harness.processElement(word)
    >>> [record.value for record in harness.getOutput()]
    [('one', 1), ('three', 1), ('two', 2)]
    """

    def __init__(
        self,
        name: str,
        type: _TypeLike[T] = None,  # noqa: A002 - Flink's name
        default: T | None = None,
    ) -> None:
        super().__init__(name, type)
        self.default = default


class ListStateDescriptor(StateDescriptor[T, ListState[T]]):
    """Describes a ``ListState`` (Flink: ``ListStateDescriptor``).

    >>> seen = ListStateDescriptor("seen", int)
    """


class ReducingStateDescriptor(StateDescriptor[T, ReducingState[T]]):
    """Describes a ``ReducingState`` with its reduce function (Flink: ``ReducingStateDescriptor``).

    >>> longest = ReducingStateDescriptor("longest", max, int)
    """

    def __init__(
        self,
        name: str,
        reduceFunction: ReduceLike[T],
        type: _TypeLike[T] = None,  # noqa: A002 - Flink's name
    ) -> None:
        super().__init__(name, type)
        self.reduceFunction = reduceFunction
        reduce_call(reduceFunction, f"ReducingStateDescriptor({name!r})")


class AggregatingStateDescriptor(
    StateDescriptor[ACC, AggregatingState[IN, OUT]], Generic[IN, ACC, OUT]
):
    """Describes an ``AggregatingState`` with its aggregate function; ``type`` is the type of the
    accumulator (Flink: ``AggregatingStateDescriptor``)."""

    def __init__(
        self,
        name: str,
        aggregateFunction: AggregateFunction[IN, ACC, OUT],
        type: _TypeLike[ACC] = None,  # noqa: A002 - Flink's name
    ) -> None:
        super().__init__(name, type)
        fix = "Pass one, with createAccumulator, add and getResult."
        self.aggregateFunction = instance(
            f"AggregatingStateDescriptor({name!r})", aggregateFunction, AggregateFunction, fix
        )


class MapStateDescriptor(StateDescriptor[Any, MapState[UK, UV]], Generic[UK, UV]):
    """Describes a ``MapState`` (Flink: ``MapStateDescriptor``).

    >>> clicks = MapStateDescriptor("clicks", str, int)
    """

    def __init__(
        self,
        name: str,
        keyType: _TypeLike[UK] = None,
        valueType: _TypeLike[UV] = None,
    ) -> None:
        super().__init__(name)
        self.keyType = _given(keyType)
        self.valueType = _given(valueType)
