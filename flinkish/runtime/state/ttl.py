"""State with a time to live: each entry is stored with the time of its last access.

A value expires as a whole, a list element by element, a map entry by entry. Which accesses return,
renew or remove an expired entry follows Flink's ``Ttl...State`` classes.

The name of a table says how its entries are stored: alone, with the time of their last access, or
with that time and a check scheduled for each. So state goes on if its time to live was switched on
or off, or its clean-up was, and no entry is taken for another: what lies in a table of another form
is moved, key group by key group, when a key group is first loaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from flinkish.api.functions.adapt import reduce_call
from flinkish.api.functions.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from flinkish.api.functions.ttl import StateTtlConfig, StateVisibility, UpdateType
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.runtime.records.copies import copied, handed_out
from flinkish.runtime.state.accumulation import added, reduced
from flinkish.runtime.state.backend import EXPIRES, KeyedStateBackend, TimerQueue
from flinkish.runtime.state.table_states import (
    StateOwner,
    TableMapState,
    TableState,
    refuse_none,
    without_none,
)
from flinkish.runtime.time.clock import ProcessingTimeService

TtlValue: TypeAlias = tuple[Any, int]
"""A value and the time of its last access, in ms."""

_CHECKS = 4
"""The most checks of an entry while its time to live passes once."""


class Ttl:
    """The expiry rules of one state: its config and the clock (Flink: ``AbstractTtlDecorator``)."""

    __slots__ = ("_clock", "_grain", "_queue", "returnExpired", "timeToLive", "updateOnRead")

    def __init__(
        self, config: StateTtlConfig, clock: ProcessingTimeService, cleanup: TimerQueue | None
    ) -> None:
        self._clock = clock
        self.timeToLive = config.timeToLive
        self.updateOnRead = config.updateType is UpdateType.OnReadAndWrite
        self.returnExpired = config.stateVisibility is StateVisibility.ReturnExpiredIfNotCleanedUp
        self._queue = cleanup
        self._grain = max(1, config.timeToLive // _CHECKS)

    @property
    def checks(self) -> bool:
        """Whether a check is scheduled for each entry."""
        return self._queue is not None

    def wrapped(self, value: Any) -> TtlValue:
        """``value`` with the current time as its last access."""
        return value, self._clock.getCurrentProcessingTime()

    def end(self, entry: TtlValue) -> int:
        """The time (ms) at which the entry expires; never beyond ``MAX_TIMESTAMP``."""
        return min(entry[1] + self.timeToLive, MAX_TIMESTAMP)

    def expired(self, entry: TtlValue) -> bool:
        return self.end(entry) <= self._clock.getCurrentProcessingTime()

    def read(
        self, entry: TtlValue | None, update: Callable[[TtlValue], None], remove: Callable[[], None]
    ) -> TtlValue | None:
        """The entry if it may be returned, else None. Removes an expired entry; renews another one
        if the config says that reads do."""
        if entry is None:
            return None
        if self.expired(entry):
            remove()
            return entry if self.returnExpired else None
        if self.updateOnRead:
            update(self.wrapped(entry[0]))
        return entry

    def usable(self, entry: TtlValue | None) -> TtlValue | None:
        """The entry if elements may be added to it, else None. Changes nothing."""
        if entry is None or (self.expired(entry) and not self.returnExpired):
            return None
        return entry

    def schedule(self, entry: TtlValue, key: Any, namespace: Any) -> None:
        """Schedule the check of an entry for the time when it expires, or for one shortly before, so
        that an entry that is renewed often is not scheduled again each time."""
        if self._queue is not None:
            end = self.end(entry)
            early = end - end % self._grain
            early = early if early > self._clock.getCurrentProcessingTime() else end
            self._queue.add(early, key, namespace)

    def unschedule(self, entry: TtlValue | None, key: Any, namespace: Any) -> None:
        """Delete the check of an entry, if there is an entry."""
        if self._queue is not None and entry is not None:
            end = self.end(entry)
            early = end - end % self._grain
            self._queue.remove(early, key, namespace)
            if early != end and early <= self._clock.getCurrentProcessingTime():
                self._queue.remove(end, key, namespace)

    def reschedule(self, old: TtlValue | None, new: TtlValue, key: Any, namespace: Any) -> None:
        """Schedule the check of ``new``, which replaces ``old``."""
        if old is None or self.end(old) // self._grain != self.end(new) // self._grain:
            self.unschedule(old, key, namespace)
            self.schedule(new, key, namespace)


class TtlTableState(TableState):
    """Base class of expiring states whose entry is one value of a table."""

    __slots__ = ("_ttl",)

    def __init__(self, owner: StateOwner, descriptor: StateDescriptor[Any], ttl: Ttl) -> None:
        super().__init__(owner, descriptor)
        self._ttl = ttl

    def clear(self) -> None:
        if self._ttl.checks:
            key, namespace = self._backend.currentKey, self._owner.namespace
            self._ttl.unschedule(_first(self._get()), key, namespace)
        super().clear()

    def _put(self, value: Any) -> None:
        if self._ttl.checks:
            key, namespace = self._backend.currentKey, self._owner.namespace
            self._ttl.reschedule(_first(self._get()), _first(value), key, namespace)
        super()._put(value)

    def _read(self) -> TtlValue | None:
        return self._ttl.read(self._get(), self._put, self.clear)

    def removeExpired(self, key: Any, namespace: Any) -> None:
        """Remove the entry if it has expired; otherwise schedule the next check."""
        entry = self._table.get(key, namespace)
        if entry is not None:
            if self._ttl.expired(entry):
                self._table.remove(key, namespace)
            else:
                self._ttl.schedule(entry, key, namespace)


def _first(entry: Any) -> Any:
    """An entry with its time: of a list the first element, which expires first."""
    return entry[0] if type(entry) is list else entry


class TtlValueState(TtlTableState, ValueState[Any]):
    """A value that expires (Flink: ``TtlValueState``). The descriptor's default is ignored, too."""

    __slots__ = ()

    def value(self) -> Any:
        entry = self._read()
        return None if entry is None else copied(entry[0])

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()
        else:
            self._put(self._ttl.wrapped(copied(value)))


