"""``JdbcSink`` against SQLite, and against PostgreSQL where a server is installed."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
from flinkish.runtime.sinks.batch_writer import SendCounts
from flinkish.runtime.sinks.databases import CopyTarget, Postgresql, Sqlite, statement
from flinkish.runtime.sinks.jdbc_writer import JdbcWriter
from tests.databases import INSERT, UPSERT, Server, Tables, pair, postgresql_server

pytestmark = pytest.mark.slow("starts PostgreSQL")


@pytest.fixture(scope="module")
def postgresql() -> Iterator[Server]:
    with postgresql_server() as server:
        yield server


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


@pytest.mark.parametrize(
    ("element", "said"),
    [
        (
            ("a", 2**63),
            r"parameter 2 is 9223372036854775808, in the row \('a', 9223372036854775808\)",
        ),
        (("\ud800", 1), r"parameter 1 is '\\ud800', in the row \('\\ud800', 1\). Clean the text"),
    ],
)
def test_a_value_that_a_driver_cannot_send_is_named(
    tables: Tables, element: tuple[str, int], said: str
) -> None:
    writer = tables.writer()
    with pytest.raises(JobExecutionError, match="refuses batch 3 of 'INSERT") as raised:
        write(writer, 3, ("b", 1), element)
    # PostgreSQL itself refuses the number, for the column's type
    if isinstance(writer._database, Sqlite) or element[1] == 1:
        assert re.search(said, str(raised.value))
    assert tables.rows == []
    write(writer, 3, ("a", 1))
    assert tables.rows == [("a", 1)]


def test_an_error_of_a_function_names_the_element(tables: Tables) -> None:
    with pytest.raises(UserFunctionError, match=r"\('x',\)"):
        write(tables.writer(), 0, ("x",))  # type: ignore[arg-type]


KILLED = """
import os, signal, sys
from flinkish import JdbcConnectionOptions
from tests.databases import *
from tests.runtime.sinks.test_jdbc_writer import write
url, user, moment = sys.argv[1:]
builder = JdbcSink.builder().withQueryStatement(INSERT, pair)
sink = builder.buildExactlyOnce(JdbcConnectionOptions(url, user or None))
writer = JdbcWriter(sink, "Writer", "job", "sink").prepared()
kill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
if moment == "before":
    writer._database.insert = kill
write(writer, 0, ("a", 1))
kill()
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


def write_parts(writer: JdbcWriter, batch: int, **parts: tuple[str, int]) -> SendCounts:
    return writer.writeParts([(n, [untimed([e])]) for n, e in parts.items()], batch)


def test_parts_that_come_again_are_known_in_any_number_of_tasks(tables: Tables) -> None:
    write_parts(tables.writer(), 7, first=("a", 1), second=("b", 2))
    # The task of the other parts died; after a rescale one task has all of them
    assert write_parts(
        tables.writer(), 7, first=("a", 1), second=("b", 2), third=("c", 3), fourth=("d", 4)
    ) == SendCounts(4, 2)
    assert tables.rows == [("a", 1), ("b", 2), ("c", 3), ("d", 4)]
    assert write_parts(tables.writer(), 6, first=("late", 1)) == SendCounts(1, 0)
    assert write_parts(tables.writer(), 8, first=("e", 5)) == SendCounts(1, 1)


def test_who_writes_a_batch_at_the_same_time_waits_and_writes_nothing(postgresql: Server) -> None:
    tables = Tables(*postgresql)
    first, second = tables.writer(), tables.writer()
    first._database.begin()
    assert first._database.claimed(first._id, ["0-1"], 3) == {"0-1"}
    counts: list[SendCounts] = []
    elements = [("0-1", [untimed([("a", 1)])])]
    waiting = threading.Thread(target=lambda: counts.append(second.writeParts(elements, 3)))
    waiting.start()
    locks = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    while tables.run(locks) != [(1,)]:
        assert waiting.is_alive()
    first._database.connection.execute("COMMIT")
    waiting.join(30)
    assert counts == [SendCounts(1, 0)]
    assert tables.rows == []


def test_a_deadlock_is_tried_again(postgresql: Server) -> None:
    tables = Tables(*postgresql)
    writer = tables.writer(UPSERT)
    write(writer, 0, ("a", 0), ("b", 0))
    other = tables.connect()
    # The writer is the one that finds the deadlock, and is aborted
    other.execute("SET deadlock_timeout = '60s'")
    other.commit()
    other.execute("UPDATE totals SET amount = 1 WHERE name = 'b'")
    waiting = threading.Thread(target=lambda: write(writer, 1, ("a", 2), ("b", 2)))
    waiting.start()
    while tables.run("SELECT count(*) FROM pg_locks WHERE NOT granted") != [(1,)]:
        assert waiting.is_alive()
    other.execute("UPDATE totals SET amount = 1 WHERE name = 'a'")
    other.commit()
    waiting.join(30)
    assert not waiting.is_alive()
    assert tables.rows == [("a", 2), ("b", 2)]


def test_a_connection_that_the_server_ended_is_opened_again(postgresql: Server) -> None:
    tables = Tables(*postgresql)
    writer = tables.writer()
    pid = writer._database.connection.info.backend_pid
    tables.run(f"SELECT pg_terminate_backend({pid}, 10000)")
    write(writer, 0, ("a", 1))
    assert tables.rows == [("a", 1)]


