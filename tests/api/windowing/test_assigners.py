"""Assigners: which windows a timestamp goes into, and which parameters are refused."""

from __future__ import annotations

import datetime

import pytest

from flinkish import (
    Duration,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    GlobalWindow,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    Time,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssignerContext,
    WindowStagger,
)
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError


class Clock(WindowAssignerContext):
    def __init__(self, now):
        self.now = now

    def getCurrentProcessingTime(self):
        return self.now


def assigned(assigner, timestamp, now=0, element=None):
    windows = assigner.assignWindows(element, timestamp, Clock(now))
    return [tuple(window) for window in windows]


@pytest.mark.parametrize("timestamp", [-10, -1])
def test_negative_timestamps_align_too(timestamp):
    assert assigned(TumblingEventTimeWindows.of(10), timestamp) == [(-10, 0)]


def test_the_latest_sliding_window_comes_first():
    assert assigned(SlidingEventTimeWindows.of(10, 4), 9) == [(8, 18), (4, 14), (0, 10)]


def test_a_slide_beyond_the_size_leaves_gaps():
    assert assigned(SlidingEventTimeWindows.of(3, 5), 2) == [(0, 3)]
    assert assigned(SlidingEventTimeWindows.of(3, 5), 3) == []


def test_processing_time_windows_go_by_the_clock():
    assert assigned(TumblingProcessingTimeWindows.of(10), 999, now=15) == [(10, 20)]
    assert assigned(SlidingProcessingTimeWindows.of(10, 5), 999, now=15) == [(15, 25), (10, 20)]
    assert assigned(ProcessingTimeSessionWindows.withGap(4), 999, now=15) == [(15, 19)]


def test_a_dynamic_gap_comes_from_the_element():
    class Gap(SessionWindowTimeGapExtractor):
        def extract(self, element):
            return element["gap"]

    assigner = EventTimeSessionWindows.withDynamicGap(Gap())
    assert isinstance(assigner, DynamicEventTimeSessionWindows)
    assert assigned(assigner, 5, element={"gap": 7}) == [(5, 12)]
    with pytest.raises(IllegalArgumentError, match=r"\{'gap': 0\} is 0 ms.*at least 1"):
        assigned(assigner, 5, element={"gap": 0})


def test_the_global_window_takes_everything():
    assert GlobalWindows.create().assignWindows("any", 5, Clock(0)) == (GlobalWindow.get(),)


def test_lengths_of_time_may_be_said_in_three_ways():
    for size in (Time.seconds(5), datetime.timedelta(seconds=5), 5000):
        assert assigned(TumblingEventTimeWindows.of(size), 6000) == [(5000, 10000)]


def test_natural_stagger_begins_windows_with_the_first_element():
    assigner = TumblingEventTimeWindows.of(10, 0, WindowStagger.NATURAL)
    assert assigned(assigner, 4, now=103) == [(3, 13)]
    assert assigned(assigner, 14, now=999) == [(13, 23)]


def test_random_stagger_moves_windows_within_their_size():
    starts = {
        assigned(TumblingEventTimeWindows.of(10, 0, WindowStagger.RANDOM), 100)[0][0]
        for _ in range(200)
    }
    assert len(starts) > 1
    assert all(90 < start <= 100 for start in starts)


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (lambda: TumblingEventTimeWindows.of(0), "size is 0 ms"),
        (lambda: TumblingProcessingTimeWindows.of(10, -10), "offset -10 ms"),
        (lambda: SlidingEventTimeWindows.of(10, 5, 5), "offset 5 ms"),
        (lambda: SlidingProcessingTimeWindows.of(-1, 5), "size is -1 ms"),
        (lambda: EventTimeSessionWindows.withGap(0), "gap is 0 ms"),
        (lambda: TumblingEventTimeWindows.of(0.5), "0.5 is not a length of time"),
    ],
)
def test_parameters_out_of_range_are_refused(make, wrong):
    with pytest.raises(IllegalArgumentError, match=wrong):
        make()


def test_a_gap_that_is_no_function_is_refused():
    with pytest.raises(
        InvalidProgramError, match=r"withDynamicGap: 5 of type int is not a function.*f\(element"
    ):
        EventTimeSessionWindows.withDynamicGap(5)


@pytest.mark.parametrize("gap", [3, Duration.ofMillis(3), datetime.timedelta(milliseconds=3)])
def test_a_gap_of_an_element_is_a_length_of_time(gap):
    assigner = EventTimeSessionWindows.withDynamicGap(lambda element: gap)
    assert assigned(assigner, 100) == [(100, 103)]


@pytest.mark.parametrize("gap", [2.5, None])
def test_a_gap_of_an_element_that_is_none_is_refused(gap):
    assigner = EventTimeSessionWindows.withDynamicGap(lambda element: gap)
    with pytest.raises(
        IllegalArgumentError, match=rf"the gap of the element .*: {gap} is not a length of time"
    ):
        assigned(assigner, 100)


def test_a_length_is_one_of_64_bits():
    assert TumblingEventTimeWindows.of(2**63 - 1).size == 2**63 - 1
    with pytest.raises(IllegalArgumentError, match="which 64 bits do not hold"):
        TumblingEventTimeWindows.of(2**63)
