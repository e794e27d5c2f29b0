"""Texts in the query language of Azure Stream Analytics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from sqlglot.dialects.tsql import TSQL

from flinkish import (
    FlinkishError,
    IllegalArgumentError,
    Row,
    StreamExecutionEnvironment,
    StreamRecord,
)
from flinkish.compat.stream_analytics import EventOrdering, query
from flinkish.compat.stream_analytics.aggregates import AGGREGATES
from flinkish.compat.stream_analytics.calls import REFUSED, SPECIAL
from flinkish.compat.stream_analytics.functions import FUNCTIONS
from flinkish.compat.stream_analytics.text import (
    LITERALS,
    RESERVED,
    SYSTEM_TIMESTAMP,
    SYSTEM_WINDOW,
    Text,
)
from flinkish.testing import StreamTestHarness
from tests.compat.stream_analytics.queries import CASES, READINGS, Case, at, rows
from tests.docs.pages import ROOT
from tests.docs.pages import rows as page_rows


def local(sql: str, inputs: Mapping[str, Sequence[Any]], **options: Any) -> dict[str, list[Any]]:
    """The rows of each output."""
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    job = query(
        sql, {name: env.fromCollection(list(found)) for name, found in inputs.items()}, **options
    )
    seen: dict[str, list[Any]] = {name: [] for name in job.outputs}

    def note(name: str) -> Any:
        return lambda found, batch: seen[name].extend(found)

    for name, stream in job.outputs.items():
        stream.forEachBatch(note(name))
    env.execute("query")
    return seen


def in_order(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Rows without the order in which windows of several keys, or pairs, come."""
    return sorted(repr(dict(row)) for row in found)


def compare(found: dict[str, list[Any]], case: Case) -> None:
    assert list(found) == list(case.outputs)
    for name, expected in case.outputs.items():
        assert in_order([row.asDict() for row in found[name]]) == in_order(expected)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_queries(case: Case) -> None:
    compare(local(case.sql, case.inputs, **case.options), case)


def test_the_page_lists_every_function() -> None:
    page = ROOT / "docs/compat/stream_analytics.md"
    cells = " ".join(" ".join(row) for row in page_rows(page, "What a query may have"))
    named = set(re.findall(r"`([A-Z_0-9]+)`", cells))
    known = {*FUNCTIONS, *SPECIAL, *AGGREGATES, *REFUSED, "LAG", "LAST", "ISFIRST"}
    assert known - {SYSTEM_TIMESTAMP, SYSTEM_WINDOW} <= named


