"""A source of Parquet decodes the columns that the job uses, and nobody sees a difference."""

from __future__ import annotations

import threading
from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from tests.runtime.columns.tracing.random_functions import (
    COLUMNS,
    compiled,
    exactly,
    random_function,
    random_rows,
)
from tests.runtime.formats.parquet_files import damage, undamaged, write

pytestmark = pytest.mark.slow("each example is a job of files")

NAMES = [f"c{number}" for number in range(200)]
WIDE = ", ".join(f"{name} bigint" for name in NAMES)


def local(traced=True):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    if not traced:
        env.getConfig().disableFunctionTracing()
    return env


def wide(path, rows=2_000):
    """A file of 200 columns, of which the first is the time."""
    columns = {
        name: [row * number % 97 for row in range(rows)] for number, name in enumerate(NAMES)
    }
    write(path, pa.table({**columns, "c0": range(rows)}), row_group_size=700)


class Sum(fl.AggregateFunction):
    def createAccumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value.c9

    def getResult(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a + b


def source(env, path, schema=WIDE):
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
        lambda row, _: row.c0
    )
    return env.fromSource(fl.FileSource.forParquet(str(path), schema), strategy, "table")


def sums(rows):
    windows = rows.keyBy(lambda row: row.c3).window(fl.TumblingEventTimeWindows.of(500))
    return windows.aggregate(Sum())


def read_columns(stream):
    """Return the columns of the source of ``stream`` according to ``explain``."""
    stream.print()
    (line,) = [
        line for line in stream.getExecutionEnvironment().explain().splitlines() if "reads " in line
    ]
    return line.strip().removeprefix("Source: table: ")


JOBS = {
    "map": (lambda rows: rows.map(lambda row: (row.c5, row.c7 + 1)), {"c0", "c5", "c7"}),
    "filter, map": (
        lambda rows: rows.filter(lambda row: row.c8 > 50).map(lambda row: row.c7),
        {"c0", "c7", "c8"},
    ),
    "fields by position and name": (
        lambda rows: rows.map(lambda row: row[11] + row["c12"]),
        {"c0", "c11", "c12"},
    ),
    "window": (sums, {"c0", "c3", "c9"}),
    "filter, window": (
        lambda rows: sums(rows.filter(lambda row: row.c8 > 9)),
        {"c0", "c3", "c8", "c9"},
    ),
    "branches": (
        lambda rows: rows.map(lambda row: row.c5).union(rows.map(lambda row: row.c6 * 2)),
        {"c0", "c5", "c6"},
    ),
}


@pytest.mark.parametrize("name", JOBS)
def test_a_job_decodes_the_columns_that_it_uses(tmp_path, name):
    build, used = JOBS[name]
    path = tmp_path / "a.parquet"
    wide(path)
    expected = sorted(map(repr, build(source(local(False), path)).executeAndCollect()))
    assert len(expected) > 100
    damage(path, *({*NAMES} - used))
    assert set(undamaged(path, NAMES)) == used
    assert sorted(map(repr, build(source(local(), path)).executeAndCollect())) == expected
    named = ", ".join(sorted(used, key=NAMES.index))
    assert read_columns(build(source(local(), path))) == f"reads {named} of 200 columns"


