"""Jobs whose elements, accumulators and results are dicts have the same results over columns."""

from __future__ import annotations

from random import Random

import pytest

import flinkish as fl
from tests.column_counts import counted_runs

SCHEMA = "user string, at long, amount long"


class Statistics(fl.AggregateFunction):
    def createAccumulator(self):
        return {"count": 0, "total": 0, "range": {"low": 1 << 40, "high": -(1 << 40)}}

    def add(self, sale, statistics):
        statistics["count"] += 1
        statistics["total"] += sale["amount"]
        extent = statistics["range"]
        extent["low"] = min(extent["low"], sale["amount"])
        extent["high"] = max(extent["high"], sale["amount"])
        return statistics

    def getResult(self, statistics):
        return {**statistics["range"], "mean": statistics["total"] / statistics["count"]}

    def merge(self, one, other):
        raise NotImplementedError


class InWindow(fl.ProcessWindowFunction):
    def process(self, key, context, results):
        for result in results:
            yield {"user": key, "end": context.window().getEnd(), **result}


def split(sale):
    yield {"user": sale["user"], "part": sale["amount"] // 2}
    if sale["amount"] % 2:
        yield {"user": sale["user"], "part": -1}


def larger(one, other):
    return {**one, "amount": max(one["amount"], other["amount"])}


MINUTE = fl.TumblingEventTimeWindows.of(60_000)

JOBS = {
    "elements": lambda sales: sales.filter(lambda sale: sale["amount"] > 3).flatMap(split),
    "aggregate": lambda sales: (
        sales.keyBy("user").window(MINUTE).aggregate(Statistics(), InWindow())
    ),
    "reduce": lambda sales: (
        sales.keyBy(lambda sale: sale["user"])
        .window(fl.SlidingEventTimeWindows.of(60_000, 20_000))
        .reduce(larger)
    ),
    "rolling": lambda sales: sales.keyBy("user").sum("amount"),
    "sessions": lambda sales: (
        sales.keyBy("user").window(fl.EventTimeSessionWindows.withGap(900)).reduce(larger)
    ),
}


def results(job, path, tracing):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.getConfig().setElementsPerBatch(1500)
    if not tracing:
        env.getConfig().disableFunctionTracing()
    strategy = fl.WatermarkStrategy.forBoundedOutOfOrderness(100).withTimestampAssigner(
        lambda row, _: row.at
    )
    rows = env.fromSource(fl.FileSource.forCsv(str(path), SCHEMA), strategy, "sales")
    sales = rows.map(lambda row: {"user": row.user, "amount": row.amount, "at": {"ms": row.at}})
    return sorted(map(repr, job(sales).executeAndCollect()))


PATHS = {
    "elements": "FlatMapColumns",
    "aggregate": "ColumnFold",
    "reduce": "ColumnFold",
    "rolling": "PhaseFold",
    "sessions": "ColumnFold",
}
"""The class that runs each job over columns, behind the map that makes the dicts."""


@pytest.mark.parametrize("name", JOBS)
def test_dicts_over_columns_are_as_element_by_element(tmp_path, name):
    random = Random(7)
    lines = [
        f"{random.choice('abcde')},{number * 50 + random.randrange(90)},{random.randrange(50)}\n"
        for number in range(4000)
    ]
    path = tmp_path / "sales.csv"
    path.write_text("".join(lines))
    with counted_runs() as runs:
        found = results(JOBS[name], path, tracing=True)
    assert found == results(JOBS[name], path, tracing=False)
    assert found
    assert runs.taken[PATHS[name]], runs.taken