class TtlListState(TtlTableState, ListState[Any]):
    """A list whose elements expire (Flink: ``TtlListState``). A read removes expired elements only
    if it renews the others, or if all have expired."""

    __slots__ = ()

    def get(self) -> list[Any]:
        ttl = self._ttl
        entries = self._get(())
        alive = [entry for entry in entries if not ttl.expired(entry)]
        if alive:
            if ttl.updateOnRead:
                self._put([ttl.wrapped(value) for value, _ in alive])
        elif entries:
            self.clear()
        return list(handed_out([value for value, _ in (entries if ttl.returnExpired else alive)]))

    def add(self, value: Any) -> None:
        if value is None:
            refuse_none(self.name)
        self.addAll((value,))

    def addAll(self, values: Iterable[Any]) -> None:
        added = [self._ttl.wrapped(value) for value in without_none(self.name, values)]
        if added:
            kept = self._get([])
            kept.extend(added)
            self._put(kept)

    def update(self, values: Iterable[Any]) -> None:
        new = [self._ttl.wrapped(value) for value in without_none(self.name, values)]
        if new:
            self._put(new)
        else:
            self.clear()

    def removeExpired(self, key: Any, namespace: Any) -> None:
        entries = self._table.get(key, namespace)
        if entries is None:
            return
        alive = [entry for entry in entries if not self._ttl.expired(entry)]
        if not alive:
            self._table.remove(key, namespace)
            return
        if len(alive) < len(entries):
            self._table.put(key, namespace, alive)
        self._ttl.schedule(alive[0], key, namespace)


