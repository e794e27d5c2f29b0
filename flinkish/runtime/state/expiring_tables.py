"""Chooses the table for the entries of a state, depending on its time to live.

The name of a table says how its entries are stored: alone, with the time of their last access, or
with that time and a check scheduled for each. So state goes on if its time to live was switched on
or off, or its clean-up was, and no entry is taken for another: what lies in a table of another form
is moved, key group by key group, when a key group is first loaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from flinkish.api.functions.state import ListStateDescriptor, MapStateDescriptor, StateDescriptor
from flinkish.api.functions.ttl import StateTtlConfig
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.runtime.state.backend import EXPIRES, KeyedStateBackend, TimerQueue

_WITH_TIMES = "/expires"
_CHECKED = re.compile(r"/expires after \d+ ms")
_PLAIN = "/plain"
_EARLIER_CHECKS = "/ttl"
"""The timer queue of earlier versions, whose entries with times are in the state's own table."""

Schedule = Callable[[Any, Any, Any], None]
"""Schedules the check of an entry with its time, under a key and a namespace."""


class TableName(NamedTuple):
    """The table of a state. ``checked``: whether a timer queue of this name checks each entry."""

    name: str
    withTimes: bool = False
    checked: bool = False


def is_table_of(state: str, name: str) -> bool:
    suffix = name[len(state) :]
    return name.startswith(state) and (
        suffix in ("", _WITH_TIMES, _PLAIN) or _CHECKED.fullmatch(suffix) is not None
    )


class StateHome:
    """The table of one state, and how to get there from others. ``config``: its time to live, if it
    has one. ``checks``: whether the operator runs the checks that background clean-up needs. A
    checkpoint that goes back to an earlier version says so in its notes."""

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
        if config is None:
            self.table = TableName(
                self._state + _PLAIN if self._of_earlier_version else self._state
            )
        elif checks and config.cleanupInBackground:
            name = f"{self._state}{_WITH_TIMES} after {config.timeToLive} ms"
            self.table = TableName(name, withTimes=True, checked=True)
        else:
            self.table = TableName(self._state + _WITH_TIMES, withTimes=True)

    def queue(self) -> TimerQueue | None:
        """The scheduled checks; None if entries are not checked."""
        return self._backend.timerQueue(self.table.name) if self.table.checked else None

    def settle(
        self, tables: Iterable[str], ours: Callable[[Any], bool], now: int, schedule: Schedule
    ) -> None:
        """Move the entries of the key group that are in others of its ``tables``, and in one of the
        namespaces that are ``ours``. Entries without a time count as accessed ``now`` (ms)."""
        for other in tables:
            if other == self._state + _EARLIER_CHECKS:
                self._drop_checks(other, ours)
            elif other != self.table.name and is_table_of(self._state, other):
                self._move(other, ours, now, schedule)
                self._drop_checks(other, ours)

    def _move(self, other: str, ours: Callable[[Any], bool], now: int, schedule: Schedule) -> None:
        had_times = other.startswith(self._state + _WITH_TIMES)
        had_times = had_times or (self._of_earlier_version and other == self._state)

        def moved(value: Any) -> Any:
            if had_times == self.table.withTimes:
                return value
            return value[0] if had_times else (value, now)

        backend, home = self._backend, self.table.name
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
