"""Reads the state of a key group from its pages for a savepoint, without creating operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flinkish.api.stored_values import unpickled
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.savepoint.saved_state import (
    COLUMNS,
    GATES,
    MAPS,
    OPERATOR,
    ROWS,
    TIMERS,
    VALUES,
    VALVE,
    WINDOWS,
    SavedState,
    encoded,
    in_parts,
)
from flinkish.runtime.state.page_store import TABLES, DictPageStore
from flinkish.runtime.state.paged_backend import PagedKeyedStateBackend

ATTRIBUTES = "attributes"
"""The key of the functions' attributes in an operator's snapshot."""

BROADCAST = "broadcast"
"""The key of broadcast state in an operator's snapshot."""


def captured(
    uid: str, keyGroup: int, saved: Mapping[str, Any], pages: Mapping[bytes, bytes], first: bool
) -> Iterator[SavedState]:
    """The state of a vertex in a key group. ``saved`` is its entry in the directory. Broadcast
    state is the same in all key groups, so it is taken only from the ``first``."""
    store = DictPageStore()
    # Reading timers removes them from their queue
    store.pages = dict(pages)
    backend = PagedKeyedStateBackend(uid)
    backend.load(store, saved["backend"])
    for name in saved["backend"]:
        kind, state = TABLES.get(name[0]), name[1:]
        if name != "format" and kind is not None:
            yield from _table(backend, uid, kind, state, keyGroup)
    chain = unpickled(saved["chain"]) or {"operators": {}, "valves": {}}
    for operator, snapshot in chain["operators"].items():
        if not first:
            snapshot = {name: part for name, part in snapshot.items() if name != BROADCAST}
        yield _whole(operator, OPERATOR, "", keyGroup, snapshot)
    for (operator, number), snapshot in chain["valves"].items():
        yield _whole(operator, VALVE, str(number), keyGroup, snapshot)
    if saved["gates"] is not None:
        yield _whole(uid, GATES, "", keyGroup, saved["gates"])


def _whole(operator: str, table: str, state: str, keyGroup: int, snapshot: Any) -> SavedState:
    content = encoded(operator, table, state, (snapshot,))
    return SavedState(operator, table, state, keyGroup, 1, content)


def _table(
    backend: PagedKeyedStateBackend, uid: str, kind: str, state: str, keyGroup: int
) -> Iterator[SavedState]:
    if kind == COLUMNS:
        columns = backend.columnTable(state)
        for window in columns.windows():
            for run in columns.runs(window):
                content = encoded(uid, kind, state, ([window], [RowColumns(run).toBytes()]))
                yield SavedState(uid, kind, state, keyGroup, run.num_rows, content)
    elif kind == ROWS:
        rows = backend.keyedColumnTable(state)
        rows.openDue(MAX_TIMESTAMP)
        for batch in rows.rows():
            content = encoded(uid, kind, state, ([RowColumns(batch).toBytes()],))
            yield SavedState(uid, kind, state, keyGroup, batch.num_rows, content)
    else:
        yield from in_parts(uid, kind, state, keyGroup, _entries(backend, kind, state))


def _entries(backend: PagedKeyedStateBackend, kind: str, state: str) -> Iterator[tuple[Any, ...]]:
    if kind == VALUES:
        yield from backend.table(state).entries()
    elif kind == MAPS:
        maps = backend.mapTable(state)
        for key, namespace in maps.maps():
            yield key, namespace, dict(maps.items(key, namespace))
    elif kind == WINDOWS:
        windows = backend.windowTable(state)
        for window in windows.windows():
            for key, value in windows.items(window):
                yield key, window, value
    elif kind == TIMERS:
        timers = backend.timerQueue(state)
        while (timer := timers.pollDue(MAX_TIMESTAMP)) is not None:
            yield timer.key, timer.namespace, timer.timestamp