class TtlReducingState(TtlTableState, ReducingState[Any]):
    """A reduced value that expires (Flink: ``TtlReducingState``)."""

    __slots__ = ("_reduce",)

    def __init__(
        self, owner: StateOwner, descriptor: ReducingStateDescriptor[Any], ttl: Ttl
    ) -> None:
        super().__init__(owner, descriptor, ttl)
        self._reduce = reduce_call(descriptor.reduceFunction)

    def get(self) -> Any:
        entry = self._read()
        return None if entry is None else copied(entry[0])

    def add(self, value: Any) -> None:
        kept, value = self._ttl.usable(self._get()), copied(value)
        if kept is not None and value is not None:
            value = reduced(self._reduce, kept[0], value)
        elif kept is not None:
            value = kept[0]
        if value is not None:
            self._put(self._ttl.wrapped(value))


class TtlAggregatingState(TtlTableState, AggregatingState[Any, Any]):
    """An accumulator that expires (Flink: ``TtlAggregatingState``)."""

    __slots__ = ("_function",)

    def __init__(
        self, owner: StateOwner, descriptor: AggregatingStateDescriptor[Any, Any, Any], ttl: Ttl
    ) -> None:
        super().__init__(owner, descriptor, ttl)
        self._function = descriptor.aggregateFunction

    def get(self) -> Any:
        entry = self._read()
        return None if entry is None else copied(self._function.getResult(entry[0]))

    def add(self, value: Any) -> None:
        if value is None:
            self.clear()
            return
        kept = self._ttl.usable(self._get())
        accumulator = self._function.createAccumulator() if kept is None else kept[0]
        self._put(self._ttl.wrapped(added(self._function, copied(value), accumulator)))


class TtlMapState(TableMapState):
    """A map whose entries expire one by one (Flink: ``TtlMapState``)."""

    __slots__ = ("_ttl",)

    def __init__(
        self, owner: StateOwner, descriptor: MapStateDescriptor[Any, Any], ttl: Ttl
    ) -> None:
        super().__init__(owner, descriptor)
        self._ttl = ttl

    def get(self, key: Any) -> Any:
        entry = self._read(key, super().get(key))
        return None if entry is None else entry[0]

    def put(self, key: Any, value: Any) -> None:
        self._renew(key, self._ttl.wrapped(value))

    def contains(self, key: Any) -> bool:
        return self._read(key, super().get(key)) is not None

    def remove(self, key: Any) -> None:
        if self._ttl.checks:
            current, namespace = self._backend.currentKey, self._owner.namespace
            old = self._table.get(current, namespace, key)
            self._ttl.unschedule(old, current, (namespace, key))
        super().remove(key)

    def clear(self) -> None:
        if self._ttl.checks:
            current, namespace = self._backend.currentKey, self._owner.namespace
            for key, entry in super()._items():
                self._ttl.unschedule(entry, current, (namespace, key))
        super().clear()

    def removeExpired(self, key: Any, namespace: Any) -> None:
        """Remove the entry of a map if it has expired; otherwise schedule the next check."""
        map_namespace, map_key = namespace
        entry = self._table.get(key, map_namespace, map_key)
        if entry is not None:
            if self._ttl.expired(entry):
                self._table.remove(key, map_namespace, map_key)
            else:
                self._ttl.schedule(entry, key, namespace)

    def _renew(self, key: Any, entry: TtlValue) -> None:
        current, namespace = self._backend.currentKey, self._owner.namespace
        old = self._table.get(current, namespace, key) if self._ttl.checks else None
        super().put(key, entry)
        self._ttl.reschedule(old, entry, current, (namespace, key))

    def _read(self, key: Any, entry: TtlValue | None) -> TtlValue | None:
        return self._ttl.read(entry, lambda new: self._renew(key, new), lambda: self.remove(key))

    def _items(self) -> Iterator[tuple[Any, Any]]:
        for key, wrapped in super()._items():
            entry = self._read(key, wrapped)
            if entry is not None:
                yield key, entry[0]


_StatesOf: TypeAlias = dict[type[StateDescriptor[Any]], Callable[[StateOwner, Any, Ttl], Any]]

TTL_STATES: _StatesOf = {
    ValueStateDescriptor: TtlValueState,
    ListStateDescriptor: TtlListState,
    MapStateDescriptor: TtlMapState,
    ReducingStateDescriptor: TtlReducingState,
    AggregatingStateDescriptor: TtlAggregatingState,
}
"""The expiring state for each kind of descriptor."""


