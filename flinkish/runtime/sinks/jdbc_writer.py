"""``JdbcWriter``: writes the batches of a ``JdbcSink``, on the driver."""

from __future__ import annotations

import importlib
import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from flinkish.api.connectors.jdbc_sink import (
    JdbcConnectionOptions,
    JdbcSink,
    PreparedStatement,
    postgresql_parameters,
)
from flinkish.api.connectors.urls import shown_url
from flinkish.api.errors import JobExecutionError, NotSupportedError
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.user_code import user_code_of
from flinkish.runtime.sinks.batch_writer import BatchWriter, SendCounts

BATCHES = "flinkish_batches"
"""The table with the last batch of each sink of each job."""

_PARTS = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|\?|%", re.DOTALL)


class Database(ABC):
    """A kind of database, with an open connection to one."""

    marker: str
    """What stands for a value in a statement."""
    connection: Any
    errors: type[Exception]

    @abstractmethod
    def begin(self) -> None:
        """Begin a transaction that no other writer of the same batch runs beside."""

    def statement(self, sql: str) -> str:
        """``sql`` with the markers of the database in place of ``?``."""
        return sql


class Sqlite(Database):
    """SQLite, which comes with Python."""

    marker = "?"
    errors = sqlite3.Error

    def __init__(self, options: JdbcConnectionOptions) -> None:
        path = options.url.removeprefix("jdbc:sqlite:")
        # Batches come in threads of Spark's
        self.connection = sqlite3.connect(
            path, timeout=60, isolation_level=None, check_same_thread=False
        )

    def begin(self) -> None:
        self.connection.execute("BEGIN IMMEDIATE")


class Postgresql(Database):
    """PostgreSQL, by psycopg."""

    marker = "%s"

    def __init__(self, options: JdbcConnectionOptions) -> None:
        try:
            psycopg = importlib.import_module("psycopg")
        except ImportError as error:
            raise NotSupportedError(
                f"JdbcSink: PostgreSQL needs the package psycopg, which this Python does not have ({error}):"
                " pip install 'flinkish[postgresql]'."
            ) from None
        self.errors = psycopg.Error
        self.connection = psycopg.connect(**postgresql_parameters(options), autocommit=True)

    def begin(self) -> None:
        self.connection.execute("BEGIN")
        # Another run of the same job waits here, and then sees what this one has written
        self.connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (BATCHES,))

    def statement(self, sql: str) -> str:
        written = {"?": "%s", "%": "%%"}
        return _PARTS.sub(lambda part: written.get(part[0], part[0].replace("%", "%%")), sql)


class JdbcWriter(BatchWriter):
    """Writes the batches of a sink. ``name`` is that of the sink in errors, ``uid`` the same in all runs of
    the job; ``job`` is the same for all runs that go on from a checkpoint."""

    def __init__(self, sink: JdbcSink[Any], name: str, job: str, uid: str) -> None:
        self._sink = sink
        self._name = name
        self._key = job, uid
        self._count = sum(part == "?" for part in _PARTS.findall(sink.sql))
        url = sink.connectionOptions.url
        kind = Sqlite if url.startswith("jdbc:sqlite:") else Postgresql
        try:
            self._database = kind(sink.connectionOptions)
            if sink.exactlyOnce:
                self._execute(
                    f"CREATE TABLE IF NOT EXISTS {BATCHES} (job VARCHAR(64) NOT NULL,"
                    " sink VARCHAR(255) NOT NULL, batch BIGINT NOT NULL, PRIMARY KEY (job, sink))"
                )
        except NotSupportedError:
            raise
        except Exception as error:
            raise JobExecutionError(
                f"{name}: the database at {shown_url(url)} cannot be opened: {str(error).strip()}."
                " Start it, or fix the JdbcConnectionOptions."
            ) from None

    def write(self, runs: Iterable[Records], batchId: int) -> SendCounts:
        rows = self._rows(runs)
        database = self._database
        sent = 0
        statement = database.statement(self._sink.sql)
        try:
            database.begin()
            try:
                if not self._sink.exactlyOnce or self._is_next(batchId):
                    size = self._sink.executionOptions.batchSize
                    cursor = database.connection.cursor()
                    for start in range(0, len(rows), size):
                        cursor.executemany(statement, rows[start : start + size])
                    sent = len(rows)
                    if self._sink.exactlyOnce:
                        self._note(batchId)
                database.connection.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise
        except database.errors as error:
            raise JobExecutionError(
                f"{self._name}: the database refuses batch {batchId} of {self._sink.sql!r}:"
                f" {str(error).strip()}. Nothing of the batch is written."
            ) from None
        return SendCounts(len(rows), sent)

    def close(self) -> None:
        self._database.connection.close()

    def _rows(self, runs: Iterable[Records]) -> list[list[Any]]:
        """The values of the statement for each element."""
        build, count = self._sink.statementBuilder, self._count
        rows: list[list[Any]] = []
        element: Any = None
        with user_code_of(self._name, lambda: element):
            for run in runs:
                for element in run.values:
                    statement = PreparedStatement(count)
                    build(statement, element)
                    rows.append(statement.values)
        return rows

    def _is_next(self, batchId: int) -> bool:
        found = self._execute(
            f"SELECT batch FROM {BATCHES} WHERE job = ? AND sink = ?", self._key
        ).fetchone()
        return found is None or found[0] < batchId

    def _note(self, batchId: int) -> None:
        self._execute(
            f"INSERT INTO {BATCHES} VALUES (?, ?, ?)"
            " ON CONFLICT (job, sink) DO UPDATE SET batch = excluded.batch",
            (*self._key, batchId),
        )

    def _execute(self, sql: str, values: Sequence[Any] = ()) -> Any:
        return self._database.connection.execute(sql.replace("?", self._database.marker), values)

    def _roll_back(self) -> None:
        # If the connection is gone, so is the transaction
        with suppress(self._database.errors):
            self._database.connection.execute("ROLLBACK")
