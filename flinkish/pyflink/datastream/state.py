"""Keyed state and broadcast state: descriptors, and the states themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

from flinkish.api.arguments import instance, text
from flinkish.api.functions import state as core
from flinkish.api.functions import ttl as core_ttl
from flinkish.api.functions.broadcast import ReadOnlyBroadcastState as CoreReadOnlyBroadcastState
from flinkish.api.functions.functions import AggregateFunction as CoreAggregateFunction
from flinkish.api.type_variables import IN, OUT, K, T, V
from flinkish.pyflink.absent import AbsentMethods, absent_names, refuse
from flinkish.pyflink.common.arguments import declared_type, millis_of_time
from flinkish.pyflink.common.shipping import shippable
from flinkish.pyflink.common.time import Time
from flinkish.pyflink.common.typeinfo import MapTypeInfo, TypeInformation

if TYPE_CHECKING:
    from flinkish.pyflink.datastream.functions import AggregateFunction, ReduceFunction

D = TypeVar("D", bound=core.StateDescriptor[Any])


class StateTtlConfigBuilder:
    """Builds a ``StateTtlConfig``."""

    def __init__(self, builder: core_ttl.StateTtlConfigBuilder) -> None:
        self._builder = builder

    def set_update_type(self, update_type: StateTtlConfig.UpdateType) -> StateTtlConfigBuilder:
        """Set which accesses renew an entry."""
        self._builder = self._builder.setUpdateType(update_type)
        return self

    def update_ttl_on_create_and_write(self) -> StateTtlConfigBuilder:
        """Creating and writing renews an entry."""
        return self.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)

    def update_ttl_on_read_and_write(self) -> StateTtlConfigBuilder:
        """Reading and writing renews an entry."""
        return self.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)

    def set_state_visibility(
        self, state_visibility: StateTtlConfig.StateVisibility
    ) -> StateTtlConfigBuilder:
        """Set whether reads return expired entries."""
        self._builder = self._builder.setStateVisibility(state_visibility)
        return self

    def return_expired_if_not_cleaned_up(self) -> StateTtlConfigBuilder:
        """Reads return expired entries until they are removed."""
        return self.set_state_visibility(StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp)

    def never_return_expired(self) -> StateTtlConfigBuilder:
        """Reads never return expired entries."""
        return self.set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)

    def set_ttl_time_characteristic(
        self, ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic
    ) -> StateTtlConfigBuilder:
        """Accepted: there is no other clock."""
        return self

    def use_processing_time(self) -> StateTtlConfigBuilder:
        """Accepted: there is no other clock."""
        return self

    def set_ttl(self, ttl: Time) -> StateTtlConfigBuilder:
        """Set the time to live."""
        self._builder = self._builder.setTimeToLive(millis_of_time("set_ttl", ttl))
        return self

    def disable_cleanup_in_background(self) -> StateTtlConfigBuilder:
        """Remove expired entries only when they are accessed."""
        self._builder = self._builder.disableCleanupInBackground()
        return self

    def cleanup_full_snapshot(self) -> StateTtlConfigBuilder:
        """Accepted, without effect, as in flinkish's own builder."""
        self._builder = self._builder.cleanupFullSnapshot()
        return self

    def cleanup_incrementally(
        self, cleanup_size: int, run_cleanup_for_every_record: bool
    ) -> StateTtlConfigBuilder:
        """Accepted, without effect, as in flinkish's own builder."""
        self._builder = self._builder.cleanupIncrementally(
            cleanup_size, run_cleanup_for_every_record
        )
        return self

    def cleanup_in_rocksdb_compact_filter(
        self, query_time_after_num_entries: int, periodic_compaction_time: Time | None = None
    ) -> StateTtlConfigBuilder:
        """Accepted, without effect, as in flinkish's own builder."""
        self._builder = self._builder.cleanupInRocksdbCompactFilter(query_time_after_num_entries)
        return self

    def build(self) -> StateTtlConfig:
        """The configuration."""
        return StateTtlConfig(self._builder.build())


