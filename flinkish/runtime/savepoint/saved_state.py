"""``SavedState``: a part of an operator's state in a savepoint, with at most a few thousand
entries.

Its content is an envelope like that of a page (``page_codec``): a header in JSON, then a pickle
each for keys, namespaces and values. So a tool can list the keys without the classes of the values.
If a part goes to one key group as a whole, redistribution reads only its keys.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa

from flinkish.runtime.state.page_codec import PageCodec

VALUES, MAPS, WINDOWS, TIMERS = "values", "maps", "windows", "timers"
"""Tables in which each entry has a key and a namespace."""

COLUMNS, ROWS = "columns", "rows"
"""Tables of Arrow rows, in which the keys are a column."""

OPERATOR, VALVE, GATES = "operator", "valve", "gates"
"""State beside keyed state: watermarks, broadcast state, lists of functions."""

TASK = "task"
"""These three for all operators of one task. A savepoint does not contain it: it is put together
when a job starts from the savepoint."""

SEPARATOR = "|"
"""Separates the columns of a row before its content when the checksum is computed."""

KEYED = (VALUES, MAPS, WINDOWS, TIMERS, COLUMNS, ROWS)

SECTIONS = {
    VALUES: ("keys", "namespaces", "values"),
    MAPS: ("keys", "namespaces", "values"),
    WINDOWS: ("keys", "namespaces", "values"),
    TIMERS: ("keys", "namespaces", "timestamps"),
    COLUMNS: ("namespaces", "rows"),
    ROWS: ("rows",),
    OPERATOR: ("snapshot",),
    VALVE: ("snapshot",),
    GATES: ("snapshot",),
    TASK: ("chain", "gates"),
}

MOST_ENTRIES = 2_000
MOST_BYTES = 1 << 20


class SavedState(NamedTuple):
    """A row of a savepoint: a part of one state of one operator."""

    operator: str
    """The uid of the operator."""
    table: str
    """The kind of state: one of the names above."""
    state: str
    """The name of the state."""
    keyGroup: int
    """The key group that the part was in when it was saved."""
    entries: int
    content: bytes

    @property
    def checksum(self) -> int:
        """The CRC 32 of the whole row."""
        *names, content = self
        return zlib.crc32(content, zlib.crc32(SEPARATOR.join(map(str, names)).encode()))


SCHEMA = pa.schema(
    [
        ("operator", pa.string()),
        ("table", pa.string()),
        ("state", pa.string()),
        ("keyGroup", pa.int32()),
        ("entries", pa.int64()),
        ("content", pa.binary()),
        ("checksum", pa.int64()),
    ]
)
"""The columns of a savepoint's files."""


def arrow_batch(states: Sequence[SavedState]) -> pa.RecordBatch:
    columns = [*zip(*states), tuple(state.checksum for state in states)]
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, SCHEMA)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def saved_states(batch: pa.RecordBatch) -> Iterator[SavedState]:
    """The rows of a savepoint in an Arrow batch. Their checksums are not compared."""
    columns = [batch.column(name).to_pylist() for name in SavedState._fields]
    return map(SavedState._make, zip(*columns))


def encoded(operator: str, table: str, state: str, parts: Sequence[Any]) -> bytes:
    return PageCodec(operator, table, state).encode(SECTIONS[table], parts)


def decoded(operator: str, table: str, state: str, content: bytes) -> list[Any]:
    """The sections that ``encoded`` encoded."""
    return PageCodec(operator, table, state).decode(content)


def in_parts(
    operator: str, table: str, state: str, keyGroup: int, entries: Iterable[tuple[Any, ...]]
) -> Iterator[SavedState]:
    """``entries``, of one value a section, in parts of ``MOST_ENTRIES`` or about a megabyte."""
    left = iter(entries)
    while part := list(islice(left, MOST_ENTRIES)):
        yield from _halved(operator, table, state, keyGroup, part)


def _halved(
    operator: str, table: str, state: str, keyGroup: int, part: list[tuple[Any, ...]]
) -> Iterator[SavedState]:
    content = encoded(operator, table, state, [list(section) for section in zip(*part)])
    if len(content) > MOST_BYTES and len(part) > 1:
        half = len(part) // 2
        yield from _halved(operator, table, state, keyGroup, part[:half])
        yield from _halved(operator, table, state, keyGroup, part[half:])
    else:
        yield SavedState(operator, table, state, keyGroup, len(part), content)
