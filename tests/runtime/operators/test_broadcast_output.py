"""The output of processBroadcastElement comes once, and that of applyToKeyedState once for every
key."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches

RULES = fl.MapStateDescriptor("rules")
SIDE = fl.OutputTag("side")
SUM = fl.ValueStateDescriptor("sum", default=0)


class Limits(fl.KeyedBroadcastProcessFunction):
    """Sums a key's numbers. A rule (name, limit) is announced, and ends the sums above its limit."""

    def open(self, openContext):
        self.sum = self.getRuntimeContext().getState(SUM)

    def processElement(self, value, ctx, out):
        self.sum.update(self.sum.value() + value[1])
        rules = list(ctx.getBroadcastState(RULES).immutableEntries())
        out.collect(("sum", ctx.getCurrentKey(), self.sum.value(), rules))
        ctx.timerService().registerEventTimeTimer(value[1])

    def processBroadcastElement(self, value, ctx, out):
        name, limit = value
        ctx.getBroadcastState(RULES).put(name, limit)
        out.collect(("announced", name))
        ctx.output(SIDE, ("announced", name))

        def end(key, state):
            if state.value() > limit:
                out.collect(("ended", key, state.value()))
                ctx.output(SIDE, ("ended", key))
                state.clear()

        ctx.applyToKeyedState(SUM, end)
        out.collect(("applied", name))

    def onTimer(self, timestamp, ctx, out):
        out.collect(("timer", ctx.getCurrentKey(), timestamp))


class Known(fl.BroadcastProcessFunction):
    """Without keys: every element with the rules."""

    def processElement(self, value, ctx, out):
        out.collect((value, list(ctx.getBroadcastState(RULES).immutableEntries())))
        ctx.output(SIDE, value)

    def processBroadcastElement(self, value, ctx, out):
        ctx.getBroadcastState(RULES).put(*value)
        out.collect(("announced", *value))
        ctx.output(SIDE, ("announced", *value))


def split(stream, function, key):
    elements = stream.filter(lambda e: len(e) == 2)
    rules = stream.filter(lambda e: len(e) == 3).map(lambda e: e[:2]).broadcast(RULES)
    main = elements.keyBy(lambda e: e[0]) if key else elements
    result = main.connect(rules).process(function)
    return [result, result.getSideOutput(SIDE)]


elements = st.tuples(st.integers(0, 9), st.integers(0, 20))
rules = st.tuples(st.sampled_from("abc"), st.integers(0, 40), st.just("rule"))
# Elements and rules come in separate batches: within a batch their order is not said.
batches = st.lists(
    st.one_of(st.lists(elements, max_size=8), st.lists(rules, max_size=3)), max_size=6
)


def both(build, batches, groups):
    """Values and timestamps of main and side output: of the harness, and of the batches."""
    harness, job = StreamTestHarness(build), MicroBatches(build, groups)
    for number, batch in enumerate(batches):
        for element in batch:
            harness.processElement(element, number)
        job.process([[(element, number) for element in batch]])
    harness.endInput()
    job.end()
    return [
        (
            [
                (r.value, r.timestamp)
                for r in harness.getOutput(i)
                if isinstance(r, fl.StreamRecord)
            ],
            [(r.value, r.timestamp) for r in job.results[i]],
        )
        for i in (0, 1)
    ]


@given(batches=batches, groups=st.integers(1, 8))
def test_with_keys(batches, groups):
    for expected, given_ in both(lambda s: split(s, Limits(), True), batches, groups):
        assert Counter(map(repr, given_)) == Counter(map(repr, expected))


@given(batches=batches, groups=st.integers(1, 8))
def test_without_keys(batches, groups):
    for expected, given_ in both(lambda s: split(s, Known(), False), batches, groups):
        assert given_ == expected