WHOLE = {
    "a sink": (lambda rows: rows.filter(lambda row: row.c5 > 9), "Print to Std. Out"),
    "an untraced function": (lambda rows: rows.map(lambda row: (print(), row.c5)), "Map"),
    "a function of None": (lambda rows: rows.map(lambda row: row.c5 is None), "Map"),
    "flatMap": (lambda rows: rows.flatMap(lambda row: [row.c5]), "Flat Map"),
    "a rolling sum": (lambda rows: rows.keyBy("c3").sum("c5"), "Keyed Aggregation"),
    "a process function": (
        lambda rows: rows.keyBy("c3").process(lambda row, ctx, out: [row.c5]),
        "KeyedProcess",
    ),
    "late elements": (
        lambda rows: (
            rows.keyBy("c3")
            .window(fl.TumblingEventTimeWindows.of(500))
            .sideOutputLateData(fl.OutputTag("late"))
            .aggregate(Sum())
        ),
        "TumblingEventTimeWindows",
    ),
    "sessions": (
        lambda rows: (
            rows.keyBy("c3").window(fl.EventTimeSessionWindows.withGap(5)).aggregate(Sum())
        ),
        "EventTimeSessionWindows",
    ),
    "a key that is computed": (
        lambda rows: (
            rows.keyBy(lambda row: row.c3 // 2)
            .window(fl.TumblingEventTimeWindows.of(500))
            .aggregate(Sum())
        ),
        "TumblingEventTimeWindows",
    ),
    "a union": (
        lambda rows: rows.union(rows).map(lambda row: row.c5),
        "Timestamps/Watermarks",
    ),
    "one of two readers": (
        lambda rows: rows.map(lambda row: row.c5).union(rows.map(lambda row: id(row))),
        "Map",
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_reader_that_may_look_at_elements_gets_all_columns(name):
    build, reader = WHOLE[name]
    line = read_columns(build(source(local(), "there/is/none")))
    assert line == f"reads all columns, as {reader} may look at whole elements"


def test_a_reduction_has_all_columns_in_its_result():
    rows = source(local(), "there/is/none").keyBy("c3")
    windows = rows.window(fl.TumblingEventTimeWindows.of(500))
    assert read_columns(windows.sum("c9")) == "reads all 200 columns"


def test_without_tracing_all_columns_are_read(tmp_path):
    build, used = JOBS["window"]
    path = tmp_path / "a.parquet"
    wide(path)
    damage(path, *({*NAMES} - used))
    rows = source(local(False), path)
    assert read_columns(build(rows)).startswith("reads all columns, as functions are not tr")
    with pytest.raises(fl.MalformedRecordError, match=r"a\.parquet cannot be read as"):
        list(build(source(local(False), path)).executeAndCollect())


def test_a_column_that_is_used_must_not_be_damaged(tmp_path):
    path = tmp_path / "a.parquet"
    wide(path)
    damage(path, "c9")
    with pytest.raises(fl.MalformedRecordError, match=r"a\.parquet cannot be read as"):
        list(sums(source(local(), path)).executeAndCollect())


@pytest.mark.parametrize(
    "function",
    [
        lambda row: 1 // (row.c5 - row.c5),
        lambda row: row.c0 // (row.c0 - 1_500),
        lambda row: row.c5 + "text",
    ],
)
def test_an_error_shows_the_whole_element(tmp_path, function):
    path = tmp_path / "a.parquet"
    wide(path)
    messages = []
    for traced in (True, False):
        with pytest.raises(fl.FlinkishError) as caught:
            list(source(local(traced), path).map(function).executeAndCollect())
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "c1=" in messages[0]


def test_keys_too_many_to_be_folded_get_whole_elements(tmp_path):
    path = tmp_path / "a.parquet"
    count = 3_000
    table = {name: range(number, number + count) for number, name in enumerate(NAMES)}
    write(path, pa.table(table), row_group_size=700)
    outcomes = [
        sorted(sums(source(local(traced), path)).executeAndCollect()) for traced in (True, False)
    ]
    assert outcomes[0] == outcomes[1] == [*range(9, count + 9)]


other = False


def either(row):
    return row.c6 if other else row.c5


def switched(value):
    global other
    other = True
    return value


def test_a_function_may_read_another_column_later(tmp_path):
    """The columns that a function reads may depend on outside objects, and change while the job
    runs."""
    for number in range(2):
        wide(tmp_path / f"{number}.parquet", 100)
    files = fl.FileSource.forParquet(str(tmp_path), WIDE).withFilesPerBatch(1)
    for traced in (True, False):
        switched(None)
        globals()["other"] = False
        rows = local(traced).fromSource(files, fl.WatermarkStrategy.noWatermarks(), "table")
        results = list(rows.map(either).map(switched).executeAndCollect())
        assert results == [row * factor % 97 for factor in (5, 6) for row in range(100)]


def test_a_job_that_reads_other_columns_goes_on_from_a_savepoint(tmp_path):
    """The columns read at once are no part of the job's identity: neither of its uids nor of its
    state."""
    directory, savepoint = tmp_path / "in", str(tmp_path / "savepoint")
    directory.mkdir()
    files = fl.FileSource.forParquet(str(directory), WIDE)
    times = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
        lambda row, _: row.c0
    )
    read, found = threading.Event(), []

    def start(files, keep):
        env = local()
        rows = env.fromSource(files, times, "table").filter(keep)
        rows.map(lambda row: row.c0).forEachBatch(lambda values, batch: read.set())
        sums(rows).forEachBatch(lambda values, batch: found.extend(values))
        return env

    wide(directory / "0.parquet", 100)
    client = start(files.monitorContinuously(), lambda row: row.c5 >= 0).executeAsync()
    assert read.wait(30)
    client.stopWithSavepoint(savepoint)
    assert found == []
    wide(directory / "1.parquet", 100)
    env = start(files, lambda row: row.c6 >= 0).setSavepoint(savepoint)
    assert "reads c0, c3, c6, c9 of 200 columns" in env.explain()
    env.execute()
    assert sorted(found) == sorted(summed(2))


def summed(files):
    """The sums of so many files of 100 rows, by key."""
    by_key = Counter()
    for row in range(100):
        by_key[row * 3 % 97] += files * (row * 9 % 97)
    return by_key.values()


# ---------------------------------------------------------------------- random jobs

DDL = {
    pa.int64(): "bigint",
    pa.int8(): "tinyint",
    pa.float64(): "double",
    pa.float32(): "float",
    pa.bool_(): "boolean",
    pa.string(): "string",
    pa.dictionary(pa.int32(), pa.string()): "string",
    pa.timestamp("us"): "timestamp_ntz",
    pa.decimal128(9, 2): "decimal(9, 2)",
}
SCHEMA = ", ".join(f"{name} {DDL[kind]}" for name, (kind, _) in COLUMNS.items())


class Folded(fl.AggregateFunction):
    """Sums up what a function finds, as far as that is an int."""

    def __init__(self, function):
        self.function = function

    def createAccumulator(self):
        return (0, 0)

    def add(self, value, accumulator):
        return (accumulator[0] + self.function(value), accumulator[1] + 1)

    def getResult(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return (a[0] + b[0], a[1] + b[1])


def outcome(traced, path, functions, windows):
    """The results of a job, or the text of its error."""
    env = local(traced)
    times = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
        lambda row, _: row.x
    )
    kept, mapped = functions
    files = fl.FileSource.forParquet(str(path), SCHEMA)
    rows = env.fromSource(files, times, "table").filter(kept)
    if windows:
        stream = (
            rows.keyBy("s").window(fl.TumblingEventTimeWindows.of(50)).aggregate(Folded(mapped))
        )
    else:
        stream = rows.map(mapped)
    try:
        return sorted(repr(exactly(result)) for result in stream.executeAndCollect())
    except fl.FlinkishError as error:
        return str(error)


def check_jobs(directory, seed, count):
    """Run random jobs both ways; returns how many of them had results, and how many an error."""
    random, outcomes = Random(seed), Counter()
    path = directory / "a.parquet"
    for _ in range(count):
        write(path, pa.Table.from_batches([random_rows(random, 40).batch]))
        sources = random_function(random), random_function(random)
        windows = random.random() < 0.4
        found, expected = (
            outcome(traced, path, list(map(compiled, sources)), windows) for traced in (True, False)
        )
        if windows and isinstance(expected, str):
            # Which of two elements is the first to raise, and so what, depends on the way, with or without the columns
            found, expected = (str(text).partition(":")[0] for text in (found, expected))
        assert found == expected, sources
        outcomes["error" if isinstance(found, str) else "results"] += 1
    return outcomes


@given(st.integers(0, 2**32))
def test_random_jobs_give_the_same_with_all_columns(tmp_path_factory, seed):
    check_jobs(tmp_path_factory.mktemp("random"), seed, 2)


def test_random_jobs_have_results_and_errors(tmp_path):
    outcomes = check_jobs(tmp_path, 1, 30)
    assert min(outcomes["results"], outcomes["error"]) >= 4
