"""Queries in jobs: on local execution and on Spark, with time, union, static tables, restarts and BATCH."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flinkish import (
    Duration,
    FileSource,
    InvalidProgramError,
    NotSupportedError,
    Row,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
    Types,
    Watermark,
    WatermarkGenerator,
    WatermarkStrategy,
)
from flinkish.api.errors import FlinkishError, UnfitElementError
from flinkish.table import DataTypes, Schema, StreamTableEnvironment

CLICKS = [("ann", "home", 12.5), ("bob", "cart", 3.0), ("ann", "buy", 30.0), ("eve", "home", 11.0)]


@pytest.fixture
def local() -> StreamExecutionEnvironment:
    environment = StreamExecutionEnvironment()
    environment.setLocalExecution()
    return environment


@pytest.fixture(
    params=[
        "local",
        pytest.param(
            "spark", marks=pytest.mark.rotating("other queries run there with each commit")
        ),
    ]
)
def either(request: pytest.FixtureRequest) -> StreamExecutionEnvironment:
    return request.getfixturevalue("local" if request.param == "local" else "env")


def rows(tables: StreamTableEnvironment, query: str) -> list[Any]:
    return list(tables.toDataStream(tables.sqlQuery(query)).executeAndCollect())


def with_clicks(environment: StreamExecutionEnvironment) -> StreamTableEnvironment:
    tables = StreamTableEnvironment.create(environment)
    tables.createTemporaryView("clicks", environment.fromCollection(CLICKS))
    return tables


def test_a_projection_and_a_selection(either: StreamExecutionEnvironment) -> None:
    tables = with_clicks(either)
    found = rows(
        tables, "SELECT f0 AS name, UPPER(f1) AS page, f2 * 2 AS twice FROM clicks WHERE f2 > 10"
    )
    assert found == [
        Row(name="ann", page="HOME", twice=25.0),
        Row(name="ann", page="BUY", twice=60.0),
        Row(name="eve", page="HOME", twice=22.0),
    ]


QUERIES = [
    ("SELECT * FROM clicks WHERE f0 = 'bob'", [("bob", "cart", 3.0)]),
    (
        "SELECT f0 FROM clicks WHERE f2 > 20 UNION ALL SELECT f1 FROM clicks WHERE f2 < 5",
        [("ann",), ("cart",)],
    ),
    (
        "SELECT c.f1, u.age FROM clicks AS c JOIN users AS u ON c.f0 = u.name AND u.age > 30",
        [("home", 34), ("buy", 34)],
    ),
    (
        "SELECT c.f0, u.age FROM clicks c LEFT JOIN users u ON c.f0 = u.name",
        [("ann", 34), ("bob", 27), ("ann", 34), ("eve", None)],
    ),
    (
        "SELECT u.age, c.f0 FROM users u JOIN clicks c ON u.name = c.f0 WHERE c.f2 < 5",
        [(27, "bob")],
    ),
    (
        "SELECT f0, x FROM clicks CROSS JOIN UNNEST(ARRAY[1, 2]) AS u(x) WHERE f0 = 'bob'",
        [("bob", 1), ("bob", 2)],
    ),
    (
        "SELECT f0, o FROM clicks, UNNEST(ARRAY['p', 'q']) WITH ORDINALITY AS u(x, o) WHERE x = 'q' AND f0 = 'eve'",
        [("eve", 2)],
    ),
    (
        "WITH dear AS (SELECT f0 AS n, f2 AS p FROM clicks WHERE f2 > 11) SELECT n, p FROM (SELECT n, p + 1 AS p FROM dear) AS t WHERE p > 20",
        [("ann", 31.0)],
    ),
    ("SELECT c.f0 FROM clicks c CROSS JOIN users u WHERE c.f2 < u.age - 30", [("bob",)]),
    ("SELECT f0, f0 FROM clicks WHERE f2 = 3", [("bob", "bob")]),
    ("SELECT n, s FROM (VALUES (1, 'a'), (2, 'bc')) AS t(n, s) WHERE n > 1", [(2, "bc")]),
]


@pytest.mark.parametrize(("query", "wanted"), QUERIES)
def test_queries(local: StreamExecutionEnvironment, query: str, wanted: list[Any]) -> None:
    tables = with_clicks(local)
    tables.createTemporaryView(
        "users", tables.fromElements([("ann", 34), ("bob", 27)], ["name", "age"])
    )
    assert sorted(map(tuple, rows(tables, query)), key=str) == sorted(wanted, key=str)


def test_queries_run_on_spark_as_they_do_here(env: StreamExecutionEnvironment) -> None:
    tables = with_clicks(env)
    tables.createTemporaryView(
        "users", tables.fromElements([("ann", 34), ("bob", 27)], ["name", "age"])
    )
    tables.createTemporaryView("joined", tables.sqlQuery(QUERIES[2][0]))
    found = rows(
        tables,
        f"SELECT f1, CAST(age AS STRING) FROM joined UNION ALL {QUERIES[5][0].replace(', x', ', CAST(x AS STRING)')}",
    )
    assert sorted(map(tuple, found)) == [("bob", "1"), ("bob", "2"), ("buy", "34"), ("home", "34")]


# ---------------------------------------------------------------------- types


@dataclass
class Click:
    user: str
    price: Decimal
    tags: list[str]


class Pair(NamedTuple):
    name: str
    count: int


def test_columns_are_the_fields_of_the_elements(local: StreamExecutionEnvironment) -> None:
    tables = StreamTableEnvironment.create(local)
    clicks = local.fromCollection([Click("ann", Decimal("1.5"), ["a", "b"])])
    tables.createTemporaryView("clicks", clicks)
    tables.createTemporaryView("pairs", local.fromCollection([Pair("x", 1)]))
    tables.createTemporaryView("numbers", local.fromCollection([1, 2]))
    assert rows(tables, "SELECT `user`, price * 2 AS p, tags[2] AS t FROM clicks") == [
        Row(user="ann", p=Decimal("3.00000000000000000"), t="b")
    ]
    assert rows(tables, "SELECT name, `count` + 1 AS n FROM pairs") == [Row(name="x", n=2)]
    assert rows(tables, "SELECT f0 * 2 AS n FROM numbers") == [Row(n=2), Row(n=4)]


def test_a_type_that_is_not_known_says_to_give_a_schema(local: StreamExecutionEnvironment) -> None:
    tables = StreamTableEnvironment.create(local)
    stream = local.fromCollection([1, 2]).map(lambda n: (n, str(n)))
    with pytest.raises(
        InvalidProgramError, match=r"the type of the column 'f0' is not known.*Pass a schema"
    ):
        tables.fromDataStream(stream)
    schema = Schema.newBuilder().column("n", DataTypes.INT()).column("t", "STRING").build()
    tables.createTemporaryView("pairs", stream, schema)
    assert rows(tables, "SELECT t || '!' AS t, n FROM pairs") == [
        Row(t="1!", n=1),
        Row(t="2!", n=2),
    ]


def test_an_element_that_does_not_fit_is_named(local: StreamExecutionEnvironment) -> None:
    tables = StreamTableEnvironment.create(local)
    stream = local.fromCollection(
        [(1, "a"), (2**40, "b")], Types.TUPLE([Types.INT(), Types.STRING()])
    )
    tables.createTemporaryView("pairs", stream)
    with pytest.raises(
        FlinkishError, match=r"the column 'f0' is INT, and 1099511627776 of the element"
    ):
        rows(tables, "SELECT f0 FROM pairs")


def test_an_expression_that_fails_names_the_place_and_the_element(
    local: StreamExecutionEnvironment,
) -> None:
    tables = with_clicks(local)
    with pytest.raises(
        UnfitElementError, match=r"line 1, column 8, at '10 / .*division by zero.*'bob'"
    ):
        rows(tables, "SELECT 10 / CAST(f2 - 3e0 AS INT) AS x FROM clicks")


def test_what_an_and_or_a_case_guards_does_not_fail(local: StreamExecutionEnvironment) -> None:
    tables = with_clicks(local)
    found = rows(
        tables,
        "SELECT CASE WHEN f2 <> 3e0 THEN 10 / CAST(f2 - 3e0 AS INT) END AS x FROM clicks"
        " WHERE f2 = 3e0 OR 10 / CAST(f2 - 3e0 AS INT) > 0",
    )
    assert [row.x for row in found] == [1, None, 1]


# ---------------------------------------------------------------------- time

TIMED = Schema.newBuilder().column("f0", "BIGINT").column("f1", "STRING")
EVENTS = [(1000, "a"), (4000, "b"), (3000, "c"), (9000, "d")]


def timestamps(tables: StreamTableEnvironment, query: str) -> list[Any]:
    stream = tables.toDataStream(tables.sqlQuery(query))
    return list(
        stream.process(
            lambda row, ctx, out: out.collect((row[0], ctx.timestamp()))
        ).executeAndCollect()
    )


def events(environment: StreamExecutionEnvironment) -> Any:
    strategy = WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda e, t: e[0])
    return environment.fromCollection(EVENTS).assignTimestampsAndWatermarks(strategy)


def test_without_a_time_attribute_rows_have_no_timestamp(local: StreamExecutionEnvironment) -> None:
    tables = StreamTableEnvironment.create(local)
    tables.createTemporaryView("events", events(local))
    assert timestamps(tables, "SELECT f1 FROM events") == [(name, None) for _, name in EVENTS]
    assert timestamps(tables, "SELECT * FROM events") == [(time, time) for time, _ in EVENTS]


def source_watermarks() -> Schema:
    builder = Schema.newBuilder().column("f0", "BIGINT").column("f1", "STRING")
    builder.columnByMetadata("rowtime", "TIMESTAMP_LTZ(3)")
    return builder.watermark("rowtime", "SOURCE_WATERMARK()").build()


def test_the_time_attribute_is_the_timestamp(either: StreamExecutionEnvironment) -> None:
    tables = StreamTableEnvironment.create(either)
    tables.createTemporaryView("events", events(either), source_watermarks())
    found = timestamps(tables, "SELECT f1, rowtime FROM events WHERE f0 <> 4000")
    assert found == [("a", 1000), ("c", 3000), ("d", 9000)]


@pytest.mark.parametrize(
    "select",
    [
        "f1",
        "f1, CAST(rowtime AS TIMESTAMP(3)) AS t",
        "f1, rowtime + INTERVAL '1' SECOND AS t",
    ],
)
def test_without_the_time_attribute_in_the_query_they_have_none(
    local: StreamExecutionEnvironment, select: str
) -> None:
    tables = StreamTableEnvironment.create(local)
    tables.createTemporaryView("events", events(local), source_watermarks())
    assert timestamps(tables, f"SELECT {select} FROM events") == [
        (name, None) for _, name in EVENTS
    ]


def test_two_time_attributes_are_refused(local: StreamExecutionEnvironment) -> None:
    tables = StreamTableEnvironment.create(local)
    tables.createTemporaryView("events", events(local), source_watermarks())
    with pytest.raises(InvalidProgramError, match=r"more than one time attribute \(a, b\)"):
        tables.toDataStream(tables.sqlQuery("SELECT rowtime AS a, rowtime AS b FROM events"))


def late_after(stream: Any) -> list[Any]:
    """The elements that are behind the watermark, as the operator behind the query sees it."""
    seen = stream.keyBy(lambda row: 0).process(
        lambda row, ctx, out: out.collect(
            (row[0], ctx.timerService().currentWatermark() > ctx.timestamp())
        )
    )
    return [name for name, late in seen.executeAndCollect() if late]


def test_watermarks_of_the_stream_get_through(local: StreamExecutionEnvironment) -> None:
    """``c`` is late where each element moves the watermark."""
    tables = StreamTableEnvironment.create(local)
    strategy = WatermarkStrategy.forGenerator(lambda context: Punctuated()).withTimestampAssigner(
        lambda e, t: e[0]
    )
    stream = local.fromCollection(EVENTS).assignTimestampsAndWatermarks(strategy)
    tables.createTemporaryView("events", stream, source_watermarks())
    through = tables.toDataStream(tables.sqlQuery("SELECT UPPER(f1) AS name, rowtime FROM events"))
    assert late_after(through) == ["C"]


def test_other_watermarks_do_not(local: StreamExecutionEnvironment) -> None:
    tables = StreamTableEnvironment.create(local)
    strategy = WatermarkStrategy.forGenerator(lambda context: Punctuated()).withTimestampAssigner(
        lambda e, t: e[0]
    )
    stream = local.fromCollection(EVENTS).assignTimestampsAndWatermarks(strategy)
    tables.createTemporaryView("events", stream)
    seen = (
        tables.toDataStream(tables.sqlQuery("SELECT f1 FROM events"))
        .keyBy(lambda row: 0)
        .process(lambda row, ctx, out: out.collect(ctx.timerService().currentWatermark()))
    )
    assert set(seen.executeAndCollect()) == {-(2**63)}


class Punctuated(WatermarkGenerator):
    """A watermark behind each element."""

    def onEvent(self, event: Any, eventTimestamp: int, output: Any) -> None:
        output.emitWatermark(Watermark(eventTimestamp))

    def onPeriodicEmit(self, output: Any) -> None:
        pass


@pytest.mark.parametrize("mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH])
def test_windows_behind_a_query(local: StreamExecutionEnvironment, mode: Any) -> None:
    local.setRuntimeMode(mode)
    tables = StreamTableEnvironment.create(local)
    schema = (
        Schema.newBuilder()
        .column("f0", "BIGINT")
        .column("f1", "STRING")
        .columnByExpression("rowtime", "TO_TIMESTAMP_LTZ(f0, 3)")
        .watermark("rowtime", "rowtime - INTERVAL '2' SECOND")
        .build()
    )
    tables.createTemporaryView("events", local.fromCollection(EVENTS), schema)
    stream = tables.toDataStream(tables.sqlQuery("SELECT f1, rowtime, 1 AS n FROM events"))
    counted = (
        stream.map(lambda row: row.n)
        .keyBy(lambda n: 0)
        .window(TumblingEventTimeWindows.of(Duration.ofSeconds(4)))
        .reduce(lambda a, b: a + b)
    )
    assert list(counted.executeAndCollect()) == [2, 1, 1]


# ---------------------------------------------------------------------- columns and restarts


def write(path: Path, begin: int, count: int) -> None:
    numbers = list(range(begin, begin + count))
    columns = {
        "user": [f"user {n % 7}" if n % 11 else None for n in numbers],
        "amount": [n * 1000 for n in numbers],
        "price": [n / 4 for n in numbers],
    }
    schema = pa.schema([("user", pa.string()), ("amount", pa.int64()), ("price", pa.float64())])
    pq.write_table(pa.table(columns, schema=schema), path)


BOTH_WAYS = (
    "SELECT UPPER(`user`) AS u, amount * 2 AS a, price / 3 AS p, CAST(price AS INT) AS i FROM orders"
    " WHERE amount > 5000 AND `user` LIKE 'user%'"
)


def test_columns_of_a_file_give_what_elements_give(
    local: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    write(tmp_path / "0.parquet", 0, 100)
    files = FileSource.forParquet(str(tmp_path), "user string, amount bigint, price double")
    stream = local.fromSource(files, WatermarkStrategy.noWatermarks(), "orders")
    tables = StreamTableEnvironment.create(local)
    tables.createTemporaryView("orders", stream)
    quickly = rows(tables, BOTH_WAYS)
    tables.dropTemporaryView("orders")
    singly = stream.map(lambda row: Row(user=row.user, amount=row.amount, price=row.price)).returns(
        stream.getType()
    )
    tables.createTemporaryView("orders", singly)
    assert quickly == rows(tables, BOTH_WAYS)
    assert len(quickly) == 85


def test_a_job_with_a_query_goes_on_from_a_savepoint(tmp_path: Path) -> None:
    directory, savepoint = tmp_path / "in", str(tmp_path / "savepoint")
    directory.mkdir()
    read, found = threading.Event(), []

    def start(watching: bool) -> StreamExecutionEnvironment:
        environment = StreamExecutionEnvironment()
        environment.setLocalExecution()
        files = FileSource.forParquet(str(directory), "user string, amount bigint, price double")
        if watching:
            files = files.monitorContinuously()
        stream = environment.fromSource(files, WatermarkStrategy.noWatermarks(), "orders")
        schema = (
            Schema.newBuilder()
            .column("user", "STRING")
            .column("amount", "BIGINT")
            .columnByExpression("rowtime", "TO_TIMESTAMP_LTZ(amount, 3)")
            .watermark("rowtime", "rowtime - INTERVAL '1' SECOND")
            .build()
        )
        tables = StreamTableEnvironment.create(environment)
        tables.createTemporaryView("orders", stream, schema)
        timed = tables.toDataStream(
            tables.sqlQuery("SELECT COALESCE(`user`, 'none') AS u, 1 AS n, rowtime FROM orders")
        )
        timed.forEachBatch(lambda values, batch: read.set())
        (
            timed.map(lambda row: (row.u, row.n))
            .keyBy(lambda pair: pair[0])
            .window(TumblingEventTimeWindows.of(Duration.ofSeconds(1000)))
            .reduce(lambda a, b: (a[0], a[1] + b[1]))
            .forEachBatch(lambda values, batch: found.extend(values))
        )
        return environment

    write(directory / "0.parquet", 0, 100)
    client = start(watching=True).executeAsync()
    assert read.wait(30)
    client.stopWithSavepoint(savepoint)
    assert found == []
    write(directory / "1.parquet", 100, 100)
    start(watching=False).setSavepoint(savepoint).execute()
    assert sum(count for _, count in found) == 200
    assert dict(found)["none"] == 19


# ---------------------------------------------------------------------- functions of the user's


def test_a_python_function(local: StreamExecutionEnvironment) -> None:
    tables = with_clicks(local)
    tables.createTemporaryFunction(
        "twice", lambda n: None if n is None else n * 2, "DOUBLE", ["DOUBLE"]
    )
    assert rows(tables, "SELECT TWICE(f2) AS n FROM clicks WHERE twice(f2) < 10") == [Row(n=6.0)]


def test_a_python_function_that_fails_is_named(local: StreamExecutionEnvironment) -> None:
    tables = with_clicks(local)
    tables.createTemporaryFunction("broken", lambda n: 1 / 0, "DOUBLE")
    with pytest.raises(FlinkishError, match=r"broken: the user function raised.*12\.5"):
        rows(tables, "SELECT broken(f2) AS n FROM clicks")


# ---------------------------------------------------------------------- static tables and results


def test_static_tables(
    local: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = StreamTableEnvironment.create(local)
    frame = pd.DataFrame({"n": [1, 2], "s": ["a", "日本"]})
    tables.createTemporaryView("frame", tables.fromPandas(frame))
    tables.executeSql("SELECT s, n + 1 AS m, CAST(NULL AS INT) AS x FROM frame").print()
    assert capsys.readouterr().out == (
        "+----+--------------------------------+----------------------+-------------+\n"
        "| op |                              s |                    m |           x |\n"
        "+----+--------------------------------+----------------------+-------------+\n"
        "| +I |                              a |                    2 |      <NULL> |\n"
        "| +I |                           日本 |                    3 |      <NULL> |\n"
        "+----+--------------------------------+----------------------+-------------+\n"
        "2 rows in set\n"
    )


# ---------------------------------------------------------------------- what is refused

REFUSED = [
    ("SELECT f0, COUNT(*) FROM clicks GROUP BY f0", r"line 1, column \d+: GROUP BY .*window\("),
    ("SELECT COUNT(*) FROM clicks", r"COUNT is not supported.*keyBy"),
    ("SELECT\n  DISTINCT f0 FROM clicks", "DISTINCT .*ValueState"),
    ("SELECT f0 FROM clicks ORDER BY f0", "ORDER BY .*timers"),
    ("SELECT f0 FROM clicks LIMIT 3", "LIMIT .*executeAndCollect"),
    (
        "SELECT c.f0 FROM clicks c\nJOIN clicks d ON c.f0 = d.f0",
        r"line 2, column \d+: a join of two streams .*intervalJoin",
    ),
    ("SELECT SUM(f2) OVER (PARTITION BY f0) FROM clicks", "OVER .*process"),
    ("SELECT f0 FROM clicks UNION SELECT f0 FROM clicks", "UNION is .*UNION ALL"),
    (
        "SELECT * FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(t), INTERVAL '1' MINUTE))",
        "window function .*window",
    ),
    (
        "SELECT * FROM clicks MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS TRUE)",
        "MATCH_RECOGNIZE .*CEP",
    ),
    ("CREATE TABLE t (a INT) WITH ('connector' = 'kafka')", "DDL .*fromSource"),
    ("INSERT INTO t SELECT * FROM clicks", "INSERT INTO .*sinkTo"),
    ("SELECT f0 FROM clicks WHERE f0 IN (SELECT f0 FROM clicks)", "IN with a query .*JOIN"),
    ("SELECT CURRENT_TIMESTAMP FROM clicks", "CURRENT_TIMESTAMP .*process"),
    ("SELECT SOUNDEX(f0) FROM clicks", "the function SOUNDEX .*createTemporaryFunction"),
    ("SELECT a FROM clicks, LATERAL TABLE(f(f0)) AS T(a)", "LATERAL .*flatMap"),
]


@pytest.mark.parametrize(("query", "said"), REFUSED)
def test_what_needs_state_is_refused_by_name(
    local: StreamExecutionEnvironment, query: str, said: str
) -> None:
    with pytest.raises(NotSupportedError, match=said):
        with_clicks(local).sqlQuery(query)


WRONG = [
    (
        "SELECT f9 FROM clicks",
        "column 8, at 'f9': there is no column 'f9'. The columns are f0, f1, f2",
    ),
    ("SELECT f0 FROM other", "there is no table 'other'"),
    ("SELECT f0 + 1 FROM clicks", r"\+ takes two numbers, and these are STRING and INT"),
    ("SELECT f0 FROM clicks WHERE f2", "a condition has to be BOOLEAN, and this is DOUBLE"),
    ("SELECT UPPER(f2) FROM clicks", "argument 1 of UPPER has to be a text, and is DOUBLE"),
    ("SELECT f0 FROM clicks WHERE", "cannot be read"),
    ("SELECT NULL FROM clicks", "CAST"),
]


@pytest.mark.parametrize(("query", "said"), WRONG)
def test_what_is_wrong_says_where(local: StreamExecutionEnvironment, query: str, said: str) -> None:
    with pytest.raises(InvalidProgramError, match=said):
        with_clicks(local).sqlQuery(query)


@pytest.mark.parametrize(
    "name", ["toChangelogStream", "createTable", "createStatementSet", "toAppendStream"]
)
def test_methods_that_are_not_there_say_what_to_write(
    local: StreamExecutionEnvironment, name: str
) -> None:
    with pytest.raises(NotSupportedError, match=f"StreamTableEnvironment.{name} is not supported"):
        getattr(StreamTableEnvironment.create(local), name)
    assert not hasattr(StreamTableEnvironment.create(local), name)
