"""``JdbcWriter``: writes batches of a ``JdbcSink``, or a task's parts, to a database."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from typing import Any

from flinkish.api.connectors.jdbc_sink import JdbcSink, PreparedStatement
from flinkish.api.connectors.urls import shown_url
from flinkish.api.errors import JobExecutionError, NotSupportedError, shown
from flinkish.api.time.durations import fits_long
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.user_code import user_code_of
from flinkish.runtime.sinks.batch_writer import BatchWriter, SendCounts
from flinkish.runtime.sinks.databases import Database, Postgresql, SinkId, Sqlite, parameters_of

ONLY_WRITER = ""
"""The name of the writer of a batch that is written as a whole."""

_PAUSE = 0.1
"""The pause before a transaction's second try, in seconds; for each more it grows."""

_UNFIT = (OverflowError, ValueError, TypeError)
"""Exceptions that a driver raises for a value that it cannot send."""

Rows = list[list[Any]]


class JdbcWriter(BatchWriter):
    """Writes the batches of a sink, each in one transaction. ``name`` is the name of the sink in
    errors. ``uid`` is the same in all runs of the job, and ``job`` in all runs that continue from a
    checkpoint."""

    def __init__(self, sink: JdbcSink[Any], name: str, job: str, uid: str) -> None:
        self._sink = sink
        self._name = name
        self._id = SinkId(job, uid)
        self._count = parameters_of(sink.sql)
        self._database = self._connected()

    def prepared(self) -> JdbcWriter:
        """This writer, after creating the table that exactly-once delivery needs."""
        if self._sink.exactlyOnce:
            try:
                self._database.create()
            except self._database.errors as error:
                raise self._not_opened(error) from None
        return self

    def write(self, runs: Iterable[Records], batchId: int) -> SendCounts:
        return self.writeParts({ONLY_WRITER: runs}.items(), batchId)

    def writeParts(
        self, parts: Iterable[tuple[str, Iterable[Records]]], batchId: int
    ) -> SendCounts:
        """Write parts of a batch by their writers. A part has the same elements in every run of the
        batch. A part that an earlier run has written is skipped."""
        rows: dict[str, Rows] = {}
        for writer, runs in parts:
            rows.setdefault(writer, []).extend(self._rows(runs))
        sent, tries = None, 0
        while sent is None:
            try:
                sent = self._written(rows, batchId)
            except (self._database.errors, *_UNFIT) as error:
                tries += 1
                if tries > self._sink.executionOptions.maxRetries or not self._database.isTransient(
                    error
                ):
                    raise JobExecutionError(
                        f"{self._name}: the database refuses batch {batchId} of {self._sink.sql!r}:"
                        f" {str(error).strip()}.{_unfit_row(rows, error)} Nothing of the batch is written."
                    ) from None
                time.sleep(_PAUSE * tries)
        return SendCounts(sum(map(len, rows.values())), sent)

    def close(self) -> None:
        self._database.connection.close()

    def _written(self, rows: Mapping[str, Rows], batchId: int) -> int:
        """Write the parts not written yet in one transaction; returns the number of elements."""
        database = self._begun()
        try:
            writers = list(rows)
            if self._sink.exactlyOnce:
                claimed = database.claimed(self._id, writers, batchId)
                writers = [writer for writer in writers if writer in claimed]
            wanted = [row for writer in writers for row in rows[writer]]
            if wanted:
                size = self._sink.executionOptions.batchSize
                database.insert(self._sink.sql, wanted, size)
            database.connection.execute("COMMIT")
        except BaseException:
            database.roll_back()
            raise
        return len(wanted)

    def _begun(self) -> Database:
        try:
            self._database.begin()
        except self._database.errors:
            # The server may have closed an idle connection
            self.close()
            self._database = self._connected()
            self._database.begin()
        return self._database

    def _rows(self, runs: Iterable[Records]) -> Rows:
        """The values of the statement for each element."""
        build, count = self._sink.statementBuilder, self._count
        rows: Rows = []
        element: Any = None
        with user_code_of(self._name, lambda: element):
            for run in runs:
                for element in run.values:
                    statement = PreparedStatement(count)
                    build(statement, element)
                    rows.append(statement.values)
        return rows

    def _connected(self) -> Database:
        options = self._sink.connectionOptions
        try:
            return Sqlite(options) if options.isSqlite else Postgresql(options)
        except NotSupportedError:
            raise
        except Exception as error:
            raise self._not_opened(error) from None

    def _not_opened(self, error: Exception) -> JobExecutionError:
        url = shown_url(self._sink.connectionOptions.url)
        return JobExecutionError(
            f"{self._name}: the database at {url} cannot be opened: {str(error).strip()}."
            " Start it, or fix the JdbcConnectionOptions."
        )


def _unfit_row(rows: Mapping[str, Rows], error: Exception) -> str:
    """A sentence on the first row with a value that no driver sends: an int of more than 64 bits, or
    half a surrogate pair; empty if there is none."""
    if not isinstance(error, _UNFIT):
        return ""
    for row in (row for part in rows.values() for row in part):
        for position, value in enumerate(row, 1):
            if isinstance(value, int) and not fits_long(value):
                fix = "Send it as a text or a Decimal."
            elif isinstance(value, str) and _HALF_A_PAIR.search(value):
                fix = "Clean the text, as by text.encode('utf-8', 'replace').decode()."
            else:
                continue
            return f" Its parameter {position} is {shown(value)}, in the row {shown(tuple(row))}. {fix}"
    return ""


_HALF_A_PAIR = re.compile("[\ud800-\udfff]")
