"""The databases of a ``JdbcSink``: how they begin, insert rows, and note written batches."""

from __future__ import annotations

import importlib
import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from typing import Any, ClassVar, NamedTuple

from flinkish.api.connectors.jdbc_sink import JdbcConnectionOptions, postgresql_parameters
from flinkish.api.errors import NotSupportedError

WRITERS = "flinkish_writers"
"""The table with the last batch by job, sink and writer."""

_PARTS = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|\?|%", re.DOTALL)

_NAME = r"(?:[A-Za-z_]\w*|\"(?:[^\"]|\"\")+\")"
_PLAIN_INSERT = re.compile(
    rf"\s*INSERT\s+INTO\s+({_NAME}(?:\.{_NAME})?)\s*(?:\(\s*({_NAME}(?:\s*,\s*{_NAME})*)\s*\))?"
    r"\s*VALUES\s*\(\s*\?(?:\s*,\s*\?)*\s*\)\s*;?\s*",
    re.IGNORECASE,
)

_UNLESS_WRITTEN = (
    " ON CONFLICT (job, sink, writer) DO UPDATE SET batch = excluded.batch"
    f" WHERE {WRITERS}.batch < excluded.batch"
)

_COLUMNS = """
SELECT a.attname, a.atttypid FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE c.oid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped AND a.attidentity <> 'a' AND a.attgenerated = ''
AND c.relkind IN ('r', 'p') AND NOT c.relhasrules AND NOT c.relrowsecurity
AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal)
ORDER BY a.attnum
"""
"""The columns of a table without rules, policies or triggers: ``COPY`` is like ``INSERT``."""


class SinkId(NamedTuple):
    """A sink in a database. ``job`` outlives runs from checkpoints; ``sink`` is the uid."""

    job: str
    sink: str


def parameters_of(sql: str) -> int:
    """Return the number of ``?`` placeholders in a statement."""
    return sum(part == "?" for part in _PARTS.findall(sql))


class Database(ABC):
    """A kind of database, with an open connection."""

    connection: Any
    errors: type[Exception]

    @abstractmethod
    def begin(self) -> None:
        """Begin a transaction."""

    def create(self) -> None:
        """Create the table of writers if there is none."""
        self.connection.execute(
            f"CREATE TABLE IF NOT EXISTS {WRITERS} (job VARCHAR(64) NOT NULL, sink VARCHAR(255) NOT NULL,"
            " writer VARCHAR(64) NOT NULL, batch BIGINT NOT NULL, PRIMARY KEY (job, sink, writer))"
        )

    @abstractmethod
    def claimed(self, sink: SinkId, writers: Sequence[str], batchId: int) -> set[str]:
        """Note in the transaction that ``writers`` write a batch, and return them without those
        that have written it, or a later one, before. If another open transaction has noted a
        writer, wait for its end."""

    def insert(self, sql: str, rows: Sequence[Sequence[Any]], size: int) -> None:
        """Execute a statement for each of ``rows``, ``size`` rows at a time."""
        cursor = self.connection.cursor()
        for start in range(0, len(rows), size):
            cursor.executemany(sql, rows[start : start + size])

    def isTransient(self, error: BaseException) -> bool:
        """Whether the same transaction may succeed if it is tried again."""
        return False

    def roll_back(self) -> None:
        """End the transaction without its changes."""
        # If the connection is gone, so is the transaction
        with suppress(self.errors):
            self.connection.execute("ROLLBACK")


class Sqlite(Database):
    """SQLite, which comes with Python."""

    errors = sqlite3.Error

    def __init__(self, options: JdbcConnectionOptions) -> None:
        path = options.url.removeprefix("jdbc:sqlite:")
        # Spark may write each batch in another thread
        self.connection = sqlite3.connect(
            path, timeout=60, isolation_level=None, check_same_thread=False
        )

    def begin(self) -> None:
        self.connection.execute("BEGIN IMMEDIATE")

    def claimed(self, sink: SinkId, writers: Sequence[str], batchId: int) -> set[str]:
        claim = f"INSERT INTO {WRITERS} VALUES (?, ?, ?, ?){_UNLESS_WRITTEN}"
        execute = self.connection.execute
        return {w for w in writers if execute(claim, (*sink, w, batchId)).rowcount > 0}


