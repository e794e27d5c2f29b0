"""A generator that looks at every element: columns stay columns, and each watermark follows its element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flinkish import Watermark, WatermarkGenerator, WatermarkStrategy
from flinkish.api.errors import UserFunctionError
from flinkish.api.plan.operators import TimestampsAndWatermarksDescription
from flinkish.api.time.elements import WatermarkStatus
from flinkish.runtime.columns.timestamps import ColumnTimestampsAndWatermarks
from flinkish.runtime.operators.output import Output
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.time.clock import ProcessingTimeService
from tests.runtime.operators.contexts import operator_context
from tests.runtime.windowing.operators import Recorder


class Marked(WatermarkGenerator[Any]):
    """A watermark at each element that says so; -1 is idle, and 9 is an error."""

    def onEvent(self, event, eventTimestamp, output):
        if event.mark == 1:
            output.emitWatermark(Watermark(eventTimestamp))
        elif event.mark == -1:
            output.markIdle()
        elif event.mark == 9:
            raise ValueError("of mark 9")

    def onPeriodicEmit(self, output):
        pass


class StatusRecorder(Recorder):
    """Keeps statuses too, and how many came as columns."""

    columns = 0

    def processRecords(self, records: Records) -> None:
        self.columns += len(records) if isinstance(records.values, RowColumns) else 0
        super().processRecords(records)

    def processWatermarkStatus(self, status: WatermarkStatus) -> None:
        self._kept.append(("status", status))


def seen(runs: list[list[tuple[int, int]]], traces: bool) -> tuple[list[Any], int]:
    """All that comes out, in its order, and how many elements came as columns."""
    found: list[Any] = []
    output = Output()
    recorder = StatusRecorder("main", found)
    output.connect(recorder, None)
    clock = ProcessingTimeService()
    context = operator_context("Timestamps/Watermarks", output, clock, tracesFunctions=traces)
    strategy = WatermarkStrategy.forGenerator(lambda context: Marked())
    timed = strategy.withTimestampAssigner(lambda row, timestamp: row.at * 2)
    operator = ColumnTimestampsAndWatermarks(context, TimestampsAndWatermarksDescription(timed))
    operator.open()
    for run in runs:
        columns = {
            "at": pa.array([at for at, _ in run], pa.int64()),
            "mark": pa.array([mark for _, mark in run], pa.int64()),
        }
        values = RowColumns(pa.RecordBatch.from_pydict(columns))
        operator.processRecords(Records(values, np.zeros(len(run), np.int64)))
    found.append(operator.snapshot()["emitter"])
    return found, recorder.columns


elements = st.tuples(st.integers(-9, 30), st.sampled_from([0, 0, 0, 0, 0, 0, 1, -1]))


@pytest.mark.takes_columns("ColumnFunction")
@given(runs=st.lists(st.lists(elements, max_size=50), max_size=4))
@example(runs=[[(at, int(at == 40)) for at in range(50)]])
def test_watermarks_follow_their_elements(runs: list[list[tuple[int, int]]]) -> None:
    assert seen(runs, True)[0] == seen(runs, False)[0]


def test_columns_stay_columns_where_watermarks_are_few() -> None:
    few = [(at, int(at == 40)) for at in range(100)]
    assert seen([few], True)[1] == 100
    assert seen([[(at, 1) for at in range(100)]], True)[1] == 0


def test_an_error_names_its_element() -> None:
    with pytest.raises(UserFunctionError, match=r"of mark 9[\s\S]*Row\(at=3, mark=9\)"):
        seen([[(at, 9 if at == 3 else 0) for at in range(5)]], True)
