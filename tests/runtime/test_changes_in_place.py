"""Functions that change objects in place: the results are the same however the input is cut into batches."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.compat import storm
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches
from tests.runtime.properties import part_of_examples
from tests.runtime.test_micro_batches import Punctuated
from tests.streams import records

pytestmark = pytest.mark.slow("each example is a job cut in three ways")

RULES = fl.MapStateDescriptor("rules")
TTL = fl.StateTtlConfig.newBuilder(fl.Duration.ofDays(1)).build()


class InEventTime(Punctuated):
    """Every element is a watermark too."""

    def onEvent(self, event, eventTimestamp, output):
        output.emitWatermark(fl.Watermark(eventTimestamp))


def spoil(element, by=100):
    """Change an element, as a careless function does."""
    element["n"] += by
    element["seen"].append(by)
    return element


def shown(element):
    return element["key"], element["n"], tuple(element["seen"])


class States(fl.KeyedProcessFunction):
    """Changes all that it gets from its states and all that it has put there, and emits what they hold."""

    def __init__(self, expires):
        self.expires = expires

    def open(self, openContext):
        class Latest(fl.AggregateFunction):
            def createAccumulator(self):
                return []

            def add(self, value, accumulator):
                accumulator.append(value)
                return accumulator

            def getResult(self, accumulator):
                return accumulator

        context = self.getRuntimeContext()

        def of(descriptor):
            if self.expires:
                descriptor.enableTimeToLive(TTL)
            return descriptor

        self.value = context.getState(of(fl.ValueStateDescriptor("value")))
        self.list = context.getListState(of(fl.ListStateDescriptor("list")))
        self.map = context.getMapState(of(fl.MapStateDescriptor("map")))
        self.reducing = context.getReducingState(
            of(fl.ReducingStateDescriptor("reducing", lambda one, other: spoil(other, one["n"])))
        )
        self.aggregating = context.getAggregatingState(
            of(fl.AggregatingStateDescriptor("aggregating", Latest()))
        )

    def processElement(self, value, ctx, out):
        self.key = ctx.getCurrentKey()
        ctx.timerService().registerEventTimeTimer(ctx.timestamp() + 3)
        self.emit(out, "before")
        if value["n"] % 2:
            self.value.update(value)
            self.list.add(value)
            self.map.put("a", value)
            self.reducing.add(value)
            self.aggregating.add(value)
        if value["n"] % 3 == 0:
            self.list.addAll([value, value])
            self.map.putAll({"b": value})
        spoil(value)
        self.change()
        self.emit(out, "after")

    def onTimer(self, timestamp, ctx, out):
        self.key = ctx.getCurrentKey()
        self.change()
        self.emit(out, "timer")

    def held(self):
        yield from filter(None, (self.value.value(), self.reducing.get(), self.map.get("a")))
        yield from self.list.get()
        yield from self.map.values()
        yield from (value for _, value in self.map.entries())
        yield from self.aggregating.get() or ()

    def change(self):
        for each in self.held():
            spoil(each, 1000)
        (self.aggregating.get() or []).clear()
        listed: Any = self.list.get()
        listed.clear()

    def emit(self, out, when):
        out.collect((self.key, when, *map(shown, self.held())))


class Broadcast(fl.KeyedBroadcastProcessFunction):
    def processElement(self, value, ctx, out):
        rules = ctx.getBroadcastState(RULES)
        for _, rule in rules.immutableEntries():
            spoil(rule)
        if rules.contains("last"):
            out.collect(shown(spoil(rules.get("last"))))

    def processBroadcastElement(self, value, ctx, out):
        ctx.getBroadcastState(RULES).put("last", value)
        for _, rule in ctx.getBroadcastState(RULES).entries():
            spoil(rule)
        spoil(value)


class Window(fl.ProcessWindowFunction):
    """Changes its elements, and what its own states hold."""

    def __init__(self, merges=False):
        self.merges = merges

    def process(self, key, context, elements, out):
        store = context.globalState() if self.merges else context.windowState()
        kept = store.getState(fl.ValueStateDescriptor("kept"))
        total = context.globalState().getListState(fl.ListStateDescriptor("total"))
        out.collect((key, str(context.window()), [shown(spoil(element)) for element in elements]))
        out.collect((key, "kept", kept.value(), len(total.get())))
        for element in elements:
            kept.update(element)
            total.add(element)
            spoil(element)
        for each in total.get():
            spoil(each)


class Kept(fl.AggregateFunction):
    """Keeps the elements themselves, and changes them."""

    def createAccumulator(self):
        return {"key": "", "n": 0, "seen": []}

    def add(self, value, accumulator):
        spoil(value, accumulator["n"])
        accumulator["n"] += 1
        accumulator["key"] = value["key"]
        accumulator["seen"].append(value["n"])
        return accumulator

    def getResult(self, accumulator):
        return accumulator

    def merge(self, one, other):
        return {**one, "n": one["n"] + other["n"], "seen": one["seen"] + other["seen"]}


class Pairs(fl.ProcessJoinFunction):
    def processElement(self, left, right, ctx, out):
        out.collect((shown(spoil(left)), shown(spoil(right))))


def keyed(stream):
    return stream.keyBy(lambda element: element["key"])


def windowed(assigner, lateness=0, trigger=None, evictor=None, function=None, merges=False):
    def build(stream):
        windows = keyed(stream).window(assigner).allowedLateness(lateness)
        if trigger is not None:
            windows = windows.trigger(trigger)
        if evictor is not None:
            windows = windows.evictor(evictor)
        return windows.process(Window(merges)) if function is None else function(windows)

    return build


def reducing(windows):
    return windows.reduce(lambda one, other: spoil(other, one["n"]), Window())


def folded(windows):
    return windows.reduce(lambda one, other: spoil(one, other["n"]), Window(merges=True))


def first(windows):
    return windows.reduce(lambda one, other: spoil(one, other["n"]), Window())


def aggregating(windows):
    return windows.aggregate(Kept(), Window())


def joined(stream):
    by_key = keyed(stream)
    return by_key.intervalJoin(by_key).between(-6, 6).process(Pairs())


def window_joined(stream):
    def pair(left, right):
        return shown(spoil(left)), shown(spoil(right))

    return (
        stream.join(stream)
        .where(lambda element: element["key"])
        .equalTo(lambda element: element["key"])
        .window(fl.SlidingEventTimeWindows.of(10, 5))
        .apply(pair)
    )


def broadcast(stream):
    rules = stream.filter(lambda element: element["n"] % 4 == 0).broadcast(RULES)
    return keyed(stream).connect(rules).process(Broadcast())


def bolt(stream):
    windows = storm.PolicyWindowedStream.of(keyed(stream), storm.Count(3), storm.Count(1))
    return windows.process(lambda window: [[shown(spoil(each)) for each in window.get()]])


def branches(stream):
    changed = stream.map(spoil)
    return changed.map(spoil).union(changed.filter(lambda e: bool(spoil(e))), stream).map(shown)


SLIDING, TUMBLING = fl.SlidingEventTimeWindows.of(10, 5), fl.TumblingEventTimeWindows.of(5)
SESSIONS = fl.EventTimeSessionWindows.withGap(4)

JOBS = {
    "states": lambda stream: keyed(stream).process(States(False)),
    "states that expire": lambda stream: keyed(stream).process(States(True)),
    "sliding": windowed(SLIDING),
    "sliding, late": windowed(SLIDING, 8),
    "sliding, reduced": windowed(SLIDING, 8, function=reducing),
    "sliding, reduced into the first": windowed(SLIDING, 8, function=first),
    "sliding, aggregated": windowed(SLIDING, 8, function=aggregating),
    "sliding, element by element": windowed(SLIDING, 8, fl.CountTrigger.of(2)),
    "sliding, a reduction by element": windowed(SLIDING, 8, fl.CountTrigger.of(2), None, reducing),
    "sliding, an aggregate by element": windowed(
        SLIDING, 8, fl.CountTrigger.of(2), None, aggregating
    ),
    "sliding, evicted": windowed(SLIDING, 8, None, fl.CountEvictor.of(3)),
    "tumbling": windowed(TUMBLING, 9),
    "tumbling, reduced": windowed(TUMBLING, 9, function=reducing),
    "sessions": windowed(SESSIONS, 9, merges=True),
    "sessions, reduced": windowed(SESSIONS, 9, function=folded),
    "sessions, aggregated": windowed(
        SESSIONS, 9, function=lambda windows: windows.aggregate(Kept()).map(shown)
    ),
    "count windows": lambda stream: (
        keyed(stream).countWindow(3, 1).reduce(lambda one, other: spoil(other)).map(shown)
    ),
    "rolling": lambda stream: keyed(stream).reduce(lambda one, two: spoil(one)).map(shown),
    "window join": window_joined,
    "policy windows": bolt,
}

UNORDERED = {"interval join": joined, "branches": branches}
"""The jobs with two inputs, which may come in any order in a batch."""

elements = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 9), st.integers(0, 30)), max_size=10
)


def timed(build):
    strategy: Any = fl.WatermarkStrategy.forGenerator(lambda context: InEventTime())
    strategy = strategy.withTimestampAssigner(lambda element, _: element["at"])
    return lambda stream: build(stream.assignTimestampsAndWatermarks(strategy))


def results_of(build, batches, keeps):
    job = MicroBatches(timed(build), 1, keepsTasks=keeps)
    batches = copy.deepcopy(batches)
    return by_key(job.run([[[(e, None) for e in batch]] for batch in batches])[0])


def by_key(records):
    """The results of each key in their order; among keys it is open."""
    results = {}
    for record in records:
        key = record.value
        while not isinstance(key, str):
            key = key[0]
        results.setdefault(key, []).append(record.value)
    return results


@pytest.mark.parametrize("name", JOBS)
@part_of_examples(3)
@given(elements=elements, cuts=st.sets(st.integers(1, 9)))
def test_changes_in_place_show_alike_in_every_cut(name, elements, cuts):
    stream = [{"key": key, "n": n, "at": at, "seen": []} for key, n, at in elements]
    bounds = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    parts = [stream[a:b] for a, b in pairwise(bounds)]
    whole = results_of(JOBS[name], [stream], True)
    assert results_of(JOBS[name], [[element] for element in stream], False) == whole
    assert results_of(JOBS[name], parts, True) == whole
    harness = StreamTestHarness(timed(JOBS[name]))
    for element in copy.deepcopy(stream):
        harness.processElement(element)
    harness.endInput()
    assert by_key(records(harness)) == whole


@pytest.mark.parametrize("name", UNORDERED)
@part_of_examples(3)
@given(elements=elements)
def test_each_of_two_readers_has_elements_of_its_own(name, elements):
    stream = [{"key": key, "n": n, "at": 5, "seen": []} for key, n, _ in elements]
    whole = results_of(UNORDERED[name], [stream], True)
    singly = results_of(UNORDERED[name], [[element] for element in stream], False)
    assert {k: sorted(v) for k, v in whole.items()} == {k: sorted(v) for k, v in singly.items()}


def test_broadcast_state_hands_out_copies():
    stream = [{"key": "a", "n": n, "at": 1, "seen": []} for n in (4, 1, 3, 5)]
    batches = [stream[:1], stream[1:]], [[element] for element in stream]
    assert results_of(broadcast, batches[0], True) == results_of(broadcast, batches[1], False)


def test_a_window_function_gets_each_element_as_it_came():
    def window(key, window, elements):
        return [shown(spoil(element)) for element in elements]

    build = windowed(SLIDING, function=lambda windows: windows.apply(window))
    stream = [{"key": "a", "n": n, "at": 4 + n, "seen": []} for n in range(4)]
    results = results_of(build, [stream], True)["a"]
    assert [n for _, n, _ in results] == [100, 100, 101, 102, 103, 101, 102, 103]


def test_an_evictor_lets_changes_last_as_in_flink():
    def window(key, window, elements):
        return [shown(spoil(element)) for element in elements]

    build = windowed(
        fl.GlobalWindows.create(),
        trigger=fl.CountTrigger.of(1),
        evictor=fl.CountEvictor.of(2),
        function=lambda windows: windows.apply(window),
    )
    stream = [{"key": "a", "n": n, "at": n, "seen": []} for n in range(3)]
    for batches in ([stream], [[element] for element in stream]):
        results = results_of(build, batches, True)["a"]
        assert [n for _, n, _ in results] == [100, 200, 101, 201, 102]
