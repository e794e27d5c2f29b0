"""Window join and coGroup."""

from __future__ import annotations

import pytest

from flinkish import (
    CoGroupFunction,
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    FlatJoinFunction,
    JoinFunction,
    RichCoGroupFunction,
    RichFlatJoinFunction,
    RichJoinFunction,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
)
from flinkish.api.errors import InvalidProgramError, UnfitElementError
from flinkish.testing import StreamTestHarness

TEN = TumblingEventTimeWindows.of(10)


class Pair(JoinFunction):
    def join(self, first, second):
        return first, second


class EachTwice(FlatJoinFunction):
    def join(self, first, second, out):
        out.collect((first, second))
        out.collect((first, second))


class Sides(CoGroupFunction):
    def coGroup(self, first, second, out):
        out.collect((list(first), list(second)))


def joined(a, b):
    return a.join(b).where(lambda n: n % 2).equalTo(lambda n: n % 2)


def grouped(a, b):
    return a.coGroup(b).where(lambda n: n % 2).equalTo(lambda n: n % 2)


def results(build):
    harness = StreamTestHarness(build)
    for number, timestamp in ((1, 1), (3, 2), (4, 3)):
        harness.processElement1(number, timestamp)
    for number, timestamp in ((5, 1), (7, 12), (8, 12)):
        harness.processElement2(number, timestamp)
    harness.endInput()
    return [(e.value, e.timestamp) for e in harness.getOutput()[:-1]]


@pytest.mark.parametrize(("side", "method"), [(0, "where"), (1, "equalTo")])
def test_an_element_without_a_key_is_named_with_its_side(side, method):
    def build(a, b, allows=False):
        if allows:
            a.getExecutionEnvironment().getConfig().allowNullKeys()
        return a.join(b).where(keys[0]).equalTo(keys[1]).window(TEN).apply(Pair())

    keys = [lambda n: None, lambda n: n] if side == 0 else [lambda n: n, lambda n: None]
    reason = f"the key selector of {method} returned None as the key of the element 3, and"
    with pytest.raises(UnfitElementError, match=reason):
        [StreamTestHarness(build).processElement1, StreamTestHarness(build).processElement2][side](
            3, 1
        )
    keys[:] = [lambda n: None, lambda n: None]
    assert len(results(lambda a, b: build(a, b, allows=True))) == 3


@pytest.mark.parametrize("function", [Pair(), lambda first, second: (first, second)])
def test_a_join_makes_every_pair_of_key_and_window(function):
    pairs = results(lambda a, b: joined(a, b).window(TEN).apply(function))
    assert pairs == [((1, 5), 9), ((3, 5), 9)]


@pytest.mark.parametrize(
    "function",
    [EachTwice(), lambda one, two, out: [out.collect((one, two)), out.collect((one, two))]],
)
def test_a_flat_join_makes_any_number_of_results(function):
    pairs = results(lambda a, b: joined(a, b).window(TEN).apply(function))
    assert [value for value, _ in pairs] == [(1, 5), (1, 5), (3, 5), (3, 5)]


@pytest.mark.parametrize(
    "function",
    [
        Sides(),
        lambda first, second: [(list(first), list(second))],
        lambda first, second, out: out.collect((list(first), list(second))),
    ],
)
def test_a_co_group_sees_windows_with_one_side_only(function):
    groups = results(lambda a, b: grouped(a, b).window(TEN).apply(function))
    assert sorted(groups) == [
        (([], [7]), 19),
        (([], [8]), 19),
        (([1, 3], [5]), 9),
        (([4], []), 9),
    ]


def test_trigger_evictor_and_gap_see_tagged_elements():
    seen = []

    def gap(element):
        seen.append((element.isOne(), element.getOne(), element.getTwo()))
        return 10

    sides = results(
        lambda a, b: (
            grouped(a, b)
            .window(EventTimeSessionWindows.withDynamicGap(gap))
            .trigger(CountTrigger.of(3))
            .evictor(CountEvictor.of(2))
            .apply(Sides())
        )
    )
    assert sides == [(([3], [5]), 11)]
    assert seen[0] == (True, 1, None)
    assert seen[-1] == (False, None, 8)


@pytest.mark.parametrize("build", [joined, grouped])
def test_a_function_that_is_none_is_refused(build):
    with pytest.raises(InvalidProgramError, match="apply: 5 of type int is not a function"):
        results(lambda a, b: build(a, b).window(TEN).apply(5))


class Numbered:
    """Counts the calls of a key in keyed state, opened and closed with the operator."""

    def open(self, openContext):
        descriptor = ValueStateDescriptor("calls", default=0)
        self.calls = self.getRuntimeContext().getState(descriptor)  # type: ignore[attr-defined]

    def number(self):
        self.calls.update(self.calls.value() + 1)
        return self.calls.value()


class NumberedPair(Numbered, RichJoinFunction):
    def join(self, first, second):
        return self.number(), first, second


class NumberedPairs(Numbered, RichFlatJoinFunction):
    def join(self, first, second, out):
        out.collect((self.number(), first, second))


class NumberedSides(Numbered, RichCoGroupFunction):
    def coGroup(self, first, second, out):
        out.collect((self.number(), list(first), list(second)))


@pytest.mark.parametrize("function", [NumberedPair(), NumberedPairs()])
def test_a_rich_join_function_has_keyed_state(function):
    pairs = results(lambda a, b: joined(a, b).window(TEN).apply(function))
    assert pairs == [((1, 1, 5), 9), ((2, 3, 5), 9)]


def test_a_rich_co_group_function_has_keyed_state():
    groups = results(lambda a, b: grouped(a, b).window(TEN).apply(NumberedSides()))
    assert sorted(value for value, _ in groups) == [
        (1, [1, 3], [5]),
        (1, [4], []),
        (2, [], [7]),
        (2, [], [8]),
    ]