class Postgresql(Database):
    """PostgreSQL, by psycopg: rows come by ``COPY`` if that stores what the statement does."""

    FEWEST_COPIED: ClassVar[int] = 100
    """For fewer rows, looking up the columns of the table takes longer than ``COPY`` saves."""

    def __init__(self, options: JdbcConnectionOptions) -> None:
        try:
            psycopg = importlib.import_module("psycopg")
        except ImportError as error:
            raise NotSupportedError(
                f"JdbcSink: PostgreSQL needs the package psycopg, which this Python does not have ({error}):"
                " pip install 'flinkish[postgresql]'."
            ) from None
        self.errors = psycopg.Error
        self._transient = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)
        self.connection = psycopg.connect(**postgresql_parameters(options), autocommit=True)
        # A worker that hangs in a transaction must not prevent the next run from writing
        self.connection.execute("SET idle_in_transaction_session_timeout = '60s'")

    def begin(self) -> None:
        # So a transaction that has waited for another one sees what that has committed
        self.connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")

    def claimed(self, sink: SinkId, writers: Sequence[str], batchId: int) -> set[str]:
        claim = f"INSERT INTO {WRITERS} SELECT %s, %s, unnest(%s::varchar[]), %s{_UNLESS_WRITTEN}"
        # Always in the same order, so that no two runs wait for each other
        values = *sink, sorted(writers), batchId
        found = self.connection.execute(f"{claim} RETURNING writer", values)
        return {writer for (writer,) in found.fetchall()}

    def insert(self, sql: str, rows: Sequence[Sequence[Any]], size: int) -> None:
        target = self._target(sql) if len(rows) >= self.FEWEST_COPIED else None
        if target is None or not target.takes(rows):
            super().insert(statement(sql), rows, size)
            return
        with self.connection.cursor().copy(target.command) as copy:
            for row in rows:
                copy.write_row(row)

    def isTransient(self, error: BaseException) -> bool:
        return isinstance(error, self._transient)

    def _target(self, sql: str) -> CopyTarget | None:
        """The ``COPY`` that stores the same rows as ``sql``; None if there is none."""
        found = _PLAIN_INSERT.fullmatch(sql)
        if found is None:
            return None
        table, names = found.groups()
        columns = dict(self.connection.execute(_COLUMNS, (table,)).fetchall())
        given = list(columns)[: parameters_of(sql)]
        if names is not None:
            given = [_plain(name) for name in re.findall(_NAME, names)]
        kinds = [_COPIED.get(columns.get(name, 0)) for name in given]
        if len(given) != parameters_of(sql) or None in kinds:
            return None
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in given)
        return CopyTarget(f"COPY {table} ({quoted}) FROM STDIN", [k for k in kinds if k])


def statement(sql: str) -> str:
    """``sql`` with psycopg's markers in place of ``?``."""
    written = {"?": "%s", "%": "%%"}
    return _PARTS.sub(lambda part: written.get(part[0], part[0].replace("%", "%%")), sql)


_NAIVE, _AWARE = "a datetime without a zone", "a datetime with a zone"

_COPIED: dict[int, frozenset[object]] = {
    oid: frozenset((*kinds, type(None)))
    for oids, *kinds in (
        ((20, 21, 23), int),  # bigint, smallint, integer
        ((1700,), int, Decimal),  # numeric
        ((701,), float),  # double precision
        ((16,), bool),
        ((25, 1043), str),  # text, varchar
        ((17,), bytes),  # bytea
        ((1082,), date),
        ((1114,), _NAIVE),  # timestamp
        ((1184,), _AWARE),  # timestamptz
    )
    for oid in oids
}
"""The kinds of values that ``COPY`` and ``INSERT`` store in the same way, or both refuse, by the
type of the column. ``INSERT`` casts other values: for an integer column it rounds 1.5, which
``COPY`` refuses."""


class CopyTarget(NamedTuple):
    """A ``COPY`` in place of an ``INSERT``, and the kinds of values that each column accepts."""

    command: str
    kinds: Sequence[frozenset[object]]

    def takes(self, rows: Sequence[Sequence[Any]]) -> bool:
        """Whether all values in ``rows`` are of these kinds."""
        return all(kinds >= _kinds(column) for kinds, column in zip(self.kinds, zip(*rows)))


def _kinds(column: Sequence[Any]) -> set[object]:
    kinds: set[object] = set(map(type, column))
    if datetime in kinds:
        times = (value for value in column if type(value) is datetime)
        kinds = kinds - {datetime} | {_AWARE if value.tzinfo else _NAIVE for value in times}
    return kinds


def _plain(name: str) -> str:
    """A name in SQL, spelt as in the catalogue."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()
