"""Times that are columns are judged as those of one element after another."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flinkish import ArrivalTimeStrategy, OrderingPolicy, OutputTag
from flinkish.api.plan.operators import ArrivalTimeDescription
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.runtime.columns.arrival_time import ColumnArrivalTime
from flinkish.runtime.operators.output import Output
from flinkish.runtime.records.held_elements import HeldElements
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.time.clock import ProcessingTimeService
from tests.runtime.operators.contexts import operator_context
from tests.runtime.windowing.operators import Recorder

DEAD: OutputTag[Any] = OutputTag("dead")
FAR = 2**62

times = st.integers(-20, 40) | st.sampled_from([-(2**63), -FAR, FAR])
element = st.tuples(st.integers(-20, 40), st.integers(-20, 40), st.sampled_from("abc"))
far_element = st.tuples(times, times, st.sampled_from("abc"))
runs = st.lists(
    st.lists(element, max_size=12)
    | st.lists(far_element, max_size=3)
    | st.integers(0, 9)
    | st.just("restart"),
    max_size=6,
)
tolerances = st.integers(0, 15)
policies = st.sampled_from(OrderingPolicy)


@st.composite
def strategies(draw: st.DrawFn) -> ArrivalTimeStrategy[Any]:
    by_event, by_arrival = draw(st.booleans()), draw(st.booleans())
    return ArrivalTimeStrategy(
        timestampAssigner=(lambda row, timestamp: row.at) if by_event else None,
        arrivalTime=(lambda row, timestamp: row.arrived) if by_arrival else None,
        earlyArrivalTolerance=draw(st.none() | tolerances),
        lateArrivalTolerance=draw(st.none() | tolerances),
        outOfOrderTolerance=draw(tolerances),
        lateArrivalPolicy=draw(policies),
        outOfOrderPolicy=draw(policies),
        inputPartition="partition" if draw(st.booleans()) else None,
        inOrder=draw(st.booleans()),
        deadLetters=DEAD if draw(st.booleans()) else None,
    )


BY_BOTH = ArrivalTimeStrategy[Any](
    timestampAssigner=lambda row, timestamp: row.at,
    arrivalTime=lambda row, timestamp: row.arrived,
    earlyArrivalTolerance=5,
    lateArrivalTolerance=5,
    outOfOrderTolerance=5,
)
AT_THE_BOUNDS = [
    (100 + 7 * n + early, 100 + 7 * n, "ab"[n % 2]) for n, early in enumerate(range(-7, 8))
]
"""Timestamps as early and as late as tolerated, and beyond."""


class Driver:
    """A single operator. ``traces``: its functions may run over columns."""

    def __init__(self, strategy: ArrivalTimeStrategy[Any], traces: bool) -> None:
        self.output: list[tuple[Any, ...]] = []
        output = Output()
        output.connect(Recorder("main", self.output), None)
        output.connect(Recorder("dead", self.output), DEAD.getId())
        self.clock = ProcessingTimeService()
        context = operator_context("Arrival Time", output, self.clock, tracesFunctions=traces)
        self.operator = ColumnArrivalTime(context, ArrivalTimeDescription(strategy))
        self.operator.open()

    def process(self, run: list[tuple[int, int, str]]) -> None:
        columns = {
            "at": pa.array([at for at, _, _ in run], pa.int64()),
            "arrived": pa.array([arrived for _, arrived, _ in run], pa.int64()),
            "partition": pa.array([partition for *_, partition in run], pa.string()),
        }
        values = RowColumns(pa.RecordBatch.from_pydict(columns))
        records = Records(values, np.array([at - 1 for at, _, _ in run] or [], np.int64))
        if self.operator.looksAhead:
            self.operator.expectRecords(records)
        self.operator.processRecords(records)

    def seen(self) -> Any:
        """Return the output, main output and dead letters apart, and the operator's state."""
        main = [item[1:] for item in self.output if item[0] != "dead"]
        dead = [item[1:] for item in self.output if item[0] == "dead"]
        metrics = self.operator.metrics
        counts = [
            metrics.counter(name).getCount()
            for name in ("earlyElements", "lateElements", "outOfOrderElements", "droppedElements")
        ]
        snapshot = self.operator.snapshot()
        held = HeldElements(snapshot.pop("held")).reached(MAX_TIMESTAMP)
        waiting = None if held is None else (list(held.values), held.timestamps.tolist())
        return main, dead, counts, snapshot, waiting


@pytest.mark.takes_columns("ColumnFunction")
@given(strategy=strategies(), steps=runs)
@example(strategy=BY_BOTH, steps=[AT_THE_BOUNDS])
def test_columns_are_judged_as_element_after_element(
    strategy: ArrivalTimeStrategy[Any], steps: list[Any]
) -> None:
    of_columns, one_by_one = Driver(strategy, True), Driver(strategy, False)
    for step in steps:
        for driver in (of_columns, one_by_one):
            if isinstance(step, int):
                driver.clock.advanceTo(driver.clock.getCurrentProcessingTime() + step)
                driver.operator.onPeriodicEmit()
            elif step == "restart":
                driver.operator.restore(pickle.loads(pickle.dumps(driver.operator.snapshot())))
            else:
                driver.process([each for each in step if each[0] > -(2**63)])
    assert of_columns.seen() == one_by_one.seen()
    if strategy.holdsElements:
        # Elements of a partition that is new may be below the watermark: those go on at once
        watermark = -(2**63)
        last = watermark
        for item in one_by_one.output:
            if item[0] == "watermark":
                watermark = item[1]
            elif item[0] == "main" and item[2] > watermark:
                assert item[2] >= last
                last = item[2]