class StateTtlConfig(AbsentMethods):
    """The time to live of state (PyFlink: ``StateTtlConfig``)."""

    Builder: TypeAlias = StateTtlConfigBuilder
    UpdateType: TypeAlias = core_ttl.UpdateType
    StateVisibility: TypeAlias = core_ttl.StateVisibility
    TtlTimeCharacteristic: TypeAlias = core_ttl.TtlTimeCharacteristic

    def __init__(self, config: core_ttl.StateTtlConfig) -> None:
        self.core = config
        """The configuration for flinkish's own descriptors."""

    @staticmethod
    def new_builder(ttl: Time) -> StateTtlConfigBuilder:
        """A builder of a configuration with that time to live."""
        millis = millis_of_time("StateTtlConfig.new_builder", ttl)
        return StateTtlConfigBuilder(core_ttl.StateTtlConfig.newBuilder(millis))

    def is_enabled(self) -> bool:
        """Whether state expires."""
        return self.core.isEnabled()

    def get_ttl(self) -> Time:
        """The time to live."""
        return Time(int(self.core.getTimeToLive().toMillis()))

    def get_ttl_time_characteristic(self) -> TtlTimeCharacteristic:
        """Processing time: there is no other clock."""
        return self.core.getTtlTimeCharacteristic()

    def get_update_type(self) -> UpdateType:
        """The accesses that renew an entry."""
        return self.core.getUpdateType()

    def get_state_visibility(self) -> StateVisibility:
        """Whether reads return expired entries."""
        return self.core.getStateVisibility()


# ---------------------------------------------------------------------- descriptors


class StateDescriptor:
    """Names a state and its type (PyFlink: ``StateDescriptor``)."""

    def __init__(self, name: str, type_info: TypeInformation) -> None:
        self.name = text(f"{type(self).__name__}: name", name)
        self.type_info = declared_type(type(self).__name__, type_info)
        self._ttl_config: StateTtlConfig | None = None

    def get_name(self) -> str:
        """The name of the state."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Let the state expire."""
        fix = "Pass StateTtlConfig.new_builder(Time.hours(1)).build()."
        self._ttl_config = instance("enable_time_to_live", ttl_config, StateTtlConfig, fix)

    def _expiring(self, descriptor: D) -> D:
        if self._ttl_config is not None and self._ttl_config.is_enabled():
            descriptor.enableTimeToLive(self._ttl_config.core)
        return descriptor


class ValueStateDescriptor(StateDescriptor):
    """Describes a ``ValueState``."""

    def __init__(self, name: str, value_type_info: TypeInformation) -> None:
        super().__init__(name, value_type_info)

    @property
    def core(self) -> core.ValueStateDescriptor[Any]:
        """The descriptor for flinkish's own context."""
        return self._expiring(core.ValueStateDescriptor(self.name))


class ListStateDescriptor(StateDescriptor):
    """Describes a ``ListState``."""

    def __init__(self, name: str, elem_type_info: TypeInformation) -> None:
        super().__init__(name, elem_type_info)

    @property
    def core(self) -> core.ListStateDescriptor[Any]:
        """The descriptor for flinkish's own context."""
        return self._expiring(core.ListStateDescriptor(self.name))


class MapStateDescriptor(StateDescriptor):
    """Describes a ``MapState`` or a ``BroadcastState``."""

    def __init__(
        self, name: str, key_type_info: TypeInformation, value_type_info: TypeInformation
    ) -> None:
        self.key_type_info = declared_type("MapStateDescriptor", key_type_info)
        self.value_type_info = declared_type("MapStateDescriptor", value_type_info)
        super().__init__(name, MapTypeInfo(key_type_info, value_type_info))

    @property
    def core(self) -> core.MapStateDescriptor[Any, Any]:
        """The descriptor for flinkish's own context."""
        return self._expiring(core.MapStateDescriptor(self.name))


