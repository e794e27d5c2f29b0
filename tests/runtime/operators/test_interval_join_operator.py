"""Interval joins, against a model that looks at every pair."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish import OutputTag, ProcessJoinFunction, StreamRecord
from flinkish.api.errors import MissingTimestampError, UserFunctionError
from flinkish.testing import StreamTestHarness

LEFT, RIGHT = OutputTag("left"), OutputTag("right")


def pair(left, right, ctx, out):
    assert ctx.getTimestamp() == max(ctx.getLeftTimestamp(), ctx.getRightTimestamp())
    out.collect((left, right))


def joined(lower, upper):
    return lambda left, right: (
        left.keyBy(lambda element: element[0])
        .intervalJoin(right.keyBy(lambda element: element[0]))
        .between(lower, upper)
        .sideOutputLeftLateData(LEFT)
        .sideOutputRightLateData(RIGHT)
        .process(pair)
    )


TIME = st.integers(-15, 15)
STEP = st.one_of(
    st.tuples(st.sampled_from(["left", "right"]), st.sampled_from("ab"), TIME),
    st.tuples(st.just("watermark"), TIME),
)


class Model:
    """Every element with the time of its arrival; nothing is ever removed, but pairs are judged."""

    def __init__(self, lower: int, upper: int) -> None:
        self.lower, self.upper = lower, upper
        self.watermark = -(2**63)
        self.kept: dict[str, list[tuple[Any, int]]] = {"left": [], "right": []}
        self.pairs: Counter[Any] = Counter()
        self.late: Counter[Any] = Counter()

    def advance(self, watermark: int) -> None:
        self.watermark = watermark
        for side, bound in (("left", self.upper), ("right", -self.lower)):
            self.kept[side] = [
                (element, time)
                for element, time in self.kept[side]
                if time + max(bound, 0) > watermark
            ]

    def arrive(self, side: str, element: Any) -> None:
        time = element[1]
        if time < self.watermark:
            self.late[side, element] += 1
            return
        self.kept[side].append((element, time))
        other = "right" if side == "left" else "left"
        for partner, _ in self.kept[other]:
            left, right = (element, partner) if side == "left" else (partner, element)
            if left[0] == right[0] and self.lower <= right[1] - left[1] <= self.upper:
                self.pairs[left, right] += 1


@given(st.integers(-8, 8), st.integers(0, 8), st.lists(STEP, max_size=40), st.booleans())
def test_joins_the_pairs_that_lie_close(lower, length, steps, restart):
    upper = lower + length
    build = joined(lower, upper)
    harness, model = StreamTestHarness(build), Model(lower, upper)
    pairs: Counter[Any] = Counter()
    late: Counter[Any] = Counter()

    def drain():
        for record in harness.getOutput():
            if isinstance(record, StreamRecord):
                pairs[record.value] += 1
                assert record.timestamp == max(record.value[0][1], record.value[1][1])
        for side, tag in (("left", LEFT), ("right", RIGHT)):
            late.update((side, record.value) for record in harness.getSideOutput(tag))

    for number, (action, *rest) in enumerate(steps):
        if restart and number % 5 == 4:
            drain()
            harness = StreamTestHarness.restore(build, harness.snapshot())
        if action == "watermark":
            if rest[0] > model.watermark:
                model.advance(rest[0])
                harness.processWatermark1(rest[0])
                harness.processWatermark2(rest[0])
        else:
            element = (rest[0], rest[1])
            model.arrive(action, element)
            process = harness.processElement1 if action == "left" else harness.processElement2
            process(element, rest[1])
    harness.endInput()
    drain()
    assert pairs == model.pairs
    assert late == model.late
    assert harness.numKeyedStateEntries() == 0, "everything has been cleaned up"
    assert harness.numEventTimeTimers() == 0


def test_late_elements_are_lost_without_a_side_output():
    harness = StreamTestHarness(
        lambda one, two: (
            one.keyBy(lambda e: 0).intervalJoin(two.keyBy(lambda e: 0)).between(-1, 1).process(pair)
        )
    )
    harness.processWatermark1(10)
    harness.processWatermark2(10)
    harness.processElement1("late", 9)
    harness.processElement2("on time", 10)
    assert harness.getSideOutput(LEFT) == []
    assert harness.numEventTimeTimers() == 1


@pytest.mark.parametrize(("watermark", "pairs"), [(4, 1), (5, 0)])
def test_an_element_at_the_watermark_may_have_lost_its_partner_as_in_flink(watermark, pairs):
    harness = StreamTestHarness(joined(0, 5))
    harness.processElement1(("a", 0), 0)
    harness.processWatermark1(watermark)
    harness.processWatermark2(watermark)
    harness.processElement2(("a", 5), 5)
    assert sum(isinstance(item, StreamRecord) for item in harness.getOutput()) == pairs


def test_bounds_may_be_exclusive():
    def build(one, two):
        join = one.keyBy(lambda e: 0).intervalJoin(two.keyBy(lambda e: 0)).between(0, 2)
        return join.lowerBoundExclusive().upperBoundExclusive().process(pair)

    harness = StreamTestHarness(build)
    for time in range(4):
        harness.processElement1(time, time)
        harness.processElement2(time, time)
    assert {record.value for record in harness.getOutput()} == {(0, 1), (1, 2), (2, 3)}


def test_an_element_without_a_timestamp_is_an_error():
    harness = StreamTestHarness(joined(0, 5))
    with pytest.raises(MissingTimestampError, match="assignTimestampsAndWatermarks"):
        harness.processElement1(("a", 0))


def test_an_error_names_the_element():
    class Fails(ProcessJoinFunction):
        def processElement(self, left, right, ctx, out):
            raise KeyError(left)

    harness = StreamTestHarness(
        lambda one, two: (
            one.keyBy(lambda e: 0)
            .intervalJoin(two.keyBy(lambda e: 0))
            .between(0, 0)
            .process(Fails())
        )
    )
    harness.processElement1("left", 1)
    with pytest.raises(UserFunctionError, match=r"Interval Join: .*on the element 'right'"):
        harness.processElement2("right", 1)


def test_what_a_function_returns_comes_out_whichever_side_comes_last():
    harness = StreamTestHarness(
        lambda one, two: (
            one.keyBy(lambda e: 0)
            .intervalJoin(two.keyBy(lambda e: 0))
            .between(-5, 5)
            .process(lambda left, right, ctx, out: [(left, right)])
        )
    )
    harness.processElement1("a", 1)
    harness.processElement2("b", 2)
    harness.processElement1("c", 3)
    assert [record.value for record in harness.getOutput()] == [("a", "b"), ("c", "b")]
