"""Operators behind a key that is computed as a column take columns, and give what they give element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pandas as pd
import pytest

from flinkish import (
    CoGroupFunction,
    CountTrigger,
    DataStream,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    KeyedProcessFunction,
    KeyedStream,
    ProcessJoinFunction,
    ProcessWindowFunction,
    PurgingTrigger,
    Row,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    Time,
    TimeWindow,
    TumblingEventTimeWindows,
    Types,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from flinkish.cep import CEP, Pattern
from flinkish.runtime.columns import phase_columns
from tests.benchmarks.jobs import SumAndCount
from tests.column_counts import counted_runs, differences

ROWS = 9_000
SHORT = TumblingEventTimeWindows.of(Time.milliseconds(700))
MINUTE = TumblingEventTimeWindows.of(Time.minutes(1))
SLIDING = SlidingEventTimeWindows.of(Time.seconds(20), Time.seconds(5))
PURGING: PurgingTrigger[Any, Any] = PurgingTrigger.of(EventTimeTrigger.create())


class Place(NamedTuple):
    """A key with a tuple in it."""

    name: tuple[str, int]
    part: int


class Counts(KeyedProcessFunction[Any, Any, Any]):
    """Numbers the elements of each key."""

    def open(self, openContext):
        self.count = self.getRuntimeContext().getState(ValueStateDescriptor("count", Types.LONG()))

    def processElement(self, value, ctx, out):
        count = self.count.value()
        count = 1 if count is None else count + 1
        self.count.update(count)
        if count % 5 == 0:
            out.collect((ctx.getCurrentKey(), value.at, count))


class KeyTakenApart(ProcessWindowFunction[Any, Any, Any, TimeWindow]):
    """Emits the parts of a key by themselves."""

    def process(self, key, context, elements, out):
        first, second = key if isinstance(key, tuple) else (key, 0)
        for total, count in elements:
            out.collect((second, first, total + second, count))


class Pairs(ProcessJoinFunction[Any, Any, Any]):
    """Emits the times of each pair."""

    def processElement(self, left, right, ctx, out):
        out.collect((left.at, right.at, ctx.getTimestamp()))


class ListsOfBoth(CoGroupFunction[Any, Any, Any]):
    """Emits the times of both sides."""

    def coGroup(self, first, second, out):
        out.collect(([each.at for each in first], [each.at for each in second]))


RISES: Pattern[Any, Any] = (
    Pattern[Any, Any]
    .begin("low")
    .where(lambda row: row.value < 100)
    .followedBy("high")
    .where(lambda row: row.value > 900)
    .within(Time.seconds(20))
)


def times(match):
    return [row.at for rows in match.values() for row in rows]


def sizes(key, window, elements):
    yield key, window.maxTimestamp(), len(list(elements))


JOBS: dict[str, tuple[str, Callable[[KeyedStream[Any, Any]], Any]]] = {
    "process": ("PhaseFold", lambda keyed: keyed.process(Counts())),
    "session": (
        "ColumnFold",
        lambda keyed: keyed.window(EventTimeSessionWindows.withGap(70)).aggregate(SumAndCount()),
    ),
    "lateness": (
        "ColumnFold",
        lambda keyed: keyed.window(MINUTE).allowedLateness(9).aggregate(SumAndCount()),
    ),
    "all elements": ("", lambda keyed: keyed.window(MINUTE).apply(sizes)),
    "key taken apart": (
        "WindowFunctionColumns",
        lambda keyed: keyed.window(MINUTE).aggregate(SumAndCount(), KeyTakenApart()),
    ),
    "pattern": ("ColumnFunction", lambda keyed: CEP.pattern(keyed, RISES).select(times)),
    "count": ("ColumnFold", lambda keyed: keyed.countWindow(4).aggregate(SumAndCount())),
    "sliding": (
        "ColumnFold",
        lambda keyed: keyed.window(SLIDING).trigger(PURGING).aggregate(SumAndCount()),
    ),
    "global": (
        "ColumnFold",
        lambda keyed: (
            keyed.window(GlobalWindows.create())
            .trigger(CountTrigger.of(3))
            .aggregate(SumAndCount())
        ),
    ),
}

JOINS: dict[str, tuple[str, Callable[[DataStream[Any], Any], Any]]] = {
    "window join": (
        "PairMap",
        lambda rows, key: (
            rows.join(rows).where(key).equalTo(key).window(SHORT).apply(lambda a, b: (a.at, b.at))
        ),
    ),
    "coGroup": (
        "",
        lambda rows, key: (
            rows.coGroup(rows).where(key).equalTo(key).window(SHORT).apply(ListsOfBoth())
        ),
    ),
    "interval join": (
        "PairFunction",
        lambda rows, key: (
            rows.keyBy(key)
            .intervalJoin(rows.keyBy(key))
            .between(Time.milliseconds(-9), Time.milliseconds(499))
            .process(Pairs())
        ),
    ),
}

KEYS: dict[str, Callable[[Any], Any]] = {
    "number": lambda row: row.value % 97,
    "text": lambda row: row.name.upper(),
    "tuple": lambda row: (row.name, row.value % 3),
    "Row": lambda row: Row(name=row.name, part=row.value % 3),
    "NamedTuple": lambda row: Place((row.name, row.value % 2), row.value % 3),
}


def results(job: Callable[[DataStream[Any]], Any], traced: bool) -> list[Any]:
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setParallelism(2)
    env.getConfig().setElementsPerBatch(ROWS // 3)
    if not traced:
        env.getConfig().disableFunctionTracing()
    numbers = range(ROWS)
    rows = pd.DataFrame(
        {
            "name": [f"n{n * 31 % 89}" for n in numbers],
            "value": [n * 17 % 1009 for n in numbers],
            "at": [n * 5 - n * 7 % 40 for n in numbers],
        }
    )
    strategy: WatermarkStrategy[Any] = WatermarkStrategy.forBoundedOutOfOrderness(
        50
    ).withTimestampAssigner(lambda row, _: row.at)
    with job(env.fromDataFrame(rows, None, strategy)).executeAndCollect() as found:
        return sorted(map(repr, found))


def assert_same(kind: str, job: Callable[[DataStream[Any]], Any]) -> None:
    with counted_runs() as runs:
        over = results(job, traced=True)
    assert over == results(job, traced=False)
    assert over
    assert not kind or runs.taken[kind] > runs.elements[kind]
    assert not differences()


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", JOBS)
def test_columns_give_what_elements_give(
    name: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(phase_columns, "LEAST_ELEMENTS", 1)
    kind, job = JOBS[name]
    assert_same(kind, lambda rows: job(rows.keyBy(KEYS[key])))


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", JOINS)
def test_joins_of_columns_give_what_those_of_elements_give(name: str, key: str) -> None:
    kind, job = JOINS[name]
    assert_same(kind, lambda rows: job(rows, KEYS[key]))
