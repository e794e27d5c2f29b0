"""With one key group a keyed operator hands on in the order in which it was fed, whatever the keys: what
the engine gives in batches is, record for record and in that order, what the harness gives."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches

ODD = fl.OutputTag("odd")


class Counted(fl.KeyedProcessFunction):
    """Emits each element as often as its key has come, three times at most; odd counts go aside too."""

    def open(self, openContext):
        self.count = self.getRuntimeContext().getState(fl.ValueStateDescriptor("count"))

    def processElement(self, value, ctx, out):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        for _ in range(min(count, 3)):
            out.collect((*value[:2], (value[2] + count) % 4))
        if count % 2:
            ctx.output(ODD, value)


class Delayed(fl.KeyedProcessFunction):
    """Holds elements back. No two timers are due at one instant: of those the order is open."""

    def open(self, openContext):
        self.held = self.getRuntimeContext().getMapState(fl.MapStateDescriptor("held"))

    def processElement(self, value, ctx, out):
        due = ctx.timestamp() * 7 + 300 * value[0]
        while self.held.contains(due):
            due += 700
        self.held.put(due, value)
        ctx.timerService().registerEventTimeTimer(due)
        out.collect(value)

    def onTimer(self, timestamp, ctx, out):
        out.collect(self.held.get(timestamp))
        self.held.remove(timestamp)


def added(a, b):
    return ((a[0] + b[0]) % 5, (a[1] + b[2]) % 4, b[2])


def larger(a, b):
    return a if a >= b else b


STEPS = {
    "map": lambda s, i, j: s.map(lambda v: (v[j], v[i], sum(v) % 4)),
    "filter": lambda s, i, j: s.filter(lambda v: v[i] != 3 or v[j] == 0),
    "sum": lambda s, i, j: s.keyBy(lambda v: v[i] % 4).sum(j),
    "max": lambda s, i, j: s.keyBy(lambda v: v[i]).max(j),
    "min": lambda s, i, j: s.keyBy(lambda v: v[i]).min(j),
    "maxBy": lambda s, i, j: s.keyBy(lambda v: v[i]).maxBy(j),
    "reduce": lambda s, i, j: s.keyBy(lambda v: str(v[i])).reduce(added),
    "larger": lambda s, i, j: s.keyBy(lambda v: v[i]).reduce(larger),
    "process": lambda s, i, j: s.keyBy(lambda v: v[j]).process(Counted()),
    "side output": lambda s, i, j: s.keyBy(lambda v: v[j]).process(Counted()).getSideOutput(ODD),
    "countWindow": lambda s, i, j: s.keyBy(lambda v: v[i]).countWindow(2).reduce(added),
}

steps = st.tuples(st.sampled_from(list(STEPS)), st.integers(0, 2), st.integers(0, 2))
chains = st.lists(steps, min_size=1, max_size=4)
elements = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
batches = st.lists(st.lists(st.lists(elements, max_size=8), max_size=3), max_size=4)


def built(chain: Any, parallelism: int | None = None) -> Any:
    def build(stream):
        for name, i, j in chain:
            stream = STEPS[name](stream, i, j)
            if parallelism is not None and name not in ("map", "filter", "side output"):
                stream.setParallelism(parallelism)
        return stream

    return build


def in_batches(build: Any, batches: Any, keyGroups: int) -> list[Any]:
    job = MicroBatches(build, keyGroups)
    job.run([[[(e, None) for e in part] for part in batch] for batch in batches])
    return [(result.value, result.timestamp) for result in job.results[0]]


def on_harness(build: Any, batches: Any) -> list[Any]:
    harness = StreamTestHarness(build)
    for element in (e for batch in batches for part in batch for e in part):
        harness.processElement(element)
    harness.endInput()
    records = (e for e in harness.getOutput() if isinstance(e, fl.StreamRecord))
    return [(record.value, record.timestamp) for record in records]


@given(chain=chains, batches=batches)
def test_one_key_group_keeps_the_order(chain, batches):
    build = built(chain)
    assert in_batches(build, batches, keyGroups=1) == on_harness(build, batches)


@given(
    chain=st.lists(steps.filter(lambda step: step[0] != "side output"), max_size=4), batches=batches
)
def test_operators_of_parallelism_1_keep_the_order_among_many_key_groups(chain, batches):
    build = built(chain, parallelism=1)
    assert in_batches(build, batches, keyGroups=5) == on_harness(build, batches)


FLINK = [
    (
        "max,0,1 max,2,1",
        "032 113 313 232 120 211 111 213 122 023 132 222 023 131 113 133",
        "032 113 113 032 123 032 123 032 123 032 133 032 032 133 133 133",
    ),
    (
        "map,0,1 process,0,1 countWindow,0,2 reduce,0,2",
        "111 203 231 312 110 231 223 010 232 333 331 332 011",
        "120 203 400 231 413 330 430 023 102 200 300 100",
    ),
    (
        "sum,0,0 maxBy,0,0 process,2,0 reduce,1,0",
        "021 313 011 230 033 012 230 122 332",
        "022 310 013 003 231 000 000 000 011 021 031 101 123 410",
    ),
    (
        "max,2,1 reduce,0,2 sum,2,2 process,2,2",
        "210 000 023 300 130 323 113 321 120 121 333 100 223",
        "211 212 212 020 213 213 213 210 210 210 023 022 322 211 211 211 323 021 212 212 212 020",
    ),
    (
        "sum,0,2 map,1,0",
        "201 122 323 233 223 123",
        "203 121 320 202 201 120",
    ),
    (
        "process,2,2 filter,1,2 map,1,0 sum,0,2 max,0,0",
        "123 012 332 120 301 120 322 212 333 221 213 000 233 210",
        "123 010 332 332 123 332 123 123 332 332 332 211 211 211 211 211 211 211 211 010 010 010 211 211 211",
    ),
    (
        "min,0,0 filter,0,1 maxBy,2,0 max,0,1",
        "112 230 300 210 233 320 010 330 321 121 212 230 112 321 123",
        "112 230 300 300 300 300 300 300 300 112 300 300 112 300 112",
    ),
]
"""(operators, elements, output) of Flink 2.3.0 at parallelism 1; an operator is a name of ``STEPS`` and its
two fields, an element three digits."""


@pytest.mark.parametrize(("chain", "elements", "output"), FLINK)
@pytest.mark.parametrize("size", [1, 5, 100])
def test_the_order_is_that_of_flink(chain, elements, output, size):
    operators = [step.split(",") for step in chain.split()]
    build = built([(name, int(i), int(j)) for name, i, j in operators])
    values = _values(elements)
    cut = [[values[i : i + size]] for i in range(0, len(values), size)]
    assert [value for value, _ in in_batches(build, cut, keyGroups=1)] == _values(output)


def _values(text):
    return [tuple(map(int, element)) for element in text.split()]


class EachIsAWatermark(fl.WatermarkGenerator):
    def onEvent(self, event, eventTimestamp, output):
        output.emitWatermark(fl.Watermark(eventTimestamp))

    def onPeriodicEmit(self, output):
        pass


@given(
    values=st.lists(elements, max_size=20),
    cuts=st.sets(st.integers(1, 19)),
    chain=st.lists(steps, max_size=2),
)
def test_timers_fire_in_one_order_over_all_keys(values, cuts, chain):
    strategy = fl.WatermarkStrategy.forGenerator(lambda context: EachIsAWatermark())
    numbered = [(*value, 100 * number) for number, value in enumerate(values)]

    def build(stream):
        timed = stream.assignTimestampsAndWatermarks(
            strategy.withTimestampAssigner(lambda value, timestamp: value[3])
        )
        delayed = (
            timed.map(lambda value: value[:3]).keyBy(lambda value: value[1]).process(Delayed())
        )
        return built(chain)(delayed)

    bounds = [0, *sorted(cut for cut in cuts if cut < len(numbered)), len(numbered)]
    cut = [[numbered[a:b]] for a, b in itertools.pairwise(bounds)]
    assert in_batches(build, cut, keyGroups=1) == on_harness(build, cut)


@pytest.mark.parametrize("keyGroups", [1, 4])
def test_each_input_of_two_keeps_its_order(keyGroups):
    """Between the inputs any order is one of Flink's."""

    def build(stream):
        counted = stream.keyBy(lambda n: n % 5).process(Numbered()).setParallelism(1)
        even, odd = counted.filter(lambda n: n % 2 == 0), counted.filter(lambda n: n % 2 == 1)
        both = even.union(odd).keyBy(lambda n: n % 3).reduce(lambda a, b: b).setParallelism(1)
        paired = even.keyBy(lambda n: n % 3).connect(odd.keyBy(lambda n: n % 3))
        return [both, paired.map(Same()).setParallelism(1)]

    job = MicroBatches(build, keyGroups)
    numbers = [n * 7 % 40 for n in range(40)]
    job.run(
        [
            [[(n, None) for n in numbers[:15]], [(n, None) for n in numbers[15:30]]],
            [[(n, None) for n in numbers[30:]]],
        ]
    )
    for results in job.results:
        values = [result.value for result in results]
        for parity in (0, 1):
            assert [v for v in values if v % 2 == parity] == [n for n in numbers if n % 2 == parity]


class Numbered(fl.KeyedProcessFunction):
    def processElement(self, value, ctx, out):
        out.collect(value)


class Same(fl.RichCoMapFunction):
    def map1(self, value):
        return value

    def map2(self, value):
        return value