_TYPES = (
    "integer",
    "bigint",
    "smallint",
    "numeric",
    "numeric(6, 2)",
    "double precision",
    "real",
    "boolean",
    "text",
    "varchar(3)",
    "char(3)",
    "bytea",
    "date",
    "timestamp",
    "timestamp(0)",
    "timestamptz",
)
_ZONES = st.sampled_from([None, UTC, timezone(timedelta(hours=5, minutes=30))])
_VALUES = {
    "int": st.integers(-(2**16), 2**16) | st.integers(-(2**70), 2**70),
    "decimal": st.decimals(-9999, 9999, places=3) | st.just(Decimal("NaN")),
    "float": st.floats(),
    "bool": st.booleans(),
    "str": st.text("ab \\\t\n\"'é,0", max_size=4)
    | st.sampled_from(["\\N", "\\.", "a  ", "12", "2024-01-31 10:00:00+05"]),
    "bytes": st.binary(max_size=4),
    "date": st.dates(date(1, 1, 1)),
    "datetime": st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=_ZONES),
}
_FITTING = dict(
    zip(
        _TYPES,
        [
            "int",
            "int",
            "int",
            "decimal",
            "decimal",
            "float",
            "float",
            "bool",
            "str",
            "str",
            "str",
            "bytes",
            "date",
        ]
        + ["datetime"] * 3,
    )
)


_COPIED = {
    "integer": 1,
    "bigint": 2,
    "smallint": 3,
    "numeric": Decimal("1.5"),
    "numeric(6, 2)": Decimal("1.25"),
    "double precision": 1.5,
    "real": 2.5,
    "boolean": True,
    "text": "a",
    "varchar(3)": "b",
    "char(3)": "c",
    "bytea": b"d",
    "date": date(2024, 1, 31),
    "timestamp": datetime(2024, 1, 31, 10),
    "timestamptz": datetime(2024, 1, 31, 10, tzinfo=UTC),
}
"""A value of each type, which COPY writes for most of them."""


@st.composite
def _tables_and_rows(draw: st.DrawFn) -> tuple[list[str], str, list[tuple[Any, ...]]]:
    """Types of columns, the columns of the statement, and rows, most of which fit."""
    types = draw(st.lists(st.sampled_from(_TYPES), min_size=1, max_size=4))
    names = [f"c{place}" for place in range(len(types))]
    given = draw(st.sampled_from(["", f"({', '.join(names)})", f'("{names[0]}")']))
    count = 1 if given.startswith('("') else len(types)
    kinds = [
        _FITTING[t] if draw(st.integers(0, 7)) else draw(st.sampled_from([*_VALUES]))
        for t in types[:count]
    ]
    row = st.tuples(*(st.none() | _VALUES[kind] for kind in kinds))
    return types, given, draw(st.lists(row, min_size=1, max_size=4))


def test_copy_writes_what_insert_writes(
    postgresql: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = Tables(*postgresql)
    database = Postgresql(tables.options)
    # A prepared statement would expect the columns of the table before
    database.connection.prepare_threshold = None
    taken: list[bool] = []
    takes = CopyTarget.takes

    def noted(target: CopyTarget, rows: Any) -> bool:
        taken.append(takes(target, rows))
        return taken[-1]

    monkeypatch.setattr(CopyTarget, "takes", noted)

    def written(sql: str, rows: list[tuple[Any, ...]], fewest: int) -> str:
        monkeypatch.setattr(Postgresql, "FEWEST_COPIED", fewest)
        database.begin()
        try:
            database.insert(sql, rows, 100)
            # As texts: psycopg has no datetime for the year 10000, which rounding may give
            return str(database.connection.execute("SELECT t::text FROM t").fetchall())
        except database.errors as error:
            return type(error).__mro__[1].__name__
        finally:
            database.roll_back()

    def compare(case: tuple[list[str], str, list[tuple[Any, ...]]]) -> None:
        types, given, rows = case
        columns = ", ".join(f"c{place} {type_}" for place, type_ in enumerate(types))
        tables.run("DROP TABLE IF EXISTS t")
        tables.run(f"CREATE TABLE t ({columns})")
        sql = f"INSERT INTO t {given} VALUES ({', '.join('?' * len(rows[0]))})"
        assert written(sql, rows, 1) == written(sql, rows, 1000)

    unhealthy = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    settings(suppress_health_check=unhealthy)(given(_tables_and_rows())(compare))()
    taken.clear()
    for type_, value in _COPIED.items():
        compare(([type_], "", [(value,), (None,)]))
    assert sum(taken) > 10
    database.connection.close()


def test_copy_leaves_what_it_would_do_otherwise(postgresql: Server) -> None:
    tables = Tables(*postgresql)
    target = Postgresql(tables.options)._target
    found = target(INSERT)
    assert found is not None
    assert found.command == 'COPY totals ("name", "amount") FROM STDIN'
    assert target("insert into public.totals (AMOUNT) values (?);") is not None
    for sql in (
        UPSERT,
        "INSERT INTO totals VALUES (?, ? + 1)",
        "INSERT INTO totals VALUES (?, ?) -- all",
        "INSERT INTO absent VALUES (?)",
        "INSERT INTO totals (other) VALUES (?)",
        "INSERT INTO totals VALUES (?, ?, ?)",
        "UPDATE totals SET amount = ?",
    ):
        assert target(sql) is None
    tables.run("DROP TABLE IF EXISTS counted")
    tables.run("CREATE TABLE counted (n INT GENERATED ALWAYS AS IDENTITY, name TEXT)")
    assert target("INSERT INTO counted (n) VALUES (?)") is None
    assert target("INSERT INTO counted (name) VALUES (?)") is not None
    tables.run("CREATE OR REPLACE RULE none AS ON INSERT TO counted DO INSTEAD NOTHING")
    assert target("INSERT INTO counted (name) VALUES (?)") is None


def test_markers_are_those_of_the_database() -> None:
    sql = """INSERT INTO "a?" VALUES (?, '?''%', ?) -- what?"""
    expected = """INSERT INTO "a?" VALUES (%s, '?''%%', %s) -- what?"""
    assert statement(sql) == expected


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
