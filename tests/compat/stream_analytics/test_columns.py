"""A query over columns gives what it gives event by event."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flinkish import FileSource, FlinkishError, StreamExecutionEnvironment, WatermarkStrategy
from flinkish.compat.stream_analytics import query
from flinkish.runtime.columns import uniform_elements
from tests.compat.stream_analytics.queries import CASES
from tests.compat.stream_analytics.test_language import compare, in_order, local
from tests.local_programs import local_execution


@pytest.fixture(autouse=True, scope="module")
def columns_of_few() -> Iterator[None]:
    """Few events are columns as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uniform_elements, "LEAST_ELEMENTS", 1)
        yield


@pytest.mark.takes_columns("ColumnFunction", "ProcessFunctionColumns")
def test_queries_of_the_language() -> None:
    for case in CASES.values():
        compare(local(case.sql, case.inputs, **case.options), case)


names = st.sampled_from(["n", "m", "x", "s"])
literals = st.sampled_from(["0", "1", "2", "-3", "0.5", "'a'", "'7'", "NULL"])
operators = st.sampled_from(["{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} % {}"])
functions = st.sampled_from(
    ["ABS({})", "ISNULL({}, {})", "CAST({} AS bigint)", "TRY_CAST({} AS float)", "CONCAT({}, {})"]
    + ["IIF({0} > 1, {0}, {1})", "SIGN({})", "UPPER({})", "LEN({})", "NULLIF({}, {})"]
    + ["CASE WHEN {0} > {1} THEN {0} ELSE {1} END", "CASE {} WHEN 1 THEN 'one' END"]
)
conditions = st.sampled_from(
    ["{} > {}", "{} = {}", "{} <> {}", "{} IS NULL", "{} IN (1, {})", "{} BETWEEN 0 AND {}"]
    + ["{} LIKE '%a%'", "NOT {} < {}", "{0} > 0 AND {1} < 2", "{0} > 0 OR {1} IS NOT NULL"]
)
expressions = st.recursive(
    names | literals,
    lambda inner: st.builds(
        lambda form, one, other: f"({form.format(one, other)})",
        operators | functions,
        inner,
        inner,
    ),
    max_leaves=3,
)
aggregates = st.builds(
    str.format,
    st.sampled_from(
        ["SUM({})", "AVG({})", "MIN({})", "MAX({})", "COUNT({})", "STDEV({})", "VARP({})"]
        + ["COUNT(DISTINCT {})", "COLLECT({})", "PERCENTILE_CONT(0.5) OVER (ORDER BY {})"]
    ),
    expressions,
)
windows = st.sampled_from(
    ["TumblingWindow(second, 2)", "HoppingWindow(second, 4, 1)", "SlidingWindow(second, 3)"]
    + ["SessionWindow(second, 1, 5)", "System.Timestamp()"]
)
fields: dict[str, st.SearchStrategy[Any]] = {
    "at": st.integers(0, 9_000),
    "n": st.integers(-4, 4) | st.sampled_from([2**63 - 1, -(2**63), 2**53 + 1]),
    "m": st.integers(-2, 3),
    "x": st.floats(-3, 3) | st.sampled_from([1e308, -0.0]),
    "s": st.sampled_from(["a", "B", "7", "", "1.5"]),
}
whole = st.fixed_dictionaries(fields)
with_nulls = st.fixed_dictionaries({**fields, "m": fields["m"] | st.none()})
events = st.lists(whole, min_size=1, max_size=8) | st.lists(with_nulls, min_size=1, max_size=4)


@st.composite
def queries(draw: st.DrawFn) -> str:
    where = draw(st.none() | conditions)
    condition = "" if where is None else f" WHERE {where.format(draw(names), draw(literals))}"
    source = f"FROM Input TIMESTAMP BY at{condition}"
    if draw(st.booleans()):
        items = draw(st.lists(expressions, min_size=1, max_size=3))
        return f"SELECT {_named(items)} {source}"
    items = draw(st.lists(aggregates, min_size=1, max_size=3))
    keys = draw(st.lists(expressions, max_size=2, unique=True))
    keys = [key for key in keys if any(name in key for name in "nmxs")]
    groups = ", ".join([*keys, draw(windows)])
    return f"SELECT {_named(items)}, COUNT(*) AS rows {source} GROUP BY {groups}"


def _named(items: list[str]) -> str:
    return ", ".join(f"{item} AS c{number}" for number, item in enumerate(items))


