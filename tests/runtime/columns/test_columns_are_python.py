"""A function over columns gives Python's results, or does not run over columns: nulls, NaN and missing timestamps that
are handed on without a step. The columns' own checks are off, so that these are the rules themselves."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import flinkish as fl

TABLE = pa.table(
    {
        "k": ["a", "b", "a", "b", "a", "b"],
        "f": [True, None, False, None, True, False],
        "x": [1.0, math.nan, None, -0.0, 2.5, math.inf],
        "n": pa.array([1, 0, 3, None, 2**62, -1], pa.int64()),
        "s": ["", "x", None, " y", "z", "x"],
    }
)


class Timed(fl.ProcessFunction[Any, str]):
    def processElement(self, value, ctx, out):
        out.collect("untimed" if ctx.timestamp() is None else "timed")


class TimedByKey(fl.KeyedProcessFunction[Any, Any, str]):
    def open(self, openContext):
        self.count = self.getRuntimeContext().getState(fl.ValueStateDescriptor("n"))

    def processElement(self, value, ctx, out):
        self.count.update((self.count.value() or 0) + 1)
        out.collect("timed" if ctx.timestamp() is not None else "untimed")


class Formatted:
    def __init__(self, text: str) -> None:
        self.text = text

    def __call__(self, row: Any) -> str:
        return self.text % row.k


JOBS: dict[str, Callable[[Any], Any]] = {
    "bool()": lambda s: s.map(lambda r: (r.k, bool(r.f))),
    "True if": lambda s: s.map(lambda r: True if r.f else False),  # noqa: SIM210
    "False if": lambda s: s.map(lambda r: False if r.f else True),  # noqa: SIM211
    "not not": lambda s: s.map(lambda r: not not r.f),  # noqa: SIM208
    "any": lambda s: s.map(lambda r: any((r.f,))),
    "all": lambda s: s.map(lambda r: all((r.f, r.k))),
    "and": lambda s: s.map(lambda r: r.f and r.k),
    "or": lambda s: s.map(lambda r: r.f or r.k),
    "handed on": lambda s: s.map(lambda r: (r.f, r.x, r.n)),
    "chosen": lambda s: s.map(lambda r: r.f if r.k == "a" else False),
    "filter": lambda s: s.filter(lambda r: bool(r.f)),
    "flatMap": lambda s: s.flatMap(lambda r: [bool(r.f), r.f]),
    "as a key": lambda s: (
        s.keyBy(lambda r: bool(r.f)).map(lambda r: (r.k, 1)).keyBy(lambda t: t[0]).sum(1)
    ),
    "counted by key": lambda s: (
        s.map(lambda r: (bool(r.f), 1))
        .keyBy(lambda t: t[0])
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    ),
    "truth of a float": lambda s: s.map(lambda r: bool(r.x)),
    "truth of a text": lambda s: s.map(lambda r: bool(r.s)),
    "truth of an int": lambda s: s.map(lambda r: True if r.n else False),  # noqa: SIM210
    "NaN in a tuple": lambda s: s.filter(lambda r: r.x is not None).map(
        lambda r: max(r.x, 1.0) in (r.x,)
    ),
    "min of NaN": lambda s: s.filter(lambda r: r.x is not None).map(lambda r: min(r.x, 1.0)),
    "equal to itself": lambda s: s.map(lambda r: r.x == r.x),
    "no placeholder": lambda s: s.map(Formatted("nothing")),
    "placeholder": lambda s: s.map(Formatted("<%s>")),
    "untimed": lambda s: s.process(Timed()),
    "untimed by key": lambda s: s.keyBy("k").process(TimedByKey()),
}


def outcome(job: Callable[[Any], Any], traced: bool) -> Any:
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setParallelism(1).getConfig().setColumnChecks(0)
    if not traced:
        env.getConfig().disableFunctionTracing()
    try:
        return [repr(value) for value in job(env.fromDataFrame(TABLE)).executeAndCollect()]
    except fl.UserFunctionError as error:
        return type(error.__cause__).__name__


@pytest.mark.parametrize("name", JOBS)
def test_columns_give_what_python_gives(name):
    assert outcome(JOBS[name], True) == outcome(JOBS[name], False)