ERRORS = {
    "a function within what is not supported": (
        "SELECT Abs(temp) & 2 AS a FROM Input",
        r"column 8: ABS\(\[temp\]\) & 2 is not supported here",
    ),
    "anomaly detection": (
        "SELECT temp,\n  AnomalyDetection_SpikeAndDip(temp, 95, 120, 'spikesanddips')"
        " OVER (LIMIT DURATION(second, 120)) AS score FROM Input",
        "line 2, column 3: AnomalyDetection_SpikeAndDip is not supported",
    ),
    "geospatial": (
        "SELECT ST_DISTANCE(a, b) FROM Input",
        "line 1, column 8: ST_DISTANCE is not supported",
    ),
    "geospatial in a join": (
        "SELECT 1 AS a FROM Input i JOIN R r ON\nST_WITHIN(i.p, r.area) = 1",
        "line 2, column 1: ST_WITHIN is not supported",
    ),
    "an unknown function": (
        "SELECT temp FROM Input\nWHERE SUBSTRNG(temp, 1, 2) = 'a'",
        "line 2, column 7: there is no function SUBSTRNG. Near are SUBSTRING",
    ),
    "a function of the user that is none": (
        "SELECT udf.nothing(temp) FROM Input",
        "column 8: there is no function 'nothing' in udf",
    ),
    "an aggregate of the user": (
        "SELECT UDA.sum(temp) FROM Input",
        "column 8: uda.sum: aggregates",
    ),
    "too many arguments": (
        "SELECT LEN(a, b) FROM Input",
        "column 8: LEN has 2 argument.s., and takes 1",
    ),
    "DISTINCT of two": (
        "SELECT COUNT(DISTINCT device, temp) FROM Input GROUP BY TumblingWindow(s, 1)",
        "column 8: COUNT has 2 argument.s., and takes 1",
    ),
    "DISTINCT of nothing": (
        "SELECT COUNT(DISTINCT ) FROM Input GROUP BY TumblingWindow(s, 1)",
        "column 8: COUNT has 0 argument.s., and takes 1",
    ),
    "an aggregate without a window": (
        "SELECT device, COUNT(*) FROM Input",
        "column 16: COUNT is an aggregate function",
    ),
    "GROUP BY without a window": (
        "SELECT device FROM Input GROUP BY device",
        "column 35: GROUP BY needs a window",
    ),
    "a column that is not grouped": (
        "SELECT device, temp FROM Input GROUP BY device, TumblingWindow(minute, 1)",
        "column 16: temp is neither in GROUP BY nor in an aggregate",
    ),
    "two windows": (
        "SELECT COUNT(*) FROM Input GROUP BY TumblingWindow(s, 1), SlidingWindow(s, 1)",
        "column 59: GROUP BY has one window",
    ),
    "an unknown unit": (
        "SELECT COUNT(*) FROM Input GROUP BY TumblingWindow(secnd, 1)",
        "column 52: secnd is no unit of time. Near are second",
    ),
    "a unit that windows do not have": (
        "SELECT COUNT(*) FROM Input GROUP BY TumblingWindow(month, 1)",
        "column 37: .*month",
    ),
    "LAG without a limit": (
        "SELECT LAG(temp) OVER (PARTITION BY device) FROM Input",
        "column 8: LAG needs OVER .LIMIT DURATION",
    ),
    "LAG without OVER": ("SELECT LAG(temp) FROM Input", "column 8: LAG needs OVER"),
    "a join of streams without DATEDIFF": (
        "SELECT 1 AS a FROM Input a JOIN Input b ON a.device = b.device",
        "column 44: a join of streams needs DATEDIFF.unit, a, b. BETWEEN",
    ),
    "a right join": (
        "SELECT 1 AS a FROM Input a RIGHT JOIN Input b ON DATEDIFF(s, a, b) BETWEEN 0 AND 1",
        "column 39: RIGHT JOIN is not supported",
    ),
    "bounds in months": (
        "SELECT 1 AS a FROM Input a JOIN Input b ON DATEDIFF(month, a, b) BETWEEN 0 AND 1",
        "column 53: a join counts in units of fixed length",
    ),
    "two sources of one name": (
        "SELECT 1 AS a FROM Input JOIN Input ON DATEDIFF(s, Input, Input) BETWEEN 0 AND 1",
        "column 31: two sources are named Input",
    ),
    "a clause behind TIMESTAMP BY": (
        "SELECT t FROM Input TIMESTAMP BY t FOR JSON",
        "column 21: TIMESTAMP BY takes an expression",
    ),
    "a join without a condition": (
        "SELECT a.t FROM Input a TIMESTAMP BY t, Input b TIMESTAMP BY t",
        "column 41: JOIN needs ON",
    ),
    "ids of windows that are the same": (
        "SELECT COUNT(*) FROM Input GROUP BY Windows(Window('a', Tumbling(s, 1)), Window('A', Tumbling(s, 2)))",
        "column 37: the ids of Windows",
    ),
    "ids for some windows": (
        "SELECT COUNT(*) FROM Input GROUP BY Windows(Window('a', Tumbling(s, 1)), Tumbling(s, 2))",
        "column 74: Windows takes",
    ),
    "an unknown input": ("SELECT a FROM Nope", "column 15: there is no input and no step Nope"),
    "reference data first": ("SELECT name FROM R", "column 18: R is reference data"),
    "DISTINCT": ("SELECT DISTINCT device FROM Input", "DISTINCT is not supported"),
    "TOP": ("SELECT TOP 3 device FROM Input", "TOP is not supported"),
    "ORDER BY": ("SELECT device FROM Input ORDER BY device", "ORDER BY is not supported"),
    "an unknown type": (
        "SELECT CAST(temp AS int) FROM Input",
        "column 8: int is no type to cast to",
    ),
    "a subquery in IN": (
        "SELECT temp FROM Input WHERE temp IN (SELECT temp FROM Input)",
        "column 30: IN takes a list of values",
    ),
    "INTO within a step": (
        "WITH s AS (SELECT temp INTO Out FROM Input) SELECT * FROM s",
        "column 29: INTO belongs to the SELECT",
    ),
    "TIMESTAMP BY of a step": (
        "WITH s AS (SELECT temp, t FROM Input) SELECT * FROM s TIMESTAMP BY t",
        "column 53: TIMESTAMP BY belongs to an input",
    ),
    "a frame of rows": (
        "SELECT SUM(temp) OVER (ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM Input",
        "not supported",
    ),
    "another statement": (
        "DROP TABLE Input",
        "line 1, column 1: DROP begins no query",
    ),
    "a type of a column that is none": (
        "CREATE TABLE Input (a bigint, b int) SELECT a FROM Input",
        "column 33: int is no type",
    ),
    "columns that are not there": ("CREATE TABLE Input SELECT 1", "column 1: write CREATE TABLE"),
    "a word that is reserved": (
        "SELECT temp, for FROM Input",
        "column 14: the text cannot be parsed at 'for': .*To name a column, write .for.\\.$",
    ),
    "a clause without its operand": (
        "SELECT temp, or FROM Input",
        "column 17: the text cannot be parsed at 'FROM': something is missing there",
    ),
    "what cannot be parsed": (
        "SELECT a FROM Input WHERE\n  a = = 2",
        "line 2, column 7: the text cannot be parsed",
    ),
    "nothing": ("-- nothing", "the text has no SELECT"),
}