def outcome(sql: str, rows: list[dict[str, Any]], traces: bool) -> list[str]:
    """The rows of the result, or the text of the error."""
    with local_execution(traces):
        try:
            return in_order([row.asDict() for row in local(sql, {"Input": rows})["output"]])
        except FlinkishError as error:
            return [str(error)]


HOT = "SELECT SUM(CASE WHEN n / m > 1 THEN 1 ELSE 0 END) AS hot, STDEV(x) AS spread"
ROWS = [{"at": 500 * n, "n": n, "m": 2, "x": n / 3, "s": "ab"[n % 2]} for n in range(12)]


@pytest.mark.takes_columns("ColumnFunction")
@example(f"{HOT} FROM Input TIMESTAMP BY at GROUP BY s, HoppingWindow(second, 4, 1)", ROWS)
@example("SELECT n + 1 AS more FROM Input TIMESTAMP BY at", [{**ROWS[0], "n": 2**63 - 1}])
@example("SELECT n % m AS rest, n / m AS whole FROM Input TIMESTAMP BY at", ROWS)
@example("SELECT s + 'x' AS text FROM Input TIMESTAMP BY at WHERE s = 'A'", ROWS)
@given(queries(), events)
def test_as_event_by_event(sql: str, rows: list[dict[str, Any]]) -> None:
    assert outcome(sql, rows, traces=True) == outcome(sql, rows, traces=False)


# ---------------------------------------------------------------- folds

DECLARED = "CREATE TABLE Input (at bigint, n bigint, m bigint, x float, s nvarchar(max)); "
numbers = st.recursive(
    st.sampled_from(["n", "m", "Input.n", "0", "7"]),
    lambda inner: st.builds(
        str.format,
        st.sampled_from(["({} + {})", "({} - {})", "({} * {})", "({} / {})", "({} % {})"])
        | st.sampled_from(["CASE WHEN {} > {} THEN n END", "CASE {} WHEN m THEN 1 ELSE {} END"]),
        inner,
        inner,
    ),
    max_leaves=3,
)
of_numbers = st.builds(
    str.format, st.sampled_from(["SUM({})", "AVG({})", "MIN({})", "MAX({})", "COUNT({})"]), numbers
)


@st.composite
def grouped(draw: st.DrawFn) -> str:
    items = draw(st.lists(of_numbers | st.just("COUNT(x)"), min_size=1, max_size=3))
    keys = draw(st.lists(st.sampled_from(["n", "s", "m * 2"]), max_size=2, unique=True))
    window = draw(st.sampled_from(["TumblingWindow(second, 2)", "HoppingWindow(second, 4, 1)"]))
    having = draw(st.sampled_from(["", " HAVING COUNT(*) > 1"]))
    shown = "".join(f", {key} AS k{number}" for number, key in enumerate(keys))
    return (
        f"SELECT {_named(items)}, COUNT(*) AS rows, System.Timestamp() AS until{shown}"
        f" FROM Input TIMESTAMP BY at GROUP BY {', '.join([*keys, window])}{having}"
    )


TUMBLING = "FROM Input TIMESTAMP BY at GROUP BY s, TumblingWindow(second, 2)"


@pytest.mark.takes_columns("ColumnFold")
@example(f"SELECT s, AVG(n) AS c {TUMBLING}", ROWS, True)
@given(grouped(), events, st.booleans())
def test_folds_are_as_all_rows_of_a_window(
    sql: str, rows: list[dict[str, Any]], traces: bool
) -> None:
    """Where all numbers are whole, windows do not keep their rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "flinkish.compat.stream_analytics.aggregates._FOLDS", defaultdict[str, Any](tuple)
        )
        expected = outcome(DECLARED + sql, rows, traces=False)
    assert outcome(DECLARED + sql, rows, traces) == expected


def test_the_columns_of_files_are_folded() -> None:
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    files = FileSource.forCsv("rows", "at BIGINT, n INT, s STRING, x DOUBLE, S STRING")
    rows = env.fromSource(files, WatermarkStrategy.noWatermarks(), "rows")

    def folds(item: str, key: str) -> bool:
        text = f"SELECT {item} FROM Input TIMESTAMP BY at GROUP BY {key}, TumblingWindow(second, 2)"
        query(text, {"Input": rows}).outputs["output"].forEachBatch(lambda found, batch: None)
        return "aggregation over columns" in env.explain()

    assert not folds("SUM(x)", "n")
    assert not folds("SUM(n)", "x")
    assert not folds("SUM(n)", "s")  # may be either column
    assert folds("SUM(N)", "n + 1")
