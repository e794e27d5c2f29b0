"""A process function without a key sees the watermark and the clock that it sees in Flink, also
right behind a source, where the watermark is not known before a shuffle."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches
from tests.runtime.properties import part_of_examples
from tests.runtime.test_micro_batches import STRATEGIES
from tests.streams import records

TIMES = fl.OutputTag("times")


class SeesTime(fl.ProcessFunction):
    """Every element with the watermark and the clock; the times to a side output too."""

    def processElement(self, value, ctx, out):
        timers = ctx.timerService()
        now = timers.currentWatermark(), timers.currentProcessingTime()
        out.collect((value, ctx.timestamp(), *now))
        ctx.output(TIMES, now)


def sees_time(value, ctx, out):
    SeesTime().processElement(value, ctx, out)


def ordered(stream):
    """A keyed operator that hands everything on, in one key group."""
    return stream.keyBy(lambda element: 0).map(_AsItIs())


class _AsItIs(fl.RichMapFunction):
    def map(self, value):
        return value


BUILDS = {
    "right behind": lambda timed: timed.process(SeesTime()),
    "a plain function": lambda timed: timed.process(sees_time),
    "behind a map": lambda timed: timed.map(lambda e: e).filter(lambda e: True).process(SeesTime()),
    "two in a row": lambda timed: timed.process(SeesTime()).map(lambda r: r[0]).process(SeesTime()),
    "behind a keyed operator": lambda timed: ordered(timed).process(SeesTime()),
    "of two streams": lambda timed: (
        timed.filter(lambda e: e % 2 == 0).union(timed.filter(lambda e: e % 2)).process(SeesTime())
    ),
}
batches = st.lists(st.lists(st.lists(st.integers(0, 50), max_size=4), max_size=3), max_size=5)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", BUILDS)
@part_of_examples(2)
@given(batches=batches, groups=st.integers(1, 4))
def test_it_sees_what_it_sees_on_the_harness(name, strategy, batches, groups):
    if name == "of two streams":
        # Which of two streams is read first is not said: here each batch has elements of one only.
        batches = [
            [[e for e in part if e % 2 == n % 2] for part in b] for n, b in enumerate(batches)
        ]
    timed = STRATEGIES[strategy].withTimestampAssigner(lambda e, t: e[1])

    def build(stream):
        numbers = stream.assignTimestampsAndWatermarks(timed).map(lambda e: e[0])
        result = BUILDS[name](numbers)
        return [result, result.getSideOutput(TIMES)]

    harness, job = StreamTestHarness(build), MicroBatches(build, groups)
    for number, batch in enumerate(batches):
        for element in itertools.chain.from_iterable(batch):
            harness.processElement((element, element))
        harness.setProcessingTime((number + 1) * 200)
        job.process([[((e, e), None) for e in part] for part in batch], clock=number * 200)
    harness.endInput()
    job.end(clock=len(batches) * 200)
    for index in (0, 1):
        expected = records(harness, index)
        assert [(r.value, r.timestamp) for r in job.results[index]] == [
            (r.value, r.timestamp) for r in expected
        ]
