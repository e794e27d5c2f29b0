"""Windows of a class that has more fields than the bounds."""

from __future__ import annotations

import copy
import pickle

import pytest

from flinkish import (
    EventTimeTrigger,
    InvalidProgramError,
    MergingWindowAssigner,
    StreamExecutionEnvironment,
    TimeWindow,
    WatermarkStrategy,
    WindowAssigner,
)
from flinkish.testing import StreamTestHarness
from tests.streams import values


class Shift(TimeWindow):
    def __init__(self, start, end, name="early", *, crew=()):
        super().__init__(start, end)
        self.name = name
        self.crew = crew

    def __eq__(self, other):
        return tuple(self) == tuple(other) and self.name == other.name

    def __hash__(self):
        return hash((self.start, self.end, self.name))

    def cover(self, other):
        return Shift(min(self.start, other.start), max(self.end, other.end), self.name)


class Day(TimeWindow):
    """Its bounds are computed."""

    def __init__(self, number):
        super().__init__(number * 10, (number + 1) * 10)
        self.number = number


class Shifts(WindowAssigner):
    def assignWindows(self, element, timestamp, context):
        start = timestamp // 10 * 10
        return [Shift(start, start + 10, name) for name in ("early", "late")]

    def getDefaultTrigger(self):
        return EventTimeTrigger.create()

    def isEventTime(self):
        return True


class MergingShifts(MergingWindowAssigner):
    def assignWindows(self, element, timestamp, context):
        return [Shift(timestamp, timestamp + 4, element[0])]

    def mergeWindows(self, windows, callback):
        TimeWindow.mergeWindows(windows, callback)

    def getDefaultTrigger(self):
        return EventTimeTrigger.create()

    def isEventTime(self):
        return True


ELEMENTS = [("a", 1, 5), ("a", 3, 6), ("b", 5, 7), ("a", 14, 8)]
OF_SHIFTS = [
    ("a", 0, 10, "early", [5, 6]),
    ("a", 0, 10, "late", [5, 6]),
    ("b", 0, 10, "early", [7]),
    ("b", 0, 10, "late", [7]),
    ("a", 10, 20, "early", [8]),
    ("a", 10, 20, "late", [8]),
]
MERGED = [("a", 1, 7, "a", [5, 6]), ("b", 5, 9, "b", [7]), ("a", 14, 18, "a", [8])]


def shown(key, context, elements):
    window = context.window()
    yield key, window.start, window.end, window.name, [value for *_, value in elements]


def job(assigner):
    def build(stream):
        strategy = WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
            lambda element, _: element[1]
        )
        timed = stream.assignTimestampsAndWatermarks(strategy)
        return timed.keyBy(lambda e: e[0]).window(assigner()).process(shown)

    return build


EACH = pytest.mark.parametrize(
    ("assigner", "expected"), [(Shifts, OF_SHIFTS), (MergingShifts, MERGED)]
)


@EACH
def test_on_the_harness_with_restarts(assigner, expected):
    harness = StreamTestHarness(job(assigner))
    found = []
    for element in ELEMENTS:
        harness.processElement(element)
        found += values(harness)
        harness = StreamTestHarness.restore(job(assigner), harness.snapshot())
    harness.endInput()
    assert sorted(found + values(harness)) == sorted(expected)


@EACH
def test_in_local_execution(assigner, expected):
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.getConfig().setElementsPerBatch(1)
    assert sorted(job(assigner)(env.fromCollection(ELEMENTS)).executeAndCollect()) == sorted(
        expected
    )


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda w: pickle.loads(pickle.dumps(w))]
)
@pytest.mark.parametrize("window", [Shift(1, 2, "late", crew=("ada",)), Day(3)])
def test_copies_have_the_fields(window, copied):
    other = copied(window)
    assert type(other) is type(window)
    assert (tuple(other), vars(other)) == (tuple(window), vars(window))


def test_bounds_may_be_computed():
    assert (Day(3).start, Day(number=3).end, Day(3).number) == (30, 40, 3)


def test_a_class_without_bounds_is_refused():
    class Unbound(TimeWindow):
        def __init__(self, name):
            self.name = name

    with pytest.raises(InvalidProgramError, match=r"Unbound\.__init__ does not call super"):
        Unbound("x")
