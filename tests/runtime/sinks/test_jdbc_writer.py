"""``JdbcSink`` against SQLite, and against PostgreSQL where a server is installed."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from flinkish import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
    PreparedStatement,
    StreamExecutionEnvironment,
)
from flinkish.api.errors import (
    FlinkishError,
    IllegalArgumentError,
    JobExecutionError,
    NotSupportedError,
    UserFunctionError,
)
from flinkish.runtime.records.records import untimed
from flinkish.runtime.sinks.jdbc_writer import JdbcWriter, Postgresql

INSERT = "INSERT INTO totals VALUES (?, ?)"
UPSERT = f"{INSERT} ON CONFLICT (name) DO UPDATE SET amount = excluded.amount"


def pair(statement: PreparedStatement, element: tuple[str, int]) -> None:
    statement.setString(1, element[0])
    statement.setLong(2, element[1])


class Tables:
    """A database with an empty table ``totals(name, amount)``."""

    def __init__(self, options: JdbcConnectionOptions, connect: Callable[[], Any]) -> None:
        self.options = options
        self._connect = connect
        self.run("DROP TABLE IF EXISTS totals")
        self.run("DROP TABLE IF EXISTS flinkish_batches")
        self.run("CREATE TABLE totals (name VARCHAR(20) PRIMARY KEY, amount BIGINT)")

    def run(self, sql: str) -> list[Any]:
        with closing(self._connect()) as connection:
            cursor = connection.execute(sql)
            rows = cursor.fetchall() if cursor.description else []
            connection.commit()
            return rows

    @property
    def rows(self) -> list[Any]:
        return sorted(self.run("SELECT * FROM totals"))

    def writer(self, sql: str = INSERT, job: str = "job", once: bool = True) -> JdbcWriter:
        builder = JdbcSink.builder().withQueryStatement(sql, pair)
        sink = (builder.buildExactlyOnce if once else builder.buildAtLeastOnce)(self.options)
        return JdbcWriter(sink, "Writer", job, "sink")


@pytest.fixture(scope="module")
def postgresql() -> Iterator[tuple[JdbcConnectionOptions, Callable[[], Any]]]:
    """A server of its own, on a free port, that does not last. It refuses to be root's."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not found or find_spec("psycopg") is None:
        reason = "it needs a PostgreSQL server and psycopg: make test-kafka installs both"
        assert "FLINKISH_TEST_SERVERS" not in os.environ, reason
        pytest.skip(reason)
    psycopg = import_module("psycopg")

    binaries = found[-1].parent
    directory = Path(tempfile.mkdtemp(prefix="flinkish-postgresql-"))
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    shutil.chown(directory, user)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    data = directory / "data"

    def as_user(*command: str) -> None:
        subprocess.run(
            command, user=user, cwd=directory, check=True, stdout=subprocess.DEVNULL, timeout=60
        )

    as_user(str(binaries / "initdb"), "-A", "trust", "-U", "postgres", "-N", "-D", str(data))
    settings = f"-p {port} -k {directory} -c fsync=off -c listen_addresses=127.0.0.1"
    control = str(binaries / "pg_ctl")
    log = str(directory / "log")
    as_user(control, "-D", str(data), "-o", settings, "-l", log, "-w", "start")
    try:
        url = f"jdbc:postgresql://127.0.0.1:{port}/postgres"
        address = f"host=127.0.0.1 port={port} dbname=postgres user=postgres"
        yield JdbcConnectionOptions(url, "postgres"), lambda: psycopg.connect(address)
    finally:
        as_user(control, "-D", str(data), "-m", "immediate", "stop")
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> Tables:
    if request.param == "postgresql":
        return Tables(*request.getfixturevalue("postgresql"))
    file = tmp_path / "test.db"
    return Tables(JdbcConnectionOptions(f"jdbc:sqlite:{file}"), lambda: sqlite3.connect(file))


def write(writer: JdbcWriter, batch: int, *elements: tuple[str, int]) -> None:
    writer.write([untimed(list(elements))], batch)


def test_a_job_writes_rows(tables: Tables) -> None:
    local = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    options = JdbcExecutionOptions.builder().withBatchSize(2).build()
    builder = JdbcSink.builder().withQueryStatement(INSERT, pair).withExecutionOptions(options)
    elements = [("a", 1), ("b", 2), ("c", 3)]
    local.fromCollection(elements).sinkTo(builder.buildExactlyOnce(tables.options))
    local.execute()
    assert tables.rows == elements


def test_a_batch_that_comes_again_is_known(tables: Tables) -> None:
    write(tables.writer(), 0, ("a", 1))
    second = tables.writer()
    write(second, 0, ("a", 1))
    write(second, 1, ("b", 2))
    assert tables.rows == [("a", 1), ("b", 2)]


