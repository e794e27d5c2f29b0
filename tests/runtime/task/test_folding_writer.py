"""A keyed writer folds run by run, and writes what it folded in a slice as one frame for each key group."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from flinkish import EventTimeTrigger, TumblingEventTimeWindows, WatermarkStatus
from flinkish.api.functions.aggregations import SumAggregator
from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.runtime.columns.panes import PaneFold
from flinkish.runtime.columns.tracing.column_function import ColumnFunction
from flinkish.runtime.records.frames import Frame, decode_frame
from flinkish.runtime.records.keys import key_group_of, stable_hash
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.task import writer as record_writer
from flinkish.runtime.task.gates import FrameRow, Gate, Slice
from flinkish.runtime.task.writer import KeyedRecordWriter

GATE = Gate(1, "target", 0, "a>b>0", 0, True, True)
RUN = 100


@pytest.fixture(autouse=True)
def _short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_writer, "RECORDS_A_FRAME", RUN)


def folding_writer(groups: int, gate: Gate = GATE, key: Any = None) -> KeyedRecordWriter:
    description = WindowOperatorDescription(
        TumblingEventTimeWindows.of(1_000), EventTimeTrigger.create(), aggregation=SumAggregator(1)
    )
    fold = PaneFold.before(description)
    selector = key or (lambda row: row.key)
    columns = ColumnFunction(selector)
    writer = KeyedRecordWriter(gate, "op", selector, range(groups), fold, columns)
    writer.begin(Slice(0, 0))
    return writer


def run_of(numbers: list[int], start: int = 0, keys: Any = "abcd") -> Records:
    """A row for each number, whose keys take turns, a ms apart from ``start`` on."""
    columns = {
        "key": pa.array([keys[n % len(keys)] for n in range(len(numbers))]),
        "number": pa.array(numbers, pa.int64()),
    }
    return Records(RowColumns(pa.record_batch(columns)), np.arange(len(numbers)) + start)


def frames_of(rows: list[FrameRow]) -> dict[int, list[Frame]]:
    found: dict[int, list[Frame]] = {}
    for row in rows:
        found.setdefault(row.key_group, []).append(decode_frame(row.frame))
    return found


def sums(frames: list[Frame]) -> dict[tuple[Any, int], tuple[int, int]]:
    """Sum and count by key and pane."""
    found: dict[tuple[Any, int], tuple[int, int]] = {}
    for frame in frames:
        records = frame.records
        assert records.counts is not None
        for row, time, count in zip(records.values, records.timestamps.tolist(), records.counts):
            key, *_, total = row
            before = found.get((key, time), (0, 0))
            found[key, time] = before[0] + total, before[1] + int(count)
    return found


@pytest.mark.parametrize("groups", [1, 3])
def test_the_runs_of_a_slice_are_one_frame_for_each_key_group(groups: int) -> None:
    writer = folding_writer(groups)
    for number in range(5):
        writer.processRecords(run_of(list(range(RUN)), start=number * 300))
    found = frames_of(writer.finish())
    assert all(len(frames) == 1 for frames in found.values())
    frames = [frame for (frame,) in found.values()]
    by_pane = sums(frames)
    assert by_pane["a", 0] == (4 * sum(range(0, RUN, 4)), 100)
    assert by_pane["d", 1_000] == (sum(range(3, RUN, 4)), 25)
    assert sum(total for total, _ in by_pane.values()) == 5 * sum(range(RUN))
    assert sum(len(frame.records) for frame in frames) == len(by_pane) == 8


def test_marks_come_in_their_order_behind_what_was_folded() -> None:
    writer = folding_writer(1)
    writer.processRecords(run_of(list(range(RUN))))
    writer.processWatermark(40)
    writer.processWatermarkStatus(WatermarkStatus.IDLE)
    writer.processRecords(run_of(list(range(RUN))))
    writer.processWatermarkStatus(WatermarkStatus.ACTIVE)
    writer.processWatermarks([50, 60])
    ((frame,),) = frames_of(writer.finish()).values()
    first, *rest = frame.segments()
    assert isinstance(first, Records)
    assert len(first) == 4
    assert rest == [[40], WatermarkStatus.IDLE, WatermarkStatus.ACTIVE, [50, 60]]


def test_what_is_not_folded_keeps_its_place() -> None:
    """As many keys as elements are not folded, and come behind what came before them."""
    writer = folding_writer(1)
    writer.processRecords(run_of(list(range(RUN))))
    writer.processRecords(run_of(list(range(RUN))))
    writer.processRecords(run_of(list(range(RUN)), keys=[f"key {n}" for n in range(RUN)]))
    writer.processRecords(run_of(list(range(RUN))))
    ((first, second, third),) = frames_of(writer.finish()).values()
    assert [len(frame.records) for frame in (first, second, third)] == [4, RUN, 4]
    assert second.records.counts is None
    assert sums([first])["a", 0] == (2 * sum(range(0, RUN, 4)), 50)


def test_sums_that_leave_64_bits_together_stay_apart() -> None:
    writer = folding_writer(1)
    for _ in range(2):
        writer.processRecords(run_of([2**62, *[0] * (RUN - 1)]))
    ((first, second),) = frames_of(writer.finish()).values()
    assert sums([first]) == sums([second])
    assert sums([first])["a", 0] == (2**62, 25)


def test_a_slice_with_many_keys_is_written_in_between() -> None:
    writer = folding_writer(1)
    keys = [f"key {n}" for n in range(RUN // 2)]
    for _ in range(4):
        writer.processRecords(run_of(list(range(RUN)), keys=keys))
    assert len(writer.rows()) == 2
    assert writer.finish() == []


@pytest.mark.parametrize("groups", [1, 3])
def test_keys_that_are_computed_are_folded(groups: int) -> None:
    writer = folding_writer(groups, key=lambda row: row.number % 3)
    writer.processRecords(run_of(list(range(RUN))))
    found = frames_of(writer.finish())
    by_pane = sums([frame for frames in found.values() for frame in frames])
    assert by_pane == {
        (key, 0): (sum(range(key, RUN, 3)), len(range(key, RUN, 3))) for key in range(3)
    }
    for group, frames in found.items():
        for row in frames[0].records.values:
            assert key_group_of(stable_hash(row[0]), groups) == group


def test_computed_keys_that_are_not_folded_are_those_of_the_elements() -> None:
    writer = folding_writer(1, key=lambda row: row.number * 2)
    writer.processRecords(run_of(list(range(RUN))))
    ((frame,),) = frames_of(writer.finish()).values()
    assert list(frame.records.keys or ()) == [2 * number for number in range(RUN)]
    assert frame.records.counts is None


@pytest.mark.parametrize("key", [lambda row: row.key, lambda row: 0])
def test_what_is_between_two_watermarks_is_folded_by_itself(
    key: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_writer, "RECORDS_A_FRAME", 10 * RUN)
    monkeypatch.setattr(record_writer, "_LEAST_FOLDED", RUN)
    writer = folding_writer(1, replace(GATE, folded=False), key)
    writer.processWatermark(-1)
    for number in range(3):
        writer.processRecords(run_of(list(range(RUN)), start=number * RUN))
        writer.processWatermarkStatus(WatermarkStatus.IDLE)
        writer.processWatermarkStatus(WatermarkStatus.ACTIVE)
        writer.processWatermarks([number, number + 1])
    writer.processRecords(run_of(list(range(RUN)), start=3 * RUN))
    (frames,) = frames_of(writer.finish()).values()
    distinct = len({key(row) for row in run_of(list(range(RUN))).values})
    marks = [WatermarkStatus.IDLE, WatermarkStatus.ACTIVE]
    segments = [each for frame in frames for each in frame.segments()]
    assert [len(each) if isinstance(each, Records) else each for each in segments] == [
        [-1],
        *[part for n in range(3) for part in (distinct, *marks, [n, n + 1])],
        distinct,
    ]
    totals = sums([frame for frame in frames if len(frame.records)])
    assert sum(count for _, count in totals.values()) == 4 * RUN
