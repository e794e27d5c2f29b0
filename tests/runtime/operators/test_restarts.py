"""A restart anywhere changes nothing, and micro-batches give what element by element gives."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish import (
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    StreamRecord,
    TimeDomain,
    ValueStateDescriptor,
    Watermark,
    WatermarkGenerator,
    WatermarkStrategy,
)
from flinkish.testing import StreamTestHarness
from tests.conformance.families.keyed_process import BothDomains
from tests.conformance.families.two_inputs import RULES, Meeting, Rules
from tests.runtime.micro_batches import MicroBatches

KEYS = st.sampled_from(["k0", "k1", "k2"])
NUMBERS = st.integers(-20, 40)
TIMES = st.integers(0, 100)
EVEN = TIMES.map(lambda time: 2 * time)
ELEMENT = st.tuples(st.just("e"), st.integers(1, 2), KEYS, NUMBERS, TIMES)
WATERMARK = st.tuples(st.just("w"), st.integers(1, 2), TIMES)
CLOCK = st.tuples(st.just("p"), TIMES)
STEPS = st.lists(st.one_of(ELEMENT, ELEMENT, WATERMARK, CLOCK), max_size=40)


class Expiring(KeyedProcessFunction):
    """State of every kind, with and without a time to live, and timers in both domains."""

    def open(self, openContext):
        context = self.getRuntimeContext()
        self.last = context.getState(self.expiring(ValueStateDescriptor("last")))
        self.list = context.getListState(self.expiring(ListStateDescriptor("list")))
        self.map = context.getMapState(MapStateDescriptor("map"))

    def expiring(self, descriptor):
        descriptor.enableTimeToLive(StateTtlConfig.newBuilder(15).updateTtlOnReadAndWrite().build())
        return descriptor

    def processElement(self, value, ctx, out):
        number = value[1]
        self.list.add(number)
        self.map.put(number % 3, number)
        out.collect((*value, self.last.value(), list(self.list.get()), sorted(self.map.entries())))
        self.last.update(number)
        if number % 2:
            ctx.timerService().registerEventTimeTimer(ctx.timestamp() + number)
        else:
            now = ctx.timerService().currentProcessingTime()
            ctx.timerService().registerProcessingTimeTimer(now + abs(number))

    def onTimer(self, timestamp, ctx, out):
        event = ctx.timeDomain() is TimeDomain.EVENT_TIME
        out.collect((ctx.getCurrentKey(), timestamp, event, list(self.list.get())))
        self.map.remove(timestamp % 3)


def key(element):
    return element[0]


def joined(one, two):
    join = one.keyBy(key).intervalJoin(two.keyBy(key)).between(-10, 6)
    return join.process(lambda left, right, ctx, out: out.collect((left, right)))


ONE_INPUT = {
    "process": lambda stream: stream.keyBy(key).process(BothDomains()),
    "ttl": lambda stream: stream.keyBy(key).process(Expiring()),
    "reduce": lambda stream: stream.keyBy(key).reduce(lambda a, b: (a[0], a[1] + b[1])),
    "maxBy": lambda stream: stream.keyBy(key).maxBy(1, False),
    "watermarks": lambda stream: stream.assignTimestampsAndWatermarks(
        WatermarkStrategy.forBoundedOutOfOrderness(5).withIdleness(20)
    ),
    "two in a row": lambda stream: stream.keyBy(key).sum(1).keyBy(key).process(BothDomains()),
}
TWO_INPUTS = {
    "coProcess": lambda one, two: one.keyBy(key).connect(two.keyBy(key)).process(Meeting()),
    "broadcast": lambda one, two: one.keyBy(key).connect(two.broadcast(RULES)).process(Rules()),
    "intervalJoin": joined,
}


def output_of(build: Any, steps: Any, cut: Any, two: bool) -> list[Any]:
    """Return the output, with a restart after every step whose number is in ``cut``."""
    harness = StreamTestHarness(build)
    output: list[Any] = []
    reached = {1: -1, 2: -1}
    for number, step in enumerate(steps):
        match step:
            case ("e", side, name, value, time):
                process = harness.processElement2 if two and side == 2 else harness.processElement
                process((name, value), time)
            case ("w", side, time):
                side = side if two else 1
                if time > reached[side]:
                    reached[side] = time
                    (harness.processWatermark2 if side == 2 else harness.processWatermark)(time)
            case ("p", time):
                harness.setProcessingTime(time)
        if number in cut:
            output.extend(harness.getOutput())
            harness = StreamTestHarness.restore(build, harness.snapshot())
    harness.endInput()
    return [*output, *harness.getOutput()]


@pytest.mark.parametrize("build", ONE_INPUT.values(), ids=ONE_INPUT.keys())
@given(steps=STEPS, cut=st.sets(st.integers(0, 40)))
def test_a_restart_of_one_input_changes_nothing(build, steps, cut):
    whole = output_of(build, steps, (), two=False)
    assert output_of(build, steps, cut, two=False) == whole


@pytest.mark.parametrize("build", TWO_INPUTS.values(), ids=TWO_INPUTS.keys())
@given(steps=STEPS, cut=st.sets(st.integers(0, 40)))
def test_a_restart_of_two_inputs_changes_nothing(build, steps, cut):
    whole = output_of(build, steps, (), two=True)
    assert output_of(build, steps, cut, two=True) == whole


class Marks(WatermarkGenerator):
    """Elements of the key "w" are watermarks, a little above their time."""

    def onEvent(self, event, eventTimestamp, output):
        if event[0] == "w":
            output.emitWatermark(Watermark(eventTimestamp + 1))

    def onPeriodicEmit(self, output):
        pass


def marked(build):
    def job(stream):
        strategy = WatermarkStrategy.forGenerator(lambda context: Marks())
        return build(stream.assignTimestampsAndWatermarks(strategy).filter(lambda e: e[0] != "w"))

    return job


def sides(build):
    return lambda stream: build(
        stream.filter(lambda element: element[1] % 2 == 0), stream.filter(lambda e: e[1] % 2 == 1)
    )


BATCHED = {
    **{name: ONE_INPUT[name] for name in ("process", "reduce", "maxBy", "two in a row")},
    # Which of two inputs a batch reads first is open. An interval join does not mind, unless an
    # element comes just at the watermark that removes its partner: hence the even times.
    "intervalJoin": sides(joined),
}


@pytest.mark.parametrize("build", BATCHED.values(), ids=BATCHED.keys())
@given(
    elements=st.lists(st.tuples(st.sampled_from(["k0", "k1", "k2", "w"]), NUMBERS, EVEN)),
    size=st.integers(1, 15),
    keyGroups=st.integers(1, 4),
)
def test_micro_batches_give_what_the_harness_gives(build, elements, size, keyGroups):
    """With the state in pages, and cut anywhere."""
    harness = StreamTestHarness(marked(build))
    for name, number, time in elements:
        harness.processElement((name, number), time)
    harness.endInput()
    expected = defaultdict(list)
    for record in harness.getOutput():
        if isinstance(record, StreamRecord):
            expected[_key_of(record.value)].append((record.value, record.timestamp))
    stamped = [((name, number), time) for name, number, time in elements]
    batches = [[stamped[i : i + size]] for i in range(0, len(stamped), size)]
    got = defaultdict(list)
    for result in MicroBatches(marked(build), keyGroups).run(batches)[0]:
        got[_key_of(result.value)].append((result.value, result.timestamp))
    unordered = {key: sorted(values, key=repr) for key, values in expected.items()}
    assert {key: sorted(values, key=repr) for key, values in got.items()} == unordered


def _key_of(value: Any) -> Any:
    return next((part for part in value if isinstance(part, str) and part[0] == "k"), None)
