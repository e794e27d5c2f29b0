"""Elements that do not fit columns, and elements that do, in one window: what comes out is as with every function called
element by element, whether the first ones were kept as objects, or the others were folded before the shuffle."""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flinkish as fl
from tests.column_counts import counted_runs

pytestmark = pytest.mark.slow("each case is a job in several forms")

NAN = math.nan


class Lowest(fl.AggregateFunction[Any, float, float]):
    """Keeps a NaN or replaces it, as the comparison has it."""

    def createAccumulator(self):
        return 1e300

    def add(self, value, accumulator):
        return accumulator if accumulator < value.x else value.x

    def getResult(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return min(a, b)


class Latest(fl.AggregateFunction[Any, Any, Any]):
    """Its accumulator becomes None with a null, which is refused."""

    def createAccumulator(self):
        return 0

    def add(self, value, accumulator):
        return value.n

    def getResult(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return b


class CountAndSum(fl.AggregateFunction[Any, tuple[int, int], tuple[int, int]]):
    def createAccumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + 1, accumulator[1] + (value.n or 0)

    def getResult(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


AGGREGATIONS: dict[str, Callable[[Any], Any]] = {
    "sum n": lambda windows: windows.sum("n"),
    "sum x": lambda windows: windows.sum("x"),
    "min x": lambda windows: windows.min("x"),
    "max x": lambda windows: windows.max("x"),
    "max n": lambda windows: windows.max("n"),
    "minBy x": lambda windows: windows.minBy("x"),
    "maxBy x": lambda windows: windows.maxBy("x"),
    "first that is not None": lambda windows: windows.reduce(
        lambda p, q: p if p.n is not None else q
    ),
    "higher": lambda windows: windows.reduce(lambda p, q: p if p.x > q.x else q),
    "None or higher": lambda windows: windows.reduce(
        lambda p, q: q if p.n is None or p.x < q.x else p
    ),
    "last": lambda windows: windows.reduce(lambda p, q: q),
    "Lowest": lambda windows: windows.aggregate(Lowest()),
    "Latest": lambda windows: windows.aggregate(Latest()),
    "CountAndSum": lambda windows: windows.aggregate(CountAndSum()),
}

WINDOWS = {
    "tumbling": fl.TumblingEventTimeWindows.of(1000),
    "sliding": fl.SlidingEventTimeWindows.of(1000, 500),
    "session": fl.EventTimeSessionWindows.withGap(1000),
}

Part = tuple[str, str, list[tuple[Any, Any]]]
"""The types of n and x, and their values."""

PARTS: dict[str, list[Part]] = {
    "nulls": [
        ("int64", "double", [(None, 1.0), (None, 2.0)]),
        ("int64", "double", [(7, 3.0), (8, 0.5), (7, 3.0)]),
    ],
    "NaN": [
        ("int64", "double", [(1, NAN), (2, NAN)]),
        ("int64", "double", [(7, 3.0), (8, 5.5), (9, 4.0)]),
    ],
    "floats and ints": [
        ("double", "double", [(2.0**53, 1.0)]),
        ("int64", "int64", [(1, 1), (1, 1), (1, 2)]),
    ],
    "bools and ints": [
        ("bool", "double", [(True, 1.0)]),
        ("int64", "double", [(1, 1.0), (1, 1.0), (0, 9.0)]),
    ],
    "beyond 64 bits": [
        ("int64", "double", [(2**62, 1.0), (2**62, 1.0)]),
        ("int64", "double", [(2**62, 1.0), (2**62, 1.0), (1, 2.0)]),
    ],
    "zeros": [
        ("int64", "double", [(0, -0.0)]),
        ("int64", "double", [(0, 0.0), (0, -0.0), (1, 0.0)]),
    ],
    "plain": [
        ("int64", "double", [(1, 1.0), (2, 3.0)]),
        ("int64", "double", [(1, 1.0), (5, 1.0), (0, 2.0)]),
    ],
}


def table(part: Part, at: int, note: bool) -> pa.Table:
    of_n, of_x, values = part
    columns = {
        "k": pa.array(["a"] * len(values) + ["b"] * len(values)),
        "n": pa.array([n for n, _ in values] * 2, pa.type_for_alias(of_n)),
        "x": pa.array([x for _, x in values] * 2, pa.type_for_alias(of_x)),
        "t": pa.array([at + i for i in range(len(values))] * 2),
    }
    if note:
        columns["note"] = pa.array(["z"] * 2 * len(values))
    return pa.table(columns)


BY_TIME = fl.WatermarkStrategy.forBoundedOutOfOrderness(5000).withTimestampAssigner(
    lambda row, _: row.t
)


def results(env: fl.StreamExecutionEnvironment, stream: Any, windows: str, function: str) -> Any:
    keyed = stream.assignTimestampsAndWatermarks(BY_TIME).keyBy("k")
    try:
        emitted = AGGREGATIONS[function](keyed.window(WINDOWS[windows])).executeAndCollect()
        return sorted(map(repr, emitted))
    except fl.FlinkishError as error:
        return type(error)


def environment(traced: bool) -> fl.StreamExecutionEnvironment:
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setParallelism(1).getConfig().setColumnChecks(0)
    if not traced:
        env.getConfig().disableFunctionTracing()
    return env


def of_union(windows: str, function: str, parts: list[Part], note: bool, traced: bool) -> Any:
    env = environment(traced)
    first, second = (
        env.fromDataFrame(table(part, 100 + 10 * i, note and i == 1))
        for i, part in enumerate(parts)
    )
    return results(env, first.union(second), windows, function)


def differing(windows: str, kinds: Any, notes: Any, turned: Any) -> list[Any]:
    found = []
    with counted_runs() as counted:
        for function, kind, note, turn in itertools.product(AGGREGATIONS, kinds, notes, turned):
            parts = PARTS[kind][::-1] if turn else PARTS[kind]
            on = of_union(windows, function, parts, note, True)
            off = of_union(windows, function, parts, note, False)
            if on != off:
                found.append((function, kind, note, turn, on, off))
    assert counted.taken["ColumnFold"] > 0
    return found


@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("note", [False, True])
def test_parts_of_two_streams_in_one_window(windows, note):
    kinds = ("NaN", "bools and ints") if note else ("nulls", "floats and ints")
    assert differing(windows, kinds, (note,), (False,)) == []


@pytest.mark.slow("hundreds of jobs")
@pytest.mark.thorough("1,176 jobs, each with and without columns")
@pytest.mark.parametrize("windows", WINDOWS)
def test_parts_of_every_kind_in_one_window(windows):
    assert differing(windows, PARTS, (False, True), (False, True)) == []


def of_files(
    folder: Path, env: fl.StreamExecutionEnvironment, windows: str, function: str, parts: list[Part]
) -> Any:
    folder.mkdir(parents=True, exist_ok=True)
    for number, part in enumerate(parts):
        pq.write_table(table(part, 100 + 10 * number, False), folder / f"{number}.parquet")
    source = fl.FileSource.forParquet(str(folder), "k string, n long, x double, t long")
    return results(
        env, env.fromSource(source.withFilesPerBatch(1), None, "files"), windows, function
    )


@pytest.mark.parametrize("kind", ["nulls", "NaN"])
@pytest.mark.parametrize("windows", WINDOWS)
def test_batches_of_one_source_in_one_window(windows, kind, tmp_path):
    for number, function in enumerate(AGGREGATIONS):
        folder = tmp_path / str(number)
        on, off = (
            of_files(folder, environment(traced), windows, function, PARTS[kind])
            for traced in (True, False)
        )
        assert on == off, function


def test_a_batch_that_needs_its_elements_runs_again(tmp_path, caplog):
    caplog.set_level(logging.INFO, "flinkish")
    parts = PARTS["nulls"]
    found = of_files(tmp_path, environment(True), "tumbling", "first that is not None", parts)
    assert [row.split(", ")[1] for row in found] == ["n=7", "n=7"]
    assert "runs its batch again, element by element" in caplog.text


def test_a_batch_on_spark_that_needs_its_elements_runs_again(env, tmp_path):
    parts = PARTS["nulls"]
    found = of_files(tmp_path, env, "tumbling", "first that is not None", parts)
    assert [row.split(", ")[1] for row in found] == ["n=7", "n=7"]