def test_errors_say_where() -> None:
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    inputs = {"Input": env.fromCollection(READINGS)}
    for kind, (sql, message) in ERRORS.items():
        said = "nothing"
        try:
            query(sql, inputs, {"R": [{"name": "a"}]})
        except IllegalArgumentError as error:
            said = str(error)
        assert re.search(message, said), kind


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT temp / 0 AS a FROM Input", "line 1, column 8: .*division by zero"),
        ("SELECT CAST(device AS bigint) AS a FROM Input", "line 1, column 8: CAST: 'a' .nvarchar"),
        ("SELECT temp FROM Input WHERE\n device > 1", "line 2, column 2: .*is no number"),
        (
            "SELECT temp FROM Input TIMESTAMP BY nothing",
            "column 37: TIMESTAMP BY of Input: None .NULL. is no",
        ),
        ("SELECT udf.bad(temp) AS a FROM Input", "column 8: udf.bad has raised ZeroDivisionError"),
        (
            "SELECT SUM(device) AS a FROM Input TIMESTAMP BY t GROUP BY TumblingWindow(s, 9)",
            "column 8: SUM: 'a'",
        ),
    ],
)
def test_values_that_an_expression_cannot_take(sql: str, message: str) -> None:
    with pytest.raises(FlinkishError, match=message):
        local(sql, {"Input": READINGS}, udf={"bad": lambda value: value / 0})