class ReducingStateDescriptor(StateDescriptor):
    """Describes a ``ReducingState``."""

    def __init__(
        self,
        name: str,
        reduce_function: ReduceFunction | Callable[[Any, Any], Any],
        type_info: TypeInformation,
    ) -> None:
        super().__init__(name, type_info)
        self._function = reduce_function
        given: Any = shippable(reduce_function)
        self._reduce: Callable[[Any, Any], Any] = getattr(given, "reduce", given)

    def get_reduce_function(self) -> ReduceFunction | Callable[[Any, Any], Any]:
        """The function that was given."""
        return self._function

    @property
    def core(self) -> core.ReducingStateDescriptor[Any]:
        """The descriptor for flinkish's own context."""
        reduce, convert = self._reduce, self.type_info.converted
        return self._expiring(
            core.ReducingStateDescriptor(self.name, lambda a, b: convert(reduce(a, b)))
        )


class AggregatingStateDescriptor(StateDescriptor):
    """Describes an ``AggregatingState``; the type is that of the accumulators."""

    def __init__(
        self, name: str, agg_function: AggregateFunction, state_type_info: TypeInformation
    ) -> None:
        super().__init__(name, state_type_info)
        self._function = agg_function

    def get_agg_function(self) -> AggregateFunction:
        """The function that was given."""
        return self._function

    @property
    def core(self) -> core.AggregatingStateDescriptor[Any, Any, Any]:
        """The descriptor for flinkish's own context."""
        function = AggregateAdapter(self._function, self.type_info)
        return self._expiring(core.AggregatingStateDescriptor(self.name, function))


class AggregateAdapter(CoreAggregateFunction[Any, Any, Any]):
    """A PyFlink AggregateFunction as flinkish's own."""

    def __init__(
        self, function: AggregateFunction, accumulator_type: TypeInformation | None = None
    ) -> None:
        self._function = shippable(function)
        self._type = accumulator_type

    def createAccumulator(self) -> Any:
        return self._converted(self._function.create_accumulator())

    def add(self, value: Any, accumulator: Any) -> Any:
        return self._converted(self._function.add(value, accumulator))

    def getResult(self, accumulator: Any) -> Any:
        return self._function.get_result(accumulator)

    def merge(self, a: Any, b: Any) -> Any:
        return self._converted(self._function.merge(a, b))

    def _converted(self, accumulator: Any) -> Any:
        return accumulator if self._type is None else self._type.converted(accumulator)


# ---------------------------------------------------------------------- states


class State(ABC):
    """The base of all states."""

    @abstractmethod
    def clear(self) -> None:
        """Remove the entry of the current key."""


class _StateOfKey(State):
    """Base of the states that wrap one of flinkish's own."""

    _state: Any

    def clear(self) -> None:
        """Remove the entry of the current key."""
        self._state.clear()


class AppendingState(State, Generic[IN, OUT]):
    """A state that values are added to (PyFlink: ``AppendingState``)."""

    @abstractmethod
    def get(self) -> OUT:
        """The list, reduction or aggregate of the values added."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Add ``value``."""


class MergingState(AppendingState[IN, OUT]):
    """A state that can be merged when windows merge (PyFlink: ``MergingState``)."""


class _TypedState(_StateOfKey):
    """Base of the states whose values have one type."""

    def __init__(self, state: core.State, type_info: TypeInformation) -> None:
        self._state = state
        self._convert = type_info.converted


class ValueState(_TypedState, Generic[T]):
    """One value for each key (PyFlink: ``ValueState``)."""

    def value(self) -> T:
        """The value, None if there is none."""
        return cast(T, self._state.value())

    def update(self, value: T) -> None:
        """Set the value."""
        self._state.update(self._convert(value))


