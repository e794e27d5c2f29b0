"""The contents of a savepoint, to show: states, watermarks, and sources' positions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from flinkish.api.errors import CorruptCheckpointError, shown
from flinkish.api.stored_values import pickled
from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from flinkish.deployment.savepoint.files import SavepointDirectory
from flinkish.deployment.savepoint.metadata import SavepointMetadata
from flinkish.runtime.savepoint.capture import BROADCAST
from flinkish.runtime.savepoint.redistribution import decoded_section
from flinkish.runtime.savepoint.saved_state import (
    GATES,
    KEYED,
    MAPS,
    OPERATOR,
    TIMERS,
    VALUES,
    WINDOWS,
    SavedState,
    decoded,
)


@dataclass
class StateSummary:
    kind: str
    name: str
    entries: int = 0
    bytes: int = 0
    keys: set[Any] | None = field(default_factory=set)
    """The keys; None if their class is missing, or if they are in columns."""
    first: int = MAX_TIMESTAMP
    last: int = MIN_TIMESTAMP
    """The times of the first and the last timer (ms)."""
    bytesByKey: Counter[Any] | None = field(default_factory=Counter)
    """The result of ``measure``; None if values cannot be read, as the class of one is missing."""

    def measure(self, saved: SavedState) -> None:
        """Add the bytes of a part by key."""
        if saved.table not in (VALUES, MAPS, WINDOWS) or self.bytesByKey is None:
            return
        keys, values = _section(saved, "keys"), _section(saved, "values")
        if keys is None or values is None:
            self.bytesByKey = None
            return
        for key, value in zip(keys, values):
            self.bytesByKey[key] += len(pickled(value))

    def add(self, saved: SavedState) -> None:
        self.entries += saved.entries
        self.bytes += len(saved.content)
        keys = _section(saved, "keys")
        if keys is None or self.keys is None:
            self.keys = None
        else:
            self.keys.update(keys)
        if self.kind == TIMERS:
            timestamps = decoded_section(saved, "timestamps")
            self.first = min(self.first, *timestamps)
            self.last = max(self.last, *timestamps)


def _section(saved: SavedState, name: str) -> Any:
    """A section of a part; None if there is none, or it cannot be read."""
    try:
        return decoded_section(saved, name)
    except KeyboardInterrupt:
        raise
    except BaseException:  # raised by a user's class, or there is no such section
        return None


@dataclass
class OperatorSummary:
    """An operator with state or saved watermarks."""

    uid: str
    name: str
    states: dict[tuple[str, str], StateSummary] = field(default_factory=dict)
    watermark: int | None = None
    """The lowest watermark of the key groups; None before the first."""

    def add(self, saved: SavedState, measured: bool) -> None:
        """Add a row of the operator. ``measured``: also count the bytes of each key."""
        if saved.table in KEYED:
            state = self._state(saved.table, saved.state)
            state.add(saved)
            if measured:
                state.measure(saved)
        elif saved.table == OPERATOR:
            (snapshot,) = decoded(saved.operator, saved.table, saved.state, saved.content)
            for kind, name, entries in _operator_states(snapshot):
                state = self._state(kind, name)
                state.entries, state.keys = state.entries + entries, None
            self._lower(snapshot["watermark"])
        elif saved.table == GATES:
            (gates,) = decoded(saved.operator, saved.table, saved.state, saved.content)
            self._lower(min(gates["inputs"], default=MIN_TIMESTAMP))

    def _state(self, kind: str, name: str) -> StateSummary:
        return self.states.setdefault((kind, name), StateSummary(kind, name))

    def _lower(self, watermark: int) -> None:
        if self.watermark is None or watermark < self.watermark:
            self.watermark = watermark


def _operator_states(snapshot: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    for function in snapshot.get("functions") or ():
        for name, (mode, values) in function["lists"].items():
            yield mode, name, len(values)
    for name, entries in (snapshot.get(BROADCAST) or {}).items():
        yield BROADCAST, name, len(entries)


@dataclass(frozen=True)
class SavepointSummary:
    path: str
    metadata: SavepointMetadata
    operators: dict[str, OperatorSummary]
    bytes: int
    largestKeys: int = 0
    """The number of keys shown for each state, those with the most bytes."""

    @classmethod
    def of(cls, directory: SavepointDirectory, largestKeys: int = 0) -> SavepointSummary:
        """The summary of the savepoint in ``directory``; its rows are not checked."""
        metadata = directory.readMetadata()
        names = metadata.names
        operators: dict[str, OperatorSummary] = {}
        for saved in directory.states():
            uid = saved.operator
            try:
                operator = operators.setdefault(uid, OperatorSummary(uid, names.get(uid, uid)))
                operator.add(saved, measured=largestKeys > 0)
            except CorruptCheckpointError:
                # A snapshot with a value whose class is missing
                continue
        size = sum(directory.sizes().values())
        return cls(directory.path, metadata, operators, size, largestKeys)

    def lines(self) -> Iterator[str]:
        fields = self.metadata.fields
        batch = fields["batch"]
        when = "before its first batch" if batch < 0 else f"after batch {batch}"
        yield f"{self.path}: the job {fields['job']!r} {when}"
        yield (
            f"format {fields['version']}, written by flinkish {fields['flinkish']}, Python"
            f" {fields['python']}; {_bytes(self.bytes)} in {len(fields['files'])} file(s)"
        )
        yield (
            f"parallelism {fields['parallelism']}, maximum {fields['maxParallelism']},"
            f" {fields['keyGroups']} key group(s)"
        )
        for uid in sorted(self.operators):
            operator = self.operators[uid]
            yield ""
            yield f"{uid}  ({operator.name}), watermark {_time(operator.watermark)}"
            for state in operator.states.values():
                yield f"    {_described(state)}"
                largest = self._largest(state)
                if largest:
                    listed = ", ".join(f"{key} {_bytes(size)}" for key, size in largest)
                    yield f"        largest keys: {listed}"
                elif largest is None:
                    yield "        largest keys: a class of its values is missing here"
        for uid, source in fields["sources"].items():
            yield ""
            yield f"{uid}  ({self.metadata.names.get(uid, uid)}), a {source['type']}"
            yield f"    goes on at {source['position'] or source['offset'] or 'no known position'}"

    def _largest(self, state: StateSummary) -> list[tuple[str, int]] | None:
        """Keys as strings, with their bytes, the largest first; None if they cannot be read."""
        if state.bytesByKey is None:
            return None
        return [(shown(key), size) for key, size in state.bytesByKey.most_common(self.largestKeys)]

    def asDict(self) -> dict[str, Any]:
        fields = self.metadata.fields
        plain = ("job", "batch", "version", "flinkish", "python", "parallelism", "maxParallelism")
        return {
            **{name: fields[name] for name in (*plain, "keyGroups", "sources")},
            "bytes": self.bytes,
            "operators": {
                uid: {
                    "name": operator.name,
                    "watermark": operator.watermark,
                    "states": [
                        _fields(state) | self._largest_fields(state)
                        for state in operator.states.values()
                    ],
                }
                for uid, operator in sorted(self.operators.items())
            },
        }

    def _largest_fields(self, state: StateSummary) -> dict[str, Any]:
        if not self.largestKeys:
            return {}
        largest = self._largest(state)
        if largest is None:
            return {"largestKeys": None}
        return {"largestKeys": [{"key": key, "bytes": size} for key, size in largest]}


def _fields(state: StateSummary) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "kind": state.kind,
        "name": state.name,
        "entries": state.entries,
        "keys": None if state.keys is None else len(state.keys),
        "bytes": state.bytes,
    }
    if state.kind == TIMERS:
        fields |= {"first": state.first, "last": state.last}
    return fields


def _described(state: StateSummary) -> str:
    keys = "" if state.keys is None else f", {len(state.keys)} keys"
    size = f", {_bytes(state.bytes)}" if state.bytes else ""
    text = f"{state.kind} {state.name}".strip() + f": {state.entries} entries{keys}{size}"
    if state.kind == TIMERS:
        text += f", due from {_time(state.first)} to {_time(state.last)}"
    return text


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _time(timestamp: int | None) -> str:
    if timestamp is None or timestamp == MIN_TIMESTAMP:
        return "none"
    if timestamp == MAX_TIMESTAMP:
        return "the end of the input"
    try:
        shown = datetime.fromtimestamp(timestamp / 1000, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return str(timestamp)
    return f"{timestamp} ({shown.removesuffix('+00:00')}Z)"