class TestEventOrdering:
    SQL = "SELECT id, System.Timestamp() AS at FROM Input TIMESTAMP BY t"
    EVENTS = rows(
        "id t arrived",
        "1 08:00:00 08:00:00",
        "2 08:00:10 08:00:10",
        "3 08:00:07 08:00:11",
        "4 08:00:00 08:00:12",
    )

    def test_late_and_disordered_events_are_adjusted(self) -> None:
        ordering = EventOrdering(
            eventsLateArrivalMaxDelayInSeconds=5, eventsOutOfOrderMaxDelayInSeconds=2
        )
        found = local(self.SQL, {"Input": self.EVENTS}, ordering=ordering, arrivalTime="Arrived")
        # 3 is behind the watermark of 08:00:08; 4 is late, becomes 08:00:07, and is behind it too
        expected = [(1, "08:00:00"), (3, "08:00:08"), (4, "08:00:08"), (2, "08:00:10")]
        assert found["output"] == [Row(id=i, at=at(clock)) for i, clock in expected]

    def test_without_arrival_times_none_is_late(self) -> None:
        ordering = EventOrdering(eventsOutOfOrderMaxDelayInSeconds=30)
        found = local(self.SQL, {"Input": self.EVENTS}, ordering=ordering)
        assert [row.id for row in found["output"]] == [1, 4, 3, 2]

    def test_substreams(self) -> None:
        sql = "SELECT id, COUNT(*) AS n FROM Input TIMESTAMP BY t OVER id GROUP BY id, TumblingWindow(s, 5)"
        events = rows("id t", "1 08:00:01", "1 08:00:10", "2 08:00:02", "2 08:00:04", "1 08:00:11")
        found = local(sql, {"Input": events}, arrivalTime={"Input": lambda event, t: 1714982400000})
        assert in_order([row.asDict() for row in found["output"]]) == in_order(
            rows("id n", "1 1", "1 1", "1 1", "2 2")
        )


COLUMN = [
    "SELECT i.{0} AS a, {0} FROM Input i TIMESTAMP BY {0} WHERE {0} > 0",
    "SELECT {0} AS a, i.{0} FROM Input i TIMESTAMP BY i.{0} OVER {0}",
    "SELECT MAX({0}) AS a, {0} FROM Input TIMESTAMP BY {0} GROUP BY {0}, TumblingWindow(s, 1)",
    "SELECT LAST({0}) OVER (PARTITION BY {0} LIMIT DURATION(s, 1) WHEN {0} > 0) AS a, {0}"
    " FROM Input TIMESTAMP BY {0}",
]


@pytest.mark.parametrize("sql", COLUMN)
def test_the_commonest_column_needs_no_quotes(sql: str) -> None:
    found = local(sql.format("timestamp"), {"Input": [{"timestamp": 5_000}]})
    assert found == {"output": [Row(a=5_000, timestamp=5_000)]}


def test_words_that_are_not_reserved_are_names() -> None:
    """Whatever sqlglot knows them as."""
    words = {word for word in TSQL.tokenizer_class.KEYWORDS if word.replace("_", "").isalpha()}
    for word in sorted((words | {"VALUE", "TYPE", "COUNT"}) - RESERVED - LITERALS):
        for sql in (
            *COLUMN,
            "SELECT {0}.n AS a FROM {0} {0} TIMESTAMP BY n",
            "WITH {0} AS (SELECT CAST({0} AS bigint) AS {0} FROM Input) SELECT {0} + 1 AS n INTO {0} FROM {0}",
            "SELECT a.{0} FROM Input a JOIN Input b ON DATEDIFF(s, a, b) = 0 AND a.{0} = b.{0}",
        ):
            Text(sql.format(word.lower()))


