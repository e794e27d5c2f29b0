"""Time windows: where they begin, and how they merge."""

from __future__ import annotations

import pickle

import pytest

from flinkish import GlobalWindow, MergeCallback, TimeWindow
from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP


class Merged(MergeCallback):
    def __init__(self):
        self.groups = []

    def merge(self, toBeMerged, mergeResult):
        self.groups.append((list(toBeMerged), mergeResult))


@pytest.mark.parametrize(
    ("timestamp", "offset", "size", "start"),
    [
        (0, 0, 10, 0),
        (9, 0, 10, 0),
        (-1, 0, 10, -10),
        (3, 4, 10, -6),
        (3, -4, 10, -4),
        (MIN_TIMESTAMP + 1, 0, 10, MIN_TIMESTAMP - 2),
    ],
)
def test_windows_are_aligned_with_the_offset(timestamp, offset, size, start):
    assert TimeWindow.getWindowStartWithOffset(timestamp, offset, size) == start


def test_windows_that_touch_merge_and_others_stay():
    merged = Merged()
    TimeWindow.mergeWindows(
        [TimeWindow(30, 40), TimeWindow(10, 20), TimeWindow(0, 10), TimeWindow(21, 25)], merged
    )
    assert [(sorted(group), cover) for group, cover in merged.groups] == [
        ([TimeWindow(0, 10), TimeWindow(10, 20)], TimeWindow(0, 20))
    ]


def test_a_window_does_not_merge_with_itself():
    merged = Merged()
    TimeWindow.mergeWindows([TimeWindow(0, 10), TimeWindow(0, 10)], merged)
    assert merged.groups == []


def test_merged_windows_come_in_the_order_of_javas_hash_set():
    # what java.util.HashSet gave for these, with Flink 2.3.0's TimeWindow.hashCode
    merged = Merged()
    TimeWindow.mergeWindows([TimeWindow(n * 3, n * 3 + 4) for n in range(6)], merged)
    order = [window.start // 3 for window in merged.groups[0][0]]
    assert order == [4, 0, 5, 2, 1, 3]


@pytest.mark.parametrize("window", [TimeWindow(1, 2), GlobalWindow.get()])
def test_windows_survive_pickling(window):
    assert pickle.loads(pickle.dumps(window)) == window
    assert type(pickle.loads(pickle.dumps(window))) is type(window)


def test_the_end_of_time_does_not_overflow():
    assert TimeWindow(0, MIN_TIMESTAMP).maxTimestamp() == MAX_TIMESTAMP
    assert GlobalWindow.get().maxTimestamp() == MAX_TIMESTAMP
