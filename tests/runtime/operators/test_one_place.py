"""Without keys, all elements of two inputs meet in one place, however they were partitioned; with
keys, what is broadcast reaches all places."""

from __future__ import annotations

import pytest

from flinkish import (
    BroadcastProcessFunction,
    CoMapFunction,
    KeyedBroadcastProcessFunction,
    MapStateDescriptor,
    ValueStateDescriptor,
    Watermark,
    WatermarkGenerator,
    WatermarkStrategy,
)
from tests.runtime.micro_batches import MicroBatches

RULES = MapStateDescriptor("rules")


class Tag(CoMapFunction):
    def map1(self, value):
        return (1, value)

    def map2(self, value):
        return (2, value)


class Known(BroadcastProcessFunction):
    def processElement(self, value, ctx, out):
        out.collect(
            (value, sorted(key for key, _ in ctx.getBroadcastState(RULES).immutableEntries()))
        )

    def processBroadcastElement(self, value, ctx, out):
        ctx.getBroadcastState(RULES).put(value, True)
        out.collect(value)


def even(stream):
    return stream.filter(lambda number: number % 2 == 0)


def odd(stream):
    return stream.filter(lambda number: number % 2 == 1)


CONNECTED = {
    "plain": lambda stream: even(stream).connect(odd(stream)),
    "one keyed": lambda stream: even(stream).keyBy(lambda n: n).connect(odd(stream)),
    "one broadcast": lambda stream: even(stream).connect(odd(stream).broadcast()),
    "rebalanced": lambda stream: even(stream).rebalance().connect(odd(stream).shuffle()),
}


@pytest.mark.parametrize("connect", CONNECTED.values(), ids=CONNECTED.keys())
def test_no_element_is_doubled_or_lost(connect):
    job = MicroBatches(lambda stream: connect(stream).map(Tag()), keyGroups=4)
    results = job.run([[[(number, number)]] for number in range(8)])[0]
    assert [result.value for result in results] == [(1 + n % 2, n) for n in range(8)]


def test_broadcast_elements_reach_the_one_task_once():
    job = MicroBatches(
        lambda stream: even(stream).connect(odd(stream).broadcast(RULES)).process(Known()),
        keyGroups=4,
    )
    results = job.run([[[(number, number)]] for number in (0, 1, 2, 3, 4)])[0]
    assert [result.value for result in results] == [(0, []), 1, (2, [1]), 3, (4, [1, 3])]


def test_a_generator_behind_keys_is_there_once():
    """As at parallelism 1: a watermark generator has no keys, so it sees the elements of all."""

    class EachElement(WatermarkGenerator):
        def onEvent(self, event, eventTimestamp, output):
            output.emitWatermark(Watermark(eventTimestamp))

        def onPeriodicEmit(self, output):
            pass

    strategy = WatermarkStrategy.forGenerator(lambda context: EachElement())
    timed = strategy.withTimestampAssigner(lambda number, timestamp: number)

    def see(value, ctx, out):
        out.collect((value, ctx.timerService().currentWatermark()))

    def build(stream):
        return stream.keyBy(lambda n: n % 3).assignTimestampsAndWatermarks(timed).process(see)

    results = MicroBatches(build, keyGroups=4).run([[[(n, None)]] for n in range(1, 6)])[0]
    assert [result.value for result in results][1:] == [(n, n - 1) for n in range(2, 6)]


def test_partitioning_a_stream_changes_nothing():
    def build(stream):
        return stream.rebalance().global_().forward().rescale().shuffle().broadcast()

    results = MicroBatches(build, keyGroups=4).run([[[(1, 1)]], [[(2, 2)]]])[0]
    assert [result.value for result in results] == [1, 2]


class Sums(KeyedBroadcastProcessFunction):
    """Broadcast elements reset the sums of all keys."""

    SUM = ValueStateDescriptor("sum", default=0)

    def open(self, openContext):
        self.sum = self.getRuntimeContext().getState(self.SUM)

    def processElement(self, value, ctx, out):
        self.sum.update(self.sum.value() + value)
        rules = [key for key, _ in ctx.getBroadcastState(RULES).immutableEntries()]
        out.collect((ctx.getCurrentKey(), self.sum.value(), rules))

    def processBroadcastElement(self, value, ctx, out):
        ctx.getBroadcastState(RULES).put(value, True)
        ctx.applyToKeyedState(self.SUM, lambda key, state: state.clear())


@pytest.mark.parametrize("keyGroups", [1, 4, 7])
def test_with_keys_broadcast_elements_reach_every_key_group(keyGroups):
    job = MicroBatches(
        lambda stream: (
            even(stream)
            .keyBy(lambda number: number % 100)
            .connect(odd(stream).broadcast(RULES))
            .process(Sums())
        ),
        keyGroups,
    )
    keys = range(0, 40, 2)
    batches = [[[(100 + key, 1) for key in keys]], [[(7, 1)]], [[(key, 1) for key in keys]]]
    results = job.run(batches)[0]
    assert sorted(r.value for r in results if r.batch == 0) == [(k, 100 + k, []) for k in keys]
    assert sorted(r.value for r in results if r.batch == 2) == [(k, k, [7]) for k in keys]
