"""``MergingWindowSet``: sessions, found in their order, merge as the assigner merges all open windows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flinkish import EventTimeSessionWindows, TimeWindow
from flinkish.api.errors import IllegalStateError
from flinkish.api.time.durations import to_long
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.runtime.state.heap import HeapKeyedStateBackend
from flinkish.runtime.windowing.merging_window_set import MergingWindowSet


class AsksForAll(EventTimeSessionWindows):
    """Merges as its base, but is asked for all open windows, as a user's assigner is."""

    def mergeWindows(self, windows, c):
        super().mergeWindows(windows, c)


GAP = 10
STARTS = st.integers(0, 200) | st.integers(MAX_TIMESTAMP - 30, MAX_TIMESTAMP)
WINDOWS = st.tuples(STARTS, st.integers(1, 40)).map(
    lambda w: TimeWindow(w[0], to_long(w[0] + w[1]))
)


class Driver:
    """Open windows of a key, and the merges."""

    def __init__(self, assigner: EventTimeSessionWindows) -> None:
        self.assigner = assigner
        self.backend = HeapKeyedStateBackend()
        self.backend.currentKey = "a"
        self.table = self.backend.table("sets")
        self.merges: list[Any] = []
        self.reload()

    def reload(self) -> None:
        self.windows = MergingWindowSet(self.assigner, self.table, self.backend)

    def merge(self, result: Any, merged: Any, state: Any, merged_states: Any) -> None:
        self.merges.append((result, list(merged), state, list(merged_states)))

    def step(self, step: TimeWindow | str) -> Any:
        if step == "persist":
            self.windows.persist()
            self.reload()
        elif step == "retire":
            for window, _ in sorted(self.table.get("a", None, ()))[:2]:
                if self.windows.getStateWindow(window) is not None:
                    self.windows.retireWindow(window)
        else:
            added = self.windows.addWindow(step, self.merge)
            state_window = self.windows.getStateWindow(added)
            return added, state_window, self.windows.windowOf(state_window)
        return sorted(self.table.get("a", None, ()))


@given(st.lists(WINDOWS | st.sampled_from(["persist", "retire"]), max_size=40))
@example([TimeWindow(0, 10), TimeWindow(25, 35), TimeWindow(7, 17), TimeWindow(16, 26), "persist"])
@example([TimeWindow(0, 10), TimeWindow(20, 30), "persist", TimeWindow(10, 20), "retire"])
@example([TimeWindow(5, 9), TimeWindow(5, 9), TimeWindow(4, 5), TimeWindow(0, 30), "persist"])
def test_sessions_merge_as_all_windows_do(steps: list[Any]) -> None:
    few, every = Driver(EventTimeSessionWindows(GAP)), Driver(AsksForAll(GAP))
    assert [few.step(step) for step in steps] == [every.step(step) for step in steps]
    assert few.merges == every.merges


@given(st.lists(WINDOWS, min_size=1, max_size=6), WINDOWS)
@example([TimeWindow(0, 20), TimeWindow(10, 30)], TimeWindow(29, 40))
def test_windows_of_another_assigner_may_touch(stored: list[Any], window: TimeWindow) -> None:
    few, every = Driver(EventTimeSessionWindows(GAP)), Driver(AsksForAll(GAP))
    for driver in (few, every):
        driver.table.put("a", None, tuple((each, each) for each in dict.fromkeys(stored)))
        driver.reload()
    assert few.step(window) == every.step(window)
    assert few.step("persist") == every.step("persist")
    assert few.merges == every.merges


def test_a_window_that_is_not_open_is_named() -> None:
    driver = Driver(EventTimeSessionWindows(GAP))
    driver.step(TimeWindow(0, 10))
    with pytest.raises(IllegalStateError, match=r"start=1, end=11.*open windows of its key"):
        driver.windows.retireWindow(TimeWindow(1, 11))
