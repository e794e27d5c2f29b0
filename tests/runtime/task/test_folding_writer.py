"""A keyed writer folds run by run, and writes what it folded in a slice as one frame for each key group."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from flinkish import (
    AggregateFunction,
    EventTimeTrigger,
    Row,
    TumblingEventTimeWindows,
    WatermarkStatus,
)
from flinkish.api.functions.aggregations import SumAggregator
from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.runtime.columns.panes import PaneFold
from flinkish.runtime.columns.tracing.column_function import ColumnFunction
from flinkish.runtime.records import frames
from flinkish.runtime.records.frames import Frame, decode_frame
from flinkish.runtime.records.keys import key_group_of
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.stable_hashes import stable_hash
from flinkish.runtime.task import writer as record_writer
from flinkish.runtime.task.gates import FrameRow, Gate, Slice
from flinkish.runtime.task.writer import KeyedRecordWriter

GATE = Gate(1, "target", 0, "a>b>0", 0, True, True)
RUN = 100


@pytest.fixture(autouse=True)
def _short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_writer, "RECORDS_A_FRAME", RUN)


WINDOW = 1_000
"""The size of the windows, in ms."""


class Sum(AggregateFunction[Row, int, int]):
    def createAccumulator(self) -> int:
        return 0

    def add(self, value: Row, accumulator: int) -> int:
        return accumulator + value.number

    def getResult(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


def folding_writer(
    groups: int, gate: Gate = GATE, key: Any = None, aggregation: Any = None
) -> KeyedRecordWriter:
    """``aggregation`` keeps the first element of each key and pane, if it is not said."""
    description = WindowOperatorDescription(
        TumblingEventTimeWindows.of(WINDOW),
        EventTimeTrigger.create(),
        aggregation=aggregation or SumAggregator(1),
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
    for group, written in found.items():
        for row in written[0].records.values:
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
    monkeypatch.setattr(frames, "SHORTEST_COLUMNS", RUN // 10)
    writer = folding_writer(1, replace(GATE, folded=False), key)
    writer.processWatermark(-1)
    for number in range(3):
        writer.processRecords(run_of(list(range(RUN)), start=number * RUN))
        writer.processWatermarkStatus(WatermarkStatus.IDLE)
        writer.processWatermarkStatus(WatermarkStatus.ACTIVE)
        writer.processWatermarks([number, number + 1])
    writer.processRecords(run_of(list(range(RUN)), start=3 * RUN))
    (written,) = frames_of(writer.finish()).values()
    distinct = len({key(row) for row in run_of(list(range(RUN))).values})
    marks = [WatermarkStatus.IDLE, WatermarkStatus.ACTIVE]
    segments = [each for frame in written for each in frame.segments()]
    assert [len(each) if isinstance(each, Records) else each for each in segments] == [
        [-1],
        *[part for n in range(3) for part in (distinct, *marks, [n, n + 1])],
        distinct,
    ]
    totals = sums([frame for frame in written if len(frame.records)])
    assert sum(count for _, count in totals.values()) == 4 * RUN


AMONG = replace(GATE, folded=False)
"""Its watermarks count where they are."""


def parts_of(written: list[FrameRow]) -> list[list[int]]:
    """Return the number of folded elements of each part, -1 if they were not folded, and the
    watermarks behind it."""
    found: list[list[int]] = []
    for frame in chain.from_iterable(frames_of(written).values()):
        for segment in frame.segments():
            if isinstance(segment, Records):
                found.append([-1 if segment.counts is None else int(segment.counts.sum())])
            else:
                assert isinstance(segment, list)
                found = found or [[0]]
                found[-1].extend(segment)
    return found


def written_among(watermarks: list[int], aggregation: Any) -> list[list[int]]:
    """The parts of as many elements, each of which follows one of ``watermarks``."""
    writer = folding_writer(1, AMONG, aggregation=aggregation)
    run = run_of(list(range(len(watermarks))))
    for number, watermark in enumerate(watermarks):
        writer.processWatermark(watermark)
        writer.processRecords(run.slice(number, number + 1))
    return parts_of(writer.finish())


@pytest.fixture
def _short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_writer, "RECORDS_A_FRAME", 10 * RUN)
    monkeypatch.setattr(record_writer, "_LEAST_FOLDED", RUN // 10)
    monkeypatch.setattr(frames, "SHORTEST_COLUMNS", 1)


HALF = RUN // 2
OVER = [WINDOW - 1 - HALF + number for number in range(RUN)]
"""Watermarks of which the one in the middle ends a window."""


@pytest.mark.usefixtures("_short_parts")
def test_watermarks_at_which_no_window_ends_come_after_the_part() -> None:
    assert written_among(OVER, Sum()) == [
        [0, OVER[0]],
        [HALF, *OVER[1 : HALF + 1]],
        [HALF, *OVER[HALF + 1 :]],
    ]


@pytest.mark.usefixtures("_short_parts")
def test_watermarks_stay_where_the_order_of_the_elements_counts() -> None:
    first = [[-1, watermark] for watermark in OVER[1:]]
    assert written_among(OVER, SumAggregator(1)) == [[0, OVER[0]], *first, [-1]]


@pytest.mark.usefixtures("_short_parts")
@pytest.mark.parametrize("extreme", [-(2**63), 2**63 - 1])
def test_watermarks_at_the_ends_of_the_range(extreme: int) -> None:
    parts = [[0, extreme], [RUN, *[extreme] * (RUN - 1)]]
    assert written_among([extreme] * RUN, Sum()) == parts


@pytest.mark.usefixtures("_short_parts")
def test_a_part_goes_on_in_the_next_frame_but_not_in_the_next_slice() -> None:
    writer = folding_writer(1, AMONG, aggregation=Sum())
    parts = []
    for number in range(2):
        writer.begin(Slice(number, 0))
        for start in (0, RUN):
            writer.processRecords(run_of(list(range(HALF)), start=start))
            writer.processWatermark(start + 5)
            writer.processRecords(run_of(list(range(HALF)), start=start))
            writer._write()
        parts.append(parts_of(writer.finish()))
    assert parts == 2 * [[[HALF, 5], [HALF], [RUN, RUN + 5]]]