class TestWithoutTimestampBy:
    SQL = "SELECT id, System.Timestamp() AS at FROM Input"

    def test_events_have_the_time_at_which_they_were_enqueued(self) -> None:
        sql = "SELECT COUNT(*) AS n, System.Timestamp() AS until FROM Input GROUP BY TumblingWindow(s, 10)"
        events = rows("id EventEnqueuedUtcTime", "1 08:00:01", "2 08:00:09", "3 08:00:12")
        found = local(sql, {"Input": events})["output"]
        assert found == [Row(n=n, until=at(c)) for n, c in ((2, "08:00:10"), (1, "08:00:20"))]
        given = local(self.SQL, {"Input": events}, arrivalTime="id")["output"]
        assert [row.at.timestamp() for row in given] == [0.001, 0.002, 0.003]

    def test_without_that_they_have_the_time_of_the_clock(self) -> None:
        harness = StreamTestHarness(
            lambda stream: query(self.SQL, {"Input": stream}).outputs["output"]
        )
        harness.setProcessingTime(5_000)
        for event in (*rows("id eventEnqueuedUtcTime", "1 -", "2 08:00:01"), '{"id": 3}'):
            harness.processElement(event)
        times = [
            element.timestamp
            for element in harness.getOutput()
            if isinstance(element, StreamRecord)
        ]
        assert times == [5_000, 1714982401000, 1714982401000]

    def test_a_time_that_is_none_is_named(self) -> None:
        with pytest.raises(FlinkishError, match="EventEnqueuedUtcTime of input Input: 'soon'"):
            local(self.SQL, {"Input": [{"id": 1, "EventEnqueuedUtcTime": "soon"}]})


@pytest.mark.parametrize("start", [at("08:00:20"), 1714982420000, "2024-05-06T08:00:20Z"])
def test_outputs_begin_at_a_time_with_whole_windows(start: Any) -> None:
    sql = "SELECT COUNT(*) AS n FROM Input TIMESTAMP BY t GROUP BY HoppingWindow(s, 20, 10)"
    assert local(sql, {"Input": READINGS})["output"] == [Row(n=n) for n in (3, 4, 2, 1)]
    found = local(sql, {"Input": READINGS}, outputStartTime=start)
    assert found["output"] == [Row(n=n) for n in (4, 2, 1)]


def test_elements_of_any_kind() -> None:
    """Rows, texts of JSON, and milliseconds as times."""
    found = local(
        "SELECT a.id, b.n FROM A a TIMESTAMP BY t JOIN B b TIMESTAMP BY t ON a.id = b.id"
        " AND DATEDIFF(second, a, b) BETWEEN -1 AND 0",
        {
            "A": [Row(id=1, t=1_000)],
            "B": ['{"id": "1", "n": null, "t": 500}', '{"id": 2, "t": 500}'],
        },
    )
    assert found == {"output": [Row(id=1, n=None)]}


def test_a_chain_of_joins() -> None:
    """The time of the first source still counts in the second join."""
    found = local(
        """SELECT a.id, b.v AS b, c.v AS c FROM A a TIMESTAMP BY t
           JOIN B b TIMESTAMP BY t ON DATEDIFF(second, a, b) BETWEEN 0 AND 5 AND a.id = b.id
           LEFT JOIN C c TIMESTAMP BY t ON DATEDIFF(second, a, c) BETWEEN 0 AND 1 AND a.id = c.id""",
        {
            "A": rows("id t", "1 08:00:00", "2 08:00:00"),
            "B": rows("id t v", "1 08:00:05 5", "2 08:00:04 4"),
            "C": rows("id t v", "1 08:00:01 1", "2 08:00:02 2"),
        },
    )
    assert in_order([row.asDict() for row in found["output"]]) == in_order(
        [{"id": 1, "b": 5, "c": 1}, {"id": 2, "b": 4, "c": None}]
    )


def test_a_record_needs_a_record() -> None:
    with pytest.raises(FlinkishError, match="input Input: 5 is no record"):
        local("SELECT * FROM Input", {"Input": [5]})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sql": 5}, "query: sql"),
        ({"inputs": []}, "query: inputs"),
        ({"inputs": {"Input": 5}}, "inputs.'Input'."),
        ({"references": {"R": [5]}}, "references.'R'."),
        ({"udf": {"f": 5}}, "udf.'f'."),
        ({"ordering": 5}, "query: ordering"),
        ({"outputStartTime": "soon"}, "outputStartTime: 'soon'"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    right: dict[str, Any] = {"sql": "SELECT * FROM Input", "inputs": {}}
    with pytest.raises(FlinkishError, match=message):
        query(**{**right, **arguments})
