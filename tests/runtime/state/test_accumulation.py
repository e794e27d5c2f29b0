"""A function that forgets to return what it accumulates is refused, wherever it is called."""

from __future__ import annotations

from operator import itemgetter

import pytest

import flinkish as fl
from flinkish.api.errors import UnfitElementError
from flinkish.testing import StreamTestHarness


def key_of(value):
    return value[0]


class Listed(fl.AggregateFunction):
    """Lists its elements; ``forgets``: the method that has no ``return``."""

    def __init__(self, forgets=""):
        self.forgets = forgets

    def createAccumulator(self):
        return []

    def add(self, value, accumulator):
        accumulator.append(value)
        return None if self.forgets == "add" else accumulator

    def getResult(self, accumulator):
        return list(accumulator)

    def merge(self, a, b):
        a.extend(b)
        return None if self.forgets == "merge" else a


def forget(a, b):
    """A reduction without its ``return``."""


def sometimes(a, b):
    """A reduction that forgets it for the first element only."""
    return None if a[1] == 1 else b


WINDOWS = {
    "tumbling": lambda keyed: keyed.window(fl.TumblingEventTimeWindows.of(10)),
    "sliding": lambda keyed: keyed.window(fl.SlidingEventTimeWindows.of(10, 5)),
    "late": lambda keyed: keyed.window(fl.TumblingEventTimeWindows.of(10)).allowedLateness(5),
    "session": lambda keyed: keyed.window(fl.EventTimeSessionWindows.withGap(10)),
    "count": lambda keyed: keyed.countWindow(3),
    "evicted": lambda keyed: keyed.window(fl.TumblingEventTimeWindows.of(10)).evictor(
        fl.CountEvictor.of(5)
    ),
}


@pytest.fixture
def run(run):
    return lambda build: run(build, [("a", n) for n in (1, 2, 3)], timestamp=itemgetter(1))


@pytest.mark.parametrize("windows", WINDOWS.values(), ids=WINDOWS)
def test_an_accumulator_that_is_not_returned_is_refused(windows, run):
    says = r"^mine: Listed.add returned None, .* 'return accumulator' at its end"
    with pytest.raises(UnfitElementError, match=says):
        run(lambda stream: windows(stream.keyBy(key_of)).aggregate(Listed("add")).name("mine"))
    assert run(lambda stream: windows(stream.keyBy(key_of)).aggregate(Listed()))


@pytest.mark.parametrize("reduction", [forget, sometimes])
@pytest.mark.parametrize("windows", WINDOWS.values(), ids=WINDOWS)
def test_a_reduction_that_is_not_returned_is_refused(windows, reduction, run):
    says = r"^mine: the reduce function returned None for \('a', 1\) and \('a', 2\), .* Write 'return' before"
    with pytest.raises(UnfitElementError, match=says):
        run(lambda stream: windows(stream.keyBy(key_of)).reduce(reduction).name("mine"))
    with pytest.raises(UnfitElementError, match=says):
        run(lambda stream: stream.keyBy(key_of).reduce(reduction).name("mine"))


def test_a_merge_that_does_not_return_is_refused():
    def sessions(stream):
        windows = stream.keyBy(key_of).window(fl.EventTimeSessionWindows.withGap(10))
        return windows.aggregate(Listed("merge")).name("mine")

    harness = StreamTestHarness(sessions)
    harness.processElement(("a", 1), 1)
    harness.processElement(("a", 2), 15)
    with pytest.raises(UnfitElementError, match=r"^mine: Listed.merge returned None"):
        harness.processElement(("a", 3), 8)


DESCRIPTORS = {
    "aggregating": (lambda: fl.AggregatingStateDescriptor("s", Listed("add")), "Listed.add"),
    "reducing": (lambda: fl.ReducingStateDescriptor("s", forget), "the reduce function"),
}


@pytest.mark.parametrize("expires", [False, True])
@pytest.mark.parametrize(("descriptor", "says"), DESCRIPTORS.values(), ids=DESCRIPTORS)
def test_states_refuse_it_too(descriptor, says, expires, run):
    class Adds(fl.KeyedProcessFunction):
        def open(self, openContext):
            described = descriptor()
            if expires:
                described.enableTimeToLive(fl.StateTtlConfig.newBuilder(10).build())
            context = self.getRuntimeContext()
            aggregating = isinstance(described, fl.AggregatingStateDescriptor)
            get = context.getAggregatingState if aggregating else context.getReducingState
            self.state = get(described)

        def processElement(self, value, ctx, out):
            self.state.add(value)

    with pytest.raises(UnfitElementError, match=f"^mine: {says} returned None"):
        run(lambda stream: stream.keyBy(key_of).process(Adds()).name("mine"))


class Latest(fl.AggregateFunction):
    """The last number above 2; its accumulator is None as long as there is none."""

    def createAccumulator(self):
        return None

    def add(self, value, accumulator):
        return value[1] if value[1] > 2 else accumulator

    def getResult(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a or b


@pytest.mark.parametrize("windows", WINDOWS.values(), ids=WINDOWS)
def test_an_accumulator_may_be_none_where_it_begins_so(windows, run):
    results = run(lambda stream: windows(stream.keyBy(key_of)).aggregate(Latest()))
    assert set(results) == {3}
