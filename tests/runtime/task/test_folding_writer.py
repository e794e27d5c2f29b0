"""A keyed writer folds run by run, and writes what it folded in a slice as one frame for each key group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from flinkish import EventTimeTrigger, TumblingEventTimeWindows, WatermarkStatus
from flinkish.api.functions.aggregations import SumAggregator
from flinkish.api.plan.windows import WindowOperatorDescription
from flinkish.runtime.columns.panes import PaneFold
from flinkish.runtime.records.frames import Frame, decode_frame
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


def folding_writer(groups: int) -> KeyedRecordWriter:
    description = WindowOperatorDescription(
        TumblingEventTimeWindows.of(1_000), EventTimeTrigger.create(), aggregation=SumAggregator(1)
    )
    fold = PaneFold.before(description)
    writer = KeyedRecordWriter(GATE, "op", lambda row: row.key, range(groups), fold)
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


def sums(frames: list[Frame]) -> dict[tuple[str, int], tuple[int, int]]:
    """Sum and count by key and pane."""
    found: dict[tuple[str, int], tuple[int, int]] = {}
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