class ListState(_TypedState, MergingState[T, Iterable[T]]):
    """A list for each key (PyFlink: ``ListState``)."""

    def get(self) -> Iterable[T]:
        """The elements in order."""
        return cast(Iterable[T], self._state.get())

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())

    def add(self, value: T) -> None:
        """Append ``value``."""
        self._state.add(self._convert(value))

    def add_all(self, values: Iterable[T]) -> None:
        """Append all of ``values``."""
        self._state.addAll([self._convert(value) for value in values])

    def update(self, values: Iterable[T]) -> None:
        """Replace the list."""
        self._state.update([self._convert(value) for value in values])


class _ReadableMap(State, Generic[K, V]):
    """Base of the states that are read like a dict; keys and values have the types of their descriptor."""

    def __init__(
        self,
        state: core.MapState[Any, Any] | CoreReadOnlyBroadcastState[Any, Any],
        descriptor: MapStateDescriptor,
    ) -> None:
        self._state: Any = state
        self._key = descriptor.key_type_info.converted
        self._value = descriptor.value_type_info.converted

    def get(self, key: K) -> V:
        """The value of ``key``, None if there is none."""
        return cast(V, self._state.get(self._key(key)))

    def contains(self, key: K) -> bool:
        """Whether there is a value of ``key``."""
        return bool(self._state.contains(self._key(key)))

    def items(self) -> Iterable[tuple[K, V]]:
        """The keys with their values."""
        return cast(Iterable[tuple[K, V]], self._state.immutableEntries())

    def keys(self) -> Iterable[K]:
        """The keys."""
        return [key for key, _ in self.items()]

    def values(self) -> Iterable[V]:
        """The values."""
        return [value for _, value in self.items()]

    def is_empty(self) -> bool:
        """Whether there is no entry."""
        return not list(self.items())

    def __getitem__(self, key: K) -> V:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class _WritableMap(_StateOfKey, _ReadableMap[K, V]):
    """Base of the states that can be used like a dict."""

    def put(self, key: K, value: V) -> None:
        """Set the value of ``key``."""
        self._state.put(self._key(key), self._value(value))

    def put_all(self, dict_value: dict[K, V]) -> None:
        """Set the values of several keys."""
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: K) -> None:
        """Remove ``key``."""
        self._state.remove(self._key(key))

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


class MapState(_WritableMap[K, V]):
    """A map for each key, which can be used like a dict (PyFlink: ``MapState``)."""

    def keys(self) -> Iterable[K]:
        return cast(Iterable[K], self._state.keys())

    def values(self) -> Iterable[V]:
        return cast(Iterable[V], self._state.values())

    def is_empty(self) -> bool:
        return bool(self._state.isEmpty())


class ReducingState(_TypedState, MergingState[T, T]):
    """The reduction of all values added, for each key (PyFlink: ``ReducingState``)."""

    def get(self) -> T:
        """The reduction, None if nothing was added."""
        return cast(T, self._state.get())

    def add(self, value: T) -> None:
        """Add ``value``."""
        self._state.add(self._convert(value))


class AggregatingState(_StateOfKey, MergingState[IN, OUT]):
    """The aggregate of all values added, for each key (PyFlink: ``AggregatingState``)."""

    def __init__(self, state: core.AggregatingState[Any, Any]) -> None:
        self._state = state

    def get(self) -> OUT:
        """The aggregate, None if nothing was added."""
        return cast(OUT, self._state.get())

    def add(self, value: IN) -> None:
        """Add ``value``."""
        self._state.add(value)


class ReadOnlyBroadcastState(_ReadableMap[K, V], AbsentMethods):
    """Broadcast state for the elements of the other stream (PyFlink: the class of this name)."""

    def clear(self) -> None:
        """Not supported here."""
        refuse(type(self), "clear")


class BroadcastState(_WritableMap[K, V], ReadOnlyBroadcastState[K, V]):
    """Broadcast state for the broadcast elements (PyFlink: ``BroadcastState``)."""


__getattr__ = absent_names(__name__)
