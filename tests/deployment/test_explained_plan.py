"""``env.explain()`` predicts how a function runs over the rows of a table."""

from __future__ import annotations

import datetime
import decimal
import functools
import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import flinkish as fl

TABLE = pa.table(
    {
        "k": ["a", "b", "a"],
        "n": [1, 2, 3],
        "x": [1.5, 2.5, 0.5],
        "s": ["u", "v", "w"],
        "f": [True, False, True],
        "at": pa.array([datetime.datetime(2020, 1, 1)] * 3, pa.timestamp("us")),
        "d": pa.array([decimal.Decimal("1.5")] * 3),
    }
)


def add(amount: int, row: Any) -> int:
    return row.n + amount


class AddOne(fl.MapFunction[Any, int]):
    def map(self, value):
        return value.n + 1


class Mean(fl.AggregateFunction[Any, tuple[float, int], float]):
    def createAccumulator(self):
        return 0.0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value.x, accumulator[1] + 1

    def getResult(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


class RunningMean(Mean):
    def add(self, value, accumulator):
        mean, count = accumulator
        return mean + (value.x - mean) / (count + 1), count + 1


class Listed(fl.AggregateFunction[Any, list[int], int]):
    def createAccumulator(self):
        return []

    def add(self, value, accumulator):
        return [*accumulator, value.n]

    def getResult(self, accumulator):
        return len(accumulator)

    def merge(self, a, b):
        return a + b


class Emits(fl.ProcessFunction[Any, int]):
    def processElement(self, value, ctx, out):
        if value.n > 1:
            out.collect(value.n)


class Logs(fl.ProcessFunction[Any, int]):
    def processElement(self, value, ctx, out):
        print(value.n)


def windowed(stream: Any) -> Any:
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
        lambda row, _: row.n
    )
    timed = stream.assignTimestampsAndWatermarks(strategy)
    return timed.keyBy("k").window(fl.TumblingEventTimeWindows.of(1000))


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "a sum": lambda s: s.map(lambda r: r.n + 1),
    "a tuple": lambda s: s.map(lambda r: (r.k, r.n * 2, r.x)),
    "a method": lambda s: s.map(AddOne()),
    "a choice": lambda s: s.map(lambda r: r.n if r.f else 0),
    "one of two types": lambda s: s.map(lambda r: r.n if r.f else r.s),
    "round": lambda s: s.map(lambda r: round(r.x, 2)),
    "sqrt": lambda s: s.map(lambda r: math.sqrt(r.x)),
    "upper": lambda s: s.map(lambda r: r.s.upper()),
    "hour": lambda s: s.map(lambda r: r.at.hour),
    "a decimal": lambda s: s.map(lambda r: r.d + 1),
    "handed on": lambda s: s.map(lambda r: (r.at, r.d)),
    "asDict": lambda s: s.map(lambda r: r.asDict()),
    "a slice": lambda s: s.map(lambda r: r.s[: r.n]),
    "a power": lambda s: s.map(lambda r: r.n**r.n),
    "a square": lambda s: s.map(lambda r: r.n**2),
    "a list": lambda s: s.map(lambda r: [r.n]),
    "a dict": lambda s: s.map(lambda r: {"n": r.n}),
    "an f-string": lambda s: s.map(lambda r: f"{r.n}"),
    "a partial": lambda s: s.map(functools.partial(add, 1)),
    "a missing field": lambda s: s.map(lambda r: getattr(r, "n", 0)),
    "len": lambda s: s.map(lambda r: len(r.s)),
    "filter": lambda s: s.filter(lambda r: r.n > 1),
    "filter by a text": lambda s: s.filter(lambda r: r.s in ("u", "v")),
    "filter that prints": lambda s: s.filter(lambda r: print(r.n) is None),
    "flatMap": lambda s: s.flatMap(lambda r: [r.n, r.n + 1]),
    "flatMap of a split": lambda s: s.flatMap(lambda r: r.s.split()),
    "process": lambda s: s.process(Emits()),
    "process that prints": lambda s: s.process(Logs()),
    "of what a map made": lambda s: (
        s.map(lambda r: (r.k, r.n)).name("first").map(lambda t: t[1] + 1)
    ),
    "of what a filter kept": lambda s: s.filter(lambda r: r.n > 0).map(lambda r: r.at.hour),
    "sum": lambda s: windowed(s).sum("n"),
    "min": lambda s: windowed(s).min("x"),
    "maxBy": lambda s: windowed(s).maxBy("x"),
    "sum of texts": lambda s: windowed(s).max("s"),
    "reduce": lambda s: windowed(s).reduce(lambda p, q: p if p.n > q.n else q),
    "reduce of texts": lambda s: windowed(s).reduce(lambda p, q: p if len(p.s) else q),
    "aggregate": lambda s: windowed(s).aggregate(Mean()),
    "running mean": lambda s: windowed(s).aggregate(RunningMean()),
    "list": lambda s: windowed(s).aggregate(Listed()),
    "behind a window": lambda s: windowed(s).sum("n").map(lambda r: r.n + 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_said_is_what_runs(name, capsys):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setParallelism(1)
    FUNCTIONS[name](env.fromDataFrame(TABLE)).sinkTo(fl.DiscardingSink())
    said = {}
    for line in env.explain().splitlines():
        operator, _, way = line.strip().partition(": ")
        if way and not way.startswith(("key selector", "timestamp assigner")):
            said.setdefault(operator, way)
    for name, metrics in env.execute().getMetrics().items():
        if name in said and "Timestamps" not in name:
            runs = metrics.functions[0] if metrics.functions else None
            way = said.pop(name).removeprefix("aggregation ")
            if runs is not None and runs.runsOverColumns and not runs.runsElementByElement:
                assert way == "over columns"
            else:
                assert way.startswith("element by element, as it ")
    assert not [name for name in said if "Windows" in name or name.startswith(("Map", "Filter"))]


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda s: s.map(lambda r: r), "Map: over columns, where its elements are columns"),
        (lambda s: s.map(lambda r: [r]), "Map: element by element, as it returns a list"),
        (
            lambda s: windowed(s).apply(lambda key, window, values: []),
            "window by window, as it is given all elements of a window",
        ),
    ],
)
def test_what_depends_on_elements_that_are_not_known_says_so(build, said):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
    build(env.fromData(fl.Row(k="a", n=1))).print()
    assert said in env.explain()


class Counts(fl.KeyedProcessFunction[Any, Any, int]):
    def open(self, openContext):
        self.counts = self.getRuntimeContext().getMapState(fl.MapStateDescriptor("counts"))

    def processElement(self, value, ctx, out):
        self.counts.put(value.s, value.n)


def test_of_states_that_open_makes_it_says_what_they_have_to_be():
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
    env.fromDataFrame(TABLE).keyBy("k").process(Counts()).print()
    assert "over columns, if its states turn out to hold counts" in env.explain()
