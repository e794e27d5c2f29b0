"""Databases for tests: a temporary PostgreSQL server, and a table in it or in a file of
SQLite's."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from flinkish import JdbcConnectionOptions, JdbcSink, PreparedStatement
from flinkish.runtime.sinks.databases import WRITERS
from flinkish.runtime.sinks.jdbc_writer import JdbcWriter

INSERT = "INSERT INTO totals VALUES (?, ?)"
UPSERT = f"{INSERT} ON CONFLICT (name) DO UPDATE SET amount = excluded.amount"


def pair(statement: PreparedStatement, element: tuple[str, int]) -> None:
    statement.setString(1, element[0])
    statement.setLong(2, element[1])


class Tables:
    """A database with an empty table ``totals(name, amount)``."""

    def __init__(self, options: JdbcConnectionOptions, connect: Callable[[], Any]) -> None:
        self.options = options
        self.connect = connect
        self.run("DROP TABLE IF EXISTS totals")
        self.run(f"DROP TABLE IF EXISTS {WRITERS}")
        self.run("CREATE TABLE totals (name VARCHAR(20) PRIMARY KEY, amount BIGINT)")

    def run(self, sql: str) -> list[Any]:
        with closing(self.connect()) as connection:
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
        return JdbcWriter(sink, "Writer", job, "sink").prepared()


Server = tuple[JdbcConnectionOptions, Callable[[], Any]]


@contextmanager
def postgresql_server() -> Iterator[Server]:
    """A temporary server on a free port. It refuses to be root's."""
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
