"""Redistributes the state of a savepoint over another number of key groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.errors import IncompatibleCheckpointError, shown
from flinkish.api.time.elements import MIN_TIMESTAMP
from flinkish.runtime.columns.element_runs import are_elements, key_column
from flinkish.runtime.operators.arrival_time import orders_by_partition, orders_of_partitions
from flinkish.runtime.operators.checkpointed import dealt
from flinkish.runtime.operators.timestamps import generators_by_split, generators_of_splits
from flinkish.runtime.records.keys import KeyHashes, split_group
from flinkish.runtime.records.records import Hashes
from flinkish.runtime.records.rows import RowColumns, python_values
from flinkish.runtime.savepoint.capture import ATTRIBUTES, BROADCAST
from flinkish.runtime.savepoint.saved_state import COLUMNS, ROWS, SavedState, decoded, encoded
from flinkish.runtime.state.backend import HASH, KeyedStateBackend
from flinkish.runtime.state.page_codec import Envelope, PageCodec

_KeyGroups = NDArray[np.int64]


def distributed(
    saved: SavedState, groups: Sequence[int], keyGroups: int
) -> Iterator[tuple[int, bytes]]:
    """Splits a part of keyed state by key group: yields each key group that has keys in it, and its
    content. ``groups`` are the key groups of the operator's vertex: one, or all ``keyGroups`` of
    the job."""
    if len(groups) == 1:
        yield groups[0], saved.content
        return
    operator, table, state = saved.operator, saved.table, saved.state
    if table in (ROWS, COLUMNS):
        *window, (data,) = decoded(operator, table, state, saved.content)
        batch = RowColumns.ofBytes(data).batch
        if table == ROWS:
            hashes = batch.column(HASH).to_numpy().astype(np.uint32)
        else:
            keys = batch.column(key_column(batch) if are_elements(batch) else 0)
            hashes = KeyHashes().column(python_values(keys))
        for group, part in _split(batch, _groups(hashes, keyGroups)):
            yield group, encoded(operator, table, state, (*window, [RowColumns(part).toBytes()]))
        return
    # Only the keys are unpickled, unless the part has to be cut
    keys = decoded_section(saved, "keys")
    numbers = _groups(KeyHashes().column(keys), keyGroups)
    if (numbers == numbers[0]).all():
        yield int(numbers[0]), saved.content
        return
    sections = decoded(operator, table, state, saved.content)
    positions: dict[int, list[int]] = defaultdict(list)
    for position, group in enumerate(numbers.tolist()):
        positions[group].append(position)
    for group, members in positions.items():
        parts_of_group = [[section[position] for position in members] for section in sections]
        yield group, encoded(operator, table, state, parts_of_group)


def decoded_section(saved: SavedState, section: str) -> Any:
    """One section of a part. The other sections are not unpickled."""
    codec = PageCodec(saved.operator, saved.table, saved.state)
    return codec.decodeSection(Envelope.of(saved.content).sections[section])


def _groups(hashes: Hashes, keyGroups: int) -> _KeyGroups:
    return (hashes.astype(np.int64) * keyGroups) >> 32


def _split(batch: pa.RecordBatch, groups: _KeyGroups) -> Iterator[tuple[int, pa.RecordBatch]]:
    for group in np.unique(groups).tolist():
        yield group, batch.take(pa.array(np.flatnonzero(groups == group)))


# ---------------------------------------------------------------------- keyed state


def restore_keyed(backend: KeyedStateBackend, operator: str, content: bytes) -> None:
    """Put a part of keyed state into ``backend``. Raises IncompatibleCheckpointError if an equal
    key has state already: version 1 of the hashes kept some equal keys apart."""
    table, state, *_ = Envelope.of(content)
    parts = decoded(operator, table, state, content)
    if table == "columns":
        columns = backend.columnTable(state)
        for window, data in zip(*parts):
            columns.append(window, RowColumns.ofBytes(data).batch)
    elif table == "rows":
        rows = backend.keyedColumnTable(state)
        for data in parts[0]:
            batch = RowColumns.ofBytes(data).batch
            rows.open(batch.column(HASH).to_numpy().astype(np.uint32))
            rows.replace([*rows.rows(), batch])
    elif table == "values":
        values = backend.table(state)
        for key, namespace, value in zip(*parts):
            _check_first(operator, state, key, values.get(key, namespace, None) is None)
            values.put(key, namespace, value)
    elif table == "maps":
        maps = backend.mapTable(state)
        for key, namespace, entries in zip(*parts):
            _check_first(operator, state, key, maps.isEmpty(key, namespace))
            for mapKey, value in entries.items():
                maps.put(key, namespace, mapKey, value)
    elif table == "windows":
        _restore_windows(backend, operator, state, *parts)
    elif table == "timers":
        timers = backend.timerQueue(state)
        for key, namespace, timestamp in zip(*parts):
            timers.add(timestamp, key, namespace)
    else:
        raise ValueError(f"{operator}: {table!r} is no table of keyed state")


def _check_first(operator: str, state: str, key: Any, isFirst: bool) -> None:
    if not isFirst:
        raise IncompatibleCheckpointError(
            f"{operator}: the savepoint has the state {state!r} of the key {shown(key)} twice, as an earlier version"
            " of flinkish kept equal keys of two types apart. Read both with SavepointReader, and write one with"
            " SavepointWriter."
        )


def _restore_windows(
    backend: KeyedStateBackend,
    operator: str,
    state: str,
    keys: Sequence[Any],
    windows: Sequence[Any],
    values: Sequence[Any],
) -> None:
    table = backend.windowTable(state)
    hashes = KeyHashes().column(keys)
    positions: dict[Any, list[int]] = defaultdict(list)
    for position, window in enumerate(windows):
        positions[window].append(position)
    for window, members in positions.items():
        blocks, index = table.blocks(
            window, [keys[position] for position in members], hashes[members]
        )
        for position, i in zip(members, index):
            _check_first(operator, state, keys[position], keys[position] not in blocks[i])
            blocks[i][keys[position]] = values[position]


# ---------------------------------------------------------------------- operators and inputs


def has_operator_state(snapshot: Mapping[str, Any]) -> bool:
    """Whether the snapshot of an operator has lists of functions, broadcast state, or elements."""
    functions = snapshot.get("functions") or ()
    lists = (values for state in functions for _, values in state["lists"].values())
    broadcast = (snapshot.get(BROADCAST) or {}).values()
    return any(lists) or any(broadcast) or snapshot.get("held") is not None


def redistributed(
    snapshots: Mapping[int, dict[str, Any]],
    groups: Sequence[int],
    same: bool,
    operator: str = "an operator",
    mayDrop: bool = False,
) -> dict[int, dict[str, Any]]:
    """Converts the ``snapshots`` of an operator by key group to snapshots for its new ``groups``.

    If the number of key groups is the ``same``, each group keeps its own snapshot. Otherwise all
    get the lowest watermark and the broadcast state, the lists of functions are distributed again,
    and each split goes to the group of its id. Attributes of functions cannot be divided: if the
    number differs, they are dropped if ``mayDrop``.

    Raises IncompatibleCheckpointError if attributes cannot be given to a key group, unless
    ``mayDrop``.
    """
    own = same and set(snapshots) == set(groups)
    base = min(snapshots.values(), key=lambda snapshot: snapshot["watermark"])
    functions: list[list[dict[str, Any]]] = []
    if not own:
        in_order = (snapshots[group].get("functions") for group in sorted(snapshots))
        functions = [dealt(states, len(groups)) for states in zip(*filter(None, in_order))]
    splits = [] if own else _splits(snapshots.values(), len(groups))
    broadcast = [snapshot[BROADCAST] for snapshot in snapshots.values() if BROADCAST in snapshot]
    attributes = {
        g: snapshot[ATTRIBUTES] for g, snapshot in snapshots.items() if ATTRIBUTES in snapshot
    }
    if len(snapshots) == len(groups) == 1:
        attributes = dict(zip(groups, attributes.values()))
    elif attributes and not (same and attributes.keys() <= set(groups)):
        if not mayDrop:
            raise IncompatibleCheckpointError(
                f"{operator}: its functions changed attributes, which belong to one of {len(snapshots)} key"
                f" groups and cannot be divided over {len(groups)}. Keep the parallelism, keep these values in"
                " keyed state or in a CheckpointedFunction, or pass allowNonRestoredState=True to begin with"
                " the attributes that open() sets."
            )
        attributes = {}
    found = {}
    for place, group in enumerate(groups):
        snapshot = dict(snapshots[group] if own else base)
        snapshot.pop(ATTRIBUTES, None)
        if group in attributes:
            snapshot[ATTRIBUTES] = attributes[group]
        if broadcast:
            snapshot[BROADCAST] = broadcast[0]
        if splits:
            snapshot = with_split_states(snapshot, splits[place])
        if functions:
            snapshot["functions"] = [function[place] for function in functions]
        if not own and "timers" in snapshot:
            snapshot["timers"] = None
        found[group] = snapshot
    return found


def _splits(snapshots: Iterable[Mapping[str, Any]], groups: int) -> list[dict[Any, Any]]:
    """The states of an operator's splits, for each of its groups; empty without splits."""
    of_groups: list[dict[Any, Any]] = [{} for _ in range(groups)]
    for snapshot in snapshots:
        states = split_states(snapshot)
        if states is None:
            return []
        for split, state in states.items():
            of_groups[0 if groups == 1 else split_group("setSavepoint", split, groups)][split] = (
                state
            )
    return of_groups


def split_states(snapshot: Mapping[str, Any]) -> dict[Any, Any] | None:
    """The state of each split in an operator's snapshot; None if it has no splits."""
    if "partitions" in snapshot:
        return orders_by_partition(snapshot)
    generators = snapshot.get("generators")
    return None if generators is None else generators_by_split(generators)


def with_split_states(snapshot: Mapping[str, Any], states: Mapping[Any, Any]) -> dict[str, Any]:
    """``snapshot`` with the ``states`` of other splits, before its first watermark."""
    changed = {**snapshot, "emitter": (MIN_TIMESTAMP, False)}
    if "generators" in snapshot:
        return {**changed, "generators": generators_of_splits(states)}
    return {**changed, **orders_of_partitions(states)}
