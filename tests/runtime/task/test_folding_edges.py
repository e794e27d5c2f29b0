"""Elements of columns are folded before the shuffle to their windows, wherever their watermarks come from, and the
results and what is late are those of Rows, which go across one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import flinkish as fl
from flinkish import ArrivalTimeStrategy, DataStream, OrderingPolicy, Row, Time, WatermarkStrategy
from flinkish.api.plan.operators import SourceWatermarksDescription
from flinkish.runtime.columns.aligned_windows import AlignedWindowOperator
from flinkish.runtime.records.records import Records
from flinkish.runtime.task import writer as record_writer
from tests.benchmarks.jobs import SumAndCount
from tests.runtime.micro_batches import MicroBatches
from tests.runtime.properties import part_of_examples

pytestmark = pytest.mark.slow("each example is a job cut in two ways")

Build = Callable[[DataStream[Any]], DataStream[Any]]


class Highest(fl.WatermarkGenerator[Row]):
    """The highest time so far, said at the end of each slice; ``often``: and of each fifth element at once."""

    def __init__(self, often: bool) -> None:
        self.highest = -100
        self.often = often

    def onEvent(self, event: Row, eventTimestamp: int, output: fl.WatermarkOutput) -> None:
        self.highest = max(self.highest, eventTimestamp)
        if self.often and event.value % 5 == 0:
            self.onPeriodicEmit(output)

    def onPeriodicEmit(self, output: fl.WatermarkOutput) -> None:
        output.emitWatermark(fl.Watermark(self.highest - 3))


def generator(often: bool) -> Any:
    strategy = WatermarkStrategy[Row].forGenerator(lambda context: Highest(often))
    return strategy.withTimestampAssigner(lambda row, timestamp: row.at)


def assigned(strategy: Any) -> Build:
    return lambda stream: stream.assignTimestampsAndWatermarks(strategy)


def by_split(strategy: Any) -> Build:
    return lambda stream: stream._transform(
        SourceWatermarksDescription(strategy, lambda row: row.split)
    )


def arrival(partition: Any = None) -> Any:
    return ArrivalTimeStrategy[Row](
        timestampAssigner=lambda row, timestamp: row.at,
        arrivalTime=lambda row, timestamp: row.arrived,
        lateArrivalTolerance=6,
        outOfOrderTolerance=4,
        outOfOrderPolicy=OrderingPolicy.DROP,
        inputPartition=partition,
    )


BOUNDED: Any = WatermarkStrategy.forBoundedOutOfOrderness(4).withTimestampAssigner(
    lambda row, timestamp: row.at
)

STRATEGIES: dict[str, Build] = {
    "bounded": assigned(BOUNDED),
    "idle": assigned(BOUNDED.withIdleness(300)),
    "generator": assigned(generator(often=False)),
    "generator that emits between elements": assigned(generator(often=True)),
    "arrival": assigned(arrival()),
    "arrival by partition": assigned(arrival(lambda row: row.split)),
    "splits": by_split(BOUNDED),
    "splits, generator that emits between elements": by_split(generator(often=True)),
}


def windowed(strategy: Build, size: int, slide: int) -> Build:
    windows = fl.SlidingEventTimeWindows.of(Time.milliseconds(size), Time.milliseconds(slide))

    def build(stream: DataStream[Any]) -> DataStream[Any]:
        return strategy(stream).keyBy(lambda row: row.key).window(windows).aggregate(SumAndCount())

    return build


def run(build: Build, batches: Any, groups: int, columns: bool) -> Any:
    """The results of each batch, how many elements were late, and how far the watermark has come."""
    job = MicroBatches(build, groups, parallelism=groups, columns=columns)
    uid = next(v.uid for v in job.graph.vertices if "Window" in v.head.name)
    reached = []
    for number, batch in enumerate(batches):
        parts = [[(element, None) for element in part] for part in batch]
        job.process(parts, clock=number * 200, tick=True)
        reached.append((job.metrics.watermark(uid), job.metrics.numLateRecordsDropped))
    job.end(len(batches) * 200)
    (results,) = job.results
    found = sorted((r.batch, r.value, r.timestamp) for r in results)
    return found, reached, job.metrics.numLateRecordsDropped


elements = st.builds(
    lambda split, key, value, at, delay: Row(
        split=split, key=key, value=value, at=at, arrived=at + delay
    ),
    st.sampled_from(["s0", "s1", "s2"]),
    st.sampled_from("ab"),
    st.integers(-3, 9),
    st.integers(0, 40),
    st.integers(0, 12),
)
batches = st.lists(
    st.lists(st.lists(elements, min_size=1, max_size=16), min_size=1, max_size=3), max_size=5
)


ROWS = [
    Row(split=f"s{n % 3}", key="ab"[n % 2], value=n, at=n // 10, arrived=n // 10)
    for n in range(200)
]
"""Many elements in each window, in their order."""

QUIET = [Row(**{**row.asDict(), "value": 1}) for row in ROWS[:60]]
"""No generator emits between these."""


@pytest.fixture(autouse=True)
def _short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_writer, "RECORDS_A_FRAME", 7)


@pytest.mark.takes_columns("ColumnFold")
@pytest.mark.parametrize("strategy", STRATEGIES)
@part_of_examples(2)
@given(batches, st.integers(1, 4), st.sampled_from([(10, 10), (40, 20), (100, 100)]))
@example([[QUIET], [ROWS[60:70], ROWS[70:]]], 2, (100, 100))
def test_what_is_folded_gives_what_single_elements_give(
    strategy: str, batches: Any, groups: int, windows: tuple[int, int]
) -> None:
    build = windowed(STRATEGIES[strategy], *windows)
    assert run(build, batches, groups, True) == run(build, batches, groups, False)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_elements_are_folded_where_no_watermark_comes_among_them(
    strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    came: list[tuple[int, int]] = []
    add, process = AlignedWindowOperator._add, AlignedWindowOperator.processRecords

    def noted(operator: AlignedWindowOperator, records: Records, inTime: bool) -> None:
        came.append((len(records), len(records)))
        add(operator, records, inTime)

    def noted_folded(operator: AlignedWindowOperator, records: Records) -> None:
        if records.counts is not None:
            came.append((len(records), int(records.counts.sum())))
        process(operator, records)

    monkeypatch.setattr(AlignedWindowOperator, "_add", noted)
    monkeypatch.setattr(AlignedWindowOperator, "processRecords", noted_folded)
    build = windowed(STRATEGIES[strategy], 100, 100)
    run(build, [[ROWS]], 2, True)
    assert sum(elements for _, elements in came) == 200
    if "between" in strategy:
        assert sum(runs for runs, _ in came) > 100
    else:
        assert sum(runs for runs, _ in came) <= 6