# ---------------------------------------------------------------------- tables

_WITH_TIMES = "/expires"
_CHECKED = re.compile(r"/expires after \d+ ms")
_PLAIN = "/plain"
_EARLIER_CHECKS = "/ttl"
"""The timer queue of earlier versions, whose entries with times are in the state's own table."""

Schedule = Callable[[Any, Any, Any], None]
"""Schedules the check of an entry with its time, under a key and a namespace."""


def is_table_of(state: str, name: str) -> bool:
    suffix = name[len(state) :]
    return name.startswith(state) and (
        suffix in ("", _WITH_TIMES, _PLAIN) or _CHECKED.fullmatch(suffix) is not None
    )


class StateHome:
    """The name of the table of one state, and how to get there from others. ``config``: its time to
    live, if it has one. ``checks``: whether the operator runs the checks that background clean-up
    needs. A checkpoint that goes back to an earlier version says so in its notes."""

    def __init__(
        self,
        backend: KeyedStateBackend,
        descriptor: StateDescriptor[Any],
        config: StateTtlConfig | None,
        checks: bool,
    ) -> None:
        self._backend = backend
        self._state = descriptor.name
        self._is_map = isinstance(descriptor, MapStateDescriptor)
        self._is_list = isinstance(descriptor, ListStateDescriptor)
        self._of_earlier_version = any(
            noted.name == self._state and noted.kind.endswith(EXPIRES)
            for noted in backend.earlierStates
        )
        self._with_times = config is not None
        self._checked = config is not None and checks and config.cleanupInBackground
        if config is None:
            suffix = _PLAIN if self._of_earlier_version else ""
        elif self._checked:
            suffix = f"{_WITH_TIMES} after {config.timeToLive} ms"
        else:
            suffix = _WITH_TIMES
        self.table = self._state + suffix

    def queue(self) -> TimerQueue | None:
        """The scheduled checks; None if entries are not checked."""
        return self._backend.timerQueue(self.table) if self._checked else None

    def settle(
        self, tables: Iterable[str], ours: Callable[[Any], bool], now: int, schedule: Schedule
    ) -> None:
        """Move the entries of the key group that are in others of its ``tables``, and in one of the
        namespaces that are ``ours``. Entries without a time count as accessed ``now`` (ms)."""
        for other in tables:
            if other == self._state + _EARLIER_CHECKS:
                self._drop_checks(other, ours)
            elif other != self.table and is_table_of(self._state, other):
                self._move(other, ours, now, schedule)
                self._drop_checks(other, ours)

    def _move(self, other: str, ours: Callable[[Any], bool], now: int, schedule: Schedule) -> None:
        had_times = other.startswith(self._state + _WITH_TIMES)
        had_times = had_times or (self._of_earlier_version and other == self._state)

        def moved(value: Any) -> Any:
            if had_times == self._with_times:
                return value
            return value[0] if had_times else (value, now)

        backend, home = self._backend, self.table
        if self._is_map:
            maps, new_maps = backend.mapTable(other), backend.mapTable(home)
            for key, namespace in [name for name in maps.maps() if ours(name[1])]:
                for map_key, value in maps.items(key, namespace):
                    entry = moved(value)
                    new_maps.put(key, namespace, map_key, entry)
                    schedule(entry, key, (namespace, map_key))
                maps.clear(key, namespace)
        else:
            table, new_table = backend.table(other), backend.table(home)
            for key, namespace, value in [e for e in table.entries() if ours(e[1])]:
                entry = list(map(moved, value)) if self._is_list else moved(value)
                new_table.put(key, namespace, entry)
                schedule(entry[0] if self._is_list else entry, key, namespace)
                table.remove(key, namespace)

    def _drop_checks(self, other: str, ours: Callable[[Any], bool]) -> None:
        queue = self._backend.timerQueue(other)
        others = []
        while (timer := queue.pollDue(MAX_TIMESTAMP)) is not None:
            namespace = timer.namespace[0] if self._is_map else timer.namespace
            if not ours(namespace):
                others.append(timer)
        for timer in others:
            queue.add(*timer)