def test_another_job_begins_at_its_first_batch(tables: Tables) -> None:
    write(tables.writer(), 5, ("a", 1))
    write(tables.writer(job="another checkpoint"), 0, ("b", 2))
    assert tables.rows == [("a", 1), ("b", 2)]


def test_upserts(tables: Tables) -> None:
    writer = tables.writer(UPSERT, once=False)
    write(writer, 0, ("a", 1), ("a", 2))
    write(writer, 0, ("a", 1), ("a", 3))
    assert tables.rows == [("a", 3)]


def test_a_batch_that_is_refused_leaves_nothing(tables: Tables) -> None:
    writer = tables.writer()
    with pytest.raises(JobExecutionError, match="the database refuses batch 0 of 'INSERT"):
        write(writer, 0, ("a", 1), ("a", 2))
    assert tables.rows == []
    write(writer, 0, ("a", 1))
    assert tables.rows == [("a", 1)]


def test_an_error_of_a_function_names_the_element(tables: Tables) -> None:
    with pytest.raises(UserFunctionError, match=r"\('x',\)"):
        write(tables.writer(), 0, ("x",))  # type: ignore[arg-type]


KILLED = """
import os, signal, sys
from tests.runtime.sinks.test_jdbc_writer import *
url, user, moment = sys.argv[1:]
builder = JdbcSink.builder().withQueryStatement(INSERT, pair)
writer = JdbcWriter(
    builder.buildExactlyOnce(JdbcConnectionOptions(url, user or None)), "Writer", "job", "sink")
if moment == "before":
    writer._note = lambda batch: os.kill(os.getpid(), signal.SIGKILL)
write(writer, 0, ("a", 1))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_nothing_is_lost_or_doubled_by_kills(tables: Tables, moment: str) -> None:
    options = tables.options
    arguments = [options.url, options.username or "", moment]
    done = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False)
    assert done.returncode == -9
    assert tables.rows == ([] if moment == "before" else [("a", 1)])
    write(tables.writer(), 0, ("a", 1))
    assert tables.rows == [("a", 1)]


def test_markers_are_those_of_the_database() -> None:
    sql = """INSERT INTO "a?" VALUES (?, '?''%', ?) -- what?"""
    expected = """INSERT INTO "a?" VALUES (%s, '?''%%', %s) -- what?"""
    assert Postgresql.statement(None, sql) == expected  # type: ignore[arg-type]


def test_what_will_not_do() -> None:
    with pytest.raises(NotSupportedError, match="PostgreSQL and SQLite"):
        JdbcConnectionOptions("jdbc:mysql://localhost/shop")
    with pytest.raises(IllegalArgumentError, match="no JDBC URL"):
        JdbcConnectionOptions("postgresql://localhost/shop")
    with pytest.raises(IllegalArgumentError, match="withUrl"):
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder().build()
    with pytest.raises(IllegalArgumentError, match="withQueryStatement"):
        JdbcSink.builder().buildExactlyOnce(JdbcConnectionOptions("jdbc:sqlite:x"))
    with pytest.raises(FlinkishError, match="counted from 1"):
        PreparedStatement(1).setInt(0, 5)
    nowhere = JdbcConnectionOptions("jdbc:sqlite:/no/such/directory/db")
    sink = JdbcSink.builder().withQueryStatement(INSERT, pair).buildExactlyOnce(nowhere)
    with pytest.raises(JobExecutionError, match="cannot be opened"):
        JdbcWriter(sink, "Writer", "job", "sink")


def test_no_password_is_shown() -> None:
    with pytest.raises(NotSupportedError) as refused:
        JdbcConnectionOptions("jdbc:mysql://localhost/shop?password=hunter2")
    assert "hunter2" not in str(refused.value)
    url = "jdbc:postgresql://127.0.0.1:1/shop?password=hunter2"
    options = JdbcConnectionOptions(url, "ann", "hunter2")
    sink = JdbcSink.builder().withQueryStatement(INSERT, pair).buildExactlyOnce(options)
    assert "hunter2" not in repr(options) + repr(sink)


def test_a_database_that_is_away_is_named_without_its_password() -> None:
    pytest.importorskip("psycopg", reason="pip install 'flinkish[postgresql]'")
    options = JdbcConnectionOptions("jdbc:postgresql://127.0.0.1:1/shop?password=hunter2")
    sink = JdbcSink.builder().withQueryStatement(INSERT, pair).buildExactlyOnce(options)
    with pytest.raises(JobExecutionError, match=r"127\.0\.0\.1:1/shop cannot be opened") as away:
        JdbcWriter(sink, "Writer", "job", "sink")
    assert "hunter2" not in str(away.value)
